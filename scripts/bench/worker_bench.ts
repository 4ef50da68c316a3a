// deno-lint-ignore-file camelcase -- field names are the wire's own
/**
 * Figures of the worker: ingest, push, round trip, asks, memory.
 *
 * @module
 */

import {
  connect,
  encodeMessage,
  FrameLog,
  MessageReader,
  parseLine,
} from "@bulkhead/worker";
import { LineReader } from "../../worker/line_reader.ts";
import { type BenchCase, median, percentile, ratio } from "./harness.ts";

const CONFIG = new URL("../../deno.json", import.meta.url).pathname;
const CLI = new URL("../../worker/cli.ts", import.meta.url).pathname;
const CHUNK = 65_536;

/** A session's output: mostly deltas, with tool results, messages and results between; CJK, emoji, escapes. */
function corpus(lines: number): Uint8Array<ArrayBuffer> {
  const session = "4ee2c66c-836c-4c0e-b9d0-386917c1a891";
  const tail = {
    session_id: session,
    parent_tool_use_id: null,
    uuid: "527d1061-f248-43dd-ad69-3e41396680f6",
  };
  const text = (at: number) =>
    at % 9 === 0
      ? `漢字 and 😀 ${at} \\"x\\" \u2028`
      : `some more words of the reply ${at}\n`;
  const delta = (at: number) => ({
    type: "stream_event",
    event: {
      type: "content_block_delta",
      index: 0,
      delta: { type: "text_delta", text: text(at) },
    },
    ...tail,
  });
  const assistant = (at: number) => ({
    type: "assistant",
    message: {
      id: `msg_${at}`,
      role: "assistant",
      content: [{ type: "text", text: text(at).repeat(10) }],
      usage: { input_tokens: 10, output_tokens: 5 },
    },
    ...tail,
  });
  const result = (at: number) => ({
    type: "user",
    message: {
      role: "user",
      content: [{
        type: "tool_result",
        tool_use_id: `t${at}`,
        content: "a line of output\n".repeat(180),
      }],
    },
    ...tail,
  });
  const out: string[] = [];
  for (let at = 0; at < lines; at++) {
    const kind = at % 25;
    out.push(
      JSON.stringify(
        kind < 21
          ? delta(at)
          : kind < 23
          ? assistant(at)
          : kind === 23
          ? result(at)
          : {
            type: "system",
            subtype: "status",
            status: "requesting",
            ...tail,
          },
      ),
    );
  }
  return new TextEncoder().encode(out.join("\n") + "\n");
}

function streamOf(bytes: Uint8Array): ReadableStream<Uint8Array> {
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      if (at >= bytes.length) {
        controller.close();
        return;
      }
      controller.enqueue(bytes.subarray(at, at + CHUNK));
      at += CHUNK;
    },
  });
}

/** Split at newlines over bytes, decode each line, parse it, keep nothing. */
async function bareIngest(stream: ReadableStream<Uint8Array>): Promise<number> {
  const decoder = new TextDecoder();
  let held = new Uint8Array(0);
  let count = 0;
  const reader = stream.getReader();
  for (let step = await reader.read(); !step.done; step = await reader.read()) {
    const chunk = step.value;
    let bytes = chunk;
    if (held.length > 0) {
      bytes = new Uint8Array(held.length + chunk.length);
      bytes.set(held);
      bytes.set(chunk, held.length);
    }
    let start = 0;
    for (
      let end = bytes.indexOf(10);
      end >= 0;
      end = bytes.indexOf(10, start)
    ) {
      const value: unknown = JSON.parse(
        decoder.decode(bytes.subarray(start, end)),
      );
      if (value !== null) count++;
      start = end + 1;
    }
    held = bytes.slice(start);
  }
  return count;
}

async function ourIngest(stream: ReadableStream<Uint8Array>): Promise<number> {
  const log = new FrameLog();
  const reader = new LineReader(stream, 67_108_864);
  for await (const batch of reader.batches()) {
    log.begin();
    for (const line of batch) {
      log.push({
        frame: parseLine(line.text).frame,
        raw: line.text,
        bytes: line.bytes,
      });
    }
  }
  return log.end;
}

