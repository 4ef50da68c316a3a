import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { fromFileUrl } from "@std/path";
import { eventually } from "./support/eventually.ts";
import { alive, allEnded, exists } from "./support/processes.ts";
import { hasTool } from "./support/require_tool.ts";
import { BULKHEAD, bulkhead } from "./support/run_world.ts";
import { waitingDemo } from "./support/waiting_demo.ts";

const ROOT = fromFileUrl(new URL("..", import.meta.url));
const DENO = `deno@${Deno.version.deno}`;
const noNpx = !hasTool("npx", "install Node.js");

/** How a person starts the demo. */
const STARTS: Record<string, readonly string[]> = {
  "npx deno task demo": ["npx", "--yes", DENO, "task", "demo"],
  "deno task demo": [Deno.execPath(), "task", "demo"],
};

/** A directory that everything a run makes lies in, so that what is left can be found. */
interface World {
  dir: string;
  ws: string;
  env: Record<string, string>;
}

async function withWorld(fn: (world: World) => Promise<void>): Promise<void> {
  const dir = await Deno.realPath(await Deno.makeTempDir({ prefix: "bh" }));
  const ws = `${dir}/ws`;
  await Deno.mkdir(`${ws}/.claude`, { recursive: true });
  await Deno.writeFile(`${ws}/odd.bin`, new Uint8Array([0, 255, 10, 13, 7]));
  await Deno.writeTextFile(`${ws}/.claude/settings.json`, '{ "a":1 }\r\n');
  try {
    const env = {
      FNO_CLAIMS_ROOT: dir,
      TMPDIR: dir,
      BULKHEAD_HOME: `${dir}/h`,
    };
    await fn({ dir, ws, env });
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
}

/** Every file below a directory, by its bytes. */
async function bytesBelow(dir: string, at = ""): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for await (const { name, isDirectory } of Deno.readDir(`${dir}/${at}`)) {
    const path = `${at}${name}`;
    if (isDirectory) {
      found.set(`${path}/`, "");
      for (const [key, value] of await bytesBelow(dir, `${path}/`)) {
        found.set(key, value);
      }
    } else found.set(path, (await Deno.readFile(`${dir}/${path}`)).toHex());
  }
  return found;
}

function parentOf(pid: number): number {
  const stat = Deno.readTextFileSync(`/proc/${pid}/stat`);
  return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
}

async function doctor(
  world: World,
  ...args: string[]
): Promise<{ area: string; status: string; text: string }[]> {
  const { out } = await bulkhead(
    ["doctor", "--json", "--cwd", world.ws, ...args],
    { env: world.env },
  );
  return JSON.parse(out).findings;
}

const VICTIMS: Record<
  string,
  (demo: { child: Deno.ChildProcess; pid: number }) => number
> = {
  "what was started": ({ child }) => child.pid,
  "the task runner": ({ pid }) => parentOf(pid),
  "our process": ({ pid }) => pid,
};

for (const [start, argv] of Object.entries(STARTS)) {
  for (const [victim, pidOf] of Object.entries(VICTIMS)) {
    // The task runner is what was started.
    if (start.startsWith("deno") && victim.startsWith("what")) continue;
    for (const place of ["its own directory", "a workspace"]) {
      Deno.test({
        name:
          `kill -9 of ${victim} in "${start}" in ${place}: nothing runs on, doctor --fix restores`,
        ignore: start.startsWith("npx") && noNpx,
        async fn() {
          await withWorld(async (world) => {
            const before = await bytesBelow(world.ws);
            const demo = await waitingDemo([
              ...argv,
              "--keep",
              "--json",
              ...place === "a workspace"
                ? ["--cwd", world.ws, "--home", `${world.dir}/h`]
                : [],
            ], { cwd: ROOT, env: world.env });
            assert(alive(demo.pid) && alive(demo.agent));
            Deno.kill(pidOf(demo), "SIGKILL");
            await demo.done();
            await allEnded(world.dir);
            await eventually("the socket is gone", () => !exists(demo.socket));
            await doctor(world, "--fix");
            const findings = await doctor(world);
            assertEquals(
              findings.filter(({ area, status }) =>
                status !== "ok" &&
                ["home", "guard", "workers", "markers", "claims", "temp"]
                  .includes(area)
              ),
              [],
            );
            const after = await bytesBelow(world.ws);
            // What the agent was allowed to write is its work, and no left-over.
            after.delete("hello.txt");
            assertEquals(after, before);
            const left = await Array.fromAsync(
              Deno.readDir(world.dir),
              ({ name }) => name,
            );
            assertEquals(
              left.filter((name) => name.startsWith("bulkhead-")),
              [],
            );
          });
        },
      });
    }
  }
}

