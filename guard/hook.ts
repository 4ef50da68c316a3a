/**
 * The process a harness starts per tool call: a payload on stdin, a verdict on stdout.
 *
 * It prints nothing to allow, and one line in the harness's own shape to deny. It ends with
 * code 0 on every path, and lets a call pass that it cannot judge, unless told to fail closed;
 * each such case leaves a line in the denial log.
 *
 * Permissions: `--allow-read --allow-env=HOME,TMPDIR,USER,LOGNAME`, and `--allow-write` of the
 * directory of the denial log. The module graph is small on purpose: it is loaded per call.
 *
 * @example
 * ```ts
 * import { judgePayload } from "@bulkhead/guard/hook";
 * import { assertEquals } from "@std/assert";
 *
 * const outcome = await judgePayload(
 *   '{"tool_name":"Write","tool_input":{"file_path":"/etc/motd"},"cwd":"/work"}',
 *   { harness: "codex", marker: { active: true, allowedRoots: ["/work"] }, now: 0 },
 * );
 * assertEquals(
 *   outcome.output,
 *   '{"decision":"block","reason":"eval guard: Write to /etc/motd is outside the eval sandbox (allowed: /work)"}',
 * );
 * ```
 *
 * @module
 */

import { joinPath } from "@bulkhead/sandbox/paths";
import { type BoundaryPort, isRealDirectory } from "./boundary.ts";
import { decide, needsShell, type ShellReader } from "./decide.ts";
import {
  appendDenialSync,
  type DenialRecord,
  denialRecord,
} from "./denials.ts";
import { type HarnessSpeech, SPEECH } from "./harnesses/speech.ts";
import {
  HOOK_ENVIRONMENT,
  type HookArguments,
  parseHookArguments,
} from "./hook_arguments.ts";
import {
  GUARD_MANIFEST,
  GUARD_MARKER,
  type GuardMarker,
  isArmed,
  readMarkerSync,
} from "./marker.ts";
import type { VerbTable } from "./shell/verb_spec.ts";
import { parseHookPayload, renderVerdict } from "./verdict.ts";

export { type HookArguments, parseHookArguments } from "./hook_arguments.ts";
export type { DenialRecord } from "./denials.ts";
export type { GuardMarker, MarkerTools } from "./marker.ts";

/** The largest payload that is judged; a larger one is denied. */
export const MAX_PAYLOAD_BYTES: number = 32 * 1024 * 1024;

/** What is known when a payload is judged. */
export interface JudgeOptions {
  /** The harness whose shapes are spoken. */
  harness: string;
  /** The marker; without a live one everything is allowed. */
  marker: GuardMarker | undefined;
  /** Where the marker lies, so that it protects itself. */
  markerPath?: string;
  /** Milliseconds since the epoch. */
  now: number;
  /** Deny what cannot be judged. */
  failClosed?: boolean;
  /** The directory a call runs in when its payload names none; `/` by default. */
  cwd?: string;
  /** Variables of the call whose values are known. */
  env?: Readonly<Record<string, string | undefined>>;
}

/** What came of a payload. */
export interface JudgeOutcome {
  /** What to print; empty to allow, for most harnesses. */
  output: string;
  /** The line for the denial log, if there is one. */
  record?: DenialRecord;
}

/**
 * Judges one payload.
 *
 * @param payload The text of stdin; `undefined` for one that is too large.
 * @param options The harness, the marker, the clock.
 * @returns What to print and what to log.
 *
 * @example Silence allows
 * ```ts
 * import { judgePayload } from "@bulkhead/guard/hook";
 * import { assertEquals } from "@std/assert";
 *
 * const options = { harness: "codex", marker: undefined, now: 0 };
 * assertEquals(await judgePayload("not json", options), { output: "" });
 * ```
 */
