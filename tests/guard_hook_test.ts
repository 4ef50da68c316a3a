// deno-lint-ignore-file camelcase -- field names of payloads and of the log
import {
  assert,
  assertEquals,
  assertMatch,
  assertStringIncludes,
} from "@std/assert";
import { denoPathPort, resolveTarget } from "@bulkhead/sandbox/paths";
import { countDenials, readDenials } from "../guard/denial_log.ts";
import {
  judgePayload,
  MAX_PAYLOAD_BYTES,
  realPathPort,
} from "../guard/hook.ts";
import { armGuard } from "../guard/install.ts";
import type { GuardMarker } from "../guard/marker.ts";

/** A live marker with one root, as the first release's tests have it. */
const MARKER: GuardMarker = {
  active: true,
  allowedRoots: ["/work/.eval-magic"],
};

async function verdict(
  harness: string,
  payload: unknown,
  marker: GuardMarker | undefined = MARKER,
): Promise<string> {
  const text = typeof payload === "string" ? payload : JSON.stringify(payload);
  const outcome = await judgePayload(text, {
    harness,
    marker,
    now: 0,
    cwd: "/work/.eval-magic",
  });
  return outcome.output;
}

const OUTSIDE_WRITE = {
  tool_name: "Write",
  tool_input: { file_path: "/etc/passwd" },
};

Deno.test("judgePayload() says nothing to a read", async () => {
  assertEquals(
    await verdict("claude-code", {
      tool_name: "Read",
      tool_input: { file_path: "/etc/passwd" },
    }),
    "",
  );
});

Deno.test("judgePayload() denies with these exact bytes for Claude Code", async () => {
  assertEquals(
    await verdict("claude-code", OUTSIDE_WRITE),
    '{"hookSpecificOutput":{"hookEventName":"PreToolUse",' +
      '"permissionDecision":"deny","permissionDecisionReason":' +
      '"eval guard: Write to /etc/passwd is outside the eval sandbox ' +
      '(allowed: /work/.eval-magic)"}}',
  );
});

Deno.test("judgePayload() denies with these exact bytes for Codex", async () => {
  assertEquals(
    await verdict("codex", {
      tool_name: "Bash",
      tool_input: { command: "npm install left-pad" },
    }),
    '{"decision":"block","reason":"eval guard: blocked Bash ' +
      '(package install/add) — runs outside the eval sandbox"}',
  );
});

Deno.test("judgePayload() denies with these exact bytes for OpenCode", async () => {
  assertEquals(
    await verdict("opencode", {
      tool_name: "write",
      tool_input: { filePath: "/etc/passwd" },
    }),
    '{"decision":"block","reason":"eval guard: write to /etc/passwd is ' +
      'outside the eval sandbox (allowed: /work/.eval-magic)"}',
  );
});

Deno.test("judgePayload() loads the tables of seldom programs when a command names one", async () => {
  const judge = (command: string) =>
    verdict("claude-code", { tool_name: "Bash", tool_input: { command } });
  assertMatch(await judge("hg -R /srv/r commit -m x"), /hg commit outside/);
  assertMatch(await judge("echo aGcgaW5pdCAvc3J2 | base64 -d | sh"), /hg init/);
  assertEquals(await judge("hg -R /srv/r log"), "");
});

Deno.test("judgePayload() denies in the shape of every other harness", async () => {
  const reason =
    "eval guard: write_file to /etc/x is outside the eval sandbox (allowed: /work/.eval-magic)";
  const payload = {
    tool_name: "write_file",
    tool_input: { file_path: "/etc/x" },
  };
  const shapes: [string, unknown][] = [
    ["gemini", { decision: "deny", reason }],
    ["cline", { decision: "block", reason }],
    ["pi", { decision: "block", reason }],
    ["cursor", {
      permission: "deny",
      user_message: reason,
      agent_message: reason,
    }],
    ["copilot", {
      permissionDecision: "deny",
      permissionDecisionReason: reason,
    }],
  ];
  for (const [harness, shape] of shapes) {
    assertEquals(JSON.parse(await verdict(harness, payload)), shape, harness);
  }
});

