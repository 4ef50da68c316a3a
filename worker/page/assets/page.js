// The page's own program. The token comes in the fragment, which is never sent to
// a server; from there it lives in this tab only.

const fragment = new URLSearchParams(location.hash.slice(1));
if (fragment.has("token")) {
  sessionStorage.setItem("token", fragment.get("token"));
  history.replaceState(null, "", location.pathname);
}
const token = sessionStorage.getItem("token") ?? "";

const element = (id) => document.getElementById(id);
const list = element("list"), detail = element("detail"), log = element("log");
const MAX_ENTRIES = 2000;
const WORDS = {
  running: "working",
  "requires_action": "waits for you",
  idle: "idle",
  dead: "dead",
  starting: "starting",
  unresponsive: "no answer",
  orphaned: "orphaned",
  exited: "ended",
};

/** Sessions by id, as the server told them last. */
let sessions = new Map();
/** Machines, where there are several. */
let hosts = [];
let openId = null;
let openAsks = [];
let watching = null;
let answering = new Set();

function make(tag, name, text) {
  const made = document.createElement(tag);
  if (name) made.className = name;
  if (text !== undefined) made.textContent = text;
  return made;
}

function api(path, body, signal) {
  return fetch(`api/${path}`, {
    method: body === undefined ? "GET" : "POST",
    headers: {
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal,
  });
}

/** Reads a stream of JSON lines; ends when the stream does. */
async function* lines(path, signal) {
  const answer = await api(path, undefined, signal);
  if (!answer.ok) throw new Error(await answer.text());
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const parts = (rest + value).split("\n");
    rest = parts.pop();
    for (const part of parts) if (part !== "") yield JSON.parse(part);
  }
}

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

function connection(text, off) {
  element("link").textContent = text;
  element("link").classList.toggle("off", off === true);
}

async function followFleet() {
  for (let wait = 500;; wait = Math.min(wait * 2, 10_000)) {
    try {
      for await (const message of lines("fleet")) {
        wait = 500;
        connection("live");
        sessions = new Map(message.sessions.map((s) => [s.shortId, s]));
        hosts = message.hosts ?? [];
        drawList();
        drawFacts();
      }
      connection("the server has ended", true);
    } catch (error) {
      if (String(error.message).includes("token")) {
        return connection("wrong or missing token", true);
      }
      connection("not connected", true);
    }
    await pause(wait);
  }
}

function age(ms) {
  if (ms === null || ms === undefined) return "";
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 1) return `${Math.floor(ms / 1000)} s`;
  if (minutes < 120) return `${minutes} min`;
  return minutes < 2880
    ? `${Math.floor(minutes / 60)} h`
    : `${Math.floor(minutes / 1440)} d`;
}

const money = (usd) =>
  usd === null || usd === undefined ? "" : `$${usd.toFixed(usd < 1 ? 4 : 2)}`;
const memory = (bytes) => bytes ? `${Math.round(bytes / 1_048_576)} MB` : "";

function drawList() {
  const groups = [
    ["Waiting for you", (s) => s.openAsks > 0 || s.state === "requires_action"],
    ["At work", (s) => s.state === "running" || s.state === "starting"],
    ["At rest", (s) => s.state === "idle"],
    ["Ended", () => true],
  ];
  const rest = [...sessions.values()];
  const focused = document.activeElement?.dataset?.id;
  const parts = [];
  for (const [title, fits] of groups) {
    const members = rest.filter(fits);
    for (const member of members) rest.splice(rest.indexOf(member), 1);
    if (members.length === 0) continue;
    parts.push(make("h2", "", title), ...members.map(drawRow));
  }
  if (hosts.length > 0) {
    parts.push(make("h2", "", "Machines"), ...hosts.map(drawHost));
  }
  list.replaceChildren(...parts);
  if (focused) {
    list.querySelector(`[data-id="${CSS.escape(focused)}"]`)?.focus();
  }
  const empty = sessions.size + hosts.length === 0;
  element("nothing").hidden = !empty;
  list.hidden = empty;
  const asks = [...sessions.values()].reduce((sum, s) => sum + s.openAsks, 0);
  document.title = asks > 0
    ? `(${asks}) Bulkhead sessions`
    : "Bulkhead sessions";
}

