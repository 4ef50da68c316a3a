// deno-lint-ignore-file camelcase -- field names of the log on disk
/**
 * The denial log: one JSON line per denial, names of inputs but never their values.
 * On the hook's hot path: no dependencies.
 *
 * @module
 */

/** Directory of the log, relative to the workspace root. */
export const DENIALS_DIR = ".eval-magic-outputs";

/** Name of the log file. */
export const DENIALS_FILE = "guard-denials.jsonl";

/** The log stops growing here: a loop of denied calls must not fill the disk. */
export const MAX_DENIAL_LOG_BYTES: number = 16 * 1024 * 1024;

/** Longest list of targets or keys in a record. */
const MAX_ITEMS = 100;

/** Longest text in a record. */
const MAX_TEXT = 4096;

/** What a line of the log says. */
export interface DenialRecord {
  /** When, ISO with milliseconds. */
  timestamp: string;
  /** The harness that asked. */
  harness: string;
  /** The tool that was called. */
  tool: string;
  /** The reason given to the agent, or what went wrong when `event` is `fail_open`. */
  reason: string;
  /** The paths the call would have written, resolved. */
  resolved_targets: string[];
  /** The sorted names of the tool's inputs. */
  input_keys: string[];
  /** The rule that denied. */
  rule?: string;
  /** `fail_open` marks a call that was let through because the hook could not judge it. */
  event?: "fail_open";
}

/**
 * Builds a record from a judged call.
 *
 * @param call Who asked for what.
 * @param verdict Why it was denied.
 * @param now Milliseconds since the epoch.
 * @returns The record, its lists and texts bounded.
 *
 * @example Only the names of inputs are kept
 * ```ts
 * import { denialRecord } from "@bulkhead/guard";
 * import { assertEquals } from "@std/assert";
 *
 * const record = denialRecord(
 *   { harness: "codex", tool: "Bash", input: { z: "secret", a: 1 } },
 *   { reason: "no", targets: ["/etc/b", "/etc/a", "/etc/a"] },
 *   0,
 * );
 * assertEquals(record.input_keys, ["a", "z"]);
 * assertEquals(record.resolved_targets, ["/etc/a", "/etc/b"]);
 * ```
 */
export function denialRecord(
  call: { harness: string; tool: string; input: unknown },
  verdict: { reason: string; targets: readonly string[]; rule?: string },
  now: number,
): DenialRecord {
  const keys = typeof call.input === "object" && call.input !== null &&
      !Array.isArray(call.input)
    ? Object.keys(call.input)
    : [];
  const record: DenialRecord = {
    timestamp: new Date(now).toISOString(),
    harness: bound(call.harness),
    tool: bound(call.tool),
    reason: bound(verdict.reason),
    resolved_targets: boundList(verdict.targets),
    input_keys: boundList(keys),
  };
  if (verdict.rule !== undefined) record.rule = verdict.rule;
  return record;
}

/** Cuts a text. */
function bound(text: string): string {
  return text.length > MAX_TEXT ? text.slice(0, MAX_TEXT) + "…" : text;
}

/** Sorts, removes doubles, cuts. */
function boundList(items: readonly string[]): string[] {
  return [...new Set(items)].sort().slice(0, MAX_ITEMS).map(bound);
}

/**
 * Appends a record. A log that cannot be written never changes a verdict: the answer says
 * whether it worked.
 *
 * @param path The log file; its directory must exist.
 * @param record What to append.
 * @returns `true` when the line was written.
 *
 * @example
 * ```ts
 * import { appendDenialSync, denialRecord, readDenials } from "@bulkhead/guard";
 * import { assert, assertEquals } from "@std/assert";
 *
 * const path = await Deno.makeTempFile();
 * const call = { harness: "codex", tool: "Bash", input: {} };
 * assert(appendDenialSync(path, denialRecord(call, { reason: "no", targets: [] }, 0)));
 * assertEquals((await readDenials(path)).records.length, 1);
 * await Deno.remove(path);
 * ```
 */
export function appendDenialSync(path: string, record: DenialRecord): boolean {
  if (isLink(path)) return false; // the line would go elsewhere
  try {
    const file = Deno.openSync(path, {
      append: true,
      create: true,
      mode: 0o600,
    });
    try {
      if (file.seekSync(0, Deno.SeekMode.End) > MAX_DENIAL_LOG_BYTES) {
        return false;
      }
      const bytes = new TextEncoder().encode(JSON.stringify(record) + "\n");
      return file.writeSync(bytes) === bytes.length;
    } finally {
      file.close();
    }
  } catch {
    return false;
  }
}

/** Says whether a path is a symbolic link; for one call, cheaper than `lstat`. */
function isLink(path: string): boolean {
  try {
    Deno.readLinkSync(path);
    return true;
  } catch {
    return false;
  }
}
