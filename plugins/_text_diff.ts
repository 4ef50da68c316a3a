import { readTextCapped } from "@bulkhead/sandbox";
import { clip, printable, quoteWhole } from "./_text.ts";
import type { PluginDigest, PluginFile } from "./digest.ts";

/** Files longer than this are named and not compared. */
const MAX_BYTES = 64 * 1024;
/** Lines that are shown of one file. */
const MAX_FILE_LINES = 30;
/** Files that are shown. */
const MAX_FILES = 8;
/** Characters that are shown of one line. */
const MAX_LINE = 160;
/** Pairs of lines that are compared; beyond, all of the one stand before all of the other. */
const MAX_CELLS = 250_000;

/** What changed in the text files of two directories, printable, as much as a person reads before answering. */
export async function diffTexts(
  before: PluginDigest,
  after: PluginDigest,
): Promise<string[]> {
  const old = new Map(before.files.map((file) => [file.path, file]));
  const changed = after.files.filter((file) =>
    file.kind === "file" && file.sha256 !== old.get(file.path)?.sha256
  );
  const shown: string[] = [];
  for (const file of changed.slice(0, MAX_FILES)) {
    const lines = await fileDiff(before, old.get(file.path), after, file);
    shown.push(`${quoteWhole(file.path)}:`);
    for (const line of lines.slice(0, MAX_FILE_LINES)) {
      shown.push(`  ${clip(printable(line), MAX_LINE)}`);
    }
    if (lines.length > MAX_FILE_LINES) {
      shown.push(`  and ${lines.length - MAX_FILE_LINES} more lines`);
    }
  }
  if (changed.length > MAX_FILES) {
    shown.push(`and ${changed.length - MAX_FILES} more files`);
  }
  return shown;
}

async function fileDiff(
  before: PluginDigest,
  was: PluginFile | undefined,
  after: PluginDigest,
  file: PluginFile,
): Promise<string[]> {
  const text = await readText(`${after.dir}/${file.path}`);
  const old = was?.kind === "file"
    ? await readText(`${before.dir}/${file.path}`)
    : "";
  return text === undefined || old === undefined
    ? ["is not a text, or a long one"]
    : diffText(old, text);
}

async function readText(path: string): Promise<string | undefined> {
  try {
    const text = await readTextCapped(path, MAX_BYTES);
    return text.includes("\0") ? undefined : text;
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable) throw error;
    return undefined;
  }
}

/** The lines that two texts differ in: `- ` gone, `+ ` new, in the order of the texts. */
export function diffText(before: string, after: string): string[] {
  const [a, b] = [linesOf(before), linesOf(after)];
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let end = 0;
  while (
    end < a.length - start && end < b.length - start &&
    a[a.length - 1 - end] === b[b.length - 1 - end]
  ) end++;
  return middle(
    a.slice(start, a.length - end),
    b.slice(start, b.length - end),
  );
}

function linesOf(text: string): string[] {
  return text === "" ? [] : text.replace(/\n$/, "").split("\n");
}

/** The longest common lines stay, everything else is gone or new. */
function middle(a: readonly string[], b: readonly string[]): string[] {
  const gone = a.map((line) => `- ${line}`);
  const added = b.map((line) => `+ ${line}`);
  if (a.length * b.length > MAX_CELLS) return [...gone, ...added];
  const width = b.length + 1;
  // common[i * width + j]: how many lines of a from i and b from j are common.
  const common = new Uint32Array((a.length + 1) * width);
  const at = (i: number, j: number): number => common[i * width + j] ?? 0;
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      common[i * width + j] = a[i] === b[j]
        ? at(i + 1, j + 1) + 1
        : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const lines: string[] = [];
  let i = 0;
  let j = 0;
  while (i < a.length && j < b.length) {
    if (a[i] === b[j]) {
      i++;
      j++;
    } else if (at(i + 1, j) >= at(i, j + 1)) lines.push(gone[i++] ?? "");
    else lines.push(added[j++] ?? "");
  }
  return [...lines, ...gone.slice(i), ...added.slice(j)];
}
