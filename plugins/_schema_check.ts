import { BoundedPattern } from "./_pattern_cost.ts";
import { KEYWORDS } from "./_schema_keywords.ts";
import { isRecord, jsonText, quote } from "./_text.ts";
import type { JsonSchema } from "./tool.ts";

/** The largest schema in bytes of JSON; compiling is quadratic in places. */
const SCHEMA_MAX_BYTES = 64 * 1024;
/** The deepest schema. */
const SCHEMA_MAX_DEPTH = 64;
/** The most subschemas in one schema. */
const MAX_SUBSCHEMAS = 1000;

/** A subschema and the keys that lead to it. */
export interface Subschema {
  schema: Record<string, unknown>;
  path: readonly string[];
}

type Shape = (value: unknown) => string | undefined;

const TYPES: readonly unknown[] = [
  "array",
  "boolean",
  "integer",
  "null",
  "number",
  "object",
  "string",
];

const a = (what: string, holds: (value: unknown) => boolean): Shape =>
(
  value,
) => holds(value) ? undefined : `must be ${what}`;
const text = a("a string", (value) => typeof value === "string");
const flag = a("true or false", (value) => typeof value === "boolean");
const number = a("a number", (value) => typeof value === "number");
const count = a(
  "a whole number from 0",
  (value) => Number.isInteger(value) && Number(value) >= 0,
);
const list = a("a list", Array.isArray);
const names = a(
  "a list of different strings",
  (value) =>
    Array.isArray(value) && new Set(value).size === value.length &&
    value.every((item) => typeof item === "string"),
);

/** Keywords of draft 2020-12 with a plain value. */
const VALUE_KEYWORDS: Readonly<Record<string, Shape>> = {
  type: (value) => {
    const all: unknown[] = Array.isArray(value) ? value : [value];
    if (all.length === 0 || new Set(all).size !== all.length) {
      return "must be one type or a list of different types";
    }
    const wrong = all.find((item) => !TYPES.includes(item));
    return wrong === undefined
      ? undefined
      : `${quote(String(wrong))} is not a type`;
  },
  enum: list,
  multipleOf: a(
    "a number above 0",
    (value) => typeof value === "number" && value > 0,
  ),
  maximum: number,
  exclusiveMaximum: number,
  minimum: number,
  exclusiveMinimum: number,
  maxLength: count,
  minLength: count,
  maxItems: count,
  minItems: count,
  maxContains: count,
  minContains: count,
  maxProperties: count,
  minProperties: count,
  uniqueItems: flag,
  required: names,
  dependentRequired: (value) =>
    isRecord(value)
      ? Object.values(value).map(names).find((found) => found !== undefined)
      : "must be a table",
  pattern: (value) =>
    typeof value === "string" ? patternProblem(value) : "must be a string",
  title: text,
  description: text,
  format: text,
  contentEncoding: text,
  contentMediaType: text,
  deprecated: flag,
  readOnly: flag,
  writeOnly: flag,
  examples: list,
  $schema: text,
  $id: text,
  $comment: text,
  $ref: text,
  $anchor: text,
  $dynamicRef: text,
  $dynamicAnchor: text,
};

/** What is wrong with a schema, with the place; undefined when nothing is. */
export function schemaProblem(schema: JsonSchema): string | undefined {
  const size = jsonSize(schema);
  if (size === undefined) {
    return `it is nested deeper than ${SCHEMA_MAX_DEPTH} or is not JSON`;
  }
  if (size > SCHEMA_MAX_BYTES) {
    return `it has ${size} bytes, at most ${SCHEMA_MAX_BYTES} are accepted`;
  }
  const all: Subschema[] = [];
  const problem = collect(schema, all);
  if (problem !== undefined) return problem;
  return rootProblem(schema) ?? referenceProblem(schema, all);
}

/** All subschemas, the root first. Only for a schema without problems. */
export function subschemas(schema: JsonSchema): Subschema[] {
  const all: Subschema[] = [];
  collect(schema, all);
  return all;
}

