/**
 * The commands about all workers of a home.
 *
 * @module
 */

import {
  describeFailure,
  printResult,
  visible,
} from "@bulkhead/sandbox/command";
import { type FleetEntry, listWorkers } from "../fleet.ts";
import { reapWorkers } from "../reap.ts";
import type { WorkerHome } from "../store/home.ts";
import { readRegistry } from "../store/registry.ts";
import { fleetBelow } from "./over_fleet.ts";
import { homeOf, type WorkerVerb } from "./shared.ts";

/** `list`: every worker under the home. */
export const list: WorkerVerb = {
  summary: "show every worker with its true state",
  help: `Usage: worker list

The states are running, requires_action (it waits for a person) and idle; dead or orphaned when
the agent or its worker is gone; exited after an orderly end, until "worker reap" forgets it.

Examples:
  bulkhead worker list
  bulkhead worker list --json
`,
  operands: [0, 0],
  async run(flags, io): Promise<number> {
    const home = homeOf(flags);
    const workers = await listWorkers(home);
    const problem = await registryProblem(home);
    const shown = new Map(workers.map(({ sessionId, state }) => [
      sessionId ?? "",
      state !== "exited" && state !== "orphaned",
    ]));
    if (flags.on("json")) {
      const fleet = await fleetBelow(flags, io, shown);
      printResult(io, {
        workers,
        ...problem === undefined ? {} : { problem },
        ...fleet === undefined ? {} : { fleet },
      });
      return 0;
    }
    // First what cannot be had: without the server that was named there is no list.
    let below = "";
    const keep = (text: string) => void (below += text);
    await fleetBelow(flags, { ...io, out: keep }, shown);
    if (workers.length === 0) io.err("no workers\n");
    else io.out(table(rowsOf(workers)));
    for (const worker of workers) {
      if (worker.problem !== undefined) {
        io.err(`${worker.shortId}: ${worker.problem}\n`);
      }
    }
    if (problem !== undefined) io.err(`${problem}\n`);
    io.out(below);
    return 0;
  },
};

/** The name that was given stands beside the id that was made of it, where they differ. */
function rowsOf(workers: readonly FleetEntry[]): string[][] {
  const named = workers.some(({ name, shortId }) => name !== shortId);
  return [
    [
      "ID",
      ...named ? ["NAME"] : [],
      "STATE",
      "AGENT",
      "AGE",
      "COST",
      "MEMORY",
      "ASKS",
      "CWD",
    ],
    ...workers.map((worker) => [
      worker.shortId,
      ...named ? [visible(worker.name)] : [],
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
  ];
}

/** Why the registry cannot be read, if so: names are missing then, and no worker can be started. */
async function registryProblem(home: WorkerHome): Promise<string | undefined> {
  try {
    await readRegistry(home);
    return undefined;
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable) throw error;
    return describeFailure(error).message;
  }
}

/** `reap`: clear away what has ended. */
export const reap: WorkerVerb = {
  summary: "clear away workers that have ended, and what killed ones left",
  help: `Usage: worker reap

  --idle-ms N     also stop workers that have been at rest for so long

Examples:
  bulkhead worker reap
  bulkhead worker reap --idle-ms 600000
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
