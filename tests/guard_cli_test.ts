// deno-lint-ignore-file camelcase -- field names of payloads and of the log
import {
  assert,
  assertEquals,
  assertMatch,
  assertStringIncludes,
} from "@std/assert";
import { guardCommand } from "../guard/cli.ts";

/** What a command printed. */
interface Said {
  code: number;
  out: string;
  err: string;
}

/** Runs one command line in this process. */
async function guard(
  args: string[],
  options: { stdin?: string; color?: boolean } = {},
): Promise<Said> {
  let out = "";
  let err = "";
  const code = await guardCommand(args, {
    stdin: new Blob([options.stdin ?? ""]).stream(),
    out: (text) => void (out += text),
    err: (text) => void (err += text),
    isTerminal: false,
    canAsk: false,
    color: options.color ?? false,
  });
  return { code, out, err };
}

/** A workspace and a home, awkwardly named. */
async function place(): Promise<
  AsyncDisposable & { root: string; home: string; base: string }
> {
  const base = await Deno.realPath(
    await Deno.makeTempDir({ prefix: "guard cli " }),
  );
  const root = `${base}/it's a "root"`;
  await Deno.mkdir(root);
  return {
    base,
    root,
    home: `${base}/ho me`,
    async [Symbol.asyncDispose]() {
      await Deno.remove(base, { recursive: true });
    },
  };
}

const CLAUDE = ["--harness", "claude-code", "--harness-version", "2.1.197"];

Deno.test("guard install, status, log, teardown: one round", async () => {
  await using c = await place();
  const at = ["--root", c.root, "--home", c.home];
  const installed = await guard(["install", ...CLAUDE, ...at]);
  assertEquals([installed.code, installed.err], [0, ""]);
  assertStringIncludes(installed.out, "Write guard armed for claude-code");
  assertStringIncludes(installed.out, c.root);

  const status = await guard(["status", "--json", ...at]);
  const found = JSON.parse(status.out);
  assertEquals([found.schema, found.ok, found.armed], [1, true, true]);
  assertEquals(found.harnesses[0].selfCheck, "passed");
  assertEquals(found.harnesses[0].marker, "armed");

  const settings = JSON.parse(
    await Deno.readTextFile(`${c.root}/.claude/settings.local.json`),
  );
  const { command, args } = settings.hooks.PreToolUse[0].hooks[0];
  const child = new Deno.Command(command, {
    args,
    stdin: "piped",
    stdout: "piped",
    clearEnv: true,
  }).spawn();
  const writer = child.stdin.getWriter();
  await writer.write(
    new TextEncoder().encode(JSON.stringify({
      tool_name: "Bash",
      tool_input: { command: "echo x > /etc/x" },
      cwd: c.root,
    })),
  );
  await writer.close();
  assertStringIncludes(
    new TextDecoder().decode((await child.output()).stdout),
    "/etc/x",
  );

  const log = await guard(["log", "--json", ...at]);
  const lines = log.out.trim().split("\n").map((line) => JSON.parse(line));
  assertEquals(lines.map((line) => line.type), ["denial", "counts"]);
  assertEquals(lines[0].resolved_targets, ["/etc/x"]);
  assertEquals(lines[1].byRule, { redirect: 1 });
  const words = await guard(["log", ...at]);
  assertStringIncludes(words.out, "denied: 1");

  const down = await guard(["teardown", ...at]);
  assertEquals(down.out, "🛡 Write guard removed.\n");
  const again = await guard(["teardown", ...at]);
  assertEquals(
    again.out,
    "No write guard was installed — nothing to remove.\n",
  );
  const after = await guard(["status", ...at]);
  assertEquals([after.code, after.out], [
    0,
    "No write guard is installed here.\n",
  ]);
});

