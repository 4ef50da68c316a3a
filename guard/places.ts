/**
 * Where the parts of a guard lie in a workspace.
 *
 * @module
 */

import type { GuardSection, HarnessDescriptor } from "./harnesses/types.ts";
import { GUARD_MANIFEST, GUARD_MARKER } from "./marker.ts";

/** Where the parts of a guard lie in a root. */
export interface GuardPlaces {
  /** The harness's skills directory. */
  skillsDir: string;
  /** The marker. */
  marker: string;
  /** The manifest. */
  manifest: string;
  /** The file that holds the hook, as named in the workspace. */
  hook: string;
}

/** The places of a harness's guard. */
export function placesOf(
  harness: HarnessDescriptor,
  guard: GuardSection,
  root: string,
): GuardPlaces {
  const skillsDir = `${root}/${harness.speech?.skillsDir}`;
  return {
    skillsDir,
    marker: `${skillsDir}/${GUARD_MARKER}`,
    manifest: `${skillsDir}/${GUARD_MANIFEST}`,
    hook: `${root}/${hookFileOf(guard)}`,
  };
}

/** The hook file, relative to the root. */
export function hookFileOf(guard: GuardSection): string {
  return guard.engine === "json-hooks" ? guard.hooksFile : guard.pluginFile;
}

/**
 * The directory made for the hook file alone, which teardown may remove when it is empty: the
 * hook file's parent, unless that is the root or holds the skills directory.
 *
 * @param hookFile The hook file, relative to the root.
 * @param skillsDir The skills directory, relative to the root.
 * @param root The root.
 * @returns The directory, if there is one.
 *
 * @example
 * ```ts
 * import { hookCleanupDir } from "@bulkhead/guard";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(hookCleanupDir(".codex/hooks.json", ".agents/skills", "/env"), "/env/.codex");
 * assertEquals(hookCleanupDir(".claude/settings.local.json", ".claude/skills", "/env"), undefined);
 * ```
 */
export function hookCleanupDir(
  hookFile: string,
  skillsDir: string | undefined,
  root: string,
): string | undefined {
  const at = hookFile.lastIndexOf("/");
  if (at < 0) return undefined;
  const parent = hookFile.slice(0, at);
  if (
    skillsDir !== undefined &&
    (skillsDir === parent || skillsDir.startsWith(parent + "/"))
  ) return undefined;
  return `${root}/${parent}`;
}
