/**
 * The step `edit`: a file of the case is changed.
 *
 * @module
 */

import { type JsonObject, string } from "./_plugin_case.ts";
import { stepKeys } from "./_plugin_step.ts";

/** Changes a file, by its path in the case; several changes of one step happen in the order of the code. */
export async function editStep(
  step: JsonObject,
  root: string,
): Promise<void> {
  const keys = stepKeys(step, {
    file: ["path", "target"],
    content: ["text", "write", "contents", "data"],
    append: [],
    replace: ["from", "find", "search", "old"],
    with: ["to", "by", "replacement", "new"],
    mode: ["chmod"],
    remove: ["delete", "rm"],
    rename: ["moveTo", "mv"],
    link: ["symlink"],
  });
  const file = string(keys.file, "file");
  const path = file.startsWith("/") ? file : `${root}/${file}`;
  if (keys.remove === true) await Deno.remove(path, { recursive: true });
  if (typeof keys.rename === "string") await Deno.rename(path, keys.rename);
  if (typeof keys.link === "string") {
    await Deno.remove(path).catch(() => undefined);
    await Deno.symlink(keys.link, path);
  }
  if (typeof keys.content === "string") {
    await Deno.mkdir(path.replace(/\/[^/]*$/, ""), { recursive: true });
    await Deno.writeTextFile(path, keys.content);
  }
  if (typeof keys.append === "string") {
    await Deno.writeTextFile(path, keys.append, { append: true });
  }
  for (const [from, to] of replacements(keys.replace, keys.with)) {
    const text = await Deno.readTextFile(path);
    if (!text.includes(from)) throw new Error(`"${path}" lacks "${from}"`);
    await Deno.writeTextFile(path, text.replaceAll(from, to));
  }
  if (typeof keys.mode === "string") {
    await Deno.chmod(path, Number.parseInt(keys.mode.replace(/^0o/, ""), 8));
  } else if (typeof keys.mode === "number") await Deno.chmod(path, keys.mode);
}

/** `{replace: a, with: b}`, `{replace: [a, b]}` or `{replace: {a: b}}`. */
function replacements(replace: unknown, by: unknown): [string, string][] {
  if (Array.isArray(replace)) return replacements(replace[0], replace[1]);
  if (typeof replace === "string" && typeof by === "string") {
    return [[replace, by]];
  }
  if (typeof replace !== "object" || replace === null) return [];
  const table: Record<string, unknown> = { ...replace };
  if (table.from !== undefined) return replacements(table.from, table.to);
  return Object.entries(table).flatMap(([from, to]) => replacements(from, to));
}
