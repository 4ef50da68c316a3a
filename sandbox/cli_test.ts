import { processIo } from "@bulkhead/sandbox/command";
import { assertEquals } from "@std/assert";
import { sandboxCommand } from "./cli.ts";
import { isAlive } from "./tree.ts";

async function command(...args: string[]): Promise<[number, string]> {
  let err = "";
  const io = {
    ...processIo(),
    out: () => {},
    err: (text: string) => void (err += text),
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
    [0, "warning: stdout is cut after 10 bytes; --max-bytes N keeps more\n"],
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