Deno.test("judgePayload() understands the payload of every other harness", async () => {
  const out = "/etc/x";
  const payloads: [string, unknown][] = [
    ["gemini", {
      hook_event_name: "BeforeTool",
      tool_name: "run_shell_command",
      tool_input: { command: `echo x > ${out}` },
    }],
    ["gemini", {
      tool_name: "run_shell_command",
      tool_input: { command: "echo x > a", dir_path: "/etc" },
    }],
    ["cline", {
      tool_name: "run_commands",
      tool_input: { commands: ["ls", `echo x > ${out}`] },
    }],
    ["cline", { tool_name: "editor", tool_input: { path: out } }],
    ["cursor", { tool_name: "Shell", tool_input: { command: "rm /etc/x" } }],
    ["cursor", {
      tool_name: "Shell",
      tool_input: { command: "rm x", working_directory: "/etc" },
    }],
    ["cursor", { tool_name: "Delete", tool_input: { path: out } }],
    ["copilot", {
      toolName: "bash",
      toolArgs: JSON.stringify({ command: `echo x > ${out}` }),
      cwd: "/work/.eval-magic",
    }],
    ["copilot", { toolName: "create", toolArgs: { path: out } }],
    ["pi", { tool_name: "bash", tool_input: { command: `touch ${out}` } }],
    ["pi", { tool_name: "edit", tool_input: { path: out } }],
    ["opencode", {
      tool_name: "bash",
      tool_input: { command: "echo x > a", workdir: "/etc" },
    }],
    ["codex", { tool: { name: "Write" }, input: { file_path: out } }],
    ["codex", { tool_name: "apply_patch", files: [out] }],
    ["codex", { tool_name: "apply_patch", tool_input: {}, files: [out] }],
  ];
  for (const [harness, payload] of payloads) {
    assert(
      (await verdict(harness, payload)).includes("eval guard"),
      JSON.stringify(payload),
    );
  }
});

Deno.test("judgePayload() speaks up for an allowed call only where silence would block", async () => {
  const inside = {
    tool_name: "Write",
    tool_input: { file_path: "/work/.eval-magic/a" },
  };
  assertEquals(await verdict("cursor", inside), '{"permission":"allow"}');
  assertEquals(
    await verdict("cursor", inside, undefined),
    '{"permission":"allow"}',
  );
  for (
    const harness of ["claude-code", "codex", "opencode", "gemini", "copilot"]
  ) {
    assertEquals(await verdict(harness, inside), "");
  }
});

Deno.test("judgePayload() without a live marker allows everything", async () => {
  const outcome = (marker: GuardMarker | undefined, now = 0) =>
    judgePayload(JSON.stringify(OUTSIDE_WRITE), {
      harness: "claude-code",
      marker,
      now,
    });
  assertEquals(await outcome(undefined), { output: "" });
  assertEquals(await outcome({ ...MARKER, active: false }), { output: "" });
  const expiresAt = "1970-01-01T00:00:01.000Z";
  assertEquals(await outcome({ ...MARKER, expiresAt }, 1000), { output: "" });
  assert((await outcome({ ...MARKER, expiresAt }, 999)).output !== "");
  assert((await outcome({ ...MARKER, expiresAt: "soon" })).output !== "");
});

Deno.test("judgePayload() lets an empty or malformed payload pass, and says so in the log", async () => {
  for (const text of ["", "  ", "{}", '{"tool_name":7,"tool_input":[]}']) {
    assertEquals(await verdict("claude-code", text), "");
  }
  for (const text of ["not json", "[1]", '"x"', "null", "{"]) {
    const outcome = await judgePayload(text, {
      harness: "claude-code",
      marker: MARKER,
      now: 0,
    });
    assertEquals(outcome.output, "");
    assertEquals(outcome.record?.event, "fail_open");
  }
});

Deno.test("judgePayload() that fails closed denies what it cannot judge", async () => {
  const options = {
    harness: "codex",
    marker: { ...MARKER, failClosed: true },
    now: 0,
  };
  const { output, record } = await judgePayload("not json", options);
  assertStringIncludes(output, "the hook's payload is not JSON");
  assertEquals(record?.rule, "fail-closed");
  const lost = { ...options, marker: undefined, failClosed: true };
  assertStringIncludes(
    (await judgePayload("{}", lost)).output,
    "marker cannot be read",
  );
});

Deno.test("judgePayload() denies a payload that is too large to read", async () => {
  const options = { harness: "codex", marker: MARKER, now: 0 };
  assertStringIncludes(
    (await judgePayload(undefined, options)).output,
    "larger than",
  );
});

Deno.test("judgePayload() blocks an apply_patch outside and allows one inside", async () => {
  const patch = (path: string) =>
    verdict("codex", {
      hook_event_name: "PreToolUse",
      tool_name: "apply_patch",
      tool_input: { files: [path] },
    });
  assertStringIncludes(
    JSON.parse(await patch("/etc/passwd")).reason,
    "apply_patch",
  );
  assertEquals(await patch("/work/.eval-magic/out.md"), "");
});

