/**
 * The text of whatever was thrown: an error's message, anything else as a string.
 *
 * @param thrown What a `catch` received.
 * @returns The text, as it came.
 *
 * @example Usage
 * ```ts
 * import { reasonOf } from "@bulkhead/sandbox";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(reasonOf(new TypeError("not a port")), "not a port");
 * assertEquals(reasonOf("stopped"), "stopped");
 * ```
 */
export function reasonOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
