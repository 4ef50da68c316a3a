import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { inflate } from "./_inflate.ts";
import { InstallError } from "./_install_error.ts";
import { readTar } from "./_tar.ts";
import { printable } from "./_text.ts";
import {
  checkEntryPath,
  checkTree,
  stripCommonFolder,
  type TreeEntry,
} from "./_tree.ts";
import { readZip } from "./_zip.ts";
import {
  compress,
  makeTar,
  makeZip,
  paxRecord,
  type TarItem,
} from "./testing/archives.ts";

const LIMITS = { maxEntries: 100, maxBytes: 1_000_000 };

function tarProblem(items: readonly TarItem[]): InstallError {
  return assertThrows(
    () => checkTree(readTar(makeTar(items), 100)),
    InstallError,
  );
}

Deno.test("readTar() reads files, folders, links and modes", () => {
  const entries = readTar(
    makeTar([
      { name: "./", type: "5" },
      { name: "./plugin.toml", data: 'name = "x"\n' },
      { name: "bin/", type: "5", mode: 0o755 },
      { name: "bin/run.sh", data: "#!/bin/sh\n", mode: 0o755 },
      { name: "bin/again", type: "2", link: "run.sh" },
    ]),
    100,
  );
  checkTree(entries);
  assertEquals(
    entries.map((
      entry,
    ) => [entry.path, entry.kind, entry.executable, entry.target]),
    [
      ["plugin.toml", "file", false, undefined],
      ["bin", "directory", false, undefined],
      ["bin/run.sh", "file", true, undefined],
      ["bin/again", "link", false, "run.sh"],
    ],
  );
});

Deno.test("readTar() reads pax and GNU long names", () => {
  const long = `${"a".repeat(120)}/${"b".repeat(120)}`;
  const pax = readTar(
    makeTar([{ name: "h", type: "x", data: paxRecord("path", long) }, {
      name: "short",
      data: "1",
    }]),
    9,
  );
  assertEquals(pax.map((entry) => entry.path), [long]);
  const gnu = readTar(
    makeTar([{ name: "L", type: "L", data: `${long}\0` }, {
      name: "short",
      data: "1",
    }]),
    9,
  );
  assertEquals(gnu.map((entry) => entry.path), [long]);
});

Deno.test("readTar() reads what the system's tar writes", async () => {
  const dir = await Deno.makeTempDir();
  await Deno.mkdir(`${dir}/p/sub`, { recursive: true });
  await Deno.writeTextFile(`${dir}/p/plugin.toml`, 'name = "p"\n');
  await Deno.writeTextFile(`${dir}/p/sub/${"long".repeat(40)}.txt`, "x");
  for (const format of ["gnu", "pax", "ustar"]) {
    const { success } = await new Deno.Command("tar", {
      args: [
        `--format=${format}`,
        "-cf",
        `${dir}/${format}.tar`,
        "-C",
        dir,
        "p",
      ],
      stderr: "null",
    }).output();
    if (!success) continue; // A tar without this option.
    const entries = stripCommonFolder(
      readTar(await Deno.readFile(`${dir}/${format}.tar`), 100),
    );
    checkTree(entries);
    assertEquals(entries.map((entry) => entry.path).sort(), [
      "plugin.toml",
      "sub",
      `sub/${"long".repeat(40)}.txt`,
    ]);
  }
  await Deno.remove(dir, { recursive: true });
});

