import type { CommandIo } from "@bulkhead/sandbox/command";
import type {
  Frame,
  JudgedCall,
  Session,
  ToolCall,
  Verdict,
} from "@bulkhead/worker";
import { type Paint, paint, shorten, streamable, visible } from "./paint.ts";

/** What is known of a session before its first turn. */
export interface StartFacts {
  /** The agent. */
  agent: string;
  /** Our process. */
  pid: number;
  /** The agent's process. */
  agentPid: number | null;
  /** How calls are seen before they run. */
  gate: string;
  /** Whether the agent has confirmed that. */
  verified: boolean;
  /** Whether the guard judges where calls write. */
  guard: boolean;
  /** The workspace. */
  workspace: string;
  /** The socket to attach to. */
  socket: string;
}

/** Takes what happens in a session, for people or for programs. */
export interface Renderer {
  /** A frame of the agent, with its index. */
  frame(index: number, frame: Frame): void;
  /** A verdict on a call, before it runs. */
  verdict(call: ToolCall, verdict: Verdict): void;
  /** The session has begun; nothing was sent yet. */
  start(facts: StartFacts): void;
  /** A line about the session itself. */
  note(line: string): void;
  /** A line that people must not miss. */
  warn(line: string): void;
}

/**
 * Text as it streams, each tool call with its verdict and the reason.
 *
 * @param io Where to print.
 * @returns the renderer.
 */
export function textRenderer(io: CommandIo): Renderer {
  return new TextRenderer(io);
}

class TextRenderer implements Renderer {
  readonly #io: CommandIo;
  readonly #paint: Paint;
  /** Whether the cursor stands behind text of the model. */
  #midLine = false;
  /** Whether the current message was streamed, so that its whole text is not told again. */
  #streamed = false;
  #workspace = "";

  constructor(io: CommandIo) {
    this.#io = io;
    this.#paint = paint(io.color);
  }

  frame(_index: number, frame: Frame): void {
    if (frame.parent_tool_use_id !== undefined) return;
    switch (frame.kind) {
      case "stream_event":
        if (frame.delta !== null) {
          this.#streamed = true;
          this.#print(streamable(frame.delta));
        }
        break;
      case "assistant":
        if (frame.text !== "" && !this.#streamed) {
          this.#print(streamable(frame.text));
        }
        if (frame.text !== "") {
          this.#streamed = false;
          this.#breakLine();
        }
        break;
      case "user_echo":
        for (const result of frame.tool_results ?? []) {
          const text = shorten(result.text.trim(), 100);
          if (text === "") continue;
          this.#line(`  ${this.#paint.dim(`└ ${text}`)}`);
        }
        break;
      case "malformed":
        this.#line(
          this.#paint.yellow("! the agent sent a line that is no frame"),
        );
        break;
      case "result":
        this.#breakLine();
        break;
    }
  }

  verdict(call: ToolCall, { decision, reason, by }: Verdict): void {
    const { green, red, yellow, dim, bold } = this.#paint;
    const who = by === undefined ? "" : ` by ${by}`;
    const said = decision === "allow"
      ? green("allowed")
      : decision === "deny"
      ? red(`denied${who}`)
      : yellow("needs an answer");
    const agent = call.agentId === undefined ? "" : dim(" (subagent)");
    this.#line(
      `${dim("●")} ${bold(visible(call.toolName))} ${
        dim(describeInput(call.input, this.#workspace))
      }${agent}  ${said}`,
    );
    if (decision !== "allow" && reason !== undefined) {
      // The posture speaks of a session without a person; here one may be asked.
      const why = decision === "deny"
        ? reason
        : reason.replace(/ and nobody is there to approve it$/, "");
      this.#line(`  ${dim("│")} ${visible(why)}`);
    }
  }

  start({ gate, verified, guard, workspace }: StartFacts): void {
    this.#workspace = workspace;
    if (gate === "none" || !verified) return;
    this.note(
      `${guard ? "guard" : "gate"}: ${gate}, verified; workspace ${workspace}`,
    );
  }

  note(line: string): void {
    this.#line(this.#paint.dim(visible(line)));
  }

  warn(line: string): void {
    this.#breakLine();
    this.#io.err(`${visible(line)}\n`);
  }

  #line(text: string): void {
    this.#breakLine();
    this.#io.out(`${text}\n`);
  }

  #print(text: string): void {
    if (text === "") return;
    this.#io.out(text);
    this.#midLine = !text.endsWith("\n");
  }

  #breakLine(): void {
    if (this.#midLine) this.#io.out("\n");
    this.#midLine = false;
  }
}