Deno.test("a run that was started by a shell stays when that shell is gone", async () => {
  await withWorld(async (world) => {
    const demo = await waitingDemo(
      [
        "/bin/sh",
        "-c",
        'shift; "$@" & wait',
        "sh",
        "-",
        ...BULKHEAD,
        "run",
        "--example",
        "greeting",
        "--keep",
        "--json",
      ],
      { cwd: ROOT, env: world.env },
    );
    Deno.kill(demo.child.pid, "SIGKILL");
    await demo.child.status;
    // Longer than the launchers' look would take.
    await new Promise((resolve) => setTimeout(resolve, 2500));
    assert(alive(demo.pid));
    Deno.kill(demo.pid, "SIGTERM");
    await demo.done();
    await allEnded(world.dir);
  });
});

/** Plays the demo to its end. */
async function play(
  argv: readonly string[],
  options: { cwd?: string; env: Record<string, string> },
): Promise<string> {
  const { code, stdout, stderr } = await new Deno.Command(argv[0] ?? "", {
    args: argv.slice(1),
    cwd: ROOT,
    clearEnv: true,
    stdin: "null",
    ...options,
  }).output();
  const out = new TextDecoder().decode(stdout);
  assertEquals(code, 0, out + new TextDecoder().decode(stderr));
  assertStringIncludes(out, "Hello, Bulkhead, from a process of its own");
  assertStringIncludes(out, "denied by guard");
  assertStringIncludes(out, "files written hello.txt");
  return out;
}

const PATH = Deno.env.get("PATH") ?? "";
const HOME = Deno.env.get("HOME") ?? "";
const TASK = [Deno.execPath(), "task", "demo"];

Deno.test("task demo: with PATH and HOME alone in the environment", async () => {
  await play(TASK, { env: { PATH, HOME } });
});

Deno.test("task demo: with stdin closed", async () => {
  await play(["/bin/sh", "-c", 'exec "$@" <&-', "sh", ...TASK], {
    env: { PATH, HOME },
  });
});

/** A PATH without bubblewrap, and with what the demo needs. */
async function withoutBwrap(dir: string): Promise<string> {
  await Deno.mkdir(`${dir}/bin`);
  for (const name of ["sh", "sed", "cat", "env", "setsid", "setpriv", "rm"]) {
    for (const place of ["/usr/bin", "/bin"]) {
      if (!exists(`${place}/${name}`)) continue;
      await Deno.symlink(`${place}/${name}`, `${dir}/bin/${name}`);
      break;
    }
  }
  return `${dir}/bin`;
}

Deno.test("task demo: without bubblewrap it says what is not in force", async () => {
  await withWorld(async ({ dir }) => {
    const out = await play(TASK, {
      env: { PATH: await withoutBwrap(dir), HOME },
    });
    assertStringIncludes(out, "apt-get install bubblewrap");
  });
});

Deno.test({
  name:
    "task demo: as a plain user with a home that cannot be written, with and without bubblewrap",
  ignore: !hasTool("setpriv") || !hasTool("git") || Deno.uid() !== 0,
  async fn() {
    await withWorld(async ({ dir }) => {
      await Deno.chmod(dir, 0o755);
      const tree = `${dir}/tree`;
      await Deno.mkdir(tree);
      const listed = await new Deno.Command("git", {
        args: ["ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd: ROOT,
      }).output();
      const names = new TextDecoder().decode(listed.stdout).split("\0").filter((
        name,
      ) =>
        /\.(?:ts|json|lock|js|d\.ts)$/.test(name) && exists(`${ROOT}${name}`)
      );
      for (const name of names) {
        const to = `${tree}/${name}`;
        await Deno.mkdir(to.slice(0, to.lastIndexOf("/")), { recursive: true });
        await Deno.copyFile(`${ROOT}${name}`, to);
        await Deno.chmod(to, 0o644);
      }
      // The binary may lie in a home that others cannot enter.
      await Deno.copyFile(Deno.execPath(), `${dir}/deno`);
      await Deno.chmod(`${dir}/deno`, 0o755);
      for (const name of ["cache", "npm", "tmp"]) {
        await Deno.mkdir(`${dir}/${name}`);
        await Deno.chmod(`${dir}/${name}`, 0o777);
      }
      const cache = Deno.env.get("DENO_DIR") ?? `${HOME}/.cache/deno`;
      // Where links are not possible the packages are fetched.
      await new Deno.Command("cp", {
        args: ["-al", `${cache}/npm`, `${dir}/cache/npm`],
        stderr: "null",
      }).output();
      for (const path of [PATH, await withoutBwrap(dir)]) {
        await play(
          [
            "setpriv",
            "--reuid=65534",
            "--regid=65534",
            "--clear-groups",
            `${dir}/deno`,
            "task",
            "demo",
          ],
          {
            cwd: tree,
            env: {
              PATH: path,
              HOME: "/proc/nowhere",
              TMPDIR: `${dir}/tmp`,
              DENO_DIR: `${dir}/cache`,
              npm_config_cache: `${dir}/npm`,
            },
          },
        );
      }
      assertEquals(await Array.fromAsync(Deno.readDir(`${dir}/tmp`)), []);
    });
  },
});
