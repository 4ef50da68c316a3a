/** Placeholder until the checks land. @module */
import type { JsonSchema } from "./tool.ts";
/** Checks arguments. */
export class ArgumentValidator {
  /** Creates. */
  constructor(_schema: JsonSchema) {}
  /** Checks. */
  problem(_args: unknown): Promise<string | undefined> {
    return Promise.resolve(undefined);
  }
}
/** Checks a schema. */
export function checkSchema(
  schema: JsonSchema,
): { wire: JsonSchema; notes: string[] } | { problem: string } {
  return { wire: schema, notes: [] };
}
