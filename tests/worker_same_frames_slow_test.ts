/** The scripted agent beside the real Claude Code: the same host, the same scripts, the same frames. */

import { assertEquals } from "@std/assert";
import type { ModelScript } from "@bulkhead/guard/scripted-model";
import {
  type AgentDriver,
  type AgentScript,
  claudeDriver,
  type Decider,
  type Frame,
  runWorker,
  scriptedDriver,
  type Worker,
} from "@bulkhead/worker";
import { type AgentWorld, makeWorld } from "./support/agent_world.ts";
import { findHarness } from "./support/harnesses.ts";
import { sideBySide } from "./support/side_by_side.ts";

const claude = await findHarness("claude");

/** What a model does in one message; a turn is over with one that only says something. */
interface Message {
  readonly say?: string;
  readonly calls?: readonly Call[];
}

interface Call {
  readonly tool: string;
  readonly input: Readonly<Record<string, unknown>>;
  /** What the subagent does that it starts. */
  readonly steps?: readonly Message[];
  /** The turn that starts by itself when it is done. */
  readonly then?: readonly Message[];
}

interface Shared {
  readonly name: string;
  turns(world: AgentWorld): readonly (readonly Message[])[];
  /** Several calls are under way at once: what is told of them overlaps. */
  readonly unordered?: true;
  /** What the person does; one turn after the other by default. */
  drive?(worker: Worker, world: AgentWorld): Promise<void>;
}

/** The script as the model plays it for the real agent. */
function modelScript(turns: readonly (readonly Message[])[]): ModelScript {
  const steps = (messages: readonly Message[]) =>
    messages.map(({ say, calls }) => ({
      ...say === undefined ? {} : { text: say },
      ...calls === undefined
        ? {}
        : { calls: calls.map(({ tool, input }) => ({ tool, input })) },
    }));
  const calls = turns.flat().flatMap((message) => message.calls ?? []);
  return {
    steps: turns.flatMap((turn) => [
      ...steps(turn),
      ...turn.flatMap(({ calls }) =>
        (calls ?? []).flatMap((call) => steps(call.then ?? []))
      ),
    ]),
    conversations: calls.flatMap((call) =>
      call.steps === undefined
        ? []
        : [{ match: String(call.input.prompt), steps: steps(call.steps) }]
    ),
  };
}

/** The same for the agent that needs no model. */
function agentScript(turns: readonly (readonly Message[])[]): AgentScript {
  const steps = (
    messages: readonly Message[],
  ): AgentScript["turns"][0]["steps"] =>
    messages.map(({ say, calls = [] }) => {
      const blocks = [
        ...say === undefined ? [] : [{ say }],
        ...calls.map(({ tool, input, steps: inner, then }) => ({
          tool,
          input: { ...input },
          ...inner === undefined ? {} : { steps: steps(inner) },
          ...then === undefined ? {} : { then: steps(then) },
        })),
      ];
      const [only] = blocks;
      return blocks.length === 1 && only !== undefined
        ? only
        : { message: blocks };
    });
  return { schema: 1, turns: turns.map((turn) => ({ steps: steps(turn) })) };
}

/** A frame in a few words: what a host goes by. */
function told(frame: Frame): string | undefined {
  const sub = frame.parent_tool_use_id === undefined ? "" : "sub ";
  switch (frame.kind) {
    case "system":
      return QUIET.has(frame.subtype)
        ? undefined
        : `system ${frame.subtype} ${
          frame.state ?? frame.status ?? frame.task_status ?? frame.task_type ??
            ""
        }`;
    case "stream_event":
      return frame.delta === null ? `event ${frame.event}` : "event text";
    case "assistant":
      return `${sub}assistant ${JSON.stringify(frame.text)} ${
        (frame.tool_uses ?? []).map((use) => use.name)
      }`;
    case "user_echo":
      return `${sub}user ${frame.source} ${
        (frame.tool_results ?? []).map((result) => result.is_error)
      }`;
    case "control_request":
      return `${frame.subtype} ${frame.tool_name} ${
        frame.agent_id === undefined ? "" : "sub"
      }`;
    case "result":
      return `result ${frame.subtype} ${frame.is_error} ${frame.result} ${frame.terminal_reason} ${
        frame.origin ?? ""
      } ${(frame.permission_denials ?? []).map((denial) => denial.tool_name)}`;
    case "other":
      return frame.type_name;
    case "malformed":
      return "malformed";
  }
}

/** What one of them tells more often, as its clock has it. */
const QUIET = new Set(["task_progress", "thinking_tokens"]);

async function framesOf(
  shared: Shared,
  world: AgentWorld,
  driver: AgentDriver,
): Promise<Told[]> {
  const careful: Decider = {
    name: "careful",
    decide: ({ toolName, input }) =>
      JSON.stringify(input).includes(world.outside)
        ? { decision: "deny", reason: "outside is off limits" }
        : toolName === "Read"
        ? { decision: "ask", reason: "a person decides" }
        : { decision: "allow" },
  };
  const worker = await runWorker({
    shortId: driver.name,
    home: `${world.home}/workers`,
    claimsRoot: world.home,
    cwd: world.workspace,
    driver,
    deciders: [careful],
    asks: "wait",
  });
  try {
    if (shared.drive === undefined) {
      for (const [at] of shared.turns(world).entries()) {
        await worker.ask(`turn ${at}`);
      }
    } else await shared.drive(worker, world);
    await settled(worker);
  } finally {
    await worker.end();
  }
  return turnsOf(worker.session.log.since(0).entries.map(({ frame }) => frame));
}

