/**
 * A native plugin that is ready to use: in a confined child process by default.
 *
 * @module
 */

import {
  type IsolationBackend,
  type IsolationLevel,
  type IsolationPolicy,
  requirePermissions,
} from "@bulkhead/sandbox";
import { answerAction, headlessActions, type HostActions } from "./actions.ts";
import { ChildPort } from "./child_port.ts";
import {
  decodeToolResult,
  encodeArguments,
  type HostContext,
  type NativeToolResult,
} from "./codec.ts";
import {
  DEFAULT_LIMITS,
  type DispatchOutcome,
  Engine,
  type EngineLimits,
  type EngineStats,
  type InvokeKind,
  type InvokeOutcome,
} from "./engine.ts";
import { AbiError } from "./errors.ts";
import { isObject, parseJson, stringifyJson } from "./json.ts";
import { encodeText } from "./memory.ts";
import type { CallOutcome } from "./poll_driver.ts";
import type { PluginPort, PortEvent } from "./port.ts";
import { inspectLibrary, type LibraryReport } from "./preflight.ts";
import type { Registration, RendererKind } from "./registration.ts";

/** When a crashed plugin is started again. */
export interface RestartPolicy {
  /**
   * The pause before each restart in a row; the last one repeats.
   *
   * @default [200, 1_000, 5_000]
   */
  backoffMs: readonly number[];
  /**
   * So many restarts within `windowMs` are made; the crash after them disables the plugin.
   *
   * @default 3
   */
  maxRestarts: number;
  /**
   * The window in milliseconds.
   *
   * @default 60_000
   */
  windowMs: number;
}

/** Options of {@linkcode loadNativePlugin}. */
export interface NativePluginOptions {
  /**
   * Where the plugin runs: `isolated` in a child process of its own, `process` inside this one. In this process a call
   * is faster by some 100 µs, and a fault, an `exit` or a bad constructor of the plugin ends your program; end it with
   * `Deno.exit`, since threads of the plugin may live on.
   *
   * @default "isolated"
   */
  mode?: "isolated" | "process";
  /**
   * The plugin's name.
   *
   * @default the library's file name without extension
   */
  name?: string;
  /** The content the library must have: `sha256:…`. */
  sha256?: string;
  /**
   * What the child may touch besides its own files. Nothing by default: no network, no files but the system's.
   *
   * @default {}
   */
  permissions?: IsolationPolicy;
  /**
   * How much confinement is asked for.
   *
   * @default "required"
   */
  isolation?: IsolationLevel;
  /**
   * Environment variables for the child on top of the short list every child gets.
   *
   * @default {}
   */
  env?: Readonly<Record<string, string>>;
  /**
   * The child's working directory.
   *
   * @default the library's directory
   */
  cwd?: string;
  /**
   * What tools are told about where they run, under `__rpi`; `cwd` of a call wins.
   *
   * @default `cwd`, else the current directory; no session
   */
  context?: HostContext;
  /** The runtime actions this host has; the headless default answers or refuses the others. */
  actions?: Partial<HostActions>;
  /** Limits that differ from the defaults. */
  limits?: Partial<EngineLimits>;
  /** When a crashed plugin is started again. */
  restart?: Partial<RestartPolicy>;
  /**
   * How long a plugin may take from start to registered, in milliseconds.
   *
   * @default 10_000
   */
  startTimeoutMs?: number;
  /** Gets each line a plugin prints, with its name in front, at most 100 a second. */
  onOutput?: (line: string) => void;
  /** Learns of each crash. */
  onCrash?: (error: AbiError) => void;
  /**
   * Count every string given to the plugin. Slow; `verify` uses it.
   *
   * @default false
   */
  accounting?: boolean;
}

/** Options of {@linkcode NativePlugin.callTool}. */
export interface CallToolOptions {
  /** Stops the call: cancel, a grace, then the caller is answered whatever the tool does. */
  signal?: AbortSignal;
  /** A deadline in milliseconds; none by default. */
  timeoutMs?: number;
  /** The caller's id of the call. */
  toolCallId?: string;
  /** The working directory the tool is told under `__rpi`. */
  cwd?: string;
  /** Gets progress: what the plugin sends by callback before what it returns from the same poll. */
  onUpdate?: (partial: NativeToolResult) => void;
}

