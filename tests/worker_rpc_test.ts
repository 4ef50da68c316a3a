// deno-lint-ignore-file camelcase -- field names are the wire's own
/** Many clients of one worker: push, long poll, queue, bounds, misbehaviour. */

import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import {
  argvDriver,
  connect,
  encodeMessage,
  RpcError,
  StreamJsonDriver,
  type WatchEvent,
  type Worker,
  type WorkerClient,
} from "@bulkhead/worker";
import {
  FAKE_EMITTER,
  INIT,
  type Json,
  SeedClient,
  WorkerWorld,
} from "./support/worker_world.ts";

/** An agent that writes `count` numbered results for each line it gets. */
const counter = (count: number) => `
${INIT}
n=0
while IFS= read -r line; do
  i=0
  while [ $i -lt ${count} ]; do
    printf '{"type":"x%d"}\\n' $n
    n=$((n+1)); i=$((i+1))
  done
  printf '%s\\n' '{"type":"result","subtype":"success"}'
done
`;

/** An agent that asks before it is done, and tells what it got. */
const ASKER = `
${INIT}
n=0
while IFS= read -r line; do
  n=$((n+1))
  printf '{"type":"control_request","request_id":"ask-%d","request":{"subtype":"can_use_tool","tool_name":"Write","input":{"file_path":"a.txt"},"tool_use_id":"t%d"}}\\n' $n $n
  IFS= read -r resp
  printf '%s\\n' "$resp"
  printf '%s\\n' '{"type":"result","subtype":"success","is_error":false,"result":"done"}'
done
`;

async function collect(
  client: WorkerClient,
  until: (event: WatchEvent) => boolean,
  cursor = 0,
): Promise<WatchEvent[]> {
  const events: WatchEvent[] = [];
  for await (const event of client.watch({ cursor })) {
    events.push(event);
    if (until(event)) break;
  }
  return events;
}

const isResult = (event: WatchEvent) =>
  event.type === "frames" &&
  event.frames.some((frame) => frame.kind === "result");

Deno.test("worker: a client library call per method", async () => {
  await using world = await WorkerWorld.make();
  await using worker = await world.script(FAKE_EMITTER);
  using client = await connect(worker.socketPath);
  await client.ping();
  const sent = await client.writeTurn("hi");
  assert(sent.turn !== undefined && sent.written > 0 && !sent.repeated);
  const turn = await client.turn(sent.turn, 60_000);
  assert(turn.phase === "done");
  assertEquals([turn.outcome, turn.text, turn.denied], [
    "completed",
    "reply-text",
    [],
  ]);
  const read = await client.readFrames(0, { raw: true });
  assertEquals([read.next, read.gap, read.more, read.childAlive], [
    5,
    false,
    false,
    true,
  ]);
  assertEquals(read.frames.at(-1)?.raw?.startsWith('{"type":"result"'), true);
  const status = await client.status();
  assertEquals([
    status.agent,
    status.state,
    status.childAlive,
    status.childReady,
  ], ["argv", "idle", true, true]);
  assertEquals(await client.asks(), []);
  assertEquals(await client.answerAsk("nope", { decision: "allow" }), false);
  const error = await assertRejects(() => client.turn("nope"), RpcError);
  assertEquals(error.code, "invalid_params");
  await client.shutdown();
  assertEquals((await worker.ended).reason, "shutdown");
  await assertRejects(() => client.ping(), Deno.errors.ConnectionReset);
});

Deno.test("worker: subscribers get every frame once and in order, from any cursor", async () => {
  await using world = await WorkerWorld.make();
  await using worker = await world.script(counter(400));
  using client = await connect(worker.socketPath);
  const early = collect(client, isResult);
  await client.writeTurn("go");
  const late = client.readFrames(0, { waitMs: 1000 }).then(() =>
    collect(client, isResult, 7)
  );
  for (const [events, from] of [[await early, 0], [await late, 7]] as const) {
    let next: number = from;
    const names: string[] = [];
    for (const event of events) {
      if (event.type !== "frames") continue;
      assertEquals([event.from, event.gap], [next, false]);
      next = event.next;
      assertEquals(event.frames.length, event.next - event.from);
      for (const frame of event.frames) {
        if (frame.kind === "other") names.push(frame.type_name);
      }
    }
    const expected = Array.from({ length: 400 }, (_, at) => `x${at}`).slice(
      Math.max(0, from - 1),
    );
    assertEquals(names, expected);
  }
});

