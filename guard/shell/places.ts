/**
 * Directories that a command names.
 *
 * @module
 */
import { joinPath as join, normalizePath } from "@bulkhead/sandbox/paths";
import { ANY, SEG } from "../holes.ts";

/**
 * A path that starts from a directory; what may be absolute is not taken for relative.
 *
 * @param base The directory.
 * @param path The path.
 * @returns Where it leads.
 */
export function joinPath(base: string, path: string): string {
  return path.startsWith(ANY) ? path : join(base, path);
}

/**
 * The directory that `cd` leads to: `..` is folded by name, as shells do, and links are
 * left for the judge to follow.
 *
 * @param cwd Where the shell is.
 * @param target The operand.
 * @returns The directory, or an unknown one.
 */
export function joinDirectory(cwd: string, target: string): string {
  if (target.startsWith(ANY) || /\uE000.*\.\./s.test(target)) return ANY;
  if (target.includes(ANY)) {
    return joinDirectory(cwd, target.replaceAll(ANY, SEG));
  }
  if (!target.startsWith("/") && cwd.includes(ANY)) return ANY;
  // Longer than any kernel takes; judging it would only cost time.
  if (cwd.length + target.length > 8192) return ANY;
  const joined = target.startsWith("/") ? target : `${cwd}/${target}`;
  return normalizePath(joined);
}
