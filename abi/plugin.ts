/**
 * A native plugin that is ready to use: in a confined child process by default.
 *
 * @module
 */

import type { IsolationBackend } from "@bulkhead/sandbox";
import { answerAction, headlessActions, type HostActions } from "./actions.ts";
import {
  decodeToolResult,
  encodeArguments,
  type HostContext,
  type NativeToolResult,
} from "./codec.ts";
import {
  DEFAULT_LIMITS,
  type DispatchOutcome,
  type EngineStats,
  type InvokeKind,
  type InvokeOutcome,
} from "./engine_types.ts";
import { AbiError } from "./errors.ts";
import { isObject, parseJson, stringifyJson } from "./json.ts";
import type {
  CallToolOptions,
  InvokeOptions,
  NativePluginOptions,
} from "./plugin_options.ts";
import type { CallOutcome } from "./poll_driver.ts";
import type { PortEvent } from "./port.ts";
import { inspectLibrary, type LibraryReport } from "./preflight.ts";
import type { Registration, RendererKind } from "./registration.ts";
import { safely, Supervisor } from "./supervisor.ts";

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
  readonly #supervisor: Supervisor;
  #cwd = "/";

  private constructor(report: LibraryReport, options: NativePluginOptions) {
    this.name = options.name ?? report.name;
    this.#options = options;
    // Answered at once, done later: the plugin's calling frame must not be unmapped under it.
    const reload = () => {
      setTimeout(() => this.reload().catch(() => {}), 0);
      return null;
    };
    const actions: HostActions = {
      ...headlessActions(),
      reload,
      ...options.actions,
    };
    const context = { plugin: this.name };
    this.#supervisor = new Supervisor(
      this.name,
      report,
      options,
      (action, args) => answerAction(actions, action, args, context),
    );
    if (options.context === undefined && options.cwd === undefined) {
      this.#cwd = currentDirectory();
    }
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
    await plugin.#supervisor.begin();
    return plugin;
  }

  /** What its library is. */
  get library(): LibraryReport {
    return this.#supervisor.library;
  }

  /** What it registered. */
  get registration(): Registration {
    return this.#supervisor.registration;
  }

  /** Why it is disabled, if it crashed too often. */
  get disabled(): AbiError | undefined {
    return this.#supervisor.disabled;
  }

  /** False while it is down: crashed and not started again yet, disabled or closed. */
  get running(): boolean {
    return this.#supervisor.port !== undefined;
  }

  /** What confines its process; `none` inside this one. */
  get isolation(): IsolationBackend {
    return this.#supervisor.port?.isolation ?? "none";
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
    const { session } = this.#supervisor;
    if (session !== undefined) context.sessionId = session;
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
      const port = await this.#supervisor.readyUntil(signal);
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
    const { commands } = (await this.#supervisor.ready()).registration;
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
    const { providers } = (await this.#supervisor.ready()).registration;
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
    const { oauth } = (await this.#supervisor.ready()).registration;
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
    const { renderers } = (await this.#supervisor.ready()).registration;
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
    return await (await this.#supervisor.ready()).invoke(
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
    return await (await this.#supervisor.ready()).dispatch(event);
  }

  /**
   * Tells the plugin which session is active.
   *
   * @param id The session.
   */
  setSession(id: string): void {
    this.#supervisor.session = id;
    this.#supervisor.port?.setSession(id);
  }

  /**
   * The plugin's counters since its last start.
   *
   * @returns The counters.
   */
  async stats(): Promise<EngineStats> {
    return await (await this.#supervisor.ready()).stats();
  }

  /**
   * Starts the plugin again in a new process, with the library as it is now. Calls in flight get two seconds.
   *
   * @returns Settles when the new one is registered.
   */
  reload(): Promise<void> {
    return this.#supervisor.reload();
  }

  /** Ends the plugin and its process. */
  close(): Promise<void> {
    return this.#supervisor.close();
  }

  /** Same as {@linkcode close}. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
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
    const { rc, text } = await (await this.#supervisor.ready()).invoke(
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
