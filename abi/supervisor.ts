/**
 * Keeps a plugin running: starts it, starts it again after a crash, reloads and ends it.
 *
 * @module
 */

import {
  type IsolationBackend,
  pause,
  requirePermissions,
} from "@bulkhead/sandbox";
import type { ActionAnswer } from "./action_worker.ts";
import { closedError } from "./child_errors.ts";
import { ChildPort } from "./child_port.ts";
import { ACTION_ERROR } from "./codes.ts";
import { Engine } from "./engine.ts";
import { DEFAULT_LIMITS, type EngineLimits } from "./engine_types.ts";
import { AbiError, reasonOf } from "./errors.ts";
import { LocalPort } from "./local_port.ts";
import type { NativePluginOptions, RestartPolicy } from "./plugin_options.ts";
import type { PluginPort } from "./port.ts";
import { inspectLibrary, type LibraryReport } from "./preflight.ts";
import { emptyRegistration, type Registration } from "./registration.ts";
import { safely } from "./safely.ts";

const DEFAULT_RESTART: RestartPolicy = {
  backoffMs: [200, 1_000, 5_000],
  maxRestarts: 3,
  windowMs: 60_000,
};
const START_TIMEOUT_MS = 10_000;
/** What a process hears that was replaced by a reload. */
const STALE: ActionAnswer = {
  rc: ACTION_ERROR,
  text: '{"error":"stale: the plugin was reloaded"}',
};

/** One plugin over all of its processes. */
export class Supervisor {
  /** The plugin's name. */
  readonly name: string;
  /** What its library is. */
  library: LibraryReport;
  /** The session, for processes that are started from now on. */
  session: string | undefined;
  /** What it registered. */
  registration: Registration = emptyRegistration();
  /** Why it is disabled. */
  disabled: AbiError | undefined;
  /** The running plugin. */
  port: PluginPort | undefined;
  /** What confines it, or did until it went down. */
  isolation: IsolationBackend = "none";
  readonly #options: NativePluginOptions;
  readonly #answer: (action: number, args: string) => Promise<ActionAnswer>;
  readonly #restart: RestartPolicy;
  readonly #crashes: number[] = [];
  readonly #ending = new Set<Promise<void>>();
  readonly #wake = new AbortController();
  readonly #generations = new WeakMap<PluginPort, number>();
  #started = 0;
  #current = 0;
  #starting: Promise<PluginPort> | undefined;
  #closing: Promise<void> | undefined;
  #reloading: Promise<void> | undefined;

  /**
   * Creates a supervisor; {@linkcode begin} starts the plugin.
   *
   * @param name The plugin's name.
   * @param library What its library is.
   * @param options How to start it.
   * @param answer Answers its actions.
   */
  constructor(
    name: string,
    library: LibraryReport,
    options: NativePluginOptions,
    answer: (action: number, args: string) => Promise<ActionAnswer>,
  ) {
    this.name = name;
    this.library = library;
    this.session = options.context?.sessionId;
    this.#options = options;
    this.#answer = answer;
    this.#restart = { ...DEFAULT_RESTART, ...options.restart };
  }

  /** Starts the plugin for the first time; a failure is the caller's. */
  async begin(): Promise<void> {
    this.#adopt(await this.#start());
  }

