import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { verifyGuard, type VerifyOptions } from "../guard/verify.ts";
import { findHarness, type HarnessName } from "./support/harnesses.ts";

const PROGRAMS: [string, HarnessName][] = [
  ["claude-code", "claude"],
  ["codex", "codex"],
  ["opencode", "opencode"],
];

/** The cases by name, as `happened` and `logged` say them. */
function said(
  report: Awaited<ReturnType<typeof verifyGuard>>,
): Record<string, string> {
  return Object.fromEntries(
    report.cases.map((one) => [
      one.name,
      `${one.happened ? "happened" : "kept off"}${
        one.logged ? ", logged" : ""
      }`,
    ]),
  );
}

for (const [harness, name] of PROGRAMS) {
  const program = await findHarness(name);
  Deno.test({
    name:
      `verifyGuard() proves the guard on the real ${harness}: outside, shell, workdir and subagent writes denied, the inside one not`,
    ignore: program === undefined,
    async fn() {
      const report = await verifyGuard({ harness, program });
      assertEquals(said(report), {
        "inside write": "happened",
        "outside write": "kept off, logged",
        "outside shell write": "kept off, logged",
        "workdir write": "kept off, logged",
        "subagent write": "kept off, logged",
      });
      assertEquals([report.armed, report.control], [true, true]);
      if (harness === "codex") {
        const reasons = report.reasons.join("\n");
        assertStringIncludes(reasons, "--dangerously-bypass-hook-trust");
        assertStringIncludes(reasons, "trusted project");
      }
    },
  });
}

/** Ways of starting a program that leave the hook out: verify must notice. */
const UNGUARDED: [string, HarnessName, Partial<VerifyOptions>[]][] = [
  ["claude-code", "claude", [{ args: ["--setting-sources", "user"] }]],
  ["codex", "codex", [{ args: ["--disable", "hooks"] }]],
  ["opencode", "opencode", [
    { env: { OPENCODE_PURE: "1" } },
    { args: ["--pure"] },
  ]],
];

for (const [harness, name, ways] of UNGUARDED) {
  const program = await findHarness(name);
  Deno.test({
    name: `verifyGuard() says not armed for ${harness} with ${
      ways.map((how) => JSON.stringify(how)).join(", with ")
    }`,
    ignore: program === undefined,
    async fn() {
      // At once: most of a run is the program's own waiting.
      const reports = await Promise.all(
        ways.map((how) =>
          verifyGuard({ harness, program, control: false, ...how })
        ),
      );
      for (const report of reports) {
        assertEquals(report.armed, false);
        assert(report.cases.some((one) => one.denied && one.happened));
        assertStringIncludes(
          report.reasons.join("\n"),
          "the hook never ran",
        );
      }
    },
  });
}
