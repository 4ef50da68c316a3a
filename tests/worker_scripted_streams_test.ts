/**
 * The scripted agent against the captures of the real child: the host's lines of
 * each capture are sent at the same points, and the frames are compared one by one.
 *
 * @module
 */
import {
  scriptedAgentEntry,
  type ScriptStep,
  type ScriptTurn,
} from "@bulkhead/worker";
import { assert, assertEquals } from "@std/assert";
import { TextLineStream } from "@std/streams";
import { STREAM_JSON_ARGS } from "./support/scripted_host.ts";

type Json = Record<string, unknown>;

const CASES = new URL("./fixtures/cases/streams/", import.meta.url);

interface Row {
  t: number;
  dir: "in" | "out" | "err" | "ev";
  l?: string;
  line?: number;
}

interface Played {
  frames: Json[];
  stderr: string;
  code: number;
}

interface Capture {
  rows: Row[];
  frames: Json[];
  turns: ScriptTurn[];
  args?: string[];
  env?: Record<string, string>;
  prepare?(cwd: string): Promise<void>;
}

/** A capture's lines; its pauses are shortened. */
function lines(text: string): string[] {
  return text.replaceAll("sleep 2", "sleep 0.2").split("\n").filter((line) =>
    line !== ""
  );
}

async function load(name: string): Promise<{ rows: Row[]; frames: Json[] }> {
  const rows = lines(
    await Deno.readTextFile(new URL(`${name}.io.jsonl`, CASES)),
  );
  const frames = await Deno.readTextFile(new URL(`${name}.jsonl`, CASES)).catch(
    () => "",
  );
  return {
    rows: rows.map((row) => JSON.parse(row)),
    frames: lines(frames).map((frame) => JSON.parse(frame)),
  };
}

/** The directory the capture was made in. */
function directoryOf(frames: Json[]): string {
  const init = frames.find((f) => f.subtype === "init");
  return typeof init?.cwd === "string" ? init.cwd : "/home/dev/wk/proj";
}