Deno.test("tar slip, sibling slip, links, devices and hard links are refused by name (grafana#117214, OpenBullet2#1214)", async (t) => {
  const rows: [string, TarItem[], string][] = [
    ["parent", [{ name: "../evil" }], "leaves the plugin"],
    [
      "sibling with the same prefix",
      [{ name: "../p-evil/x" }],
      "leaves the plugin",
    ],
    ["parent in the middle", [{ name: "a/../../evil" }], "leaves the plugin"],
    ["absolute", [{ name: "/etc/x" }], "is absolute"],
    ["drive", [{ name: "C:/x" }], "is absolute"],
    ["backslash", [{ name: "..\\evil" }], "control character"],
    ["control character", [{ name: "a\x1b[2Jb" }], "control character"],
    [
      "right-to-left override",
      [{ name: "a\u202egpj.sh" }],
      "control character",
    ],
    ["device name", [{ name: "aux.txt" }], "Windows"],
    ["trailing dot", [{ name: "a./b" }], "Windows"],
    ["empty component", [{ name: "a//b" }], "empty component"],
    [
      "hard link",
      [{ name: "x", type: "1", link: "/etc/passwd" }],
      "is a hard link",
    ],
    ["character device", [{ name: "x", type: "3" }], "is a character device"],
    ["block device", [{ name: "x", type: "4" }], "is a block device"],
    ["fifo", [{ name: "x", type: "6" }], "is a named pipe"],
    [
      "absolute link",
      [{ name: "x", type: "2", link: "/etc/passwd" }],
      "only relative links",
    ],
    [
      "link out",
      [{ name: "a/x", type: "2", link: "../../x" }],
      "leaves the plugin",
    ],
    [
      "link to a sibling",
      [{ name: "x", type: "2", link: "../p-evil" }],
      "leaves the plugin",
    ],
    ["link out through a link", [
      { name: "a/b/", type: "5" },
      { name: "l", type: "2", link: "a/b" },
      { name: "m", type: "2", link: "l/../../../x" },
    ], "leaves the plugin"],
    ["link loop", [{ name: "a", type: "2", link: "b" }, {
      name: "b",
      type: "2",
      link: "a",
    }], "never ends"],
    ["file under a link", [{ name: "d", type: "2", link: "." }, {
      name: "d/x",
    }], "lies under the link"],
    [
      "file under a file",
      [{ name: "d" }, { name: "d/x" }],
      "lies under the file",
    ],
    ["link in place of the whole", [{
      name: "./",
      type: "2",
      link: "x",
    }], "is the plugin itself"],
    ["twice", [{ name: "a" }, { name: "./a" }], "is there twice"],
    ["case", [{ name: "Run.sh" }, { name: "run.sh" }], "in case"],
    ["case of a folder", [{ name: "A/x" }, { name: "a/y" }], "in case"],
    ["composed form", [{ name: "\u00e9" }, { name: "e\u0301" }], "in case"],
    ["pax path slip", [{
      name: "h",
      type: "x",
      data: paxRecord("path", "../e"),
    }, { name: "ok" }], "leaves the plugin"],
    ["GNU path slip", [{ name: "L", type: "L", data: "../e\0" }, {
      name: "ok",
    }], "leaves the plugin"],
  ];
  for (const [name, items, message] of rows) {
    await t.step(name, () => {
      const error = tarProblem(items);
      assertEquals(error.code, "unsafe_entry", error.message);
      assertEquals(error.message.includes(message), true, error.message);
    });
  }
});

Deno.test("damaged tar archives are refused and never read past their end", async (t) => {
  const good = makeTar([{ name: "plugin.toml", data: "x".repeat(600) }]);
  await t.step("every truncation", () => {
    for (let length = 1; length < 1536; length += 97) {
      assertThrows(() => readTar(good.slice(0, length), 100), InstallError);
    }
  });
  await t.step("checksum", () => {
    const bad = good.slice();
    bad[0] = 65;
    assertThrows(() => readTar(bad, 100), InstallError, "checksum");
  });
  await t.step("a size larger than the archive", () => {
    assertThrows(
      () => readTar(makeTar([{ name: "x", size: 8 ** 10 }]), 100),
      InstallError,
      "longer than",
    );
  });
  await t.step("data after the end mark", () => {
    const bad = new Uint8Array(good.length + 512);
    bad.set(good);
    bad.fill(1, good.length);
    assertThrows(() => readTar(bad, 100), InstallError, "after its end mark");
  });
  await t.step("an extended header without an entry", () => {
    const items = [{ name: "h", type: "x", data: paxRecord("path", "a") }];
    assertThrows(
      () => readTar(makeTar(items), 100),
      InstallError,
      "ends after",
    );
  });
  await t.step("malformed pax records", () => {
    for (
      const data of ["99 path=a\n", "path=a\n", "8 path=a", "0 a=b\n", "\n"]
    ) {
      const items = [{ name: "h", type: "x", data }, { name: "a" }];
      assertThrows(() => readTar(makeTar(items), 100), InstallError);
    }
  });
  await t.step("too many entries", () => {
    const items = Array.from(
      { length: 101 },
      (_, index) => ({ name: `f${index}` }),
    );
    assertEquals(tarProblem(items).code, "too_large");
  });
});

Deno.test("readZip() reads stored and deflated entries, modes and links", async () => {
  const zip = await makeZip([
    { name: "plugin.toml", data: 'name = "x"\n' },
    { name: "bin/", mode: 0o040755 },
    {
      name: "bin/run.sh",
      data: "#!/bin/sh\n".repeat(100),
      mode: 0o100755,
      deflate: true,
    },
    { name: "l", data: "bin/run.sh", mode: 0o120777 },
  ]);
  const entries = await readZip(zip, LIMITS);
  checkTree(entries);
  assertEquals(
    entries.map((
      entry,
    ) => [entry.path, entry.kind, entry.executable, entry.size, entry.target]),
    [
      ["plugin.toml", "file", false, 11, undefined],
      ["bin", "directory", false, 0, undefined],
      ["bin/run.sh", "file", true, 1000, undefined],
      ["l", "link", false, 0, "bin/run.sh"],
    ],
  );
});

