/**
 * Arguments that fit a schema, for calls that only try a tool.
 *
 * @module
 */

import { isObject, stringifyJson, tryParseJson } from "./json.ts";

/**
 * Makes the smallest arguments that fit a JSON Schema: required properties, the first value of an enumeration, the
 * lower bound of a number.
 *
 * @param schema The schema's text.
 * @returns Arguments as JSON text.
 *
 * @example Required properties are filled in
 * ```ts
 * import { sampleArguments } from "./sample.ts";
 * import { assertEquals } from "@std/assert";
 *
 * const schema = '{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer"}},"required":["city"]}';
 * assertEquals(sampleArguments(schema), '{"city":"sample"}');
 * ```
 */
export function sampleArguments(schema: string): string {
  const sample = sampleOf(tryParseJson(schema), 0);
  return stringifyJson(isObject(sample) ? sample : {});
}

function sampleOf(schema: unknown, depth: number): unknown {
  if (!isObject(schema) || depth > 8) return {};
  if ("const" in schema) return schema.const;
  if ("default" in schema) return schema.default;
  if (Array.isArray(schema.enum) && schema.enum.length > 0) {
    return schema.enum[0];
  }
  if (Array.isArray(schema.examples) && schema.examples.length > 0) {
    return schema.examples[0];
  }
  for (const key of ["anyOf", "oneOf", "allOf"]) {
    const options = schema[key];
    if (
      schema.type === undefined && Array.isArray(options) && options.length > 0
    ) return sampleOf(options[0], depth + 1);
  }
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
  switch (type) {
    case "string":
      return "sample".padEnd(
        typeof schema.minLength === "number"
          ? Math.min(schema.minLength, 1_000)
          : 0,
        "x",
      )
        .slice(
          0,
          typeof schema.maxLength === "number" ? schema.maxLength : undefined,
        );
    case "integer":
    case "number":
      return typeof schema.minimum === "number"
        ? Math.max(schema.minimum, 1)
        : 1;
    case "boolean":
      return false;
    case "null":
      return null;
    case "array":
      return typeof schema.minItems === "number" && schema.minItems > 0
        ? [sampleOf(schema.items, depth + 1)]
        : [];
    default:
      return sampleObject(schema, depth);
  }
}

function sampleObject(
  schema: Record<string, unknown>,
  depth: number,
): Record<string, unknown> {
  const properties = isObject(schema.properties) ? schema.properties : {};
  const required = Array.isArray(schema.required)
    ? schema.required.filter((name) => typeof name === "string")
    : [];
  return Object.fromEntries(
    required.map((name) => [name, sampleOf(properties[name], depth + 1)]),
  );
}
