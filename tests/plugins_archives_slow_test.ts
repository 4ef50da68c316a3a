/**
 * Thousands of damaged and hostile archives: only typed errors, and nothing outside the directory.
 */
import { assert, assertEquals } from "@std/assert";
import { InstallError } from "@bulkhead/plugins";
import { readSource } from "../plugins/_source.ts";
import { writeTree } from "../plugins/_stage.ts";
import {
  compress,
  makeTar,
  makeZip,
  paxRecord,
  type TarItem,
} from "../plugins/testing/archives.ts";

/** Small reproducible numbers (mulberry32). */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let value = Math.imul(state ^ (state >>> 15), 1 | state);
    value = (value + Math.imul(value ^ (value >>> 7), 61 | value)) ^ value;
    return ((value ^ (value >>> 14)) >>> 0) % below;
  };
}

const PARTS = [
  "a",
  "b",
  "..",
  ".",
  "",
  "A",
  "p",
  "p-evil",
  "é",
  "e\u0301",
  "con",
  "x.",
  "\u202e",
  "plugin.toml",
  "link",
];

function randomPath(pick: (below: number) => number): string {
  const parts = Array.from(
    { length: 1 + pick(4) },
    () => PARTS[pick(PARTS.length)] ?? "",
  );
  return (pick(12) === 0 ? "/" : "") + parts.join("/") +
    (pick(6) === 0 ? "/" : "");
}

function randomTar(pick: (below: number) => number): Uint8Array<ArrayBuffer> {
  const items: TarItem[] = [{ name: "plugin.toml", data: 'name = "p"\n' }];
  for (let index = pick(6); index > 0; index--) {
    const name = randomPath(pick);
    switch (pick(6)) {
      case 0:
        items.push({ name, type: "2", link: randomPath(pick) });
        break;
      case 1:
        items.push({ name, type: "5" });
        break;
      case 2:
        items.push({
          name: "h",
          type: "x",
          data: paxRecord(
            pick(2) === 0 ? "path" : "linkpath",
            randomPath(pick),
          ),
        });
        items.push({
          name: "short",
          type: pick(2) === 0 ? "0" : "2",
          link: "a",
        });
        break;
      case 3:
        items.push({ name, type: String(pick(8)) });
        break;
      default:
        items.push({ name, data: "x".repeat(pick(1500)) });
    }
  }
  return makeTar(items);
}

/** Flips, cuts, repeats and swaps. */
function damage(
  bytes: Uint8Array<ArrayBuffer>,
  pick: (below: number) => number,
): Uint8Array<ArrayBuffer> {
  const copy = bytes.slice();
  switch (pick(4)) {
    case 0:
      for (let count = 1 + pick(4); count > 0; count--) {
        copy[pick(copy.length)] = pick(256);
      }
      return copy;
    case 1:
      return copy.slice(0, pick(copy.length));
    case 2: {
      const at = pick(copy.length);
      copy.copyWithin(pick(copy.length), at, Math.min(copy.length, at + 64));
      return copy;
    }
    default: {
      const at = pick(copy.length - 4);
      new DataView(copy.buffer).setUint32(
        at,
        [0, 1, 0xffffffff, 0x7fffffff][pick(4)] ?? 0,
        true,
      );
      return copy;
    }
  }
}

async function names(dir: string): Promise<string[]> {
  return (await Array.fromAsync(Deno.readDir(dir))).map((entry) => entry.name)
    .sort();
}

/** Reads the archive, and writes what was accepted: nothing may lie or lead outside. */
async function tryArchive(dir: string, bytes: Uint8Array): Promise<boolean> {
  const path = `${dir}/archive`;
  await Deno.writeFile(path, bytes);
  let read;
  try {
    read = await readSource(path, {
      workDir: dir,
      limits: { maxBytes: 1_000_000, maxEntries: 100 },
    });
  } catch (error) {
    assert(error instanceof InstallError, String(error));
    return false;
  }
  const root = `${dir}/in/p`;
  await Deno.mkdir(`${dir}/in`);
  await writeTree(read.entries, root);
  assertEquals(await names(dir), ["archive", "in"]);
  assertEquals(await names(`${dir}/in`), ["p"]);
  for (const entry of read.entries) {
    assert(!entry.path.split("/").includes(".."), entry.path);
    if (entry.kind !== "link") continue;
    // A link to nothing is harmless; one that leads somewhere must lead inside.
    const real = await Deno.realPath(`${root}/${entry.path}`).catch(() => root);
    assert(
      real === root || real.startsWith(`${root}/`),
      `${entry.path} → ${real}`,
    );
  }
  await Deno.remove(`${dir}/in`, { recursive: true });
  return true;
}

Deno.test("hostile and damaged archives: typed errors only, nothing outside", async (t) => {
  const dir = await Deno.realPath(await Deno.makeTempDir());
  try {
    await t.step("2000 random tar archives", async () => {
      const pick = numbers(1);
      let accepted = 0;
      for (let round = 0; round < 2000; round++) {
        if (await tryArchive(dir, randomTar(pick))) accepted++;
      }
      assert(accepted > 50 && accepted < 1950, `${accepted} were accepted`);
    });
    await t.step("2000 damaged tar archives", async () => {
      const pick = numbers(2);
      for (let round = 0; round < 2000; round++) {
        await tryArchive(dir, damage(randomTar(pick), pick));
      }
    });
    await t.step("2000 damaged zip archives", async () => {
      const pick = numbers(3);
      const good = await makeZip([
        { name: "plugin.toml", data: 'name = "p"\n' },
        { name: "bin/", mode: 0o040755 },
        {
          name: "bin/run",
          data: "#!/bin/sh\n".repeat(30),
          mode: 0o100755,
          deflate: true,
        },
        { name: "l", data: "bin/run", mode: 0o120777 },
      ]);
      assertEquals(await tryArchive(dir, good), true);
      for (let round = 0; round < 2000; round++) {
        await tryArchive(dir, damage(good, pick));
      }
    });
    await t.step("1000 damaged tar.gz archives", async () => {
      const pick = numbers(4);
      const good = await compress(randomTar(numbers(9)), "gzip");
      for (let round = 0; round < 1000; round++) {
        await tryArchive(dir, damage(good, pick));
      }
    });
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
});
