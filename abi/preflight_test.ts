import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { machO, pe } from "./testing/images.ts";
import { AbiError } from "./errors.ts";
import { inspectBytes, inspectLibrary, pluginName } from "./preflight.ts";

const mac = { os: "darwin", arch: "x86_64" };
const windows = { os: "windows", arch: "x86_64" };
const linux = { os: "linux", arch: "x86_64" };

Deno.test("inspectBytes() reads Mach-O, thin and universal", () => {
  const report = inspectBytes(machO(), mac);
  assertEquals([report.format, report.arch, report.exports, report.needs], [
    "macho",
    "x86_64",
    ["rpi_plugin_register"],
    ["/usr/lib/libSystem.B.dylib"],
  ]);
  assertEquals(inspectBytes(machO({ fat: true }), mac), report);
  assertThrows(
    () => inspectBytes(machO({ fat: true }), { os: "darwin", arch: "riscv64" }),
    AbiError,
    "it holds aarch64, x86_64",
  );
});

Deno.test("inspectBytes() reads PE", () => {
  const report = inspectBytes(pe(), windows);
  assertEquals([report.format, report.exports, report.needs], ["pe", [
    "rpi_plugin_register",
  ], ["KERNEL32.dll"]]);
});

Deno.test("inspectBytes() says which machine and which system a library is for", () => {
  assertThrows(
    () => inspectBytes(machO(), linux),
    AbiError,
    "it is a macOS (Mach-O) library, this machine runs linux",
  );
  assertThrows(
    () => inspectBytes(pe(), linux),
    AbiError,
    "it is a Windows (PE) library",
  );
  assertThrows(
    () => inspectBytes(machO(), { os: "darwin", arch: "aarch64" }),
    AbiError,
    "it was built for x86_64, this machine is aarch64",
  );
});

Deno.test("inspectBytes() tells data, retired and missing entry points apart", () => {
  for (const [make, target] of [[machO, mac], [pe, windows]] as const) {
    assertThrows(
      () => inspectBytes(make({ data: true }), target),
      AbiError,
      "is data, not a function",
    );
    assertThrows(
      () => inspectBytes(make({ symbol: "rpi_plugin_register_v2" }), target),
      AbiError,
      'retired entry point "rpi_plugin_register_v2"',
    );
    assertThrows(
      () => inspectBytes(make({ symbol: "other" }), target),
      AbiError,
      "does not export",
    );
  }
});

Deno.test("inspectBytes() refuses what is no library", () => {
  for (
    const text of [
      "",
      "a",
      "MZ",
      "\x7fELF",
      "not a library at all",
      "\x7fELF\x02\x01\x01" + "\0".repeat(100),
    ]
  ) {
    assertThrows(
      () => inspectBytes(new TextEncoder().encode(text), linux),
      AbiError,
    );
  }
});

Deno.test("inspectLibrary() refuses directories, devices, pipes and what is not there", async () => {
  for (const path of ["/", "/dev/null", "/no/such/file", "/dev/zero"]) {
    const error = await assertRejects(
      () => inspectLibrary(path),
      AbiError,
      `Cannot load "${path}"`,
    );
    assertEquals(error.code, "preflight");
  }
});

Deno.test("pluginName() keeps a lib prefix and drops the extension", () => {
  assertEquals(
    ["/a/libx.so", "b.DLL", "c.dylib", "d.pyd", "/e/f"].map(pluginName),
    ["libx", "b", "c", "d", "f"],
  );
});

Deno.test("inspectLibrary() says why a path leads nowhere, and takes a pin as sha256sum prints it", async () => {
  const dir = await Deno.makeTempDir();
  await Deno.symlink(`${dir}/loop.so`, `${dir}/loop.so`);
  await Deno.writeFile(`${dir}/file.so`, machO());
  for (
    const [path, why] of [
      ["loop.so", "its links lead in a circle"],
      ["file.so/x.so", "a part of its path is not a directory"],
      ["none.so", "there is no such file"],
    ] as const
  ) {
    await assertRejects(() => inspectLibrary(`${dir}/${path}`), AbiError, why);
  }
  const { sha256 } = await inspectLibrary(`${dir}/file.so`, { target: mac });
  const bare = sha256.slice("sha256:".length).toUpperCase();
  await inspectLibrary(`${dir}/file.so`, { target: mac, sha256: bare });
  await assertRejects(
    () => inspectLibrary(`${dir}/file.so`, { sha256: "0".repeat(64) }),
    AbiError,
    "pinned is",
  );
  await Deno.remove(dir, { recursive: true });
});