Deno.test("guard status names what switches hooks off", async () => {
  await using c = await place();
  const at = ["--root", c.root, "--home", c.home];
  await guard(["install", ...CLAUDE, "--no-self-check", ...at]);
  const local = `${c.root}/.claude/settings.local.json`;
  const settings = JSON.parse(await Deno.readTextFile(local));
  await Deno.writeTextFile(
    `${c.root}/.claude/settings.json`,
    '{ // a repository\n "disableAllHooks": true }',
  );
  // Our own false decides over the repository's true.
  assertEquals((await guard(["status", "--no-self-check", ...at])).code, 0);
  delete settings.disableAllHooks;
  await Deno.writeTextFile(local, JSON.stringify(settings));
  const off = await guard(["status", "--no-self-check", ...at]);
  assertEquals(off.code, 1);
  assertStringIncludes(off.out, "not armed");
  assertStringIncludes(off.out, ".claude/settings.json");
});

Deno.test("guard status says expired, inactive and damaged markers, and lost hooks", async () => {
  await using c = await place();
  const at = ["--root", c.root, "--home", c.home];
  await guard(["install", ...CLAUDE, "--no-self-check", ...at]);
  const marker = `${c.root}/.claude/skills/.slow-powers-eval-guard.json`;
  const original = await Deno.readTextFile(marker);
  const states: [string, string][] = [
    [
      original.replace(
        /"expiresAt": "[^"]*"/,
        '"expiresAt": "2001-01-01T00:00:00Z"',
      ),
      "expired",
    ],
    [original.replace('"active": true', '"active": false'), "inactive"],
    ["{", "damaged"],
  ];
  for (const [text, state] of states) {
    await Deno.writeTextFile(marker, text);
    const { code, out } = await guard(["status", "--json", ...at]);
    assertEquals(code, 1);
    assertEquals(JSON.parse(out).harnesses[0].marker, state);
  }
  await Deno.writeTextFile(marker, original);
  await Deno.writeTextFile(`${c.root}/.claude/settings.local.json`, "{}");
  const { out } = await guard(["status", "--json", ...at]);
  assertEquals(JSON.parse(out).harnesses[0].hook, "absent");
});

Deno.test("guard install arms several harnesses, or none", async () => {
  await using c = await place();
  const at = ["--root", c.root, "--home", c.home, "--no-self-check"];
  await Deno.mkdir(`${c.root}/.codex`);
  await Deno.writeTextFile(`${c.root}/.codex/hooks.json`, "// mine\n{}");
  const failed = await guard([
    "install",
    ...CLAUDE,
    "--harness",
    "codex",
    "--json",
    ...at,
  ]);
  assertEquals(failed.code, 1);
  const { ok, error } = JSON.parse(failed.out);
  assertEquals([ok, error.code], [false, "hook_file_error"]);
  assertEquals(await names(`${c.root}`), [".codex"]);
  await Deno.remove(`${c.root}/.codex/hooks.json`);
  const both = await guard([
    "install",
    ...CLAUDE,
    "--harness",
    "codex",
    "--json",
    ...at,
  ]);
  assertEquals(
    JSON.parse(both.out).armed.map((one: { harness: string }) => one.harness),
    ["claude-code", "codex"],
  );
  assertStringIncludes(both.out, "--dangerously-bypass-hook-trust");
});

Deno.test("guard install says what is wrong with settings with comments, then prints the snippet", async () => {
  await using c = await place();
  await Deno.mkdir(`${c.root}/.claude`);
  await Deno.writeTextFile(
    `${c.root}/.claude/settings.local.json`,
    "{\n // mine\n}",
  );
  const { code, err } = await guard([
    "install",
    ...CLAUDE,
    "--root",
    c.root,
    "--home",
    c.home,
  ]);
  assertEquals(code, 1);
  assertMatch(
    err,
    /^error: .*the guard stays off until that file is plain JSON/,
  );
  assertStringIncludes(err, '"PreToolUse"');
});

Deno.test("guard install reads fail_closed and hints from the configuration", async () => {
  await using c = await place();
  await Deno.mkdir(c.home);
  await Deno.writeTextFile(
    `${c.home}/config.toml`,
    "[guard]\nfail_closed = true\nhints = false\n",
  );
  const at = ["--root", c.root, "--home", c.home, "--no-self-check"];
  await guard(["install", ...CLAUDE, ...at]);
  const marker = JSON.parse(
    await Deno.readTextFile(
      `${c.root}/.claude/skills/.slow-powers-eval-guard.json`,
    ),
  );
  assertEquals([marker.failClosed, marker.hints], [true, false]);
});

