import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import {
  type IsolationBackend,
  IsolationUnavailableError,
  probeIsolation,
} from "./isolation.ts";
import { bubblewrapArgv } from "./isolation/bubblewrap.ts";
import { run, type RunOptions, type RunResult } from "./run.ts";

/** A PATH with everything but bwrap, so that the next backend is chosen. */
async function withoutBwrap<T>(fn: () => Promise<T>): Promise<T> {
  const path = Deno.env.get("PATH") ?? "";
  const dir = await Deno.makeTempDir();
  for (const name of ["sh", "cat", "ls", "env", "id"]) {
    await Deno.symlink(`/usr/bin/${name}`, `${dir}/${name}`);
  }
  Deno.env.set("PATH", dir);
  try {
    return await fn();
  } finally {
    Deno.env.set("PATH", path);
    await Deno.remove(dir, { recursive: true });
  }
}

async function backends(): Promise<IsolationBackend[]> {
  const first = (await probeIsolation()).backend;
  const second = (await withoutBwrap(probeIsolation)).backend;
  return [...new Set([first, second])].filter((backend) => backend !== "none");
}

/** Runs one shell program confined to `dir`, once per backend that works here. */
async function eachBackend(
  script: (dir: string, outside: string) => string,
  check: (
    result: RunResult,
    dir: string,
    outside: string,
  ) => void | Promise<void>,
  options: RunOptions = {},
): Promise<void> {
  for (const backend of await backends()) {
    const dir = await Deno.makeTempDir({ prefix: "in side" });
    const outside = await Deno.makeTempDir();
    await Deno.writeTextFile(`${outside}/secret`, "hidden");
    const call = (): Promise<RunResult> =>
      run(["/bin/sh", "-c", script(dir, outside)], {
        cwd: dir,
        isolation: { policy: { write: [dir] } },
        ...options,
      });
    const result = backend === "landlock"
      ? await withoutBwrap(call)
      : await call();
    assertEquals(result.isolation, backend);
    await check(result, dir, outside);
    await Deno.remove(dir, { recursive: true });
    await Deno.remove(outside, { recursive: true });
  }
}

Deno.test("confined: the granted directory can be written", async () => {
  await eachBackend(
    (dir) => `echo hi > '${dir}/f' && cat '${dir}/f'`,
    async (result, dir) => {
      assertEquals([result.stdout, result.stderr], ["hi\n", ""]);
      assertEquals(await Deno.readTextFile(`${dir}/f`), "hi\n");
    },
  );
});

Deno.test("confined: other files can neither be read nor written", async () => {
  await eachBackend(
    (_dir, outside) => `cat '${outside}/secret'; echo x > '${outside}/new'`,
    async (result, _dir, outside) => {
      assertEquals(result.stdout, "");
      assert(result.code !== 0);
      await assertRejects(() => Deno.stat(`${outside}/new`));
    },
  );
});

Deno.test("confined: a link inside does not lead out", async () => {
  await eachBackend(
    (dir, outside) =>
      `ln -s '${outside}/secret' '${dir}/l'; cat '${dir}/l'; echo x > '${dir}/l'`,
    async (result, _dir, outside) => {
      assertEquals(result.stdout, "");
      assertEquals(await Deno.readTextFile(`${outside}/secret`), "hidden");
    },
    { env: { PATH: "/usr/bin:/bin" } },
  );
});

Deno.test("confined: the home's files cannot be read", async () => {
  const home = Deno.env.get("HOME") ?? "/";
  await Deno.writeTextFile(`${home}/.bulkhead-test-secret`, "hidden");
  try {
    await eachBackend(
      () => `cat '${home}/.bulkhead-test-secret'`,
      (result) => assertEquals(result.stdout, ""),
    );
  } finally {
    await Deno.remove(`${home}/.bulkhead-test-secret`);
  }
});

Deno.test("confined: a program that is an absolute link inside its own prefix starts", async () => {
  for (const where of [".venv/bin/tool", "tool"]) {
    for (const backend of await backends()) {
      const dir = await Deno.makeTempDir();
      const file = `${dir}/${where}`;
      await Deno.mkdir(`${dir}/.venv/bin`, { recursive: true });
      await Deno.symlink("/usr/bin/cat", file);
      await Deno.writeTextFile(`${dir}/in`, "read");
      for (const grant of ["read", "write"] as const) {
        const call = (): Promise<RunResult> =>
          run([file, `${dir}/in`], {
            cwd: dir,
            isolation: { policy: { [grant]: [dir] } },
          });
        const result = backend === "landlock"
          ? await withoutBwrap(call)
          : await call();
        assertEquals([result.stderr, result.stdout], ["", "read"]);
      }
      await Deno.remove(dir, { recursive: true });
    }
  }
});

Deno.test("confined: what bubblewrap cannot mount is an error, not the program's exit code 1", async () => {
  if ((await probeIsolation()).backend !== "bubblewrap") return;
  const dir = await Deno.makeTempDir();
  await Deno.symlink("/etc", `${dir}/link`);
  await assertRejects(
    () =>
      run(["true"], {
        cwd: dir,
        isolation: { policy: { write: [dir, `${dir}/link`] } },
      }),
    Error,
    'Cannot start "true" in bubblewrap: "',
  );
  await Deno.remove(dir, { recursive: true });
});

