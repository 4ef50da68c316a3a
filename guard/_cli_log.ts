/**
 * `guard log` and `guard scan`: what was denied, and what happened all the same.
 *
 * @module
 */

import {
  bulkheadHome,
  ensurePrivateDir,
  readTextCapped,
  run as runProgram,
  writeFileAtomic,
} from "@bulkhead/sandbox";
import {
  type CommandIo,
  type Flags,
  paint,
  printResult,
  UsageError,
  visibleLines,
} from "@bulkhead/sandbox/command";
import { isInside } from "@bulkhead/sandbox/paths";
import { absolute, rootFlag } from "./_cli_decide.ts";
import type { Verb } from "./_cli_shared.ts";
import { countDenials, readDenials } from "./denial_log.ts";
import { denialWarnings, reportDenials } from "./denial_report.ts";
import { DENIALS_DIR, DENIALS_FILE } from "./denials.ts";
import { directoryOf, sha256 } from "./files.ts";
import { HARNESSES } from "./harnesses/mod.ts";
import { readMarker } from "./marker_file.ts";
import { placesOf } from "./places.ts";
import {
  compareSnapshots,
  parseSnapshot,
  strayWrites,
  takeSnapshot,
  type TreeSnapshot,
} from "./scan.ts";

/** Most bytes of a stored snapshot. */
const MAX_SNAPSHOT_BYTES = 256 * 1024 * 1024;

/** `guard log`. */
export const log: Verb = {
  usage:
    "log [--root DIR] [--file FILE] [--rule RULE] | log --iteration DIR [--number N]",
  summary: "what was denied, and counts per rule",
  help: [
    "With --json one object a line: each record as type denial, then the counts as type counts.",
    "--iteration DIR   collect the logs of the tasks in DIR/dispatch.json into DIR/guard-denials.json,",
    "                  and print one warning for each task with a denial",
    "--number N        the iteration's number (the one at the end of DIR)",
  ],
  examples: [
    "bulkhead guard log",
    "bulkhead guard log --rule redirect --json",
  ],
  flags: { string: ["root", "file", "rule", "iteration", "number"] },
  async run(flags, io) {
    const iteration = flags.text("iteration");
    if (iteration !== undefined) {
      return await logIteration(iteration, flags, io);
    }
    const file = flags.text("file");
    const path = file === undefined ? logPath(rootFlag(flags)) : absolute(file);
    const read = await readDenials(path);
    const rule = flags.text("rule");
    const records = rule === undefined
      ? read.records
      : read.records.filter((record) => record.rule === rule);
    const counts = countDenials(records);
    if (flags.on("json")) {
      for (const record of records) {
        const type = record.event ?? "denial";
        io.out(JSON.stringify({ type, ...record }) + "\n");
      }
      const { damagedLines } = read;
      io.out(
        JSON.stringify({ type: "counts", log: path, damagedLines, ...counts }) +
          "\n",
      );
      return 0;
    }
    for (const record of records) {
      const what = record.event === undefined
        ? paint(io.color).red("denied")
        : paint(io.color).yellow("unjudged");
      io.out(
        `${record.timestamp} ${what} ${
          visibleLines(`${record.harness} ${record.tool}: ${record.reason}`)
        }\n`,
      );
    }
    for (const [name, count] of Object.entries(counts.byRule)) {
      io.out(`${String(count).padStart(6)} ${visibleLines(name)}\n`);
    }
    io.out(
      `denied: ${counts.denials}, let through unjudged: ${counts.failedOpen}${
        read.damagedLines > 0 ? `, damaged lines: ${read.damagedLines}` : ""
      }\n`,
    );
    return 0;
  },
};

/** `guard log --iteration`. */
async function logIteration(
  directory: string,
  flags: Flags,
  io: CommandIo,
): Promise<number> {
  const number = flags.text("number");
  if (number !== undefined && !/^\d+$/.test(number)) {
    throw new UsageError(
      `Cannot report the denials: --number is "${number}", expected a number`,
      "bulkhead guard log --help",
    );
  }
  const report = await reportDenials(absolute(directory), {
    ...number === undefined ? {} : { iteration: Number(number) },
  });
  const warnings = denialWarnings(report);
  if (flags.on("json")) {
    printResult(io, { ...report, warnings });
    return 0;
  }
  for (const warning of warnings) {
    io.out(`${paint(io.color).yellow("warning")} ${visibleLines(warning)}\n`);
  }
  io.out(
    `denied: ${report.total_denials}, tasks affected: ${report.tasks.length}\n`,
  );
  return 0;
}

/** The log that the workspace's marker names, or the usual one. */
function logPath(root: string): string {
  for (const harness of HARNESSES) {
    if (harness.guard === undefined) continue;
    const { marker } = placesOf(harness, harness.guard, root);
    const path = readMarker(marker)?.denialLogPath;
    if (path !== undefined) return path;
  }
  return `${root}/${DENIALS_DIR}/${DENIALS_FILE}`;
}