Deno.test("guard install takes a duration and refuses others", async () => {
  await using c = await place();
  const at = ["--root", c.root, "--home", c.home, "--no-self-check", "--json"];
  for (const ttl of ["6", "h", "-1h", "6 h", "1w"]) {
    const { code } = await guard(["install", ...CLAUDE, "--ttl", ttl, ...at]);
    assertEquals(code, 2, ttl);
  }
  const { out } = await guard(["install", ...CLAUDE, "--ttl", "90s", ...at]);
  const expires = Date.parse(JSON.parse(out).armed[0].expiresAt);
  assert(expires > Date.now() && expires <= Date.now() + 90_000);
});

Deno.test("guard decide --jsonl judges a call a line and survives every bad one", async () => {
  const call = {
    harness: "codex",
    tool_name: "Bash",
    cwd: "/work",
    roots: ["/work"],
  };
  const lines = [
    { id: 7, ...call, tool_input: { command: "echo x > a" } },
    { id: "b", ...call, tool_input: { command: "echo x > /etc/a" } },
    "not json",
    "[]",
    "null",
    { id: "c", ...call, tool_input: null },
    { id: "d", ...call, roots: "/work", tool_input: {} },
    { id: "e", ...call, roots: [1], tool_input: {} },
    { id: "f", ...call, roots: [], tool_input: {} },
    { id: "g", ...call, cwd: 3, tool_input: {} },
    { id: "h", ...call, tool_input: { command: "x".repeat(300_000) } },
    { id: "i", ...call, tool_input: { command: "\u0000 > /etc/x" } },
    {
      id: { odd: [1] },
      toolName: "bash",
      toolArgs: '{"command":"rm /etc/a"}',
      roots: ["/work"],
    },
    "",
    { id: "last", ...call, tool_input: { command: "cp a ../b" } },
  ];
  const stdin = lines.map((line) =>
    typeof line === "string" ? line : JSON.stringify(line)
  ).join("\n"); // no newline at the end
  const { code, out, err } = await guard(["decide", "--jsonl"], { stdin });
  assertEquals(code, 1);
  assertMatch(err, /^error: Cannot judge 7 of \d+ lines/);
  const answers = out.trim().split("\n").map((line) => JSON.parse(line));
  assertEquals(answers.length, lines.length - 1);
  const [first, second, ...rest] = answers;
  assertEquals([first.id, first.allow, first.reason], [7, true, ""]);
  assertEquals([second.id, second.allow], ["b", false]);
  assertEquals(second.effects[0].target, "/etc/a");
  const byId = new Map(rest.map((answer) => [answer.id, answer]));
  for (const id of ["d", "e", "f", "g"]) {
    assertStringIncludes(byId.get(id).error, "Cannot judge line");
  }
  assertEquals(rest.slice(0, 3).every((answer) => "error" in answer), true);
  assertEquals(byId.get("c").allow, true);
  assertEquals(byId.get("i").allow, false);
  assertEquals(byId.get("last").allow, false);
  assertEquals(
    rest.find((answer) => typeof answer.id === "object" && answer.id !== null)
      ?.allow,
    false,
  );
});

Deno.test("guard decide reads roots from its flags where a line has none", async () => {
  const stdin = JSON.stringify({
    id: 1,
    tool_name: "Write",
    tool_input: { file_path: "/srv/a" },
  });
  const allow = async (...flags: string[]) =>
    JSON.parse((await guard(["decide", "--jsonl", ...flags], { stdin })).out)
      .allow;
  assertEquals(await allow("--root", "/srv"), true);
  assertEquals(await allow("--root", "/work"), false);
  assertEquals(await allow(), undefined);
});

