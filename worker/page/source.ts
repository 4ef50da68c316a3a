/**
 * Where the page gets sessions from: a home on this machine, or something with the
 * same calls, such as a fleet of machines.
 *
 * @module
 */
import type { AskAnswer, Gate } from "../agents/driver.ts";
import { connect, type WatchEvent, type WorkerClient } from "../client.ts";
import type { FleetEntry } from "../fleet.ts";
import { workerFiles, workerHome } from "../store/home.ts";
import { FleetFeed } from "./feed.ts";

/** A session as the page gets it. */
export interface PageSession extends Omit<FleetEntry, "state"> {
  /** How it stands. */
  readonly state: string;
  /** The gate, of a session that answers. */
  readonly gate: Gate | null;
  /** True when a running turn has been silent for too long. */
  readonly stalled: boolean;
  /** The machine, when it is not this one. */
  readonly host?: string;
  /** The load of that machine over the last minute. */
  readonly hostLoad?: number | null;
}

/** A machine as the page gets it. */
export interface PageHost {
  /** Its name. */
  readonly host: string;
  /** Sessions that it runs. */
  readonly sessions: number;
  /** Sessions that it takes; 0 when it only shows its own. */
  readonly slots: number;
  /** Load of the last minute. */
  readonly load: number | null;
  /** Memory that it offers. */
  readonly memoryBytes: number | null;
}

/** Hears of all sessions, and of all machines where there are several. */
export type PageListener = (
  sessions: readonly PageSession[],
  hosts?: readonly PageHost[],
) => void;

/** The sessions behind a page. */
export interface PageSource {
  /** Calls the listener now and after every change, until the returned function is called. */
  listen(listener: PageListener): () => void;
  /** What happens in a session from a frame on, until the signal fires. */
  watch(
    id: string,
    cursor: number,
    signal: AbortSignal,
  ): Promise<AsyncIterable<WatchEvent>>;
  /** Sends a turn. */
  turn(id: string, text: string): Promise<void>;
  /** Stops the running turn. */
  interrupt(id: string): Promise<void>;
  /** Answers a question; false when it was settled before. */
  answer(id: string, ask: string, answer: AskAnswer): Promise<boolean>;
  /** Lets go of everything. */
  close(): Promise<void>;
}

/** The workers under a home. */
export function homeSource(home: string): PageSource {
  const feed = new FleetFeed(home);
  const open = (id: string): Promise<WorkerClient> =>
    connect(workerFiles(workerHome(home), id).socket);
  return {
    listen: (listener) => feed.listen(listener),
    async watch(id, cursor, signal) {
      const client = await open(id);
      signal.addEventListener("abort", () => client.close(), { once: true });
      return client.watch({ cursor, answers: true, signal });
    },
    async turn(id, text) {
      using client = await open(id);
      await client.writeTurn(text);
    },
    async interrupt(id) {
      using client = await open(id);
      await client.interrupt();
    },
    async answer(id, ask, answer) {
      using client = await open(id);
      return await client.answerAsk(ask, answer);
    },
    close: () => feed.stop(),
  };
}
