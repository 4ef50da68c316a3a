import { generateHeader, scaffoldPlugin } from "@bulkhead/abi";
import { PLUGIN_API, PLUGIN_API_SIZE, STRUCTS } from "../abi/layout.ts";
import { assert, assertEquals } from "@std/assert";
import { command } from "./_abi.ts";
import { hasTool } from "./support/require_tool.ts";

const HEADER = new URL("../abi/include/rpi_plugin.h", import.meta.url);
const CASES = new URL("fixtures/cases/abi", import.meta.url).pathname;
const ignore = !hasTool("gcc");

async function inTemp(fn: (dir: string) => Promise<void>): Promise<void> {
  const dir = await Deno.makeTempDir();
  try {
    await fn(dir);
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
}

Deno.test("generateHeader() is what lies in include/", async () => {
  assertEquals(
    await Deno.readTextFile(HEADER),
    generateHeader(),
    "run: bulkhead abi header abi/include/rpi_plugin.h",
  );
});

for (
  const [compiler, standard] of [["gcc", "c11"], ["g++", "c++17"]] as const
) {
  Deno.test({
    name:
      `the header compiles as ${standard}, with every size and offset asserted`,
    ignore: !hasTool(compiler),
    fn: () =>
      inTemp(async (dir) => {
        await Deno.writeTextFile(`${dir}/a.h`, generateHeader());
        const source = `${dir}/a.${compiler === "gcc" ? "c" : "cc"}`;
        await Deno.writeTextFile(
          source,
          `#include "a.h"\n#include "a.h"\nint main(void) { return (int)RPI_EVENT_EDITOR_CHANGE - 36; }\n`,
        );
        await command([
          compiler,
          `-std=${standard}`,
          "-Wall",
          "-Wextra",
          "-Werror",
          "-pedantic",
          "-o",
          `${dir}/a`,
          source,
        ]);
        await command([`${dir}/a`]);
      }),
  });
}

Deno.test({
  name: "the table is what a C compiler makes of independently written structs",
  ignore,
  fn: () =>
    inTemp(async (dir) => {
      const pairs: [string, string][] = [
        ["sizeof(Str)", "StbString"],
        ["sizeof(Ref)", "StbStringRef"],
        ["sizeof(Schema)", "StableToolSchema"],
        ["sizeof(Step)", "StepResult"],
        ["sizeof(Event)", "StablePluginEvent"],
      ];
      const slots = PLUGIN_API.map((slot) => `offsetof(Api, ${slot.name})`);
      const fields = [
        "offsetof(Step, s)",
        "offsetof(Event, p)",
        "offsetof(Event, p.call.params)",
        "offsetof(Event, p.res.is_error)",
        "sizeof(Api)",
      ];
      const all = [
        ...pairs.map(([expression]) => expression),
        ...slots,
        ...fields,
      ];
      const source = `${dir}/a.c`;
      await Deno.writeTextFile(
        source,
        `#include "${CASES}/common.c"\nint main(void) { ${
          all.map((e) => `printf("%zu ", (size_t)${e});`).join("")
        } return 0; }\n`,
      );
      await command([
        "gcc",
        "-std=gnu11",
        "-w",
        "-o",
        `${dir}/a`,
        source,
        "-lpthread",
      ]);
      const found = (await command([`${dir}/a`])).trim().split(" ").map(Number);
      const size = (name: string) =>
        STRUCTS.find((s) => s.name === name)?.size ?? -1;
      assertEquals(found, [
        ...pairs.map(([, name]) => size(name)),
        ...PLUGIN_API.map((slot) => slot.offset),
        8,
        8,
        8 + 32,
        8 + 48,
        PLUGIN_API_SIZE,
      ]);
    }),
});

const CROSS = "aarch64-linux-gnu-gcc";
Deno.test({
  name: "the layout holds on aarch64",
  ignore: !hasTool(CROSS, "apt-get install gcc-aarch64-linux-gnu"),
  fn: () =>
    inTemp(async (dir) => {
      await Deno.writeTextFile(`${dir}/a.c`, generateHeader());
      await command([
        CROSS,
        "-std=c11",
        "-ffreestanding",
        "-fsyntax-only",
        `${dir}/a.c`,
      ]);
    }),
});

Deno.test({
  name: "the declarations of the Rust template are the layout's",
  ignore: !hasTool("cargo"),
  fn: () =>
    inTemp(async (dir) => {
      const abi = scaffoldPlugin("x", "rust")["src/abi.rs"];
      assert(abi !== undefined);
      const prints = PLUGIN_API.map((slot) =>
        `print!("{} ", unsafe { core::ptr::addr_of!((*at).${slot.name}) } as usize - at as usize);`
      ).join("\n");
      await Deno.writeTextFile(
        `${dir}/a.rs`,
        `${abi}\nfn main() { let place = core::mem::MaybeUninit::<PluginApi>::uninit(); let at = place.as_ptr(); ${prints} println!("{}", size_of::<Event>()); }\n`,
      );
      await command([
        "rustc",
        "--edition=2021",
        "-A",
        "warnings",
        "-o",
        `${dir}/a`,
        `${dir}/a.rs`,
      ]);
      const found = (await command([`${dir}/a`])).trim().split(" ").map(Number);
      assertEquals(found, [...PLUGIN_API.map((slot) => slot.offset), 64]);
    }),
});
