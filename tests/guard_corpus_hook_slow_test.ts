// deno-lint-ignore-file camelcase -- field names of payloads
import { assertEquals } from "@std/assert";
import { decideLine } from "../guard/explain.ts";
import { writeShim } from "../guard/shim.ts";

/** One visible case. */
interface Case {
  id: string;
  tool_name: string;
  tool_input: unknown;
  cwd: string;
  roots: string[];
  tag?: string;
}

const TEXT = await Deno.readTextFile(
  new URL("./fixtures/cases/guard/cases.jsonl", import.meta.url),
);
const CASES: Case[] = TEXT.trim().split("\n").map((line) => JSON.parse(line));

for (const bundle of [true, false]) {
  Deno.test(`the hook process ${bundle ? "bundled" : "from its sources"} and decideLine() agree on every visible case`, async () => {
    const home = await Deno.makeTempDir();
    const exe = await writeShim(home, { bundle });
    const marker = `${home}/a/b/marker.json`;
    await Deno.mkdir(`${home}/a/b`, { recursive: true });
    for (const one of CASES) {
      await Deno.writeTextFile(
        marker,
        JSON.stringify({ active: true, allowedRoots: one.roots, hints: true }),
      );
      const child = new Deno.Command(exe, {
        args: ["guard-codex", marker],
        clearEnv: true,
        cwd: "/",
        stdin: "piped",
        stdout: "piped",
        stderr: "piped",
      }).spawn();
      const writer = child.stdin.getWriter();
      await writer.write(new TextEncoder().encode(JSON.stringify(one)));
      await writer.close();
      const { code, stdout, stderr } = await child.output();
      assertEquals([code, new TextDecoder().decode(stderr)], [0, ""], one.id);
      const text = new TextDecoder().decode(stdout).trim();
      const reason = text === "" ? "" : JSON.parse(text).reason;
      const decided = decideLine(one, { now: Date.now() });
      assertEquals(reason, decided.reason, one.id);
    }
    await Deno.remove(home, { recursive: true });
  });
}
