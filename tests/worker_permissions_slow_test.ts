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
    entry: "worker: guardDecider()",
    code: from("guardDecider") +
      'const guard = await guardDecider({ roots: [DIR], protectedPaths: [], home: "/home/me" });\n' +
      'if (guard.decide({ toolName: "Write", input: { file_path: `${DIR}/a`, content: "" }, cwd: DIR }) !== null) throw new Error("no");',
    flags: ["--allow-read"],
  },
  {
    entry: "worker: realRoot()",
    code: `${from("realRoot")}await realRoot(DIR);`,
    flags: ["--allow-read={DIR}"],
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
  {
    entry: "worker: thisMachine()",
    code: `${from("thisMachine")}await thisMachine();`,
    flags: ["--allow-run"],
  },
  {
    entry: "worker: processStart()",
    code: `${from("processStart")}await processStart(Deno.pid);`,
    flags: ["--allow-run"],
  },
  {
    entry: "worker: endProcess()",
    code: `${from("endProcess")}await endProcess({ pid: 2 ** 22, ticks: 1 });`,
    flags: ["--allow-run"],
  },
  {
    entry: "worker: acquireClaim()",
    code: from("acquireClaim") +
      'const outcome = await acquireClaim("a", "b", { root: DIR });\n' +
      'if (outcome.kind === "error") throw new Error(outcome.message);',
    flags: ["--allow-read={DIR}", "--allow-write={DIR}", "--allow-run"],
    told: true,
  },
  {
    entry: "worker: readClaim()",
    code: `${from("readClaim")}await readClaim("a", { root: DIR });`,
    flags: ["--allow-read={DIR}"],
  },
  {
    entry: "worker: isClaimLive()",
    code: from("isClaimLive") +
      'await isClaimLive({ schemaVersion: 1, key: "a", holder: "b", acquiredAt: 0, pid: 1, host: "x" });',
    flags: ["--allow-run"],
  },
  {
    entry: "worker: listWorkers()",
    code: from("listWorkers") + "await listWorkers(`${DIR}/w`);",
    flags: ["--allow-read={DIR}", "--allow-run"],
  },
  {
    entry: "worker: recoverWorkers()",
    code: from("recoverWorkers") + "await recoverWorkers(`${DIR}/w`);",
    flags: ["--allow-read={DIR}", "--allow-run"],
  },
  {
    entry: "worker: reapWorkers()",
    code: from("reapWorkers") + "await reapWorkers(`${DIR}/w`);",
    flags: ["--allow-read={DIR}", "--allow-run"],
  },
  {
    entry: "worker: readRegistry()",
    code: from("readRegistry, workerHome") +
      "await readRegistry(workerHome(`${DIR}/w`));",
    flags: ["--allow-read={DIR}"],
  },
  {
    entry: "worker: updateRegistry()",
    code: from("updateRegistry, workerHome") +
      "await updateRegistry(workerHome(`${DIR}/w`), () => {});",
    flags: ["--allow-read={DIR}", "--allow-write={DIR}"],
  },
  {
    entry: "worker: readState()",
    code: from("readState, workerHome") +
      'await readState(workerHome(`${DIR}/w`), "a");',
    flags: ["--allow-read={DIR}"],
  },
  {
    entry: "worker: updateState()",
    code: from("updateState, workerHome") +
      'await updateState(workerHome(`${DIR}/w`), "a", { status: "live" });',
    flags: ["--allow-read={DIR}", "--allow-write={DIR}"],
  },
  {
    entry: "worker: readEvents()",
    code: from("readEvents, workerHome") +
      "await readEvents(workerHome(`${DIR}/w`));",
    flags: ["--allow-read={DIR}"],
  },
  {
    entry: "worker: appendEvent()",
    code: from("appendEvent, workerHome") +
      'await appendEvent(workerHome(DIR), { type: "x", source: "y", data: {} });',
    flags: ["--allow-write={DIR}"],
  },
  {
    entry: "worker: servePage()",
    code: from("servePage") +
      "await using page = await servePage({ home: `${DIR}/w` });",
    flags: ["--allow-read", "--allow-net=127.0.0.1:0"],
  },
];

testMatrix(rows);
