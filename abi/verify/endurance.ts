/**
 * What shows only over time: threads that call late, strings and memory that are kept, an end that does not come.
 *
 * @module
 */

import { pause } from "@bulkhead/sandbox";
import type { EngineStats } from "../engine_types.ts";
import { AbiError } from "../errors.ts";
import { sampleArguments } from "../sample.ts";
import type { VerifyReport } from "./report.ts";
import type { VerifySession } from "./session.ts";

/** The runtime that hosts the plugin keeps up to 60 bytes of its own per call for a while. */
const LEAK_BYTES_PER_CALL = 100;
/** What it takes for itself while it warms up; few calls show no leak that is smaller. */
const OWN_BYTES = 524_288;
/** What frees the strings of the host. */
const FREE_PARAMS = "call free_params once on the params that execute receives";
const FREE_ANSWERS = ", and free_string on each answer of runtime_action";
/** The part of all polls that may be slow on a busy machine. */
const SLOW_PART = 0.05;
/** How long threads of the plugin are watched after the calls. */
const QUIET_MS = 300;
/** An end that takes longer may have been a kill, which follows after a second. */
const EXIT_MS = 900;

/** Threads of the plugin may go on after a call; what they must not do is to report progress for it. */
export async function checkThreads(session: VerifySession): Promise<void> {
  if (session.plugin === undefined) return;
  const before = session.errors();
  try {
    await pause(QUIET_MS);
    const stats = await session.plugin.stats();
    session.report.figures.runtimeActions = stats.actions;
    if (stats.latePartials > 0) {
      session.found(
        "error",
        "threads",
        `progress came ${stats.latePartials} times after its call was over`,
        "call partial only from inside poll",
      );
    }
    const held = stats.hostStrings.given - stats.hostStrings.freed;
    if (held > 0 && session.holders.size > 0) {
      const names = [...session.holders].map((name) => `"${name}"`).join(", ");
      session.found(
        "error",
        "threads",
        `${held} strings of the host were not freed after calls of ${names}`,
        stats.actions > 0 ? FREE_PARAMS + FREE_ANSWERS : FREE_PARAMS,
      );
    }
    if (stats.liveHandles > 0) {
      session.found(
        "error",
        "threads",
        `${stats.liveHandles} handles are still alive after every call was over`,
      );
    }
  } catch (error) {
    if (!(error instanceof AbiError)) throw error;
    await session.blame("threads", "a thread of the plugin", error);
  }
  session.done("threads", before, `${QUIET_MS} ms of quiet after the calls`);
}

/** One tool is called thousands of times while strings, handles and memory are counted. */
export async function checkLeaks(session: VerifySession): Promise<void> {
  const often = toolToCall(session);
  const calls = session.options.calls ?? 10_000;
  if (often === undefined || session.plugin === undefined) {
    await findSlowPolls(session);
    return session.skipped(
      "leaks",
      "no tool answered a sample call quickly; name one with --tool and --args",
    );
  }
  const plugin = session.plugin;
  const before = session.errors();
  const warmUp = Math.min(calls, Math.max(100, calls / 10));
  const run = async (count: number): Promise<void> => {
    const lanes = Array.from({ length: 4 }, async (_, lane) => {
      for (let i = lane; i < count; i += 4) {
        try {
          await session.call(often.name, often.args);
        } catch (error) {
          if (!(error instanceof AbiError) || error.code !== "tool") {
            throw error;
          }
        }
      }
    });
    await Promise.all(lanes);
  };
  try {
    await run(warmUp);
    const start = await plugin.stats();
    const started = performance.now();
    await run(calls / 2);
    const middle = await plugin.stats();
    await run(calls / 2);
    const elapsed = performance.now() - started;
    const end = await plugin.stats();
    const counted = [start, middle, end] as const;
    Object.assign(session.report.figures, figuresOf(counted, calls, elapsed));
    findLeaks(session, counted, calls);
  } catch (error) {
    if (!(error instanceof AbiError)) throw error;
    await session.blame(
      "leaks",
      `tool "${often.name}" called ${calls} times`,
      error,
    );
  }
  session.done(
    "leaks",
    before,
    `tool "${often.name}" was called ${calls} times`,
  );
}

/** The tool that the caller named, else one that answered quickly. */
function toolToCall(
  { options, plugin, quick }: VerifySession,
): { name: string; args: string } | undefined {
  const { tool: name, args } = options;
  if (name === undefined) return quick;
  const schema = plugin?.registration.tools.find((tool) => tool.name === name)
    ?.parameters;
  return { name, args: args ?? sampleArguments(schema ?? "{}") };
}

