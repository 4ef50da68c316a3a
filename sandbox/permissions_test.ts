import {
  assertEquals,
  assertInstanceOf,
  assertRejects,
  assertThrows,
} from "@std/assert";
import {
  denoFlags,
  namedPermissions,
  PermissionRequiredError,
  requirePermissions,
} from "./permissions.ts";

Deno.test("denoFlags() sorts by kind and leaves empty lists out", () => {
  assertEquals(
    denoFlags({ net: ["a.org:443"], read: ["/a", "/b"], env: [], ffi: [] }),
    ["--allow-read=/a,/b", "--allow-net=a.org:443"],
  );
});

Deno.test("denoFlags() refuses a value that would grant more than it says", () => {
  assertThrows(() => denoFlags({ read: ["/a,/etc"] }), TypeError, "comma");
  assertThrows(() => denoFlags({ read: [""] }), TypeError, "empty");
  assertThrows(() => denoFlags({ net: ["a\n--allow-all"] }), TypeError);
});

Deno.test({
  name: "requirePermissions() names all flags at once, one per kind",
  permissions: { read: ["/tmp"] },
  fn() {
    requirePermissions("Reading", [{ name: "read", path: "/tmp/x" }]);
    const error = assertThrows(
      () =>
        requirePermissions("Working", [
          { name: "run" },
          { name: "env", variable: "A" },
          { name: "env", variable: "B" },
          { name: "read", path: "/tmp" },
          { name: "net", host: "h:1" },
        ]),
      PermissionRequiredError,
    );
    assertEquals(error.flag, "--allow-run --allow-env=A,B --allow-net=h:1");
    assertInstanceOf(error, Deno.errors.NotCapable);
  },
});

Deno.test({
  name: "namedPermissions() turns Deno's refusals into named flags",
  permissions: "none",
  async fn() {
    const flag = async (fn: () => Promise<unknown>): Promise<string> =>
      (await assertRejects(
        () => namedPermissions("Trying", fn),
        PermissionRequiredError,
      )).flag;
    assertEquals(
      await flag(() => Deno.readTextFile("/etc/hostname")),
      "--allow-read=/etc/hostname",
    );
    assertEquals(
      await flag(() => Deno.writeTextFile("/tmp/x", "")),
      "--allow-write=/tmp/x",
    );
    assertEquals(
      await flag(() => Promise.resolve().then(() => Deno.env.get("HOME"))),
      "--allow-env=HOME",
    );
    assertEquals(
      await flag(() => Deno.connect({ hostname: "127.0.0.1", port: 1 })),
      "--allow-net=127.0.0.1:1",
    );
    assertEquals(
      await flag(() => Promise.resolve().then(() => Deno.dlopen("/x.so", {}))),
      "--allow-ffi=/x.so",
    );
  },
});

Deno.test("namedPermissions() passes other errors on", async () => {
  await assertRejects(
    () => namedPermissions("Trying", () => Promise.reject(new RangeError("r"))),
    RangeError,
  );
});
