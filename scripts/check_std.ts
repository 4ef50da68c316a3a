// deno-lint-ignore-file no-console -- a maintainer's command
/**
 * `deno run -A scripts/check_std.ts`: type-checks the sources against the real
 * `@std` packages. The types in `vendor/std` are written by hand, so that the tree
 * builds without JSR; this is what keeps them honest. Needs a way to JSR.
 *
 * @module
 */

import { fromFileUrl } from "@std/path";

const ROOT = fromFileUrl(new URL("..", import.meta.url));

const copy = await Deno.makeTempDir({ prefix: "bulkhead-std-" });
try {
  const listed = await new Deno.Command("git", {
    args: ["ls-files", "-z"],
    cwd: ROOT,
  }).output();
  const files = new TextDecoder().decode(listed.stdout).split("\0")
    .filter((file) => file !== "" && !file.startsWith("vendor/"));
  for (const file of files) {
    await Deno.mkdir(`${copy}/${file}`.replace(/\/[^/]*$/, ""), {
      recursive: true,
    });
    await Deno.copyFile(ROOT + file, `${copy}/${file}`);
  }
  const config = JSON.parse(await Deno.readTextFile(`${copy}/deno.json`));
  config.workspace = config.workspace.filter((member: string) =>
    !member.startsWith("./vendor/")
  );
  await Deno.writeTextFile(`${copy}/deno.json`, JSON.stringify(config));
  const { success } = await new Deno.Command(Deno.execPath(), {
    args: ["check", "--no-lock"],
    cwd: copy,
    stdin: "null",
    stdout: "inherit",
    stderr: "inherit",
  }).output();
  console.log(success ? "ok" : "FAILED");
  if (!success) Deno.exitCode = 1;
} finally {
  await Deno.remove(copy, { recursive: true });
}
