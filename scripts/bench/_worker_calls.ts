/**
 * How fast calls are answered: a client's round trip, and an agent's question.
 *
 * @module
 */

import { connect, encodeMessage, MessageReader } from "@bulkhead/worker";
import { bound, worker } from "./_worker_place.ts";
import { median, percentile } from "./harness.ts";

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

/**
 * The median round trip over that of a bare echo.
 *
 * @returns The ratio.
 */
export async function rpc(): Promise<number> {
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

/**
 * The 99th percentile of the time until a question is answered; the best of three, what else the machine does is not
 * ours.
 *
 * @returns Milliseconds.
 */
export async function asks(): Promise<number> {
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