Deno.test("worker: a watcher is told the state, the asks and the end", async () => {
  await using world = await WorkerWorld.make();
  const worker = await world.script(ASKER, { asks: "wait" });
  using client = await connect(worker.socketPath);
  const events: string[] = [];
  const watching = (async () => {
    for await (const event of client.watch()) {
      if (event.type === "state") events.push(event.state);
      if (event.type === "asks") {
        events.push(`${event.asks.length} asks`);
        const [open] = event.asks;
        if (open !== undefined) {
          await client.answerAsk(open.id, { decision: "allow" });
        }
      }
      if (event.type === "end") events.push(event.reason);
    }
  })();
  const sent = await client.writeTurn("go");
  await client.turn(sent.turn ?? "", 60_000);
  await worker.end();
  await watching;
  assertEquals(events.at(-1), "shutdown");
  assert(
    events.includes("requires_action") && events.includes("1 asks") &&
      events.includes("0 asks"),
    events.join(),
  );
  assertEquals(events.at(-2), "dead");
});

Deno.test("worker: a long poll waits for the next frame and for nothing else", async () => {
  await using world = await WorkerWorld.make();
  await using worker = await world.script(FAKE_EMITTER);
  using client = await SeedClient.connect(worker.socketPath);
  await client.framesUntil("system");
  const empty = await client.call("stream.read_frames", {
    cursor: 1,
    wait_ms: 50,
  });
  assertEquals([empty.frames, empty.next], [[], 1]);
  using other = await SeedClient.connect(worker.socketPath);
  const waiting = client.call("stream.read_frames", {
    cursor: 1,
    wait_ms: 60_000,
  });
  assertEquals(await other.call("stream.ping"), { pong: true });
  await other.call("stream.write_turn", { text: "x" });
  const read = await waiting;
  assert(Array.isArray(read.frames) && read.frames.length > 0);
  const last = other.call("stream.read_frames", {
    cursor: 1000,
    wait_ms: 60_000,
  });
  await worker.end();
  assertEquals((await last).child_alive, false);
});

Deno.test("worker: requests behind a long poll on one connection are answered first", async () => {
  await using world = await WorkerWorld.make();
  await using worker = await world.script(FAKE_EMITTER);
  using client = await SeedClient.connect(worker.socketPath);
  await client.framesUntil("system");
  await client.bytes(
    encodeMessage(
      '{"id":71,"method":"stream.read_frames","params":{"cursor":1,"wait_ms":60000}}',
    ),
  );
  await client.bytes(encodeMessage('{"id":72,"method":"stream.ping"}'));
  assertEquals((await client.next())?.id, 72);
  await client.bytes(
    encodeMessage(
      '{"id":73,"method":"stream.write_turn","params":{"text":"x"}}',
    ),
  );
  const ids = [(await client.next())?.id, (await client.next())?.id];
  assertEquals(ids.toSorted(), [71, 73]);
});

Deno.test("worker: an ask waits for a client that answers, outlives it, and is in the events", async () => {
  await using world = await WorkerWorld.make();
  await using worker = await world.script(ASKER);
  using client = await SeedClient.connect(worker.socketPath);
  // Nobody who answers is there: the seed's outcome.
  await client.call("stream.write_turn", { text: "one" });
  let read = await client.framesUntil("result");
  const answer = read.frames.find((frame) => frame.kind === "other");
  assertEquals(answer?.subtype, "success");
  {
    using answering = await SeedClient.connect(worker.socketPath);
    await answering.call("stream.asks", { answers: true });
    await client.call("stream.write_turn", { text: "two" });
    read = await client.framesUntil("control_request", read.cursor);
  }
  const asks = await client.call("stream.asks");
  assert(Array.isArray(asks.asks));
  assertEquals(
    asks.asks.map((
      open,
    ) => [open.id, open.tool_name, open.input, open.tool_use_id]),
    [
      ["ask-2", "Write", { file_path: "a.txt" }, "t2"],
    ],
  );
  assertEquals((await client.call("stream.status")).state, "requires_action");
  for (
    const bad of [{}, { id: "ask-2" }, { id: "ask-2", decision: "maybe" }, {
      id: 7,
      decision: "allow",
    }]
  ) {
    const { error } = await client.request("stream.answer_ask", bad);
    assertEquals(Object(error).code, "invalid_params");
  }
  assertEquals(
    await client.call("stream.answer_ask", { id: "ask-2", decision: "allow" }),
    { answered: true },
  );
  assertEquals(
    await client.call("stream.answer_ask", { id: "ask-2", decision: "deny" }),
    { answered: false },
  );
  await client.framesUntil("result", read.cursor);
  await worker.end();
  assertEquals(
    (await world.events("agent_ask_opened")).map((event) => event.data.ask_id),
    ["ask-2"],
  );
  assertEquals(
    (await world.events("agent_ask_settled")).map((
      event,
    ) => [event.data.end, event.data.decision]),
    [
      ["answered", "allow"],
    ],
  );
});

