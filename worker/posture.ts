/**
 * What an agent may do when nobody is there to ask: default deny, and never outside the session's directory.
 *
 * @module
 */

import type { Decider, ToolCall, Verdict } from "./agents/driver.ts";
import { namedPermissions } from "@bulkhead/sandbox";
import {
  NO_RULES,
  ProjectReader,
  type ProjectRules,
} from "./posture_project.ts";
import {
  bareNames,
  baseNames,
  covers,
  matches,
  type PermissionRules,
  restrictedNames,
} from "./posture_rules.ts";
import {
  escapesDirectory,
  suspectPaths,
  targetOf,
  toolPaths,
} from "./posture_paths.ts";

export { isTrustedProject, type ProjectRules } from "./posture_project.ts";
export type { PermissionRules } from "./posture_rules.ts";

/** Options of {@linkcode createPosture}. */
export interface PostureOptions {
  /** The session's directory. */
  readonly cwd: string;
  /** The host's own rules. Its allow list is the only one that is believed unconditionally. */
  readonly rules?: PermissionRules;
  /**
   * Directories that tools may reach besides the session's own.
   *
   * @default {[]}
   */
  readonly roots?: readonly string[];
  /**
   * Where the project's `.claude/settings*.json` count: its allow list only with `trusted`, its deny and ask lists
   * always.
   *
   * @default {"untrusted"}
   */
  readonly project?: "trusted" | "untrusted" | "ignored";
}

const SHELLS = new Set([
  "bash",
  "bashoutput",
  "killbash",
  "killshell",
  "monitor",
  "powershell",
  "repl",
  "workflow",
]);

/** Tools whose effect reaches past the directory without a path: only the host's own list may allow them. */
const FAR_REACHING = new Set([
  "agent",
  "crondelete",
  "croncreate",
  "enterworktree",
  "exitworktree",
  "schedulewakeup",
  "sendmessage",
  "skill",
  "task",
  "webfetch",
]);

const WRITERS = new Set(["Write", "Edit", "MultiEdit", "NotebookEdit"]);
const READERS = new Set(["Read", "Glob", "Grep", "LS", "NotebookRead"]);

/** Files of a project that give later sessions more rights. */
const PRIVILEGED =
  /^(?:\.claude(?:\/|$)|\.mcp\.json$|\.git(?:\/|$)|\.bulkhead\.toml$)|(?:^|\/)CLAUDE(?:\.local)?\.md$/i;

/**
 * The posture of a session as a judge: escapes are denied for good, what the rules allow wholesale is allowed, a
 * shell is for a person to say, and the rest is undecided with the reason.
 */
export class Posture implements Decider {
  /** The name that stands in verdicts. */
  readonly name = "posture";
  /** The session's directory without links. */
  readonly cwd: string;
  readonly #roots: readonly string[];
  readonly #allowed: ReadonlySet<string>;
  readonly #hostAllowed: ReadonlySet<string>;
  #restricted: ReadonlySet<string>;
  #asked: ReadonlySet<string>;
  readonly #reread: (() => ProjectRules | undefined) | undefined;
  readonly #fixed: readonly PermissionRules[];
  #projectAllowed: ReadonlySet<string>;

  /**
   * Makes a posture from rules that are already read. Most callers want {@linkcode createPosture}.
   *
   * @param cwd The session's directory without links.
   * @param host The host's rules.
   * @param project The project's rules, as far as they count, and how to read them again.
   * @param roots Directories without links that tools may reach besides the session's own.
   */
  constructor(
    cwd: string,
    host: PermissionRules,
    project: { rules: ProjectRules; reread?: () => ProjectRules | undefined } =
      { rules: NO_RULES },
    roots: readonly string[] = [],
  ) {
    this.cwd = cwd;
    this.#roots = roots;
    this.#hostAllowed = bareNames(host.allow ?? []);
    this.#projectAllowed = bareNames(project.rules.allow);
    this.#allowed = new Set([...this.#hostAllowed, ...this.#projectAllowed]);
    this.#fixed = [host];
    this.#restricted = restrictedNames([host, project.rules]);
    this.#asked = baseNames([...(host.ask ?? []), ...project.rules.ask]);
    this.#reread = project.reread;
  }

