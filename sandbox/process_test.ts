import { assert, assertEquals, assertRejects } from "@std/assert";
import { type ManagedProcess, startProcess } from "./process.ts";
import { readLines } from "./lines.ts";
import { isAlive } from "./tree.ts";
import { eventually } from "../tests/support/eventually.ts";

/** Reads one line of output, leaving the rest unread. */
async function firstLine(child: ManagedProcess): Promise<string> {
  for await (const line of readLines(child.stdout)) {
    return new TextDecoder().decode(line.bytes);
  }
  return "";
}

Deno.test("ManagedProcess ends a child by closing its input", async () => {
  const child = await startProcess(["cat"], { stderr: "null" });
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode("hello\n"));
  assertEquals(await firstLine(child), "hello");
  // The lock is still held: end() closes the pipe all the same.
  const report = await child.end();
  assertEquals([report.by, report.code], ["eof", 0]);
});

Deno.test("ManagedProcess terminates a child that ignores end of input", async () => {
  const child = await startProcess(["/bin/sh", "-c", "echo up; sleep 60"], {
    stderr: "null",
  });
  await firstLine(child);
  const report = await child.end({ eofMs: 20 });
  assertEquals([report.by, report.signal], ["term", "SIGTERM"]);
});

Deno.test("ManagedProcess kills a child that ignores SIGTERM", async () => {
  const script = "trap '' TERM; echo up; while :; do sleep 60; done";
  const child = await startProcess(["/bin/sh", "-c", script], {
    stderr: "null",
  });
  await firstLine(child);
  const report = await child.end({ eofMs: 20, termMs: 50 });
  assertEquals([report.by, report.signal], ["kill", "SIGKILL"]);
});

Deno.test("ManagedProcess.end() resolves when a setsid grandchild that ignores TERM is gone", async () => {
  const script =
    "setsid sh -c 'trap \"\" TERM; echo $$; exec >/dev/null; sleep 60' & cat >/dev/null";
  const child = await startProcess(["/bin/sh", "-c", script], {
    stderr: "null",
  });
  const pid = Number(await firstLine(child));
  assert(await isAlive(pid));
  const report = await child.end({ eofMs: 1000 });
  assertEquals(await isAlive(pid), false);
  assert(report.killed.includes(pid));
});

Deno.test("ManagedProcess finds a grandchild that cleared its environment", async () => {
  const script =
    "env -i setsid sh -c 'trap \"\" TERM; echo $$; exec >/dev/null; sleep 60'; :";
  const child = await startProcess(["/bin/sh", "-c", script], {
    stderr: "null",
  });
  const pid = Number(await firstLine(child));
  assert(pid > 0);
  await child.end({ eofMs: 20, termMs: 50 });
  assertEquals(await isAlive(pid), false);
});

Deno.test("ManagedProcess confined: everything inside is gone at the end", async () => {
  const script =
    "setsid sh -c 'trap \"\" TERM; sleep 61.25' & echo up; cat >/dev/null";
  const child = await startProcess(["/bin/sh", "-c", script], {
    stderr: "null",
    cwd: "/usr",
    isolation: { policy: {}, level: "preferred" },
  });
  await firstLine(child);
  await child.end({ eofMs: 1000 });
  for await (const entry of Deno.readDir("/proc")) {
    if (!/^\d+$/.test(entry.name)) continue;
    const line = await Deno.readTextFile(`/proc/${entry.name}/cmdline`)
      .catch(() => "");
    assert(line !== "sleep\x0061.25\0", `pid ${entry.name} is still there`);
  }
});

Deno.test("ManagedProcess: children die with a killed parent", async () => {
  const parent = await startProcess([
    Deno.execPath(),
    "eval",
    `import { startProcess } from "${new URL("./mod.ts", import.meta.url)}";
     const child = await startProcess(["sleep", "60"]);
     console.log(child.pid);
     await child.status;`,
  ], { env: { ...Deno.env.toObject(), NO_COLOR: "1" } });
  const pid = Number(await firstLine(parent));
  assert(await isAlive(pid));
  parent.kill("SIGKILL");
  await parent.status;
  await eventually("the child's end", async () => !await isAlive(pid));
  await parent.end();
  await parent.stderr.cancel();
});

Deno.test("ManagedProcess: a parent killed right after the start leaves nothing", async () => {
  for (const isolation of ["", "policy: {}, level: 'preferred'"]) {
    const parent = await startProcess([
      Deno.execPath(),
      "eval",
      `import { startProcess } from "${new URL("./mod.ts", import.meta.url)}";
       const script = "/usr/bin/sleep 0.5; echo survived >&2";
       await startProcess(["/bin/sh", "-c", script], {
         cwd: "/usr",
         stderr: "inherit",
         ${isolation ? `isolation: { ${isolation} },` : ""}
       });
       Deno.kill(Deno.pid, "SIGKILL");`,
      // Without bubblewrap, whose first milliseconds are its own.
    ], { env: { ...Deno.env.toObject(), PATH: "/nowhere", NO_COLOR: "1" } });
    // The grandchild holds this stream too: its end is the end of both.
    assertEquals(await new Response(parent.stderr).text(), "");
    assertEquals((await parent.status).signal, "SIGKILL");
    await parent.end();
    await parent.stdout.cancel();
  }
});

Deno.test("run(): a call that asked for confinement dies with a killed parent, whatever confines it", async () => {
  for (const path of [Deno.env.get("PATH") ?? "", "/nowhere"]) {
    const dir = await Deno.makeTempDir();
    const parent = await startProcess([
      Deno.execPath(),
      "eval",
      `import { run } from "${new URL("./mod.ts", import.meta.url)}";
       await run(["/bin/sh", "-c", "echo $$ > '${dir}/pid'; exec sleep 64.5"], {
         cwd: "${dir}",
         env: { PATH: "/usr/bin:/bin", HOME: "/nowhere" },
         isolation: { policy: { write: ["${dir}"] }, level: "preferred" },
         onStdout: () => {},
       });`,
    ], { env: { ...Deno.env.toObject(), PATH: path, NO_COLOR: "1" } });
    const isRunning = async (): Promise<boolean> => {
      for await (const { name } of Deno.readDir("/proc")) {
        if (!/^\d+$/.test(name)) continue;
        const line = await Deno.readTextFile(`/proc/${name}/cmdline`)
          .catch(() => "");
        if (line === "sleep\x0064.5\0") return true;
      }
      return false;
    };
    await eventually("the call runs", isRunning);
    parent.kill("SIGKILL");
    await eventually("it is gone", async () => !await isRunning());
    await parent.end();
    await Promise.all([parent.stdout.cancel(), parent.stderr.cancel()]);
    await Deno.remove(dir, { recursive: true });
  }
});

Deno.test("ManagedProcess works with `await using`", async () => {
  let pid = 0;
  {
    await using child = await startProcess(["cat"], { stderr: "null" });
    pid = child.pid;
    await child.stdout.cancel();
  }
  assertEquals(await isAlive(pid), false);
});

Deno.test("startProcess() names a program that is not there", async () => {
  await assertRejects(
    () => startProcess(["./nope"]),
    Deno.errors.NotFound,
    '"./nope"',
  );
});
