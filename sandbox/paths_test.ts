import { assertEquals, assertThrows } from "@std/assert";
import { isInside, normalizePath, resolveTarget } from "./paths.ts";

/** A file system of links only: everything else exists as a directory. */
function links(map: Record<string, string>) {
  return { readLink: (path: string) => map[path] ?? null };
}

Deno.test("isInside() compares whole components", () => {
  assertEquals(isInside("/work/env", "/work/env"), true);
  assertEquals(isInside("/work/env/a", "/work/env"), true);
  assertEquals(isInside("/work/env2", "/work/env"), false);
  assertEquals(isInside("/anything", "/"), true);
  assertEquals(isInside("/work", "/work/"), true);
});

Deno.test("normalizePath() folds lexically", () => {
  assertEquals(normalizePath("/a/./b//../c/"), "/a/c");
  assertEquals(normalizePath("/../.."), "/");
  assertEquals(normalizePath("./"), ".");
});

Deno.test("resolveTarget() walks `link/..` to the parent of the link's target", () => {
  const port = links({ "/work/l": "/srv/deep" });
  assertEquals(resolveTarget("l/../x", "/work", port), "/srv/x");
});

Deno.test("resolveTarget() follows a relative link from its own directory", () => {
  const port = links({ "/work/a/l": "../b" });
  assertEquals(resolveTarget("a/l/f", "/work", port), "/work/b/f");
});

Deno.test("resolveTarget() stops at a loop and at a NUL", () => {
  const port = links({ "/a": "/b", "/b": "/a" });
  assertThrows(() => resolveTarget("/a", "/", port), RangeError, "40 links");
  assertThrows(() => resolveTarget("a\0b", "/"), TypeError, "NUL");
  assertThrows(() => resolveTarget("a", "rel"), TypeError, "not absolute");
});

Deno.test("resolveTarget() does not look below what does not exist", () => {
  const looked: string[] = [];
  const port = {
    readLink(path: string) {
      looked.push(path);
      return path === "/work" ? null : undefined;
    },
  };
  assertEquals(resolveTarget("a/b/../c", "/work", port), "/work/a/c");
  assertEquals(looked, ["/work", "/work/a"]);
});

/** A small generator, so that a failure can be played again. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1103515245 + 12345) & 0x7fffffff;
    return state / 0x7fffffff;
  };
}

Deno.test("resolveTarget() agrees with the kernel on random trees of links", async () => {
  const root = await Deno.realPath(await Deno.makeTempDir());
  const next = random(20261130);
  const pick = <T>(of: readonly T[]): T => of[Math.floor(next() * of.length)]!;
  const dirs = [root];
  const entries: string[] = [];
  for (let at = 0; at < 12; at++) {
    const dir = `${pick(dirs)}/d${at}`;
    await Deno.mkdir(dir);
    dirs.push(dir);
    entries.push(dir);
  }
  for (let at = 0; at < 24; at++) {
    const link = `${pick(dirs)}/l${at}`;
    const to = pick([
      ...entries,
      ".",
      "..",
      `../l${at - 1}`,
      `${root}/gone`,
      "missing/leaf",
    ]);
    await Deno.symlink(to, link);
    entries.push(link);
  }
  const names = entries.map((entry) => entry.slice(entry.lastIndexOf("/") + 1));
  let compared = 0;
  for (let at = 0; at < 3000; at++) {
    const parts = Array.from(
      { length: 1 + Math.floor(next() * 5) },
      () => pick([...names, "..", ".", "new"]),
    );
    const cwd = pick(dirs);
    const path = parts.join("/");
    // The kernel is the judge wherever it has an opinion: an existing path, or a
    // file that it can create.
    const full = `${cwd}/${path}`;
    let expected: string | undefined;
    try {
      expected = await Deno.realPath(full);
    } catch {
      try {
        (await Deno.open(full, { write: true, create: true })).close();
        expected = await Deno.realPath(full);
        await Deno.remove(expected);
      } catch {
        continue;
      }
    }
    compared++;
    assertEquals(resolveTarget(path, cwd), expected, `${path} from ${cwd}`);
  }
  assertEquals(compared > 500, true, `only ${compared} paths were compared`);
  await Deno.remove(root, { recursive: true });
});
