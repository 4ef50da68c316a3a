/**
 * Several native plugins at once: one registry, events in order, handlers chained.
 *
 * @module
 */

import { visible } from "@bulkhead/sandbox/command";
import type { AddedTool, Tool, ToolRegistry } from "@bulkhead/plugins";
import { saidWith } from "./answers.ts";
import type { NativeEvent } from "./codec.ts";
import { HOST_NAME } from "./codes.ts";
import { AbiError, reasonOf } from "./errors.ts";
import {
  type DispatchOptions,
  EventFanout,
  type EventResult,
} from "./event_fanout.ts";
import { isObject, parseJson, stringifyJson } from "./json.ts";
import { loadNativePlugin, type NativePlugin } from "./plugin.ts";
import type { NativePluginOptions } from "./plugin_options.ts";
import type { RendererKind } from "./registration.ts";
import { safely } from "./safely.ts";
import { nativeTools, type NativeToolsOptions } from "./tools.ts";

/** Options of {@linkcode NativeHost}. */
export interface NativeHostOptions
  extends Omit<NativePluginOptions, "name" | "sha256"> {
  /** Gets what a person should know, one line each: refused plugins, collisions, failing handlers. */
  onDiagnostic?: (line: string) => void;
}

export type { DispatchOptions, EventResult } from "./event_fanout.ts";

/** Where skills, prompts and themes are. */
export interface DiscoveredResources {
  /** Directories of skills. */
  skillPaths: string[];
  /** Directories of prompts. */
  promptPaths: string[];
  /** Directories of themes. */
  themePaths: string[];
}

/** The event a before_agent_start handler sees. */
export interface AgentStart {
  /** What the user asked. */
  prompt: string;
  /** The number of pictures with it. */
  imageCount?: number;
  /** The session. */
  sessionId?: string;
  /** The system prompt the run would use. */
  systemPrompt: string;
}

/**
 * A set of native plugins, each in its own process. One that does not load or crashes leaves the others alone.
 *
 * @example A library that does not load costs a line and nothing else
 * ```ts
 * import { NativeHost } from "@bulkhead/abi";
 * import { assertEquals } from "@std/assert";
 *
 * const lines: string[] = [];
 * await using host = new NativeHost({ onDiagnostic: (line) => lines.push(line) });
 * await host.load(["/nowhere/libweather.so"]);
 * assertEquals(host.plugins, []);
 * assertEquals(lines, ['Cannot load "/nowhere/libweather.so": there is no such file']);
 * ```
 */
export class NativeHost implements AsyncDisposable {
  readonly #options: NativeHostOptions;
  readonly #plugins: NativePlugin[] = [];
  readonly #events = new EventFanout(this.#plugins, (line) => this.#say(line));

  /**
   * Creates an empty host.
   *
   * @param options What every plugin is loaded with.
   */
  constructor(options: NativeHostOptions = {}) {
    this.#options = options;
  }

  /** The loaded plugins, in the order of loading. */
  get plugins(): readonly NativePlugin[] {
    return this.#plugins;
  }

  /** Events that were dropped because the plugins were too slow. */
  get droppedEvents(): number {
    return this.#events.dropped;
  }

  /**
   * Loads libraries; they start at the same time and count in the given order.
   *
   * @param paths The libraries.
   * @returns The plugins that loaded. The others are a diagnostic each.
   */
  async load(paths: readonly string[]): Promise<NativePlugin[]> {
    const { onDiagnostic, ...options } = this.#options;
    const loaded = await Promise.allSettled(
      paths.map((path) =>
        loadNativePlugin(path, {
          ...options,
          onCrash: (error) => {
            onDiagnostic?.(error.message);
            options.onCrash?.(error);
          },
        })
      ),
    );
    const plugins: NativePlugin[] = [];
    for (const result of loaded) {
      if (result.status === "fulfilled") {
        plugins.push(result.value);
        this.add(result.value);
      } else this.#say(reasonOf(result.reason));
    }
    return plugins;
  }

