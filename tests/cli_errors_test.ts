/** What goes wrong is one line, on whatever command: what was tried, found and to do. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { bulkheadCommand } from "../cli/main.ts";

/** Runs a command line and takes what it prints. */
async function said(
  ...args: string[]
): Promise<{ code: number; out: string; err: string }> {
  let out = "";
  let err = "";
  const code = await bulkheadCommand(args, {
    stdin: new ReadableStream({ start: (controller) => controller.close() }),
    out: (text) => void (out += text),
    err: (text) => void (err += text),
    isTerminal: false,
    canAsk: false,
    color: false,
  });
  return { code, out, err };
}

/** Commands that look into the home or write there. */
const COMMANDS = [
  ["run", "--agent", "scripted", "--cwd", "{DIR}", "hi"],
  ["attach", "run-1"],
  ["worker", "list"],
  ["worker", "start", "one", "--agent", "scripted"],
  ["worker", "stop", "one"],
  ["worker", "reap"],
  ["fleet", "list"],
  ["plugins", "list"],
  ["plugins", "install", "{DIR}"],
  ["guard", "install", "--harness", "claude-code", "--root", "{DIR}"],
];

for (const command of COMMANDS) {
  Deno.test(`a home that is a file: ${command.join(" ")} ends with one line`, async () => {
    const dir = await Deno.makeTempDir({ prefix: "bh" });
    await Deno.writeTextFile(`${dir}/file`, "");
    try {
      for (const home of [`${dir}/file`, `${dir}/file/below`]) {
        const { code, out, err } = await said(
          ...command.map((word) => word.replace("{DIR}", dir)),
          "--home",
          home,
        );
        assert(code !== 0, out);
        assertEquals(err.trimEnd().split("\n").length, 1, err);
        assertStringIncludes(err, "error: Cannot");
        assert(!err.includes("os error"), err);
        assertEquals(await Deno.readTextFile(`${dir}/file`), "");
      }
    } finally {
      await Deno.remove(dir, { recursive: true });
    }
  });
}

Deno.test("doctor: a home that is a file is a finding with its fix, and ok is false as the exit code says", async () => {
  const { code, out, err } = await said(
    "doctor",
    "--home",
    "/dev/null",
    "--json",
  );
  assertEquals([code, err], [1, ""]);
  const told = JSON.parse(out);
  assertEquals([told.schema, told.ok, told.error.code], [1, false, "broken"]);
  assert(told.broken > 0);
  const home = told.findings.find(({ area }: { area: string }) =>
    area === "home"
  );
  assertEquals(home.text, "/dev/null is not a directory");
  assertStringIncludes(home.fix, "BULKHEAD_HOME");
});
