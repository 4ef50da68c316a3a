import { assert, assertEquals } from "@std/assert";
import { installation } from "./installation.ts";

const around = { home: "/home/me", cwd: "/home/me/project" };

/** What of the places is taken along. */
function taken(file: string, places: string[], where = around): string[] {
  const found = new Set(installation(file, where));
  return places.filter((place) => found.has(place));
}

Deno.test("installation() takes what lies beside bin, not what else is there", () => {
  assertEquals(
    taken("/home/me/.cargo/bin/rg", [
      "/home/me/.cargo",
      "/home/me/.cargo/bin",
      "/home/me/.cargo/credentials.toml",
      "/home/me/.cargo/registry",
    ]),
    ["/home/me/.cargo/bin"],
  );
});

Deno.test("installation() of a virtual environment and of a version manager is whole enough to run", () => {
  const venv = "/home/me/project/.venv";
  assertEquals(
    taken(`${venv}/bin/python3`, [`${venv}/lib`, `${venv}/pyvenv.cfg`]).length,
    2,
  );
  const pyenv = "/home/me/.pyenv";
  assertEquals(
    taken(`${pyenv}/shims/python`, [`${pyenv}/libexec`, `${pyenv}/versions`])
      .length,
    2,
  );
});

Deno.test("installation() takes nothing of a prefix that holds the home or the working directory", () => {
  const places = [
    ["/data/bin/x", { home: "/data/home/me", cwd: "/tmp" }],
    ["/data/bin/x", { home: "/root", cwd: "/data/project" }],
    ["/home/me/bin/x", around],
    ["/home/me/.local/bin/x", around],
  ] as const;
  for (const [file, where] of places) {
    assertEquals(installation(file, where), [file]);
  }
});

Deno.test("installation() takes a package and what was unpacked below /opt whole", () => {
  for (
    const [file, whole] of [
      ["/opt/tool/bin/x", "/opt/tool"],
      ["/x/node_modules/@a/b/bin/x", "/x/node_modules/@a/b"],
      ["/x/node_modules/deno/bin/deno", "/x/node_modules/deno"],
      ["/x/vendor/bin/phpunit", "/x/vendor"],
    ] as const
  ) assert(installation(file, around).includes(whole), file);
});

Deno.test("installation() takes nothing beside a program of the system", () => {
  assertEquals(installation("/usr/local/bin/x", around), ["/usr/local/bin/x"]);
});