async function ingest(): Promise<number> {
  const bytes = corpus(50_000);
  const slower = await ratio(
    () => ourIngest(streamOf(bytes)),
    () => bareIngest(streamOf(bytes)),
    { rounds: 21, warmUp: 4 },
  );
  return 1 / slower;
}

/** A bare server: reads whole messages and writes them back. */
const ECHO = `
const listener = Deno.listen({ transport: "unix", path: Deno.args[0] });
for await (const connection of listener) serve(connection);
async function serve(connection) {
  const buffer = new Uint8Array(65536);
  let held = 0;
  for (;;) {
    const read = await connection.read(buffer.subarray(held));
    if (read === null) break;
    held += read;
    while (held >= 4) {
      const length = new DataView(buffer.buffer).getUint32(0, true) + 4;
      if (held < length) break;
      await connection.write(buffer.subarray(0, length));
      buffer.copyWithin(0, length, held);
      held -= length;
    }
  }
}
`;

/** An agent that asks again and again and tells how long each answer took. */
const ASKER = `
const write = (value) => Deno.stdout.writeSync(new TextEncoder().encode(JSON.stringify(value) + "\\n"));
const buffer = new Uint8Array(65536);
await Deno.stdin.read(buffer);
const times = [];
for (let n = 0; n < 3000; n++) {
  const start = performance.now();
  write({ type: "control_request", request_id: "r" + n, request: { subtype: "can_use_tool", tool_name: "Write", input: { file_path: "src/a.txt", content: "x" }, tool_use_id: "t" + n } });
  await Deno.stdin.read(buffer);
  if (n >= 500) times.push(performance.now() - start);
}
write({ type: "result", subtype: "success", result: JSON.stringify(times) });
await Deno.stdin.read(buffer);
`;

interface Place extends AsyncDisposable {
  readonly dir: string;
  readonly socket: string;
  readonly pid: number;
}

/** A worker of its own process with an argv for its agent. */
async function worker(argv: string[], flags: string[] = []): Promise<Place> {
  const dir = await Deno.makeTempDir({ prefix: "bhwb" });
  const child = new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      `--config=${CONFIG}`,
      "--no-lock",
      "-A",
      ...flags,
      CLI,
      "--stream",
      "--short-id",
      "b",
      "--home",
      dir,
      "--cwd",
      dir,
      "--allow",
      "Write",
      "--",
      ...argv,
    ],
    stdin: "null",
    stdout: "null",
    stderr: "inherit",
  }).spawn();
  const socket = `${dir}/b/worker.sock`;
  await bound(socket);
  return {
    dir,
    socket,
    pid: child.pid,
    async [Symbol.asyncDispose]() {
      Deno.kill(child.pid, "SIGTERM");
      await child.status;
      await Deno.remove(dir, { recursive: true });
    },
  };
}

async function bound(socket: string): Promise<void> {
  for (;;) {
    try {
      (await Deno.connect({ transport: "unix", path: socket })).close();
      return;
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }
}

async function writeAll(
  connection: Deno.Conn,
  bytes: Uint8Array,
): Promise<void> {
  let at = 0;
  while (at < bytes.length) at += await connection.write(bytes.subarray(at));
}

/** Round trips on one connection, in milliseconds each. */
async function roundTrips(socket: string, count: number): Promise<number[]> {
  const connection = await Deno.connect({ transport: "unix", path: socket });
  const reader = new MessageReader(connection);
  const message = encodeMessage('{"id":1,"method":"stream.ping","params":{}}');
  const times: number[] = [];
  for (let at = 0; at < count; at++) {
    const start = performance.now();
    await writeAll(connection, message);
    await reader.next();
    times.push(performance.now() - start);
  }
  connection.close();
  return times;
}

async function rpc(): Promise<number> {
  await using ours = await worker(["sh", "-c", "cat >/dev/null"]);
  const file = `${ours.dir}/echo.js`;
  await Deno.writeTextFile(file, ECHO);
  const path = `${ours.dir}/echo.sock`;
  const echo = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-config", file, path],
    stdin: "null",
  }).spawn();
  try {
    await bound(path);
    const figures: number[] = [];
    for (let round = 0; round < 12; round++) {
      const mine = median(await roundTrips(ours.socket, 3000));
      const bare = median(await roundTrips(path, 3000));
      if (round >= 3) figures.push(mine / bare);
    }
    return median(figures);
  } finally {
    echo.kill("SIGKILL");
    await echo.status;
  }
}