Deno.test("worker: a client that answers gets its changed arguments through", async () => {
  await using world = await WorkerWorld.make();
  await using worker = await world.script(ASKER, { asks: "wait" });
  using client = await SeedClient.connect(worker.socketPath);
  await client.call("stream.write_turn", { text: "one" });
  await client.framesUntil("control_request");
  const input = { file_path: "b.txt" };
  await client.call("stream.answer_ask", {
    id: "ask-1",
    decision: "allow",
    updated_input: input,
  });
  await client.framesUntil("result");
  const raw = worker.session.log.since(0).entries.find(({ raw }) =>
    raw.includes("updatedInput")
  )?.raw;
  assertStringIncludes(raw ?? "", JSON.stringify(input));
});

Deno.test("worker: an answer over the size of a message is cut, goes on, and one huge frame is told by its kind", async () => {
  await using world = await WorkerWorld.make();
  const half = "é".repeat(1_500_000);
  const file = `${world.root}/big.jsonl`;
  const line = (text: string) =>
    JSON.stringify({ type: "assistant", message: { content: text } });
  const lines = Array.from({ length: 8 }, (_, at) => line(`${at}${half}`));
  await Deno.writeTextFile(
    file,
    [...lines, line("x".repeat(20_000_000)), '{"type":"result"}', ""].join(
      "\n",
    ),
  );
  await using worker = await world.argv([
    "sh",
    "-c",
    `cat '${file}'; cat >/dev/null`,
  ], { frames: { maxBytes: 1e9 } });
  using client = await connect(worker.socketPath);
  const kinds: string[] = [];
  let cursor = 0;
  let rounds = 0;
  for (let done = false; !done; rounds++) {
    const read = await client.readFrames(cursor, { waitMs: 30_000 });
    assertEquals(read.gap, false);
    assertEquals(read.next, cursor + read.frames.length);
    cursor = read.next;
    for (const frame of read.frames) {
      kinds.push(frame.kind === "assistant" ? `a${frame.text[0]}` : frame.kind);
    }
    done = kinds.includes("result");
  }
  assertEquals(kinds, [
    "a0",
    "a1",
    "a2",
    "a3",
    "a4",
    "a5",
    "a6",
    "a7",
    "ax",
    "result",
  ]);
  assert(rounds >= 2);
  const pushed = await collect(client, isResult);
  assertEquals(
    pushed.filter((event) => event.type === "frames").flatMap((event) =>
      event.frames
    ).length,
    10,
  );
});

Deno.test("worker: questions and an outcome beyond the size of a message are told all the same", async () => {
  await using world = await WorkerWorld.make();
  const file = `${world.root}/big.jsonl`;
  const ask = (at: number) =>
    JSON.stringify({
      type: "control_request",
      request_id: `ask-${at}`,
      request: {
        subtype: "can_use_tool",
        tool_name: "Write",
        input: { content: "x".repeat(1_000_000) },
      },
    });
  const asks = Array.from({ length: 18 }, (_, at) => ask(at));
  const result = JSON.stringify({
    type: "result",
    subtype: "success",
    result: "é".repeat(9_000_000),
  });
  await Deno.writeTextFile(file, [...asks, ""].join("\n"));
  await Deno.writeTextFile(`${file}2`, `${result}\n`);
  await using worker = await world.script(
    `read go; cat '${file}'; for n in ${
      asks.map((_, at) => at).join(" ")
    }; do read answer; done; cat '${file}2'; cat >/dev/null`,
    { asks: "wait", deciders: [] },
  );
  using client = await connect(worker.socketPath);
  const watching = (async () => {
    for await (const event of client.watch()) {
      if (event.type === "asks" && event.asks.length === 18) return event.asks;
    }
    return [];
  })();
  const sent = await client.writeTurn("go");
  const open = (await watching).map((one) => one.id);
  assertEquals((await client.asks()).map((one) => one.id), open);
  assertEquals(open.length, 18);
  for (const id of open) await client.answerAsk(id, { decision: "deny" });
  const turn = await client.turn(sent.turn ?? "", 60_000);
  assert(turn.phase === "done");
  assertEquals([turn.outcome, turn.text?.slice(0, 3)], ["completed", "ééé"]);
});

