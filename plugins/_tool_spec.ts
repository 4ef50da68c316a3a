import type { Fields, KeyPath } from "./_fields.ts";
import { PROGRAM_KEYS, type ProgramSpec, programSpec } from "./_program.ts";
import { isRecord } from "./_text.ts";
import type { JsonSchema, ToolAnnotations } from "./tool.ts";

/** One `[[tools]]` entry. */
export interface ToolSpec extends ProgramSpec {
  /** The declared name. */
  name: string;
  /** What the tool does, for the model. */
  description: string;
  /** The schema of the arguments as declared; `{"type": "object"}` when none is. */
  params: JsonSchema;
  /** Hints about the tool. */
  annotations?: ToolAnnotations;
  /** The line of the entry in the manifest. */
  line: number;
}

const HINTS = [
  "readOnlyHint",
  "destructiveHint",
  "idempotentHint",
  "openWorldHint",
] as const;

/** Deeper schemas are refused before anything walks them. */
const MAX_PARAMS_DEPTH = 64;

/** Reads one `[[tools]]` entry; undefined when it must be left out, which is noted. */
export function toolSpec(
  fields: Fields,
  table: Record<string, unknown>,
  at: KeyPath,
): Omit<ToolSpec, "line"> | undefined {
  fields.unknownKeys(table, [
    ...PROGRAM_KEYS,
    "name",
    "description",
    "params",
    "annotations",
  ], at);
  const name = fields.string(table, "name", at);
  const description = fields.string(table, "description", at) ?? "";
  const annotations = readAnnotations(fields, table, at);
  const spec = programSpec(fields, table, at);
  if (name === undefined || name.trim() === "") {
    if (spec !== undefined) {
      fields.note(
        [...at, "name"],
        `"name" is missing or blank, entry left out`,
      );
    }
    return undefined;
  }
  if (spec === undefined) return undefined;
  const params = table.params === undefined
    ? { type: "object" }
    : jsonValue(table.params, MAX_PARAMS_DEPTH);
  if (params === TOO_DEEP) {
    fields.note(
      [...at, "params"],
      `nested deeper than ${MAX_PARAMS_DEPTH}, tool left out`,
    );
    return undefined;
  }
  if (params === NOT_JSON) {
    fields.note(
      [...at, "params"],
      "holds a number that is not JSON, tool left out",
    );
    return undefined;
  }
  if (!isRecord(params)) {
    fields.note([...at, "params"], "must be a table, tool left out");
    return undefined;
  }
  return {
    name,
    description,
    params,
    ...(annotations === undefined ? {} : { annotations }),
    ...spec,
  };
}

function readAnnotations(
  fields: Fields,
  table: Record<string, unknown>,
  at: KeyPath,
): ToolAnnotations | undefined {
  const raw = fields.table(table, "annotations", at);
  if (raw === undefined) return undefined;
  const where = [...at, "annotations"];
  fields.unknownKeys(raw, ["title", ...HINTS], where);
  const annotations: ToolAnnotations = {};
  const title = fields.string(raw, "title", where);
  if (title !== undefined) annotations.title = title;
  for (const hint of HINTS) {
    const value = fields.boolean(raw, hint, where);
    if (value !== undefined) annotations[hint] = value;
  }
  return annotations;
}

const TOO_DEEP = Symbol("too deep");
const NOT_JSON = Symbol("not JSON");

/** A TOML value as the JSON value it stands for. */
function jsonValue(value: unknown, depth: number): unknown {
  if (typeof value === "bigint") return Number(value);
  if (typeof value === "number") {
    return Number.isFinite(value) ? value : NOT_JSON;
  }
  if (value instanceof Date) {
    return Number.isNaN(value.getTime()) ? NOT_JSON : value.toISOString();
  }
  if (typeof value !== "object" || value === null) return value;
  if (depth === 0) return TOO_DEEP;
  if (Array.isArray(value)) {
    const list: unknown[] = [];
    for (const item of value) {
      const converted = jsonValue(item, depth - 1);
      if (typeof converted === "symbol") return converted;
      list.push(converted);
    }
    return list;
  }
  const entries: [string, unknown][] = [];
  for (const [key, item] of Object.entries(value)) {
    const converted = jsonValue(item, depth - 1);
    if (typeof converted === "symbol") return converted;
    entries.push([key, converted]);
  }
  // fromEntries defines own properties, "__proto__" included; nothing is inherited from a manifest.
  return Object.fromEntries(entries);
}