  /** Starts the plugin again with the library as it is now; one reload at a time. */
  reload(): Promise<void> {
    this.#reloading ??= this.#reload().finally(() => {
      this.#reloading = undefined;
    });
    return this.#reloading;
  }

  /** Ends the plugin for good. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /** The running plugin, or the one being started. */
  async ready(): Promise<PluginPort> {
    if (this.#closing !== undefined) {
      throw closedError(this.name);
    }
    if (this.disabled !== undefined) throw this.disabled;
    if (this.port !== undefined) return this.port;
    if (this.#starting !== undefined) return await this.#starting;
    throw new AbiError(
      "crashed",
      `Cannot call plugin "${this.name}": it is not running`,
      { plugin: this.name },
    );
  }

  /** Waits for a restart no longer than the caller does. */
  async readyUntil(
    signal: AbortSignal | undefined,
  ): Promise<PluginPort | undefined> {
    if (this.port !== undefined || signal === undefined) {
      return await this.ready();
    }
    const given = Promise.withResolvers<undefined>();
    const giveUp = () => given.resolve(undefined);
    if (signal.aborted) return undefined;
    signal.addEventListener("abort", giveUp, { once: true });
    try {
      return await Promise.race([this.ready(), given.promise]);
    } finally {
      signal.removeEventListener("abort", giveUp);
    }
  }

  async #reload(): Promise<void> {
    if (this.#options.mode === "process") {
      throw new AbiError(
        "unsupported",
        `Cannot reload plugin "${this.name}": it runs inside this process`,
        { plugin: this.name, fix: 'load it with mode "isolated"' },
      );
    }
    if (this.#closing !== undefined) throw closedError(this.name);
    const { sha256 } = this.#options;
    const library = await inspectLibrary(
      this.library.path,
      sha256 === undefined ? {} : { sha256 },
    );
    await this.#starting?.catch(() => {});
    this.library = library;
    const old = this.port;
    const fresh = await this.#start();
    this.disabled = undefined;
    this.#crashes.length = 0;
    this.#adopt(fresh);
    if (old !== undefined) this.#end(old, 2_000);
  }

  async #close(): Promise<void> {
    this.#wake.abort();
    await this.#reloading?.catch(() => {});
    await this.#starting?.catch(() => {});
    await this.port?.close();
    await Promise.all(this.#ending);
  }

  async #start(): Promise<PluginPort> {
    const options = this.#options;
    const limits: EngineLimits = { ...DEFAULT_LIMITS, ...options.limits };
    const generation = ++this.#started;
    const answer = (action: number, args: string): Promise<ActionAnswer> =>
      // A thread of a process that was replaced must not act on the session of the new one.
      generation < this.#current
        ? Promise.resolve(STALE)
        : this.#answer(action, args);
    const sessionId = this.session;
    if (options.mode === "process") {
      // Callbacks and pointers need the whole grant, not one for the library.
      requirePermissions("Loading a native plugin into this process", [
        { name: "ffi" },
      ]);
      const engine = await Engine.load(this.library.path, {
        name: this.name,
        limits,
        answer,
        accounting: options.accounting ?? false,
        ...sessionId === undefined ? {} : { sessionId },
      });
      return this.#numbered(new LocalPort(engine), generation);
    }
    requirePermissions("Starting a native plugin", [
      { name: "run" },
      { name: "read" },
      { name: "write" },
      { name: "net" },
      { name: "env" },
    ]);
    const port = await ChildPort.start({
      report: this.library,
      name: this.name,
      limits,
      isolation: options.isolation ?? "required",
      permissions: options.permissions ?? {},
      env: options.env ?? {},
      cwd: options.cwd ?? (this.library.path.replace(/\/[^/]*$/, "") || "/"),
      startTimeoutMs: options.startTimeoutMs ?? START_TIMEOUT_MS,
      accounting: options.accounting ?? false,
      answer,
      onDeath: (port, error) => this.#onDeath(port, error),
      ...sessionId === undefined ? {} : { sessionId },
      ...options.onOutput === undefined ? {} : { onOutput: options.onOutput },
    });
    return this.#numbered(port, generation);
  }

  #numbered(port: PluginPort, generation: number): PluginPort {
    this.#generations.set(port, generation);
    return port;
  }

  #adopt(port: PluginPort): void {
    this.port = port;
    this.#current = this.#generations.get(port) ?? this.#current;
    this.isolation = port.isolation;
    this.registration = port.registration;
    // It may have died in the moment between its start and now.
    if (port.death !== undefined) this.#onDeath(port, port.death);
  }

  #onDeath(port: PluginPort, error: AbiError): void {
    // While it starts, its own promise tells.
    if (this.port !== port) return;
    this.port = undefined;
    this.#end(port, 0);
    this.#recover(error);
    safely(this.#options.onCrash, error);
  }

  /** Starts the plugin again after a pause, unless it went down too often. */
  #recover(error: AbiError): void {
    if (this.#closing !== undefined) return;
    const { backoffMs, maxRestarts, windowMs } = this.#restart;
    const now = performance.now();
    const recent = this.#crashes.filter((at) => now - at <= windowMs);
    this.#crashes.splice(0, this.#crashes.length, ...recent, now);
    const times = this.#crashes.length;
    if (times > maxRestarts) {
      this.disabled = new AbiError(
        "disabled",
        `Plugin "${this.name}" is disabled: it went down ${times} times within ${windowMs} ms, last: ${error.message}`,
        {
          plugin: this.name,
          fix: "reload it when it is mended",
          cause: error,
        },
      );
      return;
    }
    const waitMs = backoffMs[Math.min(times, backoffMs.length) - 1] ?? 0;
    const starting = this.#startAgain(waitMs);
    this.#starting = starting;
    const over = () => {
      if (this.#starting === starting) this.#starting = undefined;
    };
    starting.then(over, (cause) => {
      over();
      if (
        cause instanceof AbiError && ["crashed", "start"].includes(cause.code)
      ) return this.#recover(cause);
      this.disabled ??= new AbiError(
        "disabled",
        `Plugin "${this.name}" could not be started again: ${reasonOf(cause)}`,
        { plugin: this.name, fix: "reload it when it is mended", cause },
      );
    });
  }

  async #startAgain(waitMs: number): Promise<PluginPort> {
    await pause(waitMs, this.#wake.signal);
    if (this.#closing !== undefined) throw closedError(this.name);
    const { path, sha256 } = this.library;
    // A file that changed under a crash is not what was trusted.
    await inspectLibrary(path, { sha256 });
    const port = await this.#start();
    if (this.#closing !== undefined) this.#end(port, 0);
    this.#adopt(port);
    return port;
  }

  /** Ends a process in the background; `close` waits for it. */
  #end(port: PluginPort, afterMs: number): void {
    const ending = pause(afterMs, this.#wake.signal).then(() => port.close())
      .finally(() => this.#ending.delete(ending));
    this.#ending.add(ending);
  }
}
