/**
 * Ten thousand calls through the served command line: memory flat, no process, descriptor or file left.
 */
import { assert, assertEquals } from "@std/assert";
import { fromFileUrl } from "@std/path";
import { TextLineStream } from "@std/streams";
import { installPlugin } from "@bulkhead/plugins";

const CLI = fromFileUrl(new URL("../plugins/cli.ts", import.meta.url));
const CONFIG = fromFileUrl(new URL("../deno.json", import.meta.url));
/** The allocator takes what it wants within the first few thousand spawns, then nothing more. */
const WARM_UP = 8_000;
const CALLS = 10_000;
/**
 * How often the calls may count as warm-up after all: on a busy machine the allocator
 * takes its last piece late, while a leak grows in each of them.
 */
const MAX_BLOCKS = 3;
const AT_ONCE = 4;

async function names(dir: string): Promise<string[]> {
  const found: string[] = [];
  for await (const { name } of Deno.readDir(dir)) found.push(name);
  return found.sort();
}

/** The most memory a process has had so far, in KiB. */
async function peakOf(pid: number): Promise<number> {
  const status = await Deno.readTextFile(`/proc/${pid}/status`);
  return Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]);
}

async function descriptors(pid: number): Promise<number> {
  return (await names(`/proc/${pid}/fd`)).length;
}

/** Live processes that were started with this mark in their environment. */
async function marked(mark: string): Promise<string[]> {
  const found: string[] = [];
  for (const pid of await names("/proc")) {
    if (!/^\d+$/.test(pid)) continue;
    const environ = await Deno.readTextFile(`/proc/${pid}/environ`).catch(() =>
      ""
    );
    if (environ.includes(mark)) found.push(pid);
  }
  return found;
}

Deno.test({
  name:
    "plugins serve: 10 000 calls, failing and aborted ones among them, leave memory flat and nothing behind",
  ignore: Deno.build.os !== "linux",
  async fn() {
    const dir = await Deno.realPath(await Deno.makeTempDir());
    const mark = `BULKHEAD_ENDURANCE=${dir}`;
    await Deno.mkdir(`${dir}/demo`);
    await Deno.mkdir(`${dir}/home`);
    await Deno.mkdir(`${dir}/ws`);
    await Deno.mkdir(`${dir}/tmp`);
    await Deno.writeTextFile(
      `${dir}/demo/plugin.toml`,
      `name = "demo"
[[tools]]
name = "cat"
command = "cat"
env = ["BULKHEAD_ENDURANCE"]
[[tools]]
name = "fail"
command = "sh"
args = ["-c", "echo no >&2; exit 3"]
env = ["BULKHEAD_ENDURANCE"]
[[tools]]
name = "hang"
command = "sh"
args = ["-c", "sleep 600 & sleep 600"]
env = ["BULKHEAD_ENDURANCE"]
`,
    );
    await Deno.writeTextFile(
      `${dir}/home/config.toml`,
      '[capabilities.plugins]\nenabled = true\nsandbox = "off"\n[capabilities.trust]\nenabled = true\n',
    );
    await installPlugin(`${dir}/demo`, {
      home: `${dir}/home`,
      sandbox: "off",
      ask: () => "always",
    });
    const server = new Deno.Command(Deno.execPath(), {
      args: [
        "run",
        "-A",
        "--no-prompt",
        `--config=${CONFIG}`,
        CLI,
        "serve",
        "--home",
        `${dir}/home`,
      ],
      cwd: `${dir}/ws`,
      env: { BULKHEAD_ENDURANCE: dir, TMPDIR: `${dir}/tmp` },
      stdin: "piped",
      stdout: "piped",
      stderr: "inherit",
    }).spawn();
    const writer = server.stdin.getWriter();
    const encoder = new TextEncoder();
    const send = (message: object) =>
      writer.write(
        encoder.encode(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\n"),
      );
    const waiting = new Map<number, (message: string) => void>();
    const reading = (async () => {
      const lines = server.stdout.pipeThrough(new TextDecoderStream())
        .pipeThrough(new TextLineStream());
      for await (const line of lines) {
        const id = JSON.parse(line).id;
        waiting.get(id)?.(line);
        waiting.delete(id);
      }
    })();
    const call = (id: number, name: string) => {
      const answered = Promise.withResolvers<string>();
      waiting.set(id, answered.resolve);
      return send({
        id,
        method: "tools/call",
        params: { name: `plugin__demo__${name}`, arguments: { id } },
      })
        .then(() => answered.promise);
    };
    const hello = Promise.withResolvers<string>();
    waiting.set(0, hello.resolve);
    await send({
      id: 0,
      method: "initialize",
      params: {
        protocolVersion: "2025-06-18",
        capabilities: {},
        clientInfo: { name: "t", version: "1" },
      },
    });
    await hello.promise;
    let next = 1;
    let wrong = 0;
    const work = async (until: number) => {
      for (let id = next++; id <= until; id = next++) {
        if (id % 100 === 0) {
          // Cancelled while it runs: the protocol gives no answer then.
          void call(id, "hang");
          await send({
            method: "notifications/cancelled",
            params: { requestId: id },
          });
          waiting.delete(id);
          continue;
        }
        const failing = id % 10 === 0;
        const answer = await call(id, failing ? "fail" : "cat");
        if (
          failing
            ? !answer.includes('"isError":true')
            : !answer.includes(`{\\"id\\":${id}}`)
        ) wrong++;
      }
    };
    const together = (until: number) =>
      Promise.all(Array.from({ length: AT_ONCE }, () => work(until)));
    await together(WARM_UP);
    const fds = await descriptors(server.pid);
    let base = 0;
    let peak = await peakOf(server.pid);
    let calls = WARM_UP;
    for (let block = 0; block < MAX_BLOCKS && peak > base * 1.05; block++) {
      base = peak;
      await together(calls += CALLS);
      peak = await peakOf(server.pid);
    }
    assertEquals(wrong, 0);
    const after = await descriptors(server.pid);
    assert(
      Math.abs(after - fds) <= AT_ONCE * 4,
      `descriptors: ${fds} after the warm-up, ${after} now`,
    );
    await writer.close();
    const { code } = await server.status;
    await reading;
    assertEquals(code, 0);
    assertEquals(await marked(mark), [], "processes left");
    assertEquals(await names(`${dir}/tmp`), []);
    assertEquals(await names(`${dir}/home`), [
      "config.toml",
      "data",
      "plugins",
      "plugins.lock",
      "plugins.lock.json",
      "trust.json",
      "trust.json.lock",
    ]);
    assert(
      peak <= base * 1.05,
      `the peak grew from ${base} to ${peak} KiB`,
    );
    await Deno.remove(dir, { recursive: true });
  },
});
