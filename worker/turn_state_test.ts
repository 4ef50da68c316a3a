// deno-lint-ignore-file camelcase -- field names are the wire's own
import { assertEquals } from "@std/assert";
import { parseFrame } from "./frame.ts";
import { TurnState } from "./turn_state.ts";

function after(...values: object[]): TurnState {
  const state = new TurnState();
  for (const value of values) state.apply(parseFrame(JSON.stringify(value)));
  return state;
}

const told = (state: string) => ({
  type: "system",
  subtype: "session_state_changed",
  state,
});
const result = { type: "result", subtype: "success" };
const ask = (id: string, tool = "t") => ({
  type: "control_request",
  request_id: id,
  request: {
    subtype: "can_use_tool",
    tool_name: "Write",
    input: {},
    tool_use_id: tool,
  },
});
const use = (id: string, name: string, input: object = {}) => ({
  type: "assistant",
  message: { content: [{ type: "tool_use", id, name, input }] },
});
const answer = (id: string, text = "", isError = false) => ({
  type: "user",
  message: {
    content: [{
      type: "tool_result",
      tool_use_id: id,
      content: text,
      is_error: isError,
    }],
  },
});

Deno.test("TurnState: nothing yet is rest, and so are a bare greeting and a result", () => {
  assertEquals(after().quiescent, true);
  assertEquals(after({ type: "system", subtype: "init" }).quiescent, true);
  assertEquals(after({ type: "assistant" }, result).quiescent, true);
});

Deno.test("TurnState: everything within a turn is work, system lines too", () => {
  const status = { type: "system", subtype: "status", status: "requesting" };
  for (
    const line of [
      { type: "user", message: { role: "user" } },
      { type: "stream_event", event: {} },
      { type: "assistant" },
      status,
      { type: "system", subtype: "api_retry" },
      { type: "system", subtype: "init", uuid: "u" },
      {
        type: "control_request",
        request_id: "r",
        request: { subtype: "hook_callback" },
      },
    ]
  ) {
    assertEquals(after(result, line).state, "running", JSON.stringify(line));
  }
});

Deno.test("TurnState: what comes after a result and is no turn leaves it at rest", () => {
  for (
    const line of [
      {
        type: "control_response",
        response: { subtype: "success", request_id: "mine" },
      },
      { type: "user", isReplay: true, message: { content: "again" } },
      {
        type: "user",
        isReplay: true,
        message: { content: "<local-command-stdout>x</local-command-stdout>" },
      },
      {
        type: "system",
        subtype: "status",
        status: null,
        permissionMode: "plan",
      },
      {
        type: "control_request",
        request_id: "r",
        request: { subtype: "mcp_message" },
      },
      { type: "keep_alive" },
    ]
  ) {
    assertEquals(after(result, line).state, "idle", JSON.stringify(line));
  }
});

Deno.test("TurnState: an unknown or malformed line within a turn changes nothing", () => {
  const state = after({ type: "assistant" }, { type: "brand_new" });
  state.apply(parseFrame("garbage"));
  assertEquals(state.state, "running");
});

Deno.test("TurnState: a last line that nobody understands holds the session of an agent that does not tell its state", () => {
  const unclear = (...lines: (object | string)[]) => {
    const state = new TurnState();
    for (const line of lines) {
      state.apply(
        parseFrame(typeof line === "string" ? line : JSON.stringify(line)),
      );
    }
    return state.quiescent;
  };
  for (const line of ["garbage", { type: "brand_new" }]) {
    assertEquals(unclear(line), false);
    assertEquals(unclear(result, line), false);
    assertEquals(unclear(result, line, result), true);
    assertEquals(unclear(told("idle"), line), true);
  }
  assertEquals(unclear(result, { type: "rate_limit_event" }), true);
});

Deno.test("TurnState: an agent that tells its state is believed", () => {
  assertEquals(after(told("running")).state, "running");
  assertEquals(
    after(told("running"), told("requires_action")).state,
    "requires_action",
  );
  assertEquals(
    after(told("running"), told("idle"), { type: "stream_event" }).state,
    "idle",
  );
  assertEquals(after(told("running"), result).state, "running");
  assertEquals(after(told("nonsense")).state, "idle");
});

Deno.test("TurnState: turns on their way are work", () => {
  const state = after(told("idle"));
  state.turnsPending(1);
  assertEquals([state.state, state.quiescent], ["running", false]);
});

Deno.test("TurnState: an ask is open until it is answered, withdrawn, or its call is over", () => {
  for (
    const close of [
      { type: "control_cancel_request", request_id: "r" },
      {
        type: "control_response",
        response: { subtype: "success", request_id: "r" },
      },
      answer("t"),
    ]
  ) {
    assertEquals(
      after({ type: "assistant" }, ask("r")).state,
      "requires_action",
    );
    assertEquals(
      after({ type: "assistant" }, ask("r"), close).state,
      "running",
      JSON.stringify(close),
    );
  }
  const two = after(
    told("running"),
    told("requires_action"),
    ask("a", "ta"),
    ask("b", "tb"),
  );
  two.answered("a");
  assertEquals(two.state, "requires_action");
  two.answered("b");
  assertEquals(two.state, "running");
  two.answered("b");
  assertEquals(two.state, "running");
  assertEquals(after(ask("r"), result).asks.size, 0);
});

