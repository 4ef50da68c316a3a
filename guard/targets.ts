/**
 * Which paths a write, patch or MCP call names.
 *
 * @module
 */

/** Keys of a write tool's input that name its file, the most usual ones first. */
const PATH_KEYS = [
  "file_path",
  "notebook_path",
  "path",
  "filePath",
  "notebookPath",
  "target_file",
  "targetFile",
  "target_notebook",
  "absolute_path",
  "absolutePath",
  "file",
  "filename",
] as const;

/** Keys that may hold a patch body. */
const BODY_KEYS = [
  "patch",
  "input",
  "content",
  "patchText",
  "command",
  "diff",
  "patch_text",
] as const;

/** Keys of one entry of `files`. */
const FILE_KEYS = [
  "file_path",
  "path",
  "absolute_file_path",
  "move_path",
  "filePath",
  "relativePath",
  "movePath",
] as const;

/**
 * Narrows untrusted JSON to its fields. A string that holds a JSON object is read as one,
 * since some harnesses send the input that way.
 *
 * @param value A tool's input.
 * @returns The fields, empty for anything that is not an object.
 */
export function fieldsOf(value: unknown): Map<string, unknown> {
  if (typeof value === "string" && value.trimStart().startsWith("{")) {
    try {
      return fieldsOf(JSON.parse(value));
    } catch {
      return new Map();
    }
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return new Map();
  }
  return new Map(Object.entries(value));
}

/**
 * The paths a write tool names.
 *
 * @param input The tool's input.
 * @returns Each path once, in the order the keys are looked at.
 */
export function writeTargets(input: unknown): string[] {
  const fields = fieldsOf(input);
  // Editors with a view command read with the same keys.
  if (fields.get("command") === "view") return [];
  const targets = new Set<string>();
  for (const key of PATH_KEYS) {
    const value = fields.get(key);
    if (typeof value === "string" && value !== "") targets.add(value);
  }
  for (const entry of listOf(fields.get("files") ?? fields.get("changes"))) {
    for (const path of entryPaths(entry)) targets.add(path);
  }
  return [...targets];
}

/**
 * The paths a patch tool names, from its `files` and from the header lines of its body.
 *
 * @param input The tool's input.
 * @returns The paths, sorted and each once; empty when none can be determined.
 */
export function patchTargets(input: unknown): string[] {
  if (typeof input === "string" && !input.trimStart().startsWith("{")) {
    return patchBodyTargets(input);
  }
  const fields = fieldsOf(input);
  const targets = new Set<string>();
  for (const entry of listOf(fields.get("files"))) {
    for (const path of entryPaths(entry)) targets.add(path);
  }
  for (const key of BODY_KEYS) {
    const value = fields.get(key);
    const bodies = Array.isArray(value) ? value : [value];
    for (const body of bodies) {
      if (typeof body !== "string") continue;
      for (const path of patchBodyTargets(body)) targets.add(path);
    }
  }
  return [...targets].sort();
}

/**
 * The paths that a patch body names in its header lines.
 *
 * @param body Text in the `*** Begin Patch` form, or a unified diff.
 * @returns The paths in order.
 */
export function patchBodyTargets(body: string): string[] {
  const targets: string[] = [];
  let inUpdate = false;
  for (const raw of body.split("\n")) {
    // Inside an update, a line that starts with a blank is context, whatever it says.
    const line = inUpdate ? raw.trimEnd() : raw.trim();
    const header = /^\*\*\* (Add File|Update File|Delete File|Move to): ?(.*)$/
      .exec(line);
    if (header !== null) {
      targets.push((header[2] ?? "").trim());
      inUpdate = header[1] === "Update File" || header[1] === "Move to";
    } else if (/^\*\*\* (?:Begin|End) Patch/.test(line)) inUpdate = false;
  }
  return targets.length > 0 ? targets : unifiedDiffTargets(body, 1);
}

/**
 * The files that a unified diff would change.
 *
 * @param body A diff.
 * @param strip Leading components to drop, as `patch -p` does.
 * @returns The paths in order, each once.
 */
export function unifiedDiffTargets(body: string, strip: number): string[] {
  const targets = new Set<string>();
  const lines = body.split("\n");
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i] ?? "";
    const next = lines[i + 1] ?? "";
    if (line.startsWith("--- ") && next.startsWith("+++ ")) {
      for (const side of [line, next]) {
        const path = side.slice(4).split("\t")[0]?.trim() ?? "";
        if (path !== "/dev/null" && path !== "") {
          targets.add(stripPath(path, strip));
        }
      }
      i++;
    }
    const renamed = /^(?:rename|copy) to (.+)$/.exec(line.trimEnd());
    if (renamed?.[1] !== undefined) targets.add(renamed[1]);
  }
  return [...targets];
}

/** Drops leading components the way `patch -pN` does. */
function stripPath(path: string, strip: number): string {
  const parts = path.split(/\/+/);
  return parts.length > strip
    ? parts.slice(strip).join("/")
    : parts.at(-1) ?? path;
}

function listOf(value: unknown): unknown[] {
  if (Array.isArray(value)) return value;
  if (typeof value === "string") return [value];
  const fields = fieldsOf(value);
  if (fields.size === 0) return [];
  // Either one entry, or a map from path to change.
  if (FILE_KEYS.some((key) => typeof fields.get(key) === "string")) {
    return [value];
  }
  return [...fields.keys()];
}

function entryPaths(entry: unknown): string[] {
  if (typeof entry === "string") return [entry];
  const fields = fieldsOf(entry);
  return FILE_KEYS.flatMap((key) => {
    const value = fields.get(key);
    return typeof value === "string" ? [value] : [];
  });
}