function drawRow(session) {
  const row = make("button", "row");
  row.type = "button";
  row.dataset.id = session.shortId;
  row.setAttribute("aria-current", String(session.shortId === openId));
  const facts = [
    session.host,
    typeof session.hostLoad === "number"
      ? `load ${session.hostLoad.toFixed(1)}`
      : "",
    session.agent,
    age(session.ageMs),
    money(session.costUsd),
    memory(session.memoryBytes),
    session.openAsks > 0 ? `${session.openAsks} open` : "",
    session.problem,
  ];
  row.append(
    make("span", "name", session.name),
    make(
      "span",
      `state ${session.state}`,
      WORDS[session.state] ?? session.state,
    ),
    make("span", "sub", facts.filter((fact) => fact).join(" · ")),
  );
  row.addEventListener("click", () => open(session.shortId));
  return row;
}

function drawHost(machine) {
  const row = make("div", "row host");
  const facts = [
    machine.slots > 0
      ? `${machine.sessions} of ${machine.slots} slots`
      : `${machine.sessions} sessions`,
    typeof machine.load === "number" ? `load ${machine.load.toFixed(1)}` : "",
    machine.memoryBytes ? `${memory(machine.memoryBytes)} offered` : "",
  ];
  row.append(
    make("span", "name", machine.host),
    make("span", "sub", facts.filter((fact) => fact).join(" · ")),
  );
  return row;
}

function drawFacts() {
  const session = sessions.get(openId);
  if (!session) return;
  const facts = element("facts");
  const parts = [
    make("b", "", session.name),
    make(
      "span",
      `state ${session.state}`,
      WORDS[session.state] ?? session.state,
    ),
  ];
  for (
    const text of [
      session.agent,
      session.gate === null || session.gate === undefined
        ? ""
        : `gate: ${session.gate.kind}${
          session.gate.verified ? ", verified" : ", not verified"
        }`,
      money(session.costUsd),
      memory(session.memoryBytes),
      session.cwd,
      session.sessionId,
    ]
  ) if (text) parts.push(make("span", "", text));
  if (session.stalled) parts.push(make("span", "bad", "silent for too long"));
  if (session.problem) parts.push(make("span", "bad", session.problem));
  facts.replaceChildren(...parts);
  const live = ["running", "idle", "requires_action"].includes(session.state);
  element("compose").hidden = !live;
  element("interrupt").disabled = session.state === "idle";
}

function drawAsks() {
  const kept = new Map(
    [...element("asks").children].map((card) => [card.dataset.id, card]),
  );
  element("asks").replaceChildren(
    ...openAsks.map((ask) => kept.get(ask.id) ?? drawAsk(ask)),
  );
}

function drawAsk(ask) {
  const card = make("article", "ask");
  card.dataset.id = ask.id;
  const questions = ask.tool_name === "AskUserQuestion"
    ? ask.input?.questions ?? []
    : [];
  card.append(
    make(
      "h3",
      "",
      questions.length > 0 ? "The agent asks" : `Allow ${ask.tool_name}?`,
    ),
  );
  if (ask.description && questions.length === 0) {
    card.append(make("p", "", ask.description));
  }
  if (ask.reason) card.append(make("p", "note", ask.reason));
  if (ask.agent_id) card.append(make("p", "note", "asked by a subagent"));
  if (questions.length > 0) card.append(...questionFields(ask, questions));
  else card.append(make("pre", "", show(ask.input)), permission(ask));
  return card;
}

function permission(ask) {
  const actions = make("div", "actions");
  const approve = make("button", "approve", "Approve");
  const reason = make("input", "reason");
  reason.placeholder = "Reason, for a denial";
  reason.setAttribute("aria-label", "Reason for a denial");
  const deny = make("button", "deny", "Deny");
  approve.type = deny.type = "button";
  approve.addEventListener("click", () => answer(ask, { decision: "allow" }));
  deny.addEventListener(
    "click",
    () =>
      answer(ask, {
        decision: "deny",
        reason: reason.value.trim() || "denied on the page",
      }),
  );
  actions.append(approve, deny, reason);
  return actions;
}