/** The best of three: what else the machine does is not ours. */
async function asks(): Promise<number> {
  const figures: number[] = [];
  for (let round = 0; round < 3; round++) figures.push(await askRound());
  return Math.min(...figures);
}

async function askRound(): Promise<number> {
  const file = await Deno.makeTempFile({ suffix: ".js" });
  await Deno.writeTextFile(file, ASKER);
  try {
    await using place = await worker([
      Deno.execPath(),
      "run",
      "-A",
      "--no-config",
      file,
    ]);
    using client = await connect(place.socket);
    const sent = await client.writeTurn("go");
    const turn = await client.turn(sent.turn ?? "", 60_000);
    const times: unknown = turn.phase === "done"
      ? JSON.parse(turn.text ?? "[]")
      : [];
    return Array.isArray(times)
      ? percentile(times.map(Number), 0.99)
      : Number.NaN;
  } finally {
    await Deno.remove(file);
  }
}

/** Reads everything that comes on so many connections and counts the frames of one. */
const DRAIN = `
const [path, count, frames] = [Deno.args[0], Number(Deno.args[1]), Number(Deno.args[2])];
const hello = new TextEncoder().encode('{"id":1,"method":"stream.subscribe","params":{"cursor":0}}');
const message = new Uint8Array(4 + hello.length);
new DataView(message.buffer).setUint32(0, hello.length, true);
message.set(hello, 4);
await Promise.all(Array.from({ length: count }, async () => {
  const connection = await Deno.connect({ transport: "unix", path });
  await connection.write(message);
  const buffer = new Uint8Array(1 << 20);
  let tail = new Uint8Array(0);
  for (;;) {
    const read = await connection.read(buffer);
    if (read === null) break;
    const end = new Uint8Array([...tail, ...buffer.subarray(Math.max(0, read - 400), read)]);
    tail = end.slice(-400);
    if (new TextDecoder().decode(end).includes('"type_name":"last"')) break;
  }
  connection.close();
}));
`;

/** The same work without a worker: lines into frames, one JSON for each chunk, one write of it for each client. */
const BARE_PUSH = `
import { FrameLog, parseLine } from "@bulkhead/worker";
const [path, file, count] = [Deno.args[0], Deno.args[1], Number(Deno.args[2])];
const listener = Deno.listen({ transport: "unix", path });
const clients = [];
while (clients.length < count) {
  const client = await listener.accept();
  await client.read(new Uint8Array(4096));
  clients.push(client);
}
console.log("ready");
await Deno.stdin.read(new Uint8Array(16));
const child = new Deno.Command("cat", { args: [file], stdout: "piped" }).spawn();
const decoder = new TextDecoder();
let held = new Uint8Array(0);
for await (const chunk of child.stdout) {
  const bytes = new Uint8Array(held.length + chunk.length);
  bytes.set(held);
  bytes.set(chunk, held.length);
  let start = 0;
  const parts = [];
  for (let end = bytes.indexOf(10); end >= 0; end = bytes.indexOf(10, start)) {
    parts.push(JSON.stringify(parseLine(decoder.decode(bytes.subarray(start, end))).frame));
    start = end + 1;
  }
  held = bytes.slice(start);
  const out = new TextEncoder().encode('0000{"event":"frames","frames":[' + parts.join(",") + "]}");
  await Promise.all(clients.map(async (client) => {
    let at = 0;
    while (at < out.length) at += await client.write(out.subarray(at));
  }));
}
for (const client of clients) client.close();
listener.close();
`;

