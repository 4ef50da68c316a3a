import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { pluginsCommand } from "./cli.ts";
import { person, withHome } from "./testing/person.ts";

/** Runs a command that nobody answers. */
async function said(
  args: string[],
): Promise<{ code: number; out: string; err: string }> {
  const nobody = person([]);
  const io = { ...nobody.io, canAsk: false, isTerminal: false, color: false };
  const code = await pluginsCommand(args, io);
  return { code, out: nobody.out(), err: nobody.err() };
}

Deno.test("a mistyped answer to the question of trust is told the answers, and never a yes", () =>
  withHome(async (dir, flags) => {
    await pluginsCommand(
      ["new", `${dir}/demo`, "--language", "shell"],
      person([]).io,
    );
    const install = ["install", `${dir}/demo`, ...flags];
    const stubborn = person(["y", "sure", "YES", "a"]);
    assertEquals(await pluginsCommand(install, stubborn.io), 1);
    assertStringIncludes(
      stubborn.err(),
      'yes for how long? "a" trusts this content from now on\n',
    );
    assertStringIncludes(
      stubborn.err(),
      '"sure" is none of the answers: [a]lways for this content, [N]o\n',
    );
    assertStringIncludes(stubborn.err(), "Taken as no");
    const gone = person(["y"]);
    assertEquals(await pluginsCommand(install, gone.io), 1);
    const second = person(["y", "a"]);
    assertEquals(await pluginsCommand(install, second.io), 0);
  }));

Deno.test("a damaged trust store is named with line and fix by list, check, doctor and trust", () =>
  withHome(async (dir, flags) => {
    await pluginsCommand(
      ["new", `${dir}/home/plugins/demo`, "--language", "shell"],
      person([]).io,
    );
    const path = `${dir}/home/trust.json`;
    await Deno.writeTextFile(path, '{"schema":1,\n"plugins": {\n "x": oops\n');
    for (
      const [args, code] of [
        [["list"], 0],
        [["check", `${dir}/home/plugins/demo`], 0],
        [["doctor"], 1],
        [["trust"], 1],
        [["untrust", "--all"], 1],
      ] as const
    ) {
      const run = await said([...args, ...flags]);
      assertEquals(run.code, code, args[0]);
      const lines = `${run.out}${run.err}`.split("\n").filter((line) =>
        line.includes(path)
      );
      assertEquals(lines.length, 1, `${args[0]}: ${lines.join("\n")}`);
      assertStringIncludes(lines[0] ?? "", "line 3: Unexpected token");
      assertStringIncludes(
        lines[0] ?? "",
        'repair it, or remove it and decide anew with "bulkhead plugins trust"',
      );
    }
  }));

Deno.test("where no plugin is, nothing is said about trust", () =>
  withHome(async (dir, flags) => {
    for (const args of [["call", "x"], ["fire", "stop"], ["doctor"]]) {
      const { out, err } = await said([...args, ...flags]);
      assertStringIncludes(
        out + err,
        `there is no plugin in "${dir}/home/plugins"`,
      );
      assert(!(out + err).includes("not trusted"), out + err);
    }
    await Deno.mkdir(`${dir}/home/plugins/x`, { recursive: true });
    await Deno.writeTextFile(`${dir}/home/plugins/x/plugin.toml`, "=");
    const broken = await said(["call", "x", ...flags]);
    assertStringIncludes(broken.err, "no plugin can be read in");
    assertStringIncludes(broken.err, "parsing manifest: line 1");
  }));