Deno.test("guard explain shows effects, targets and the verdict", async () => {
  const args = [
    "explain",
    "cd .. && cp a.txt b/ 2>/dev/null",
    "--cwd",
    "/work/x",
    "--root",
    "/work/x",
  ];
  const plain = await guard(args);
  assertEquals(plain.code, 0);
  assertStringIncludes(plain.out, "outside");
  assertStringIncludes(plain.out, "/work/b");
  assertStringIncludes(plain.out, "deny");
  assert(!plain.out.includes("\x1b"));
  assertEquals((await guard([...args, "--exit-code"])).code, 1);
  assertEquals((await guard(["explain", "ls", "--exit-code"])).code, 0);
  const colored = await guard(args, { color: true });
  assertStringIncludes(colored.out, "\x1b[31m");
  const json = JSON.parse((await guard([...args, "--json"])).out);
  assertEquals([json.schema, json.ok, json.allow], [1, true, false]);
  const escape = await guard([
    "explain",
    "echo > $'\\e]0;x\\a'",
    "--cwd",
    "/w",
  ]);
  assert(!escape.out.includes("\x1b"));
});

Deno.test("guard scan names stray writes outside the roots, in git and without", async () => {
  for (const git of [true, false]) {
    await using c = await place();
    const at = ["--root", c.root, "--home", c.home, "--tree", c.base];
    if (git) {
      await new Deno.Command("git", { args: ["init", "-q", c.base] }).output();
      await Deno.writeTextFile(`${c.base}/.gitignore`, "ignored\n");
    }
    await Deno.writeTextFile(`${c.base}/kept`, "1");
    await Deno.writeTextFile(`${c.base}/gone`, "1");
    await Deno.writeTextFile(`${c.base}/__proto__`, "1");
    const none = await guard(["scan", ...at]);
    assertEquals(none.code, 2);
    assertEquals((await guard(["scan", "--before", ...at])).code, 0);
    assertEquals((await guard(["scan", ...at])).code, 0);
    await Deno.writeTextFile(`${c.root}/inside`, "1");
    await Deno.writeTextFile(`${c.base}/new`, "1");
    await Deno.writeTextFile(`${c.base}/kept`, "2");
    await Deno.writeTextFile(`${c.base}/__proto__`, "22");
    await Deno.remove(`${c.base}/gone`);
    const { code, out } = await guard(["scan", "--json", ...at]);
    assertEquals(code, 1);
    assertEquals(
      JSON.parse(out).strays.map((one: { path: string; change: string }) =>
        `${one.change} ${one.path.slice(c.base.length + 1)}`
      ),
      ["modified __proto__", "removed gone", "modified kept", "created new"],
    );
  }
});

Deno.test("guard says what is wrong with a command line, and exits with 2", async () => {
  const table: [string[], string][] = [
    [["instal"], "install"],
    [["install"], "name the harness"],
    [["install", "--harnes", "codex"], "--harness"],
    [["explain"], "no command"],
    [["verify"], "name the harness"],
    [["decide", "x"], "standard input"],
    [["decide"], "--jsonl"],
    [["teardown", "--harness", "abacus"], "not known"],
  ];
  for (const [args, part] of table) {
    const { code, err } = await guard(args);
    assertEquals(code, 2, args.join(" "));
    assertStringIncludes(err, part);
    const json = JSON.parse((await guard([...args, "--json"])).out);
    assertEquals([json.schema, json.ok], [1, false]);
    assertStringIncludes(json.error.message + (json.error.fix ?? ""), part);
  }
  assertEquals((await guard([])).code, 2);
  assertEquals((await guard(["--help"])).code, 0);
  for (
    const verb of [
      "install",
      "status",
      "verify",
      "explain",
      "decide",
      "log",
      "scan",
      "teardown",
    ]
  ) {
    assertEquals((await guard([verb, "--help"])).code, 0);
  }
});

Deno.test("guard verify says that a program is missing", async () => {
  const { code, out } = await guard([
    "verify",
    "--harness",
    "opencode",
    "--program",
    "/nonexistent/opencode",
    "--json",
  ]);
  assertEquals(code, 1);
  const report = JSON.parse(out);
  assertEquals([report.armed, report.state], [false, "unknown"]);
  assertStringIncludes(report.reasons[0], "is not installed");
  const said = await guard([
    "verify",
    "--harness",
    "opencode",
    "--program",
    "/nonexistent/opencode",
  ]);
  assertEquals(said.code, 1);
  assertMatch(said.out, /^opencode: cannot verify: .* is not installed/);
  assert(!said.out.includes("not armed"));
});

