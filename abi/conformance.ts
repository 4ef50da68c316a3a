/**
 * Verifies a library: life cycle, cancel, late threads, ownership, leaks, and a report a person can act on.
 *
 * @module
 */

import type { EngineStats } from "./engine_types.ts";
import { AbiError } from "./errors.ts";
import { eventRule } from "./events.ts";
import { encodeEvent, JsonText, type NativeEvent } from "./codec.ts";
import { isObject, parseJson } from "./json.ts";
import { EVENT_NAMES } from "./layout.ts";
import { loadNativePlugin, type NativePlugin } from "./plugin.ts";
import type { CallToolOptions, NativePluginOptions } from "./plugin_options.ts";
import { inspectLibrary, type LibraryReport } from "./preflight.ts";
import { sampleArguments } from "./sample.ts";

/** Options of {@linkcode verifyLibrary}. */
export interface VerifyOptions extends
  Pick<
    NativePluginOptions,
    "isolation" | "permissions" | "env" | "onOutput"
  > {
  /** The tool that is called many times; by default the first one that answers a sample call quickly. */
  tool?: string;
  /** Arguments for that tool as JSON text; by default made from its schema. */
  args?: string;
  /**
   * How many times.
   *
   * @default 10_000
   */
  calls?: number;
  /**
   * How long one call may take, in milliseconds.
   *
   * @default 3_000
   */
  callTimeoutMs?: number;
}

/** One thing that was found. */
export interface Finding {
  /** `error`: breaks the ABI; `warning`: works but costs someone; `info`: worth knowing. */
  level: "error" | "warning" | "info";
  /** Which check found it. */
  check: string;
  /** What was found. */
  message: string;
  /** What to do about it. */
  fix?: string;
}

/** One check and how it went. */
export interface CheckResult {
  /** Its name. */
  name: string;
  /** How it went. */
  status: "passed" | "failed" | "skipped";
  /** What it did or why it was skipped. */
  detail: string;
}

/** What the verification found. */
export interface VerifyReport {
  /** True when there is no finding of level `error`. */
  ok: boolean;
  /** What the library is; absent when it was refused before loading. */
  library?: LibraryReport;
  /** What it registered: counts. */
  registered?: Record<string, number>;
  /** The checks, in order. */
  checks: CheckResult[];
  /** The findings. */
  findings: Finding[];
  /** What was measured. */
  figures: Record<string, number>;
}

/**
 * Runs a library through everything a host does with it, in a confined process of its own.
 *
 * Tools are called with arguments made from their schemas. Give `tool` and `args` when those would do harm.
 *
 * @param path The library.
 * @param options Which tool to call, how often.
 * @returns The report; it rejects only for mistakes of the caller and missing permissions.
 */
export async function verifyLibrary(
  path: string,
  options: VerifyOptions = {},
): Promise<VerifyReport> {
  const verifier = new Verifier(path, options);
  await verifier.run();
  return verifier.report;
}

/** A bug found in one tool must not hide those of the others, but some plugins die of everything. */
const MAX_TOOLS = 50;
const MAX_CRASHES = 5;
/** The runtime that hosts the plugin keeps up to 60 bytes of its own per call for a while. */
const LEAK_BYTES_PER_CALL = 100;

class Verifier {
  readonly report: VerifyReport = {
    ok: false,
    checks: [],
    findings: [],
    figures: {},
  };
  readonly #path: string;
  readonly #options: VerifyOptions;
  #plugin: NativePlugin | undefined;
  #crashes = 0;
  #printed = 0;
  #quick: { name: string; args: string } | undefined;
  /** Host strings the plugin still holds, as last seen, and who was called when there came to be more. */
  #held = 0;
  readonly #holders = new Set<string>();

  constructor(path: string, options: VerifyOptions) {
    this.#path = path;
    this.#options = options;
  }