Deno.test("worker: a client that does not read misses frames, is told so, and holds up nobody", async () => {
  await using world = await WorkerWorld.make();
  const file = `${world.root}/flood.jsonl`;
  const line = JSON.stringify({ type: "x", pad: "y".repeat(400) });
  // Less than is kept: whoever reads at all, however slowly, misses nothing of one round.
  const [rounds, perRound] = [30, 2000];
  await Deno.writeTextFile(file, `${line}\n`.repeat(perRound));
  await using worker = await world.argv([
    "sh",
    "-c",
    `while read go; do cat '${file}'; done`,
  ]);
  using slow = await SeedClient.connect(worker.socketPath);
  assertEquals(
    (await slow.call("stream.subscribe", { raw: true })).subscribed,
    true,
  );
  using quick = await connect(worker.socketPath);
  const events = quick.watch();
  let frames = 0;
  for (let round = 1; round <= rounds; round++) {
    await quick.writeTurn("go");
    while (frames < round * perRound) {
      const { value: event } = await events.next();
      if (event?.type !== "frames") continue;
      assertEquals([event.gap, event.from], [false, frames]);
      frames = event.next;
    }
  }
  await events.return();
  await quick.ping();
  const end = rounds * perRound;
  assertEquals(worker.session.log.end, end);
  let next = 0;
  let gaps = 0;
  while (next < end) {
    const event = await slow.next();
    if (event?.event !== "frames") continue;
    if (event.gap === true) gaps++;
    else assertEquals(event.from, next);
    assert(typeof event.next === "number" && event.next > next);
    next = event.next;
  }
  assert(gaps > 0);
});

Deno.test("worker: turns that the agent does not take are queued up to a bound, then it is busy", async () => {
  await using world = await WorkerWorld.make();
  const driver = new StreamJsonDriver({
    name: "deaf",
    argv: () => ["sh", "-c", "sleep 60"],
    gate: false,
    maxQueueBytes: 300_000,
  });
  const worker = await world.argv([], { driver });
  using client = await connect(worker.socketPath);
  const text = "x".repeat(100_000);
  let busy: unknown;
  for (let turn = 0; turn < 10 && busy === undefined; turn++) {
    await client.writeTurn(text).catch((error) => busy = error);
  }
  assert(busy instanceof RpcError);
  assertEquals(busy.code, "busy");
  await client.ping();
  assertEquals((await client.status()).pendingTurns, 2);
  const end = await worker.end();
  assertEquals([end.reason, end.agent.by], ["shutdown", "term"]);
});

Deno.test("worker: a turn that is wrong is refused before the agent sees it", async () => {
  await using world = await WorkerWorld.make();
  await using worker = await world.script(FAKE_EMITTER);
  using client = await SeedClient.connect(worker.socketPath);
  const bad = [
    {},
    { text: null },
    { text: "x", uuid: "no uuid" },
    { text: "x", uuid: 7 },
    { text: "x", images: {} },
    { text: "x", images: [{}] },
    { text: "x", images: [{ media_type: "text/html", data: "" }] },
    { text: "x", images: [{ media_type: "image/png", data: "a\nb" }] },
  ];
  for (const params of bad) {
    const { error } = await client.request("stream.write_turn", params);
    assertEquals(Object(error).code, "invalid_params", JSON.stringify(params));
  }
  await client.call("stream.write_turn", { text: 'a\nb\r\u2028\ud83d "q"' });
  assertEquals((await client.framesUntil("result")).frames.length, 5);
});

Deno.test("worker: the same id is written once", async () => {
  await using world = await WorkerWorld.make();
  await using worker = await world.script(FAKE_EMITTER);
  using client = await connect(worker.socketPath);
  const uuid = crypto.randomUUID();
  const first = await client.writeTurn("x", { uuid });
  const second = await client.writeTurn("x", { uuid });
  assertEquals([first.turn, first.repeated, second.repeated, second.written], [
    uuid,
    false,
    true,
    0,
  ]);
});

