import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import {
  type ModelScript,
  parseScript,
  type ScriptedModel,
  startScriptedModel,
} from "./scripted_model.ts";

const WRITE_TOOLS = {
  messages: [{
    name: "Write",
    input_schema: { properties: { file_path: {}, content: {} } },
  }, {
    name: "Bash",
    input_schema: { properties: { command: {}, description: {} } },
  }, { name: "mcp__bulkhead__greet", input_schema: {} }],
  responses: [
    { type: "custom", name: "apply_patch" },
    {
      type: "function",
      name: "exec_command",
      parameters: { properties: { cmd: {} } },
    },
    {
      type: "namespace",
      name: "mcp__bulkhead",
      tools: [{ type: "function", name: "greet", parameters: {} }],
    },
  ],
  chat: [
    {
      type: "function",
      function: {
        name: "write",
        parameters: { properties: { filePath: {}, content: {} } },
      },
    },
    {
      type: "function",
      function: {
        name: "bash",
        parameters: { properties: { command: {}, description: {} } },
      },
    },
    { type: "function", function: { name: "bulkhead_greet", parameters: {} } },
  ],
} as const;

function post(
  model: ScriptedModel,
  path: string,
  body: unknown,
): Promise<Response> {
  return fetch(`${model.origin}/v1${path}`, {
    method: "POST",
    body: JSON.stringify(body),
  });
}

function ask(
  model: ScriptedModel,
  text: string,
  more: Record<string, unknown> = {},
): Promise<Response> {
  return post(model, "/messages", {
    model: "m",
    tools: WRITE_TOOLS.messages,
    messages: [{ role: "user", content: text }],
    ...more,
  });
}

/** The data lines of an event stream, parsed. */
async function events(answer: Response): Promise<Record<string, unknown>[]> {
  assertEquals(answer.headers.get("content-type"), "text/event-stream");
  const lines = (await answer.text()).split("\n").filter((line) =>
    line.startsWith("data: ")
  );
  return lines.map((line) => line.slice(6)).filter((line) => line !== "[DONE]")
    .map((line) => JSON.parse(line));
}

Deno.test("startScriptedModel() plays parallel neutral calls as Messages, streamed and whole", async () => {
  const step = {
    text: "two at once",
    thinking: "hm",
    calls: [{ do: "write", path: "/w/a", content: "x" }, {
      do: "shell",
      command: "ls",
      id: "mine",
    }],
  } as const;
  await using model = await startScriptedModel({ steps: [step, step] });

  const whole = await (await ask(model, "go")).json();
  assertEquals(whole.content.map((block: { type: string }) => block.type), [
    "thinking",
    "text",
    "tool_use",
    "tool_use",
  ]);
  assertEquals(whole.content[2].name, "Write");
  assertEquals(whole.content[2].input, { file_path: "/w/a", content: "x" });
  assertEquals(whole.content[3].id, "mine");
  assertEquals(whole.stop_reason, "tool_use");

  const streamed = await events(await ask(model, "go", { stream: true }));
  assertEquals(streamed[0]?.type, "message_start");
  assertEquals(streamed.at(-1)?.type, "message_stop");
  const text = streamed.map((event) =>
    event.delta as Record<string, string> | undefined
  )
    .filter((delta) => delta?.type === "text_delta").map((delta) => delta?.text)
    .join("");
  assertEquals(text, "two at once");
  const json = streamed.filter((event) => event.index === 2).map((event) =>
    (event.delta as Record<string, string> | undefined)?.partial_json ?? ""
  ).join("");
  assertEquals(JSON.parse(json), { file_path: "/w/a", content: "x" });
  model.assertFinished();
});