/** `guard scan`. */
export const scan: Verb = {
  usage: "scan [--before] [--root DIR] [--tree DIR]",
  summary: "name the writes outside the roots that no hook kept from happening",
  help: [
    "--before      take the snapshot to compare with; do this before the run",
    "--root DIR    the workspace (the present directory)",
    "--allow DIR   a further directory that may be written",
    "--tree DIR    what to look at (the git work tree round the workspace, else its parent)",
    "Exit code 1 when there are stray writes.",
  ],
  examples: [
    "bulkhead guard scan --before",
    "bulkhead guard scan",
  ],
  flags: {
    boolean: ["before"],
    string: ["root", "tree"],
    collect: ["allow"],
  },
  async run(flags, io) {
    const root = rootFlag(flags);
    if (flags.on("before")) {
      const said = await beforeScan(root, flags);
      if (flags.on("json")) printResult(io, { notice: said });
      else io.out(`${visibleLines(said)}\n`);
      return 0;
    }
    const stored = await storedPath(root, flags);
    const before = await readStored(stored, root);
    const after = await takeSnapshot(before.tree);
    const { records } = await readDenials(logPath(root));
    const roots = [root, ...flags.list("allow").map(absolute)];
    for (const harness of HARNESSES) {
      if (harness.guard === undefined) continue;
      const { marker } = placesOf(harness, harness.guard, root);
      roots.push(...readMarker(marker)?.allowedRoots ?? []);
    }
    const home = bulkheadHome(flags.text("home"));
    const strays = strayWrites(
      compareSnapshots(before, after),
      [...roots, home],
      records,
    );
    const incomplete = before.truncated || after.truncated;
    if (flags.on("json")) {
      printResult(io, {
        tree: before.tree,
        since: before.takenAt,
        incomplete,
        strays,
      });
      return strays.length > 0 ? 1 : 0;
    }
    for (const stray of strays) {
      io.out(
        `${paint(io.color).red(stray.change.padEnd(8))} ${
          visibleLines(stray.path)
        }${
          stray.denied ? " (although a call that named it was denied)" : ""
        }\n`,
      );
    }
    io.out(
      `${strays.length} stray writes in ${
        visibleLines(before.tree)
      } since ${before.takenAt}${
        incomplete ? "; the tree is too large to see all of it" : ""
      }\n`,
    );
    return strays.length > 0 ? 1 : 0;
  },
};

/** Takes and stores the snapshot to compare with; says so. */
export async function beforeScan(root: string, flags: Flags): Promise<string> {
  const path = await storedPath(root, flags);
  const given = flags.text("tree");
  const tree = given === undefined ? await treeRound(root) : absolute(given);
  // The workspace itself may change: it is left out.
  const snapshot = await takeSnapshot(
    tree,
    isInside(root, tree) && root !== tree ? { exclude: [root] } : {},
  );
  await ensurePrivateDir(directoryOf(path));
  await writeFileAtomic(path, JSON.stringify(snapshot));
  return `Snapshot of ${snapshot.tree}: ${
    Object.keys(snapshot.files).length
  } files${snapshot.truncated ? ", and more that were left out" : ""}`;
}

/** The git work tree round a workspace when it is larger than that; else the parent directory. */
async function treeRound(root: string): Promise<string> {
  const parent = directoryOf(root);
  try {
    const { success, stdout } = await runProgram([
      "git",
      "-C",
      root,
      "rev-parse",
      "--show-toplevel",
    ]);
    const top = stdout.trim();
    if (success && top.startsWith("/") && top !== await Deno.realPath(root)) {
      return top;
    }
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  if (parent === "/") {
    throw new UsageError(
      `Cannot scan: round "${root}" there is nothing but "/"`,
      "--tree DIR",
    );
  }
  return parent;
}

/** Where a workspace's snapshot is kept. */
async function storedPath(root: string, flags: Flags): Promise<string> {
  const home = bulkheadHome(flags.text("home"));
  return `${home}/data/guard/scans/${await sha256(root)}.json`;
}

/** Reads a stored snapshot. */
async function readStored(path: string, root: string): Promise<TreeSnapshot> {
  const refuse = (found: string) =>
    new UsageError(
      `Cannot scan "${root}": ${found}`,
      "bulkhead guard scan --before",
    );
  let text: string;
  try {
    text = await readTextCapped(path, MAX_SNAPSHOT_BYTES);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) {
      throw refuse("no snapshot was taken before the run");
    }
    throw error;
  }
  const snapshot = parseSnapshot(text);
  if (snapshot === undefined) throw refuse(`the snapshot "${path}" is damaged`);
  return snapshot;
}
