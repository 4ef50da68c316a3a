/**
 * Schemas of arguments: checked when a plugin is loaded, compiled when a tool is first called.
 *
 * @module
 */

import type { ErrorObject } from "ajv";
import { compile, TooComplex, type Validate } from "./_ajv.ts";
import { BoundedPattern } from "./_pattern_cost.ts";
import { place, schemaProblem, subschemas } from "./_schema_check.ts";
import { isRecord, jsonText, messageOf, quote } from "./_text.ts";
import { wireCopy } from "./_wire_schema.ts";
import type { JsonSchema } from "./tool.ts";

/** A schema that can be offered. */
export interface UsableSchema {
  /** The copy for models: the root is an object, no combinators at the top, plain property names. */
  wire: JsonSchema;
  /** What a person should know about it. */
  notes: string[];
}

/**
 * Checks the schema of a tool against draft 2020-12 and our limits, and makes the copy for models.
 *
 * @param schema The schema as declared.
 * @returns The copy, or what is wrong.
 *
 * @example A schema that is none
 * ```ts
 * import { checkSchema } from "@bulkhead/plugins";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(checkSchema({ type: "object", properties: { a: { type: "strng" } } }), {
 *   problem: '"properties.a.type" "strng" is not a type',
 * });
 * assertEquals(checkSchema({ properties: { a: {} } }), {
 *   wire: { type: "object", properties: { a: {} } },
 *   notes: [],
 * });
 * ```
 */
export function checkSchema(
  schema: JsonSchema,
): UsableSchema | { problem: string } {
  const problem = schemaProblem(schema);
  if (problem !== undefined) return { problem };
  const { wire, notes, unreachable } = wireCopy(schema);
  const [first] = unreachable;
  if (first !== undefined) {
    return {
      problem: `property ${
        quote(first)
      } is required, but providers do not accept its name`,
    };
  }
  for (const { schema: inner, path } of subschemas(schema)) {
    if (typeof inner.pattern === "string") {
      notes.push(...riskNote(inner.pattern, [...path, "pattern"]));
    }
    if (isRecord(inner.patternProperties)) {
      for (const pattern of Object.keys(inner.patternProperties)) {
        notes.push(...riskNote(pattern, [...path, "patternProperties"]));
      }
    }
  }
  return { wire, notes };
}

function riskNote(pattern: string, path: readonly string[]): string[] {
  return new BoundedPattern(pattern).isRisky
    ? [
      `${place(path)} ${
        quote(pattern)
      } can take exponential time and is left to the plugin to check`,
    ]
    : [];
}

/**
 * Checks arguments against a schema that {@linkcode checkSchema} has accepted.
 *
 * @example A precise answer for the model
 * ```ts
 * import { ArgumentValidator } from "@bulkhead/plugins";
 * import { assertEquals } from "@std/assert";
 *
 * const validator = new ArgumentValidator({
 *   type: "object",
 *   properties: { city: { type: "string" } },
 *   required: ["city"],
 * });
 * assertEquals(await validator.problem({ city: "Bern" }), undefined);
 * assertEquals(await validator.problem({ city: 5 }), '"city" must be string, found number');
 * ```
 */
export class ArgumentValidator {
  readonly #schema: JsonSchema;
  #validate: Promise<Validate> | undefined;

  /**
   * Creates a validator; the schema is compiled at the first check.
   *
   * @param schema The schema.
   */
  constructor(schema: JsonSchema) {
    this.#schema = schema;
  }

  /**
   * Checks arguments.
   *
   * @param args The arguments.
   * @returns What is wrong, for the model; `undefined` when nothing is.
   */
  async problem(args: unknown): Promise<string | undefined> {
    if (!isRecord(args)) return "the arguments must be an object";
    if (isTrivial(this.#schema)) return undefined;
    try {
      this.#validate ??= compile(this.#schema);
      const errors = (await this.#validate)(args);
      return errors.length === 0 ? undefined : describeErrors(errors, args);
    } catch (error) {
      if (error instanceof TooComplex) {
        return "they cannot be checked against the schema in reasonable time";
      }
      if (error instanceof RangeError) {
        return "they are nested too deep to be checked against the schema";
      }
      return `the schema cannot be used: ${messageOf(error)}`;
    }
  }
}

/** The default schema accepts every object: nothing to compile. */
function isTrivial(schema: JsonSchema): boolean {
  return schema.type === "object" &&
    Object.keys(schema).every((keyword) => HARMLESS.has(keyword));
}

const HARMLESS: ReadonlySet<string> = new Set([
  "type",
  "title",
  "description",
  "$schema",
  "$id",
  "$comment",
  "$defs",
  "definitions",
  "examples",
  "default",
]);

const MAX_SHOWN = 5;

function describeErrors(
  errors: readonly ErrorObject[],
  args: unknown,
): string {
  const lines = new Set<string>();
  for (const error of errors) {
    lines.add(describeError(error, args));
    if (lines.size > MAX_SHOWN) break;
  }
  const shown = [...lines].slice(0, MAX_SHOWN).join("; ");
  return lines.size > MAX_SHOWN ? `${shown}; and more` : shown;
}

function describeError(error: ErrorObject, args: unknown): string {
  const path = error.instancePath.split("/").slice(1).map((part) =>
    part.replaceAll("~1", "/").replaceAll("~0", "~")
  );
  const where = path.length === 0 ? "the arguments" : quote(path.join("."));
  const { params } = error;
  switch (error.keyword) {
    case "additionalProperties":
      return unknownProperty(path, params.additionalProperty);
    case "unevaluatedProperties":
      return unknownProperty(path, params.unevaluatedProperty);
    case "required":
      return `${
        quote([...path, String(params.missingProperty)].join("."))
      } is missing`;
    case "type":
      return `${where} must be ${[params.type].flat().join(" or ")}, found ${
        typeName(valueAt(args, path))
      }`;
    case "enum":
      return `${where} must be one of ${jsonText(params.allowedValues)}`;
    case "const":
      return `${where} must be ${jsonText(params.allowedValue)}`;
    case "x-bulkhead-unique":
      return `${where} must not hold the same item twice`;
    case "false schema":
      return `${where} is not allowed`;
    case "pattern":
      return `${where} must match the pattern ${quote(String(params.pattern))}`;
    default:
      return `${where} ${error.message ?? `fails "${error.keyword}"`}`;
  }
}

function unknownProperty(path: readonly string[], name: unknown): string {
  return `${quote([...path, String(name)].join("."))} is not a known property`;
}

function valueAt(value: unknown, path: readonly string[]): unknown {
  let current = value;
  for (const part of path) {
    if (typeof current !== "object" || current === null) return undefined;
    current = Reflect.get(current, part);
  }
  return current;
}

function typeName(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}
