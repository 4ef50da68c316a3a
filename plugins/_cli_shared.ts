/**
 * What the commands of `plugins` share: places, configuration, questions, the way they end.
 *
 * @module
 */
import { bulkheadHome } from "@bulkhead/sandbox";
import {
  type CommandIo,
  type Failure,
  type Flags,
  type FlagSpec,
  paint,
  UsageError,
} from "@bulkhead/sandbox/command";
import {
  disabled,
  ENDING_SIGNALS,
  InterruptedError,
  NotLoadedError,
} from "./_cli_errors.ts";
import { absolute, readLine } from "./_cli_input.ts";
import { refusedLines } from "./_refused.ts";
import { clip, messageOf, printable, quoteWhole } from "./_text.ts";
import { loadConfig, type PluginsConfig, type SandboxLevel } from "./config.ts";
import {
  BLOCKED_NOTICE,
  type LoadedOutcome,
  type LoadedPlugin,
  type LoadOutcome,
  loadPlugins,
} from "./load.ts";
import { ConfigError, UnmetTrustError } from "./errors.ts";
import type { ToolRegistry } from "./tool.ts";
import { askTrust, type AskTrustOptions } from "./ask_trust.ts";
import { parseTrustPin, type TrustHandler, type TrustPin } from "./trust.ts";

/** The streams of the command, and where `serve` speaks. */
export interface PluginsIo extends CommandIo {
  /**
   * Where `serve` writes the protocol.
   *
   * @default {Deno.stdout.writable}
   */
  readonly stdout?: WritableStream<Uint8Array>;
}

/**
 * Starts the native libraries of plugins and puts their tools into a registry. This package holds no native code: a
 * program that does, as `bulkhead`, hands this in.
 *
 * @param plugins Trusted plugins; those without a library are left alone.
 * @param registry Where the tools go.
 * @param setup The workspace and the confinement.
 * @returns What people should see, and the end of the libraries' processes.
 */
export type OpenNative = (
  plugins: readonly LoadedPlugin[],
  registry: ToolRegistry,
  setup: { workspace: string; isolation: SandboxLevel },
) => Promise<{ notices: string[]; close(): Promise<void> }>;

/** What a program adds to the commands. */
export interface PluginsExtensions {
  /**
   * Starts native libraries, for `call` and `serve`.
   *
   * @default {undefined} their tools are left out, and a line says so
   */
  readonly native?: OpenNative;
}

/** One verb. */
export interface Verb {
  /** One line for the list of commands. */
  summary: string;
  /** The whole help. */
  help: string;
  /** Its own flags. */
  flags?: FlagSpec;
  /** How many operands it takes. */
  operands: readonly [min: number, max: number];
  /**
   * Whether contents can be trusted on its command line.
   *
   * @default {false}
   */
  takesPins?: boolean;
  /**
   * Whether it looks at anything in the home.
   *
   * @default {true}
   */
  usesHome?: boolean;
  /** Runs it. */
  run(command: Command): Promise<number>;
}

/** The flags of every verb. */
export const COMMON_FLAGS: FlagSpec = {
  boolean: ["help", "json"],
  string: ["home", "workspace"],
  alias: { h: "help", j: "json" },
};

/** The flag of the verbs that trust contents. */
export const PIN_FLAGS: FlagSpec = { collect: ["trust-plugin"] };

/** A command line with its flags read and its places found. */
export class Command {
  readonly io: PluginsIo;
  readonly flags: Flags;
  readonly json: boolean;
  readonly #native: OpenNative | undefined;
  /** The exit code of an interruption, when there was one. */
  interrupted: number | undefined;
  #config: PluginsConfig | undefined;
  #signal: AbortSignal | undefined;

  constructor(io: PluginsIo, flags: Flags, { native }: PluginsExtensions = {}) {
    this.#native = native;
    this.io = io;
    this.flags = flags;
    this.json = flags.on("json");
  }

