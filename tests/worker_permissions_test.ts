import { type MatrixRow, testMatrix } from "./support/permission_matrix.ts";

const from = (names: string): string =>
  `import { ${names} } from "@bulkhead/worker";\n`;
const NET = "--allow-net=unix:{DIR}/w/a/worker.sock,unix:{DIR}/w/a/w.sock";
const RUN =
  'const worker = await runWorker({ shortId: "a", home: `${DIR}/w`, cwd: DIR, ';
const QUIET = "{ ...processIo(), out() {}, err() {} }";
const COMMAND =
  'import { workerCommand } from "@bulkhead/worker/cli";\nimport { printFailure, processIo } from "@bulkhead/sandbox/command";\n';

/** A socket that nobody listens on any more. */
async function deadSocket(dir: string): Promise<void> {
  const listener = Deno.listen({ transport: "unix", path: `${dir}/w.sock` });
  await Deno.rename(`${dir}/w.sock`, `${dir}/worker.sock`);
  listener.close();
}

/** Every exported function that touches the system, with its least flags. */
export const rows: MatrixRow[] = [
  {
    entry: "worker: pure parts",
    code: from("FrameLog, Judge, parseFrame, Posture, TurnLedger, TurnState") +
      'parseFrame("{}"); new FrameLog(); new TurnState(); new TurnLedger(); await new Judge([new Posture("/w", {})]).judge({ toolName: "Bash", input: {}, cwd: "/w" });',
    flags: [],
  },
  {
    entry: "worker: workerCommand(--help)",
    code: `${COMMAND}await workerCommand(["--help"], ${QUIET});`,
    flags: [],
  },
  {
    entry: "worker: createPosture()",
    code: from("createPosture") +
      'const posture = await createPosture({ cwd: DIR, rules: { allow: ["Read"] } });\n' +
      'if (posture.decide({ toolName: "Read", input: { file_path: "a" }, cwd: DIR }).decision !== "allow") throw new Error("no");',
    flags: ["--allow-read"],
  },
  {
    entry: "worker: isTrustedProject()",
    code: `${from("isTrustedProject")}await isTrustedProject(DIR, DIR);`,
    flags: ["--allow-read={DIR}"],
  },
  {
    entry: "worker: agentEnvironment()",
    code: `${from("agentEnvironment")}agentEnvironment();`,
    flags: ["--allow-env"],
  },
  {
    entry: "worker: runWorker() with an argv",
    code: from("argvDriver, runWorker") + RUN +
      'driver: argvDriver(["sh", "-c", "cat > /dev/null"]) });\nawait worker.end();',
    flags: [
      "--allow-read",
      "--allow-env",
      "--allow-run",
      "--allow-write={DIR}",
      NET,
    ],
  },
  {
    entry: "worker: runWorker() with the scripted agent",
    code: from("runWorker, scriptedDriver") + RUN +
      'driver: scriptedDriver({ sessions: `${DIR}/s` }) });\nawait worker.ask("x");\nawait worker.end();',
    flags: [
      "--allow-read",
      "--allow-env",
      "--allow-run",
      "--allow-write={DIR}",
      NET,
    ],
  },
  {
    entry: "worker: connect()",
    code: from("connect") +
      "await connect(`${DIR}/worker.sock`).catch((error) => { if (!(error instanceof Deno.errors.ConnectionRefused)) throw error; });",
    flags: [
      "--allow-read={DIR}",
      "--allow-write={DIR}",
      "--allow-net=unix:{DIR}/worker.sock",
    ],
    prepare: deadSocket,
  },
];

testMatrix(rows);