Deno.test("judgePayload() resolves the targets of a patch command from the payload's cwd", async () => {
  const patch = (cwd: string, from: string, to: string) =>
    verdict("codex", {
      cwd,
      tool_name: "apply_patch",
      tool_input: {
        command:
          `*** Begin Patch\n*** Update File: ${from}\n*** Move to: ${to}\n*** End Patch\n`,
      },
    });
  const cwd = "/work/.eval-magic/eval-root";
  assertEquals(await patch(cwd, "fixtures/in.txt", "fixtures/out.txt"), "");
  assert(await patch(cwd, "/etc/in.txt", "fixtures/out.txt"));
  assert(await patch(cwd, "fixtures/in.txt", "/etc/out.txt"));
  assert(await patch("/srv", "fixtures/in.txt", "fixtures/out.txt"));
});

Deno.test("judgePayload() protects the marker and its manifest wherever they lie", async () => {
  const path = "/work/.eval-magic/odd/place/marker.json";
  for (
    const file_path of [
      path,
      "/work/.eval-magic/odd/place/.slow-powers-eval-guard-manifest.json",
    ]
  ) {
    const outcome = await judgePayload(
      JSON.stringify({ tool_name: "Write", tool_input: { file_path } }),
      { harness: "codex", marker: MARKER, markerPath: path, now: 0 },
    );
    assert(outcome.output !== "", file_path);
  }
});

Deno.test("realPathPort finds the same places as lstat does", async () => {
  const dir = await Deno.realPath(await Deno.makeTempDir());
  await Deno.mkdir(`${dir}/a/b`, { recursive: true });
  await Deno.writeTextFile(`${dir}/a/file`, "x");
  await Deno.symlink("a/b", `${dir}/link`);
  await Deno.symlink("../gone", `${dir}/a/dangling`);
  await Deno.symlink("loop", `${dir}/loop`);
  await Deno.symlink("/etc", `${dir}/abs`);
  await Deno.symlink("link", `${dir}/link2`);
  const paths = [
    "a/file",
    "a/none",
    "link/x",
    "link/../x",
    "a/dangling",
    "a/dangling/x",
    "abs/x",
    "link2/y",
    "none/../a/file",
    "a/file/x",
    "/proc/self/cwd/x",
    "/dev/null",
    "/dev/stdout",
    ".",
    "..",
    "",
    "//etc//x/",
    "loop",
    "loop/x",
  ];
  const of = (path: string, port: typeof denoPathPort) => {
    try {
      return resolveTarget(path, dir, port);
    } catch (error) {
      return error instanceof Error ? error.constructor.name : "";
    }
  };
  for (const path of paths) {
    assertEquals(of(path, realPathPort), of(path, denoPathPort), path);
  }
  await Deno.remove(dir, { recursive: true });
});

/** An armed workspace with awkward names, and a way to run its shim. */
interface Armed extends AsyncDisposable {
  root: string;
  exe: string;
  marker: string;
  log: string;
  hook(
    payload: string,
    args?: string[],
    cwd?: string,
  ): Promise<{ code: number; stdout: string; stderr: string }>;
}

async function armed(
  harness = "claude-code",
  failClosed = false,
): Promise<Armed> {
  const base = await Deno.realPath(
    await Deno.makeTempDir({ prefix: "guard hook " }),
  );
  const root = `${base}/it's, a "root" $X`;
  await Deno.mkdir(root);
  const { markerPath, exe } = await armGuard({
    harness,
    root,
    home: `${base}/ho me`,
    failClosed,
    bundle: false,
  });
  return {
    root,
    exe,
    marker: markerPath,
    log: `${root}/.eval-magic-outputs/guard-denials.jsonl`,
    async hook(payload, args = ["guard", markerPath], cwd = root) {
      const child = new Deno.Command(exe, {
        args,
        cwd,
        clearEnv: true,
        stdin: "piped",
        stdout: "piped",
        stderr: "piped",
      }).spawn();
      const writer = child.stdin.getWriter();
      // A hook may end before it has read everything.
      await writer.write(new TextEncoder().encode(payload)).catch(() => {});
      await writer.close().catch(() => {});
      const { code, stdout, stderr } = await child.output();
      const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
      return { code, stdout: text(stdout), stderr: text(stderr) };
    },
    async [Symbol.asyncDispose]() {
      await Deno.remove(base, { recursive: true });
    },
  };
}

