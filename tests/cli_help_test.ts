import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { HARNESSES } from "@bulkhead/guard";
import { SUBCOMMANDS, VALUES } from "../cli/completions.ts";
import { bulkheadCommand } from "../cli/main.ts";
import { VERBS } from "../cli/help.ts";
import { fromFileUrl } from "@std/path";
import { hasTool } from "./support/require_tool.ts";

async function bulkhead(
  ...args: string[]
): Promise<{ code: number; out: string; err: string }> {
  let out = "";
  let err = "";
  const code = await bulkheadCommand(args, {
    stdin: new Blob().stream(),
    out: (text) => out += text,
    err: (text) => err += text,
    isTerminal: false,
    canAsk: false,
    color: false,
  });
  return { code, out, err };
}

/** What bash offers for a command line that ends in its last word. */
async function complete(
  [script, program]: readonly [string, string],
  ...words: string[]
): Promise<string[]> {
  const { success, stdout, stderr } = await new Deno.Command("bash", {
    args: [
      "--norc",
      "-c",
      `source <(printf '%s' "$1"); shift
       COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
       _bulkhead; printf '%s\\n' "\${COMPREPLY[@]}"`,
      "bash",
      script,
      program,
      ...words,
    ],
    stdin: "null",
  }).output();
  const err = new TextDecoder().decode(stderr);
  assert(success && err === "", err);
  return new TextDecoder().decode(stdout).split("\n").filter(Boolean);
}

Deno.test({
  name:
    "completions: bash takes the script and offers verbs, flags, values and files",
  ignore: !hasTool("bash", "apt-get install bash"),
  async fn() {
    const { code, out } = await bulkhead("completions", "bash");
    assertEquals(code, 0);
    const dir = await Deno.makeTempDir();
    await Deno.writeTextFile(`${dir}/some file.json`, "");
    const program = `${dir}/bulkhead`;
    const main = fromFileUrl(new URL("../cli/main.ts", import.meta.url));
    await Deno.writeTextFile(
      program,
      `#!/bin/sh\nexec "${Deno.execPath()}" run -A --no-check "${main}" "$@"\n`,
      { mode: 0o755 },
    );
    const to = [out, program] as const;
    assertEquals(await complete(to, "gu"), ["guard"]);
    assert((await complete(to, "")).includes("doctor"));
    assertEquals(await complete(to, "guard", "ex"), ["explain"]);
    assertEquals(await complete(to, "plugins", "un"), ["untrust"]);
    assertEquals(await complete(to, "run", "--ke"), ["--keep"]);
    assertEquals(await complete(to, "run", "--agent", "cl"), ["claude"]);
    assertEquals(await complete(to, "doctor", "--f"), ["--fix"]);
    assertEquals(await complete(to, "run", "--trust-q"), []);
    assertEquals(await complete(to, "plugins", "new", "--la"), ["--language"]);
    assertEquals(await complete(to, "guard", "install", "--tt"), ["--ttl"]);
    assertEquals(await complete(to, "worker", "start", "--pro"), ["--prompt"]);
    assertEquals(await complete(to, "plugins", "new", "--language", "py"), [
      "python",
    ]);
    assertEquals(
      await complete(to, "run", "--script", `${dir}/so`),
      [`${dir}/some file.json`],
    );
    await Deno.remove(dir, { recursive: true });
  },
});

Deno.test("completions: zsh and fish have a script, another shell is one line with the fix", async () => {
  const zsh = await bulkhead("completions", "zsh");
  assertStringIncludes(zsh.out, "bashcompinit");
  const fish = await bulkhead("completions", "fish");
  assertStringIncludes(fish.out, "__fish_seen_subcommand_from guard");
  const other = await bulkhead("completions", "csh");
  assertEquals(other.code, 2);
  assertStringIncludes(other.err, "bash, zsh or fish");
});

