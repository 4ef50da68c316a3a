import { generateHeader, scaffoldPlugin } from "@bulkhead/abi";
import { PLUGIN_API, PLUGIN_API_SIZE, STRUCTS } from "../abi/layout.ts";
import { assert, assertEquals } from "@std/assert";
import { fromFileUrl } from "@std/path";
import { guardCode } from "../abi/thread_guard.ts";
import { command } from "./_abi.ts";
import { hasTool } from "./support/require_tool.ts";
import { withDir } from "./support/with_dir.ts";

const HEADER = new URL("../abi/include/rpi_plugin.h", import.meta.url);
const CASES = fromFileUrl(new URL("fixtures/cases/abi", import.meta.url));
const ignore = !hasTool("gcc");

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
      withDir(async (dir) => {
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
    withDir(async (dir) => {
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
const INSTALL_CROSS = "apt-get install gcc-aarch64-linux-gnu";
Deno.test({
  name: "the layout holds on aarch64",
  ignore: !hasTool(CROSS, INSTALL_CROSS),
  fn: () =>
    withDir(async (dir) => {
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

/** What the comments of the thread guard's code say, put together as one piece: entry, then slot. */
const GUARD = {
  "x86_64": `
    endbr64
    movabs $0x1111111111111111, %r10
    mov %fs:0, %r11
    mov %r11, (%r10)
    movabs $0x2222222222222222, %r11
    jmp *%r11
    endbr64
    movabs $0x1111111111111111, %r10
    mov %fs:0, %r11
    cmp (%r10), %r11
    jne 1f
    movabs $0x2222222222222222, %r11
    jmp *%r11
  1:
    movl $1, 8(%r10)
    mov $-1, %eax
    ret
  `,
  aarch64: `
    bti c
    mrs x16, tpidr_el0
    ldr x17, 1f
    str x16, [x17]
    ldr x16, 2f
    br x16
  1:
    .quad 0x1111111111111111
  2:
    .quad 0x2222222222222222
    bti c
    mrs x16, tpidr_el0
    ldr x17, 1f
    ldr x17, [x17]
    cmp x16, x17
    b.ne 3f
    ldr x16, 2f
    br x16
  3:
    ldr x17, 1f
    mov w16, #1
    str w16, [x17, #8]
    mov w0, #-1
    ret
    nop
  1:
    .quad 0x1111111111111111
  2:
    .quad 0x2222222222222222
  `,
};

for (
  const [arch, gcc, objcopy] of [
    ["x86_64", "gcc", "objcopy"],
    ["aarch64", CROSS, "aarch64-linux-gnu-objcopy"],
  ] as const
) {
  Deno.test({
    name: `the thread guard's code is what an assembler for ${arch} makes`,
    ignore: (arch === "x86_64" && Deno.build.arch !== arch) ||
      !hasTool(gcc, gcc === CROSS ? INSTALL_CROSS : undefined),
    fn: () =>
      withDir(async (dir) => {
        await Deno.writeTextFile(`${dir}/a.s`, GUARD[arch]);
        await command([gcc, "-c", "-o", `${dir}/a.o`, `${dir}/a.s`]);
        await command([
          objcopy,
          "-O",
          "binary",
          "-j",
          ".text",
          `${dir}/a.o`,
          `${dir}/a`,
        ]);
        const code = guardCode("linux", arch);
        const places = [0x1111111111111111n, 0x2222222222222222n] as const;
        assertEquals(
          new Uint8Array([
            ...code?.enter(...places) ?? [],
            ...code?.slot(...places) ?? [],
          ]),
          await Deno.readFile(`${dir}/a`),
        );
      }),
  });
}

Deno.test({
  name: "the declarations of the Rust template are the layout's",
  ignore: !hasTool("cargo"),
  fn: () =>
    withDir(async (dir) => {
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
