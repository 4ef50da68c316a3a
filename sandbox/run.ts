import { type Capture, capture } from "./capture.ts";
import type { IsolationBackend } from "./isolation.ts";
import { type SpawnOptions, spawnTree, type Tree } from "./spawn.ts";
import { endsWithin, MAX_TIMER_MS } from "./timer.ts";

/** Options of {@linkcode run}. */
export interface RunOptions extends SpawnOptions {
  /**
   * What the child reads on standard input; nothing by default. A stream is handed on as
   * it comes and let go of, not cancelled, when the child ends.
   */
  stdin?: string | Uint8Array | ReadableStream<Uint8Array>;
  /**
   * Bytes kept of standard output, and as many of standard error. Reading goes on.
   *
   * @default {1048576}
   */
  maxBytes?: number;
  /**
   * Milliseconds until the tree is killed; 0 waits without limit.
   *
   * @default {30000}
   */
  timeoutMs?: number;
  /**
   * Milliseconds to wait for the rest of the output after the child has exited
   * while something it started still holds the pipes.
   *
   * @default {100}
   */
  drainMs?: number;
  /** Kills the tree when aborted. When already aborted nothing is started. */
  signal?: AbortSignal;
  /** Called with each chunk of standard output; the bytes are valid only during the call. */
  onStdout?: (chunk: Uint8Array) => void;
  /** The same for standard error. */
  onStderr?: (chunk: Uint8Array) => void;
  /** On Linux, also end the child when this process is killed. Costs about 0.5 ms. */
  dieWithParent?: boolean;
}

/** How a process ended and what it said. */
export interface RunResult {
  /** Exit code; `null` when a signal ended it or nothing was started. */
  code: number | null;
  /** The signal that ended it, if one did. */
  signal: string | null;
  /** True for exit code 0 within the time. */
  success: boolean;
  /** True when the timeout ended it. */
  timedOut: boolean;
  /** True when the abort signal ended it, or kept it from being started. */
  aborted: boolean;
  /** The first bytes of standard output, cut on a character boundary. */
  stdout: string;
  /** The first bytes of standard error, cut on a character boundary. */
  stderr: string;
  /** Which of the two were cut. */
  truncated: {
    /** Standard output was longer than what was kept. */
    stdout: boolean;
    /** Standard error was longer than what was kept. */
    stderr: boolean;
  };
  /** Milliseconds from start to end. */
  durationMs: number;
  /** What confined it. */
  isolation: IsolationBackend;
}

/** After a kill, how long pipes may stay open without a byte before we give up on them. */
const RELEASE_MS = 500;

/** What may still be in two pipes after their writers are gone; each holds up to 1 MiB. */
const LEFT_IN_PIPES = 2 * 1024 * 1024;

/**
 * Runs a program to its end: three pipes at once, bounded output, a deadline, and
 * on every path nothing that it started is left running.
 *
 * Whatever the child does is a result, never an exception. Needs unscoped
 * `--allow-run` (killing a process group does), `--allow-env` for the inherited
 * names unless `env` is given, and `--allow-read` to confine.
 *
 * @param argv The program and its arguments; never a shell line.
 * @param options Limits, input, confinement.
 * @returns How it ended and what it said.
 * @throws {Deno.errors.NotFound} When the program or directory does not exist.
 * @throws {IsolationUnavailableError} When required confinement cannot be had.
 * @throws {PermissionRequiredError} When a grant is missing.
 *
 * @example Usage
 * ```ts
 * import { run } from "@bulkhead/sandbox";
 * import { assertEquals } from "@std/assert";
 *
 * const result = await run(["cat"], { stdin: "hello" });
 * assertEquals(result.code, 0);
 * assertEquals(result.stdout, "hello");
 * ```
 */