/** Options of the handlers that take text and give text. */
export interface InvokeOptions {
  /** A deadline in milliseconds. */
  timeoutMs?: number;
}

const DEFAULT_RESTART: RestartPolicy = {
  backoffMs: [200, 1_000, 5_000],
  maxRestarts: 3,
  windowMs: 60_000,
};
const START_TIMEOUT_MS = 10_000;
const COMMAND_TIMEOUT_MS = 60_000;
const PROVIDER_TIMEOUT_MS = 600_000;
const RENDER_TIMEOUT_MS = 10_000;

/**
 * Inspects a library, starts a confined child process for it and registers it there.
 *
 * Needs `--allow-run --allow-read --allow-write --allow-env --allow-net` (of the network only a unix socket is used);
 * in mode `process` only `--allow-ffi` and `--allow-read`.
 *
 * @param path The library.
 * @param options Confinement, actions, limits.
 * @returns The plugin; rejects with an {@linkcode AbiError} that says what was found and what to do.
 *
 * @example A library that is none
 * ```ts
 * import { AbiError, loadNativePlugin } from "@bulkhead/abi";
 * import { assertRejects } from "@std/assert";
 *
 * await assertRejects(() => loadNativePlugin("/etc/hostname.so"), AbiError, "there is no such file");
 * ```
 */
export async function loadNativePlugin(
  path: string,
  options: NativePluginOptions = {},
): Promise<NativePlugin> {
  const report = await inspectLibrary(
    path,
    options.sha256 === undefined ? {} : { sha256: options.sha256 },
  );
  return await NativePlugin.start(report, options);
}

/**
 * A loaded plugin. When its process dies, the calls in flight reject at once with an {@linkcode AbiError} of code
 * `crashed`, and the next call waits for the restart.
 */
export class NativePlugin implements AsyncDisposable {
  /** Its name. */
  readonly name: string;
  readonly #options: NativePluginOptions;
  readonly #actions: HostActions;
  readonly #restart: RestartPolicy;
  readonly #crashes: number[] = [];
  #library: LibraryReport;
  #port: PluginPort | undefined;
  #registration: Registration;
  #starting: Promise<PluginPort> | undefined;
  #disabled: AbiError | undefined;
  #closing: Promise<void> | undefined;
  #reloading: Promise<void> | undefined;
  #session: string | undefined;
  #cwd = "/";
  readonly #ending = new Set<Promise<void>>();
  readonly #wake = new AbortController();

  private constructor(report: LibraryReport, options: NativePluginOptions) {
    this.name = options.name ?? report.name;
    this.#library = report;
    this.#options = options;
    this.#restart = { ...DEFAULT_RESTART, ...options.restart };
    // Answered at once, done later: the plugin's calling frame must not be unmapped under it.
    const reload = () => {
      setTimeout(() => this.reload().catch(() => {}), 0);
      return null;
    };
    this.#actions = { ...headlessActions(), reload, ...options.actions };
    this.#session = options.context?.sessionId;
    if (options.context === undefined && options.cwd === undefined) {
      this.#cwd = currentDirectory();
    }
    this.#registration = EMPTY;
  }

  /**
   * Starts an inspected library; use {@linkcode loadNativePlugin}.
   *
   * @param report What the library is.
   * @param options Confinement, actions, limits.
   * @returns The plugin.
   */
  static async start(
    report: LibraryReport,
    options: NativePluginOptions = {},
  ): Promise<NativePlugin> {
    const plugin = new NativePlugin(report, options);
    const port = await plugin.#start();
    plugin.#adopt(port);
    return plugin;
  }

  /** What its library is. */
  get library(): LibraryReport {
    return this.#library;
  }

  /** What it registered. */
  get registration(): Registration {
    return this.#registration;
  }

  /** Why it is disabled, if it crashed too often. */
  get disabled(): AbiError | undefined {
    return this.#disabled;
  }

  /** What confines its process; `none` inside this one. */
  get isolation(): IsolationBackend {
    return this.#port?.isolation ?? "none";
  }

