/**
 * The expectations about what a case leaves behind: files and processes.
 *
 * @module
 */

import {
  exists,
  isObject,
  type Json,
  string,
  strings,
} from "./_plugin_case.ts";
import { brief, same } from "./_plugin_compare.ts";
import type { Check } from "./_plugin_observation.ts";
import { livingProcesses, pidIsDead } from "./_plugin_processes.ts";

/** The checks by their names. */
export const TRACE_CHECKS: Record<string, Check> = {
  absent: async (wanted) => {
    for (const path of strings(wanted, "absent")) {
      if (await exists(path)) return `"${path}" is there`;
    }
    return undefined;
  },
  present: async (wanted) => {
    for (const path of strings(wanted, "present")) {
      if (!await exists(path)) return `"${path}" is not there`;
    }
    return undefined;
  },
  fileContains: (wanted) =>
    inFiles(wanted, (text, part) => text.includes(part)),
  fileNotContains: (wanted) =>
    inFiles(wanted, (text, part) => !text.includes(part)),
  fileEquals: (wanted) =>
    inFiles(wanted, (text, part) => text.trim() === part.trim()),
  fileMode: async (wanted) => {
    if (!isObject(wanted)) return "must be a table of path to mode";
    for (const [path, mode] of Object.entries(wanted)) {
      const found = ((await Deno.stat(path)).mode ?? 0) & 0o777;
      const octal = typeof mode === "number" ? mode.toString(8) : string(
        mode,
        path,
      ).replace(/^0o?/, "");
      if (found.toString(8) !== octal) {
        return `"${path}" has ${found.toString(8)}`;
      }
    }
    return undefined;
  },
  pidFileDead: async (wanted, seen) => {
    for (const path of strings(wanted, "pidFileDead")) {
      if (!await exists(path)) return `"${path}" is not there`;
      const pid = Number((await Deno.readTextFile(path)).trim());
      if (!await pidIsDead(pid, seen.startedAt)) return `${pid} is alive`;
    }
    const left = await livingProcesses(seen.workspace);
    return left.length === 0 ? undefined : `left running: ${left.join(", ")}`;
  },
  noProcessLeft: async (wanted, seen) =>
    same(wanted, (await livingProcesses(seen.workspace)).length === 0),
};

async function inFiles(
  wanted: Json,
  holds: (text: string, part: string) => boolean,
): Promise<string | undefined> {
  if (!isObject(wanted)) return "must be a table of path to texts";
  for (const [path, parts] of Object.entries(wanted)) {
    const text = await Deno.readTextFile(path).catch(() => "");
    for (const part of strings(parts, path)) {
      if (!holds(text, part)) {
        return `"${path}" is ${brief(text)}, against ${brief(part)}`;
      }
    }
  }
  return undefined;
}