  /**
   * Judges one call.
   *
   * @param call The call.
   * @returns The verdict; `reason` is always set unless it is allowed.
   */
  decide(call: ToolCall): Verdict {
    this.#refresh();
    const { toolName, input } = call;
    if (SHELLS.has(toolName.toLowerCase())) {
      return verdict(
        "ask",
        `"${toolName}" runs a shell whose effect cannot be confined to the session directory`,
      );
    }
    const outside = this.#firstEscape(toolName, input);
    if (outside !== undefined) {
      return verdict(
        "deny",
        `"${toolName}" would touch "${outside}", which is outside the session directory`,
      );
    }
    // The agent itself knows only the session's directory.
    const rooted = this.#roots.length > 0 &&
      toolPaths(toolName, input).length > 0;
    if (call.reasonType === "workingDir" && !rooted) {
      return verdict(
        "deny",
        `"${toolName}" would reach outside the session directory, as the agent itself says`,
      );
    }
    if (matches(this.#asked, toolName)) {
      return verdict(
        "ask",
        `"${toolName}" is not wholesale-allowed: a rule says that a person must be asked`,
      );
    }
    if (!this.#mayRun(toolName)) {
      return verdict(
        "undecided",
        `"${toolName}" is not wholesale-allowed by the permission policy and nobody is there to approve it`,
      );
    }
    const doubt = this.#doubt(toolName, input);
    return doubt === undefined
      ? { decision: "allow" }
      : verdict("ask", `"${toolName}" is not wholesale-allowed ${doubt}`);
  }

  #mayRun(toolName: string): boolean {
    if (matches(this.#restricted, toolName)) return false;
    if (FAR_REACHING.has(toolName.toLowerCase())) {
      return covers(this.#hostAllowed, toolName);
    }
    return covers(this.#hostAllowed, toolName) ||
      (covers(this.#allowed, toolName) &&
        covers(this.#projectAllowed, toolName));
  }

  #firstEscape(toolName: string, input: unknown): string | undefined {
    return toolPaths(toolName, input).find((path) =>
      escapesDirectory(path, this.cwd, isForeign(toolName), this.#roots)
    );
  }

  /** What keeps an allowed tool from running unasked in this one call. */
  #doubt(toolName: string, input: unknown): string | undefined {
    const suspect = suspectPaths(toolName, input).find((path) =>
      escapesDirectory(path, this.cwd, true, this.#roots)
    );
    if (suspect !== undefined) {
      return `with "${suspect}", which reads like a path outside the session directory`;
    }
    if (READERS.has(toolName)) return undefined;
    for (const path of toolPaths(toolName, input)) {
      const place = locate(path, this.cwd, this.#roots);
      if (place === undefined) continue;
      if (PRIVILEGED.test(place.relative)) {
        return `for "${path}": it gives later sessions more rights`;
      }
      if (WRITERS.has(toolName) && place.links > 1) {
        return `for "${path}": the file has other names (hard links)`;
      }
    }
    return undefined;
  }

  /** Rules may grow stricter while the session runs; what is allowed may only shrink. */
  #refresh(): void {
    const rules = this.#reread?.();
    if (rules === undefined) return;
    const allowed = bareNames(rules.allow);
    this.#projectAllowed = new Set(
      [...this.#projectAllowed].filter((name) => allowed.has(name)),
    );
    this.#restricted = new Set([
      ...this.#restricted,
      ...restrictedNames([...this.#fixed, rules]),
    ]);
    this.#asked = new Set([...this.#asked, ...baseNames(rules.ask)]);
  }
}

/**
 * Builds the posture of a session: the host's rules, and the project's where they count.
 *
 * @param options The directory and the rules.
 * @returns The posture.
 *
 * @example Default deny
 * ```ts
 * import { createPosture } from "@bulkhead/worker";
 * import { assertEquals } from "@std/assert";
 *
 * const cwd = await Deno.makeTempDir();
 * const posture = await createPosture({ cwd, rules: { allow: ["Read"] } });
 * const decide = (toolName: string, path: string) =>
 *   posture.decide({ toolName, input: { file_path: path }, cwd }).decision;
 * assertEquals(decide("Read", "notes.txt"), "allow");
 * assertEquals(decide("Read", "/etc/passwd"), "deny");
 * assertEquals(decide("Write", "notes.txt"), "undecided");
 * await Deno.remove(cwd);
 * ```
 */
export async function createPosture(options: PostureOptions): Promise<Posture> {
  let cwd = options.cwd;
  try {
    cwd = await namedPermissions(
      `Looking at "${options.cwd}"`,
      () => Deno.realPath(options.cwd),
    );
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable) throw error;
    // A directory that is not there yet: its name as given is the boundary.
  }
  const roots = await namedPermissions(
    "Looking at the roots",
    () => Promise.all((options.roots ?? []).map((root) => Deno.realPath(root))),
  );
  const mode = options.project ?? "untrusted";
  if (mode === "ignored") {
    return new Posture(cwd, options.rules ?? {}, { rules: NO_RULES }, roots);
  }
  const files = [
    `${cwd}/.claude/settings.json`,
    `${cwd}/.claude/settings.local.json`,
  ];
  const reader = new ProjectReader(files, mode === "trusted");
  return new Posture(cwd, options.rules ?? {}, {
    rules: reader.read() ?? NO_RULES,
    reread: () => reader.read(),
  }, roots);
}

function verdict(decision: Verdict["decision"], reason: string): Verdict {
  return { decision, reason };
}

/** Tools of servers and unknown builds: nobody knows what their arguments mean. */
function isForeign(toolName: string): boolean {
  return !WRITERS.has(toolName) && !READERS.has(toolName);
}

function locate(
  path: string,
  cwd: string,
  roots: readonly string[],
): { relative: string; links: number } | undefined {
  const target = targetOf(path, cwd);
  const base = [cwd, ...roots].find((dir) => target?.startsWith(`${dir}/`));
  if (target === undefined || base === undefined) return undefined;
  let links = 0;
  try {
    const info = Deno.lstatSync(target);
    links = info.isFile ? info.nlink ?? 1 : 0;
  } catch {
    // Nothing there yet.
  }
  return { relative: target.slice(base.length + 1), links };
}