function questionFields(ask, questions) {
  const answers = {};
  return questions.map((question) => {
    const field = make("div", "question");
    field.append(make("p", "", question.question));
    const actions = make("div", "actions");
    for (const option of question.options ?? []) {
      const choice = make("button", "quiet", option.label);
      choice.type = "button";
      choice.title = option.description ?? "";
      choice.addEventListener("click", () => {
        answers[question.question] = option.label;
        if (Object.keys(answers).length < questions.length) {
          for (const other of actions.children) {
            other.disabled = other !== choice;
          }
          return;
        }
        answer(ask, {
          decision: "allow",
          updatedInput: { ...ask.input, answers },
        });
      });
      actions.append(choice);
    }
    const skip = make("button", "deny", "Do not answer");
    skip.type = "button";
    skip.addEventListener(
      "click",
      () => answer(ask, { decision: "deny", reason: "not answered" }),
    );
    actions.append(skip);
    field.append(actions);
    return field;
  });
}

async function answer(ask, decision) {
  if (answering.has(ask.id)) return;
  answering.add(ask.id);
  const id = openId;
  for (
    const button of document.querySelectorAll(
      `[data-id="${CSS.escape(ask.id)}"] button`,
    )
  ) {
    button.disabled = true;
  }
  try {
    const reply = await api(`answer/${encodeURIComponent(id)}`, {
      id: ask.id,
      ...decision,
    });
    const body = reply.ok ? await reply.json() : { error: await reply.text() };
    if (body.answered === false) {
      note("The question was settled elsewhere meanwhile.");
    }
    if (body.error) note(body.error);
    openAsks = openAsks.filter((it) => it.id !== ask.id);
    drawAsks();
  } catch {
    note("The answer did not get through.");
    answering.delete(ask.id);
    drawAsks();
  }
}

function show(value) {
  return typeof value === "string"
    ? value
    : JSON.stringify(value, null, 2) ?? "";
}

// ---- the log of one session -------------------------------------------------

let streaming = null;
/** The first entry of the running turn: the prompt comes back after the first words. */
let turnStart = null;
const calls = new Map();

function add(node) {
  const atEnd = log.scrollHeight - log.scrollTop - log.clientHeight < 60;
  log.append(node);
  turnStart ??= node;
  while (log.childElementCount > MAX_ENTRIES) log.firstElementChild.remove();
  if (atEnd) log.scrollTop = log.scrollHeight;
  return node;
}

function note(text, name = "note") {
  return add(make("p", name, text));
}

function take(frame) {
  const sub = frame.parent_tool_use_id ? " sub" : "";
  switch (frame.kind) {
    case "stream_event":
      if (frame.delta === null) return;
      streaming ??= add(make("div", "said"));
      streaming.textContent += frame.delta;
      return;
    case "assistant":
      if (frame.text) {
        const said = streaming && !sub
          ? streaming
          : add(make("div", `said${sub}`));
        said.textContent = frame.text;
        if (frame.error) said.classList.add("denied");
        if (!sub) streaming = null;
      }
      for (const use of frame.tool_uses ?? []) {
        calls.set(use.id, use.name);
        const line = make("p", `call${sub}`);
        line.append(make("b", "", use.name), ` ${brief(use.input)}`);
        add(line);
      }
      return;
    case "user_echo":
      return takeEcho(frame, sub);
    case "control_request":
      if (frame.subtype === "can_use_tool") note(`asks for ${frame.tool_name}`);
      return;
    case "system":
      return takeSystem(frame);
    case "result":
      return takeResult(frame);
    case "malformed":
      note(
        `a line that is no frame${frame.size ? `, ${frame.size} bytes` : ""}`,
      );
  }
}

function takeEcho(frame, sub) {
  for (const part of frame.tool_results ?? []) {
    const name = calls.get(part.tool_use_id) ?? "tool";
    const text = brief(part.text) + (part.truncated ? " …" : "");
    if (part.is_error) {
      add(make("p", `denied${sub}`, `${name} refused or failed: ${text}`));
    } else add(make("p", `answer${sub}`, `→ ${text}`));
  }
  if (frame.source === "replay" && frame.text) {
    const before = turnStart;
    const asked = add(make("div", "asked", frame.text));
    if (before?.isConnected) log.insertBefore(asked, before);
  }
  if (frame.source === "synthetic" && frame.text) note(frame.text);
}

