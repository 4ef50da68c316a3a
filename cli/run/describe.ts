import { shorten } from "./shorten.ts";

/** Arguments that name what a call is about, best first. */
const TELLING = [
  "file_path",
  "notebook_path",
  "filePath",
  "path",
  "command",
  "pattern",
  "url",
  "query",
  "question",
  "description",
];

/**
 * The arguments of a call in a few words: the one that names its object, if there
 * is one.
 *
 * @param input The arguments.
 * @param workspace Paths below it are shown without it.
 * @returns At most 80 characters.
 */
export function describeInput(input: unknown, workspace = ""): string {
  if (typeof input !== "object" || input === null) return "";
  const fields = Object.entries(input);
  for (const name of TELLING) {
    const value: unknown = fields.find(([key]) => key === name)?.[1];
    if (typeof value !== "string") continue;
    return shorten(below(value, workspace), 80);
  }
  const [only] = fields;
  if (fields.length === 1 && Array.isArray(only?.[1]) && only[1].length > 0) {
    return describeInput(only[1][0], workspace);
  }
  return fields.length === 0 ? "" : shorten(JSON.stringify(input), 80);
}

/**
 * A path as seen from the workspace.
 *
 * @param path Any text.
 * @param workspace The workspace; none when empty.
 * @returns The path relative to it when it lies inside, or right beside it.
 */
export function below(path: string, workspace: string): string {
  if (workspace === "") return path;
  if (path.startsWith(`${workspace}/`)) return path.slice(workspace.length + 1);
  const parent = workspace.slice(0, workspace.lastIndexOf("/") + 1);
  return parent.length > 1 && path.startsWith(parent)
    ? `../${path.slice(parent.length)}`
    : path;
}
