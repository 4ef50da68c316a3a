/**
 * A hosted session for tests: any driver behind our `Session`, with a judge that keeps the agent inside its workspace.
 *
 * @module
 */
import type {
  AgentDriver,
  AskAnswer,
  Decider,
  Frame,
  HostTool,
  ToolCall,
} from "@bulkhead/worker";
import { type AskPolicy, Session } from "../../worker/session.ts";
import type { AgentWorld } from "./agent_world.ts";

/** Options of {@linkcode hostAgent}. */
export interface HostOptions {
  /** Session to go on with. */
  readonly resume?: string;
  /** Tools the host offers. */
  readonly tools?: readonly HostTool[];
  /** What becomes of asks. Default `deny`. */
  readonly asks?: AskPolicy;
  /** Who judges. Default: whatever names the directory outside is denied. */
  readonly deciders?: readonly Decider[];
}

/** A session and what was seen of it. */
export interface Hosted extends AsyncDisposable {
  /** The session. */
  readonly session: Session;
  /** Calls the judge saw. */
  readonly judged: readonly ToolCall[];
  /** Frames, in order. */
  frames(): Frame[];
  /** Sends a turn and waits for its outcome. */
  turn(text: string): Promise<Awaited<ReturnType<Session["outcome"]>>>;
  /** Waits until something holds, looked at after each change. */
  until(met: () => boolean): Promise<void>;
  /** Answers the ask whose arguments contain a text, once it is open. */
  answerAbout(text: string, answer: AskAnswer): Promise<void>;
}

const BOUND_MS = 90_000;

/** Why calls outside are denied. */
export const OFF_LIMITS = "outside is off limits";

/** A tool that greets. */
export const GREET: HostTool = {
  name: "plugin__demo__greet",
  description: "Greets",
  inputSchema: {
    type: "object",
    properties: { who: { type: "string" } },
    required: ["who"],
  },
  execute(args) {
    const who = typeof args === "object" && args !== null && "who" in args
      ? args.who
      : "nobody";
    const content = [{ type: "text", text: `hello ${who}` }];
    return Promise.resolve({ content });
  },
};

function keepInside(outside: string, judged: ToolCall[]): Decider {
  return {
    name: "test",
    decide(call) {
      judged.push(call);
      return JSON.stringify(call.input)?.includes(outside)
        ? { decision: "deny", reason: OFF_LIMITS }
        : { decision: "allow" };
    },
  };
}

/** A test that hangs says what it was waiting for, and what came last. */
async function bounded<T>(
  what: string,
  work: Promise<T>,
  session: Session,
): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      const last = session.log.since(0).entries.slice(-5).map((entry) =>
        entry.raw.slice(0, 300)
      );
      reject(
        new Error(
          `${what} has not come within ${BOUND_MS} ms, after:\n${
            last.join("\n")
          }`,
        ),
      );
    }, BOUND_MS);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Starts an agent in a world.
 *
 * @param driver Of the agent.
 * @param world It lives in.
 * @param options Of the session.
 * @returns The running session.
 */
export async function hostAgent(
  driver: AgentDriver,
  world: AgentWorld,
  options: HostOptions = {},
): Promise<Hosted> {
  const judged: ToolCall[] = [];
  const tools = options.tools === undefined
    ? undefined
    : new Map(options.tools.map((tool) => [tool.name, tool]));
  const session = new Session({
    driver,
    cwd: world.workspace,
    deciders: options.deciders ?? [keepInside(world.outside, judged)],
    asks: options.asks ?? "deny",
    ...(tools === undefined ? {} : {
      tools: {
        get: (name) => tools.get(name),
        [Symbol.iterator]: () => tools.values(),
      },
    }),
  });
  await session.start({
    env: world.env,
    ...(options.resume === undefined ? {} : { resume: options.resume }),
  });
  async function until(met: () => boolean): Promise<void> {
    if (met()) return;
    await new Promise<void>((resolve, reject) => {
      const stop = session.watch(() => {
        if (met()) {
          stop();
          resolve();
        } else if (session.state === "dead") {
          stop();
          reject(new Error("the agent ended before it came to that"));
        }
      });
    });
  }
  return {
    session,
    judged,
    frames: () => session.log.since(0).entries.map((entry) => entry.frame),
    async turn(text) {
      const { turn } = await session.send({ text });
      return await bounded(
        `the turn "${text}"`,
        session.outcome(turn),
        session,
      );
    },
    until: (met) => bounded("what was waited for", until(met), session),
    async answerAbout(text, answer) {
      const find = () =>
        session.asks.find((ask) => JSON.stringify(ask.input)?.includes(text));
      await bounded(
        `the ask about "${text}"`,
        until(() => find() !== undefined),
        session,
      );
      session.answer(find()!.id, answer);
    },
    async [Symbol.asyncDispose]() {
      await session.close();
    },
  };
}
