/**
 * Confinement as a user without any right: bubblewrap through user namespaces, and
 * Landlock where bwrap is not on PATH, refuse the same.
 */
import { assertEquals } from "@std/assert";
import { fromFileUrl } from "@std/path";

const ROOT = fromFileUrl(new URL("..", import.meta.url));
const NOBODY = 65534;
const isRoot = Deno.uid() === 0;

/** Runs confined as whoever runs it and prints what was refused. */
const PROBE = `
import { probeIsolation, run } from "./sandbox/mod.ts";
const [dir] = Deno.args;
const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
const { port } = listener.addr;
const { backend } = await probeIsolation();
const inside = async (script) => {
  const result = await run(["/bin/sh", "-c", script], {
    cwd: dir + "/in",
    env: { PATH: "/usr/bin:/bin" },
    isolation: { policy: { write: [dir + "/in"] } },
  });
  return result.code === 0;
};
console.log(JSON.stringify({
  uid: Deno.uid(),
  backend,
  writesInside: await inside("echo x > f"),
  readsOutside: await inside("cat ../secret"),
  // In a private tree the write may succeed; what counts is the real one.
  writesOutside: await inside("echo x > ../open/new") &&
    await Deno.stat(dir + "/open/new").then(() => true, () => false),
  followsLink: await inside("ln -sf ../secret l && cat l"),
  connects: await inside("exec /usr/bin/bash -c 'exec 3<>/dev/tcp/127.0.0.1/" + port + "'"),
}));
listener.close();
`;

async function probeAs(path: string): Promise<Record<string, unknown>> {
  const dir = await Deno.makeTempDir();
  try {
    await Deno.chmod(dir, 0o755);
    for (const sub of ["sandbox", "sandbox/isolation"]) {
      await Deno.mkdir(`${dir}/${sub}`);
      for await (const { name, isFile } of Deno.readDir(ROOT + sub)) {
        if (!isFile || !name.endsWith(".ts") || name.endsWith("_test.ts")) {
          continue;
        }
        await Deno.copyFile(`${ROOT}${sub}/${name}`, `${dir}/${sub}/${name}`);
        await Deno.chmod(`${dir}/${sub}/${name}`, 0o644);
      }
    }
    await Deno.writeTextFile(`${dir}/deno.json`, "{}");
    await Deno.writeTextFile(`${dir}/probe.ts`, PROBE);
    for (const sub of ["in", "home", "open"]) {
      await Deno.mkdir(`${dir}/${sub}`);
      await Deno.chown(`${dir}/${sub}`, NOBODY, NOBODY);
    }
    await Deno.writeTextFile(`${dir}/secret`, "hidden");
    await Deno.chmod(`${dir}/secret`, 0o644);
    // The binary may lie where only root can go.
    await Deno.copyFile(Deno.execPath(), `${dir}/deno`);
    await Deno.chmod(`${dir}/deno`, 0o755);
    const { stdout, stderr } = await new Deno.Command("/usr/bin/setpriv", {
      args: [
        `--reuid=${NOBODY}`,
        `--regid=${NOBODY}`,
        "--clear-groups",
        `${dir}/deno`,
        "run",
        "-A",
        "--no-lock",
        "--no-check",
        `${dir}/probe.ts`,
        dir,
      ],
      clearEnv: true,
      env: { PATH: path, HOME: `${dir}/home`, NO_COLOR: "1" },
      stdin: "null",
    }).output();
    const text = new TextDecoder().decode(stdout);
    if (text === "") throw new Error(new TextDecoder().decode(stderr));
    return JSON.parse(text);
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
}

for (
  const [backend, path] of [
    ["bubblewrap", "/usr/bin:/bin"],
    ["landlock", "/nowhere"],
  ] as const
) {
  Deno.test({
    name:
      `confined as a plain user by ${backend}: inside works, outside is refused`,
    ignore: !isRoot,
    async fn() {
      assertEquals(await probeAs(path), {
        uid: NOBODY,
        backend,
        writesInside: true,
        readsOutside: false,
        writesOutside: false,
        followsLink: false,
        connects: false,
      });
    },
  });
}
