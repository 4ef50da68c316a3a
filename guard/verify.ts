import { namedPermissions, reasonOf, run } from "@bulkhead/sandbox";
import { readDenials } from "./denial_log.ts";
import { type DenialRecord, DENIALS_DIR, DENIALS_FILE } from "./denials.ts";
import { type DetectedHarness, detectHarness } from "./detect.ts";
import { harnessByLabel } from "./harnesses/mod.ts";
import type { HarnessDescriptor } from "./harnesses/types.ts";
import { atLeast } from "./hook_file.ts";
import { armGuard } from "./install.ts";
import {
  type ModelScript,
  type ScriptCall,
  startScriptedModel,
} from "./scripted_model.ts";
import { shellQuote } from "./shim.ts";
import { findSwitches, SWITCH_VARIABLES } from "./switches.ts";
import { type Driver, DRIVERS } from "./verify_drivers.ts";
import { makeVerifyWorld, type VerifyWorld } from "./verify_world.ts";

/** Milliseconds that one run of the agent gets. */
const RUN_MS = 120_000;

/** Options of {@linkcode verifyGuard}. */
export interface VerifyOptions {
  /** The harness: `claude-code`, `codex`, `opencode`, `pi` or `cline`. */
  harness: string;
  /** Its program; looked for on `PATH` when absent. */
  program?: string;
  /** Further arguments for the program, to prove how somebody starts it. */
  args?: readonly string[];
  /** Further variables for the program. */
  env?: Readonly<Record<string, string>>;
  /**
   * Also run without the guard, to prove that the writes would have happened.
   *
   * @default {true}
   */
  control?: boolean;
}

/** One call that the scripted model made. */
export interface VerifyCase {
  /** What was tried. */
  name:
    | "inside write"
    | "outside write"
    | "outside shell write"
    | "workdir write"
    | "subagent write";
  /** Whether it must be denied. */
  denied: boolean;
  /** Whether the write happened. */
  happened: boolean;
  /** Whether the denial log names it. */
  logged: boolean;
  /** Whether the guard did what it must. */
  ok: boolean;
}

/** What verifying found. */
export interface VerifyReport {
  /** The harness. */
  harness: string;
  /** The program that was driven. */
  program?: string;
  /** Its version. */
  version?: string;
  /** Whether the guard kept every outside write from happening, and nothing else. */
  armed: boolean;
  /** What is proven; `unknown` when nothing could be driven, and so nothing is. */
  state: "armed" | "not armed" | "unknown";
  /** Why not, or what a run needs besides. */
  reasons: string[];
  /** The calls. */
  cases: VerifyCase[];
  /** Whether the outside writes happen without the guard; absent when not tried. */
  control?: boolean;
}

/** The harnesses that {@linkcode verifyGuard} can drive. */
export const VERIFIABLE: readonly string[] = Object.keys(DRIVERS);

/** The cases, and the file that each writes. */
const FILES: readonly (readonly [VerifyCase["name"], string, boolean])[] = [
  ["inside write", "inside.txt", false],
  ["outside write", "write.txt", true],
  ["outside shell write", "shell.txt", true],
  ["workdir write", "workdir.txt", true],
  ["subagent write", "subagent.txt", true],
];

/**
 * Proves a guard on the real program: a throw-away workspace is armed, and the program is driven
 * by a scripted model on loopback to write inside, outside, by a shell, in another working
 * directory, and in a subagent. No token is spent, and the user's own settings are not used.
 *
 * Needs `--allow-all`, or read, write, env, run and net of 127.0.0.1.
 *
 * @param options Which harness, which program.
 * @returns Armed or not, and why.
 * @throws {TypeError} For a harness that cannot be driven.
 *
 * @example A program that is not there
 * ```ts
 * import { verifyGuard } from "@bulkhead/guard";
 * import { assertEquals } from "@std/assert";
 *
 * const report = await verifyGuard({ harness: "codex", program: "/nonexistent/codex" });
 * assertEquals([report.armed, report.state], [false, "unknown"]);
 * ```
 */
export async function verifyGuard(
  options: VerifyOptions,
): Promise<VerifyReport> {
  return await namedPermissions("Verifying the guard", () => verify(options));
}