export async function run(
  argv: readonly string[],
  options: RunOptions = {},
): Promise<RunResult> {
  const { signal } = options;
  const start = performance.now();
  if (signal?.aborted) return notStarted();
  const tree = await spawnTree(argv, options, {
    stdin: options.stdin === undefined ? "null" : "piped",
    stdout: "piped",
    stderr: "piped",
    ...options.dieWithParent ? { parentDeath: "SIGKILL" } : {},
  });
  try {
    const { child } = tree;
    const maxBytes = options.maxBytes ?? 1024 * 1024;
    const stdout = capture(child.stdout, maxBytes, options.onStdout);
    const stderr = capture(child.stderr, maxBytes, options.onStderr);
    const outputs = [stdout, stderr];
    const over = new AbortController();
    const input = options.stdin === undefined
      ? undefined
      : feed(child.stdin, options.stdin, over.signal);
    const { status, cause } = await ended(tree, options);
    const drained = await settle(outputs, options.drainMs ?? 100);
    await tree.kill();
    if (!drained && !await released(outputs)) {
      await Promise.all(outputs.map((output) => output.stop()));
    }
    over.abort();
    await input;
    const [out, err] = [stdout.result(), stderr.result()];
    const failure = await tree.execFailure(status.code, err.text);
    if (failure) throw failure;
    return {
      code: status.signal === null ? status.code : null,
      signal: status.signal,
      success: status.success && cause === "exit",
      timedOut: cause === "timeout",
      aborted: cause === "abort",
      stdout: out.text,
      stderr: err.text,
      truncated: { stdout: out.truncated, stderr: err.truncated },
      durationMs: performance.now() - start,
      isolation: tree.backend,
    };
  } finally {
    await tree.dispose();
  }
}

/** Waits for the child's end, ending it at the deadline or on abort. */
async function ended(
  tree: Tree,
  options: RunOptions,
): Promise<
  { status: Deno.CommandStatus; cause: "exit" | "timeout" | "abort" }
> {
  const { signal } = options;
  const timeoutMs = options.timeoutMs ?? 30_000;
  let cause: "exit" | "timeout" | "abort" = "exit";
  let killing: Promise<unknown> | undefined;
  const stop = (why: "timeout" | "abort"): void => {
    cause = why;
    killing ??= tree.kill();
  };
  // A deadline that no timer holds is none.
  const timer = timeoutMs > 0 && timeoutMs <= MAX_TIMER_MS
    ? setTimeout(() => stop("timeout"), timeoutMs)
    : undefined;
  const onAbort = (): void => stop("abort");
  signal?.addEventListener("abort", onAbort, { once: true });
  // It may have been aborted while the child was being started.
  if (signal?.aborted) onAbort();
  try {
    const status = await tree.child.status;
    return { status, cause };
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", onAbort);
    await killing;
  }
}

/** Writes the input beside the reading; a child need not read it. */
async function feed(
  stdin: WritableStream<Uint8Array>,
  data: string | Uint8Array | ReadableStream<Uint8Array>,
  over: AbortSignal,
): Promise<void> {
  if (data instanceof ReadableStream) {
    // Fails when the child closes its input or is gone; its exit is what counts.
    await data.pipeTo(stdin, { signal: over, preventCancel: true })
      .catch(() => {});
    return;
  }
  const bytes = typeof data === "string"
    ? new TextEncoder().encode(data)
    : data;
  const writer = stdin.getWriter();
  try {
    await writer.write(bytes);
    await writer.close();
  } catch {
    // The child closed its input or is gone; its exit is what counts.
    await writer.abort().catch(() => {});
  }
}

/** Waits until all outputs have ended or the time is up. */
function settle(outputs: readonly Capture[], waitMs: number): Promise<boolean> {
  return endsWithin(Promise.all(outputs.map(({ done }) => done)), waitMs);
}

/**
 * Waits for the end of outputs whose writers were killed. Whoever takes the chunks may be
 * slow, so as long as bytes come it waits for the rest of what the pipes hold.
 */
async function released(outputs: readonly Capture[]): Promise<boolean> {
  const read = (): number => outputs.reduce((sum, one) => sum + one.read, 0);
  const start = read();
  for (let before = start;; before = read()) {
    if (await settle(outputs, RELEASE_MS)) return true;
    if (read() === before || read() - start > LEFT_IN_PIPES) return false;
  }
}

function notStarted(): RunResult {
  return {
    code: null,
    signal: null,
    success: false,
    timedOut: false,
    aborted: true,
    stdout: "",
    stderr: "",
    truncated: { stdout: false, stderr: false },
    durationMs: 0,
    isolation: "none",
  };
}