  async run(): Promise<void> {
    try {
      if (await this.#inspect() && await this.#register()) {
        await this.#tools();
        await this.#cancel();
        await this.#handlers();
        await this.#events();
        await this.#threads();
        await this.#many();
        await this.#close();
      }
    } finally {
      await this.#plugin?.close();
    }
    this.report.ok = !this.report.findings.some((finding) =>
      finding.level === "error"
    );
  }

  async #inspect(): Promise<boolean> {
    try {
      this.report.library = await inspectLibrary(this.#path);
    } catch (error) {
      if (!(error instanceof AbiError)) throw error;
      return this.#failed("preflight", error);
    }
    this.#passed(
      "preflight",
      `${this.report.library.format}, ${this.report.library.arch}`,
    );
    return true;
  }

  async #register(): Promise<boolean> {
    let names: string;
    try {
      const first = await this.#load();
      names = JSON.stringify(first.registration);
      await first.close();
      this.#plugin = await this.#load();
    } catch (error) {
      if (!(error instanceof AbiError)) throw error;
      return this.#failed("register", error);
    }
    const { registration } = this.#plugin;
    for (const line of registration.diagnostics) {
      const harmless = line.startsWith("shortcut ");
      this.#found(harmless ? "info" : "warning", "register", line);
    }
    if (JSON.stringify(registration) !== names) {
      this.#found(
        "warning",
        "register",
        "two loads in a row registered different things",
        "register the same things every time",
      );
    }
    this.report.registered = {
      tools: registration.tools.length,
      commands: registration.commands.length,
      shortcuts: registration.shortcuts.length,
      flags: registration.flags.length,
      providers: registration.providers.length,
      renderers: registration.renderers.length,
      events: registration.events.length,
      discover: registration.discover,
      beforeAgentStart: registration.beforeAgentStart,
      oauth: registration.oauth.length,
    };
    for (const tool of registration.tools) {
      const schema = parse(tool.parameters);
      if (!isObject(schema) || schema.type !== "object") {
        this.#found(
          "warning",
          "register",
          `tool "${tool.name}": its parameters are no JSON Schema of type "object"`,
          'start with {"type":"object"}',
        );
      }
      if (tool.description === "") {
        this.#found(
          "warning",
          "register",
          `tool "${tool.name}" has no description`,
          "models choose tools by their description",
        );
      }
    }
    const total = Object.values(this.report.registered).reduce(
      (a, b) => a + b,
      0,
    );
    if (total === 0) this.#found("warning", "register", "it registers nothing");
    this.#passed("register", `${total} entries, the same at the second load`);
    return true;
  }

  async #tools(): Promise<void> {
    const tools = this.#plugin?.registration.tools ?? [];
    if (tools.length === 0) return this.#skipped("call", "it has no tool");
    let answered = 0;
    const before = this.#errors();
    for (const tool of tools.slice(0, MAX_TOOLS)) {
      const chosen = this.#options.tool === tool.name
        ? this.#options.args
        : undefined;
      const args = chosen ?? sampleArguments(tool.parameters);
      const started = performance.now();
      try {
        const result = await this.#call(tool.name, args);
        answered++;
        if (
          performance.now() - started < 50 &&
          (this.#options.tool ?? tool.name) === tool.name
        ) {
          this.#quick ??= { name: tool.name, args };
        }
        if (result.content.length === 0) {
          this.#found(
            "info",
            "call",
            `tool "${tool.name}" answered without content`,
          );
        }
      } catch (error) {
        if (!(error instanceof AbiError)) throw error;
        if (error.code === "tool") answered++;
        await this.#blame("call", `tool "${tool.name}"`, error);
        if (this.#crashes > MAX_CRASHES) break;
      }
      await this.#count(tool.name);
    }
    if (tools.length > MAX_TOOLS) {
      this.#found(
        "info",
        "call",
        `only the first ${MAX_TOOLS} of ${tools.length} tools were called`,
      );
    }
    this.#done(
      "call",
      before,
      `${answered} of ${
        Math.min(tools.length, MAX_TOOLS)
      } tools answered a sample call`,
    );
  }

  async #cancel(): Promise<void> {
    const tools = this.#plugin?.registration.tools ?? [];
    if (tools.length === 0) return this.#skipped("cancel", "it has no tool");
    const before = this.#errors();
    let cancelled = 0;
    for (const tool of tools.slice(0, MAX_TOOLS)) {
      if (this.#crashes > MAX_CRASHES) break;
      const abort = new AbortController();
      const timer = setTimeout(() => abort.abort(), 5);
      try {
        await this.#call(tool.name, sampleArguments(tool.parameters), {
          signal: abort.signal,
        });
      } catch (error) {
        if (!(error instanceof AbiError)) throw error;
        if (error.code === "aborted") cancelled++;
        if (error.code !== "tool") {
          await this.#blame("cancel", `tool "${tool.name}"`, error);
        }
      } finally {
        clearTimeout(timer);
      }
    }
    this.#done(
      "cancel",
      before,
      `${cancelled} calls were running when they were cancelled, the others had ended`,
    );
  }

  async #handlers(): Promise<void> {
    const registration = this.#plugin?.registration;
    if (registration === undefined) return;
    const before = this.#errors();
    let called = 0;
    const call = async (
      what: string,
      run: (plugin: NativePlugin) => Promise<unknown>,
    ): Promise<void> => {
      if (this.#plugin === undefined || this.#crashes > MAX_CRASHES) return;
      called++;
      try {
        await run(this.#plugin);
      } catch (error) {
        if (!(error instanceof AbiError)) throw error;
        await this.#blame("handlers", what, error);
      }
    };
    const limit = { timeoutMs: this.#options.callTimeoutMs ?? 3_000 };
    for (const { name } of registration.commands.slice(0, MAX_TOOLS)) {
      await call(`command "/${name}"`, async (plugin) => {
        const answer = await plugin.runCommand(name, "", limit);
        if (answer !== null && !isObject(answer)) {
          this.#found(
            "warning",
            "handlers",
            `command "/${name}" did not answer a JSON object`,
            'answer {"kind":"message","text":…}',
          );
        }
      });
    }
    for (const { kind, name } of registration.renderers.slice(0, MAX_TOOLS)) {
      await call(
        `${kind} renderer "${name}"`,
        (plugin) =>
          plugin.render(
            kind,
            name,
            { text: "sample", markdown: "sample" },
            limit,
          ),
      );
    }
    for (const { id } of registration.providers) {
      await call(
        `provider "${id}"`,
        (plugin) =>
          plugin.requestProvider(id, {
            model: "sample",
            context: { messages: [] },
            options: {},
          }, limit),
      );
    }
    for (const { id } of registration.oauth) {
      await call(
        `oauth provider "${id}"`,
        (plugin) => plugin.requestOAuth(id, "begin", {}, limit),
      );
    }
    for (let index = 0; index < registration.discover; index++) {
      await call(
        `resources_discover handler ${index}`,
        (plugin) => plugin.invoke("discover", index, ["/", "startup"], limit),
      );
    }
    const event = JSON.stringify({
      prompt: "sample",
      imageCount: 0,
      sessionId: "verify",
      host: { name: "rpi" },
      systemPrompt: "sample",
    });
    for (let index = 0; index < registration.beforeAgentStart; index++) {
      await call(
        `before_agent_start handler ${index}`,
        (plugin) => plugin.invoke("beforeAgentStart", index, [event], limit),
      );
    }
    if (called === 0) this.#skipped("handlers", "it has none");
    else {this.#done(
        "handlers",
        before,
        `${called} commands, renderers, providers and other handlers were called`,
      );}
  }

  async #events(): Promise<void> {
    const tags = new Set(this.#plugin?.registration.events);
    if (tags.size === 0) {
      return this.#skipped("events", "it has no event handler");
    }
    const before = this.#errors();
    for (const tag of tags) {
      const type = EVENT_NAMES[tag];
      if (
        type === undefined || this.#plugin === undefined ||
        this.#crashes > MAX_CRASHES
      ) continue;
      const { strings, isError } = encodeEvent(sampleEvent(type));
      const { mode } = eventRule(type);
      try {
        const outcome = await this.#plugin.dispatch({
          tag,
          strings,
          isError,
          mode,
          budgetMs: 1_000,
        });
        for (const [index, rc] of outcome.failed) {
          this.#found(
            "info",
            "events",
            `${type} handler ${index} returned ${rc}`,
          );
        }
        if (outcome.verdict !== "continue") {
          this.#found(
            "info",
            "events",
            `${type}: a handler answered ${outcome.verdict}`,
          );
        }
        for (const index of outcome.late) {
          this.#found(
            "warning",
            "events",
            `${type} handler ${index} took more than a second`,
            "hand long work to a thread",
          );
        }
      } catch (error) {
        if (!(error instanceof AbiError)) throw error;
        await this.#blame("events", `a handler of ${type}`, error);
      }
    }
    this.#done("events", before, `handlers of ${tags.size} events were called`);
  }

  /** Threads of the plugin may go on after a call; what they must not do is to report progress for it. */
  async #threads(): Promise<void> {
    if (this.#plugin === undefined) return;
    const before = this.#errors();
    try {
      await new Promise((resolve) => setTimeout(resolve, 300));
      const stats = await this.#plugin.stats();
      this.report.figures.runtimeActions = stats.actions;
      if (stats.latePartials > 0) {
        this.#found(
          "error",
          "threads",
          `progress came ${stats.latePartials} times after its call was over`,
          "call partial only from inside poll",
        );
      }
      const held = stats.hostStrings.given - stats.hostStrings.freed;
      if (held > 0 && this.#holders.size > 0) {
        const names = [...this.#holders].map((name) => `"${name}"`).join(", ");
        this.#found(
          "error",
          "threads",
          `${held} strings of the host were not freed after calls of ${names}`,
          "call free_params once on the params that execute receives",
        );
      }
      if (stats.liveHandles > 0) {
        this.#found(
          "error",
          "threads",
          `${stats.liveHandles} handles are still alive after every call was over`,
        );
      }
    } catch (error) {
      if (!(error instanceof AbiError)) throw error;
      await this.#blame("threads", "a thread of the plugin", error);
    }
    this.#done("threads", before, "300 ms of quiet after the calls");
  }

  async #many(): Promise<void> {
    const quick = this.#options.tool === undefined ? this.#quick : {
      name: this.#options.tool,
      args: this.#options.args ?? this.#quick?.args ?? "{}",
    };
    const calls = this.#options.calls ?? 10_000;
    if (quick === undefined || this.#plugin === undefined) {
      return this.#skipped(
        "leaks",
        "no tool answered a sample call quickly; name one with --tool and --args",
      );
    }
    const plugin = this.#plugin;
    const before = this.#errors();
    const warmUp = Math.min(calls, Math.max(100, calls / 10));
    const run = async (count: number): Promise<void> => {
      const lanes = Array.from({ length: 4 }, async (_, lane) => {
        for (let i = lane; i < count; i += 4) {
          try {
            await this.#call(quick.name, quick.args);
          } catch (error) {
            if (!(error instanceof AbiError) || error.code !== "tool") {
              throw error;
            }
          }
        }
      });
      await Promise.all(lanes);
    };
    try {
      await run(warmUp);
      const start = await plugin.stats();
      const started = performance.now();
      await run(calls / 2);
      const middle = await plugin.stats();
      await run(calls / 2);
      const elapsed = performance.now() - started;
      const end = await plugin.stats();
      this.#account([start, middle, end], calls, elapsed);
    } catch (error) {
      if (!(error instanceof AbiError)) throw error;
      await this.#blame(
        "leaks",
        `tool "${quick.name}" called ${calls} times`,
        error,
      );
    }
    this.#done(
      "leaks",
      before,
      `tool "${quick.name}" was called ${calls} times`,
    );
  }

  #account(
    [start, middle, end]: [EngineStats, EngineStats, EngineStats],
    calls: number,
    elapsedMs: number,
  ): void {
    // A leak goes on; what caches and arenas take comes to an end.
    const heap = Math.min(
      middle.heapBytes - start.heapBytes,
      end.heapBytes - middle.heapBytes,
    ) / (calls / 2);
    const lost = (end.hostStrings.given - end.hostStrings.freed) -
      (start.hostStrings.given - start.hostStrings.freed);
    Object.assign(this.report.figures, {
      calls,
      microsecondsPerCall: Math.round(elapsedMs * 1_000 / calls),
      hostStringsGiven: end.hostStrings.given,
      hostStringsFreed: end.hostStrings.freed,
      pluginStringsReceived: end.stringsReceived,
      pluginStringsFreed: end.stringsFreed,
      liveHandles: end.liveHandles,
      heapBytesPerCall: Math.round(heap * 10) / 10,
      rssGrowthBytes: end.rssBytes - start.rssBytes,
      longestPollMs: Math.round(end.longestPollMs * 10) / 10,
    });
    if (lost > 0) {
      this.#found(
        "error",
        "leaks",
        `${lost} strings of the host were not freed in ${calls} calls`,
        "call free_params once on the params that execute receives",
      );
    }
    if (end.hostStrings.freedTwice > 0) {
      this.#found(
        "error",
        "leaks",
        `${end.hostStrings.freedTwice} strings of the host were freed twice`,
        "each string is freed once",
      );
    }
    if (end.hostStrings.freedWrong > 0) {
      this.#found(
        "error",
        "leaks",
        `${end.hostStrings.freedWrong} pointers that are no strings of the host were passed to free_string`,
        "free your own strings yourself",
      );
    }
    if (end.liveHandles > 0) {
      this.#found(
        "error",
        "leaks",
        `${end.liveHandles} handles are still alive`,
      );
    }
    if (heap > LEAK_BYTES_PER_CALL) {
      this.#found(
        "warning",
        "leaks",
        `its process keeps about ${
          Math.round(heap)
        } more bytes of malloc memory per call`,
        "run it under valgrind or build it with -fsanitize=address",
      );
    }
    if (end.invalidUtf8 > 0) {
      this.#found(
        "warning",
        "leaks",
        `${end.invalidUtf8} strings were not valid UTF-8`,
        "strings of the ABI are UTF-8",
      );
    }
    if (end.slowPolls * 20 > end.polls) {
      this.#found(
        "warning",
        "leaks",
        `${end.slowPolls} of ${end.polls} polls took more than 50 ms, the longest ${
          Math.round(end.longestPollMs)
        } ms`,
        "poll must not block: hand long work to a thread",
      );
    }
  }

  async #close(): Promise<void> {
    if (this.#plugin === undefined) {
      return this.#skipped("exit", "it is not running any more");
    }
    const started = performance.now();
    await this.#plugin.close();
    const took = performance.now() - started;
    if (took > 900) {
      this.#found(
        "warning",
        "exit",
        `its process took ${
          Math.round(took)
        } ms to end and may have been killed`,
        "look at destructors, atexit handlers and threads that do not end",
      );
    }
    if (this.#printed > 0) {
      this.#found(
        "info",
        "exit",
        `it printed ${this.#printed} lines; hosts show them as diagnostics`,
      );
    }
    this.#passed("exit", `ended within ${Math.round(took)} ms`);
  }

  async #load(): Promise<NativePlugin> {
    const { isolation, permissions, env, onOutput } = this.#options;
    return await loadNativePlugin(this.#path, {
      accounting: true,
      restart: { maxRestarts: 0 },
      limits: { cancelGraceMs: 1_000, stuckMs: 2_000, actionDeadlineMs: 2_000 },
      onOutput: (line) => {
        this.#printed++;
        onOutput?.(line);
      },
      context: { cwd: "/", sessionId: "verify" },
      ...isolation === undefined ? {} : { isolation },
      ...permissions === undefined ? {} : { permissions },
      ...env === undefined ? {} : { env },
    });
  }

  #call(
    tool: string,
    args: string,
    options: CallToolOptions = {},
  ): ReturnType<NativePlugin["callTool"]> {
    if (this.#plugin === undefined) {
      throw new AbiError("crashed", "the plugin is not running any more");
    }
    const timeoutMs = this.#options.callTimeoutMs ?? 3_000;
    return this.#plugin.callTool(tool, new JsonText(args), {
      timeoutMs,
      toolCallId: "verify",
      ...options,
    });
  }

  /** Turns what a call threw into a finding and starts a dead plugin again. */
  async #blame(check: string, what: string, error: AbiError): Promise<void> {
    switch (error.code) {
      case "crashed":
      case "disabled":
      case "wedged":
      case "closed":
        this.#crashes++;
        this.#found(
          "error",
          check,
          `${what}: ${error.message}`,
          error.fix ?? "run the library under a debugger",
        );
        await this.#restart();
        return;
      case "aborted":
      case "timeout":
        if (error.message.includes("ignored cancel")) {
          this.#found(
            "error",
            check,
            `${what} ignored a cancel for a second`,
            "look at the cancel flag in every poll",
          );
          // What still runs there must not be counted against the next one.
          await this.#restart();
        } else if (error.code === "timeout") {
          this.#found(
            "info",
            check,
            `${what} did not answer the sample within the deadline: ${error.message}`,
          );
        }
        return;
      case "protocol":
        this.#found("error", check, `${what}: ${error.message}`, error.fix);
        return;
      default:
        this.#found(
          "info",
          check,
          `${what} answered with an error: ${error.message}`,
        );
    }
  }

  /** Notes which tool kept a string of the host; it may still give it back later. */
  async #count(tool: string): Promise<void> {
    try {
      const stats = await this.#plugin?.stats();
      const held = (stats?.hostStrings.given ?? 0) -
        (stats?.hostStrings.freed ?? 0);
      if (held > this.#held) this.#holders.add(tool);
      this.#held = held;
    } catch {
      // Gone: the next call tells.
    }
  }

  async #restart(): Promise<void> {
    this.#held = 0;
    this.#holders.clear();
    await this.#plugin?.close();
    this.#plugin = this.#crashes > MAX_CRASHES
      ? undefined
      : await this.#load().catch(() => undefined);
  }

  #errors(): number {
    return this.report.findings.filter((finding) => finding.level === "error")
      .length;
  }

  #done(check: string, errorsBefore: number, detail: string): void {
    const status = this.#errors() > errorsBefore ? "failed" : "passed";
    this.report.checks.push({ name: check, status, detail });
  }

  #passed(name: string, detail: string): void {
    this.report.checks.push({ name, status: "passed", detail });
  }

  #skipped(name: string, detail: string): void {
    this.report.checks.push({ name, status: "skipped", detail });
  }

  #failed(name: string, error: AbiError): false {
    this.report.checks.push({ name, status: "failed", detail: error.code });
    this.#found("error", name, error.message, error.fix);
    return false;
  }

  #found(
    level: Finding["level"],
    check: string,
    message: string,
    fix?: string,
  ): void {
    const { findings } = this.report;
    if (findings.length < 200) {
      findings.push({
        level,
        check,
        message,
        ...fix === undefined ? {} : { fix },
      });
    }
  }
}

function sampleEvent(type: NativeEvent["type"]): NativeEvent {
  return {
    type,
    message: { role: "assistant", content: [{ type: "text", text: "sample" }] },
    toolCallId: "verify",
    toolName: "sample",
    params: {},
    result: { content: [] },
    data: {
      prompt: "sample",
      imageCount: 0,
      sessionId: "verify",
      host: { name: "rpi" },
    },
  };
}

function parse(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}