  /**
   * Runs a tool.
   *
   * @param name The tool's name.
   * @param args Its arguments: a value, or `JsonText` to pass JSON as it is written.
   * @param options Abort, deadline, progress.
   * @returns What it answered; rejects with an {@linkcode AbiError}: `tool` for an error of the tool itself, `timeout`
   * and `aborted` for the caller's own, `crashed` or `wedged` when the plugin's process is gone.
   */
  async callTool(
    name: string,
    args?: unknown,
    options: CallToolOptions = {},
  ): Promise<NativeToolResult> {
    const { timeoutMs, onUpdate } = options;
    const context: HostContext = this.#options.context === undefined
      ? { cwd: this.#options.cwd ?? this.#cwd }
      : { ...this.#options.context };
    if (this.#session !== undefined) context.sessionId = this.#session;
    if (options.cwd !== undefined) context.cwd = options.cwd;
    const text = encodeArguments(args, context);
    const deadline = timeoutMs === undefined
      ? undefined
      : new AbortController();
    const timer = deadline === undefined
      ? undefined
      : setTimeout(() => deadline.abort(), timeoutMs);
    const signals = [options.signal, deadline?.signal].filter((signal) =>
      signal !== undefined
    );
    const signal = signals.length < 2 ? signals[0] : AbortSignal.any(signals);
    try {
      const port = await this.#readyUntil(signal);
      if (port === undefined) {
        const outcome = {
          kind: "cancelled",
          text: "it was being started again",
          cancelled: true,
          ignoredCancel: false,
        } as const;
        const late = deadline?.signal.aborted === true ? timeoutMs : undefined;
        return this.#result(name, outcome, late);
      }
      const tool = this.#find("tool", port.registration.tools, name);
      const outcome = await port.call({
        tool,
        callId: options.toolCallId ?? crypto.randomUUID(),
        args: text,
        ...signal === undefined ? {} : { signal },
        ...onUpdate === undefined ? {} : {
          onUpdate: (update) => safely(onUpdate, decodeToolResult(update)),
        },
      });
      return this.#result(
        name,
        outcome,
        deadline?.signal.aborted === true ? timeoutMs : undefined,
      );
    } finally {
      clearTimeout(timer);
    }
  }

  /**
   * Runs a slash command.
   *
   * @param name The command, with or without `/`.
   * @param args What follows it.
   * @param options A deadline; 60 seconds by default.
   * @returns The JSON it answered, such as `{kind: "message", text}`.
   */
  async runCommand(
    name: string,
    args = "",
    options: InvokeOptions = {},
  ): Promise<unknown> {
    const command = name.replace(/^\//, "");
    const envelope = stringifyJson({ args, command: `/${command}` });
    const { commands } = (await this.#ready()).registration;
    const index = this.#find("command", commands, command);
    return await this.#invoke("commands", index, `command "/${command}"`, [
      envelope,
    ], options.timeoutMs ?? COMMAND_TIMEOUT_MS);
  }

  /**
   * Asks a model provider.
   *
   * @param id The provider.
   * @param request `{model, context, options}`.
   * @param options A deadline; ten minutes by default.
   * @returns The assistant message.
   */
  async requestProvider(
    id: string,
    request: unknown,
    options: InvokeOptions = {},
  ): Promise<unknown> {
    const { providers } = (await this.#ready()).registration;
    const index = this.#find(
      "provider",
      providers.map((p) => ({ name: p.id })),
      id,
    );
    const input = stringifyJson(request);
    return await this.#invoke(
      "providers",
      index,
      `provider "${id}"`,
      [input],
      options.timeoutMs ?? PROVIDER_TIMEOUT_MS,
    );
  }

  /**
   * Runs one step of a login flow.
   *
   * @param id The login provider.
   * @param action The step.
   * @param params Its parameters.
   * @param options A deadline; 60 seconds by default.
   * @returns What the plugin answered.
   */
  async requestOAuth(
    id: string,
    action: "begin" | "exchange" | "refresh" | "revoke",
    params: unknown = {},
    options: InvokeOptions = {},
  ): Promise<unknown> {
    if (!["begin", "exchange", "refresh", "revoke"].includes(action)) {
      throw new TypeError(
        `Cannot log in: "${action}" is none of begin, exchange, refresh, revoke`,
      );
    }
    const { oauth } = (await this.#ready()).registration;
    const index = this.#find(
      "oauth provider",
      oauth.map((o) => ({ name: o.id })),
      id,
    );
    const input = stringifyJson({ action, providerId: id, params });
    return await this.#invoke(
      "oauth",
      index,
      `oauth provider "${id}"`,
      [input],
      options.timeoutMs ?? COMMAND_TIMEOUT_MS,
    );
  }

