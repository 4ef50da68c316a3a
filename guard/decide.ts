/**
 * The arbiter: one tool call in, one verdict out.
 *
 * Pure apart from link look-ups, which go through a port. This file and what it imports stay
 * small, because a hook process starts once per tool call: the shell reader, which needs a
 * parser, is handed in by callers that judge shell calls.
 *
 * @module
 */
import { denoPathPort } from "@bulkhead/sandbox/paths";
import { Boundary, type BoundaryPort, isRealDirectory } from "./boundary.ts";
import type { Effect, EffectMode, EffectRule } from "./effect.ts";
import { withoutHoles } from "./holes.ts";
import { type GuardMarker, isArmed } from "./marker.ts";
import { denyHint, denyReason } from "./reasons.ts";
import { guessTool, otherTargets } from "./other_tools.ts";
import { fieldsOf, patchTargets, writeTargets } from "./targets.ts";
import {
  commandsOf,
  directoryOf,
  isShellLine,
  saysPowerShell,
} from "./tool_commands.ts";
import { OWN_FILES, type ToolKind, toolKind } from "./vocabulary.ts";
import { hasWriteSign, unreadable } from "./write_sign.ts";

/** One tool call, as a harness is about to make it. */
export interface ToolCall {
  /** The tool name as the harness spells it. */
  toolName: string;
  /** The tool's input: untrusted JSON. */
  toolInput: unknown;
  /** Absolute directory the call runs in: the payload's, not the hook process's. */
  cwd: string;
}

/** One command for a {@linkcode ShellReader}. */
export interface ShellRequest {
  /** The command: text, or an argument list that no shell sees. */
  command: string | readonly string[];
  /** Which shell runs it. */
  language: "bash" | "powershell";
  /** Absolute directory it starts in. */
  cwd: string;
  /** The home directory, when known. */
  home: string | undefined;
  /** Environment variables whose values are known. */
  env: Readonly<Record<string, string | undefined>>;
  /** Judges each path. */
  boundary: Boundary;
}

/** Reads a command and says what it would do; `readShell` of `shell/effects.ts`. */
export type ShellReader = (request: ShellRequest) => Effect[];

/** Options for {@linkcode decide}. */
export interface DecideOptions {
  /** Milliseconds since the epoch, for the marker's expiry. */
  now: number;
  /**
   * Reads shell commands. Without one, a shell call is judged by signs of a write alone.
   */
  shell?: ShellReader;
  /** Home directory of the one who runs the call; unknown by default, hence outside. */
  home?: string;
  /**
   * Environment variables of the call whose values are known.
   *
   * @default none is known
   */
  env?: Readonly<Record<string, string | undefined>>;
  /** Link look-ups; the real file system by default. */
  paths?: BoundaryPort;
  /**
   * More files of the guard itself, such as the marker and the shim.
   *
   * @default {[]}
   */
  protectedPaths?: readonly string[];
  /**
   * Append the helpful part to reasons.
   *
   * @default the marker's `hints`
   */
  hints?: boolean;
  /**
   * Compare names without case, as macOS does.
   *
   * @default {false}
   */
  foldCase?: boolean;
}

/** What {@linkcode decide} answers. */
export type Decision =
  | {
    /** The call may run. */
    allow: true;
    /** What it would do, all of it inside. */
    effects: Effect[];
  }
  | {
    /** The call is denied. */
    allow: false;
    /** The sentence for the agent. */
    reason: string;
    /** The effect that the reason speaks of. */
    denied: Effect;
    /** Everything the call would do, as far as it was read. */
    effects: Effect[];
  };

/**
 * Judges one tool call.
 *
 * @param call The call.
 * @param marker The armed marker; a call without a live one is allowed.
 * @param options The clock, the shell reader, and what is known of the surroundings.
 * @returns Allow, or deny with a reason.
 *
 * @example A write outside the roots
 * ```ts
 * import { decide } from "@bulkhead/guard";
 * import { assertEquals } from "@std/assert";
 *
 * const decision = decide(
 *   { toolName: "Write", toolInput: { file_path: "/etc/motd" }, cwd: "/work" },
 *   { active: true, allowedRoots: ["/work"] },
 *   { now: 0 },
 * );
 * assertEquals(
 *   decision.allow || decision.reason,
 *   "eval guard: Write to /etc/motd is outside the eval sandbox (allowed: /work)",
 * );
 * ```
 */
export function decide(
  call: ToolCall,
  marker: GuardMarker | undefined,
  options: DecideOptions,
): Decision {
  if (marker === undefined || !isArmed(marker, options.now)) {
    return { allow: true, effects: [] };
  }
  const roots = marker.allowedRoots ?? [];
  const boundary = new Boundary({
    roots,
    protectedPaths: ownPaths(marker, options),
    trackedPaths: marker.trackedPaths,
    // Unless the marker lists them, where every harness keeps them.
    ownFiles: marker.protectedPaths === undefined ? OWN_FILES : [],
    paths: options.paths ??
      { ...denoPathPort, isDirectory: isRealDirectory },
    foldCase: options.foldCase,
  });
  const effects = effectsOf(
    call,
    toolKind(call.toolName, marker.tools),
    boundary,
    options,
  );
  const denied = effects.find((effect) =>
    effect.verdict !== "inside" && effect.verdict !== "device"
  );
  if (denied === undefined) return { allow: true, effects };
  const hint = options.hints ?? marker.hints ?? false;
  const reason = denyReason(call.toolName, denied, roots) +
    (hint ? denyHint(denied, roots) : "");
  return { allow: false, reason, denied, effects };
}

