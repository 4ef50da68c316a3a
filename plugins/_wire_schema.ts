import { KEYWORDS } from "./_schema_keywords.ts";
import { isRecord, quote } from "./_text.ts";
import { resolvePointer } from "./_schema_check.ts";
import type { JsonSchema } from "./tool.ts";

/** Property names that every provider accepts. */
const SAFE_KEY = /^[a-zA-Z0-9_.-]{1,64}$/;

/** Keywords at the root that make providers refuse a tool. */
const ROOT_ONLY_CHECKED: ReadonlySet<string> = new Set([
  "oneOf",
  "anyOf",
  "allOf",
  "not",
  "if",
  "then",
  "else",
  "enum",
  "const",
  "$ref",
  "$dynamicRef",
  "$schema",
  "$id",
  "$comment",
  "type",
  "properties",
  "required",
]);

/** The copy of a schema that is sent to models, and what could not be sent. */
export interface WireCopy {
  wire: JsonSchema;
  notes: string[];
  /** Required properties of the root whose names no provider accepts. */
  unreachable: string[];
}

/**
 * The provider-safe copy of a checked schema: the root is an object without combinators, property names are plain. The
 * properties of the root's combinators are shown, so that a model knows them; which combinations are valid is checked
 * with the whole schema when the tool is called.
 */
export function wireCopy(schema: JsonSchema): WireCopy {
  const notes: string[] = [];
  const root = flatten(schema, schema, 0);
  const unreachable = [...root.required].filter((key) => !SAFE_KEY.test(key));
  const rest = Object.fromEntries(
    Object.entries(schema)
      .filter(([keyword]) => !ROOT_ONLY_CHECKED.has(keyword))
      .map(([keyword, value]) => [keyword, copyKeyword(keyword, value, notes)]),
  );
  const properties = copyProperties(root.properties, notes);
  // Some providers refuse a required property that is not described.
  const required = [...root.required].filter((key) =>
    Object.hasOwn(properties, key)
  );
  return {
    wire: {
      type: "object",
      ...rest,
      ...(root.properties.size === 0 && schema.properties === undefined
        ? {}
        : { properties }),
      ...(required.length === 0 ? {} : { required }),
    },
    notes,
    unreachable,
  };
}

interface Flat {
  properties: Map<string, unknown>;
  required: Set<string>;
}

/** References and combinators nest; more than this is not worth showing. */
const MAX_FLATTEN = 8;

/** The properties that can occur and those that always must. */
function flatten(root: JsonSchema, schema: unknown, depth: number): Flat {
  const flat: Flat = { properties: new Map(), required: new Set() };
  if (!isRecord(schema) || depth > MAX_FLATTEN) return flat;
  if (isRecord(schema.properties)) {
    for (const [key, value] of Object.entries(schema.properties)) {
      flat.properties.set(key, value);
    }
  }
  if (Array.isArray(schema.required)) {
    for (const key of schema.required) {
      if (typeof key === "string") flat.required.add(key);
    }
  }
  const all: unknown[] = Array.isArray(schema.allOf) ? [...schema.allOf] : [];
  if (typeof schema.$ref === "string" && schema.$ref.startsWith("#")) {
    all.push(resolvePointer(root, schema.$ref.slice(1), new Set()));
  }
  for (const part of all) {
    const inner = flatten(root, part, depth + 1);
    addMissing(flat.properties, inner.properties);
    for (const key of inner.required) flat.required.add(key);
  }
  for (const keyword of ["anyOf", "oneOf"]) {
    const options = schema[keyword];
    if (!Array.isArray(options)) continue;
    const inner = options.map((option) => flatten(root, option, depth + 1));
    for (const { properties } of inner) {
      addMissing(flat.properties, properties);
    }
    const [first, ...others] = inner;
    for (const key of first?.required ?? []) {
      if (others.every((other) => other.required.has(key))) {
        flat.required.add(key);
      }
    }
  }
  for (const keyword of ["then", "else"]) {
    addMissing(
      flat.properties,
      flatten(root, schema[keyword], depth + 1).properties,
    );
  }
  return flat;
}

function addMissing(
  to: Map<string, unknown>,
  from: ReadonlyMap<string, unknown>,
): void {
  for (const [key, value] of from) if (!to.has(key)) to.set(key, value);
}

/** A subschema with plain property names all the way down. */
function copySchema(value: unknown, notes: string[]): unknown {
  if (!isRecord(value)) return value;
  const entries = Object.entries(value).map(([keyword, held]) => {
    if (keyword === "properties" && isRecord(held)) {
      const properties = new Map(Object.entries(held));
      return [keyword, copyProperties(properties, notes)];
    }
    if (keyword === "required" && Array.isArray(held)) {
      return [
        keyword,
        held.filter((key) => typeof key === "string" && SAFE_KEY.test(key)),
      ];
    }
    return [keyword, copyKeyword(keyword, held, notes)];
  });
  return Object.fromEntries(entries);
}

function copyKeyword(
  keyword: string,
  held: unknown,
  notes: string[],
): unknown {
  const kind = Object.hasOwn(KEYWORDS, keyword) ? KEYWORDS[keyword] : undefined;
  if (kind === "schema") return copySchema(held, notes);
  if (kind === "list" && Array.isArray(held)) {
    return held.map((each: unknown) => copySchema(each, notes));
  }
  if (kind === "map" && isRecord(held)) {
    return Object.fromEntries(
      Object.entries(held).map((
        [name, each],
      ) => [name, copySchema(each, notes)]),
    );
  }
  return structuredClone(held);
}

function copyProperties(
  properties: ReadonlyMap<string, unknown>,
  notes: string[],
): Record<string, unknown> {
  const entries: [string, unknown][] = [];
  for (const [key, value] of properties) {
    if (SAFE_KEY.test(key)) {
      entries.push([key, value === true ? {} : copySchema(value, notes)]);
    } else {
      notes.push(
        `property ${
          quote(key)
        } is not offered to models: providers accept only ${SAFE_KEY.source}`,
      );
    }
  }
  return Object.fromEntries(entries);
}
