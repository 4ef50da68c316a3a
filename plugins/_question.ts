import { printable, quote } from "./_text.ts";

/** What has changed since the plugin was trusted. */
export interface TrustChange {
  /** The hash that was trusted. */
  hash: string;
  /** When, in ISO 8601. */
  time: string;
  /** The files that differ: `+` new, `-` gone, `~` changed. */
  files: string[];
  /** What can run now and could not then (`+`), and the reverse (`-`). */
  lines: string[];
  /** What changed in the text files, printable and not all of it; absent when the old contents are not kept. */
  texts?: string[];
}

/** What a person is asked about a plugin. Every text in it is printable as it is, except `name` and `dir`. */
export interface TrustQuestion {
  /** The declared name. */
  name: string;
  /** The declared version. */
  version: string;
  /** The real path of the directory. */
  dir: string;
  /** Where an install takes it from. */
  source?: string;
  /** The content hash. */
  hash: string;
  /** Every command, hook, permission and environment name, one line each. */
  lines: string[];
  /** What is wrong with single entries of the manifest. */
  problems: string[];
  /** The isolation in force. */
  sandbox: string;
  /** What has changed since the plugin was trusted; undefined for a plugin that never was. */
  change?: TrustChange;
}

/**
 * The question as text: everything the plugin can run or reach, and what has changed.
 *
 * Control, bidi and zero-width characters are escaped, so nothing in a manifest can hide or move a line.
 *
 * @param question The question.
 * @returns The text, several lines; the caller adds the choices, with "no" as the default.
 *
 * @example Every command is named
 * ```ts
 * import { questionText } from "@bulkhead/plugins";
 * import { assertStringIncludes } from "@std/assert";
 *
 * const text = questionText({
 *   name: "demo",
 *   version: "1.0.0",
 *   dir: "/plugins/demo",
 *   hash: "sha256:00",
 *   lines: ['tool "a" runs: sh -c id; default permissions'],
 *   problems: [],
 *   sandbox: "sandbox: bubblewrap",
 * });
 * assertStringIncludes(text, "sh -c id");
 * ```
 */
export function questionText(question: TrustQuestion): string {
  const { change } = question;
  const lines = [
    change === undefined
      ? `Plugin ${quote(question.name)} wants to be loaded.`
      : `Plugin ${quote(question.name)} has changed since it was trusted.`,
    `  version: ${printable(question.version)}`,
    `  directory: ${printable(question.dir)}`,
    ...(question.source === undefined
      ? []
      : [`  from: ${printable(question.source)}`]),
    `  content: ${question.hash}`,
    "It can run:",
    ...(question.lines.length === 0 ? ["nothing"] : question.lines).map((
      line,
    ) => `  ${printable(line)}`),
    printable(question.sandbox),
  ];
  if (question.problems.length > 0) {
    lines.push(
      "Left out or odd in its manifest:",
      ...question.problems.map((problem) => `  ${printable(problem)}`),
    );
  }
  if (change !== undefined) {
    lines.push(
      // What an update finds in place need not be what was trusted.
      change.time === ""
        ? `In place now: ${change.hash}`
        : `Trusted before: ${change.hash} on ${printable(change.time)}`,
      ...changeLines(change),
    );
  }
  return lines.join("\n");
}

/** A program whose command line is as before can do something else: what it consists of is told beside it. */
function changeLines({ lines, files, texts }: TrustChange): string[] {
  const told = lines.length === 0
    ? ["The commands are unchanged; what they do need not be:"]
    : ["The commands have changed:", ...indented(lines)];
  told.push(
    files.length === 0
      ? "No file has changed"
      : `The contents of ${files.length} ${
        files.length === 1 ? "file" : "files"
      } changed (~ other, + new, - gone):`,
    ...indented(files),
  );
  if (texts !== undefined && texts.length > 0) {
    told.push("In them:", ...indented(texts));
  } else if (texts === undefined && files.length > 0) {
    told.push(
      'What stood in them is not kept: look at them before you answer; for an installed plugin that was changed by hand "bulkhead plugins update NAME" shows how they differ from its source',
    );
  }
  return told;
}

function indented(lines: readonly string[]): string[] {
  return lines.map((line) => `  ${printable(line)}`);
}