/**
 * Whether judging a call needs a shell reader, so that a hook can leave the parser unloaded.
 *
 * @param toolName The tool name.
 * @param toolInput The tool's input.
 * @param marker The marker, for names that user layers add.
 * @returns `true` when {@linkcode decide} would call `options.shell`.
 */
export function needsShell(
  toolName: string,
  toolInput: unknown,
  marker?: GuardMarker,
): boolean {
  const kind = toolKind(toolName, marker?.tools);
  if (kind === "shell" || kind === "powershell") return true;
  if (kind === "patch") return isShellLine(toolInput);
  if (kind !== "other") return false;
  return innerCalls(toolInput, "/").some((inner) =>
    needsShell(inner.toolName, inner.toolInput, marker)
  ) ||
    guessTool(toolName).runs &&
      commandsOf(fieldsOf(toolInput), toolName).length > 0;
}

/** The calls that one call of a tool such as `batch` holds. */
function innerCalls(input: unknown, cwd: string): ToolCall[] {
  const fields = fieldsOf(input);
  const server = fields.get("server_name");
  const tool = fields.get("tool_name");
  if (typeof server === "string" && typeof tool === "string") {
    const toolInput = fields.get("arguments") ?? fields.get("input");
    return [{ toolName: `mcp__${server}__${tool}`, toolInput, cwd }];
  }
  const list = ["tool_calls", "toolCalls", "tool_uses", "calls"].map((key) =>
    fields.get(key)
  ).find(Array.isArray);
  return (list ?? []).slice(0, 100).flatMap((item: unknown) => {
    const call = fieldsOf(item);
    const toolName = ["tool", "tool_name", "name", "recipient_name"].map((
      key,
    ) => call.get(key)).find((name) => typeof name === "string");
    const toolInput = ["parameters", "input", "tool_input", "arguments", "args"]
      .map((key) => call.get(key)).find((value) => value !== undefined);
    return typeof toolName === "string"
      ? [{ toolName: toolName.replace(/^functions\./, ""), toolInput, cwd }]
      : [];
  });
}

function ownPaths(marker: GuardMarker, options: DecideOptions): string[] {
  const own = [...marker.protectedPaths ?? [], ...options.protectedPaths ?? []];
  if (marker.denialLogPath !== undefined) own.push(marker.denialLogPath);
  return own;
}

function effectsOf(
  call: ToolCall,
  kind: ToolKind,
  boundary: Boundary,
  options: DecideOptions,
): Effect[] {
  const { toolName, toolInput, cwd } = call;
  const judge = (
    rule: EffectRule,
    paths: string[],
    mode: EffectMode = "content",
  ) =>
    paths.map((path): Effect => {
      const plain = withoutHoles(path);
      const expanded = /^~(?:\/|$)/.test(plain) && options.home !== undefined
        ? options.home + plain.slice(1)
        : plain;
      const judged = boundary.judge(expanded, cwd, mode);
      const unknownHome = expanded.startsWith("~") && /^~(?:\/|$)/.test(plain);
      return {
        rule,
        verb: toolName,
        path,
        label: "file write",
        ...unknownHome ? { verdict: "unknown" as const } : judged,
      };
    });
  switch (kind) {
    case "read":
      return [];
    case "write":
      return judge(
        "file-tool",
        writeTargets(toolInput),
        guessTool(toolName).removes ? "tree" : "content",
      );
    case "patch": {
      // `cd x && apply_patch <<'EOF'`
      if (isShellLine(toolInput)) {
        return shellEffects(call, "bash", boundary, options);
      }
      const paths = patchTargets(toolInput);
      if (paths.length > 0) return judge("patch", paths);
      return [{
        rule: "patch-unreadable",
        verb: toolName,
        path: "",
        verdict: "refused",
        label: "patch",
      }];
    }
    case "shell":
    case "powershell":
      return shellEffects(
        call,
        kind === "shell" ? "bash" : "powershell",
        boundary,
        options,
      );
    case "other": {
      const several = innerCalls(toolInput, cwd);
      if (several.length > 0) {
        return several.flatMap((inner) =>
          effectsOf(inner, toolKind(inner.toolName), boundary, options)
        );
      }
      if (/patch/i.test(toolName)) {
        const patched = patchTargets(toolInput);
        if (patched.length > 0) return judge("patch", patched);
      }
      const guess = guessTool(toolName);
      const shell = guess.runs
        ? shellEffects(call, "bash", boundary, options)
        : [];
      return [
        ...shell,
        ...judge(
          "mcp-tool",
          otherTargets(toolName, toolInput, guess),
          guess.removes ? "tree" : "content",
        ),
      ];
    }
  }
}

function shellEffects(
  call: ToolCall,
  language: "bash" | "powershell",
  boundary: Boundary,
  options: DecideOptions,
): Effect[] {
  const fields = fieldsOf(call.toolInput);
  const cwd = directoryOf(fields, call.cwd, options.home);
  return commandsOf(fields, call.toolName).flatMap((command) => {
    if (options.shell === undefined) return signEffects(command);
    return options.shell({
      command,
      language: saysPowerShell(fields, call.toolName) ? "powershell" : language,
      cwd,
      home: options.home,
      env: options.env ?? {},
      boundary,
    });
  });
}

function signEffects(command: string | readonly string[]): Effect[] {
  const text = typeof command === "string" ? command : command.join(" ");
  if (!hasWriteSign(text)) return [];
  return [unreadable("command")];
}
