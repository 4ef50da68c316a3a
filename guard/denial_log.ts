// deno-lint-ignore-file camelcase -- field names of the log on disk
import { readTextCapped } from "@bulkhead/sandbox";
import { type DenialRecord, MAX_DENIAL_LOG_BYTES } from "./denials.ts";

/** Most bytes read: the last record may pass the writer's bound. */
const MAX_READ_BYTES = MAX_DENIAL_LOG_BYTES + 8 * 1024 * 1024;

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
    text = await readTextCapped(path, MAX_READ_BYTES);
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
