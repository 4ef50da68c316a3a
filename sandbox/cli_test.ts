import { processIo } from "@bulkhead/sandbox/command";
import { assertEquals } from "@std/assert";
import { fromFileUrl } from "@std/path";
import { sandboxCommand } from "./cli.ts";
import { isAlive } from "./tree.ts";

async function command(...args: string[]): Promise<[number, string]> {
  let err = "";
  const io = {
    ...processIo(),
    stdin: new Blob().stream(),
    out: () => {},
    err: (text: string) => void (err += text),
    bytes: undefined,
  };
  return [await sandboxCommand(args, io), err];
}

Deno.test("sandbox run: a variable is named, not set, and nothing is left over", async () => {
  for (const name of ["", "A=B"]) {
    assertEquals(await command("run", "--env", name, "--", "true"), [
      2,
      `error: Cannot hand on a variable: "${name}" is not the name of one; --env NAME takes the value that it has here\n`,
    ]);
  }
  assertEquals(await command("run", "ls", "--", "true"), [
    2,
    'error: Cannot run: "ls" is left over; sandbox run -- ls\n',
  ]);
});

Deno.test("sandbox run: what is cut, too late or killed is told", async () => {
  const off = ["run", "--isolation", "off"];
  assertEquals(
    await command(
      ...off,
      "--max-bytes",
      "10",
      "--",
      "sh",
      "-c",
      "echo 0123456789",
    ),
    [
      0,
      "warning: stdout is cut after 10 bytes; --max-bytes N passes more on\n",
    ],
  );
  assertEquals(
    await command(...off, "--timeout-ms", "20", "--", "sleep", "100"),
    [
      124,
      'error: Cannot wait for "sleep": it ran longer than 20 ms and was killed; --timeout-ms N gives it more, 0 all the time it takes\n',
    ],
  );
  assertEquals(await command(...off, "--", "sh", "-c", "kill -9 $$"), [
    1,
    'error: "sh" was ended by SIGKILL\n',
  ]);
});

/** The command line in a process of its own. */
function start(script: string): Deno.ChildProcess {
  const cli = fromFileUrl(new URL("./cli.ts", import.meta.url));
  return new Deno.Command(Deno.execPath(), {
    args: [
      ...["run", "-A", "--no-check", cli, "run", "--isolation", "off"],
      ...["--", "sh", "-c", script],
    ],
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
}

Deno.test("sandbox run: what it reads and writes is passed through as it comes, every byte", async () => {
  const child = start("echo ready; read -r line; echo $line; head -c 3000000");
  const writer = child.stdin.getWriter();
  const reader = child.stdout.getReader();
  const first = await reader.read();
  assertEquals(new TextDecoder().decode(first.value), "ready\n");
  await writer.write(new TextEncoder().encode("go\n"));
  const second = await reader.read();
  assertEquals(new TextDecoder().decode(second.value), "go\n");
  reader.releaseLock();
  const bytes = crypto.getRandomValues(new Uint8Array(60_000));
  const sent = (async () => {
    for (let at = 0; at < 3_000_000; at += bytes.length) {
      await writer.write(bytes);
    }
  })();
  const { code, stdout } = await child.output();
  await sent;
  await writer.close().catch(() => {});
  assertEquals([code, stdout.length], [0, 3_000_000]);
  for (let at = 0; at < stdout.length; at += bytes.length) {
    assertEquals(stdout.subarray(at, at + bytes.length), bytes);
  }
});

Deno.test("sandbox run: it ends when nobody reads on, and while its input stays open", async () => {
  const floods = start("yes");
  const reader = floods.stdout.getReader();
  await reader.read();
  await reader.cancel();
  assertEquals((await floods.status).code, 141);
  await floods.stderr.cancel();
  await floods.stdin.close();
  const ends = start("exit 3");
  assertEquals((await ends.status).code, 3);
  await Promise.all([ends.stdout.cancel(), ends.stderr.cancel()]);
  await ends.stdin.close();
});

Deno.test({
  name: "sandbox run: a signal ends what it started, then itself",
  ignore: Deno.build.os === "windows",
  async fn() {
    const dir = await Deno.makeTempDir();
    for (
      const [signal, code] of [["SIGINT", 130], ["SIGHUP", 129]] as const
    ) {
      const fifo = `${dir}/${signal}`;
      await new Deno.Command("mkfifo", { args: [fifo] }).output();
      const host = new Deno.Command(Deno.execPath(), {
        args: [
          ...[
            "run",
            "-A",
            "--no-check",
            new URL("cli.ts", import.meta.url).href,
          ],
          ...["run", "--isolation", "off", "--timeout-ms", "0", "--"],
          ...["sh", "-c", `sleep 1000 & echo $! > ${fifo}; wait`],
        ],
        stdin: "null",
        stdout: "null",
        stderr: "null",
      }).spawn();
      using pipe = await Deno.open(fifo, { read: true, write: true });
      // A host that ends too soon must not be waited for.
      host.status.then(() => pipe.write(new TextEncoder().encode("0\n")));
      const said = new Uint8Array(32);
      const length = await pipe.read(said) ?? 0;
      const sleeper = Number(
        new TextDecoder().decode(said.subarray(0, length)),
      );
      host.kill(signal);
      assertEquals((await host.status).code, code);
      assertEquals(await isAlive(sleeper), false);
    }
    await Deno.remove(dir, { recursive: true });
  },
});
