import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { run } from "./run.ts";
import { isAlive } from "./tree.ts";

const SH = "/bin/sh";

Deno.test("run() reports exit code and both streams", async () => {
  const result = await run([SH, "-c", "echo out; echo err >&2; exit 3"]);
  assertEquals(result.code, 3);
  assertEquals(result.stdout, "out\n");
  assertEquals(result.stderr, "err\n");
  assertEquals(result.success, false);
  assertEquals(result.truncated, { stdout: false, stderr: false });
});

Deno.test("run() echoes megabytes without a deadlock", async () => {
  const text = "x".repeat(3_000_000);
  const result = await run(["cat"], { stdin: text, maxBytes: 4_000_000 });
  assertEquals(result.stdout.length, text.length);
});

Deno.test("run() survives a child that never reads its input", async () => {
  const result = await run(["true"], { stdin: "x".repeat(3_000_000) });
  assertEquals(result.code, 0);
});

Deno.test("run() keeps the first bytes and cuts between characters", async () => {
  const result = await run(["printf", "aé€😀"], { maxBytes: 8 });
  assertEquals(result.stdout, "aé€");
  assertEquals(result.truncated.stdout, true);
  const exact = await run(["printf", "abcd"], { maxBytes: 4 });
  assertEquals([exact.stdout, exact.truncated.stdout], ["abcd", false]);
});

Deno.test("run() decodes invalid bytes lossily", async () => {
  const result = await run(["printf", "a\\377b"]);
  assertEquals(result.stdout, "a\ufffdb");
});

Deno.test("run() returns at exit although a background child holds the output", async () => {
  const result = await run([SH, "-c", "sleep 60 & echo $!"], {
    timeoutMs: 20_000,
  });
  assertEquals([result.code, result.timedOut], [0, false]);
  assertEquals(await isAlive(Number(result.stdout)), false);
});

Deno.test("run() kills a grandchild that made its own session and closed its streams", async () => {
  const result = await run([
    SH,
    "-c",
    "setsid sh -c 'echo $$; exec >/dev/null 2>&1 </dev/null; trap \"\" TERM; sleep 60' & sleep 0.2",
  ]);
  const pid = Number(result.stdout);
  assert(pid > 0);
  assertEquals(await isAlive(pid), false);
});

Deno.test("run() keeps what came before the timeout and kills the tree", async () => {
  const result = await run([SH, "-c", "echo $$; sleep 60"], { timeoutMs: 300 });
  assertEquals(result.timedOut, true);
  assertEquals(result.success, false);
  assertEquals(result.signal, "SIGKILL");
  assertEquals(result.code, null);
  assertEquals(await isAlive(Number(result.stdout)), false);
});

Deno.test("run() ends on abort, also when already aborted", async () => {
  const controller = new AbortController();
  const running = run(["cat"], {
    signal: controller.signal,
    stdin: "",
    onStdout: () => {},
  });
  const waiting = run([SH, "-c", "echo up; sleep 60"], {
    signal: controller.signal,
    onStdout: () => controller.abort(),
  });
  assertEquals((await waiting).aborted, true);
  await running;
  const early = await run(["no-such-program"], { signal: AbortSignal.abort() });
  assertEquals([early.aborted, early.code], [true, null]);
});

Deno.test("run() passes only the environment it is given", async () => {
  const result = await run(["/usr/bin/env"], { env: { A: "1" } });
  assertEquals(
    result.stdout.split("\n").filter((l) => !l.startsWith("BULKHEAD_TREE")),
    ["A=1", ""],
  );
});

Deno.test("run() names a program that is not there", async () => {
  const error = await assertRejects(
    () => run(["no-such-program"], { env: { PATH: "/usr/bin:relative" } }),
    Deno.errors.NotFound,
  );
  assertStringIncludes(error.message, '"no-such-program"');
  assertStringIncludes(error.message, "PATH (/usr/bin:relative)");
});

Deno.test("run() tells a directory from a file that lacks its bit", async () => {
  await assertRejects(
    () => run(["/usr"]),
    Deno.errors.PermissionDenied,
    "it is a directory",
  );
});

Deno.test("run() names a missing working directory", async () => {
  await assertRejects(
    () => run(["true"], { cwd: "/no/such/dir" }),
    Deno.errors.NotFound,
    'working directory "/no/such/dir"',
  );
});

Deno.test("run() calls a CRLF script by its name and not missing", async () => {
  const dir = await Deno.makeTempDir();
  await Deno.writeTextFile(`${dir}/t.sh`, "#!/bin/sh\r\necho hi\r\n");
  await assertRejects(
    () => run([`${dir}/t.sh`]),
    Deno.errors.PermissionDenied,
    "chmod +x",
  );
  await Deno.chmod(`${dir}/t.sh`, 0o755);
  await assertRejects(
    () => run([`${dir}/t.sh`]),
    Deno.errors.NotFound,
    "carriage return",
  );
  await Deno.remove(dir, { recursive: true });
});

Deno.test("run() lets a program print what a wrapper would print", async () => {
  const result = await run([SH, "-c", "echo setsid: no >&2; exit 127"]);
  assertEquals(result.code, 127);
});

Deno.test("run() refuses an empty command line and a NUL", async () => {
  await assertRejects(() => run([]), TypeError, "empty");
  await assertRejects(() => run(["true", "a\0b"]), TypeError, "NUL");
});

Deno.test("run() takes a deadline that no timer can hold for none", async () => {
  for (const timeoutMs of [Infinity, 2 ** 31]) {
    const result = await run([SH, "-c", "sleep 0.05"], { timeoutMs });
    assertEquals([result.code, result.timedOut], [0, false]);
  }
});