/** Counters at the start, in the middle and at the end of the calls. */
type Counted = readonly [EngineStats, EngineStats, EngineStats];

/** Memory that stays with each call. A leak goes on; what caches and arenas take comes to an end. */
function heapBytesPerCall(
  [start, middle, end]: Counted,
  calls: number,
): number {
  return Math.min(
    middle.heapBytes - start.heapBytes,
    end.heapBytes - middle.heapBytes,
  ) / (calls / 2);
}

function figuresOf(
  counted: Counted,
  calls: number,
  elapsedMs: number,
): VerifyReport["figures"] {
  const [start, , end] = counted;
  return {
    calls,
    microsecondsPerCall: Math.round(elapsedMs * 1_000 / calls),
    hostStringsGiven: end.hostStrings.given,
    hostStringsFreed: end.hostStrings.freed,
    pluginStringsReceived: end.stringsReceived,
    pluginStringsFreed: end.stringsFreed,
    liveHandles: end.liveHandles,
    heapBytesPerCall: Math.round(heapBytesPerCall(counted, calls) * 10) / 10,
    rssGrowthBytes: end.rssBytes - start.rssBytes,
    longestPollMs: Math.round(end.longestPollMs * 10) / 10,
  };
}

function findLeaks(
  session: VerifySession,
  counted: Counted,
  calls: number,
): void {
  const [start, , end] = counted;
  const lost = (end.hostStrings.given - end.hostStrings.freed) -
    (start.hostStrings.given - start.hostStrings.freed);
  if (lost > 0) {
    session.found(
      "error",
      "leaks",
      `${lost} strings of the host were not freed in ${calls} calls`,
      end.actions > 0 ? FREE_PARAMS + FREE_ANSWERS : FREE_PARAMS,
    );
  }
  if (end.hostStrings.freedTwice > 0) {
    session.found(
      "error",
      "leaks",
      `${end.hostStrings.freedTwice} strings of the host were freed twice`,
      "each string is freed once",
    );
  }
  if (end.hostStrings.freedWrong > 0) {
    session.found(
      "error",
      "leaks",
      `${end.hostStrings.freedWrong} pointers that are no strings of the host were passed to free_string`,
      "free your own strings yourself",
    );
  }
  if (end.liveHandles > 0) {
    session.found(
      "error",
      "leaks",
      `${end.liveHandles} handles are still alive`,
    );
  }
  const heap = heapBytesPerCall(counted, calls);
  if (heap > LEAK_BYTES_PER_CALL && heap * calls > OWN_BYTES) {
    session.found(
      "warning",
      "leaks",
      `its process keeps about ${
        Math.round(heap)
      } more bytes of malloc memory per call`,
      "run it under valgrind or build it with -fsanitize=address",
    );
  }
  if (end.invalidUtf8 > 0) {
    session.found(
      "warning",
      "leaks",
      `${end.invalidUtf8} strings were not valid UTF-8`,
      "strings of the ABI are UTF-8",
    );
  }
  if (end.slowPolls > end.polls * SLOW_PART) slowPolls(session, end);
}

/** Without a tool that answers quickly, polls that block may be why. */
async function findSlowPolls(session: VerifySession): Promise<void> {
  try {
    const stats = await session.plugin?.stats();
    if (stats !== undefined && stats.slowPolls * 2 > stats.polls) {
      slowPolls(session, stats);
    }
  } catch (error) {
    if (!(error instanceof AbiError)) throw error;
    // Gone: whatever ended it was found.
  }
}

function slowPolls(session: VerifySession, stats: EngineStats): void {
  session.found(
    "warning",
    "leaks",
    `${stats.slowPolls} of ${stats.polls} polls took more than 50 ms, the longest ${
      Math.round(stats.longestPollMs)
    } ms`,
    "poll must not block: hand long work to a thread",
  );
}

/** The plugin's process ends when it is told to. */
export async function checkExit(session: VerifySession): Promise<void> {
  if (session.plugin === undefined) {
    return session.skipped("exit", "it is not running any more");
  }
  const started = performance.now();
  await session.plugin.close();
  const took = performance.now() - started;
  if (took > EXIT_MS) {
    session.found(
      "warning",
      "exit",
      `its process took ${Math.round(took)} ms to end and may have been killed`,
      "look at destructors, atexit handlers and threads that do not end",
    );
  }
  if (session.printed > 0) {
    session.found(
      "info",
      "exit",
      `it printed ${session.printed} lines; hosts show them as diagnostics`,
    );
  }
  session.passed("exit", `ended within ${Math.round(took)} ms`);
}
