// deno-lint-ignore-file camelcase -- field names of the files on disk
/**
 * What the guard denied in one iteration of an evaluation, task by task.
 *
 * @module
 */

import { readJsonFile, writeFileAtomic } from "@bulkhead/sandbox";
import { joinPath, normalizePath } from "@bulkhead/sandbox/paths";
import { readDenials } from "./denial_log.ts";
import { type DenialRecord, DENIALS_DIR, DENIALS_FILE } from "./denials.ts";
import { fieldsOf } from "./targets.ts";

/** Name of the report in the iteration's directory. */
const REPORT_FILE = "guard-denials.json";

/** Most bytes of a `dispatch.json`. */
const MAX_DISPATCH_BYTES = 16 * 1024 * 1024;

/** The denials of one task. */
export interface TaskDenials {
  /** The evaluation. */
  eval_id: string;
  /** The arm it ran in. */
  condition: string;
  /** Which of several runs, when there are several. */
  run_index?: number;
  /** How many calls were denied. */
  denial_count: number;
  /** Each of them, as the hook logged it. */
  denials: DenialRecord[];
}

/** The content of `guard-denials.json`. */
export interface DenialReport {
  /** When it was made, ISO with milliseconds. */
  generated: string;
  /** The iteration's number. */
  iteration: number;
  /** Denied calls of all tasks. */
  total_denials: number;
  /** The tasks with a denial, in the order of dispatch. */
  tasks: TaskDenials[];
}

/** Options of {@linkcode reportDenials}. */
export interface DenialReportOptions {
  /** The iteration's number; by default the one at the end of the directory's name. */
  iteration?: number;
  /** What relative task roots start from; by default the present directory. */
  base?: string;
  /** Milliseconds since the epoch; now by default. */
  now?: number;
}

/**
 * Collects the denial logs of an iteration's tasks into its `guard-denials.json`. The tasks are
 * those of `dispatch.json`, so a task that died without a record of its own is counted as well.
 *
 * Needs `--allow-read` of the tasks' roots and `--allow-write` of the directory.
 *
 * @param directory The iteration's directory.
 * @param options Its number, the base of relative roots, the clock.
 * @returns The report, as written.
 * @throws {TypeError} When `dispatch.json` holds no tasks or the number cannot be told.
 *
 * @example
 * ```ts
 * import { reportDenials } from "@bulkhead/guard";
 * import { assertEquals } from "@std/assert";
 *
 * const directory = await Deno.makeTempDir();
 * await Deno.writeTextFile(
 *   `${directory}/dispatch.json`,
 *   '{"tasks":[{"eval_id":"e1","condition":"with_skill","eval_root":"env"}]}',
 * );
 * const report = await reportDenials(directory, { iteration: 1 });
 * assertEquals([report.total_denials, report.tasks], [0, []]);
 * await Deno.remove(directory, { recursive: true });
 * ```
 */
export async function reportDenials(
  directory: string,
  options: DenialReportOptions = {},
): Promise<DenialReport> {
  const iteration = options.iteration ?? numberOf(directory);
  const tasks: TaskDenials[] = [];
  for (const task of await dispatched(`${directory}/dispatch.json`)) {
    const { eval_root, ...names } = task;
    const root = normalizePath(
      joinPath(options.base ?? Deno.cwd(), eval_root),
    );
    const log = await readDenials(`${root}/${DENIALS_DIR}/${DENIALS_FILE}`);
    const denials = log.records.filter((record) => record.event === undefined);
    if (denials.length === 0) continue;
    tasks.push({ ...names, denial_count: denials.length, denials });
  }
  const report: DenialReport = {
    generated: new Date(options.now ?? Date.now()).toISOString(),
    iteration,
    total_denials: tasks.reduce((sum, task) => sum + task.denial_count, 0),
    tasks,
  };
  await writeFileAtomic(
    `${directory}/${REPORT_FILE}`,
    JSON.stringify(report, null, 2) + "\n",
    { mode: 0o644 },
  );
  return report;
}

/**
 * One warning per affected task: whether a denial was meant or not, the agent could not do what
 * it tried, so what the task measured is not what it would have done.
 *
 * @param report A report.
 * @returns A line for each task.
 *
 * @example
 * ```ts
 * import { denialWarnings } from "@bulkhead/guard";
 * import { assertEquals } from "@std/assert";
 *
 * const task = { eval_id: "e1", condition: "base", run_index: 2, denial_count: 1, denials: [] };
 * assertEquals(
 *   denialWarnings({ generated: "", iteration: 1, total_denials: 1, tasks: [task] }),
 *   ["e1/base/run-2: the guard denied 1 call, so the agent could not act freely; read guard-denials.json before using the result"],
 * );
 * ```
 */
export function denialWarnings(report: DenialReport): string[] {
  return report.tasks.map((task) => {
    const run = task.run_index === undefined ? "" : `/run-${task.run_index}`;
    const calls = task.denial_count === 1
      ? "1 call"
      : `${task.denial_count} calls`;
    return `${task.eval_id}/${task.condition}${run}: the guard denied ${calls}, so the agent could not act freely; read ${REPORT_FILE} before using the result`;
  });
}

/** The number at the end of `iteration-3`. */
function numberOf(directory: string): number {
  const number = /(\d+)\/*$/.exec(directory)?.[1];
  if (number !== undefined) return Number(number);
  throw new TypeError(
    `Cannot report the denials: "${directory}" does not end in a number, so name the iteration`,
  );
}

/** One task of `dispatch.json` that has a root of its own. */
interface Dispatched {
  eval_id: string;
  condition: string;
  run_index?: number;
  eval_root: string;
}

/** What `dispatch.json` looks like, for a person. */
const SHAPE =
  '{"tasks":[{"eval_id":"e1","condition":"with_skill","run_index":1,"eval_root":"path/of/its/root"}]}';

async function dispatched(path: string): Promise<Dispatched[]> {
  let value: unknown;
  try {
    value = await readJsonFile(path, { maxBytes: MAX_DISPATCH_BYTES });
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    throw new Deno.errors.NotFound(
      `Cannot report the denials: "${path}" is not there; it lists the iteration's tasks: ${SHAPE}`,
    );
  }
  const tasks = fieldsOf(value).get("tasks");
  if (!Array.isArray(tasks)) {
    throw new TypeError(
      `Cannot report the denials: "${path}" has no list "tasks"; it must be ${SHAPE}`,
    );
  }
  return tasks.flatMap((task, i) => {
    const fields = fieldsOf(task);
    const [eval_id, condition, eval_root, run_index] = [
      fields.get("eval_id"),
      fields.get("condition"),
      fields.get("eval_root"),
      fields.get("run_index"),
    ];
    if (typeof eval_id !== "string" || typeof condition !== "string") {
      throw new TypeError(
        `Cannot report the denials: task ${i} of "${path}" lacks "eval_id" or "condition"`,
      );
    }
    // A task without a private root was not guarded.
    if (typeof eval_root !== "string" || eval_root === "") return [];
    return [{
      eval_id,
      condition,
      ...typeof run_index === "number" ? { run_index } : {},
      eval_root,
    }];
  });
}
