import type { ErrorObject } from "ajv";
import { BoundedPattern } from "./_pattern_cost.ts";
import { isRecord } from "./_text.ts";
import type { JsonSchema } from "./tool.ts";

/** A compiled schema: the errors of a value, none when it is valid. */
export type Validate = (value: unknown) => readonly ErrorObject[];

/** The check was given up because it would take too long; what it found so far does not count. */
export class TooComplex extends Error {}

/** Subschemas looked at in one check; recursion through combinators multiplies. */
const MAX_STEPS = 1_000_000;
/** Steps of pattern matching in one check, by the bound that is computed before. */
const MAX_PATTERN_STEPS = 5e7;
/** Steps of one match. */
const MAX_MATCH_STEPS = 1e7;
const MAX_ERRORS = 1000;

/** Put into every subschema of the compiled copy; no JSON key of a manifest can be it by accident. */
const STEP = "x-bulkhead-step";
const UNIQUE = "x-bulkhead-unique";

let compiler: Promise<(schema: JsonSchema) => Validate> | undefined;

/** Compiles a checked schema. The library is loaded the first time. */
export async function compile(schema: JsonSchema): Promise<Validate> {
  compiler ??= makeCompiler();
  return (await compiler)(schema);
}

async function makeCompiler(): Promise<(schema: JsonSchema) => Validate> {
  const { Ajv2020 } = await import("ajv/dist/2020.js");
  let steps = 0;
  let patternSteps = 0;
  const regExp = (pattern: string) => {
    const bounded = new BoundedPattern(pattern);
    return {
      // What would take too long is left to the plugin.
      test(text: string): boolean {
        const cost = bounded.cost(text.length);
        patternSteps += cost;
        return cost > MAX_MATCH_STEPS || patternSteps > MAX_PATTERN_STEPS ||
          bounded.test(text);
      },
    };
  };
  // The library prints this into the source of stand-alone validators, which are not made here.
  regExp.code = "undefined";

  return (schema: JsonSchema): Validate => {
    // One instance a schema: an instance keeps everything it has ever compiled.
    const ajv = new Ajv2020({
      strict: false,
      validateFormats: false,
      validateSchema: false,
      allErrors: true,
      meta: false,
      inlineRefs: false,
      logger: false,
      code: { regExp, optimize: false },
    });
    ajv.addKeyword({
      keyword: STEP,
      validate: (): boolean => {
        if (++steps > MAX_STEPS) throw new TooComplex();
        return true;
      },
      errors: false,
    });
    ajv.addKeyword({
      keyword: UNIQUE,
      type: "array",
      validate: (_schema: unknown, items: unknown[]): boolean =>
        new Set(items.map(canonical)).size === items.length,
      errors: false,
    });
    const { $schema: _draft, $id: _id, ...rest } = schema;
    const validate = ajv.compile<unknown>(prepared(rest));
    return (value) => {
      steps = 0;
      patternSteps = 0;
      validate(value);
      const errors = validate.errors ?? [];
      validate.errors = null;
      return errors.slice(0, MAX_ERRORS);
    };
  };
}

/** Places whose values are data, not schemas. */
const DATA: ReadonlySet<string> = new Set([
  "const",
  "enum",
  "default",
  "examples",
  "required",
  "type",
]);
/** Places that hold schemas by name, where a key is no keyword. */
const NAMED: ReadonlySet<string> = new Set([
  "properties",
  "patternProperties",
  "dependentSchemas",
  "$defs",
  "definitions",
]);

/** A copy with a step counter in every subschema and `uniqueItems` in linear time. */
function prepared(schema: Record<string, unknown>): Record<string, unknown> {
  const entries: [string, unknown][] = [[STEP, true]];
  for (const [keyword, held] of Object.entries(schema)) {
    if (keyword === STEP || keyword === UNIQUE) continue;
    if (keyword === "uniqueItems") {
      if (held === true) entries.push([UNIQUE, true]);
    } else if (DATA.has(keyword)) entries.push([keyword, held]);
    else if (NAMED.has(keyword) && isRecord(held)) {
      entries.push([
        keyword,
        Object.fromEntries(
          Object.entries(held).map((
            [name, each],
          ) => [name, isRecord(each) ? prepared(each) : each]),
        ),
      ]);
    } else if (Array.isArray(held)) {
      entries.push([
        keyword,
        held.map((each: unknown) => isRecord(each) ? prepared(each) : each),
      ]);
    } else if (isRecord(held) && keyword !== "dependentRequired") {
      entries.push([keyword, prepared(held)]);
    } else entries.push([keyword, held]);
  }
  return Object.fromEntries(entries);
}

/** JSON with sorted keys: equal for equal values. */
function canonical(value: unknown): string {
  return JSON.stringify(
    value,
    (_key, held: unknown) =>
      isRecord(held)
        ? Object.fromEntries(
          Object.entries(held).sort(([x], [y]) => x < y ? -1 : 1),
        )
        : held,
  ) ?? "undefined";
}
