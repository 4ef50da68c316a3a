import { assertEquals, assertStringIncludes } from "@std/assert";
import { pluginsCommand } from "./cli.ts";
import { person, withHome } from "./testing/person.ts";

Deno.test("one keypress trusts nothing: everything is shown and the default is no (claude-code#31242)", () =>
  withHome(async (dir, flags) => {
    const first = person([""]);
    assertEquals(
      await pluginsCommand(
        ["new", `${dir}/demo`, "--language", "shell"],
        first.io,
      ),
      0,
    );
    assertEquals(
      await pluginsCommand(["install", `${dir}/demo`, ...flags], first.io),
      1,
    );
    assertStringIncludes(first.err(), "./greet.sh");
    assertStringIncludes(first.err(), "[N]o");
    assertStringIncludes(first.err(), "answered with no");
    const yes = person(["a"]);
    assertEquals(
      await pluginsCommand(["install", `${dir}/demo`, ...flags], yes.io),
      0,
    );
    assertStringIncludes(yes.out(), "trusted");
    // Progress is for the terminal and is gone before the question.
    assertStringIncludes(yes.err(), "\r\x1b[K");
  }));

Deno.test("several questions in one command take one line each", () =>
  withHome(async (dir, flags) => {
    const { io, out } = person(["a", "v"]);
    for (const name of ["one", "two"]) {
      await Deno.mkdir(`${dir}/home/plugins`, { recursive: true });
      await pluginsCommand([
        "new",
        `${dir}/home/plugins/${name}`,
        "--language",
        "shell",
      ], io);
    }
    assertEquals(await pluginsCommand(["trust", ...flags], io), 0);
    assertStringIncludes(out(), "one: always");
    assertStringIncludes(out(), "two: never");
    const list = person([]);
    await pluginsCommand(["list", ...flags], list.io);
    assertStringIncludes(list.out(), "\x1b[32mloaded ");
    assertStringIncludes(list.out(), "\x1b[33mwaiting");
  }));

Deno.test("remove asks about data and keeps it unless the answer is yes", () =>
  withHome(async (dir, flags) => {
    const { io, out } = person(["a", "", "a", "y"]);
    await pluginsCommand(["new", `${dir}/demo`, "--language", "shell"], io);
    for (const kept of [true, false]) {
      assertEquals(
        await pluginsCommand(["install", `${dir}/demo`, ...flags], io),
        0,
      );
      await Deno.mkdir(`${dir}/home/data/demo`, { recursive: true });
      await Deno.writeTextFile(`${dir}/home/data/demo/state`, "");
      assertEquals(await pluginsCommand(["remove", "demo", ...flags], io), 0);
      assertEquals(out().includes("its data stays"), true);
      const left = await Deno.stat(`${dir}/home/data/demo`).then(
        () => true,
        () => false,
      );
      assertEquals(left, kept);
    }
  }));

Deno.test("with trust default always nothing is asked and nothing recorded", () =>
  withHome(async (dir, flags) => {
    const path = `${dir}/home/config.toml`;
    await Deno.writeTextFile(
      path,
      (await Deno.readTextFile(path)) + 'default = "always"\n',
    );
    const { io } = person([]);
    await pluginsCommand(["new", `${dir}/demo`, "--language", "shell"], io);
    assertEquals(
      await pluginsCommand(["install", `${dir}/demo`, ...flags], {
        ...io,
        canAsk: false,
      }),
      0,
    );
    const call = person([]);
    assertEquals(
      await pluginsCommand([
        "call",
        "demo/greet",
        "--args",
        '{"name":"Ada"}',
        ...flags,
      ], call.io),
      0,
    );
    assertEquals(call.out(), "Hello, Ada!\n");
  }));

Deno.test("update --all goes on after one that fails, and says which", () =>
  withHome(async (dir, flags) => {
    const { io } = person(["a", "a"]);
    for (const name of ["one", "two"]) {
      await pluginsCommand(
        ["new", `${dir}/${name}`, "--language", "shell"],
        io,
      );
      await pluginsCommand(["install", `${dir}/${name}`, ...flags], io);
    }
    await Deno.remove(`${dir}/one`, { recursive: true });
    await Deno.writeTextFile(`${dir}/two/more`, "");
    const all = person(["a"]);
    assertEquals(
      await pluginsCommand(["update", "--all", ...flags], all.io),
      1,
    );
    assertStringIncludes(all.err(), "error: one: Cannot install from");
    assertStringIncludes(all.out(), "two: updated to 0.1.0");
    const json = person([]);
    const update = ["update", "--all", "--json", ...flags];
    assertEquals(await pluginsCommand(update, json.io), 1);
    const { error, plugins } = JSON.parse(json.out());
    assertEquals(error.code, "update_failed");
    assertEquals(plugins[0].error.code, "bad_source");
  }));