Deno.test("startScriptedModel() plays Responses: custom, function and namespaced calls, additional_tools", async () => {
  const steps: ModelScript["steps"] = [{
    text: "t",
    calls: [
      { do: "write", path: "a", content: "one\ntwo\n" },
      { do: "shell", command: "ls" },
      { do: "tool", name: "greet", input: { who: "x" } },
    ],
  }];
  for (const place of ["tools", "input"]) {
    await using model = await startScriptedModel({ steps });
    const input: unknown[] = [{
      type: "message",
      role: "user",
      content: [{ type: "input_text", text: "go" }],
    }];
    if (place === "input") {
      input.unshift({ type: "additional_tools", tools: WRITE_TOOLS.responses });
    }
    const tools = place === "tools" ? { tools: WRITE_TOOLS.responses } : {};
    const seen = await events(
      await post(model, "/responses", {
        model: "m",
        stream: true,
        input,
        ...tools,
      }),
    );
    const items = seen.filter((event) =>
      event.type === "response.output_item.done"
    ).map((event) => event.item as Record<string, unknown>);
    assertEquals(items.map((item) => item.type), [
      "message",
      "custom_tool_call",
      "function_call",
      "function_call",
    ]);
    assertEquals(
      items[1]?.input,
      "*** Begin Patch\n*** Add File: a\n+one\n+two\n*** End Patch\n",
    );
    assertEquals(items[2]?.arguments, `{"cmd":"ls"}`);
    assertEquals(items[3]?.name, "greet");
    assertEquals(items[3]?.namespace, "mcp__bulkhead");
    assertEquals(seen.at(-1)?.type, "response.completed");
  }
});

Deno.test("startScriptedModel() plays neutral calls inside a code tool", async () => {
  await using model = await startScriptedModel({
    steps: [{ calls: [{ do: "shell", command: "ls" }] }],
  });
  const answer = await post(model, "/responses", {
    model: "m",
    input: "go",
    tools: [{ type: "custom", name: "exec" }],
  });
  const [item] = (await answer.json()).output;
  assertEquals(item.type, "custom_tool_call");
  assertStringIncludes(item.input, `{"cmd":"ls"}`);
});

Deno.test("startScriptedModel() plays Chat Completions, streamed and whole", async () => {
  const step = {
    text: "hey",
    calls: [{ do: "tool", name: "greet", input: {} }],
  } as const;
  await using model = await startScriptedModel({ steps: [step, step] });
  const body = {
    model: "m",
    messages: [{ role: "user", content: "go" }],
    tools: WRITE_TOOLS.chat,
  };
  const whole = await (await post(model, "/chat/completions", body)).json();
  assertEquals(whole.choices[0].message.tool_calls[0].function, {
    name: "bulkhead_greet",
    arguments: "{}",
  });
  assertEquals(whole.choices[0].finish_reason, "tool_calls");
  const streamed = await events(
    await post(model, "/chat/completions", { ...body, stream: true }),
  );
  assert(
    streamed.some((event) => JSON.stringify(event).includes(`"tool_calls"`)),
  );
  assert(JSON.stringify(streamed.at(-1)).includes("prompt_tokens"));
});

Deno.test("startScriptedModel() gives each conversation its own steps and requests without tools none", async () => {
  await using model = await startScriptedModel({
    steps: [{ text: "main one" }, { text: "main two" }],
    conversations: [{
      match: "SUB",
      name: "sub",
      steps: [{ text: "sub one" }],
    }],
    asides: ["short title"],
  });
  const said = async (answer: Response) =>
    (await answer.json()).content[0].text;
  assertEquals(await said(await ask(model, "title?", { tools: [] })), "ok");
  assertEquals(await said(await ask(model, "a short title, please")), "ok");
  assertEquals(await said(await ask(model, "start")), "main one");
  assertEquals(await said(await ask(model, "do SUB")), "sub one");
  assertThrows(
    () => model.assertFinished(),
    Error,
    `"main": step 2 of 2 (text "main two") was never asked for`,
  );
  assertEquals(await said(await ask(model, "start")), "main two");
  assertStringIncludes(
    await said(await ask(model, "start")),
    "no step is left",
  );
  assertEquals(model.requests.map((request) => request.conversation), [
    "side",
    "side",
    "main",
    "sub",
    "main",
    "main",
  ]);
  model.assertFinished();
});

