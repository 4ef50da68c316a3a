/**
 * Asserts what the guard decides about commands that run in `/work/env`, which is the root.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { decideCall } from "../../guard/explain.ts";

/** Commands by the verdict they must get. */
export interface Verdicts {
  deny: readonly string[];
  allow: readonly string[];
}

/** Judges every command; `tool` is the tool whose `command` it is. */
export function judgesAs(verdicts: Verdicts, tool = "Bash"): void {
  for (const expected of ["deny", "allow"] as const) {
    for (const command of verdicts[expected]) {
      const { allow } = decideCall(
        { toolName: tool, toolInput: { command }, cwd: "/work/env" },
        { active: true, allowedRoots: ["/work/env"] },
        { now: 0, home: "/home/me", paths: { readLink: () => undefined } },
      );
      assertEquals(allow ? "allow" : "deny", expected, command);
    }
  }
}
