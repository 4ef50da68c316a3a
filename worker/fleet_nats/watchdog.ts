/**
 * Ends an agent whose worker no longer vouches for the lease, also when the worker is
 * stopped, swapped out or killed: a small process of its own that hears of every
 * renewal and kills the agent's tree when it has heard of none for too long.
 *
 * Its stdin gets one JSON line a renewal, `{"agent":{"pid","ticks"},"holdMs"}`, and
 * `{"done":true}` at an orderly end. The end of its stdin counts as no renewal.
 *
 * @module
 */
import {
  denoEntry,
  LineSplitter,
  type ManagedProcess,
  startProcess,
} from "@bulkhead/sandbox";
import { isJsonObject } from "../frame.ts";
import { endProcess, type ProcessMark } from "../store/processes.ts";

/** The permissions of the watchdog. */
export const WATCHDOG_PERMISSIONS: readonly string[] = ["--allow-run"];

/** How often it looks at the clock, which may have jumped. */
const TICK_MS = 1_000;

/** A running watchdog. */
export class Watchdog {
  readonly #process: ManagedProcess;
  readonly #writer: WritableStreamDefaultWriter<Uint8Array>;
  readonly #agent: ProcessMark;
  #done = false;

  private constructor(process: ManagedProcess, agent: ProcessMark) {
    this.#process = process;
    this.#agent = agent;
    this.#writer = process.stdin.getWriter();
    this.#writer.closed.catch(() => {});
  }

  /** Starts a watchdog over an agent. */
  static async start(agent: ProcessMark, holdMs: number): Promise<Watchdog> {
    const entry = denoEntry(new URL("./watchdog.ts", import.meta.url), {
      permissions: WATCHDOG_PERMISSIONS,
      flags: ["--v8-flags=--max-semi-space-size=1,--max-old-space-size=32"],
    });
    const process = await startProcess(entry.argv, {
      env: { ...entry.env, PATH: Deno.env.get("PATH") ?? "/usr/bin:/bin" },
      stderr: "null",
      // It has to outlive us, to end the agent.
      parentDeath: "none",
    });
    const watchdog = new Watchdog(process, agent);
    const ready = process.stdout.getReader();
    await ready.read();
    ready.cancel().catch(() => {});
    await watchdog.vouch(holdMs);
    return watchdog;
  }

  /** The lease holds for so long from now. */
  async vouch(holdMs: number): Promise<void> {
    await this.#send({ agent: this.#agent, holdMs });
  }

  /** Calls a function when the watchdog ends without being told to. */
  onLost(lost: () => void): void {
    const ended = () => {
      if (!this.#done) lost();
    };
    this.#process.status.then(ended, ended);
  }

  /** The agent has ended in order. */
  async done(): Promise<void> {
    this.#done = true;
    await this.#send({ done: true });
    await this.#process.end({ eofMs: 1_000, termMs: 500 });
  }

  async #send(line: unknown): Promise<void> {
    await this.#writer.write(
      new TextEncoder().encode(JSON.stringify(line) + "\n"),
    ).catch(() => {});
  }
}

/** What the program hears of; the time left is counted on two clocks. */
interface Vouched {
  agent: ProcessMark;
  holdMs: number;
  monotonic: number;
  wall: number;
}

async function main(): Promise<void> {
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) {
    Deno.addSignalListener(signal, () => {});
  }
  let vouched: Vouched | undefined;
  let over = false;
  const end = async () => {
    if (over) return;
    over = true;
    try {
      if (vouched !== undefined) await endProcess(vouched.agent, { termMs: 0 });
    } finally {
      Deno.exit(0);
    }
  };
  const look = () => {
    if (over) return;
    if (vouched !== undefined && leftOf(vouched) <= 0) return void end();
    const wait = vouched === undefined
      ? TICK_MS
      : Math.min(TICK_MS, leftOf(vouched) + 1);
    setTimeout(look, Math.max(1, wait));
  };
  look();
  await Deno.stdout.write(new TextEncoder().encode("ready\n"));
  const splitter = new LineSplitter();
  const buffer = new Uint8Array(4096);
  for (;;) {
    const size = await Deno.stdin.read(buffer).catch(() => null);
    if (size === null) break;
    for (const line of splitter.push(buffer.slice(0, size))) {
      const message = read(new TextDecoder().decode(line.bytes));
      if (message === "done") Deno.exit(0);
      if (message !== undefined) vouched = message;
    }
  }
  await end();
}

function leftOf(vouched: Vouched): number {
  const elapsed = Math.max(
    performance.now() - vouched.monotonic,
    Date.now() - vouched.wall,
  );
  return vouched.holdMs - elapsed;
}

/** A line that cannot be read counts as none: then the lease runs out by itself. */
function read(text: string): Vouched | "done" | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isJsonObject(value)) return undefined;
  if ("done" in value) return "done";
  const { agent, holdMs } = value;
  if (!isJsonObject(agent) || typeof holdMs !== "number") return undefined;
  const { pid, ticks } = agent;
  if (typeof pid !== "number" || typeof ticks !== "number") return undefined;
  return {
    agent: { pid, ticks },
    holdMs,
    monotonic: performance.now(),
    wall: Date.now(),
  };
}

if (import.meta.main) await main();
