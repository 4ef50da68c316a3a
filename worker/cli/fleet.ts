/**
 * The commands about all workers of a home, and the one that starts another.
 *
 * @module
 */

import { denoEntry, startProcess } from "@bulkhead/sandbox";
import { printResult, UsageError } from "@bulkhead/sandbox/command";
import { AgentStartError } from "../agents/start_error.ts";
import { connect } from "../client.ts";
import { listWorkers, reapWorkers } from "../fleet.ts";
import { besideOf } from "../socket.ts";
import { ensureHome, shortIdFor, workerFiles } from "../store/home.ts";
import { readRegistry } from "../store/registry.ts";
import { visible } from "./render.ts";
import { homeOf, type WorkerVerb } from "./shared.ts";

/** How long a started worker may take to answer. */
const START_MS = 60_000;

/** `list`: every worker under the home. */
export const list: WorkerVerb = {
  summary: "show every worker with its true state",
  help: "Usage: worker list\n",
  operands: [0, 0],
  async run(flags, io): Promise<number> {
    const workers = await listWorkers(homeOf(flags));
    if (flags.on("json")) {
      printResult(io, { workers });
      return 0;
    }
    if (workers.length === 0) io.err("no workers\n");
    else {
      io.out(
        table([
          ["ID", "STATE", "AGENT", "AGE", "COST", "MEMORY", "ASKS", "CWD"],
          ...workers.map((worker) => [
            worker.shortId,
            worker.state,
            worker.agent ?? "-",
            age(worker.ageMs),
            worker.costUsd === null ? "-" : `$${worker.costUsd.toFixed(4)}`,
            worker.memoryBytes === null
              ? "-"
              : `${Math.round(worker.memoryBytes / 1_048_576)} MB`,
            String(worker.openAsks),
            visible(worker.cwd ?? "-"),
          ]),
        ]),
      );
    }
    for (const worker of workers) {
      if (worker.problem !== undefined) {
        io.err(`${worker.shortId}: ${worker.problem}\n`);
      }
    }
    return 0;
  },
};

/** `reap`: clear away what has ended. */
export const reap: WorkerVerb = {
  summary: "clear away workers that have ended, and what killed ones left",
  help: `Usage: worker reap

  --idle-ms N     also stop workers that have been at rest for so long
`,
  flags: { string: ["idle-ms"] },
  operands: [0, 0],
  async run(flags, io): Promise<number> {
    const idleMs = flags.integer("idle-ms");
    const report = await reapWorkers(
      homeOf(flags),
      idleMs === undefined ? {} : { idleMs },
    );
    if (flags.on("json")) printResult(io, { ...report });
    else {
      for (const id of report.stopped) io.out(`stopped ${id}\n`);
      for (const found of report.recovered) {
        io.out(
          `recovered ${found.shortId}${
            found.endedAgent === null
              ? ""
              : `, ended its agent (pid ${found.endedAgent})`
          }\n`,
        );
      }
      for (const id of report.removed) io.out(`removed ${id}\n`);
    }
    return 0;
  },
};