function takeSystem(frame) {
  const text = {
    api_retry: () =>
      `the model's server asks to wait (attempt ${frame.attempt} of ${frame.max_retries})`,
    task_started: () => `task started: ${frame.description ?? ""}`,
    task_notification: () =>
      `task ${frame.status ?? "ended"}: ${frame.summary ?? ""}`,
    compact_boundary: () => "the conversation was compacted",
    item: () => frame.text,
  }[frame.subtype]?.();
  if (text) note(text);
}

function takeResult(frame) {
  streaming = null;
  const denied = frame.permission_denials?.length ?? 0;
  const cut = frame.terminal_reason?.startsWith("aborted");
  const parts = [
    cut
      ? "turn interrupted"
      : frame.is_error
      ? `turn failed: ${frame.errors?.[0] ?? frame.result ?? frame.subtype}`
      : "turn done",
    denied > 0 ? `${denied} denied` : "",
    money(frame.total_cost_usd),
    frame.duration_ms === undefined
      ? ""
      : `${(frame.duration_ms / 1000).toFixed(1)} s`,
  ];
  add(
    make(
      "p",
      `end${frame.is_error ? " bad" : ""}`,
      parts.filter((p) => p).join(" · "),
    ),
  );
  turnStart = null;
}

function brief(value) {
  const text = typeof value === "string" ? value : JSON.stringify(value) ?? "";
  return text.length > 400 ? `${text.slice(0, 400)} …` : text;
}

async function follow(id, signal) {
  let cursor = 0;
  for (let wait = 500; !signal.aborted; wait = Math.min(wait * 2, 10_000)) {
    try {
      for await (
        const event of lines(
          `watch/${encodeURIComponent(id)}?cursor=${cursor}`,
          signal,
        )
      ) {
        wait = 500;
        if (event.type === "frames") {
          if (event.gap) note("Earlier frames are no longer kept.", "gap");
          for (const frame of event.frames) take(frame);
          cursor = event.next;
        } else if (event.type === "asks") {
          openAsks = event.asks;
          drawAsks();
        } else if (event.type === "state") {
          const session = sessions.get(id);
          if (session) {
            Object.assign(session, event, { type: undefined });
            drawList();
            drawFacts();
          }
        } else if (event.type === "end") {
          openAsks = [];
          drawAsks();
          note(`The worker has ended: ${event.reason}.`, "end");
          return;
        }
      }
    } catch {
      if (signal.aborted) return;
    }
    if (
      !["running", "idle", "requires_action", "starting"].includes(
        sessions.get(id)?.state,
      )
    ) return;
    await pause(wait);
  }
}

function open(id) {
  if (id === openId) return;
  watching?.abort();
  watching = new AbortController();
  openId = id;
  openAsks = [];
  streaming = turnStart = null;
  calls.clear();
  answering = new Set();
  log.replaceChildren();
  drawAsks();
  detail.hidden = false;
  element("main").classList.add("open");
  element("back").hidden = false;
  drawList();
  drawFacts();
  follow(id, watching.signal);
}

element("back").addEventListener("click", () => {
  watching?.abort();
  openId = null;
  element("main").classList.remove("open");
  element("back").hidden = true;
  detail.hidden = true;
  drawList();
});

async function send(path, body) {
  try {
    const reply = await api(path, body);
    if (!reply.ok) note(await reply.text(), "denied");
    return reply.ok;
  } catch {
    note("That did not get through.", "denied");
    return false;
  }
}

element("compose").addEventListener("submit", async (event) => {
  event.preventDefault();
  const text = element("text").value;
  if (text.trim() === "") return;
  if (await send(`turn/${encodeURIComponent(openId)}`, { text })) {
    element("text").value = "";
  }
});
element("text").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    element("compose").requestSubmit();
  }
});
element("interrupt").addEventListener(
  "click",
  () => send(`interrupt/${encodeURIComponent(openId)}`, {}),
);

followFleet();