/** Arguments that name what a call is about, best first. */
const TELLING = [
  "file_path",
  "notebook_path",
  "filePath",
  "path",
  "command",
  "pattern",
  "url",
  "query",
  "question",
  "description",
];

/**
 * The arguments of a call in a few words: the one that names its object, if there
 * is one.
 *
 * @param input The arguments.
 * @param workspace Paths below it are shown without it.
 * @returns at most 80 characters.
 */
export function describeInput(input: unknown, workspace = ""): string {
  if (typeof input !== "object" || input === null) return "";
  const fields = Object.entries(input);
  for (const name of TELLING) {
    const value: unknown = fields.find(([key]) => key === name)?.[1];
    if (typeof value !== "string") continue;
    return shorten(below(value, workspace), 80);
  }
  const [only] = fields;
  if (fields.length === 1 && Array.isArray(only?.[1]) && only[1].length > 0) {
    return describeInput(only[1][0], workspace);
  }
  return fields.length === 0 ? "" : shorten(JSON.stringify(input), 80);
}

/**
 * A path as seen from the workspace.
 *
 * @param path Any text.
 * @param workspace The workspace; none when empty.
 * @returns the path relative to it when it lies inside, or right beside it.
 */
export function below(path: string, workspace: string): string {
  if (workspace === "") return path;
  if (path.startsWith(`${workspace}/`)) return path.slice(workspace.length + 1);
  const parent = workspace.slice(0, workspace.lastIndexOf("/") + 1);
  return parent.length > 1 && path.startsWith(parent)
    ? `../${path.slice(parent.length)}`
    : path;
}

/**
 * One JSON object a line with its `type`: `start`, `frame`, `verdict`, `note`,
 * `warning`.
 *
 * @param io Where to print.
 * @returns the renderer.
 */
export function jsonRenderer(io: CommandIo): Renderer {
  const print = (type: string, fields: Record<string, unknown>): void =>
    io.out(`${JSON.stringify({ type, ...fields })}\n`);
  return {
    frame: (index, frame) => print("frame", { index, frame }),
    verdict: (call, verdict) =>
      print("verdict", {
        tool: call.toolName,
        input: call.input,
        decision: verdict.decision,
        ...verdict.by === undefined ? {} : { by: verdict.by },
        ...verdict.reason === undefined ? {} : { reason: verdict.reason },
        ...call.toolUseId === undefined ? {} : { tool_use_id: call.toolUseId },
        ...call.agentId === undefined ? {} : { agent_id: call.agentId },
      }),
    start: (facts) =>
      print("start", {
        agent: facts.agent,
        pid: facts.pid,
        agent_pid: facts.agentPid,
        gate: facts.gate,
        verified: facts.verified,
        guard: facts.guard,
        workspace: facts.workspace,
        socket: facts.socket,
      }),
    note: (text) => print("note", { text }),
    warn: (text) => print("warning", { text }),
  };
}

/**
 * Follows a session from its first kept frame.
 *
 * @param session The session.
 * @param renderer Takes what happens.
 * @returns prints what is left and stops following.
 */
export function follow(
  session: Session,
  renderer: Pick<Renderer, "frame" | "verdict" | "note">,
): () => void {
  let cursor = 0;
  const drain = (): void => {
    for (;;) {
      const slice = session.log.since(cursor);
      if (slice.gap) renderer.note("… some frames were too many to keep");
      let index = slice.next - slice.entries.length;
      for (const entry of slice.entries) renderer.frame(index++, entry.frame);
      if (slice.next === cursor) return;
      cursor = slice.next;
    }
  };
  // A verdict falls while the lines that led to it are still being read: it is shown
  // after them, and before what the agent does next.
  const waiting: JudgedCall[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  const flush = (): void => {
    clearTimeout(timer);
    drain();
    for (const { call, verdict } of waiting.splice(0)) {
      renderer.verdict(call, verdict);
    }
  };
  const unwatch = session.watch((change) => {
    if (change === "frames" || change === "ended") flush();
  });
  const unlisten = session.onVerdict((judged) => {
    waiting.push(judged);
    clearTimeout(timer);
    timer = setTimeout(flush, 0);
  });
  flush();
  return () => {
    flush();
    unwatch();
    unlisten();
  };
}