Deno.test("plugins call: a terminal does not act on what a tool answers, a program gets it as it is", () =>
  withHome(async (dir, flags) => {
    const plugin = `${dir}/home/plugins/p`;
    await Deno.mkdir(plugin, { recursive: true });
    await Deno.writeTextFile(
      `${plugin}/plugin.toml`,
      String.raw`[[tools]]
name = "t"
command = "printf"
args = ['a\033]0;x\007b\nc\n']
`,
    );
    const trusted = person(["a"]);
    assertEquals(
      await pluginsCommand(["trust", "p", ...flags], trusted.io),
      0,
    );
    const call = ["call", "p/t", ...flags];
    const terminal = person([]);
    assertEquals(await pluginsCommand(call, terminal.io), 0);
    assertEquals(terminal.out(), "a\\u{1b}]0;x\\u{7}b\nc\n");
    const pipe = person([]);
    await pluginsCommand(call, { ...pipe.io, isTerminal: false });
    assertEquals(pipe.out(), "a\x1b]0;x\x07b\nc\n");
  }));

Deno.test("plugins check: names the file, tells every wrong type, and what can never be granted", () =>
  withHome(async (dir, flags) => {
    const check = async (text?: string) => {
      await Deno.mkdir(`${dir}/p`, { recursive: true });
      if (text !== undefined) {
        await Deno.writeTextFile(`${dir}/p/plugin.toml`, text);
      }
      const who = person([]);
      const code = await pluginsCommand(
        ["check", `${dir}/p`, ...flags],
        who.io,
      );
      return { code, out: who.out(), err: who.err() };
    };
    const none = await check();
    assertEquals(none.code, 1);
    assertEquals(
      none.err,
      `error: reading "${dir}/p/plugin.toml": there is no such file\n`,
    );
    const types = await check(
      'name = "p"\nversion = 1\n[[tools]]\nname = "t"\ncommand = 5\nargs = "x"\n',
    );
    assertEquals([types.code, types.err.trimEnd().split("\n")], [1, [
      `error: "${dir}/p/plugin.toml": parsing manifest: line 2: "version" must be a string, found an integer`,
      `error: "${dir}/p/plugin.toml": parsing manifest: line 5: "tools[0].command" must be a string, found an integer`,
      `error: "${dir}/p/plugin.toml": parsing manifest: line 6: "tools[0].args" must be a list of strings, found a string`,
    ]]);
    const grant = await check(
      '[[tools]]\nname = "t"\ncommand = "true"\npermissions = { write = ["/"] }\n',
    );
    assertEquals(grant.code, 1);
    assertStringIncludes(grant.out, 'Cannot grant writing to "/"');
  }));

Deno.test("the question about a change is truthful: commands, files, and what stands in them", () =>
  withHome(async (dir, flags) => {
    const quiet = person(["a", "a"]);
    await pluginsCommand(
      ["new", `${dir}/demo`, "--language", "shell"],
      quiet.io,
    );
    await pluginsCommand(["install", `${dir}/demo`, ...flags], quiet.io);
    const script = `${dir}/demo/greet.sh`;
    await Deno.writeTextFile(
      script,
      `${await Deno.readTextFile(script)}curl evil\x1b[2J\n`,
    );
    const update = person([""]);
    await pluginsCommand(["update", "demo", ...flags], update.io);
    assertStringIncludes(
      update.err(),
      'A question of trust, to answer with [a]lways for this content, [N]o\nPlugin "demo" has changed',
    );
    assertStringIncludes(
      update.err(),
      [
        "The commands are unchanged; what they do need not be:",
        "The contents of 1 file changed (~ other, + new, - gone):",
        '  ~ "greet.sh"',
        "In them:",
        '  "greet.sh":',
        "    + curl evil\\u{1b}[2J",
        "",
      ].join("\n"),
    );
    await Deno.copyFile(script, `${dir}/home/plugins/demo/greet.sh`);
    const trust = person([""]);
    await pluginsCommand(["trust", "demo", ...flags], trust.io);
    assertStringIncludes(trust.err(), "What stood in them is not kept");
    assertStringIncludes(trust.err(), '  ~ "greet.sh"');
  }));