Deno.test("a shim whose Deno is gone counts the call as let through, or refuses it when it fails closed", async () => {
  await using c = await armed();
  const shim = await Deno.readTextFile(c.exe);
  await Deno.writeTextFile(
    c.exe,
    shim.replace(/^deno='[^']*'/m, "deno='/gone/with npx/deno'"),
  );
  const payload = JSON.stringify({ tool_name: "Write", tool_input: {} });
  for (
    const [flags, code, counts] of [
      [[], 127, { denials: 0, failedOpen: 1, byRule: {} }],
      [["--fail-closed"], 2, {
        denials: 1,
        failedOpen: 1,
        byRule: { "fail-closed": 1 },
      }],
    ] as const
  ) {
    const said = await c.hook(payload, ["guard", ...flags, c.marker]);
    assertEquals([said.code, said.stdout], [code, ""]);
    assertMatch(said.stderr, /^eval guard: .* is gone; run npm i -g deno/);
    const { records, damagedLines } = await readDenials(c.log);
    assertEquals([countDenials(records), damagedLines], [counts, 0]);
  }
});

Deno.test("the hook process denies, logs names but no values, and is silent when it allows", async () => {
  await using c = await armed("codex");
  const inside = {
    tool_name: "Bash",
    cwd: c.root,
    tool_input: { command: "printf done > notes.md" },
  };
  assertEquals(
    await c.hook(JSON.stringify(inside), ["guard-codex", c.marker]),
    {
      code: 0,
      stdout: "",
      stderr: "",
    },
  );
  assertEquals(await Deno.readTextFile(c.log), "");

  const denied = [
    {
      tool_name: "Bash",
      cwd: c.root,
      tool_input: {
        z: "not persisted",
        command: "printf secret > /etc/eval-magic-out",
        a: 1,
      },
    },
    { tool_name: "Write", cwd: c.root, tool_input: { file_path: "../out" } },
  ];
  for (const payload of denied) {
    const { code, stdout, stderr } = await c.hook(JSON.stringify(payload), [
      "guard-codex",
      c.marker,
    ]);
    assertEquals([code, stderr], [0, ""]);
    assertEquals(JSON.parse(stdout).decision, "block");
  }
  const text = await Deno.readTextFile(c.log);
  const { records, damagedLines } = await readDenials(c.log);
  assertEquals([records.length, damagedLines], [2, 0]);
  const [bash, write] = records;
  assertEquals(bash?.harness, "codex");
  assertEquals(bash?.tool, "Bash");
  assertEquals(bash?.resolved_targets, ["/etc/eval-magic-out"]);
  assertEquals(bash?.input_keys, ["a", "command", "z"]);
  assertStringIncludes(bash?.reason ?? "", "output redirection");
  assertEquals(write?.resolved_targets, [
    `${c.root.slice(0, c.root.lastIndexOf("/"))}/out`,
  ]);
  assert(!text.includes("secret") && !text.includes("not persisted"));
  assertEquals(countDenials(records).denials, 2);
});

Deno.test("the hook process answers under each of its names", async () => {
  await using c = await armed();
  const payload = JSON.stringify({ ...OUTSIDE_WRITE, cwd: c.root });
  const names: [string[], string][] = [
    [["guard", c.marker], "hookSpecificOutput"],
    [["hook", "--harness", "claude-code", c.marker], "hookSpecificOutput"],
    [["guard", "hook", "--harness", "codex", c.marker], "decision"],
    [["guard-codex", c.marker], "decision"],
    [["guard-hook", "--harness", "opencode", c.marker], "decision"],
    [["guard-hook", "--harness=cursor", c.marker], "permission"],
    [["guard"], "hookSpecificOutput"],
  ];
  for (const [args, key] of names) {
    const { code, stdout } = await c.hook(payload, args);
    assertEquals(code, 0);
    assertEquals(Object.keys(JSON.parse(stdout))[0], key, args.join(" "));
  }
});

Deno.test("the hook process ends with 0 and says nothing on every path that fails open", async () => {
  await using c = await armed();
  const deny = JSON.stringify(OUTSIDE_WRITE);
  const silent = { code: 0, stdout: "", stderr: "" };
  assertEquals(await c.hook(deny, ["guard", "/nonexistent/marker"]), silent);
  assertEquals(await c.hook(deny, ["guard", "/dev/null"]), silent);
  assertEquals(await c.hook(deny, ["guard", "/tmp"]), silent);
  assertEquals(
    await c.hook(deny, ["guard-hook", "--harness", "abacus", c.marker]),
    silent,
  );
  assertEquals(
    await c.hook(deny, ["guard-hook", "--harness", "__proto__", c.marker]),
    silent,
  );
  assertEquals(await c.hook(deny, ["guard-hook", "--harness"]), silent);
  assertEquals(await c.hook("not json"), silent);
  assertEquals(await c.hook("\xff\xfe"), silent);
  assertEquals(await c.hook(""), silent);
  assertEquals(await c.hook("[".repeat(200_000)), silent);
  const { records } = await readDenials(c.log);
  assertEquals(countDenials(records), {
    denials: 0,
    failedOpen: 3,
    byRule: {},
  });
});