Deno.test("guard explain of a directory above the root is outside, armed or not", async () => {
  const { out } = await guard(["explain", "rm -rf /"]);
  assertMatch(out, /outside +rm \//);
  assert(!out.includes("keeps the guard armed"));
});

Deno.test("guard log --iteration without dispatch.json says what file of which shape", async () => {
  await using c = await place();
  const { code, err } = await guard(["log", "--iteration", `${c.base}/i-1`]);
  assertEquals(code, 1);
  assertStringIncludes(err, "dispatch.json");
  assertStringIncludes(err, '"eval_root"');
});

async function names(dir: string): Promise<string[]> {
  const found: string[] = [];
  for await (const entry of Deno.readDir(dir)) found.push(entry.name);
  return found.sort();
}

Deno.test("guard log --iteration joins the tasks' logs into guard-denials.json, one warning each", async () => {
  await using c = await place();
  const directory = `${c.base}/work/iteration-3`;
  const record = (tool: string, event?: "fail_open") =>
    JSON.stringify({
      timestamp: "2026-01-01T00:00:00.000Z",
      harness: "codex",
      tool,
      reason: "eval guard: no",
      resolved_targets: ["/etc/x"],
      input_keys: ["command"],
      ...event === undefined ? {} : { event },
    }) + "\n";
  const env = async (name: string, log?: string) => {
    const root = `${directory}/${name}/env`;
    await Deno.mkdir(`${root}/.eval-magic-outputs`, { recursive: true });
    if (log !== undefined) {
      await Deno.writeTextFile(
        `${root}/.eval-magic-outputs/guard-denials.jsonl`,
        log,
      );
    }
    return root;
  };
  const tasks = [
    {
      eval_id: "e1",
      condition: "with_skill",
      run_index: 1,
      eval_root: await env("a", record("Bash") + record("Write") + "damaged\n"),
    },
    {
      eval_id: "e1",
      condition: "without_skill",
      eval_root: await env("b", record("Bash")),
    },
    { eval_id: "e2", condition: "with_skill", eval_root: await env("c", "") },
    // Let through unjudged is not denied.
    {
      eval_id: "e3",
      condition: "with_skill",
      eval_root: await env("d", record("Bash", "fail_open")),
    },
    { eval_id: "e4", condition: "with_skill", eval_root: await env("e") },
    { eval_id: "e5", condition: "with_skill" },
  ];
  await Deno.writeTextFile(
    `${directory}/dispatch.json`,
    JSON.stringify({ tasks }),
  );
  const said = await guard(["log", "--iteration", directory]);
  assertEquals([said.code, said.err], [0, ""]);
  assertEquals(said.out.trim().split("\n").length, 3);
  assertStringIncludes(said.out, "e1/with_skill/run-1: the guard denied 2");
  assertStringIncludes(said.out, "denied: 3, tasks affected: 2");

  const report = JSON.parse(
    await Deno.readTextFile(`${directory}/guard-denials.json`),
  );
  assertEquals(Object.keys(report), [
    "generated",
    "iteration",
    "total_denials",
    "tasks",
  ]);
  assertEquals([report.iteration, report.total_denials], [3, 3]);
  const [first, second] = report.tasks;
  assertEquals([first.run_index, first.denial_count], [1, 2]);
  assertEquals(first.denials[1].tool, "Write");
  assertEquals(Object.keys(second), [
    "eval_id",
    "condition",
    "denial_count",
    "denials",
  ]);

  const json = await guard([
    "log",
    "--iteration",
    directory,
    "--number",
    "7",
    "--json",
  ]);
  assertEquals(JSON.parse(json.out).iteration, 7);
  assertEquals(JSON.parse(json.out).warnings.length, 2);
  await Deno.writeTextFile(`${directory}/dispatch.json`, "{}");
  const bad = await guard(["log", "--iteration", directory]);
  assertEquals(bad.code, 1);
  assertStringIncludes(bad.err, '"tasks"');
});