Deno.test("startScriptedModel() records the tool results an agent sends back, in every protocol", async () => {
  await using model = await startScriptedModel({ steps: [], side: false });
  await (await ask(model, "x", {
    messages: [{
      role: "user",
      content: [{
        type: "tool_result",
        tool_use_id: "a",
        content: [{ type: "text", text: "no" }],
        is_error: true,
      }],
    }],
  })).body?.cancel();
  await (await post(model, "/responses", {
    input: [{ type: "function_call_output", call_id: "b", output: "fine" }, {
      type: "custom_tool_call_output",
      call_id: "c",
      output: [{ type: "input_text", text: "patched" }],
    }],
  })).body?.cancel();
  await (await post(model, "/chat/completions", {
    messages: [{ role: "tool", tool_call_id: "d", content: "ok" }],
  }))
    .body?.cancel();
  assertEquals(model.results(), [
    { callId: "a", content: "no", isError: true },
    { callId: "b", content: "fine", isError: false },
    { callId: "c", content: "patched", isError: false },
    { callId: "d", content: "ok", isError: false },
  ]);
  assertEquals(model.result("c")?.content, "patched");
});

Deno.test("startScriptedModel() answers with errors, repeated and inside the stream", async () => {
  await using model = await startScriptedModel({
    steps: [
      { error: { status: 429, retryAfter: 1 }, times: 2 },
      { error: { status: 529, inStream: true, message: "busy" }, text: "half" },
      { text: "cut here", cut: true },
    ],
  });
  for (const _ of [1, 2]) {
    const answer = await ask(model, "go");
    assertEquals(answer.status, 429);
    assertEquals(answer.headers.get("retry-after"), "1");
    assertEquals((await answer.json()).error.type, "rate_limit_error");
  }
  const broken = await events(await ask(model, "go", { stream: true }));
  assertEquals(broken.at(-1), {
    type: "error",
    error: { type: "overloaded_error", message: "busy" },
  });
  const cut = await ask(model, "go", { stream: true });
  await assertRejects(() => cut.text());
});

Deno.test("startScriptedModel() holds an answer until it is released, or another conversation is done", async () => {
  await using model = await startScriptedModel({
    steps: [{ text: "held", hold: "door" }, {
      text: "after sub",
      await: "sub",
    }],
    conversations: [{ match: "SUB", name: "sub", steps: [{ text: "s" }] }],
  });
  const held = ask(model, "go");
  await model.reached(1);
  model.release("door");
  assertEquals((await (await held).json()).content[0].text, "held");
  const waiting = ask(model, "go");
  await model.reached(2);
  await (await ask(model, "SUB")).body?.cancel();
  assertEquals((await (await waiting).json()).content[0].text, "after sub");
  await assertRejects(() => model.reached(1, "none"), RangeError, `"none"`);
});

Deno.test("startScriptedModel() streams huge texts and counts tokens", async () => {
  await using model = await startScriptedModel(
    `{"steps": [{"text": {"$repeat": "0123456789", "times": 200000}}, {"text": "😀😀😀", "chunks": 3}]}`,
  );
  const seen = await events(await ask(model, "go", { stream: true }));
  const pieces = seen.flatMap((event) => {
    const delta = event.delta as Record<string, string> | undefined;
    return delta?.type === "text_delta" ? [delta.text ?? ""] : [];
  });
  assertEquals(pieces.join("").length, 2_000_000);
  assert(pieces.every((piece) => piece.length <= 16384));
  const faces = await events(await ask(model, "go", { stream: true }));
  assertStringIncludes(JSON.stringify(faces), `"text":"😀"`);
  const counted =
    await (await post(model, "/messages/count_tokens", { messages: [] }))
      .json();
  assert(counted.input_tokens > 0);
  assertEquals(model.requests.length, 2);
});

Deno.test("startScriptedModel() says which call no offered tool can do", async () => {
  await using model = await startScriptedModel({
    steps: [{ calls: [{ do: "subagent", prompt: "p" }] }],
  });
  const answer = await ask(model, "go");
  assertEquals(answer.status, 400);
  const message =
    `conversation "main", step 1: no tool on offer can do "subagent": on offer are Write, Bash, ` +
    `mcp__bulkhead__greet`;
  assertStringIncludes((await answer.json()).error.message, message);
  assertThrows(() => model.assertFinished(), Error, message);
});

Deno.test("startScriptedModel() reports bad bodies and unknown paths, and hides keys", async () => {
  await using model = await startScriptedModel({ steps: [], side: false });
  const bad = await fetch(`${model.origin}/v1/messages`, {
    method: "POST",
    body: "{",
  });
  assertEquals(bad.status, 400);
  await bad.body?.cancel();
  const stray = await post(model, "/embeddings", {});
  assertEquals(stray.status, 404);
  await stray.body?.cancel();
  assertEquals(model.problems.length, 2);
  const headers = { "x-api-key": "secret" };
  await (await fetch(`${model.origin}/v1/messages`, {
    method: "POST",
    headers,
    body: "[]",
  })).body?.cancel();
  assert(!JSON.stringify(model.requests).includes("secret"));
});

