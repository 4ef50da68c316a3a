/**
 * A native plugin that is ready to use: in a confined child process by default.
 *
 * @module
 */

import type { IsolationBackend } from "@bulkhead/sandbox";
import {
  callResult,
  handlerAnswer,
  handlerFailure,
  RESTARTING,
} from "./answers.ts";
import { answerAction, headlessActions, type HostActions } from "./actions.ts";
import { CallContext } from "./call_context.ts";
import { callSignal } from "./call_signal.ts";
import {
  decodeToolResult,
  encodeArguments,
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
import { isObject, stringifyJson } from "./json.ts";
import type {
  CallToolOptions,
  InvokeOptions,
  NativePluginOptions,
} from "./plugin_options.ts";
import { findId, findNamed, findRenderer } from "./names.ts";
import type { PortEvent } from "./port.ts";
import { inspectLibrary, type LibraryReport } from "./preflight.ts";
import type { Registration, RendererKind } from "./registration.ts";
import { safely } from "./safely.ts";
import { Supervisor } from "./supervisor.ts";

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
 *
 * @example A call with a deadline and progress
 * ```ts ignore
 * import { loadNativePlugin } from "@bulkhead/abi";
 *
 * await using plugin = await loadNativePlugin("./libcounter.so");
 * const { content } = await plugin.callTool("counter_count", { to: 3 }, {
 *   timeoutMs: 10_000,
 *   onUpdate: ({ content }) => console.log(content),
 * });
 * ```
 */
export class NativePlugin implements AsyncDisposable {
  /** Its name. */
  readonly name: string;
  readonly #options: NativePluginOptions;
  readonly #supervisor: Supervisor;
  readonly #context: CallContext;

  private constructor(report: LibraryReport, options: NativePluginOptions) {
    this.name = options.name ?? report.name;
    this.#options = options;
    this.#context = new CallContext(options);
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

  /** What confines its process, or did until it went down; `none` inside this one. */
  get isolation(): IsolationBackend {
    return this.#supervisor.isolation;
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
    const { onUpdate } = options;
    const context = this.#context.of(this.#supervisor.session, options.cwd);
    const text = encodeArguments(args, context);
    const graceMs = this.#options.limits?.cancelGraceMs ??
      DEFAULT_LIMITS.cancelGraceMs;
    using stop = callSignal(options.signal, options.timeoutMs);
    const { signal } = stop;
    const port = await this.#supervisor.readyUntil(signal);
    if (port === undefined) {
      return callResult(this.name, name, RESTARTING, stop.passed, graceMs);
    }
    const tool = findNamed(this.name, "tool", port.registration.tools, name);
    const outcome = await port.call({
      tool,
      callId: options.toolCallId ?? crypto.randomUUID(),
      args: text,
      ...signal === undefined ? {} : { signal },
      ...onUpdate === undefined ? {} : {
        onUpdate: (update) => safely(onUpdate, decodeToolResult(update)),
      },
    });
    return callResult(this.name, name, outcome, stop.passed, graceMs);
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
    const command = name.replace(/^\/+/, "");
    return await this.#ask(
      "commands",
      `command "/${command}"`,
      ({ commands }) => findNamed(this.name, "command", commands, command),
      { args, command: `/${command}` },
      options.timeoutMs ?? COMMAND_TIMEOUT_MS,
    );
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
    const message = await this.#ask(
      "providers",
      `provider "${id}"`,
      ({ providers }) => findId(this.name, "provider", providers, id),
      request,
      options.timeoutMs ?? PROVIDER_TIMEOUT_MS,
    );
    if (!isObject(message)) {
      throw new AbiError(
        "handler",
        `The provider "${id}" of plugin "${this.name}" answered no JSON object`,
        { plugin: this.name, fix: "answer with a whole assistant message" },
      );
    }
    return message;
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
    return await this.#ask(
      "oauth",
      `oauth provider "${id}"`,
      ({ oauth }) => findId(this.name, "oauth provider", oauth, id),
      { action, providerId: id, params },
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
    return await this.#ask(
      "renderers",
      `${kind} renderer "${name}"`,
      ({ renderers }) => findRenderer(this.name, renderers, kind, name),
      input,
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

  async #ask(
    kind: InvokeKind,
    what: string,
    indexIn: (registration: Registration) => number,
    input: unknown,
    timeoutMs: number,
  ): Promise<unknown> {
    const port = await this.#supervisor.ready();
    const index = indexIn(port.registration);
    const outcome = await port.invoke(
      kind,
      index,
      [stringifyJson(input)],
      timeoutMs,
    ).catch((error) => {
      throw handlerFailure(this.name, what, error);
    });
    return handlerAnswer(this.name, what, outcome);
  }
}