Deno.test("a place that cannot be used is one line with what was tried, found and to do", () =>
  withHome(async (dir, flags) => {
    const file = `${dir}/file`;
    await Deno.writeTextFile(file, "");
    const home =
      `"${file}": it is not a directory; set --home or BULKHEAD_HOME`;
    const rows: [string[], string][] = [
      [["list", "--home", file], home],
      [["doctor", "--home", `${file}/x`], `"${file}/x": it is not a directory`],
      [["trust", "--home", file], home],
      [
        ["new", `${file}/x`],
        `Cannot make the directory "${file}/x": a part of`,
      ],
      [["new", file], `Cannot make the directory "${file}": something else is`],
      [["check", file], "it is not a directory"],
      [["check", `${dir}/none`], "there is no such directory"],
    ];
    for (const [args, part] of rows) {
      const { code, out, err } = await said(
        args.includes("--home") ? args : [...args, ...flags],
      );
      assertEquals([code, out], [1, ""], args.join(" "));
      assertEquals(err.split("\n").length, 2, err);
      assertStringIncludes(err, part);
      assert(!err.includes("os error"), err);
    }
  }));

Deno.test("output that cannot be written is an exit code and a line on stderr, with and without --json", () =>
  withHome(async (_dir, flags) => {
    for (const json of [[], ["--json"]]) {
      let err = "";
      const { io } = person([]);
      const full = new Error("Cannot write the output: it is full");
      const code = await pluginsCommand(["list", ...flags, ...json], {
        ...io,
        out: () => {
          throw full;
        },
        err: (text) => void (err += text),
      });
      assertEquals(code, 1);
      assertEquals(
        err,
        "error: Cannot write the output: it is full\n",
      );
    }
  }));

Deno.test("a word that is too many is shown without its control characters", async () => {
  const { code, err } = await said(["list", "\u001b[2J"]);
  assertEquals(code, 2);
  assertStringIncludes(err, '"\\u{1b}[2J"');
});

Deno.test("list shows what is there and fails for a pin that lets nothing in; what trusts nothing takes no pin", () =>
  withHome(async (dir, flags) => {
    await pluginsCommand(
      ["new", `${dir}/home/plugins/demo`, "--language", "shell"],
      person([]).io,
    );
    const hash = `sha256:${"0".repeat(64)}`;
    for (const [name, reason] of [["nope", "no plugin"], ["demo", "content"]]) {
      const pin = ["--trust-plugin", `${name}=${hash}`];
      const run = await said(["list", ...pin, ...flags]);
      assertEquals(run.code, 1);
      assertStringIncludes(run.out, "demo");
      assertStringIncludes(run.err, `Cannot honour --trust-plugin "${name}=`);
      assertStringIncludes(run.err, `${reason}`);
      const json = await said(["list", "--json", ...pin, ...flags]);
      const { ok, error, plugins } = JSON.parse(json.out);
      assertEquals([json.code, ok, plugins.length], [1, false, 1]);
      assertStringIncludes(error.message, "Cannot honour");
    }
    const check = ["check", `${dir}/home/plugins/demo`, ...flags];
    const refused = await said([...check, "--trust-plugin", `demo=${hash}`]);
    assertEquals(refused.code, 2);
    assertStringIncludes(refused.err, '"--trust-plugin" is not a flag here');
  }));

Deno.test("a plugin that changed is named in the error of a call, whatever else is loaded, and no looser trust is advised", () =>
  withHome(async (dir, flags) => {
    for (const name of ["one", "two"]) {
      await pluginsCommand(
        ["new", `${dir}/${name}`, "--language", "shell"],
        person([]).io,
      );
      const installing = person(["a"]);
      await pluginsCommand(
        ["install", `${dir}/${name}`, ...flags],
        installing.io,
      );
    }
    for (const name of ["one", "two"]) {
      await Deno.writeTextFile(`${dir}/home/plugins/${name}/more`, "");
      const call = await said(["call", `${name}/greet`, ...flags]);
      assertEquals(call.code, 1);
      const error = call.err.split("\n").find((line) =>
        line.startsWith("error: ")
      ) ?? "";
      assertStringIncludes(error, `"${name}"`);
      assertStringIncludes(error, "changed since");
      assertEquals(call.err.includes("always"), false);
    }
    const doctor = await said(["doctor", ...flags]);
    assertEquals(doctor.out.includes("always"), false);
  }));
