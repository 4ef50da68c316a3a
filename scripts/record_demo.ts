// deno-lint-ignore-file no-console -- a maintainer's command
/**
 * `deno run -A scripts/record_demo.ts`: plays the demo on a terminal, answers its
 * question, and puts what was shown into the README. `--check` fails when the README
 * shows something else than a run does; what differs between any two runs (ids,
 * paths, durations) is written the same each time.
 *
 * @module
 */

import { Terminal } from "../tests/support/terminal.ts";
import { fromFileUrl } from "@std/path";

const ROOT = fromFileUrl(new URL("..", import.meta.url));
const README = `${ROOT}README.md`;
const BEGIN = "<!-- demo:begin -->";
const END = "<!-- demo:end -->";
const COLUMNS = 96;

/** What a terminal shows of the demo, as a block for the README. */
async function recording(): Promise<string> {
  await using terminal = new Terminal([
    Deno.execPath(),
    "run",
    "-A",
    `${ROOT}cli/main.ts`,
    "run",
    "--agent",
    "scripted",
    "--example",
    "greeting",
  ], { env: { NO_COLOR: "1" } });
  await terminal.see("2) no");
  await terminal.see("> ");
  await terminal.type("1\r");
  const code = await terminal.end();
  if (code !== 0) {
    throw new Error(`The demo ended with ${code}:\n${terminal.shown}`);
  }
  const lines = same(terminal.shown).trimEnd().split("\n").flatMap(wrap);
  return [
    "```console",
    `$ npx --yes deno@${Deno.version.deno} task demo`,
    ...lines,
    "```",
  ].join("\n");
}

/** Ids, paths and durations of one run, as they stand in the README. */
function same(text: string): string {
  return text
    .replaceAll("\r", "")
    .replace(/\/\S*?\/bulkhead-demo-[0-9a-z-]+/g, "/tmp/demo")
    .replace(/^(session +).*$/m, "$15f0c8a1e-…")
    .replace(/^(duration +).*$/m, "$10.3 s")
    // Lines that were cut at a number of characters end elsewhere with other paths.
    .replace(/^( {2}└ .{0,60}).*…$/gm, "$1…");
}

/** Breaks a line where a terminal of this width would, between words. */
function wrap(line: string): string[] {
  const indent = /^ *(?:[│└] )?/.exec(line)?.[0] ?? "";
  const rows: string[] = [];
  let row = "";
  for (const word of line.slice(indent.length).split(" ")) {
    const longer = row === "" ? word : `${row} ${word}`;
    if (row.trim() === "" || indent.length + longer.length <= COLUMNS) {
      row = longer;
      continue;
    }
    rows.push(indent + row);
    row = word;
  }
  return [...rows, indent + row];
}

function spliced(readme: string, block: string): string {
  const begin = readme.indexOf(BEGIN);
  const end = readme.indexOf(END);
  if (begin < 0 || end < begin) {
    throw new Error(`README.md lacks the lines ${BEGIN} and ${END}`);
  }
  return `${readme.slice(0, begin + BEGIN.length)}\n\n${block}\n\n${
    readme.slice(end)
  }`;
}

if (import.meta.main) {
  const readme = await Deno.readTextFile(README);
  const next = spliced(readme, await recording());
  if (!Deno.args.includes("--check")) {
    await Deno.writeTextFile(README, next);
    console.log("wrote README.md");
  } else if (next === readme) console.log("ok README.md");
  else {
    console.error(
      "README.md shows another demo than the one that runs; run: deno run -A scripts/record_demo.ts",
    );
    Deno.exit(1);
  }
}
