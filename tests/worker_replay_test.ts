// deno-lint-ignore-file camelcase -- field names are the wire's own
/** Every captured session, line by line: the frame of each line, the state and the turns along the way. */

import { assert, assertEquals } from "@std/assert";
import {
  type Frame,
  FrameLog,
  parseFrame,
  type SessionState,
  TurnLedger,
  TurnState,
} from "@bulkhead/worker";
import type { Json } from "./support/worker_world.ts";

const DIRS = ["streams", "streams_own"].map((name) =>
  new URL(`./fixtures/cases/${name}/`, import.meta.url)
);

interface Capture {
  readonly name: string;
  readonly lines: readonly string[];
  /** What happened, in order: a line of the agent, a line to it, or the end. */
  readonly steps: readonly Step[];
}

type Step =
  | { readonly out: string }
  | { readonly in: Json }
  | {
    readonly exit: true;
  }
  | { readonly eof: true }
  | { readonly skip: true };

async function captures(): Promise<Capture[]> {
  const found = (await Promise.all(DIRS.map(capturesIn))).flat();
  return found.toSorted((a, b) => a.name < b.name ? -1 : 1);
}

async function capturesIn(dir: URL): Promise<Capture[]> {
  const found: Capture[] = [];
  for await (const entry of Deno.readDir(dir)) {
    const name = /^(.*)\.io\.jsonl$/.exec(entry.name)?.[1];
    if (name === undefined) continue;
    const text = await Deno.readTextFile(new URL(`${name}.jsonl`, dir)).catch(
      () => "",
    );
    const lines = text.split("\n").filter((line) => line !== "");
    const timeline = (await Deno.readTextFile(new URL(entry.name, dir))).split(
      "\n",
    ).filter((line) => line !== "");
    found.push({
      name,
      lines,
      steps: timeline.map((row) => stepOf(JSON.parse(row), lines)),
    });
  }
  return found;
}

function stepOf(row: Json, lines: readonly string[]): Step {
  if (row.dir === "out") return { out: lines[Number(row.line) - 1] ?? "" };
  if (row.dir === "in") {
    try {
      return { in: JSON.parse(String(row.l)) };
    } catch {
      return { skip: true };
    }
  }
  if (row.dir !== "ev") return { skip: true };
  if (row.l === "stdin.end") return { eof: true };
  return String(row.l).startsWith("exit") ? { exit: true } : { skip: true };
}

/** A wake-up by the clock starts a turn without any mark. */
const UNMARKED = new Set(["cron"]);

/** A line that may be a command of the agent's own. */
function isCommand(line: Json): boolean {
  const content: unknown = Object(line.message).content;
  return Array.isArray(content) &&
    content.some((part) => String(Object(part).text).startsWith("/"));
}

const KIND_OF: Record<string, string> = {
  system: "system",
  stream_event: "stream_event",
  assistant: "assistant",
  result: "result",
  user: "user_echo",
  control_request: "control_request",
};

/** What the contract asks of a frame, said again from the line itself. */
function checkFrame(line: string, frame: Frame, where: string): void {
  const value: Json = JSON.parse(line);
  const type = String(value.type);
  assertEquals(frame.kind, KIND_OF[type] ?? "other", where);
  if (frame.kind === "other") assertEquals(frame.type_name, type, where);
  if (typeof value.uuid === "string") {
    assertEquals(frame.uuid, value.uuid, where);
  }
  if (typeof value.parent_tool_use_id === "string") {
    assertEquals(frame.parent_tool_use_id, value.parent_tool_use_id, where);
  } else assert(frame.parent_tool_use_id === undefined, where);
  if (frame.kind === "system" || frame.kind === "result") {
    assertEquals(frame.subtype, value.subtype ?? "", where);
  }
  if (frame.kind === "result") {
    assertEquals(
      frame.result,
      typeof value.result === "string" ? value.result : null,
      where,
    );
    assertEquals(frame.is_error, value.is_error === true, where);
  }
  if (frame.kind === "control_request") {
    const request = Object(value.request);
    assertEquals(frame.request_id, value.request_id, where);
    assertEquals([frame.subtype, frame.tool_name, frame.input], [
      request.subtype,
      request.tool_name ?? "",
      request.input ?? null,
    ], where);
  }
  if (frame.kind === "user_echo") {
    const content: unknown = Object(value.message).content;
    const hasResult = Array.isArray(content) &&
      content.some((block) => Object(block).type === "tool_result");
    if (value.isReplay === true) assertEquals(frame.source, "replay", where);
    else if (hasResult) assertEquals(frame.source, "tool_result", where);
    else {assert(
        frame.source !== "replay" && frame.source !== "tool_result",
        where,
      );}
  }
  if (frame.kind === "assistant") {
    const content: unknown = Object(value.message).content;
    const calls = Array.isArray(content)
      ? content.filter((block) => Object(block).type === "tool_use")
      : [];
    assertEquals((frame.tool_uses ?? []).length, calls.length, where);
  }
}