export async function judgePayload(
  payload: string | undefined,
  options: JudgeOptions,
): Promise<JudgeOutcome> {
  const { harness, marker, now } = options;
  const speech = speechOf(harness);
  const allowed = { output: speech?.allowOutput ?? "" };
  const failClosed = options.failClosed === true || marker?.failClosed === true;
  const deny = (
    reason: string,
    call: { tool: string; input: unknown },
    verdict: { targets: string[]; rule?: string },
  ): JudgeOutcome =>
    speech === undefined ? allowed : {
      output: renderVerdict(speech.verdictTemplate, reason),
      record: denialRecord(
        { harness, ...call },
        { reason, ...verdict },
        now,
      ),
    };
  const cannot = (problem: string, call = { tool: "", input: null }) =>
    failClosed
      ? deny(`eval guard: blocked because ${problem}`, call, {
        targets: [],
        rule: "fail-closed",
      })
      : {
        ...allowed,
        record: {
          ...denialRecord({ harness, ...call }, {
            reason: problem,
            targets: [],
          }, now),
          event: "fail_open" as const,
        },
      };

  if (marker === undefined) {
    return failClosed ? cannot("the guard's marker cannot be read") : allowed;
  }
  if (!isArmed(marker, now)) return allowed;
  if (payload === undefined) {
    return deny(
      `eval guard: blocked because the call is larger than ${MAX_PAYLOAD_BYTES} bytes`,
      { tool: "", input: null },
      { targets: [], rule: "too-large" },
    );
  }
  const call = parseHookPayload(payload);
  if (call === undefined) return cannot("the hook's payload is not JSON");
  const subject = { tool: call.toolName, input: call.toolInput };
  try {
    const reader = needsShell(call.toolName, call.toolInput, marker)
      ? await loadBeside<ReaderModule>("shell/effects.ts", "shell.js")
      : undefined;
    const home = options.env?.HOME;
    const base = options.cwd ?? "/";
    const judge = () =>
      decide(
        {
          toolName: call.toolName,
          toolInput: call.toolInput,
          cwd: call.cwd === undefined ? base : joinPath(base, call.cwd),
        },
        marker,
        {
          now,
          shell: reader?.readShell,
          ...home ? { home } : {},
          env: options.env,
          protectedPaths: ownPaths(options.markerPath),
          foldCase: Deno.build.os === "darwin",
          paths: realPathPort,
        },
      );
    let decision = judge();
    if (await reader?.learn(loadSeldom)) decision = judge();
    if (decision.allow) return allowed;
    const targets = decision.effects
      .filter((effect) =>
        effect.verdict !== "inside" && effect.verdict !== "device"
      )
      .map((effect) => effect.target ?? effect.path)
      .filter((target) => target !== "");
    const outcome = deny(decision.reason, subject, {
      targets,
      rule: decision.denied.rule,
    });
    if (call.selfCheck) delete outcome.record;
    return outcome;
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error);
    return cannot(`the guard failed: ${detail}`, {
      tool: call.toolName,
      input: null,
    });
  }
}

/** The speech of a harness, if it is a known one. */
function speechOf(harness: string): HarnessSpeech | undefined {
  return Object.hasOwn(SPEECH, harness) ? SPEECH[harness] : undefined;
}

/** What the shell reader's module offers. */
interface ReaderModule {
  readShell: ShellReader;
  learn(
    load: () => Promise<readonly VerbTable[] | undefined>,
  ): Promise<boolean>;
}

/** The tables of programs that few commands name. */
async function loadSeldom(): Promise<
  readonly VerbTable[] | undefined
> {
  const module = await loadBeside<{ SELDOM: readonly VerbTable[] }>(
    "shell/commands_seldom.ts",
    "seldom.js",
  );
  return module?.SELDOM;
}

/**
 * A module that is loaded for the calls that need it. The specifier is not written as a literal,
 * because Deno would load the module at start then. Without the reader, signs of a write decide;
 * without the tables, what options are called by convention.
 */
async function loadBeside<Module>(
  source: string,
  bundled: string,
): Promise<Module | undefined> {
  try {
    // The bundles of `bundle.ts` lie beside one another.
    const here = import.meta.url;
    const module: Module = await import(
      here.slice(0, here.lastIndexOf("/") + 1) +
        (here.endsWith(".ts") ? source : bundled)
    );
    return module;
  } catch {
    return undefined;
  }
}

