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
];

testMatrix(rows);