/** What is told in each turn. How a text is cut into pieces, and when a turn is echoed in it, is the clock's. */
function turnsOf(frames: readonly Frame[]): Told[] {
  const turns: Told[] = [];
  let turn: Told = { flow: [], events: [], echoes: 0 };
  for (const frame of frames) {
    const line = told(frame);
    if (line === undefined) continue;
    if (frame.kind === "stream_event") {
      if (turn.events.at(-1) !== line) turn.events.push(line);
    } else if (frame.kind === "user_echo" && frame.source === "replay") {
      turn.echoes++;
    } else turn.flow.push(line);
    if (frame.kind !== "result") continue;
    turns.push(turn);
    turn = { flow: [], events: [], echoes: 0 };
  }
  return [...turns, turn];
}

interface Told {
  /** All but the model's own stream, in order. */
  readonly flow: string[];
  /** The model's stream, in order. */
  readonly events: string[];
  /** How often a turn was echoed. */
  echoes: number;
}

function settled(worker: Worker): Promise<void> {
  return new Promise((resolve) => {
    const look = () => {
      if (!worker.session.quiescent) return;
      unwatch();
      resolve();
    };
    const unwatch = worker.session.watch(look);
    look();
  });
}

const write = (path: string): Call => ({
  tool: "Write",
  input: { file_path: path, content: "x" },
});
const shell = (command: string, more: object = {}): Call => ({
  tool: "Bash",
  input: { command, description: "d", ...more },
});
const read = (path: string): Call => ({
  tool: "Read",
  input: { file_path: path },
});

const SHARED: readonly Shared[] = [
  { name: "text", turns: () => [[{ say: "hello there" }], [{ say: "again" }]] },
  {
    name: "allowed and denied calls",
    turns: ({ workspace, outside }) => [[
      { say: "on it", calls: [write(`${workspace}/a`)] },
      { calls: [write(`${outside}/b`)] },
      { calls: [shell(`echo x > ${workspace}/c`)] },
      { say: "done" },
    ]],
  },
  {
    name: "a subagent",
    turns: ({ workspace, outside }) => [[
      {
        calls: [{
          tool: "Task",
          input: {
            description: "part",
            prompt: "SUB part",
            subagent_type: "general-purpose",
          },
          steps: [
            { calls: [write(`${workspace}/s`)] },
            { calls: [write(`${outside}/s`)] },
            { say: "sub done" },
          ],
        }],
      },
      { say: "done" },
    ]],
  },
  {
    name: "a background command starts a turn",
    turns: ({ workspace }) => [[
      {
        calls: [{
          ...shell(`until [ -e ${workspace}/go ]; do sleep 0.1; done`, {
            run_in_background: true,
          }),
          then: [{ say: "it is done" }],
        }],
      },
      { say: "started" },
    ]],
    async drive(worker, { workspace }) {
      await worker.ask("turn 0");
      await Deno.writeTextFile(`${workspace}/go`, "");
    },
  },
  {
    name: "two questions at once, one allowed and one denied",
    unordered: true,
    turns: ({ workspace }) => [[
      { calls: [read(`${workspace}/one`), read(`${workspace}/two`)] },
      { say: "read" },
    ]],
    async drive(worker) {
      const { turn } = await worker.send("turn 0");
      await asked(worker, 2);
      const [one, two] = worker.asks;
      worker.answer(one?.id ?? "", { decision: "allow" });
      worker.answer(two?.id ?? "", { decision: "deny", reason: "no" });
      await worker.outcome(turn);
    },
  },
  {
    name: "an interrupt in an open question, and the next turn",
    turns: ({ workspace }) => [
      [{ calls: [read(`${workspace}/one`)] }],
      [{ say: "next" }],
    ],
    async drive(worker) {
      const { turn } = await worker.send("turn 0");
      await asked(worker, 1);
      await worker.interrupt();
      await worker.outcome(turn);
      await worker.ask("turn 1");
    },
  },
];

function asked(worker: Worker, count: number): Promise<void> {
  return new Promise((resolve) => {
    const look = () => {
      if (worker.asks.length < count) return;
      unwatch();
      resolve();
    };
    const unwatch = worker.session.watch(look);
    look();
  });
}

sideBySide(
  SHARED.map((shared) => ({
    name: `scripted agent and Claude Code tell the same frames: ${shared.name}`,
    async fn() {
      const [scripted, real] = await Promise.all([
        played(shared, false),
        played(shared, true),
      ]);
      if (shared.unordered) {
        for (const { flow } of [...scripted, ...real]) flow.sort();
      }
      assertEquals(scripted, real);
    },
  })),
  { atOnce: 2, ignore: claude === undefined },
);

/** Plays a script on one of the two, in a world of its own. */
async function played(shared: Shared, real: boolean): Promise<Told[]> {
  await using place = await makeWorld({ steps: [] });
  for (const name of ["one", "two"]) {
    await Deno.writeTextFile(`${place.workspace}/${name}`, `${name}\n`);
  }
  const turns = shared.turns(place);
  await using world = await makeWorld(modelScript(turns));
  const env = { ...place.env, ANTHROPIC_BASE_URL: world.model.origin };
  const driver = real
    ? claudeDriver({ command: [claude ?? ""], env })
    : scriptedDriver({
      script: agentScript(turns),
      sessions: `${place.home}/sessions`,
      env,
    });
  return await framesOf(shared, place, driver);
}
