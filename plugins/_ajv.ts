import type { ErrorObject } from "ajv";
import { BoundedPattern } from "./_pattern_cost.ts";
import { subschemas } from "./_schema_check.ts";
import { KEYWORDS } from "./_schema_keywords.ts";
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
      // The library tells patterns apart by this.
      toString: (): string => pattern,
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
    const validate = ajv.compile<unknown>(
      prepared(schema, anchorsOf(schema)),
    );
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

/** Anchors as the pointers they stand for: one schema is one resource, so both kinds of reference mean the same. */
function anchorsOf(schema: JsonSchema): Map<string, string> {
  const anchors = new Map<string, string>();
  for (const { schema: inner, path } of subschemas(schema)) {
    const pointer = `#${
      path.map((part) =>
        `/${
          encodeURIComponent(part.replaceAll("~", "~0").replaceAll("/", "~1"))
        }`
      ).join("")
    }`;
    for (const anchor of [inner.$anchor, inner.$dynamicAnchor]) {
      if (typeof anchor === "string") anchors.set(`#${anchor}`, pointer);
    }
  }
  return anchors;
}

type Anchors = ReadonlyMap<string, string>;

/** A copy of what decides, with a step counter in every subschema and `uniqueItems` in linear time. */
function prepared(
  schema: Readonly<Record<string, unknown>>,
  anchors: Anchors,
): Record<string, unknown> {
  const copy: [string, unknown][] = [[STEP, true]];
  const references: unknown[] = [];
  for (const [keyword, held] of Object.entries(schema)) {
    const kind = Object.hasOwn(KEYWORDS, keyword)
      ? KEYWORDS[keyword]
      : undefined;
    if (kind === "value") {
      if (keyword !== "uniqueItems") copy.push([keyword, held]);
      else if (held === true) copy.push([UNIQUE, true]);
    } else if (kind === "reference" && typeof held === "string") {
      references.push({ $ref: anchors.get(held) ?? held });
    } else if (kind === "schema") {
      copy.push([keyword, preparedAny(held, anchors)]);
    } else if (kind === "list" && Array.isArray(held)) {
      const list = held.map((each: unknown) => preparedAny(each, anchors));
      if (keyword === "allOf") references.push(...list);
      else copy.push([keyword, list]);
    } else if (kind === "map" && isRecord(held)) {
      const map = Object.entries(held).map((
        [name, each],
      ) => [name, preparedAny(each, anchors)]);
      copy.push([keyword, Object.fromEntries(map)]);
    }
    // Titles, examples and words of other vocabularies decide nothing.
  }
  // The schema's own part of the list first, so that pointers into it still hold.
  references.sort((x, y) => Number(isReference(x)) - Number(isReference(y)));
  if (references.length > 0) copy.push(["allOf", references]);
  return Object.fromEntries(copy);
}

function preparedAny(value: unknown, anchors: Anchors): unknown {
  return isRecord(value) ? prepared(value, anchors) : value;
}

/** Made here; every copied subschema has the counter. */
function isReference(value: unknown): boolean {
  return isRecord(value) && !Object.hasOwn(value, STEP);
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
