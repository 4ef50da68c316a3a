import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { fromFileUrl } from "@std/path";
import { type MatrixRow, testMatrix } from "./support/permission_matrix.ts";

const from = (names: string): string =>
  `import { ${names} } from "@bulkhead/guard";\n`;

const ARM_ENV =
  "--allow-env=DENO_DIR,XDG_CACHE_HOME,SSL_CERT_FILE,NODE_EXTRA_CA_CERTS,HOME";

/** Arms in the test's own process, for rows that look at an armed workspace. */
async function arm(dir: string): Promise<void> {
  const { armGuard } = await import("../guard/install.ts");
  await armGuard({
    harness: "codex",
    root: dir,
    home: `${dir}/home`,
    bundle: false,
    selfCheck: false,
  });
}

/** Every exported function of the guard that touches the system, with its least flags. */
export const rows: MatrixRow[] = [
  {
    entry: "guard decideCall()",
    code: from("decideCall") +
      `decideCall({ toolName: "Bash", toolInput: { command: "cp a /etc/b" }, cwd: DIR },
        { active: true, allowedRoots: [DIR] }, { now: 0 });`,
    flags: ["--allow-read"],
  },
  {
    entry: "guard readMarker()",
    code: from("readMarker") + "readMarker(`${DIR}/m`);",
    flags: ["--allow-read={DIR}/m"],
  },
  {
    entry: "guard readDenials()",
    code: from("readDenials") + "await readDenials(`${DIR}/log`);",
    flags: ["--allow-read={DIR}/log"],
  },
  {
    entry: "guard loadHarnesses()",
    code: from("loadHarnesses") + "await loadHarnesses(DIR);",
    flags: ["--allow-read={DIR}/harnesses"],
  },
  {
    entry: "guard armGuard({ exe, selfCheck: false })",
    code: from("armGuard") +
      `await armGuard({ harness: "codex", root: DIR, home: DIR + "/home",
        exe: DIR + "/exe", selfCheck: false });`,
    flags: ["--allow-read", "--allow-write={DIR}"],
  },
  {
    entry: "guard armGuard({ bundle: false, selfCheck: false })",
    code: from("armGuard") +
      `await armGuard({ harness: "codex", root: DIR, home: DIR + "/home",
        bundle: false, selfCheck: false });`,
    flags: ["--allow-read", "--allow-write={DIR}", ARM_ENV],
  },
  {
    entry: "guard armGuard({ bundle: false })",
    code: from("armGuard") +
      `await armGuard({ harness: "codex", root: DIR, home: DIR + "/home", bundle: false });`,
    flags: ["--allow-read", "--allow-write={DIR}", ARM_ENV, "--allow-run"],
  },
  {
    entry: "guard armGuard()",
    code: from("armGuard") +
      `await armGuard({ harness: "codex", root: DIR, home: DIR + "/home" });`,
    flags: [
      "--allow-read",
      "--allow-write={DIR}",
      "--allow-env",
      "--allow-run",
    ],
  },
  {
    entry: "guard teardownGuard()",
    code: from("teardownGuard") +
      "await teardownGuard(DIR, { home: `${DIR}/home` });",
    flags: ["--allow-read", "--allow-write={DIR}"],
    prepare: arm,
  },
  {
    entry: "guard guardStatus({ selfCheck: false, env })",
    code: from("guardStatus") +
      "await guardStatus(DIR, { selfCheck: false, env: {} });",
    flags: ["--allow-read"],
    prepare: arm,
  },
  {
    entry: "guard guardStatus()",
    code: from("guardStatus") + "await guardStatus(DIR);",
    flags: [
      "--allow-read",
      "--allow-env=HOME,CLAUDE_CONFIG_DIR,CODEX_HOME,GEMINI_CLI_TRUST_WORKSPACE,OPENCODE_PURE,OPENCODE_DISABLE_PROJECT_CONFIG",
      "--allow-run",
    ],
    prepare: arm,
  },
  {
    entry: "guard takeSnapshot()",
    code: from("takeSnapshot") + "await takeSnapshot(DIR);",
    flags: ["--allow-read", "--allow-env", "--allow-run"],
  },
  {
    entry: "guard detectHarness()",
    code: from("detectHarness, harnessByLabel") +
      `await detectHarness(harnessByLabel("codex")!, "/bin/true");`,
    flags: ["--allow-read", "--allow-env", "--allow-run"],
  },
  {
    entry: "guard verifyGuard()",
    code: from("verifyGuard") +
      `await verifyGuard({ harness: "codex", program: "/bin/true", control: false });`,
    flags: [
      "--allow-read",
      "--allow-write",
      "--allow-env",
      "--allow-run",
      "--allow-net=127.0.0.1",
    ],
  },
  {
    entry: "guard writeShim({ bundle: false })",
    code: from("writeShim") + "await writeShim(DIR, { bundle: false });",
    flags: [
      "--allow-read={DIR}",
      "--allow-write={DIR}",
      "--allow-env=DENO_DIR,XDG_CACHE_HOME,SSL_CERT_FILE,NODE_EXTRA_CA_CERTS,HOME",
    ],
  },
  {
    entry: "guard reportDenials()",
    code: from("reportDenials") +
      "await reportDenials(DIR, { iteration: 1, base: DIR });",
    flags: ["--allow-read={DIR}", "--allow-write={DIR}"],
    prepare: (dir) =>
      Deno.writeTextFile(`${dir}/dispatch.json`, '{"tasks":[]}'),
  },
  {
    entry: "guard judgePayload() of a write",
    code: 'import { judgePayload } from "@bulkhead/guard/hook";\n' +
      `await judgePayload(JSON.stringify({ tool_name: "Write", tool_input: { file_path: DIR + "/a" } }),
        { harness: "claude-code", marker: { active: true, allowedRoots: [DIR] }, now: 0, cwd: DIR });`,
    flags: [],
  },
  {
    entry: "guard startScriptedModel()",
    code:
      'import { startScriptedModel } from "@bulkhead/guard/scripted-model";\n' +
      "await using model = await startScriptedModel({ steps: [] });",
    flags: ["--allow-net=127.0.0.1:0"],
  },
];