/** Sends something that is no request; the worker hangs up on it and on nobody else. */
async function hangsUp(
  worker: Worker,
  bytes: Uint8Array,
  end = false,
): Promise<Json | null> {
  using client = await SeedClient.connect(worker.socketPath);
  await client.bytes(bytes);
  if (end) await client.connection.closeWrite();
  const first = await client.next();
  assertEquals(first === null ? null : await client.next(), null);
  return first;
}

Deno.test("worker: garbage, half and oversize messages end their own connection only", async () => {
  await using world = await WorkerWorld.make();
  await using worker = await world.script(FAKE_EMITTER);
  using witness = await SeedClient.connect(worker.socketPath);
  const text = (value: string) => new TextEncoder().encode(value);
  assertEquals(await hangsUp(worker, text("GET / HTTP/1.1\r\n\r\n")), null);
  assertEquals(
    await hangsUp(worker, new Uint8Array([0xff, 0xff, 0xff, 0xff])),
    null,
  );
  assertEquals(await hangsUp(worker, new Uint8Array([1, 0, 0, 1])), null);
  assertEquals(
    await hangsUp(worker, new Uint8Array([9, 0, 0, 0, 0x7b]), true),
    null,
  );
  assertEquals(await hangsUp(worker, new Uint8Array([9, 0]), true), null);
  assertEquals(await hangsUp(worker, new Uint8Array([0, 0, 0, 0])), null);
  for (
    const body of [
      "nope",
      "[]",
      "{}",
      '{"id":-1,"method":"stream.ping"}',
      '{"id":"1","method":"stream.ping"}',
    ]
  ) {
    assertEquals(await hangsUp(worker, encodeMessage(body)), null, body);
  }
  const answer = await hangsUp(worker, encodeMessage('{"id":5,"params":{}}'));
  assertEquals([answer?.id, Object(answer?.error).code], [
    5,
    "malformed_frame",
  ]);
  const random = new Uint8Array(5000);
  for (let round = 0; round < 20; round++) {
    crypto.getRandomValues(random);
    using client = await SeedClient.connect(worker.socketPath);
    await client.bytes(random).catch(() => {});
  }
  assertEquals(await witness.call("stream.ping"), { pong: true });
  assertEquals((await witness.call("stream.status")).child_alive, true);
});

Deno.test("worker: a client that vanishes in the middle of anything leaves the session alone", async () => {
  await using world = await WorkerWorld.make();
  await using worker = await world.script(counter(500));
  for (let round = 0; round < 20; round++) {
    const client = await SeedClient.connect(worker.socketPath);
    await client.bytes(encodeMessage(`{"id":1,"method":"stream.subscribe"}`));
    await client.bytes(
      encodeMessage(
        `{"id":2,"method":"stream.write_turn","params":{"text":"x"}}`,
      ),
    );
    if (round % 2 === 0) await client.next();
    client[Symbol.dispose]();
  }
  using client = await connect(worker.socketPath);
  while ((await client.status()).pendingTurns > 0) {
    await client.readFrames((await client.status()).next, { waitMs: 100 });
  }
  assertEquals(await client.status().then((status) => status.childAlive), true);
});

Deno.test("worker: many clients at once are served side by side", async () => {
  await using world = await WorkerWorld.make();
  await using worker = await world.script(FAKE_EMITTER);
  const clients = await Promise.all(
    Array.from({ length: 50 }, () => connect(worker.socketPath)),
  );
  await Promise.all(clients.map((client) => client.ping()));
  await clients[0]?.writeTurn("x");
  const reads = await Promise.all(
    clients.map((client) => client.readFrames(4, { waitMs: 30_000 })),
  );
  assertEquals(new Set(reads.map((read) => read.next)).size, 1);
  for (const client of clients) client.close();
});

Deno.test("worker: frames() of the same process ends with the session and tells a gap", async () => {
  await using world = await WorkerWorld.make();
  const worker = await world.argv([
    "sh",
    "-c",
    'for n in 1 2 3 4 5 6; do echo \'{"type":"x"}\'; done',
  ], {
    driver: argvDriver([
      "sh",
      "-c",
      'for n in 1 2 3 4 5 6; do echo \'{"type":"x"}\'; done',
    ]),
    frames: { maxFrames: 4 },
  });
  await worker.ended;
  const seen: [number, boolean][] = [];
  for await (const { index, gap } of worker.frames()) seen.push([index, gap]);
  assertEquals(seen, [[2, true], [3, false], [4, false], [5, false]]);
});