  /** The Bulkhead home. */
  get home(): string {
    return absolute(bulkheadHome(this.flags.text("home")));
  }

  /** The directory tools work in. */
  get workspace(): string {
    return absolute(this.flags.text("workspace") ?? ".");
  }

  /** Contents that are trusted by the command line. */
  get pins(): TrustPin[] {
    return this.flags.list("trust-plugin").map((text) => {
      try {
        return parseTrustPin(text);
      } catch (error) {
        throw new UsageError(messageOf(error), "--trust-plugin NAME=sha256:…");
      }
    });
  }

  /** Refuses a home that is no directory before anything is looked up in it. */
  async checkHome(): Promise<void> {
    const { home } = this;
    const isDirectory = await Deno.stat(home).then(
      (info) => info.isDirectory,
      (error) => !(error instanceof Deno.errors.NotADirectory),
    );
    if (isDirectory) return;
    throw new ConfigError(
      `Cannot use the Bulkhead home ${quoteWhole(home)}: it is not a directory`,
      { fix: "set --home or BULKHEAD_HOME to a directory" },
    );
  }

  /** The one operand, which the caller has counted. */
  operand(index = 0): string {
    return this.flags.operands[index] ?? "";
  }

  /** Prints a line for people; nothing with `--json`. */
  say(line: string): void {
    if (!this.json) this.io.out(`${line}\n`);
  }

  /**
   * Ends a command that shows what it found also when it failed.
   *
   * @param found What `--json` prints beside the outcome.
   * @param error What is wrong, if anything is.
   * @returns The exit code.
   */
  finish(found: object, error?: Failure): number {
    if (this.json) {
      const outcome = error === undefined ? { ok: true } : { ok: false, error };
      this.io.out(`${JSON.stringify({ schema: 1, ...outcome, ...found })}\n`);
    }
    return error === undefined ? 0 : 1;
  }

  /** Prints a line beside the result. */
  note(line: string): void {
    this.io.err(`${line}\n`);
  }

  /** A word in colour, when colours are on. */
  paint(text: string, color: "red" | "green" | "yellow" | "dim"): string {
    return paint(this.io.color)[color](text);
  }

  /** The user's configuration; what is odd in it is said once. */
  async config(): Promise<PluginsConfig> {
    if (this.#config === undefined) {
      const { config, notices } = await loadConfig({
        home: this.home,
        workspace: this.workspace,
      });
      for (const notice of notices) this.note(`note: ${notice}`);
      this.#config = config;
    }
    return this.#config;
  }

  /** Loads the plugins, asking where somebody can be asked. */
  async load(options: { ask: boolean }): Promise<LoadOutcome> {
    const config = await this.config();
    const handler = options.ask ? this.asker() : undefined;
    return await loadPlugins({
      config,
      home: this.home,
      workspace: this.workspace,
      pins: this.pins,
      ...(handler === undefined ? {} : { trust: handler }),
    });
  }

  /** Reads the configuration again and loads the plugins anew; nobody is asked. */
  async reload(): Promise<LoadOutcome> {
    this.#config = undefined;
    return await this.load({ ask: false });
  }

  /** Why a pin of the command line lets nothing in; undefined when each does, or there is none. */
  unmetPins(outcome: LoadOutcome): Error | undefined {
    if (outcome.status === "disabled") {
      return this.pins.length > 0 ? disabled(this.home) : undefined;
    }
    // Policies are for sessions: no call of an agent is judged here.
    const pins = (outcome.unmet ?? []).filter(({ kind }) => kind === "pin");
    return pins.length > 0 ? new UnmetTrustError(pins) : undefined;
  }

  /** Refuses to go on when a pin of the command line lets nothing in. */
  checkPins(outcome: LoadOutcome): void {
    const unmet = this.unmetPins(outcome);
    if (unmet !== undefined) throw unmet;
  }