/** Plays a capture's host side against the scripted agent. */
async function play(capture: Capture): Promise<Played> {
  const dir = await Deno.realPath(await Deno.makeTempDir());
  const from = directoryOf(capture.frames);
  const parent = from.slice(0, from.lastIndexOf("/"));
  const cwd = `${dir}${from.slice(parent.length)}`;
  await Deno.mkdir(cwd);
  await capture.prepare?.(cwd);
  const map = (text: string) => text.replaceAll(parent, dir);
  const script = map(
    JSON.stringify({ schema: 1, turns: capture.turns, costUsd: 0.000175 }),
  );
  await Deno.writeTextFile(`${dir}/script.json`, script);
  const entry = scriptedAgentEntry([
    ...STREAM_JSON_ARGS,
    ...capture.args ?? ["--verbose"],
    "--sessions",
    `${dir}/sessions`,
    "--script",
    `${dir}/script.json`,
  ]);
  const child = new Deno.Command(entry.argv[0] ?? "", {
    args: entry.argv.slice(1),
    cwd,
    clearEnv: true,
    env: {
      ...entry.env,
      HOME: dir,
      PATH: Deno.env.get("PATH") ?? "",
      ...capture.env,
    },
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const played: Played = { frames: [], stderr: "", code: -1 };
  let grown = Promise.withResolvers<void>();
  const reading = (async () => {
    const lines = child.stdout.pipeThrough(new TextDecoderStream())
      .pipeThrough(new TextLineStream());
    for await (const line of lines) {
      played.frames.push(JSON.parse(line));
      grown.resolve();
      grown = Promise.withResolvers();
    }
    grown.resolve();
  })();
  const errors = new Response(child.stderr).text();
  const writer = child.stdin.getWriter();
  const until = async (what: () => boolean): Promise<void> => {
    while (!what()) {
      const grew = grown.promise;
      if (await Promise.race([grew, child.status]) !== undefined) return;
    }
  };
  const seen: Json[] = [];
  for (const row of capture.rows) {
    if (row.dir === "out") {
      const frame = capture.frames[(row.line ?? 0) - 1];
      if (frame) seen.push(frame);
    } else if (row.dir === "in" && row.l !== undefined) {
      const text = await translate(
        map(row.l),
        seen,
        capture.frames,
        played.frames,
        until,
      );
      await writer.write(new TextEncoder().encode(text + "\n")).catch(() => {});
    } else if (row.l === "stdin.end") {
      await until(() =>
        count(played.frames, "result") >= count(seen, "result")
      );
    }
  }
  await writer.close().catch(() => {});
  await reading;
  played.stderr = await errors;
  played.code = (await child.status).code;
  await Deno.remove(dir, { recursive: true });
  played.frames = JSON.parse(
    JSON.stringify(played.frames).replaceAll(dir, parent),
  );
  return played;
}

/** Waits for the same point of the agent, and puts its request id into an answer. */
async function translate(
  text: string,
  seen: Json[],
  all: Json[],
  played: Json[],
  until: (what: () => boolean) => Promise<void>,
): Promise<string> {
  const line = JSON.parse(text);
  if (line.type !== "control_response") {
    await until(() =>
      count(played, "result") >= count(seen, "result") &&
      count(played, "control_request") >= count(seen, "control_request")
    );
    return text;
  }
  const id = line.response.request_id;
  const requests = all.filter((frame) => frame.type === "control_request");
  const index = requests.findIndex((frame) => frame.request_id === id);
  const mine = () =>
    played.filter((frame) => frame.type === "control_request")[index];
  await until(() => mine() !== undefined);
  line.response.request_id = mine()?.request_id;
  return JSON.stringify(line);
}

function count(frames: Json[], type: string): number {
  return frames.filter((frame) => frame.type === type).length;
}

const VARYING = new Set([
  "uuid",
  "session_id",
  "request_id",
  "timestamp",
  "id",
  "tool_use_id",
  "task_id",
  "agent_id",
  "agentId",
  "prompt_id",
  "parent_tool_use_id",
  "duration_ms",
  "duration_api_ms",
  "ttft_ms",
  "ttft_stream_ms",
  "time_to_request_ms",
  "totalDurationMs",
  "end_time",
  "retry_delay_ms",
  "pid",
  "transcript_path",
  "output_file",
  "backgroundTaskId",
  "model",
  "apiKeySource",
  "resolvedModel",
  "max_retries",
]);
/** Lists and objects whose content is the installation's, not the protocol's. */
const OPAQUE = new Set([
  "tools",
  "slash_commands",
  "agents",
  "skills",
  "mcp_servers",
  "memory_paths",
  "commands",
  "models",
  "account",
  "available_output_styles",
  "modelUsage",
  "toolStats",
  "usage",
]);

/** A frame without what differs from run to run. */
function plain(value: unknown, key = ""): unknown {
  if (key === "agent_type" || key === "memory_paths" || key === "toolStats") {
    return undefined;
  }
  if (
    key === "resolvedModel" || key === "container" || key === "stop_details"
  ) return undefined;
  if (VARYING.has(key)) return value === null ? null : "*";
  if (OPAQUE.has(key)) return "…";
  if (typeof value === "string") return masked(value);
  if (Array.isArray(value)) return value.map((part) => plain(part));
  if (typeof value !== "object" || value === null) return value;
  const out: Json = {};
  for (const [name, inner] of Object.entries(value)) {
    const shown = plain(inner, name);
    if (shown !== undefined) out[name] = shown;
  }
  return out;
}

function masked(text: string): string {
  return text.replace(/\b[ab][0-9a-z]{8,16}\b/g, "TASK")
    .replace(/\/\S*TASK\.output/g, "OUTPUT")
    .replace(/duration_ms: \d+/g, "duration_ms: N")
    .replace(/· (?:mock|scripted) 429/g, "· 429");
}

/** Several deltas of one block are one. */
function joined(frames: Json[]): unknown[] {
  const out: Json[] = [];
  for (const frame of frames) {
    const last = out.at(-1);
    const text = deltaText(frame);
    if (last && text !== undefined && deltaText(last) !== undefined) {
      const event = structuredClone(last.event) as { delta: { text: string } };
      event.delta.text += text;
      out[out.length - 1] = { ...last, event };
    } else out.push(frame);
  }
  return out.map((frame) => plain(frame));
}

function deltaText(frame: Json): string | undefined {
  const event = frame.event as
    | { delta?: { type?: string; text?: string } }
    | undefined;
  return event?.delta?.type === "text_delta"
    ? event.delta.text ?? ""
    : undefined;
}

function label(value: unknown): string {
  const f = value as Json & { event?: Json; request?: Json };
  return [f.type, f.subtype ?? f.event?.type ?? f.request?.subtype ?? ""].join(
    "/",
  );
}

function compare(name: string, got: Json[], want: Json[]): void {
  const mine = joined(got), theirs = joined(want);
  const list = (frames: unknown[]) => frames.map(label).join("\n");
  assertEquals(list(mine), list(theirs), name);
  for (const [i, frame] of theirs.entries()) {
    assertEquals(mine[i], frame, `${name}: frame ${i + 1}`);
  }
}

async function check(
  name: string,
  turns: ScriptTurn[],
  options: Partial<Capture> & {
    exit?: number;
    order?: (frames: Json[]) => Json[];
  } = {},
): Promise<Played> {
  const { rows, frames } = await load(name);
  const played = await play({ rows, frames, turns, ...options });
  const order = options.order ?? ((list: Json[]) => list);
  compare(name, order(played.frames), order(frames));
  const exit = rows.find((row) => row.l?.startsWith("exit code="))?.l ?? "";
  assertEquals(
    played.code,
    Number(/code=(\d+)/.exec(exit)?.[1] ?? "0"),
    `${name}: exit code`,
  );
  return played;
}

function turn(...steps: ScriptStep[]): ScriptTurn {
  return { steps };
}

const P = "/home/dev/wk/proj";

Deno.test("scripted agent plays a text turn as the real child does", async () => {
  const { frames } = await load("plain");
  const said = frames.find((f) => f.type === "result")?.result;
  await check("plain", [turn({ say: String(said) })]);
});

Deno.test("scripted agent asks, writes and goes on when allowed", async () => {
  await check("tool_allow", [
    turn({ tool: "Write", input: { file_path: `${P}/a.txt`, content: "x" } }, {
      say: "ok",
    }),
  ]);
});

Deno.test("scripted agent tells the model a denial's reason and lists it", async () => {
  const { frames } = await load("tool_deny");
  const said = String(frames.find((f) => f.type === "result")?.result);
  await check("tool_deny", [
    turn({ tool: "Write", input: toolInput(frames) }, { say: said }),
  ]);
});

function toolInput(frames: Json[], index = 0): Json {
  const uses = frames.flatMap((f) => {
    const message = f.message as { content?: Json[] } | undefined;
    return f.type === "assistant" && Array.isArray(message?.content)
      ? message.content.filter((block) => block.type === "tool_use")
      : [];
  });
  return uses[index]?.input as Json;
}

Deno.test("scripted agent tells its state, with a background task that starts a turn", async () => {
  await check("session_state_events", [
    turn(
      { tool: "Write", input: { file_path: `${P}/ss.txt`, content: "x" } },
      {
        tool: "Bash",
        input: {
          command: "sleep 0.2; echo bg",
          description: "x",
          run_in_background: true,
        },
        then: [{ say: "after bg" }],
      },
      { say: "ok" },
    ),
  ], {
    env: { CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS: "1" },
    args: ["--verbose", "--allowedTools", "Bash"],
  });
});

Deno.test("scripted agent runs a subagent whose frames carry their parent", async () => {
  await check("subagent", [
    turn({
      tool: "Task",
      input: {
        description: "d",
        prompt: "SUBPROMPT do",
        subagent_type: "general-purpose",
      },
      steps: [
        { tool: "Write", input: { file_path: `${P}/sub.txt`, content: "1" } },
        { say: "sub end" },
      ],
    }, { say: "main end" }),
  ]);
});

/** The echo of an answer may overtake the end of the message it belongs to. */
function echoesLast(frames: Json[]): Json[] {
  const out: Json[] = [];
  let held: Json[] = [];
  for (const frame of frames) {
    const initialize = out.length === 0;
    if (frame.type === "control_response" && !initialize) held.push(frame);
    else {
      if (frame.type === "user") out.push(...held.splice(0));
      out.push(frame);
    }
  }
  out.push(...held);
  held = [];
  return out;
}

Deno.test("scripted agent asks the PreToolUse callback before every call", async () => {
  const { frames } = await load("trusted_pretooluse_gate");
  const names = ["Bash", "Read", "Write", "Write"];
  await check("trusted_pretooluse_gate", [
    turn(
      ...names.map((tool, i): ScriptStep => ({
        tool,
        input: toolInput(frames, i),
      })),
      { say: "x" },
    ),
  ], { order: (list) => echoesLast(withoutReadRace(list)) });
});

/** In one capture a Read's callback came early; elsewhere only shells and subagents do that. */
function withoutReadRace(frames: Json[]): Json[] {
  const stops = (frame: Json | undefined) =>
    ["content_block_stop", "message_delta", "message_stop"].includes(
      String((frame?.event as Json | undefined)?.type),
    );
  const out = [...frames];
  for (let i = 0; i < out.length; i++) {
    const request = out[i]?.request as { input?: Json } | undefined;
    if (request?.input?.tool_name !== "Read") continue;
    while (stops(out[i + 1])) {
      out.splice(i, 2, ...[out[i + 1], out[i]].filter((f) => !!f)), i++;
    }
  }
  return out;
}

Deno.test("scripted agent asks after a callback that failed", async () => {
  await check("hook_callback_registered", [
    turn({ tool: "Write", input: { file_path: `${P}/hc.txt`, content: "1" } }, {
      say: "x",
    }),
  ]);
});

Deno.test("scripted agent fails open on an error answer, as the real child does", async () => {
  const { frames } = await load("gate_error_answer_fails_open");
  const played = await check("gate_error_answer_fails_open", [
    turn({ tool: "Bash", input: toolInput(frames) }, { say: "x" }),
  ], { args: ["--verbose", "--allowedTools", "Bash"] });
  assert(played.stderr.includes("Error in hook callback gate"), played.stderr);
});

Deno.test("scripted agent takes an interrupt in an open ask and the next turn", async () => {
  await check("interrupt_open_ask", [
    turn({ tool: "Write", input: { file_path: `${P}/b.txt`, content: "x" } }, {
      say: "no",
    }),
    turn({ say: "after" }),
  ]);
});

Deno.test("scripted agent runs readers side by side and the rest in order", async () => {
  const { frames } = await load("parallel_asks");
  const calls = ["Write", "Write", "Read", "Read"].map((
    tool,
    i,
  ): ScriptStep => ({
    tool,
    input: toolInput(frames, i),
  }));
  const { rows } = await load("parallel_asks");
  const played = await play({
    rows,
    frames,
    turns: [turn({ message: [{ say: "three" }, ...calls] }, { say: "x" })],
  });
  // The real child sends the second result while the readers' asks go out: compare as a set.
  assertEquals(
    joined(played.frames).map(label).toSorted(),
    joined(frames).map(label).toSorted(),
  );
  const asks = played.frames.flatMap((f, i) =>
    f.type === "control_request" ? [i] : []
  );
  assertEquals(asks.length, 4);
  assertEquals(
    asks[3],
    (asks[2] ?? 0) + 1,
    "both readers are asked at the same time",
  );
  assertEquals(
    plain(played.frames[asks[2] ?? 0]),
    plain(frames.filter((f) => f.type === "control_request")[2]),
  );
});

Deno.test("scripted agent stops at --max-turns and takes the next turn", async () => {
  await check("max_turns_1", [
    turn({ tool: "Write", input: { file_path: `${P}/m1.txt`, content: "1" } }, {
      say: "x",
    }),
    turn({ tool: "Write", input: { file_path: `${P}/m2.txt`, content: "1" } }, {
      say: "x",
    }),
  ], { args: ["--verbose", "--max-turns", "1"] });
});

Deno.test("scripted agent shows API retries and the error that ends a turn", async () => {
  await check("api_error_429", [
    turn(
      { fault: { kind: "api_retry", attempts: 2, delayMs: 5 } },
      { fault: { kind: "api_error", status: 429 } },
    ),
  ]);
});

Deno.test("scripted agent starts a turn when a background command ends", async () => {
  await check("bash_background", [
    turn({
      tool: "Bash",
      input: {
        command: "sleep 0.2; echo bgdone",
        description: "x",
        run_in_background: true,
      },
      then: [{ say: "after notif" }],
    }, { say: "started" }),
  ], { args: ["--verbose", "--allowedTools", "Bash"] });
});

Deno.test("scripted agent refuses an unknown session without a turn", async () => {
  const played = await check("resume_unknown", [], {
    args: ["--verbose", "--resume", "00000000-0000-4000-8000-000000000000"],
  });
  assertEquals(
    played.stderr,
    "No conversation found with session ID: 00000000-0000-4000-8000-000000000000\n",
  );
});

Deno.test("scripted agent refuses to start without --verbose", async () => {
  const played = await check("argv_without_verbose", [], { args: [] });
  assertEquals(
    played.stderr,
    "Error: When using --print, --output-format=stream-json requires --verbose\n",
  );
});

Deno.test("scripted agent plays queued turns in order and a known uuid once", async () => {
  const { frames } = await load("two_turns_queued");
  const said = frames.filter((f) => f.type === "result").map((f) =>
    String(f.result)
  );
  await check("two_turns_queued", said.map((text) => turn({ say: text })));
});

Deno.test("scripted agent ignores lines of an unknown type", async () => {
  const { frames } = await load("unknown_type_stdin");
  const said = String(frames.find((f) => f.type === "result")?.result);
  await check("unknown_type_stdin", [turn({ say: said })]);
});

Deno.test("scripted agent answers initialize before and after a turn", async () => {
  await check("init_ctl", [turn({ say: "after init" })]);
});

Deno.test("scripted agent reads a big file into one line", async () => {
  const { rows, frames } = await load("big_tool_result");
  const row = "line of text é 漢字 😀 ".repeat(50).trim();
  const played = await play({
    rows,
    frames,
    turns: [
      turn({ tool: "Read", input: { file_path: `${P}/big.txt` } }, {
        say: "ok",
      }),
    ],
    prepare: (cwd) =>
      Deno.writeTextFile(`${cwd}/big.txt`, `${row}\n`.repeat(400)),
  });
  assertEquals(joined(played.frames).map(label), joined(frames).map(label));
  const longest = Math.max(
    ...played.frames.map((f) => JSON.stringify(f).length),
  );
  assert(longest > 400_000, `${longest}`);
});

Deno.test("scripted agent keeps odd characters whole", async () => {
  const { frames } = await load("unicode_text");
  const said = String(frames.find((f) => f.type === "result")?.result);
  await check("unicode_text", [turn({ say: said, chunk: 4 })]);
});