Deno.test("startScriptedModel() names a port in use", async () => {
  await using model = await startScriptedModel({ steps: [] });
  const port = Number(new URL(model.origin).port);
  await assertRejects(
    () => startScriptedModel({ steps: [] }, { port }),
    Deno.errors.AddrInUse,
    `port ${port} of 127.0.0.1 is in use`,
  );
});

Deno.test("parseScript() names the place of what is wrong", () => {
  const cases: [unknown, string][] = [
    ["{", `Cannot parse script "s.json": `],
    ["[]", "the script is [], expected an object"],
    [{}, `the script needs "steps"`],
    [{ steps: {} }, "steps is {}, expected a list"],
    [
      { steps: [{ txet: "x" }] },
      `steps[0] has the unknown key "txet": known are text, `,
    ],
    [{ steps: [{ text: 1 }] }, "steps[0].text is 1, expected a text"],
    [
      { steps: [{ calls: [{}] }] },
      `steps[0].calls[0] needs either "tool" or "do"`,
    ],
    [
      { steps: [{ calls: [{ do: "write", path: "x" }] }] },
      `steps[0].calls[0] with "do": "write" needs "content"`,
    ],
    [
      { steps: [{ calls: [{ do: "fly" }] }] },
      `steps[0].calls[0].do is "fly", expected "write" or `,
    ],
    [
      { steps: [{ calls: [{ tool: "T", id: "a b" }] }] },
      `steps[0].calls[0].id is "a b", expected 1 to 64 letters`,
    ],
    [{ steps: [{ error: {} }] }, `steps[0].error needs "status"`],
    [
      { steps: [{ error: { status: 200 } }] },
      "steps[0].error.status is 200, expected a status from 400 to 599",
    ],
    [
      { steps: [{ delayMs: -1 }] },
      "steps[0].delayMs is -1, expected a whole number from 0",
    ],
    [
      { steps: [{ await: "x" }] },
      `a step awaits the conversation "x": known are main`,
    ],
    [{
      steps: [],
      conversations: [{ match: "a", steps: [] }, { match: "a", steps: [] }],
    }, `the name "a"`],
    [
      { steps: [{ text: { $repeat: "x", times: 1e9 } }] },
      "steps[0].text makes 1000000000 characters",
    ],
    [{ steps: [{ text: { $repeat: 1 } }] }, "steps[0].text is "],
    [JSON.parse(`{"steps":[],"__proto__":1}`), `unknown key "__proto__"`],
  ];
  for (const [source, message] of cases) {
    assertThrows(
      () => parseScript(source, { name: "s.json" }),
      SyntaxError,
      message,
    );
  }
});

Deno.test("parseScript() puts variables in and leaves unknown names alone", () => {
  const script = parseScript({
    steps: [{ text: "{{a}} {{b}} {{constructor}}" }],
  }, { vars: { a: "1" } });
  assertEquals(script.steps[0]?.text, "1 {{b}} {{constructor}}");
});

Deno.test("startScriptedModel() searches for a tool that is not listed yet, and then calls it", async () => {
  await using model = await startScriptedModel({
    steps: [{ calls: [{ do: "tool", name: "greet", input: {} }] }],
  });
  const tools = [{ type: "tool_search", execution: "client" }];
  const ask = async (input: unknown) =>
    (await (await post(model, "/responses", { input, tools })).json())
      .output[0];
  const search = await ask("go");
  assertEquals([search.type, search.arguments.query], [
    "tool_search_call",
    "greet",
  ]);
  const output = {
    type: "tool_search_output",
    "call_id": search.call_id,
    tools: WRITE_TOOLS.responses,
  };
  const call = await ask([{ role: "user", content: "go" }, output]);
  assertEquals([call.type, call.namespace, call.name], [
    "function_call",
    "mcp__bulkhead",
    "greet",
  ]);
  model.assertFinished();
});
