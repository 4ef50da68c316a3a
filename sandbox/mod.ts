/**
 * Runs a process: bounded, confined, ended for sure.
 *
 * {@linkcode run} is for one call, {@linkcode startProcess} for a child that stays.
 * Both take an argument vector and never a shell line, hand on a short list of
 * environment variables, and leave nothing running.
 *
 * @example Run a program that can read one directory and nothing else of yours
 * ```ts
 * import { run } from "@bulkhead/sandbox";
 * import { assertEquals } from "@std/assert";
 *
 * const dir = await Deno.makeTempDir();
 * await Deno.writeTextFile(`${dir}/hello.txt`, "hello");
 * const result = await run(["cat", `${dir}/hello.txt`], {
 *   isolation: { policy: { read: [dir] }, level: "preferred" },
 *   cwd: dir,
 *   timeoutMs: 10_000,
 * });
 * assertEquals(result.stdout, "hello");
 * await Deno.remove(dir, { recursive: true });
 * ```
 *
 * @module
 */

export * from "./entry.ts";
export * from "./environment.ts";
export { findExecutable, startError } from "./executable.ts";
export { exitSignal } from "./exit_signal.ts";
export * from "./file_lock.ts";
export * from "./files.ts";
export {
  isolate,
  type Isolated,
  type IsolateOptions,
  type IsolationBackend,
  type IsolationLevel,
  type IsolationOptions,
  type IsolationPolicy,
  type IsolationProbe,
  IsolationUnavailableError,
  probeIsolation,
} from "./isolation.ts";
export * from "./lines.ts";
export * from "./paths.ts";
export * from "./permissions.ts";
export {
  type EndOptions,
  type EndReport,
  ManagedProcess,
  type ProcessOptions,
  type ProcessStatus,
  startProcess,
} from "./process.ts";
export * from "./read_file.ts";
export { reasonOf } from "./reason.ts";
export { run, type RunOptions, type RunResult } from "./run.ts";
export type { SpawnOptions } from "./spawn.ts";
export * from "./timer.ts";
export * from "./temporary.ts";