  /**
   * Adds a plugin that was loaded otherwise.
   *
   * @param plugin The plugin; it is closed with the host.
   */
  add(plugin: NativePlugin): void {
    for (const line of plugin.registration.diagnostics) {
      this.#say(`Plugin "${plugin.name}": ${line}`);
    }
    for (const [kind, names] of named(plugin)) {
      for (const name of names) {
        const holder = this.#plugins.find((p) =>
          named(p).get(kind)?.includes(name)
        );
        if (holder !== undefined) {
          this.#say(
            `Plugin "${plugin.name}": ${kind} "${name}" is taken by plugin "${holder.name}", which stays`,
          );
        }
      }
    }
    this.#plugins.push(plugin);
  }

  /**
   * The tools of all plugins; of a name that comes twice the first one.
   *
   * @param options Wire names, deadline.
   * @returns The tools.
   */
  tools(options: NativeToolsOptions = {}): Tool[] {
    const seen = new Set<string>();
    return this.#allTools(options)
      .filter((tool) => {
        if (seen.has(tool.name)) return false;
        seen.add(tool.name);
        return true;
      });
  }

  /**
   * Adds the tools of all plugins to a registry.
   *
   * @param registry The registry.
   * @param options Wire names, deadline.
   * @returns What became of each.
   */
  addTools(
    registry: ToolRegistry,
    options: NativeToolsOptions = {},
  ): AddedTool[] {
    return this.#allTools(options).map((tool) => registry.add(tool));
  }

  /**
   * Finds who holds a name.
   *
   * @param kind What is looked for.
   * @param name Its name.
   * @returns The first plugin that registered it.
   */
  find(
    kind: "tool" | "command" | "flag" | "provider" | "oauth provider",
    name: string,
  ): NativePlugin | undefined {
    const wanted = kind === "command" ? name.replace(/^\/+/, "") : name;
    return this.#plugins.find((plugin) =>
      named(plugin).get(kind)?.includes(wanted)
    );
  }

  /**
   * Sends an event to every handler, in order, and waits for them.
   *
   * @param event The event.
   * @param options Another mode than the event's own.
   * @returns A veto, a claim, and what went wrong.
   */
  dispatch(
    event: NativeEvent,
    options: DispatchOptions = {},
  ): Promise<EventResult> {
    return this.#events.dispatch(event, options);
  }

  /**
   * Sends an event as it is now and does not wait: in order, one event after the other. When the plugins cannot follow,
   * message updates are dropped first.
   *
   * @param event The event; throws a `TypeError` for one that JSON cannot hold.
   */
  emit(event: NativeEvent): void {
    this.#events.emit(event);
  }

  /** Waits until every emitted event was handled. */
  async settled(): Promise<void> {
    await this.#events.settled();
  }

  /**
   * Asks every plugin where its skills, prompts and themes are.
   *
   * @param cwd The workspace.
   * @param reason Why: at the start, or after a reload.
   * @returns All paths, in the order of loading.
   */
  async discoverResources(
    cwd: string,
    reason: "startup" | "reload" = "startup",
  ): Promise<DiscoveredResources> {
    const found: DiscoveredResources = {
      skillPaths: [],
      promptPaths: [],
      themePaths: [],
    };
    for (const plugin of this.#plugins) {
      for (let index = 0; index < plugin.registration.discover; index++) {
        const value = await this.#ask(plugin, "discover", index, [cwd, reason]);
        if (!isObject(value)) continue;
        for (
          const key of ["skillPaths", "promptPaths", "themePaths"] as const
        ) {
          const paths = value[key];
          if (Array.isArray(paths)) {
            found[key].push(
              ...paths.filter((path) => typeof path === "string"),
            );
          }
        }
      }
    }
    return found;
  }

  /**
   * Lets the plugins replace the system prompt of one run. Each handler sees what the one before it left.
   *
   * @param start The run.
   * @returns The system prompt to use.
   */
  async beforeAgentStart(start: AgentStart): Promise<string> {
    let { systemPrompt } = start;
    for (const plugin of this.#plugins) {
      for (
        let index = 0;
        index < plugin.registration.beforeAgentStart;
        index++
      ) {
        const event = stringifyJson({
          imageCount: 0,
          ...start,
          host: HOST,
          systemPrompt,
        });
        const value = await this.#ask(plugin, "beforeAgentStart", index, [
          event,
        ]);
        if (
          isObject(value) && typeof value.systemPrompt === "string"
        ) systemPrompt = value.systemPrompt;
      }
    }
    return systemPrompt;
  }

  /**
   * Tells every plugin which session is active.
   *
   * @param id The session.
   */
  setSession(id: string): void {
    for (const plugin of this.#plugins) plugin.setSession(id);
  }

  /** Tells the plugins that the session ends, within their budget, and ends them. */
  async shutdown(): Promise<void> {
    await this.settled();
    await this.dispatch({ type: "SessionShutdown" });
    await this.close();
  }

  /** Ends every plugin. */
  async close(): Promise<void> {
    this.#events.close();
    await Promise.all(this.#plugins.map((plugin) => plugin.close()));
    await this.#events.settled();
  }

  /** Same as {@linkcode close}. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #allTools(options: NativeToolsOptions): Tool[] {
    return this.#plugins.flatMap((plugin) => {
      const onNote = (line: string) =>
        this.#say(`Plugin "${plugin.name}": ${line}`);
      return nativeTools(plugin, { onNote, ...options });
    });
  }

  async #ask(
    plugin: NativePlugin,
    kind: "discover" | "beforeAgentStart",
    index: number,
    inputs: readonly string[],
  ): Promise<unknown> {
    try {
      const { rc, text } = await plugin.invoke(kind, index, inputs);
      if (rc === 0) return text === "" ? undefined : parseJson(text);
      const said = saidWith(text);
      this.#say(
        `Plugin "${plugin.name}": ${kind} handler ${index} returned ${rc}${
          said === "" ? "" : `: ${said}`
        }`,
      );
    } catch (error) {
      if (!(error instanceof AbiError) && !(error instanceof SyntaxError)) {
        throw error;
      }
      const why = error instanceof AbiError
        ? error.message
        : "what it answered is no JSON";
      this.#say(
        `Plugin "${plugin.name}": ${kind} handler ${index} failed: ${why}`,
      );
    }
    return undefined;
  }

  /** One line for a person, whatever a plugin calls its things. */
  #say(line: string): void {
    const short = line.length > MAX_LINE ? `${line.slice(0, MAX_LINE)}…` : line;
    safely(this.#options.onDiagnostic, visible(short.toWellFormed()));
  }
}

/** What of a diagnostic is told: names may have thousands of characters. */
const MAX_LINE = 500;

const HOST = { name: HOST_NAME, version: "0.1.0" };

function named(plugin: NativePlugin): Map<string, string[]> {
  const { tools, commands, shortcuts, flags, providers, renderers, oauth } =
    plugin.registration;
  const renderer = (kind: RendererKind) =>
    renderers.filter((r) => r.kind === kind).map((r) => r.name);
  return new Map([
    ["tool", tools.map((t) => t.name)],
    ["command", commands.map((c) => c.name)],
    ["shortcut", shortcuts.map((s) => s.name)],
    ["flag", flags.map((f) => f.name)],
    ["provider", providers.map((p) => p.id)],
    ["message renderer", renderer("message")],
    ["markdown renderer", renderer("markdown")],
    ["entry renderer", renderer("entry")],
    ["oauth provider", oauth.map((o) => o.id)],
  ]);
}