Deno.test("the hook process that fails closed denies on these paths", async () => {
  await using c = await armed("claude-code", true);
  const payload = JSON.stringify(OUTSIDE_WRITE);
  const flag = ["guard", "--fail-closed"];
  for (
    const [args, text] of [
      [["guard", c.marker], "not json"],
      [[...flag, "/nonexistent/marker"], payload],
      [[...flag, "/dev/null"], payload],
    ] as const
  ) {
    const { code, stdout } = await c.hook(text, [...args]);
    assertEquals(code, 0);
    assertStringIncludes(stdout, '"permissionDecision":"deny"');
  }
  const unknown = [
    "guard-hook",
    "--fail-closed",
    "--harness",
    "abacus",
    c.marker,
  ];
  assertEquals((await c.hook(payload, unknown)).code, 2);
});

Deno.test("the hook process takes a large payload, and denies one beyond its bound", async () => {
  await using c = await armed();
  const write = (path: string, size: number) =>
    JSON.stringify({
      tool_name: "Write",
      cwd: c.root,
      tool_input: { file_path: path, content: "x".repeat(size) },
    });
  assertEquals((await c.hook(write("a.txt", 8_000_000))).stdout, "");
  assertStringIncludes(
    (await c.hook(write("/etc/a", 8_000_000))).stdout,
    "deny",
  );
  assertStringIncludes(
    (await c.hook(write("a.txt", MAX_PAYLOAD_BYTES))).stdout,
    "larger than",
  );
});

Deno.test("the hook process denies even when the log cannot be written", async () => {
  await using c = await armed();
  const payload = JSON.stringify({ ...OUTSIDE_WRITE, cwd: c.root });
  await Deno.remove(c.log);
  await Deno.mkdir(c.log);
  assertStringIncludes((await c.hook(payload)).stdout, "deny");
  await Deno.remove(c.log);
  await Deno.symlink(`${c.root}/else`, c.log);
  assertStringIncludes((await c.hook(payload)).stdout, "deny");
  await Deno.remove(`${c.root}/.eval-magic-outputs`, { recursive: true });
  assertStringIncludes((await c.hook(payload)).stdout, "deny");
});

Deno.test("the hook process judges by the payload's cwd, and by its own when there is none", async () => {
  await using c = await armed();
  const relative = (cwd?: string) =>
    JSON.stringify({ tool_name: "Write", tool_input: { file_path: "a" }, cwd });
  assertEquals((await c.hook(relative(c.root), undefined, "/tmp")).stdout, "");
  assertStringIncludes(
    (await c.hook(relative("/srv"), undefined, c.root)).stdout,
    "deny",
  );
  assertEquals((await c.hook(relative(), undefined, c.root)).stdout, "");
  assertStringIncludes(
    (await c.hook(relative(), undefined, "/tmp")).stdout,
    "deny",
  );
});

Deno.test("a hostile environment does not reach the hook process", async () => {
  await using c = await armed();
  const evil = `${c.root}/evil.cjs`;
  await Deno.writeTextFile(
    evil,
    `require("fs").writeFileSync(${JSON.stringify(`${c.root}/pwned`)}, "")`,
  );
  await Deno.writeTextFile(
    `${c.root}/deno.json`,
    '{"imports":{"unbash":"./evil.cjs"}}',
  );
  const settings = JSON.parse(
    await Deno.readTextFile(`${c.root}/.claude/settings.local.json`),
  );
  const { command } = settings.hooks.PreToolUse[0].hooks[0];
  const child = new Deno.Command("/bin/sh", {
    args: ["-c", command],
    cwd: c.root,
    env: {
      NODE_OPTIONS: `--require ${evil}`,
      DENO_PERMISSION_BROKER_PATH: "/nonexistent.sock",
      DENO_DIR: "/nonexistent",
    },
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(JSON.stringify(OUTSIDE_WRITE)));
  await writer.close();
  const { stdout } = await child.output();
  assertStringIncludes(new TextDecoder().decode(stdout), '"deny"');
  await assertMissing(`${c.root}/pwned`);
});

async function assertMissing(path: string): Promise<void> {
  try {
    await Deno.lstat(path);
  } catch {
    return;
  }
  throw new Error(`"${path}" exists`);
}
