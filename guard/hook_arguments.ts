/**
 * The command line of the hook process, with the names that older armed workspaces still use.
 *
 * @module
 */

/** The variables the hook reads: what a shell word may be made of, and where home is. */
export const HOOK_ENVIRONMENT: readonly string[] = [
  "HOME",
  "TMPDIR",
  "USER",
  "LOGNAME",
];

/** What a hook process is asked to do. */
export interface HookArguments {
  /** The harness whose verdict is spoken. */
  harness: string;
  /** The marker; found from the working directory when absent. */
  marker?: string;
  /** Deny what cannot be judged. */
  failClosed: boolean;
  /** The directory the harness started the hook in, when the shim had to leave it. */
  cwd?: string;
}

/**
 * Reads the hook's arguments: `guard MARKER`, `guard-codex MARKER`,
 * `guard-hook --harness H MARKER`, `guard hook --harness H MARKER`, and `hook …`.
 *
 * @param args The arguments.
 * @returns What they ask for; unknown ones are passed over, because a hook must not fail.
 *
 * @example
 * ```ts
 * import { parseHookArguments } from "@bulkhead/guard/hook";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(parseHookArguments(["guard-codex", "/m"]), {
 *   harness: "codex",
 *   marker: "/m",
 *   failClosed: false,
 * });
 * ```
 */
export function parseHookArguments(args: readonly string[]): HookArguments {
  const found: HookArguments = { harness: "claude-code", failClosed: false };
  const rest = [...args];
  for (let word = rest.shift(); word !== undefined; word = rest.shift()) {
    if (word === "--fail-closed") found.failClosed = true;
    else if (word === "--harness") found.harness = rest.shift() ?? "";
    else if (word.startsWith("--harness=")) {
      found.harness = word.slice("--harness=".length);
    } else if (word === "--cwd") found.cwd = rest.shift();
    else if (word === "guard-codex") found.harness = "codex";
    else if (!["guard", "guard-hook", "hook"].includes(word)) {
      found.marker = word;
    }
  }
  return found;
}