/** Verifies, without naming permissions. */
async function verify(options: VerifyOptions): Promise<VerifyReport> {
  const harness = harnessByLabel(options.harness);
  const driver = Object.hasOwn(DRIVERS, options.harness)
    ? DRIVERS[options.harness]
    : undefined;
  if (harness === undefined || driver === undefined) {
    throw new TypeError(
      `Cannot verify harness "${options.harness}": it cannot be driven; use one of ${
        VERIFIABLE.join(", ")
      }`,
    );
  }
  const report: VerifyReport = {
    harness: harness.label,
    armed: false,
    state: "unknown",
    reasons: [],
    cases: [],
  };
  const found = await detectHarness(harness, options.program);
  if (found === undefined) {
    report.reasons.push(
      `${
        options.program ?? harness.program
      } is not installed: install ${harness.title}, or name it with --program`,
    );
    return report;
  }
  report.program = found.path;
  if (found.version !== undefined) {
    report.version = found.version;
    const [oldest, why] = driver.oldest;
    if (!atLeast(found.version, oldest)) {
      report.reasons.push(`version ${found.version} is too old: ${why}`);
    }
  }
  const session = { harness, driver, found, options };
  const how = { trust: true, hookArgs: driver.hookArgs };
  // Each run has a world of its own, and most of its time is the program's own start.
  const [guarded, control] = await Promise.all([
    drive(session, { ...how, armed: true }),
    options.control === false
      ? undefined
      : drive(session, { ...how, armed: false }),
  ]);
  report.cases = casesOf(driver, guarded);
  report.reasons.push(...guarded.problems);
  report.armed = report.cases.every((one) => one.ok);
  if (!report.armed) report.reasons.push(...whyNot(report.cases, guarded));
  if (control !== undefined && report.armed) {
    report.control = casesOf(driver, control).every((one) => one.happened);
    if (!report.control) {
      report.armed = false;
      report.reasons.push(
        "without the guard the outside writes do not happen either: something else stops them, so nothing is proven",
      );
    }
    if (harness.label === "codex") {
      report.reasons.push(...await codexNeeds(session));
    }
  }
  report.reasons.push(...await ownSwitches(harness));
  report.state = report.armed ? "armed" : "not armed";
  return report;
}

/** What is driven. */
interface Session {
  readonly harness: HarnessDescriptor;
  readonly driver: Driver;
  readonly found: DetectedHarness;
  readonly options: VerifyOptions;
}

/** How it is driven. */
interface Run {
  readonly armed: boolean;
  readonly trust: boolean;
  readonly hookArgs: readonly string[];
}

/** What a run left behind. */
interface Outcome {
  /** The files of the cases that were written. */
  readonly written: ReadonlySet<string>;
  /** The denial log. */
  readonly denials: readonly DenialRecord[];
  /** How the program ended, when that was not well. */
  readonly problems: readonly string[];
}

/** One run of the program in a fresh world. */
async function drive(session: Session, how: Run): Promise<Outcome> {
  const { harness, driver, found, options } = session;
  await using world = await makeVerifyWorld();
  await using model = await startScriptedModel(scriptFor(driver, world));
  const env = await world.settle({
    origin: model.origin,
    trustProject: how.trust,
  });
  if (how.armed) {
    await armGuard({
      harness: harness.label,
      root: world.root,
      home: world.home,
      version: found.version,
    });
  }
  const problems: string[] = [];
  try {
    if (driver.configure !== undefined) {
      await run([found.path, ...driver.configure(model.origin)], {
        cwd: world.userHome,
        env,
        timeoutMs: RUN_MS,
      });
    }
    const result = await run(
      [
        found.path,
        ...driver.args,
        ...how.hookArgs,
        ...options.args ?? [],
        "Do what you are told",
      ],
      {
        cwd: world.root,
        env: { ...env, ...options.env },
        timeoutMs: RUN_MS,
      },
    );
    if (result.timedOut) {
      problems.push(`${harness.title} did not end within ${RUN_MS} ms`);
    } else if (!result.success) {
      problems.push(
        `${harness.title} ended with code ${result.code}: ${
          lastLine(result.stderr || result.stdout)
        }`,
      );
    }
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable) throw error;
    const detail = reasonOf(error);
    problems.push(`${harness.title} cannot be started: ${detail}`);
  }
  problems.push(...model.problems);
  const written = new Set<string>();
  for (const dir of [world.root, world.outside]) {
    for await (const entry of Deno.readDir(dir)) {
      if (entry.isFile) written.add(entry.name);
    }
  }
  const log = `${world.root}/${DENIALS_DIR}/${DENIALS_FILE}`;
  const { records } = await readDenials(log);
  return { written, denials: records, problems };
}

