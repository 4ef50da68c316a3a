import { assertEquals } from "@std/assert";
import { decideCall } from "../explain.ts";
import { UNKNOWN_CASES } from "./unknowns.ts";

Deno.test("UNKNOWN_CASES holds: every example is judged as its row says", () => {
  for (const { examples, verdict } of UNKNOWN_CASES) {
    for (const command of examples) {
      const { allow } = decideCall(
        { toolName: "Bash", toolInput: { command }, cwd: "/work/env" },
        { active: true, allowedRoots: ["/work/env"] },
        { now: 0, home: "/home/me", paths: { readLink: () => undefined } },
      );
      assertEquals(allow ? "allow" : "deny", verdict, command);
    }
  }
});