/**
 * Link look-ups by `realpath`: for a process that makes a dozen of them, the first `lstat` alone
 * would cost as much as all of these. The parents of each path are resolved already, so a path
 * that is its own real path is no link.
 */
export const realPathPort: BoundaryPort = {
  isDirectory: isRealDirectory,
  readLink(path: string): string | null | undefined {
    try {
      if (Deno.realPathSync(path) === path) return null;
    } catch (error) {
      if (
        error instanceof Deno.errors.NotCapable &&
        !/^\/(?:proc|sys|dev)(?:\/|$)/.test(path)
      ) throw error;
    }
    try {
      return Deno.readLinkSync(path);
    } catch (error) {
      return error instanceof Deno.errors.NotFound ? undefined : null;
    }
  },
};

/** The files that the marker's own place tells. */
function ownPaths(marker: string | undefined): string[] {
  if (marker === undefined) return [];
  return [marker, marker.replace(/[^/]*$/, GUARD_MANIFEST)];
}

/** Reads stdin to its end; `undefined` when it holds more than is judged. */
function readPayload(): string | undefined {
  let buffer = new Uint8Array(65_536);
  let length = 0;
  let tooLarge = false;
  while (true) {
    if (length === buffer.length) {
      if (length >= MAX_PAYLOAD_BYTES) {
        // The rest is read and dropped: the harness may wait for it to be taken.
        tooLarge = true;
        length = 0;
      } else {
        const larger = new Uint8Array(buffer.length * 2);
        larger.set(buffer);
        buffer = larger;
      }
    }
    const read = Deno.stdin.readSync(buffer.subarray(length));
    if (read === null) break;
    length += read;
  }
  return tooLarge
    ? undefined
    : new TextDecoder().decode(buffer.subarray(0, length));
}

/** Writes all of a text. */
function print(text: string): void {
  const bytes = new TextEncoder().encode(text + "\n");
  let at = 0;
  while (at < bytes.length) at += Deno.stdout.writeSync(bytes.subarray(at));
}

/**
 * Runs the hook: reads stdin, prints the verdict, logs a denial.
 *
 * @param args The hook's arguments, in any of their spellings.
 * @returns The exit code: 0; or 2 when failing closed for a harness that is not known.
 *
 * @example
 * ```ts ignore
 * import { runHook } from "@bulkhead/guard/hook";
 *
 * Deno.exit(await runHook(["guard", "/work/.claude/skills/.slow-powers-eval-guard.json"]));
 * ```
 */
export async function runHook(args: readonly string[]): Promise<number> {
  let asked: HookArguments = { harness: "", failClosed: false };
  // Nobody reads a stack here, and each missing file would gather one.
  Error.stackTraceLimit = 0;
  try {
    const payload = readPayload();
    asked = parseHookArguments(args);
    const cwd = asked.cwd ?? currentDirectory();
    const skills = speechOf(asked.harness)?.skillsDir;
    const markerPath = asked.marker ?? `${cwd}/${skills}/${GUARD_MARKER}`;
    const marker = readMarkerSync(markerPath);
    const outcome = await judgePayload(payload, {
      harness: asked.harness,
      marker,
      markerPath,
      now: Date.now(),
      failClosed: asked.failClosed,
      cwd,
      env: environment(),
    });
    // The verdict first: the log must not be able to hold it up.
    if (outcome.output !== "") print(outcome.output);
    if (outcome.record !== undefined && marker?.denialLogPath !== undefined) {
      appendDenialSync(marker.denialLogPath, outcome.record);
    }
    const mute = asked.failClosed && outcome.output === "" &&
      speechOf(asked.harness) === undefined;
    return mute ? 2 : 0;
  } catch {
    return asked.failClosed ? 2 : 0;
  }
}

/** Where the hook was started; `/` when that directory is gone. */
function currentDirectory(): string {
  try {
    return Deno.cwd();
  } catch {
    return "/";
  }
}

/** The variables that are known. */
function environment(): Record<string, string | undefined> {
  const found: Record<string, string | undefined> = {};
  for (const name of HOOK_ENVIRONMENT) found[name] = Deno.env.get(name);
  return found;
}

if (import.meta.main) Deno.exit(await runHook(Deno.args));
