/** Claude Code, Codex and OpenCode killed at each step of their start, played by programs that die where they are told to. */

import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import {
  type AgentDriver,
  AgentStartError,
  claudeDriver,
} from "@bulkhead/worker";
import { codexDriver } from "@bulkhead/worker/codex";
import { openCodeDriver } from "@bulkhead/worker/opencode";
import { allEnded } from "./support/processes.ts";

/** Answers like Codex's app-server; told to, it is killed instead of answering. */
const CODEX = `
let hook = "";
const answers = {
  initialize: () => ({ userAgent: "bulkhead/0.171.0 (x)" }),
  "thread/start": (params) => {
    hook = params.config.hooks.PreToolUse[0].hooks[0].command;
    return { thread: { id: "t" } };
  },
  "hooks/list": () => ({ data: [{ hooks: [{
    key: "/<session-flags>/config.toml:pre_tool_use:0:0", command: hook,
    enabled: true, source: "sessionFlags", trustStatus: "trusted", currentHash: "x",
  }] }] }),
};
const die = Deno.env.get("DIE_AT");
if (die === "start") Deno.kill(Deno.pid, "SIGKILL");
let held = "";
for await (const piece of Deno.stdin.readable.pipeThrough(new TextDecoderStream())) {
  const lines = (held + piece).split("\\n");
  held = lines.pop();
  for (const line of lines) {
    const { id, method, params } = JSON.parse(line);
    if (method === die) Deno.kill(Deno.pid, "SIGKILL");
    if (id !== undefined) console.log(JSON.stringify({ id, result: answers[method]?.(params) ?? {} }));
  }
}
`;

/** Answers like OpenCode's server and loads the plugin; told to, it is killed instead. */
const OPENCODE = `
const die = Deno.env.get("DIE_AT");
const end = () => Deno.kill(Deno.pid, "SIGKILL");
if (die === "start") end();
if (die === "port") {
  console.error("Failed to start server. Is port 0 in use?");
  Deno.exit(1);
}
const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, (request) => {
  const { pathname } = new URL(request.url);
  if (pathname === die) end();
  if (pathname === "/global/health") return Response.json({ version: "1.18.33" });
  if (pathname === "/session") return Response.json({ id: "ses_1" });
  if (pathname !== "/event") return Response.json({});
  if (die === "hello") setTimeout(end, 50);
  return new Response(new ReadableStream({}), { headers: { "content-type": "text/event-stream" } });
});
console.log("opencode server listening on http://127.0.0.1:" + server.addr.port);
if (die === "hello") await new Promise(() => {});
const [plugin] = JSON.parse(Deno.env.get("OPENCODE_CONFIG_CONTENT")).plugin;
await (await import(plugin)).BulkheadGate({ directory: Deno.cwd() });
`;

/** Answers `initialize` like Claude Code; told to, it is killed instead. */
const CLAUDE = `
const die = Deno.env.get("DIE_AT");
if (die === "start") Deno.kill(Deno.pid, "SIGKILL");
for await (const piece of Deno.stdin.readable.pipeThrough(new TextDecoderStream())) {
  for (const line of piece.split("\\n").filter((line) => line !== "")) {
    const { request_id, request } = JSON.parse(line);
    if (request?.subtype === die) Deno.kill(Deno.pid, "SIGKILL");
    const response = { subtype: "success", request_id, response: {} };
    console.log(JSON.stringify({ type: "control_response", response }));
  }
}
`;

interface Place extends AsyncDisposable {
  readonly dir: string;
  readonly workspace: string;
  readonly command: readonly string[];
}

async function place(program: string): Promise<Place> {
  const dir = await Deno.realPath(await Deno.makeTempDir({ prefix: "bhk" }));
  const workspace = `${dir}/work`;
  await Deno.mkdir(workspace);
  await Deno.writeTextFile(`${dir}/fake.js`, program);
  return {
    dir,
    workspace,
    command: [Deno.execPath(), "run", "-A", "--no-config", `${dir}/fake.js`],
    [Symbol.asyncDispose]: () => Deno.remove(dir, { recursive: true }),
  };
}

function start(driver: AgentDriver, { workspace }: Place): Promise<unknown> {
  return driver.start({
    cwd: workspace,
    judge: () => ({ decision: "deny" }),
  });
}

/** Nothing of a start that failed is left: no process, no socket, no file in the workspace. */
async function nothingLeft({ dir, workspace }: Place): Promise<void> {
  await allEnded(dir);
  const left = await Array.fromAsync(Deno.readDir(workspace));
  const temporary = Deno.readDir(Deno.env.get("TMPDIR") || "/tmp");
  for await (const entry of temporary) {
    if (entry.name.startsWith(`bulkhead-agent-${Deno.pid}-`)) left.push(entry);
  }
  assertEquals(left, []);
}

const CASES = [
  {
    agent: "claude",
    program: CLAUDE,
    driver: claudeDriver,
    steps: ["start", "initialize"],
  },
  {
    agent: "codex",
    program: CODEX,
    driver: codexDriver,
    steps: [
      "start",
      "initialize",
      "initialized",
      "config/read",
      "account/read",
      "thread/start",
      "hooks/list",
    ],
  },
  {
    agent: "opencode",
    program: OPENCODE,
    driver: openCodeDriver,
    steps: ["start", "/global/health", "/session", "/event", "hello"],
  },
];

for (const { agent, program, driver, steps } of CASES) {
  Deno.test({
    name:
      `worker: ${agent} killed at any step of its start is one line, and nothing is left`,
    ignore: Deno.build.os !== "linux",
    async fn() {
      await using fake = await place(program);
      const make = (step: string) =>
        driver({ command: fake.command, env: { DIE_AT: step } });
      for (const step of steps) {
        const error = await assertRejects(
          () => start(make(step), fake),
          AgentStartError,
          `Cannot start the agent "${agent}"`,
          step,
        );
        assert(!error.message.includes("\n"), `${step}: ${error.message}`);
        // And not that the bound of whatever was waited for is reached.
        assertStringIncludes(error.message, "ended", step);
        assertEquals(error.end.signal, "SIGKILL", step);
        await nothingLeft(fake);
      }
      const alive = make("never");
      await start(alive, fake);
      await alive.close({ eofMs: 0, termMs: 2000 });
      await nothingLeft(fake);
    },
  });
}

Deno.test({
  name:
    "worker: OpenCode that finds its port taken is one line with its own words",
  ignore: Deno.build.os !== "linux",
  async fn() {
    await using fake = await place(OPENCODE);
    const error = await assertRejects(
      () =>
        start(
          openCodeDriver({ command: fake.command, env: { DIE_AT: "port" } }),
          fake,
        ),
      AgentStartError,
      "Is port 0 in use?",
    );
    assert(!error.message.includes("\n"));
    await nothingLeft(fake);
  },
});
