/**
 * The built-in harnesses.
 *
 * @module
 */

import { claudeCode } from "./claude_code.ts";
import { cline } from "./cline.ts";
import { codex } from "./codex.ts";
import { copilot } from "./copilot.ts";
import { cursor } from "./cursor.ts";
import { gemini } from "./gemini.ts";
import { opencode } from "./opencode.ts";
import { pi } from "./pi.ts";
import type { HarnessDescriptor } from "./types.ts";

/** Every built-in harness, the three that the real programs prove first. */
export const HARNESSES: readonly HarnessDescriptor[] = [
  claudeCode,
  codex,
  opencode,
  gemini,
  cline,
  cursor,
  copilot,
  pi,
];

/**
 * Finds a built-in harness.
 *
 * @param label Its name, for example `claude-code`.
 * @returns The descriptor, or `undefined` for an unknown name.
 *
 * @example
 * ```ts
 * import { harnessByLabel } from "@bulkhead/guard";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(harnessByLabel("codex")?.program, "codex");
 * assertEquals(harnessByLabel("abacus"), undefined);
 * ```
 */
export function harnessByLabel(label: string): HarnessDescriptor | undefined {
  // The program's own name does as well: `claude`.
  return HARNESSES.find((harness) => harness.label === label) ??
    HARNESSES.find((harness) => harness.program === label);
}