/** `start`: a worker in the background. */
export const start: WorkerVerb = {
  summary: "start a session in the background",
  help: `Usage: worker start NAME [flags] [-- COMMAND…]

  --agent NAME              claude (default), codex, opencode, scripted or acp:COMMAND;
                            COMMAND after -- replaces its program
  --cwd DIR                 where it works (default: here)
  --resume UUID | --session-id UUID, --model NAME, --script FILE
  --allow TOOL              a tool that may run unasked (again for more)
  --asks attached|wait|deny what becomes of calls that only a person can approve (default: wait)
  --idle-grace-ms N --ask-timeout-ms N --stall-ms N --trust-project --force
`,
  flags: {
    boolean: ["trust-project", "force"],
    string: [
      "agent",
      "cwd",
      "resume",
      "session-id",
      "model",
      "script",
      "asks",
      "idle-grace-ms",
      "ask-timeout-ms",
      "stall-ms",
    ],
    collect: ["allow"],
  },
  operands: [1, 1],
  async run(flags, io): Promise<number> {
    const name = flags.operands[0] ?? "";
    const home = homeOf(flags);
    await ensureHome(home);
    const taken = new Set<string>();
    for (const worker of await listWorkers(home)) {
      if (worker.state !== "exited" && worker.state !== "orphaned") {
        taken.add(worker.shortId);
      }
    }
    const { rows } = await readRegistry(home);
    const known = rows.find((row) => row.name === name)?.short_id;
    if (known !== undefined && taken.has(known)) {
      throw new UsageError(
        `Cannot start "${name}": a worker of that name runs`,
        `bulkhead worker stop ${known}`,
      );
    }
    const shortId = known ?? shortIdFor(name, taken);
    const files = workerFiles(home, shortId);
    const cwd = await Deno.realPath(flags.text("cwd") ?? ".");
    const args = [
      "--stream",
      "--short-id",
      shortId,
      "--home",
      home.root,
      "--cwd",
      cwd,
      "--name",
      name,
    ];
    args.push(
      "--agent",
      flags.text("agent") ?? "claude",
      "--asks",
      flags.text("asks") ?? "wait",
    );
    const session = flags.text("resume") ?? flags.text("session-id") ??
      crypto.randomUUID();
    args.push(
      flags.text("resume") === undefined ? "--session-id" : "--resume",
      session,
    );
    args.push("--session-uuid", session, "--holder", `stream:${shortId}`);
    for (
      const flag of [
        "model",
        "script",
        "idle-grace-ms",
        "ask-timeout-ms",
        "stall-ms",
      ]
    ) {
      const value = flags.text(flag);
      if (value !== undefined) args.push(`--${flag}`, value);
    }
    for (const tool of flags.list("allow")) args.push("--allow", tool);
    for (const flag of ["trust-project", "force"]) {
      if (flags.on(flag)) args.push(`--${flag}`);
    }
    if (flags.rest.length > 0) args.push("--", ...flags.rest);
    const pid = await launch(files.socket, home.root, args);
    using worker = await connect(files.socket);
    const status = await worker.status();
    if (flags.on("json")) {
      printResult(io, {
        id: shortId,
        name,
        pid,
        socket: files.socket,
        session,
        gate: status.gate,
      });
    } else {io.out(
        `${shortId}  ${status.state}  guard: ${status.gate?.kind ?? "none"}${
          status.gate?.verified ? ", verified" : ""
        }\n`,
      );}
    return 0;
  },
};

/**
 * The permissions of a worker's process. It reads where the posture has to follow links, runs the agent, and writes
 * only its home and the claims.
 *
 * @param socket Its socket
 * @param home The directory of all workers
 * @param claims The directory above `.fno/claims`
 * @returns The flags
 */
export function workerPermissions(
  socket: string,
  home: string,
  claims: string,
): string[] {
  return [
    "--allow-read",
    "--allow-env",
    "--allow-run",
    "--allow-sys=hostname",
    `--allow-write=${home},${claims}/.fno`,
    `--allow-net=unix:${socket},unix:${besideOf(socket)}`,
  ];
}

/** Starts a worker that outlives us and waits until it answers, or gives its last words. */
async function launch(
  socket: string,
  home: string,
  args: readonly string[],
): Promise<number> {
  const claims = Deno.env.get("FNO_CLAIMS_ROOT") || Deno.env.get("HOME") || "/";
  const entry = denoEntry(new URL("../cli.ts", import.meta.url), {
    permissions: workerPermissions(socket, home, claims),
    flags: ["--v8-flags=--max-semi-space-size=4"],
    args,
  });
  const child = await startProcess(entry.argv, {
    env: { ...Deno.env.toObject(), ...entry.env },
    parentDeath: "none",
  });
  const words = new Response(child.stderr).text();
  const exited = child.status;
  let ended = false;
  exited.then(() => ended = true);
  const deadline = performance.now() + START_MS;
  while (!ended && performance.now() < deadline) {
    try {
      using worker = await connect(socket);
      await worker.ping();
      return child.pid;
    } catch {
      await Promise.race([
        exited,
        new Promise((resolve) => setTimeout(resolve, 25)),
      ]);
    }
  }
  const report = await child.end({ eofMs: 0 });
  const last = (await words).trim().split("\n").at(-1) ?? "";
  if (last !== "") throw new Error(last.replace(/^error: /, ""));
  throw new AgentStartError("worker", "it does not answer", {
    ...report,
    stderrTail: "",
    by: "kill",
  });
}

function age(ms: number | null): string {
  if (ms === null) return "-";
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.round(seconds / 60)} min`;
  return seconds < 86_400
    ? `${(seconds / 3600).toFixed(1)} h`
    : `${(seconds / 86_400).toFixed(1)} d`;
}

function table(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, at) =>
    Math.max(...rows.map((row) => row[at]?.length ?? 0))
  );
  return rows.map((row) =>
    `${
      row.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join("  ").trimEnd()
    }\n`
  ).join("");
}