Deno.test("TurnState: a background subagent's ask outlives the turn of the main thread", () => {
  const subagent = {
    type: "system",
    subtype: "task_started",
    task_id: "a1",
    task_type: "local_agent",
    tool_use_id: "t",
  };
  const asked = {
    type: "control_request",
    request_id: "r",
    request: {
      subtype: "can_use_tool",
      tool_name: "Write",
      input: {},
      tool_use_id: "ts",
      agent_id: "a1",
    },
  };
  const background = [
    use("t", "Task", { run_in_background: true }),
    subagent,
    answer("t", "launched"),
  ];
  for (const rest of [[result], [result, told("idle")]]) {
    const state = after(...background, asked, ...rest);
    assertEquals([state.state, [...state.asks]], ["requires_action", ["r"]]);
    state.answered("r");
    assertEquals([state.state, state.quiescent], ["idle", false]);
  }
  const over = {
    type: "system",
    subtype: "task_notification",
    task_id: "a1",
    status: "timed_out",
  };
  const state = after(...background, asked, result, over);
  assertEquals([state.asks.size, state.quiescent], [0, true]);
  // One in the foreground is over with the turn.
  assertEquals(after(asked, result).asks.size, 0);
});

Deno.test("TurnState: what a background subagent does is not the main thread's work", () => {
  const parent = { parent_tool_use_id: "t" };
  for (
    const line of [
      { type: "assistant", ...parent },
      { type: "stream_event", ...parent },
      { ...answer("ts"), ...parent },
      { type: "system", subtype: "task_progress", task_id: "a1" },
      {
        type: "control_request",
        request_id: "h",
        request: { subtype: "hook_callback", input: { agent_id: "a1" } },
      },
    ]
  ) {
    assertEquals(after(result, line).state, "idle", JSON.stringify(line));
    assertEquals(
      after({ type: "assistant" }, line).state,
      "running",
      JSON.stringify(line),
    );
  }
});

Deno.test("TurnState: background tasks hold it, whatever the agent says", () => {
  const started = {
    type: "system",
    subtype: "task_started",
    task_id: "k",
    task_type: "local_bash",
    tool_use_id: "t",
  };
  const background = [
    use("t", "Bash", { run_in_background: true }),
    started,
    answer("t", "running, ID: k"),
  ];
  const state = after(...background, result, told("idle"));
  assertEquals([state.state, state.quiescent, [...state.tasks]], [
    "idle",
    false,
    [["k", "local_bash"]],
  ]);
  for (
    const end of [
      {
        type: "system",
        subtype: "task_updated",
        task_id: "k",
        patch: { status: "completed" },
      },
      {
        type: "system",
        subtype: "task_updated",
        task_id: "k",
        patch: { status: "killed" },
      },
      {
        type: "system",
        subtype: "task_notification",
        task_id: "k",
        status: "stopped",
      },
    ]
  ) {
    assertEquals(
      after(...background, result, told("idle"), end).quiescent,
      true,
      JSON.stringify(end),
    );
  }
  const going = {
    type: "system",
    subtype: "task_updated",
    task_id: "k",
    patch: { status: "running" },
  };
  assertEquals(
    after(...background, result, told("idle"), going).quiescent,
    false,
  );
});

Deno.test("TurnState: a long foreground command is over with its answer, one that went to the background is not", () => {
  const started = {
    type: "system",
    subtype: "task_started",
    task_id: "k9",
    tool_use_id: "t",
  };
  assertEquals(
    after(use("t", "Bash"), started, answer("t", "output"), result).quiescent,
    true,
  );
  assertEquals(
    after(
      use("t", "Bash"),
      started,
      answer("t", "moved to the background as k9"),
      result,
    ).quiescent,
    false,
  );
});

Deno.test("TurnState: scheduled wake-ups hold it until they fire or are deleted", () => {
  const rest = [result, told("idle")];
  assertEquals(after(use("c", "CronCreate"), answer("c"), ...rest).wakes, 1);
  assertEquals(
    after(use("c", "CronCreate"), answer("c"), ...rest).quiescent,
    false,
  );
  assertEquals(
    after(use("c", "CronCreate"), answer("c", "no", true), ...rest).quiescent,
    true,
  );
  assertEquals(
    after(
      use("c", "CronCreate"),
      answer("c"),
      use("d", "CronDelete"),
      answer("d"),
      ...rest,
    ).quiescent,
    true,
  );
  const wake = [use("w", "ScheduleWakeup"), answer("w"), ...rest];
  assertEquals(after(...wake).quiescent, false);
  const init = { type: "system", subtype: "init", uuid: "u" };
  assertEquals(after(...wake, told("running"), init, ...rest).quiescent, true);
  const recurring = [
    use("c", "CronCreate", { recurring: true }),
    answer("c"),
    ...rest,
  ];
  assertEquals(
    after(...recurring, told("running"), init, ...rest).quiescent,
    false,
  );
});

Deno.test("TurnState: an agent that has ended is dead and asks nothing", () => {
  const state = after(ask("r"));
  state.ended();
  assertEquals([state.state, state.asks.size, state.quiescent], [
    "dead",
    0,
    false,
  ]);
});