for (const capture of await captures()) {
  Deno.test(`replay: ${capture.name}: every line is the right frame and the log keeps it`, () => {
    const log = new FrameLog();
    for (const [at, raw] of capture.lines.entries()) {
      const frame = parseFrame(raw);
      checkFrame(raw, frame, `${capture.name}:${at + 1}`);
      assertEquals(parseFrame(JSON.stringify(JSON.parse(raw))), frame);
      log.push({ frame, raw });
    }
    assertEquals(log.since(0).entries.length, capture.lines.length);
  });

  Deno.test(`replay: ${capture.name}: state and turns are true at every step`, () => {
    const state = new TurnState();
    const turns = new TurnLedger({ replays: true });
    const open = new Map<string, string>();
    let written = 0;
    let results = 0;
    let closed = false;
    let ended = false;
    for (const [at, step] of capture.steps.entries()) {
      const where = `${capture.name}: step ${at + 1}`;
      if ("in" in step) {
        const line = step.in;
        if (line.type === "user") {
          const uuid = typeof line.uuid === "string" ? line.uuid : undefined;
          const id = uuid ?? `turn-${++written}`;
          if (turns.phase(id) === undefined) {
            turns.written(id, uuid !== undefined, isCommand(line));
          }
          state.turnsPending(turns.pending);
        } else if (line.type === "control_response") {
          const id = String(Object(line.response).request_id);
          open.delete(id);
          state.answered(id);
        }
      } else if ("out" in step) {
        const frame = parseFrame(step.out);
        if (
          frame.kind === "control_request" && frame.subtype === "can_use_tool"
        ) open.set(frame.request_id, frame.tool_name);
        if (
          frame.kind === "other" && frame.type_name === "control_cancel_request"
        ) open.delete(frame.request_id ?? "");
        state.apply(frame);
        const outcome = turns.apply(frame);
        if (frame.kind === "result") {
          results++;
          assert(outcome !== undefined, where);
          if (outcome.selfStarted && !UNMARKED.has(capture.name)) {
            assert(frame.origin !== undefined || frame.num_turns === 0, where);
          }
        }
        state.turnsPending(turns.pending);
      } else if ("eof" in step) closed = true;
      else if ("exit" in step) {
        ended = true;
        open.clear();
        state.ended();
        turns.ended();
      }
      // Once it cannot be answered any more, the agent goes on by itself.
      if (closed) open.clear();
      else {
        const asked = [...state.asks].toSorted();
        assertEquals(asked, [...open.keys()].toSorted(), where);
        if (open.size > 0) assertEquals(state.state, "requires_action", where);
      }
      if (turns.pending > 0 && open.size === 0 && !ended) {
        assert(
          state.state === "running" || state.state === "requires_action",
          where,
        );
      }
      assert(!(state.quiescent && (open.size > 0 || turns.pending > 0)), where);
    }
    assertEquals(
      results,
      capture.lines.filter((line) => parseFrame(line).kind === "result").length,
    );
    assert(ended, "every capture ends");
    assertEquals(state.state, "dead");
  });

  Deno.test(`replay: ${capture.name}: never at rest between the start of a turn and its result`, () => {
    // Without what was written, and without our answers: only what the agent itself shows.
    const state = new TurnState();
    let within = false;
    for (const [at, raw] of capture.lines.entries()) {
      const frame = parseFrame(raw);
      state.apply(frame);
      if (frame.kind === "system" && frame.subtype === "init") within = true;
      if (frame.kind === "result") within = false;
      const told =
        frame.kind === "system" && frame.subtype === "session_state_changed"
          ? frame.state
          : undefined;
      const where = `${capture.name}:${at + 1}`;
      if (within) assert(state.state !== "idle", where);
      if (told !== undefined) assertEquals(state.state, told, where);
    }
    const last: SessionState = state.state;
    if (capture.lines.length > 0 && !within) {
      assertEquals(last, "idle", capture.name);
    }
  });
}

