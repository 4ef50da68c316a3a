import type { ToolResult } from "../tool.ts";
import { ToolFailedError } from "./failed.ts";

/** The result of a call that worked; a failed one is thrown. */
export function orThrow(result: ToolResult): ToolResult {
  if (result.isError) throw new ToolFailedError(result);
  return result;
}
