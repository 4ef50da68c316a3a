import { assertEquals, assertStringIncludes } from "@std/assert";
import { denoEntry } from "./entry.ts";
import { run } from "./run.ts";

Deno.test("denoEntry() starts a module with our imports and exactly its permissions", async () => {
  const dir = await Deno.makeTempDir({ prefix: "a b" });
  await Deno.writeTextFile(
    `${dir}/main.ts`,
    `import { normalizePath } from "@bulkhead/sandbox/paths";
     console.log(normalizePath("/a/../b"), Deno.args[0],
       Deno.permissions.querySync({ name: "read" }).state);`,
  );
  // A configuration beside the module or in the working directory must not count.
  await Deno.writeTextFile(
    `${dir}/deno.json`,
    '{"imports":{"@bulkhead/sandbox/paths":"data:text/javascript,"}}',
  );
  const url = new URL(`file://${encodeURI(dir)}/main.ts`);
  const entry = denoEntry(url, { permissions: [], args: ["x y"] });
  const result = await run(entry.argv, {
    cwd: dir,
    env: { ...entry.env, NO_COLOR: "1" },
  });
  assertEquals(result.stderr, "");
  assertEquals(result.stdout, "/b x y prompt\n");
  await Deno.remove(dir, { recursive: true });
});

Deno.test("denoEntry() uses no configuration for a remote module", () => {
  const { argv } = denoEntry("https://example.org/x.ts", { permissions: [] });
  assertStringIncludes(argv.join(" "), "--no-config");
  assertEquals(argv.at(-1), "https://example.org/x.ts");
});
