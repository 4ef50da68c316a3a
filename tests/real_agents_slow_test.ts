/** One session script on every agent we host; the table it makes is the one in docs/agents.md. */

import { assert, assertEquals } from "@std/assert";
import type { ModelScript, ScriptStep } from "@bulkhead/guard/scripted-model";
import { nativeTools } from "@bulkhead/abi";
import {
  type AgentDriver,
  type AgentScript,
  claudeDriver,
  type HostTool,
  scriptedDriver,
  type TurnOutcome,
} from "@bulkhead/worker";
import { acpDriver } from "@bulkhead/worker/acp";
import { codexDriver } from "@bulkhead/worker/codex";
import { openCodeDriver } from "@bulkhead/worker/opencode";
import { canRun, open } from "./_abi.ts";
import { type AgentWorld, makeWorld } from "./support/agent_world.ts";
import { findHarness } from "./support/harnesses.ts";
import { GREET, hostAgent, type Hosted, OFF_LIMITS } from "./support/hosted.ts";

const PAGE = new URL("../docs/agents.md", import.meta.url);

/** What the model does, turn by turn. */
const SCRIPT: ModelScript = {
  steps: [
    {
      text: "one",
      calls: [{ do: "write", path: "{{ws}}/in.txt", content: "in", id: "in" }],
    },
    { text: "wrote" },
    {
      calls: [{
        do: "write",
        path: "{{out}}/a.txt",
        content: "x",
        id: "out_write",
      }],
    },
    { text: "denied" },
    {
      calls: [{
        do: "shell",
        command: "echo x > {{out}}/b.txt",
        id: "out_shell",
      }],
    },
    { text: "tried" },
    {
      calls: [{
        do: "tool",
        name: "greet",
        input: { who: "you" },
        id: "plugin",
      }],
    },
    { text: "greeted" },
    {
      calls: [{
        do: "tool",
        name: "probe_echo",
        input: { text: "native" },
        id: "native",
      }],
    },
    { text: "echoed" },
    { calls: [{ do: "subagent", prompt: "SUB outside" }] },
    { text: "delegated", await: "SUB outside" },
    {
      calls: [{
        do: "shell",
        command: "echo x > {{ws}}/started.txt; sleep 600",
      }],
    },
    { text: "resumed" },
  ],
  conversations: [{
    match: "SUB outside",
    steps: [{
      calls: [{
        do: "write",
        path: "{{out}}/sub.txt",
        content: "x",
        id: "out_sub",
      }],
    }, { text: "sub done" }],
  }],
};

/** The same for the agent that needs no model. */
function agentScript(world: AgentWorld): AgentScript {
  const write = (path: string) => ({
    tool: "Write",
    input: { file_path: path, content: "x" },
  });
  const shell = (command: string) => ({ tool: "Bash", input: { command } });
  const sub = {
    tool: "Task",
    input: { prompt: "SUB outside", description: "part" },
    steps: [write(`${world.outside}/sub.txt`), { say: "sub done" }],
  };
  return {
    schema: 1,
    turns: [
      {
        match: "inside",
        steps: [{
          message: [{ say: "one" }, write(`${world.workspace}/in.txt`)],
        }, { say: "wrote" }],
      },
      {
        match: "outside write",
        steps: [write(`${world.outside}/a.txt`), { say: "denied" }],
      },
      {
        match: "outside shell",
        steps: [shell(`echo x > ${world.outside}/b.txt`), { say: "tried" }],
      },
      {
        match: "plugin",
        steps: [
          { tool: `mcp__bulkhead__${GREET.name}`, input: { who: "you" } },
          { say: "greeted" },
        ],
      },
      {
        match: "native",
        steps: [{
          tool: "mcp__bulkhead__probe_echo",
          input: { text: "native" },
        }, { say: "echoed" }],
      },
      { match: "subagent", steps: [sub, { say: "delegated" }] },
      {
        match: "long",
        steps: [shell(`echo x > ${world.workspace}/started.txt; sleep 600`)],
      },
      { match: "resume", steps: [{ say: "resumed" }] },
    ],
  };
}

interface Column {
  readonly name: string;
  readonly ignore: boolean;
  driver(world: AgentWorld): AgentDriver;
}

const [claude, codex, opencode] = await Promise.all([
  findHarness("claude"),
  findHarness("codex"),
  findHarness("opencode"),
]);
const native = await canRun();

const COLUMNS: readonly Column[] = [
  {
    name: "scripted",
    ignore: false,
    driver: (world) =>
      scriptedDriver({
        script: agentScript(world),
        sessions: `${world.home}/sessions`,
      }),
  },
  {
    name: "claude",
    ignore: claude === undefined,
    driver: () => claudeDriver({ command: [claude!] }),
  },
  {
    name: "codex",
    ignore: codex === undefined,
    driver: () => codexDriver({ command: [codex!] }),
  },
  {
    name: "opencode",
    ignore: opencode === undefined,
    driver: () => openCodeDriver({ command: [opencode!] }),
  },
  {
    name: "acp:opencode",
    ignore: opencode === undefined,
    driver: () => acpDriver({ command: [opencode!, "acp"] }),
  },
];

type Row = Record<string, string>;

/** What came back from a call: from the model's requests, or from the frames where there is no model. */
function answerOf(world: AgentWorld, hosted: Hosted, id: string): string {
  const seen = world.model.result(id)?.content;
  if (seen !== undefined) return seen;
  return hosted.frames().flatMap((frame) =>
    frame.kind === "user_echo" ? frame.tool_results ?? [] : []
  )
    .map((result) => result.text).join("\n");
}

async function exists(path: string): Promise<boolean> {
  return await Deno.stat(path).then(() => true, () => false);
}

