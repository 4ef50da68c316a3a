/**
 * What the worker's commands share.
 *
 * @module
 */

import { bulkheadHome } from "@bulkhead/sandbox";
import {
  type CommandIo,
  type Flags,
  type FlagSpec,
  UsageError,
} from "@bulkhead/sandbox/command";
import { connect, type WorkerClient } from "../client.ts";
import type { SessionStatus } from "../client_types.ts";
import { workerFiles, type WorkerHome, workerHome } from "../store/home.ts";
import { readRegistry } from "../store/registry.ts";

/** One command. */
export interface WorkerVerb {
  /** One line for the overview. */
  readonly summary: string;
  /** The whole help text. */
  readonly help: string;
  /** Its own flags. */
  readonly flags?: FlagSpec;
  /** How many operands it takes, at least and at most. */
  readonly operands: readonly [number, number];
  /**
   * Runs it.
   *
   * @param flags The parsed command line.
   * @param io Where to read and write.
   * @returns The exit code.
   */
  run(flags: Flags, io: CommandIo): Promise<number>;
}

/** The flags of every command. */
export const COMMON_FLAGS: FlagSpec = {
  boolean: ["json", "help"],
  string: ["home"],
  alias: { h: "help", j: "json" },
};

/**
 * The directory of all workers.
 *
 * @param flags The parsed command line.
 * @returns The places under it.
 */
export function homeOf(flags: Flags): WorkerHome {
  const home = bulkheadHome(flags.text("home"));
  return workerHome(
    `${home.startsWith("/") ? home : `${Deno.cwd()}/${home}`}/workers`,
  );
}

/**
 * Bulkhead's own directory, of which the workers' is a part.
 *
 * @param workers The directory of all workers.
 * @returns The directory above it, or itself where it has another name.
 */
export function bulkheadRoot(workers: string): string {
  return workers.replace(/\/workers$/, "");
}

/**
 * An operand of the command line.
 *
 * @param flags The parsed command line.
 * @param at Which one, from 0.
 * @returns The operand.
 */
export function operand(flags: Flags, at: number): string {
  const text = flags.operands[at];
  if (text === undefined) {
    throw new UsageError(
      "Cannot read the command line: an operand is missing",
      "--help",
    );
  }
  return text;
}

/**
 * How calls are judged, in one line: through what they come to the worker, and by whom.
 *
 * @param status How the session stands.
 * @returns Such as `callback, verified; judged by guard, posture`.
 */
export function gateLine(
  { gate, judgedBy }: Pick<SessionStatus, "gate" | "judgedBy">,
): string {
  const kind = gate?.kind ?? "none";
  const judges = judgedBy.length === 0
    ? ""
    : `; judged by ${judgedBy.join(", ")}`;
  return `${kind}${gate?.verified ? ", verified" : ""}${judges}`;
}

/**
 * The short id that a word on the command line means: an id, or the name of a row in the registry.
 *
 * @param home The home.
 * @param word The word.
 * @returns The short id.
 */
async function shortIdOf(
  home: WorkerHome,
  word: string,
): Promise<string> {
  try {
    await Deno.lstat(workerFiles(home, word).dir);
    return word;
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable) throw error;
  }
  const { rows } = await readRegistry(home);
  return rows.find((row) => row.name === word)?.short_id ?? word;
}

/**
 * Connects to the worker that a word means.
 *
 * @param flags The parsed command line.
 * @param word An id or a name.
 * @returns The client.
 * @throws {Deno.errors.NotFound} When there is no such worker, with what to do.
 */
export async function client(
  flags: Flags,
  word: string,
): Promise<WorkerClient> {
  const home = homeOf(flags);
  const id = await shortIdOf(home, word);
  const { socket } = workerFiles(home, id);
  try {
    return await connect(socket);
  } catch (error) {
    if (error instanceof Error && error.message.includes("SUN_LEN")) {
      throw new RangeError(
        `Cannot reach the worker "${word}": the path of its socket, "${socket}", is longer than a socket's may be; use a shorter --home`,
      );
    }
    if (error instanceof Deno.errors.NotCapable) throw error;
    if (
      error instanceof Deno.errors.NotFound ||
      error instanceof Deno.errors.ConnectionRefused
    ) {
      const fix = "bulkhead worker list";
      throw Object.assign(
        new Deno.errors.NotFound(
          `Cannot reach the worker "${word}" under "${home.root}": nobody listens; see "${fix}"`,
        ),
        { fix },
      );
    }
    throw error;
  }
}