Deno.test("confined: no network unless asked for", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr as Deno.NetAddr;
  const script = () => `exec 3<>/dev/tcp/127.0.0.1/${port} && echo connected`;
  for (const backend of await backends()) {
    for (const net of [false, true]) {
      const call = (): Promise<RunResult> =>
        run(["/usr/bin/bash", "-c", script()], {
          cwd: "/usr",
          isolation: { policy: { net } },
        });
      const result = backend === "landlock"
        ? await withoutBwrap(call)
        : await call();
      assertEquals(
        result.stdout,
        net ? "connected\n" : "",
        `${backend} net=${net}: ${result.stderr}`,
      );
    }
  }
  listener.close();
});

Deno.test("confined: bubblewrap gives a PID namespace of its own", async () => {
  if ((await probeIsolation()).backend !== "bubblewrap") return;
  const result = await run(["/usr/bin/readlink", "/proc/self/ns/pid"], {
    cwd: "/usr",
    isolation: { policy: {} },
  });
  assertMatch(result.stdout, /^pid:\[/);
  const ours = await Deno.readLink("/proc/self/ns/pid");
  assert(result.stdout.trim() !== ours);
});

Deno.test("confined: a granted unix socket directory can be used by name only", async () => {
  await eachBackend(
    () => "echo ok",
    (result) => assertEquals(result.stdout, "ok\n"),
  );
});

Deno.test("probeIsolation() takes no bwrap that the directory it was started in offers", async () => {
  const path = Deno.env.get("PATH") ?? "";
  const dir = await Deno.makeTempDir();
  const bin = `${dir}/node_modules/.bin`;
  await Deno.mkdir(bin, { recursive: true });
  await Deno.writeTextFile(`${bin}/bwrap`, "#!/bin/sh\nexit 0\n", {
    mode: 0o755,
  });
  try {
    Deno.env.set("PATH", `${bin}:${path}`);
    const { detail } = await probeIsolation();
    assert(!detail.includes(dir), detail);
  } finally {
    Deno.env.set("PATH", path);
    await Deno.remove(dir, { recursive: true });
  }
});

Deno.test("isolate() refuses without a backend and names the fix", async () => {
  const error = new IsolationUnavailableError(
    "bubblewrap (bwrap) is not on PATH",
    "apt-get install bubblewrap",
  );
  assertStringIncludes(error.message, "apt-get install bubblewrap");
  await assertRejects(
    () => run(["true"], { isolation: { policy: { read: ["rel"] } } }),
    TypeError,
    '"rel" is not absolute',
  );
});

Deno.test("confined: nothing is left when the deadline comes while the sandbox is being made", async () => {
  if ((await probeIsolation()).backend === "none") return;
  const argument = `4242.${Deno.pid}`;
  let next = 0;
  const work = async (): Promise<void> => {
    for (let index = next++; index < 100; index = next++) {
      await run(["sleep", argument], {
        timeoutMs: 1 + index % 14,
        isolation: { policy: {}, level: "required" },
      });
    }
  };
  await Promise.all(Array.from({ length: 4 }, work));
  const left: string[] = [];
  for await (const { name } of Deno.readDir("/proc")) {
    const line = await Deno.readTextFile(`/proc/${name}/cmdline`).catch(() =>
      ""
    );
    if (line.includes(`sleep\0${argument}`)) left.push(name);
  }
  assertEquals(left, []);
});

Deno.test("bubblewrapArgv() mounts outer directories first and the writable one last", () => {
  const argv = bubblewrapArgv("bwrap", ["true"], {
    read: ["/work/sub/deep", "/work"],
    write: ["/work/sub", "/work/"],
    net: false,
    unixSockets: false,
    accounts: true,
    cwd: "/work",
    home: "/home/u",
  });
  const binds = argv.flatMap((word, at) =>
    word.endsWith("bind-try") && argv[at + 1]?.startsWith("/work")
      ? [`${word} ${argv[at + 1]}`]
      : []
  );
  assertEquals(binds, [
    "--bind-try /work",
    "--bind-try /work/sub",
    "--ro-bind-try /work/sub/deep",
  ]);
});

Deno.test("bubblewrapArgv() makes a directory below the system's writable when asked to", () => {
  const argv = bubblewrapArgv("bwrap", ["true"], {
    read: ["/usr/local/share"],
    write: ["/usr/local/src/project"],
    net: false,
    unixSockets: false,
    accounts: true,
    cwd: "/usr/local/src/project",
    home: undefined,
  });
  const at = argv.indexOf("/usr/local/src/project");
  assertEquals(argv[at - 1], "--bind-try");
  assertEquals(argv.includes("/usr/local/share"), false);
});

Deno.test("bubblewrapArgv() covers a home, and tells another where the home is a part of the system", () => {
  const paths = {
    read: [],
    write: [],
    net: false,
    unixSockets: false,
    accounts: true,
    cwd: "/work",
  };
  for (const home of ["/home/u", "/nonexistent", "/var/lib/u", "/tmp"]) {
    const argv = bubblewrapArgv("bwrap", ["true"], { ...paths, home });
    assertEquals(argv.includes("--setenv"), false, home);
    assertEquals(argv[argv.lastIndexOf("--tmpfs") + 1], home);
  }
  for (const home of ["/", "/dev/null", "/usr", "/etc", "/proc/x", "/nix"]) {
    const argv = bubblewrapArgv("bwrap", ["true"], { ...paths, home });
    assertEquals(argv[argv.indexOf("--setenv") + 2], "/tmp", home);
    assertEquals(argv[argv.lastIndexOf("--tmpfs") + 1], "/tmp", home);
  }
});
