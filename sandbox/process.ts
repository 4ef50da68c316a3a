import type { IsolationBackend } from "./isolation.ts";
import { type SpawnOptions, spawnTree, type Tree } from "./spawn.ts";
import { endsWithin } from "./timer.ts";
import {
  descendants,
  isSame,
  signalGroup,
  signalProcess,
  untilGone,
} from "./tree.ts";

/** Options of {@linkcode startProcess}. */
export interface ProcessOptions extends SpawnOptions {
  /**
   * Where standard error goes.
   *
   * @default {"piped"}
   */
  stderr?: "piped" | "null" | "inherit";
  /**
   * What the child gets when this process dies, on Linux with setpriv(1). An
   * isolated child is always killed then.
   *
   * @default {"SIGKILL"}
   */
  parentDeath?: "SIGTERM" | "SIGKILL" | "none";
}

/** How a long-lived child's first process ended. */
export interface ProcessStatus {
  /** Exit code; `null` when a signal ended it. */
  code: number | null;
  /** The signal that ended it, if one did. */
  signal: string | null;
  /** True for exit code 0. */
  success: boolean;
}

/** Options of {@linkcode ManagedProcess.end}. */
export interface EndOptions {
  /**
   * Milliseconds to wait after closing standard input.
   *
   * @default {2000}
   */
  eofMs?: number;
  /**
   * Milliseconds to wait after SIGTERM.
   *
   * @default {5000}
   */
  termMs?: number;
}

/** What it took to end a child. */
export interface EndReport extends ProcessStatus {
  /** The step at which its first process ended. */
  by: "exit" | "eof" | "term" | "kill";
  /** Pids of what it had left running and that had to be killed. */
  killed: number[];
}

/**
 * A long-lived child: its streams, and an end that is sure. Made by
 * {@linkcode startProcess}.
 *
 * @example Usage
 * ```ts
 * import { startProcess } from "@bulkhead/sandbox";
 * import { assertEquals } from "@std/assert";
 *
 * const child = await startProcess(["cat"]);
 * const report = await child.end();
 * await Promise.all([child.stdout.cancel(), child.stderr.cancel()]);
 * assertEquals(report.by, "eof");
 * ```
 */
export class ManagedProcess implements AsyncDisposable {
  /** The child's process id. */
  readonly pid: number;
  /** The child's standard input. */
  readonly stdin: WritableStream<Uint8Array>;
  /** The child's standard output; read it to its end or cancel it. */
  readonly stdout: ReadableStream<Uint8Array>;
  /** The child's standard error; already ended unless it is piped. */
  readonly stderr: ReadableStream<Uint8Array>;
  /** Resolves when the child's first process has ended. */
  readonly status: Promise<ProcessStatus>;
  /** What confines it. */
  readonly isolation: IsolationBackend;
  /** What is not in force, in one line, when less than asked for is. */
  readonly notice: string | undefined;
  readonly #tree: Tree;
  readonly #input: WritableStreamDefaultWriter<Uint8Array>;
  #ending: Promise<EndReport> | undefined;
  #exited = false;

  /**
   * Wraps a started tree; use {@linkcode startProcess}.
   *
   * @param tree The tree.
   * @param stderr How its standard error was connected.
   */
  constructor(tree: Tree, stderr: "piped" | "null" | "inherit") {
    const { child } = tree;
    this.#tree = tree;
    this.pid = child.pid;
    this.isolation = tree.backend;
    this.notice = tree.notice;
    this.stdout = child.stdout;
    this.stderr = stderr === "piped" ? child.stderr : emptyStream();
    // Whoever holds the lock of the outer stream, we can close the inner one.
    const input = child.stdin.getWriter();
    this.#input = input;
    input.closed.catch(() => {});
    this.stdin = new WritableStream<Uint8Array>({
      write: (chunk) => input.write(chunk),
      close: () => input.close(),
      abort: (reason) => input.abort(reason),
    });
    this.status = child.status.then((status) => {
      this.#exited = true;
      return {
        code: status.signal === null ? status.code : null,
        signal: status.signal,
        success: status.success,
      };
    });
  }

  /**
   * Sends a signal to the child and to the group that it leads.
   *
   * @param signal The signal.
   */
  kill(signal: Deno.Signal = "SIGTERM"): void {
    if (!this.#exited) signalGroup(this.pid, signal);
  }

  /**
   * Ends the child and everything that it started: closes its input, waits, sends
   * SIGTERM, waits, kills. Resolves when all of it is gone. Calling it again
   * returns the first call's promise.
   *
   * @param options The two waits.
   * @returns What it took.
   */
  end(options: EndOptions = {}): Promise<EndReport> {
    this.#ending ??= this.#end(options);
    return this.#ending;
  }

  /** Same as {@linkcode end} with its defaults. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.end();
  }

  async #end(options: EndOptions): Promise<EndReport> {
    let by: EndReport["by"] = "exit";
    // Looked up first: once a parent is gone its children hang elsewhere. What is
    // in a PID namespace is killed by the kernel, but not before its end is told.
    const recorded = this.isolation === "bubblewrap"
      ? await descendants(this.pid)
      : [];
    if (!this.#exited) {
      by = "eof";
      // Not awaited: with input that nobody reads it would wait for ever.
      this.#input.close().catch(() => {});
      if (!await endsWithin(this.status, options.eofMs ?? 2000)) {
        by = "term";
        recorded.push(...await descendants(this.pid));
        signalGroup(this.pid, "SIGTERM");
        if (!await endsWithin(this.status, options.termMs ?? 5000)) by = "kill";
      }
    } else {
      this.#input.abort().catch(() => {});
    }
    if (by === "kill") recorded.push(...await descendants(this.pid));
    const killed = new Set(await this.#tree.kill());
    const status = await this.status;
    for (const process of recorded) {
      if (!await isSame(process)) continue;
      if (signalProcess(process.pid, "SIGKILL")) killed.add(process.pid);
    }
    await Promise.all([...killed].map(untilGone));
    await this.#tree.dispose();
    return { ...status, by, killed: [...killed] };
  }
}

function emptyStream(): ReadableStream<Uint8Array> {
  return new ReadableStream({ start: (controller) => controller.close() });
}

/**
 * Starts a long-lived child with its three streams.
 *
 * Needs unscoped `--allow-run`, `--allow-env` for the inherited names unless `env`
 * is given, and `--allow-read` to confine.
 *
 * @param argv The program and its arguments; never a shell line.
 * @param options Directory, environment, confinement.
 * @returns The child; end it with `end()` or `await using`.
 * @throws {Deno.errors.NotFound} When the program or directory does not exist.
 * @throws {IsolationUnavailableError} When required confinement cannot be had.
 * @throws {PermissionRequiredError} When a grant is missing.
 *
 * @example Usage
 * ```ts
 * import { startProcess } from "@bulkhead/sandbox";
 * import { assertEquals } from "@std/assert";
 *
 * const child = await startProcess(["echo", "hi"], { stderr: "null" });
 * assertEquals(await new Response(child.stdout).text(), "hi\n");
 * assertEquals((await child.end()).code, 0);
 * ```
 */
export async function startProcess(
  argv: readonly string[],
  options: ProcessOptions = {},
): Promise<ManagedProcess> {
  const stderr = options.stderr ?? "piped";
  const parentDeath = options.parentDeath ?? "SIGKILL";
  const tree = await spawnTree(argv, options, {
    stdin: "piped",
    stdout: "piped",
    stderr,
    ...parentDeath === "none" ? {} : { parentDeath },
  });
  return new ManagedProcess(tree, stderr);
}
