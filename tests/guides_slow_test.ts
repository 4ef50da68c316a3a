/** The shell blocks of the guides, typed as they stand, into a shell on a terminal. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { fromFileUrl } from "@std/path";
import { allEnded } from "./support/processes.ts";
import { hasTool } from "./support/require_tool.ts";
import { Terminal } from "./support/terminal.ts";
import { withDir } from "./support/with_dir.ts";

const ROOT = fromFileUrl(new URL("..", import.meta.url));
const ignore = !hasTool("script", "apt-get install util-linux") ||
  !hasTool("bash", "apt-get install bash");

/** The lines of a shell block below a heading, the first one if not said otherwise. */
async function block(
  page: string,
  heading: string,
  nth = 0,
): Promise<string[]> {
  const text = await Deno.readTextFile(`${ROOT}docs/${page}`);
  const at = text.indexOf(`## ${heading}`);
  assert(at >= 0, `${page} has no "${heading}"`);
  const blocks = [...text.slice(at).matchAll(/```sh\n([^]*?)```/g)];
  const lines = blocks[nth]?.[1];
  assert(lines, `${page}: no shell block below "${heading}"`);
  return lines.trimEnd().split("\n");
}

/** A shell that knows `bulkhead`, and stops at the first line that fails. */
function shell(
  lines: readonly string[],
  dir: string,
  before: readonly string[] = [],
): Terminal {
  const script = [
    `bulkhead() { '${Deno.execPath()}' run -A '${ROOT}cli/main.ts' "$@"; }`,
    "set -e",
    ...before,
    ...lines.map((line) =>
      `echo "+ ${line.split(" #")[0]?.replaceAll('"', "'")}"; ${line}`
    ),
    "echo all done",
  ];
  return new Terminal(["bash", "--norc", "-c", script.join("\n")], {
    cwd: dir,
    env: { BULKHEAD_HOME: `${dir}/home`, FNO_CLAIMS_ROOT: dir, NO_COLOR: "1" },
  });
}

function withProject(fn: (dir: string) => Promise<void>): Promise<void> {
  return withDir(async (dir) => {
    await Deno.mkdir(`${dir}/home`, { mode: 0o700 });
    await Deno.mkdir(`${dir}/project`);
    await fn(dir);
    await allEnded(dir);
  });
}

Deno.test({
  name: "guides: write a plugin, in five minutes",
  ignore: ignore || !hasTool("python3"),
  async fn() {
    const on = await block("write-a-plugin.md", "Five minutes");
    const lines = await block("write-a-plugin.md", "Five minutes", 1);
    await withProject(async (dir) => {
      await using terminal = shell(lines, dir, on);
      await terminal.see("nothing is wrong");
      await terminal.see("? ");
      await terminal.type("always\r");
      await terminal.see("Hello, Ada!");
      await terminal.see("all done");
      assertEquals(await terminal.end(), 0);
    });
  },
});

Deno.test({
  name: "guides: host a session",
  ignore,
  async fn() {
    const lines = (await block("host-a-session.md", "From the command line"))
      // These two stay open; ASK stands for an id.
      .filter((line) => !/ watch | ui | ASK /.test(line))
      .map((line) => line.replace("/work/project", "project --agent scripted"));
    await withProject(async (dir) => {
      await using terminal = shell(lines, dir);
      await terminal.see("You said: fix the failing test");
      await terminal.see("idle");
      await terminal.see("all done");
      assertEquals(await terminal.end(), 0);
    });
  },
});

Deno.test({
  name: "guides: guard an evaluation; the files come back byte for byte",
  ignore,
  async fn() {
    const lines = (await block("guard-an-evaluation.md", "A plain agent"))
      // The agent itself, and what needs its program.
      .filter((line) => !/^claude | verify /.test(line))
      .map((line) => line.replace("/work/env-17", "project"));
    await withProject(async (dir) => {
      const settings = `${dir}/project/.claude/settings.local.json`;
      await Deno.mkdir(`${dir}/project/.claude`);
      await Deno.writeTextFile(settings, '{"x" : 1}\r\n');
      await using terminal = shell(lines, dir);
      await terminal.see("armed");
      await terminal.see("denied: 0");
      await terminal.see("removed");
      await terminal.see("all done");
      assertEquals(await terminal.end(), 0);
      assertStringIncludes(terminal.shown, "+ bulkhead guard scan");
      assertEquals(await Deno.readTextFile(settings), '{"x" : 1}\r\n');
    });
  },
});

Deno.test({
  name: "guides: what would the guard say",
  ignore,
  async fn() {
    const lines = await block("guard-an-evaluation.md", "What would it say?");
    await withProject(async (dir) => {
      await using terminal = shell(lines, dir);
      await terminal.see("deny");
      await terminal.see("all done");
      assertEquals(await terminal.end(), 0);
    });
  },
});
