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

/** The content of a log. */
export interface DenialLog {
  /** Every line that could be read. */
  records: DenialRecord[];
  /** How many lines could not. */
  damagedLines: number;
}

/**
 * Reads a denial log.
 *
 * Needs `--allow-read` of the file.
 *
 * @param path The log file; a missing one is empty.
 * @returns The records in order, and how many lines were damaged.
 *
 * @example
 * ```ts
 * import { readDenials } from "@bulkhead/guard";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(await readDenials("/nonexistent/log.jsonl"), { records: [], damagedLines: 0 });
 * ```
 */
export async function readDenials(path: string): Promise<DenialLog> {
  const log: DenialLog = { records: [], damagedLines: 0 };
  let text: string;
  try {
    const info = await Deno.stat(path);
    if (!info.isFile) return log;
    text = await Deno.readTextFile(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return log;
    throw error;
  }
  for (const line of text.split("\n")) {
    if (line === "") continue;
    const record = parseDenial(line);
    if (record === undefined) log.damagedLines++;
    else log.records.push(record);
  }
  return log;
}

/** Reads one line; unknown fields are dropped. */
function parseDenial(line: string): DenialRecord | undefined {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return undefined;
  }
  if (typeof value !== "object" || value === null) return undefined;
  const fields = new Map<string, unknown>(Object.entries(value));
  const text = (name: string) => {
    const field = fields.get(name);
    return typeof field === "string" ? field : undefined;
  };
  const list = (name: string) => {
    const field = fields.get(name);
    return Array.isArray(field)
      ? field.filter((item) => typeof item === "string")
      : [];
  };
  const timestamp = text("timestamp");
  const reason = text("reason");
  if (timestamp === undefined || reason === undefined) return undefined;
  const record: DenialRecord = {
    timestamp,
    harness: text("harness") ?? "",
    tool: text("tool") ?? "",
    reason,
    resolved_targets: list("resolved_targets"),
    input_keys: list("input_keys"),
  };
  const rule = text("rule");
  if (rule !== undefined) record.rule = rule;
  if (text("event") === "fail_open") record.event = "fail_open";
  return record;
}

/** How often each rule denied. */
export interface DenialCounts {
  /** Denied calls. */
  denials: number;
  /** Calls let through because the hook could not judge them. */
  failedOpen: number;
  /** Denials by rule; those without a rule count under their reason's kind. */
  byRule: Record<string, number>;
}

/**
 * Counts a log's records.
 *
 * @param records The records.
 * @returns Totals and counts per rule, the most frequent first.
 *
 * @example
 * ```ts
 * import { countDenials } from "@bulkhead/guard";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(countDenials([]), { denials: 0, failedOpen: 0, byRule: {} });
 * ```
 */
export function countDenials(records: readonly DenialRecord[]): DenialCounts {
  const rules = new Map<string, number>();
  let failedOpen = 0;
  for (const record of records) {
    if (record.event === "fail_open") {
      failedOpen++;
      continue;
    }
    const rule = record.rule ?? reasonKind(record.reason);
    rules.set(rule, (rules.get(rule) ?? 0) + 1);
  }
  return {
    denials: records.length - failedOpen,
    failedOpen,
    byRule: Object.fromEntries([...rules].sort((a, b) => b[1] - a[1])),
  };
}

/** The fixed part of a reason: what stands in parentheses, or the words without the paths. */
function reasonKind(reason: string): string {
  const named = /\(([^)]*)\) — /.exec(reason)?.[1];
  if (named !== undefined) return named;
  return reason.includes("outside the eval sandbox")
    ? "outside the eval sandbox"
    : "other";
}
