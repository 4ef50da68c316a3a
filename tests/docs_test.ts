/** What the documentation tells people to type exists, and its links lead somewhere. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { fromFileUrl, toFileUrl } from "@std/path";
import { bulkheadCommand } from "../cli/main.ts";

const ROOT = fromFileUrl(new URL("..", import.meta.url));

/** The pages that people read, relative to the root. */
async function pages(): Promise<string[]> {
  const found: string[] = [];
  for (
    const dir of [
      "",
      "docs/",
      "sandbox/",
      "plugins/",
      "guard/",
      "worker/",
      "abi/",
    ]
  ) {
    for await (const { name, isFile } of Deno.readDir(ROOT + dir)) {
      if (isFile && name.endsWith(".md")) found.push(dir + name);
    }
  }
  return found.toSorted();
}

/** The command lines of a page: lines of its shell blocks, and code that begins like one. */
function commandLines(text: string): string[] {
  const blocks = [...text.matchAll(/^```(?:sh|bash|console)\n([^]*?)^```/gm)]
    .flatMap(([, block = ""]) => block.split("\n"));
  const spans = [...text.replace(/^```[^]*?^```/gm, "").matchAll(/`([^`]+)`/g)]
    .map(([, span = ""]) => span.replace(/\s+/g, " "));
  return [...blocks, ...spans].flatMap((line) => {
    const [, command = "", comment = ""] =
      /^(?:\$ )?(.*?)(?:(?:^|\s)#(.*))?$/.exec(line) ?? [];
    // A comment speaks of the command before it.
    const flags = comment.match(/--[a-z][a-z-]+/g) ?? [];
    const commands = command.split(/&&|\|\||[|;]/);
    const last = commands.pop() ?? "";
    return [...commands, [last.trim(), ...flags].join(" ")];
  }).map((line) => line.trim()).filter(Boolean);
}

/** The words after `bulkhead`, however it is started; `undefined` for other programs. */
function bulkheadWords(line: string): string[] | undefined {
  const [, rest] =
    /^(?:bulkhead|deno run -A (?:jsr:@bulkhead\/bulkhead|cli\/main\.ts)) (.+)$/
      .exec(
        line,
      ) ?? [];
  if (rest === undefined) return undefined;
  const words = rest.match(/'[^']*'|"[^"]*"|\S+/g) ?? [];
  const end = words.findIndex((word) => word === "--" || word === "<");
  return end < 0 ? [...words] : words.slice(0, end);
}

const helps = new Map<string, Promise<string>>();

/** The help of a command; each is asked for once. */
function helpOf(...args: string[]): Promise<string> {
  const key = args.join(" ");
  const known = helps.get(key) ?? (async () => {
    let out = "";
    let err = "";
    const code = await bulkheadCommand([...args, "--help"], {
      stdin: new Blob().stream(),
      out: (text) => out += text,
      err: (text) => err += text,
      isTerminal: false,
      canAsk: false,
      color: false,
    });
    assertEquals([code, err], [0, ""], `bulkhead ${key} --help`);
    return out;
  })();
  helps.set(key, known);
  return known;
}

/** Verbs whose words have a page each, with all of their flags. */
const OWN_PAGES = ["plugins", "worker"];

/** Verbs whose second word is a command of its own. */
const GROUPS = ["plugins", "guard", "worker", "fleet", "abi", "sandbox"];

Deno.test("docs: every bulkhead command line names verbs and flags that there are", async () => {
  let seen = 0;
  for (const page of await pages()) {
    const text = await Deno.readTextFile(ROOT + page);
    for (const line of commandLines(text)) {
      const words = bulkheadWords(line);
      const [verb = "", second = ""] = words ?? [];
      // `bulkhead plugins|guard|…` and placeholders name no single command.
      if (words === undefined || !/^[a-z]+$/.test(verb)) continue;
      seen++;
      const where = `${page}: ${line}`;
      let help = "";
      if (verb !== "help" && verb !== "version") help = await helpOf(verb);
      if (GROUPS.includes(verb) && /^[a-z]+$/.test(second)) {
        const listed = new RegExp(`^ *(?:sandbox )?${second}\\b`, "m");
        assert(listed.test(help), `${where}: no "${second}" in "${verb}"`);
        const own = await helpOf(verb, second);
        // Some commands have one page for all of their words.
        help = OWN_PAGES.includes(verb) ? own : help + own;
      }
      for (const word of words) {
        const [flag] = /^--[a-z][a-z0-9-]*/.exec(word) ?? [];
        if (flag === undefined || flag === "--help" || flag === "--json") {
          continue;
        }
        const known = new RegExp(`${flag}(?![a-z0-9-])`);
        assert(known.test(help), `${where}: no "${flag}" in "${verb}"`);
      }
    }
  }
  assert(seen > 30, `only ${seen} command lines were found`);
});

Deno.test("docs: every task that is named exists", async () => {
  const { tasks } = JSON.parse(await Deno.readTextFile(`${ROOT}deno.json`));
  for (const page of await pages()) {
    const text = await Deno.readTextFile(ROOT + page);
    for (
      const [, name = ""] of text.matchAll(/deno(?:@[\d.]+)? task ([a-z:]+)/g)
    ) {
      assert(Object.hasOwn(tasks, name), `${page}: no task "${name}"`);
    }
  }
});

Deno.test("docs: every script that is named exists", async () => {
  for (const page of await pages()) {
    const text = await Deno.readTextFile(ROOT + page);
    for (
      const [, path = ""] of text.matchAll(
        /\b((?:scripts|examples|tests)\/[\w/]+\.ts)\b/g,
      )
    ) {
      const there = await Deno.stat(ROOT + path).then(() => true, () => false);
      assert(there, `${page}: no "${path}"`);
    }
  }
});

/** The name under which a heading is linked to. */
function anchor(heading: string): string {
  return heading.toLowerCase().replace(/[`*_]/g, "").replace(
    /[^\p{L}\p{N} -]/gu,
    "",
  ).trim().replaceAll(" ", "-");
}

Deno.test("docs: relative links resolve, headings too", async () => {
  for (const page of await pages()) {
    const text = (await Deno.readTextFile(ROOT + page))
      .replace(/^```[^]*?^```/gm, "");
    for (const [, target = ""] of text.matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^[a-z]+:/.test(target)) continue;
      const url = new URL(target, toFileUrl(ROOT + page));
      const path = fromFileUrl(url);
      const found = await Deno.stat(path).catch(() => undefined);
      assert(found, `${page}: "${target}" leads nowhere`);
      if (url.hash === "" || !path.endsWith(".md")) continue;
      const headings = (await Deno.readTextFile(path))
        .match(/^#+ .*$/gm) ?? [];
      assert(
        headings.some((line) =>
          anchor(line.replace(/^#+ /, "")) === url.hash.slice(1)
        ),
        `${page}: "${target}" names no heading`,
      );
    }
  }
});

Deno.test("docs: every guide is reachable from the README, and every member's README has its permissions and limits", async () => {
  const readme = await Deno.readTextFile(`${ROOT}README.md`);
  for await (const { name } of Deno.readDir(`${ROOT}docs`)) {
    if (name.endsWith(".md")) assertStringIncludes(readme, `docs/${name}`);
  }
  for (const member of ["sandbox", "plugins", "guard", "worker", "abi"]) {
    const text = await Deno.readTextFile(`${ROOT}${member}/README.md`);
    for (const heading of ["Permissions", "Limits"]) {
      assert(
        new RegExp(`^## .*${heading}`, "mi").test(text),
        `${member}/README.md has no "${heading}"`,
      );
    }
  }
});