/** Walks the schema, checks every keyword, and gathers the subschemas. */
function collect(root: JsonSchema, all: Subschema[]): string | undefined {
  const pending: { value: unknown; path: readonly string[] }[] = [
    { value: root, path: [] },
  ];
  for (let item = pending.shift(); item !== undefined; item = pending.shift()) {
    const { value, path } = item;
    if (typeof value === "boolean" && path.length > 0) continue;
    if (!isRecord(value)) {
      return `${place(path)} must be a schema: a table, true or false`;
    }
    all.push({ schema: value, path });
    if (all.length > MAX_SUBSCHEMAS) {
      return `it has more than ${MAX_SUBSCHEMAS} subschemas`;
    }
    for (const [keyword, held] of Object.entries(value)) {
      const at = [...path, keyword];
      const shape = Object.hasOwn(VALUE_KEYWORDS, keyword)
        ? VALUE_KEYWORDS[keyword]
        : undefined;
      const wrong = shape?.(held);
      if (wrong !== undefined) return `${place(at)} ${wrong}`;
      const kind = Object.hasOwn(KEYWORDS, keyword)
        ? KEYWORDS[keyword]
        : undefined;
      if (kind === "schema") {
        pending.push({ value: held, path: at });
      } else if (kind === "list") {
        if (!Array.isArray(held) || held.length === 0) {
          return `${place(at)} must be a list of schemas`;
        }
        held.forEach((each: unknown, index) =>
          pending.push({ value: each, path: [...at, String(index)] })
        );
      } else if (kind === "map") {
        if (!isRecord(held)) return `${place(at)} must be a table of schemas`;
        for (const [name, each] of Object.entries(held)) {
          if (keyword === "patternProperties") {
            const bad = patternProblem(name);
            if (bad !== undefined) return `${place([...at, name])} ${bad}`;
          }
          pending.push({ value: each, path: [...at, name] });
        }
      } else if (keyword === "dependencies") {
        return `${
          place(at)
        } is from an older draft, use dependentRequired or dependentSchemas`;
      }
    }
  }
  return undefined;
}

function rootProblem(schema: JsonSchema): string | undefined {
  const { type } = schema;
  if (
    type === undefined || type === "object" ||
    (Array.isArray(type) && type.includes("object"))
  ) return undefined;
  return `the root must have type = "object", found ${jsonText(type)}`;
}

/** Nothing is fetched, so a reference must stay inside the schema. */
function referenceProblem(
  root: JsonSchema,
  all: readonly Subschema[],
): string | undefined {
  const anchors = new Set<unknown>();
  const known = new Set<unknown>();
  for (const { schema, path } of all) {
    known.add(schema);
    if (path.length > 0 && schema.$id !== undefined) {
      return `${place([...path, "$id"])} is only accepted at the root`;
    }
    for (const keyword of ["$anchor", "$dynamicAnchor"]) {
      const anchor = schema[keyword];
      if (typeof anchor !== "string") continue;
      const at = place([...path, keyword]);
      if (!/^[A-Za-z_][-A-Za-z0-9._]*$/.test(anchor)) {
        return `${at} ${quote(anchor)} is not the name of an anchor`;
      }
      if (anchors.has(anchor)) return `${at} ${quote(anchor)} is there twice`;
      anchors.add(anchor);
    }
  }
  for (const { schema, path } of all) {
    for (const keyword of ["$ref", "$dynamicRef"]) {
      const reference = schema[keyword];
      if (typeof reference !== "string") continue;
      const at = place([...path, keyword]);
      if (!reference.startsWith("#")) {
        return `${at} ${
          quote(reference)
        } would have to be fetched; only references inside the schema are followed`;
      }
      const target = resolvePointer(root, reference.slice(1), anchors);
      if (
        target !== true && !known.has(target) && typeof target !== "boolean"
      ) {
        return `${at} ${quote(reference)} leads to no schema`;
      }
    }
  }
  return undefined;
}

/** What a fragment points to; `true` for a known anchor. */
export function resolvePointer(
  root: JsonSchema,
  fragment: string,
  anchors: ReadonlySet<unknown>,
): unknown {
  if (fragment === "") return root;
  if (!fragment.startsWith("/")) return anchors.has(fragment) || undefined;
  let current: unknown = root;
  for (const part of fragment.slice(1).split("/")) {
    let key: string;
    try {
      key = decodeURIComponent(part).replaceAll("~1", "/").replaceAll(
        "~0",
        "~",
      );
    } catch {
      return undefined;
    }
    if (Array.isArray(current)) current = current[Number(key)];
    else if (isRecord(current) && Object.hasOwn(current, key)) {
      current = current[key];
    } else return undefined;
  }
  return current;
}

function patternProblem(pattern: string): string | undefined {
  try {
    new BoundedPattern(pattern);
    return undefined;
  } catch {
    return `${quote(pattern)} is not a regular expression`;
  }
}

function jsonSize(schema: JsonSchema): number | undefined {
  try {
    if (depthOf(schema, 0) > SCHEMA_MAX_DEPTH) return undefined;
    return new TextEncoder().encode(JSON.stringify(schema)).length;
  } catch {
    return undefined;
  }
}

function depthOf(value: unknown, depth: number): number {
  if (typeof value !== "object" || value === null) return depth;
  if (depth > SCHEMA_MAX_DEPTH) return depth;
  let deepest = depth;
  for (const item of Object.values(value)) {
    deepest = Math.max(deepest, depthOf(item, depth + 1));
  }
  return deepest;
}

/** A place in the schema, as people write it. */
export function place(path: readonly string[]): string {
  return path.length === 0 ? "the root" : quote(path.join("."));
}