testMatrix(rows);

/** The hook with some of the flags that its shim gives it, on a write outside. */
async function hook(
  dir: string,
  flags: readonly string[],
  ...args: string[]
): Promise<{ code: number; said: string; logged: boolean }> {
  await Deno.writeTextFile(
    `${dir}/marker.json`,
    JSON.stringify({
      active: true,
      allowedRoots: [`${dir}/ws`],
      denialLogPath: `${dir}/denials.jsonl`,
    }),
  );
  const child = new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      `--config=${fromFileUrl(new URL("../deno.json", import.meta.url))}`,
      "--no-lock",
      "--no-prompt",
      "--no-check",
      ...flags,
      fromFileUrl(new URL("../guard/hook.ts", import.meta.url)),
      "--harness",
      "claude-code",
      ...args,
      `${dir}/marker.json`,
    ],
    stdin: "piped",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(JSON.stringify({
    tool_name: "Write",
    tool_input: { file_path: "/outside" },
    cwd: `${dir}/ws`,
  })));
  await writer.close();
  const { code, stdout } = await child.output();
  const log = `${dir}/denials.jsonl`;
  const logged = await Deno.remove(log).then(() => true, () => false);
  return { code, said: new TextDecoder().decode(stdout), logged };
}

Deno.test("permissions: the hook with each flag of its shim removed", async () => {
  const dir = await Deno.realPath(await Deno.makeTempDir({ prefix: "bh" }));
  await Deno.mkdir(`${dir}/ws`);
  const read = "--allow-read";
  const env = "--allow-env=HOME,TMPDIR,USER,LOGNAME";
  const write = `--allow-write=${dir}/denials.jsonl`;
  const whole = await hook(dir, [read, env, write]);
  assertEquals([whole.code, whole.logged], [0, true]);
  assertStringIncludes(whole.said, '"deny"');
  assertEquals(await hook(dir, [read, env]), { ...whole, logged: false });
  // Without what it judges by, it lets the call through, or denies it where it was told to.
  for (const flags of [[env, write], [read, write]]) {
    const open = await hook(dir, flags);
    assertEquals(open, { code: 0, said: "", logged: false }, flags[0]);
    const { code, said } = await hook(dir, flags, "--fail-closed");
    assert(code === 2 || said.includes('"deny"'), `${code} ${said}`);
  }
  await Deno.remove(dir, { recursive: true });
});