  /** Loads the plugins for a command that cannot do without any. */
  async loadOrFail(options: { ask: boolean }): Promise<LoadedOutcome> {
    const outcome = await this.load(options);
    if (outcome.status === "disabled") throw disabled(this.home);
    this.checkPins(outcome);
    const held = refusedLines(outcome.refused);
    for (const warning of outcome.warnings) this.note(`warning: ${warning}`);
    if (outcome.status === "blocked_pending_trust") {
      const [line] = held;
      throw line === undefined
        ? new NotLoadedError(
          outcome.notice,
          outcome.notice === BLOCKED_NOTICE
            ? "bulkhead plugins trust"
            : "bulkhead plugins install SOURCE",
        )
        : new NotLoadedError(
          `No plugin is loaded: ${line}`,
          "bulkhead plugins trust",
        );
    }
    for (const line of held) this.note(`warning: ${line}`);
    for (const notice of outcome.notices) this.note(`warning: ${notice}`);
    return outcome;
  }

  /** Starts native libraries and registers their tools; resolves with what ends them. */
  async openNative(
    outcome: LoadOutcome,
    registry: ToolRegistry,
  ): Promise<() => Promise<void>> {
    const plugins = outcome.status === "loaded"
      ? outcome.plugins.filter((plugin) => plugin.native !== undefined)
      : [];
    if (plugins.length === 0) return () => Promise.resolve();
    if (this.#native === undefined) {
      const names = plugins.map(({ name }) => printable(name)).join(", ");
      this.note(`note: no host of native libraries is here, for ${names}`);
      return () => Promise.resolve();
    }
    const { sandbox: isolation } = await this.config();
    const { workspace } = this;
    const opened = await this.#native(plugins, registry, {
      workspace,
      isolation,
    });
    for (const notice of opened.notices) this.note(notice);
    return opened.close;
  }

  /** Puts questions of trust to the person at the terminal; undefined when there is none. */
  asker(options: AskTrustOptions = {}): TrustHandler | undefined {
    if (!this.io.canAsk) return undefined;
    const handler = askTrust({
      write: (text) => this.io.err(text),
      ask: (prompt) => this.ask(prompt),
    }, options);
    return (question) => {
      this.clearProgress();
      return handler(question);
    };
  }

  /** Asks a person and reads one line; an interruption ends the wait. */
  async ask(prompt: string): Promise<string> {
    this.io.err(prompt);
    const signal = this.#signal;
    if (signal === undefined) return (await readLine(this.io)).trim();
    const interrupted = Promise.withResolvers<never>();
    const stop = () => interrupted.reject(signal.reason);
    signal.addEventListener("abort", stop, { once: true });
    try {
      return (await Promise.race([readLine(this.io), interrupted.promise]))
        .trim();
    } finally {
      signal.removeEventListener("abort", stop);
    }
  }

  /** Runs the work with a signal that Ctrl-C, TERM and a closed terminal abort. */
  async interruptible<T>(
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const controller = new AbortController();
    this.#signal = controller.signal;
    const listeners = [...ENDING_SIGNALS].map(([signal, exitCode]) => {
      const stop = (): void => {
        this.interrupted ??= exitCode;
        controller.abort(new InterruptedError(exitCode));
      };
      Deno.addSignalListener(signal, stop);
      return () => Deno.removeSignalListener(signal, stop);
    });
    try {
      return await work(controller.signal);
    } finally {
      this.#signal = undefined;
      for (const remove of listeners) remove();
    }
  }

  /** Shows what is being done, on a terminal only. */
  progress(line: string): void {
    if (this.io.isTerminal && !this.json) {
      this.io.err(`\r\x1b[K… ${clip(printable(line), 100)}`);
    }
  }

  /** Takes the last progress line away. */
  clearProgress(): void {
    if (this.io.isTerminal && !this.json) this.io.err("\r\x1b[K");
  }
}