/** How a forbidden write ended. */
function verdict(
  happened: boolean,
  answer: string,
  outcome: TurnOutcome,
): string {
  if (happened) return "**happened**";
  if (answer.includes(OFF_LIMITS)) return "denied, model told why";
  return outcome.denied.length > 0 ? "denied" : "refused by the sandbox";
}

async function play(
  column: Column,
  world: AgentWorld,
  tools: readonly HostTool[],
): Promise<Row> {
  const row: Row = {};
  const acp = column.name.startsWith("acp");
  let resume: string | undefined;
  {
    await using hosted = await hostAgent(column.driver(world), world, {
      tools,
    });
    const { gate } = hosted.session;
    row.gate = gate?.kind === "none"
      ? "none: asks only"
      : `${gate?.kind}${gate?.verified ? ", verified" : ""}`;
    await hosted.turn("inside");
    row["write inside"] = await exists(`${world.workspace}/in.txt`)
      ? "runs"
      : "**missing**";
    const denied = await hosted.turn("outside write");
    const wrote = await exists(`${world.outside}/a.txt`);
    row["write outside"] = verdict(
      wrote,
      answerOf(world, hosted, "out_write"),
      denied,
    );
    row["after a denial"] = denied.text === "denied"
      ? "the turn goes on"
      : "the turn ends";
    const shell = await hosted.turn("outside shell");
    const shelled = await exists(`${world.outside}/b.txt`);
    row["shell write outside"] = verdict(
      shelled,
      answerOf(world, hosted, "out_shell"),
      shell,
    );
    await hosted.turn("plugin");
    row["plugin tool"] = answerOf(world, hosted, "plugin").includes("hello you")
      ? "over MCP"
      : "**failed**";
    await hosted.turn("native");
    row["native tool"] = !native
      ? "not tried"
      : answerOf(world, hosted, "native").includes("native")
      ? "over MCP"
      : "**failed**";
    if (!acp) {
      const outcome = await hosted.turn("subagent");
      assertEquals(outcome.outcome, "completed", column.name);
      const sub = await exists(`${world.outside}/sub.txt`);
      row["subagent's write outside"] = verdict(
        sub,
        answerOf(world, hosted, "out_sub"),
        outcome,
      );
    } else {
      row["subagent's write outside"] = "its ask never comes";
    }
    const cut = hosted.turn("long");
    const started = `${world.workspace}/started.txt`;
    for await (const _ of watch(world.workspace, started));
    await hosted.session.interrupt();
    row.interrupt = (await cut).outcome;
    const frames = hosted.frames();
    row.deltas =
      frames.some((frame) =>
          frame.kind === "stream_event" && (frame.delta ?? "") !== ""
        )
        ? "yes"
        : "no";
    const results = frames.filter((frame) => frame.kind === "result");
    row.tokens =
      results.some((result) => (result.usage?.output_tokens ?? 0) > 0)
        ? "yes"
        : "no";
    row.cost = results.some((result) => result.total_cost_usd !== undefined)
      ? "yes"
      : "no";
    resume = hosted.session.sessionId;
  }
  {
    await using hosted = await hostAgent(column.driver(world), world, {
      tools,
      resume: resume!,
    });
    row.resume = (await hosted.turn("resume")).text === "resumed"
      ? "yes"
      : "**no**";
  }
  assertEquals(await world.list(world.outside), [], column.name);
  await world.quiet();
  row["left running"] = "nothing";
  return row;
}

/** Over ACP the subagent's ask is lost, so that its turn would hang, and a denial ends the turn. */
function reachedOverAcp(step: ScriptStep): boolean {
  return step.calls?.[0]?.do !== "subagent" && step.text !== "delegated" &&
    step.text !== "denied";
}

/** Ends when the file is there. */
async function* watch(dir: string, file: string): AsyncGenerator<void> {
  using watcher = Deno.watchFs(dir);
  if (await exists(file)) return;
  for await (const event of watcher) {
    if (event.paths.includes(file)) return;
    yield;
  }
}

function table(rows: ReadonlyMap<string, Row>): string {
  const names = [...rows.keys()];
  const labels = Object.keys(rows.get(names[0]!) ?? {});
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [
    line(["", ...names]),
    line(["---", ...names.map(() => "---")]),
    ...labels.map((label) =>
      line([label, ...names.map((name) => rows.get(name)?.[label] ?? "–")])
    ),
  ].join("\n");
}

Deno.test({
  name: "one session script on every agent gives the table of docs/agents.md",
  ignore: COLUMNS.some((column) => column.ignore) || !native,
  async fn(t) {
    await using plugin = await open("01_ok", {});
    const tools: HostTool[] = [GREET, ...nativeTools(plugin)];
    const rows = new Map<string, Row>();
    for (const column of COLUMNS) {
      await t.step(column.name, async () => {
        const steps = column.name.startsWith("acp")
          ? SCRIPT.steps.filter(reachedOverAcp)
          : SCRIPT.steps;
        await using world = await makeWorld({ ...SCRIPT, steps });
        rows.set(column.name, await play(column, world, tools));
      });
    }
    if (rows.size < COLUMNS.length) return;
    const found = table(rows);
    await Deno.stdout.write(new TextEncoder().encode(`\n${found}\n\n`));
    const page = await Deno.readTextFile(PAGE);
    assert(
      squeeze(page).includes(squeeze(found)),
      `docs/agents.md has another table; it should be:\n\n${found}\n`,
    );
  },
});

/** Tables as the formatter pads them and as we print them. */
function squeeze(text: string): string {
  return text.replace(/ +/g, " ").replace(/-{3,}/g, "---");
}