  /**
   * Renders something.
   *
   * @param kind What: a message, markdown or a session entry.
   * @param name The renderer's name.
   * @param input The JSON it gets.
   * @param options A deadline; 10 seconds by default.
   * @returns `{markdown}`, `{text}` or `{lines}`.
   */
  async render(
    kind: RendererKind,
    name: string,
    input: unknown,
    options: InvokeOptions = {},
  ): Promise<unknown> {
    const { renderers } = (await this.#ready()).registration;
    const index = renderers.findIndex((r) =>
      r.kind === kind && r.name === name
    );
    if (index < 0) {
      throw this.#missing(
        `${kind} renderer`,
        name,
        renderers.map((r) => r.name),
      );
    }
    const what = `${kind} renderer "${name}"`;
    return await this.#invoke(
      "renderers",
      index,
      what,
      [stringifyJson(input)],
      options.timeoutMs ?? RENDER_TIMEOUT_MS,
    );
  }

  /**
   * Calls one handler as it is, without decoding.
   *
   * @param kind The kind of handler.
   * @param index Its index.
   * @param inputs Its inputs.
   * @param options A deadline; 10 seconds by default.
   * @returns Its code and its output.
   */
  async invoke(
    kind: InvokeKind,
    index: number,
    inputs: readonly string[],
    options: InvokeOptions = {},
  ): Promise<InvokeOutcome> {
    return await (await this.#ready()).invoke(
      kind,
      index,
      inputs,
      options.timeoutMs ?? RENDER_TIMEOUT_MS,
    );
  }

  /**
   * Sends an encoded event to this plugin alone; a `NativeHost` does it for all in the right order.
   *
   * @param event The event.
   * @returns What its handlers made of it.
   */
  async dispatch(event: PortEvent): Promise<DispatchOutcome> {
    return await (await this.#ready()).dispatch(event);
  }

  /**
   * Tells the plugin which session is active.
   *
   * @param id The session.
   */
  setSession(id: string): void {
    this.#session = id;
    this.#port?.setSession(id);
  }

  /**
   * The plugin's counters since its last start.
   *
   * @returns The counters.
   */
  async stats(): Promise<EngineStats> {
    return await (await this.#ready()).stats();
  }

  /**
   * Starts the plugin again in a new process, with the library as it is now. Calls in flight get two seconds.
   *
   * @returns Settles when the new one is registered.
   */
  reload(): Promise<void> {
    this.#reloading ??= this.#reload().finally(() => {
      this.#reloading = undefined;
    });
    return this.#reloading;
  }

  /** Ends the plugin and its process. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /** Same as {@linkcode close}. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #reload(): Promise<void> {
    if (this.#options.mode === "process") {
      throw new AbiError(
        "unsupported",
        `Cannot reload plugin "${this.name}": it runs inside this process`,
        { plugin: this.name, fix: 'load it with mode "isolated"' },
      );
    }
    if (this.#closing !== undefined) throw this.#closed();
    const { sha256 } = this.#options;
    const library = await inspectLibrary(
      this.#library.path,
      sha256 === undefined ? {} : { sha256 },
    );
    await this.#starting?.catch(() => {});
    this.#library = library;
    const old = this.#port;
    const fresh = await this.#start();
    this.#disabled = undefined;
    this.#crashes.length = 0;
    this.#adopt(fresh);
    if (old !== undefined) this.#end(old, 2_000);
  }

  #closed(): AbiError {
    return new AbiError(
      "closed",
      `Cannot call plugin "${this.name}": it was closed`,
      { plugin: this.name },
    );
  }

  async #close(): Promise<void> {
    this.#wake.abort();
    await this.#reloading?.catch(() => {});
    await this.#starting?.catch(() => {});
    await this.#port?.close();
    await Promise.all(this.#ending);
  }

  async #ready(): Promise<PluginPort> {
    if (this.#closing !== undefined) {
      throw this.#closed();
    }
    if (this.#disabled !== undefined) throw this.#disabled;
    if (this.#port !== undefined) return this.#port;
    if (this.#starting !== undefined) return await this.#starting;
    throw new AbiError(
      "crashed",
      `Cannot call plugin "${this.name}": it is not running`,
      { plugin: this.name },
    );
  }

  /** Waits for a restart no longer than the caller does. */
  async #readyUntil(
    signal: AbortSignal | undefined,
  ): Promise<PluginPort | undefined> {
    if (this.#port !== undefined || signal === undefined) {
      return await this.#ready();
    }
    const given = Promise.withResolvers<undefined>();
    const giveUp = () => given.resolve(undefined);
    if (signal.aborted) return undefined;
    signal.addEventListener("abort", giveUp, { once: true });
    try {
      return await Promise.race([this.#ready(), given.promise]);
    } finally {
      signal.removeEventListener("abort", giveUp);
    }
  }

  async #start(): Promise<PluginPort> {
    const options = this.#options;
    const limits: EngineLimits = { ...DEFAULT_LIMITS, ...options.limits };
    const answer = (action: number, args: string) =>
      answerAction(this.#actions, action, args, { plugin: this.name });
    const sessionId = this.#session;
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
      return new LocalPort(engine);
    }
    requirePermissions("Starting a native plugin", [
      { name: "run" },
      { name: "read" },
      { name: "write" },
      { name: "net" },
      { name: "env" },
    ]);
    return await ChildPort.start({
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
  }

  #adopt(port: PluginPort): void {
    this.#port = port;
    this.#registration = port.registration;
    // It may have died in the moment between its start and now.
    if (port.death !== undefined) this.#onDeath(port, port.death);
  }

  #onDeath(port: PluginPort, error: AbiError): void {
    // While it starts, its own promise tells.
    if (this.#port !== port) return;
    this.#port = undefined;
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
      this.#disabled = new AbiError(
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
      this.#disabled ??= new AbiError(
        "disabled",
        `Plugin "${this.name}" could not be started again: ${message(cause)}`,
        { plugin: this.name, fix: "reload it when it is mended", cause },
      );
    });
  }

  async #startAgain(waitMs: number): Promise<PluginPort> {
    await pause(waitMs, this.#wake.signal);
    if (this.#closing !== undefined) throw this.#closed();
    const { path, sha256 } = this.#library;
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

  #find(
    kind: string,
    list: readonly { readonly name: string }[],
    name: string,
  ): number {
    const index = list.findIndex((entry) => entry.name === name);
    if (index < 0) {
      throw this.#missing(kind, name, list.map((entry) => entry.name));
    }
    return index;
  }

  #missing(
    kind: string,
    name: string,
    known: readonly string[],
  ): RangeError {
    const have = known.length === 0
      ? "it registered none"
      : `it registered ${known.slice(0, 20).map((n) => `"${n}"`).join(", ")}${
        known.length > 20 ? " and others" : ""
      }`;
    return new RangeError(
      `Cannot use ${kind} "${name}" of plugin "${this.name}": ${have}`,
    );
  }

  async #invoke(
    kind: InvokeKind,
    index: number,
    what: string,
    inputs: readonly string[],
    timeoutMs: number,
  ): Promise<unknown> {
    const { rc, text } = await (await this.#ready()).invoke(
      kind,
      index,
      inputs,
      timeoutMs,
    );
    const value = parseOr(text);
    if (rc !== 0) {
      const said = isObject(value) && typeof value.error === "string"
        ? value.error
        : text.slice(0, 500);
      throw new AbiError(
        "handler",
        `The ${what} of plugin "${this.name}" failed with code ${rc}${
          said === "" ? "" : `: ${said}`
        }`,
        {
          plugin: this.name,
          exitCode: rc,
        },
      );
    }
    return value;
  }

  #result(
    tool: string,
    outcome: CallOutcome,
    timedOutMs: number | undefined,
  ): NativeToolResult {
    const { kind, text, cancelled, ignoredCancel } = outcome;
    const fail = (
      code: "tool" | "timeout" | "aborted" | "protocol",
      message: string,
      fix?: string,
    ) =>
      new AbiError(code, message, {
        plugin: this.name,
        ...fix === undefined ? {} : { fix },
      });
    if (kind === "done") return decodeToolResult(text);
    if (cancelled || kind === "cancelled") {
      const grace = this.#options.limits?.cancelGraceMs ??
        DEFAULT_LIMITS.cancelGraceMs;
      const why = timedOutMs === undefined
        ? "was cancelled by the host"
        : `timed out after ${timedOutMs} ms`;
      const how = ignoredCancel
        ? ` and ignored cancel for ${grace} ms`
        : text === ""
        ? ""
        : `: ${text}`;
      throw fail(
        timedOutMs === undefined ? "aborted" : "timeout",
        `Tool "${tool}" of plugin "${this.name}" ${why}${how}`,
        ignoredCancel
          ? "ask its author to notice the cancel flag in poll"
          : undefined,
      );
    }
    if (kind === "error") {
      throw fail(
        "tool",
        text === "" ? `Tool "${tool}" failed without a message` : text,
      );
    }
    if (kind === "null_handle") {
      throw fail(
        "tool",
        `Tool "${tool}" of plugin "${this.name}" could not start: execute returned a null handle`,
      );
    }
    throw fail(
      "protocol",
      `Tool "${tool}" of plugin "${this.name}" broke the ABI: ${text}`,
      'run "bulkhead abi verify" on it',
    );
  }
}

