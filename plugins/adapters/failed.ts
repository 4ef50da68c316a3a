/**
 * A failed call as an error, for frameworks that want failures thrown.
 *
 * @module
 */
import { resultText, type ToolResult } from "../tool.ts";

/**
 * A failed tool call, for frameworks that want failures thrown. The message is what the tool said.
 *
 * @example Usage
 * ```ts
 * import { textResult, ToolFailedError } from "@bulkhead/plugins";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(new ToolFailedError(textResult("no such city", true)).message, "no such city");
 * ```
 */
export class ToolFailedError extends Error {
  /** The whole result. */
  readonly result: ToolResult;

  /**
   * Constructs an error from a failed result.
   *
   * @param result The result.
   */
  constructor(result: ToolResult) {
    super(resultText(result));
    this.name = "ToolFailedError";
    this.result = result;
  }
}