async function push(): Promise<number> {
  const dir = await Deno.makeTempDir({ prefix: "bhwp" });
  try {
    const data = `${dir}/data.jsonl`;
    // Long enough that it is the work that counts and not the warming up of the code, of which a worker has more.
    const lines = corpus(200_000);
    for (let part = 0; part < 4; part++) {
      await Deno.writeFile(data, lines, { append: true });
    }
    await Deno.writeTextFile(data, '{"type":"last"}\n', { append: true });
    await Deno.writeTextFile(`${dir}/drain.js`, DRAIN);
    await Deno.writeTextFile(`${dir}/bare.js`, BARE_PUSH);
    const drain = (path: string) =>
      new Deno.Command(Deno.execPath(), {
        args: ["run", "-A", "--no-config", `${dir}/drain.js`, path, "4"],
        stdout: "piped",
      }).spawn();
    const ours = async () => {
      await using place = await worker([
        "sh",
        "-c",
        `read go; cat '${data}'; cat >/dev/null`,
      ]);
      const clients = drain(place.socket);
      using client = await connect(place.socket);
      while ((await client.status()).clients < 5) {
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
      const start = performance.now();
      await client.writeTurn("go");
      await clients.output();
      return performance.now() - start;
    };
    const bare = async () => {
      const path = `${dir}/bare.sock`;
      const server = new Deno.Command(Deno.execPath(), {
        args: [
          "run",
          "-A",
          `--config=${CONFIG}`,
          "--no-lock",
          `${dir}/bare.js`,
          path,
          data,
          "4",
        ],
        stdin: "piped",
        stdout: "piped",
      }).spawn();
      while (!await Deno.lstat(path).then(() => true, () => false)) {
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
      const clients = drain(path);
      const ready = server.stdout.getReader();
      await ready.read();
      const go = server.stdin.getWriter();
      const start = performance.now();
      await go.write(new TextEncoder().encode("go\n"));
      await clients.output();
      const all = performance.now() - start;
      await go.close();
      await ready.cancel();
      await server.status;
      return all;
    };
    // The best of each side, in turns: what else the machine does only ever adds.
    let [least, mine] = [Infinity, Infinity];
    for (let round = 0; round < 5; round++) {
      least = Math.min(least, await bare());
      mine = Math.min(mine, await ours());
    }
    return least / mine;
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
}

/** Resident memory of a worker after ten million frames, in MiB. */
async function memory(): Promise<number | { skipped: string }> {
  if (Deno.build.os !== "linux") return { skipped: "reads /proc" };
  const line = JSON.stringify({
    type: "stream_event",
    event: {
      type: "content_block_delta",
      index: 0,
      delta: { type: "text_delta", text: "some words" },
    },
    session_id: "4ee2c66c-836c-4c0e-b9d0-386917c1a891",
    uuid: "527d1061-f248-43dd-ad69-3e41396680f6",
  });
  const script =
    `yes '${line}' | head -n 10000000; echo '{"type":"result"}'; cat >/dev/null`;
  await using place = await worker(["sh", "-c", script], [
    "--v8-flags=--max-semi-space-size=4",
  ]);
  using client = await connect(place.socket);
  while ((await client.status()).next < 10_000_001) {
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  const status = await Deno.readTextFile(`/proc/${place.pid}/status`);
  return Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1] ?? Number.NaN) / 1024;
}

/** The figures. */
export const benches: BenchCase[] = [
  {
    area: "worker",
    name: "ingest (split, parse, ring) / bare split + JSON.parse",
    bound: 0.85,
    keep: "at least",
    unit: "×",
    measure: ingest,
  },
  {
    area: "worker",
    name: "push to 4 clients / bare batched writes",
    bound: 0.9,
    keep: "at least",
    unit: "×",
    noise: 0.15,
    measure: push,
  },
  {
    area: "worker",
    name: "round trip p50 / bare echo",
    bound: 1.25,
    keep: "at most",
    unit: "×",
    measure: rpc,
  },
  {
    area: "worker",
    name: "can_use_tool answered, p99",
    bound: 2,
    keep: "at most",
    unit: "ms",
    noise: 0.5,
    measure: asks,
  },
  {
    area: "worker",
    name: "resident memory after 10 million frames",
    bound: 120,
    keep: "at most",
    unit: "MiB",
    measure: memory,
  },
];