/** A plugin inside this process. */
class LocalPort implements PluginPort {
  readonly isolation = "none";
  readonly death = undefined;
  readonly registration: Registration;
  readonly #engine: Engine;

  constructor(engine: Engine) {
    this.#engine = engine;
    this.registration = engine.registration;
  }

  async call(call: Parameters<PluginPort["call"]>[0]): Promise<CallOutcome> {
    const driven = this.#engine.call({ ...call, args: encodeText(call.args) });
    driven.finished.catch(() => {
      // Reported through the outcome.
    });
    return await driven.outcome;
  }

  invoke(
    kind: InvokeKind,
    index: number,
    inputs: readonly string[],
    timeoutMs: number,
  ): Promise<InvokeOutcome> {
    return this.#engine.invoke(kind, index, inputs, timeoutMs);
  }

  dispatch(event: PortEvent): Promise<DispatchOutcome> {
    return this.#engine.dispatch(
      event.tag,
      event.strings,
      event.isError,
      event.mode,
      event.budgetMs,
    );
  }

  setSession(id: string): void {
    this.#engine.setSession(id);
  }

  stats(): Promise<EngineStats> {
    return Promise.resolve(this.#engine.stats());
  }

  /** Nothing is ever unmapped: a thread of the plugin may call at any time. */
  close(): Promise<void> {
    return Promise.resolve();
  }
}

const EMPTY: Registration = Object.freeze({
  tools: [],
  commands: [],
  shortcuts: [],
  flags: [],
  providers: [],
  renderers: [],
  events: [],
  discover: 0,
  beforeAgentStart: 0,
  oauth: [],
  priority: 100,
  platforms: [],
  collisions: [],
  diagnostics: [],
});

/** A mistake in the host's own callback is reported like any uncaught error, and spares the plugin. */
function safely<T>(callback: ((value: T) => void) | undefined, value: T): void {
  try {
    callback?.(value);
  } catch (error) {
    reportError(error);
  }
}

function currentDirectory(): string {
  try {
    return Deno.cwd();
  } catch {
    // Removed, or not ours to know.
    return "/";
  }
}

function parseOr(text: string): unknown {
  if (text === "") return null;
  try {
    return parseJson(text);
  } catch {
    return text;
  }
}

function message(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function pause(ms: number, wake: AbortSignal): Promise<void> {
  if (ms === 0 || wake.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      wake.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    wake.addEventListener("abort", done, { once: true });
  });
}