Deno.test("completions: the words are those that the commands know", async () => {
  assertEquals(
    VALUES["--harness"],
    HARNESSES.map(({ label }) => label).join(" "),
  );
  for (const [verb, words] of Object.entries(SUBCOMMANDS)) {
    assert(VERBS.includes(verb), verb);
    if (verb === "completions") continue;
    const { code, out } = await bulkhead(verb, "--help");
    assertEquals(code, 0, verb);
    const known = [
      ...(out.split("Examples:")[0] ?? "").matchAll(
        /^ {2}(?:sandbox )?([a-z]+)(?= )/gm,
      ),
    ]
      .map(([, word]) => word);
    assertEquals(
      words.split(" ").toSorted(),
      [...new Set(known)].toSorted(),
      verb,
    );
  }
});

Deno.test("help VERB is the verb's own help, and usage lines say what is typed", async () => {
  for (const verb of ["run", "worker", "plugins", "fleet", "doctor", "abi"]) {
    const { code, out } = await bulkhead("help", verb);
    assertEquals([code, out], [0, (await bulkhead(verb, "--help")).out]);
    assertStringIncludes(out, `Usage: bulkhead ${verb}`);
  }
  const ask = await bulkhead("worker", "ask", "--help");
  assertStringIncludes(ask.out, "Usage: bulkhead worker ask ID TEXT…\n");
  assertStringIncludes(ask.out, "       bulkhead worker ask ID -");
  assertEquals((await bulkhead("help", "runn")).code, 2);
  assertEquals((await bulkhead("doctor", "extra")).code, 2);
});

Deno.test("a command that only holds others means 2 without one", async () => {
  for (
    const verb of ["abi", "worker", "plugins", "guard", "fleet", "sandbox"]
  ) {
    assertEquals((await bulkhead(verb)).code, 2, verb);
  }
});

Deno.test("every verb has a help, on standard output, with an example or its flags", async () => {
  for (const verb of VERBS.filter((name) => name !== "version")) {
    const { code, out, err } = await bulkhead(
      ...verb === "help" ? ["help"] : [verb, "--help"],
    );
    assertEquals([code, err], [0, ""], verb);
    assert(out.length > 50 && /--|Example/.test(out), verb);
  }
});

for (
  const [line, meant] of [
    ["runn", "run"],
    ["docter", "doctor"],
    ["plugins lst", "list"],
    ["guard instal", "install"],
    ["worker lst", "list"],
    ["fleet lst", "list"],
    ["abi inspct", "inspect"],
    ["sandbox prob", "probe"],
    ["run --agnet x hi", "--agent"],
    ["doctor --fx", "--fix"],
    ["worker list --jsno", "--json"],
    ["guard explain --rot x", "--root"],
    ["plugins list --hme x", "--home"],
    ["completions --hlep", "--help"],
  ] as const
) {
  Deno.test(`did you mean: "bulkhead ${line}" means ${meant}`, async () => {
    const { code, out, err } = await bulkhead(...line.split(" "));
    assertEquals([code, out], [2, ""]);
    assertStringIncludes(err.replaceAll('"', ""), `did you mean ${meant}`);
    assertEquals(err.trimEnd().split("\n").length, 1, err);
  });
}

Deno.test("--json: an error is one object on standard output, with its fix", async () => {
  for (
    const args of [
      ["runn"],
      ["plugins", "lst"],
      ["guard", "instal"],
      ["worker", "lst"],
      ["abi", "inspct"],
      ["sandbox", "rn"],
      ["doctor", "--fx"],
      ["run", "--agnet", "x"],
      ["run", "--model", "", "hi"],
      ["run", "--allow", "", "hi"],
    ]
  ) {
    const { code, out, err } = await bulkhead(...args, "--json");
    const { schema, ok, error } = JSON.parse(out);
    assertEquals([code, err, schema, ok], [2, "", 1, false], args.join(" "));
    assert(typeof error.code === "string" && error.message && error.fix, out);
  }
});
