/**
 * Git commands that take files out of the work tree without naming them.
 *
 * Arming lists the guard's files in `info/exclude`, so only a command that takes ignored files as
 * well, or one that names their directory, reaches them; and one that puts committed text back,
 * where the hook's own file is tracked.
 *
 * @module
 */
import { SEG } from "../holes.ts";
import { type Call, writes } from "./call.ts";
import { hasOption, type Options } from "./options.ts";
import { namedOwn, sweeps } from "./own_files.ts";

/**
 * Records which of the guard's own files `clean`, `stash`, `rm`, `checkout` or `restore` would
 * take.
 *
 * @param call The call, named after the sub-command.
 * @param sub The sub-command.
 * @param options Its options.
 */
export function sweepsWorkTree(
  call: Call,
  sub: string,
  options: Options,
): void {
  const { operands } = options;
  if (restores(sub, options)) {
    for (const path of call.context.boundary.trackedPaths) {
      writes(call, path, "entry");
    }
  }
  switch (sub) {
    case "clean": {
      if (
        hasOption(options, "-n", "--dry-run") ||
        !hasOption(options, "-x", "-X")
      ) return;
      const kept = options.options.flatMap(([name, value]) =>
        (name === "-e" || name === "--exclude") && value !== undefined
          ? [value]
          : []
      );
      for (const place of operands.length === 0 ? ["."] : operands) {
        sweeps(call, pathspec(place), kept);
        touches(call, [place]);
      }
      return;
    }
    case "stash": {
      const [verb = "push"] = operands;
      if (verb !== "push" && verb !== "save") return;
      const places = verb === "save" ? [] : operands.slice(1);
      if (hasOption(options, "-a", "--all")) {
        for (const place of places.length === 0 ? ["."] : places) {
          sweeps(call, pathspec(place));
        }
      }
      return touches(call, places);
    }
    case "rm":
      if (!hasOption(options, "-n", "--dry-run")) touches(call, operands);
      return;
    case "restore":
      if (
        !hasOption(options, "-S", "--staged") ||
        hasOption(options, "-W", "--worktree")
      ) touches(call, operands);
      return;
    default:
      return touches(call, operands);
  }
}

/** Whether a command puts the committed text of a whole tree back. */
function restores(sub: string, options: Options): boolean {
  const { operands } = options;
  const whole = operands.some((text) => /^(?::\/|\.|\.\/|\*)$/.test(text));
  switch (sub) {
    case "stash":
      return /^(?:push|save)?$/.test(operands[0] ?? "") &&
        operands.length < 2;
    case "reset":
      return hasOption(options, "--hard", "--merge", "--keep");
    case "switch":
      return hasOption(options, "-f", "--force", "--discard-changes");
    case "checkout":
      return whole || hasOption(options, "-f", "--force");
    case "restore":
      return whole && (!hasOption(options, "-S", "--staged") ||
        hasOption(options, "-W", "--worktree"));
    case "rm":
      return whole && !hasOption(options, "--cached", "-n", "--dry-run");
    default:
      return false;
  }
}

/** Records the guard's files that a pathspec names. */
function touches(call: Call, pathspecs: readonly string[]): void {
  for (const text of pathspecs) {
    const path = pathspec(text);
    for (const own of namedOwn(path, call.state, call.context)) {
      writes(call, own, "entry");
    }
    // The pattern of `'.claude/*'` is git's own.
    if (path.includes(SEG)) writes(call, path, "entry");
  }
}

/** The path of a pathspec: its magic taken off, its stars read as parts of names. */
function pathspec(text: string): string {
  return text.replace(/^:(?:\((?!exclude)[^)]*\)|\/)/, "").replace(
    /[*?]+/g,
    SEG,
  );
}