async function replayed(name: string) {
  const capture = (await captures()).find((found) => found.name === name);
  assert(capture !== undefined);
  const state = new TurnState();
  const turns = new TurnLedger({
    replays: true,
    tellsState: capture.lines.some((line) =>
      line.includes("session_state_changed")
    ),
  });
  const outcomes = [];
  const rests: boolean[] = [];
  let written = 0;
  for (const step of capture.steps) {
    if ("in" in step && step.in.type === "user") {
      const uuid = step.in.uuid;
      const id = typeof uuid === "string" ? uuid : `t${++written}`;
      if (turns.phase(id) === undefined) {
        turns.written(id, typeof uuid === "string", isCommand(step.in));
      }
    }
    if ("in" in step && step.in.type === "control_response") {
      state.answered(String(Object(step.in.response).request_id));
    }
    if ("out" in step) {
      const frame = parseFrame(step.out);
      state.apply(frame);
      const outcome = turns.apply(frame);
      if (outcome !== undefined) outcomes.push(outcome);
      state.turnsPending(turns.pending);
      if (frame.kind === "result") rests.push(state.quiescent);
    }
  }
  return { state, turns, outcomes, rests };
}

Deno.test("replay: a background task holds the session until it is done, and its turn is nobody's", async () => {
  for (const name of ["bash_background", "session_state_events"]) {
    const { outcomes, state, rests } = await replayed(name);
    assertEquals(
      outcomes.map((outcome) => outcome.selfStarted),
      [false, true],
      name,
    );
    // At the first result the task still runs; at the last one nothing does, once the agent has said so.
    assertEquals(rests[0], false, name);
    assertEquals([state.tasks.size, state.quiescent], [0, true], name);
  }
});

Deno.test("replay: two queued turns have an outcome each, in order, and the cost of each alone", async () => {
  const { outcomes, turns } = await replayed("two_turns_queued");
  const [one, two] = [
    "11111111-1111-4111-8111-111111111111",
    "22222222-2222-4222-8222-222222222222",
  ];
  assertEquals(outcomes.map((outcome) => [outcome.turns, outcome.text]), [[[
    one,
  ], "aaaa bbbb cccc"], [[two], "reply two"]]);
  assertEquals(outcomes.map((outcome) => outcome.costUsd?.toFixed(6)), [
    "0.000175",
    "0.000175",
  ]);
  assertEquals([turns.pending, turns.finished], [0, 2]);
});

Deno.test("replay: outcomes are told apart", async () => {
  const outcome = async (name: string) =>
    (await replayed(name)).outcomes.map((found) => found.outcome);
  assertEquals(await outcome("plain"), ["completed"]);
  assertEquals(await outcome("interrupt_open_ask"), ["aborted", "completed"]);
  assertEquals(await outcome("max_turns_1"), ["max_turns", "max_turns"]);
  assertEquals(await outcome("api_error_429"), ["error"]);
  assertEquals(await outcome("resume_unknown"), ["error"]);
  assertEquals(
    (await replayed("tool_deny")).outcomes[0]?.denied.map((call) => call.tool),
    ["Write"],
  );
});

Deno.test("replay: every result of the captures of our own counts for the turns it is told of", async () => {
  const told: Record<string, Json> = JSON.parse(
    await Deno.readTextFile(
      new URL("./fixtures/cases/streams_own/outcomes.json", import.meta.url),
    ),
  );
  assert(Object.keys(told).length > 50);
  for (const [name, expected] of Object.entries(told)) {
    const { outcomes, state, turns } = await replayed(name);
    const found = {
      outcomes: outcomes.map(({ turns, outcome, selfStarted }) =>
        [outcome, ...turns, ...selfStarted ? ["by itself"] : []].join(" ")
      ),
      tasks: state.tasks.size,
      wakes: state.wakes,
      pending: turns.pending,
      state: state.state,
    };
    assertEquals(found, { ...found, ...expected }, name);
  }
});
