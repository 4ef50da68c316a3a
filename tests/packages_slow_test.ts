/**
 * What would be uploaded, and nothing else, is copied to a fresh directory and
 * imported from there: a file that is used but not published, or published but of no
 * use, shows here.
 */
import { assert, assertEquals } from "@std/assert";
import { fromFileUrl, toFileUrl } from "@std/path";
import { PACKAGES } from "../scripts/publish.ts";

const ROOT = fromFileUrl(new URL("..", import.meta.url));

/** The files that a package would upload, relative to its folder. */
async function published(folder: string): Promise<string[]> {
  const { success, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["publish", "--dry-run", "--allow-dirty"],
    cwd: ROOT + folder,
    env: { NO_COLOR: "1" },
  }).output();
  const said = new TextDecoder().decode(stderr);
  assert(success, said);
  const base = toFileUrl(`${ROOT}${folder}/`).href;
  return said.split("\n").flatMap((line) => {
    const url = /^\s+(file:\S+) \(/.exec(line)?.[1];
    return url?.startsWith(base)
      ? [decodeURIComponent(url.slice(base.length))]
      : [];
  });
}

Deno.test("packages: each imports from what would be published, in a fresh directory", async () => {
  const fresh = await Deno.makeTempDir({ prefix: "bulkhead-published-" });
  const root = JSON.parse(await Deno.readTextFile(`${ROOT}deno.json`));
  const imports: Record<string, string> = {};
  const entries: string[] = [];
  for (const [name, target] of Object.entries<string>(root.imports)) {
    if (!target.startsWith("jsr:")) imports[name] = target;
  }
  for await (const { name } of Deno.readDir(`${ROOT}vendor/std`)) {
    const config = JSON.parse(
      await Deno.readTextFile(`${ROOT}vendor/std/${name}/deno.json`),
    );
    for (const [sub, file] of Object.entries<string>(config.exports)) {
      imports[`@std/${name}${sub.slice(1)}`] = `${ROOT}vendor/std/${name}/${
        file.slice(2)
      }`;
    }
  }
  for (const folder of PACKAGES) {
    const files = await published(folder);
    assert(files.length > 2, `${folder}: ${files}`);
    assertEquals(
      files.filter((file) =>
        /_(?:test|bench)\.ts$|(?:^|\/)(?:tests|testing|fixtures)\//.test(file)
      ),
      [],
      folder,
    );
    assert(files.includes("README.md"), folder);
    assert(files.includes("LICENSE"), folder);
    const name = folder === "." ? "bulkhead" : folder;
    for (const file of files) {
      const to = `${fresh}/${name}/${file}`;
      await Deno.mkdir(to.slice(0, to.lastIndexOf("/")), { recursive: true });
      await Deno.copyFile(`${ROOT}${folder}/${file}`, to);
    }
    const config = JSON.parse(
      await Deno.readTextFile(`${ROOT}${folder}/deno.json`),
    );
    for (const [sub, file] of Object.entries<string>(config.exports)) {
      const specifier = `@bulkhead/${name}${sub.slice(1)}`;
      imports[specifier] = `./${name}/${file.slice(2)}`;
      // Entry points that act when imported as a program act only then.
      entries.push(specifier);
    }
  }
  await Deno.writeTextFile(
    `${fresh}/deno.json`,
    JSON.stringify({ imports, nodeModulesDir: "none" }),
  );
  await Deno.writeTextFile(
    `${fresh}/all.ts`,
    entries.map((entry) => `await import("${entry}");`).join("\n") +
      '\nconsole.log("imported");\n',
  );
  // The umbrella's would make a workspace of the copies; a member's is data to it.
  await Deno.remove(`${fresh}/bulkhead/deno.json`);
  const run = ["run", "-A", "--no-lock", `--config=${fresh}/deno.json`];
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [...run, "all.ts"],
    cwd: fresh,
    stdin: "null",
  }).output();
  assert(success, new TextDecoder().decode(stderr));
  assertEquals(new TextDecoder().decode(stdout), "imported\n");
  // And the command line works from there.
  for (
    const command of [
      ["bulkhead/mod.ts", "--version"],
      ["bulkhead/cli/main.ts", "guard", "explain", "cp a /etc/"],
    ]
  ) {
    const ran = await new Deno.Command(Deno.execPath(), {
      args: [...run, ...command],
      cwd: fresh,
      stdin: "null",
    }).output();
    assert(ran.success, new TextDecoder().decode(ran.stderr));
  }
  await Deno.remove(fresh, { recursive: true });
});