Deno.test("hostile zip archives are refused", async (t) => {
  const rows: [string, () => Promise<Uint8Array<ArrayBuffer>>, string][] = [
    ["slip", () => makeZip([{ name: "../evil", data: "x" }]), "unsafe_entry"],
    ["device", () => makeZip([{ name: "x", mode: 0o020644 }]), "unsafe_entry"],
    ["absolute", () => makeZip([{ name: "/x" }]), "unsafe_entry"],
    [
      "two names",
      () => makeZip([{ name: "a", localName: "b" }]),
      "bad_archive",
    ],
    ["encrypted", () => makeZip([{ name: "a", flags: 1 }]), "bad_archive"],
    [
      "wrong checksum",
      () => makeZip([{ name: "a", data: "x", crc: 1 }]),
      "bad_archive",
    ],
    [
      "stated too small",
      () =>
        makeZip([{
          name: "a",
          data: "x".repeat(9999),
          deflate: true,
          size: 10,
        }]),
      "too_large",
    ],
    [
      "stated too large",
      () => makeZip([{ name: "a", data: "x", deflate: true, size: 999 }]),
      "bad_archive",
    ],
    [
      "promises too much",
      () => makeZip([{ name: "a", data: "x", deflate: true, size: 2_000_000 }]),
      "too_large",
    ],
    ["overlap", async () => {
      const zip = await makeZip([{ name: "a", data: "x" }, {
        name: "a",
        data: "x",
      }]);
      const view = new DataView(zip.buffer);
      for (let at = zip.length - 26; at > 0; at--) {
        if (view.getUint32(at, true) === 0x02014b50) {
          view.setUint32(at + 42, 0, true); // The last entry points at the first one's data.
          break;
        }
      }
      return zip;
    }, "bad_archive"],
    ["garbage", () => Promise.resolve(new Uint8Array(100)), "bad_archive"],
    ["empty", () => Promise.resolve(new Uint8Array(0)), "bad_archive"],
  ];
  for (const [name, make, code] of rows) {
    await t.step(name, async () => {
      const zip = await make();
      const error = await assertRejects(
        () => readZip(zip, LIMITS),
        InstallError,
      );
      assertEquals(error.code, code, error.message);
    });
  }
  await t.step("every truncation", async () => {
    const zip = await makeZip([{
      name: "a",
      data: "x".repeat(50),
      deflate: true,
    }]);
    for (let length = 0; length < zip.length; length++) {
      await assertRejects(
        () => readZip(zip.slice(0, length), LIMITS),
        InstallError,
      );
    }
  });
});

Deno.test("inflate() stops at the limit of a bomb", async () => {
  const bomb = await compress(new Uint8Array(50_000_000), "gzip");
  const error = await assertRejects(
    () => inflate(bomb, "gzip", 1_000_000),
    InstallError,
  );
  assertEquals(error.code, "too_large");
  assertEquals((await inflate(bomb, "gzip", 50_000_000)).length, 50_000_000);
  await assertRejects(
    () => inflate(bomb.slice(0, 100), "gzip", 50_000_000),
    InstallError,
  );
});

Deno.test("checkTree() holds its limits", () => {
  const file = (path: string, size = 1): TreeEntry => ({
    path,
    kind: "file",
    executable: false,
    size,
  });
  assertThrows(
    () => checkTree([file("a", 11)], { maxBytes: 10 }),
    InstallError,
    "larger than 10 bytes",
  );
  assertThrows(
    () => checkTree([file("a"), file("b")], { maxEntries: 1 }),
    InstallError,
    "more than 1",
  );
  assertThrows(
    () => checkTree([file("a/b/c")], { maxDepth: 2 }),
    InstallError,
    "deeper than 2",
  );
  assertThrows(() => checkEntryPath("x".repeat(300)), InstallError, "over 255");
  assertThrows(() => checkEntryPath(""), InstallError);
});

Deno.test("what an archive says of itself cannot move or hide text of the terminal", () => {
  for (const name of ["a\u202eb", "a\u009b2Jb", "a\u001b[2Jb", "a\u200bb"]) {
    for (
      const entries of [
        [{ name }],
        [{ name: "x", type: "2", link: name }],
        [{ name, type: "6" }],
        [{ name, type: "Q" }],
      ]
    ) {
      const error = tarProblem(entries);
      assertEquals(error.message, printable(error.message));
    }
  }
});
