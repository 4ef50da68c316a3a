import { assertEquals } from "@std/assert";
import { checkHome } from "./home.ts";

async function lookedAt(
  write?: () => Promise<void>,
): Promise<(string | undefined)[]> {
  const home = await Deno.makeTempDir();
  try {
    const scene = { home, workspace: home, fix: false };
    const [found, ...more] = await checkHome(scene, write);
    assertEquals(more, []);
    const left = await Array.fromAsync(Deno.readDir(home));
    assertEquals(left, []);
    return [
      found?.status,
      found?.text.replace(home, "HOME"),
      found?.fix?.replace(home, "HOME"),
    ];
  } finally {
    await Deno.remove(home, { recursive: true });
  }
}

const failing = (message: string) => () => Promise.reject(new Error(message));

Deno.test("checkHome() writes to the home and leaves nothing there", async () => {
  assertEquals(await lookedAt(), ["ok", "HOME", undefined]);
});

Deno.test("checkHome() says that a home is full, or read-only", async () => {
  assertEquals(
    await lookedAt(failing("No space left on device (os error 28)")),
    [
      "broken",
      "HOME takes no file: no space is left on its device",
      "free some space (df -h HOME), or give another --home",
    ],
  );
  const readOnly = "Read-only file system (os error 30): writefile '/h/.d'";
  assertEquals(await lookedAt(failing(readOnly)), [
    "broken",
    "HOME takes no file: its file system is read-only",
    "make it writable, or give another --home",
  ]);
});

Deno.test("checkHome() does not guess where it may only look", async () => {
  const denied = () => Promise.reject(new Deno.errors.NotCapable("no"));
  assertEquals((await lookedAt(denied))[0], "ok");
});

Deno.test("checkHome() looks at what a home that is missing would lie in", async () => {
  const dir = await Deno.makeTempDir();
  const scene = { home: `${dir}/a/b`, workspace: dir, fix: false };
  const written: string[] = [];
  const [fine] = await checkHome(scene, (place) => {
    written.push(place);
    return Promise.resolve();
  });
  assertEquals([fine?.status, written], ["ok", [dir]]);
  const [found] = await checkHome(
    scene,
    failing("Permission denied (os error 13)"),
  );
  assertEquals(found, {
    area: "home",
    status: "broken",
    text:
      `${dir}/a/b does not exist, and what it would lie in takes no file: its permissions forbid it`,
    fix: "make it writable, or give another --home",
  });
  await Deno.remove(dir, { recursive: true });
});
