/**
 * A verification under way: the plugin, started again when it dies, and the report that grows.
 *
 * @module
 */

import { JsonText } from "../codec.ts";
import { AbiError, VERIFY_IT } from "../errors.ts";
import { loadNativePlugin, type NativePlugin } from "../plugin.ts";
import type { CallToolOptions } from "../plugin_options.ts";
import type { Finding, VerifyOptions, VerifyReport } from "./report.ts";

/** How many tools, commands and renderers are called at most. */
export const MAX_TOOLS = 50;
/** A bug found in one tool must not hide those of the others, but some plugins die of everything. */
export const MAX_CRASHES = 5;
/** How much a report tells besides errors. */
const MAX_FINDINGS = 200;

/** One verification. */
export class VerifySession {
  /** What was found so far. */
  readonly report: VerifyReport = {
    ok: false,
    checks: [],
    findings: [],
    figures: {},
  };
  /** The library. */
  readonly path: string;
  /** What the caller asked for. */
  readonly options: VerifyOptions;
  /** The running plugin; `undefined` after too many crashes. */
  plugin: NativePlugin | undefined;
  /** How often it went down. */
  crashes = 0;
  /** How many lines it printed. */
  printed = 0;
  /** A tool that answered a sample quickly. */
  quick: { name: string; args: string } | undefined;
  /** Tools after whose calls the plugin held more host strings than before. */
  readonly holders = new Set<string>();
  /** Host strings the plugin still holds, as last seen. */
  #held = 0;

  constructor(path: string, options: VerifyOptions) {
    this.path = path;
    this.options = options;
  }

  /** Starts the plugin, confined and counted. */
  async load(): Promise<NativePlugin> {
    const { isolation, permissions, env, onOutput } = this.options;
    return await loadNativePlugin(this.path, {
      accounting: true,
      restart: { maxRestarts: 0 },
      limits: { cancelGraceMs: 1_000, stuckMs: 2_000, actionDeadlineMs: 2_000 },
      onOutput: (line) => {
        this.printed++;
        onOutput?.(line);
      },
      context: { cwd: "/", sessionId: "verify" },
      ...isolation === undefined ? {} : { isolation },
      ...permissions === undefined ? {} : { permissions },
      ...env === undefined ? {} : { env },
    });
  }

  /** Calls a tool within the deadline. */
  call(
    tool: string,
    args: string,
    options: CallToolOptions = {},
  ): ReturnType<NativePlugin["callTool"]> {
    if (this.plugin === undefined) {
      throw new AbiError("crashed", "the plugin is not running any more");
    }
    const timeoutMs = this.options.callTimeoutMs ?? 3_000;
    return this.plugin.callTool(tool, new JsonText(args), {
      timeoutMs,
      toolCallId: "verify",
      ...options,
    });
  }

  /** Turns what a call threw into a finding and starts a dead plugin again. */
  async blame(check: string, what: string, error: AbiError): Promise<void> {
    switch (error.code) {
      case "crashed":
      case "disabled":
      case "wedged":
      case "closed":
        this.crashes++;
        this.found(
          "error",
          check,
          `${what}: ${error.message}`,
          fixOf(error),
        );
        await this.#restart();
        return;
      case "aborted":
      case "timeout":
        if (error.message.includes("ignored cancel")) {
          this.found(
            "error",
            check,
            `${what} ignored a cancel for a second`,
            "look at the cancel flag in every poll",
          );
          // What still runs there must not be counted against the next one.
          await this.#restart();
        } else if (error.code === "timeout") {
          this.found(
            "info",
            check,
            `${what} did not answer the sample within the deadline: ${error.message}`,
          );
        }
        return;
      case "protocol":
        this.found("error", check, `${what}: ${error.message}`, fixOf(error));
        return;
      default:
        this.found(
          "info",
          check,
          `${what} answered with an error: ${error.message}`,
        );
    }
  }

  /** Notes which tool kept a string of the host; it may still give it back later. */
  async count(tool: string): Promise<void> {
    try {
      const stats = await this.plugin?.stats();
      const held = (stats?.hostStrings.given ?? 0) -
        (stats?.hostStrings.freed ?? 0);
      if (held > this.#held) this.holders.add(tool);
      this.#held = held;
    } catch {
      // Gone: the next call tells.
    }
  }

  async #restart(): Promise<void> {
    this.#held = 0;
    this.holders.clear();
    await this.plugin?.close();
    this.plugin = this.crashes > MAX_CRASHES
      ? undefined
      : await this.load().catch(() => undefined);
  }

  /** How many errors were found so far. */
  errors(): number {
    return this.report.findings.filter((finding) => finding.level === "error")
      .length;
  }

  /** Ends a check: failed when it found an error. */
  done(check: string, errorsBefore: number, detail: string): void {
    const status = this.errors() > errorsBefore ? "failed" : "passed";
    this.report.checks.push({ name: check, status, detail });
  }

  /** Ends a check that went well. */
  passed(name: string, detail: string): void {
    this.report.checks.push({ name, status: "passed", detail });
  }

  /** Ends a check that has nothing to look at. */
  skipped(name: string, detail: string): void {
    this.report.checks.push({ name, status: "skipped", detail });
  }

  /** Ends a check that leaves nothing to go on with. */
  failed(name: string, error: AbiError): false {
    this.report.checks.push({
      name,
      status: "failed",
      detail: `refused: code "${error.code}"`,
    });
    this.found("error", name, error.message, fixOf(error));
    return false;
  }

  /** Notes one finding. */
  found(
    level: Finding["level"],
    check: string,
    message: string,
    fix?: string,
  ): void {
    const { findings } = this.report;
    // Many warnings do not hide what is broken.
    if (level === "error" || findings.length < MAX_FINDINGS) {
      findings.push({
        level,
        check,
        message,
        ...fix === undefined ? {} : { fix },
      });
    }
  }
}

/** Whoever reads the report has verified it already. */
function fixOf({ fix }: AbiError): string | undefined {
  return fix === VERIFY_IT
    ? "run it under a debugger, or build it with -fsanitize=address"
    : fix;
}