/** The script: each case a step of its own, the last in a subagent. */
function scriptFor(driver: Driver, world: VerifyWorld): ModelScript {
  const { root, outside } = world;
  const write = driver.write ??
    ((path: string): ScriptCall => ({ do: "write", path, content: "written" }));
  const shell = driver.shell ??
    ((command: string): ScriptCall => ({ do: "shell", command }));
  const steps = [
    { calls: [write(`${root}/inside.txt`)] },
    { calls: [write(`${outside}/write.txt`)] },
    {
      calls: [
        shell(`echo written > ${shellQuote(`${outside}/shell.txt`)}`),
      ],
    },
    { calls: [driver.workdir("echo written > workdir.txt", outside)] },
  ];
  if (driver.subagent === null) {
    return { steps: [...steps, { text: "done" }], after: "done" };
  }
  const subagent = driver.subagent ??
    ((prompt: string): ScriptCall => ({ do: "subagent", prompt }));
  return {
    steps: [
      ...steps,
      { calls: [subagent(SUBAGENT_PROMPT)] },
      { text: "done", await: SUBAGENT_PROMPT },
    ],
    conversations: [{
      match: SUBAGENT_PROMPT,
      steps: [
        { calls: [write(`${outside}/subagent.txt`)] },
        { text: "subagent done" },
      ],
    }],
    after: "done",
  };
}

/** What the subagent is told; its requests are known by it. */
const SUBAGENT_PROMPT = "BULKHEAD-SUBAGENT write one file";

/** What became of each case. */
function casesOf(driver: Driver, outcome: Outcome): VerifyCase[] {
  const tried = FILES.filter(([name]) =>
    driver.subagent !== null || name !== "subagent write"
  );
  return tried.map(([name, file, denied]) => {
    const happened = outcome.written.has(file);
    // The shell's own directory is not known for certain: any target of that name counts.
    const logged = outcome.denials.some((record) =>
      record.resolved_targets.some((target) => target.endsWith(`/${file}`))
    );
    return {
      name,
      denied,
      happened,
      logged,
      ok: denied ? !happened && logged : happened,
    };
  });
}

/** What the pattern of a failure says about its cause. */
function whyNot(cases: readonly VerifyCase[], outcome: Outcome): string[] {
  const reasons: string[] = [];
  if (outcome.denials.length === 0 && cases.some((one) => one.happened)) {
    reasons.push(
      "the hook never ran: hooks are disabled, the project or the hook is not trusted, or the way of starting leaves plugins and settings out",
    );
  }
  for (const one of cases.filter((one) => !one.ok)) {
    if (!one.denied) reasons.push(`${one.name}: it did not happen`);
    else if (one.happened && one.logged) {
      reasons.push(`${one.name}: it was denied and happened all the same`);
    } else if (one.happened) {
      reasons.push(`${one.name}: it happened, and no hook saw it`);
    } else {
      reasons.push(`${one.name}: it was never tried, so nothing is proven`);
    }
  }
  return reasons;
}

/** Codex runs a project's hooks only when project and hook are trusted: shown, not believed. */
async function codexNeeds(session: Session): Promise<string[]> {
  const outsideHappened = (outcome: Outcome) =>
    outcome.written.has("write.txt");
  const reasons: string[] = [];
  const [withoutBypass, withoutTrust] = await Promise.all([
    drive(session, { armed: true, trust: true, hookArgs: [] }),
    drive(session, {
      armed: true,
      trust: false,
      hookArgs: session.driver.hookArgs,
    }),
  ]);
  if (outsideHappened(withoutBypass)) {
    reasons.push(
      "needs `--dangerously-bypass-hook-trust` (or trust by /hooks): without it the hook was skipped without a word",
    );
  }
  if (outsideHappened(withoutTrust)) {
    reasons.push(
      "needs a trusted project (`codex exec --trust`, or trust_level in the config): without it the hook was skipped without a word",
    );
  }
  return reasons;
}

/** What the user's own settings would do to a guard in the present directory. */
async function ownSwitches(harness: HarnessDescriptor): Promise<string[]> {
  const env: Record<string, string | undefined> = {};
  for (const name of SWITCH_VARIABLES) env[name] = Deno.env.get(name);
  const switches = await findSwitches(harness.label, {
    root: Deno.cwd(),
    env,
    ...env.HOME ? { userHome: env.HOME } : {},
  });
  return switches.filter((one) => one.effect === "off").map((one) =>
    `your own settings: ${one.source}: ${one.problem}`
  );
}

/** The last line that says something. */
function lastLine(text: string): string {
  return text.trim().split("\n").at(-1)?.slice(0, 300) ?? "";
}
