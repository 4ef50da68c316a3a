/**
 * How fast frames are pushed to clients, beside a bare loop that does the same.
 *
 * @module
 */

import { connect } from "@bulkhead/worker";
import { corpus } from "./_worker_corpus.ts";
import { CONFIG, worker } from "./_worker_place.ts";

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

/**
 * Takes the figure.
 *
 * @returns The bare loop's time over ours.
 */
export async function push(): Promise<number> {
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
