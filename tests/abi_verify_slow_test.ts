import { type Finding, verifyLibrary, writeScaffold } from "@bulkhead/abi";
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { build, canRun, command } from "./_abi.ts";
import { hasTool } from "./support/require_tool.ts";

const ready = await canRun();
const texts = (findings: Finding[], level: Finding["level"]) =>
  findings.filter((f) => f.level === level).map((f) => f.message);

Deno.test({
  name: "abi verify: the reference plugin keeps the ABI over 10 000 calls",
  ignore: !ready,
  fn: async () => {
    const report = await verifyLibrary(await build("01_ok"), {
      callTimeoutMs: 300,
    });
    assertEquals([report.ok, texts(report.findings, "error")], [true, []]);
    assertEquals(
      report.checks.map((check) => `${check.name} ${check.status}`),
      [
        "preflight passed",
        "register passed",
        "call passed",
        "cancel passed",
        "handlers passed",
        "events passed",
        "threads passed",
        "leaks passed",
        "exit passed",
      ],
    );
    assertEquals(report.figures.calls, 10_000);
    assertEquals(report.figures.liveHandles, 0);
    assertEquals(
      report.figures.hostStringsGiven,
      report.figures.hostStringsFreed,
    );
    assertEquals(
      report.figures.pluginStringsReceived,
      report.figures.pluginStringsFreed,
    );
  },
});

for (const [language, tool] of [["c", "make"], ["rust", "cargo"]] as const) {
  Deno.test({
    name: `abi verify: the ${language} template builds and passes`,
    ignore: !ready || !hasTool("make") || !hasTool(tool),
    fn: async () => {
      const dir = await Deno.makeTempDir();
      try {
        await writeScaffold(`${dir}/demo-x`, language);
        await command(["make", "-s", "-C", `${dir}/demo-x`]);
        const report = await verifyLibrary(`${dir}/demo-x/dist/libdemo_x.so`);
        assertEquals([report.ok, texts(report.findings, "error")], [true, []]);
        assertEquals(
          report.checks.filter((check) => check.status === "failed"),
          [],
        );
        // Its tool ends at once: a cancel that met no call proves nothing.
        const cancel = report.checks.find(({ name }) => name === "cancel");
        if (cancel?.status !== "passed") {
          assertEquals(cancel, {
            name: "cancel",
            status: "skipped",
            detail: "no tool ran long enough to be cancelled",
          });
        } else assertStringIncludes(cancel.detail, "1 calls were running");
      } finally {
        await Deno.remove(dir, { recursive: true });
      }
    },
  });
}

const BAD: [flag: string, level: Finding["level"], words: string][] = [
  // The longest one first: the others are done beside it.
  ["IGNORE", "error", "ignored a cancel"],
  ["LEAK", "error", "strings of the host were not freed"],
  ["TWICE", "error", "freed twice"],
  ["FOREIGN", "error", "are no strings of the host"],
  ["GROW", "warning", "more bytes of malloc memory per call"],
  ["LATE", "error", "after its call was over"],
  ["CRASH", "error", "SIGABRT"],
  ["BLOCK", "warning", "polls took more than 50 ms"],
  ["UTF8", "warning", "not valid UTF-8"],
];

Deno.test({
  name:
    "abi verify: whatever breaks the ABI is found, whatever only costs is a warning",
  ignore: !ready,
  fn: async () => {
    const left = [...BAD];
    const lane = async (): Promise<void> => {
      for (let next = left.shift(); next !== undefined; next = left.shift()) {
        const [flag, level, words] = next;
        const report = await verifyLibrary(await build("bad", [`-D${flag}`]), {
          calls: flag === "BLOCK" ? 8 : 1_000,
          tool: "bad",
          callTimeoutMs: flag === "IGNORE" ? 500 : 5_000,
        });
        assertEquals(report.ok, level !== "error", flag);
        assertStringIncludes(texts(report.findings, level).join("\n"), words);
        assert(report.findings.every((finding) => finding.check !== ""));
      }
    };
    await Promise.all([lane(), lane(), lane()]);
  },
});

Deno.test({
  name: "abi verify: a library that does not load is a report too",
  ignore: !ready,
  fn: async () => {
    for (
      const [flags, check] of [[["-DNONE"], "preflight"], [
        ["-DREG=1"],
        "register",
      ], [["-DUNRESOLVED"], "register"]] as const
    ) {
      const report = await verifyLibrary(await build("loading", flags));
      assertEquals([
        report.ok,
        report.checks.at(-1)?.name,
        report.checks.at(-1)?.status,
      ], [false, check, "failed"]);
    }
  },
});
