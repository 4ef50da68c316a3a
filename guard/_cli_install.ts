/**
 * `guard install`, `guard status` and `guard teardown`.
 *
 * @module
 */

import { bulkheadHome, readTextCapped } from "@bulkhead/sandbox";
import {
  type CommandIo,
  type Flags,
  paint,
  printFailure,
  printResult,
  UsageError,
  visibleLines,
} from "@bulkhead/sandbox/command";
import { parse as parseToml } from "@std/toml";
import { absolute, rootFlag } from "./_cli_decide.ts";
import { beforeScan } from "./_cli_log.ts";
import type { Verb } from "./_cli_shared.ts";
import { detectHarness } from "./detect.ts";
import { harnessByLabel, HARNESSES } from "./harnesses/mod.ts";
import { HookFileError } from "./hook_file.ts";
import { type ArmedGuard, armGuard } from "./install.ts";
import { guardStatus, type HarnessStatus } from "./status.ts";
import { teardownGuard } from "./teardown.ts";

/** Most bytes of the configuration. */
const MAX_CONFIG_BYTES = 65_536;

/** Milliseconds of each unit of a duration. */
const UNITS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** `guard install`. */
export const install: Verb = {
  usage: "install --harness H [--root DIR]",
  summary: "arm the guard in a workspace",
  help: [
    `--harness H            ${HARNESSES.map((one) => one.label).join(", ")};`,
    "                       may be given more than once",
    "--root DIR             the workspace (the present directory)",
    "--allow DIR            a further directory that may be written",
    "--ttl DURATION         30m, 6h, 2d: how long calls are judged (6h)",
    "--fail-closed          deny what the hook cannot judge",
    "--no-hints             reasons without an inside alternative",
    "--compat               stage the bytes of the first release",
    "--harness-version V    instead of asking the installed program",
    "--exe FILE             what the harness starts, instead of our own shim",
    "--no-self-check        do not run the staged command once",
    "--snapshot             take the snapshot that `guard scan` compares with",
  ],
  examples: [
    "bulkhead guard install --harness claude-code",
    "bulkhead guard install --harness codex --harness opencode --ttl 2d --allow ../shared",
  ],
  flags: {
    boolean: ["fail-closed", "hints", "compat", "self-check", "snapshot"],
    string: ["root", "ttl", "exe", "harness-version"],
    collect: ["harness", "allow"],
  },
  async run(flags, io) {
    const labels = flags.list("harness").map((name) =>
      harnessByLabel(name)?.label ?? name
    );
    if (labels.length === 0 || flags.operands.length > 0) {
      throw new UsageError(
        "Cannot arm: name the harness",
        "bulkhead guard install --harness claude-code",
      );
    }
    const root = rootFlag(flags);
    const config = await guardConfig(flags.text("home"));
    const armed: ArmedGuard[] = [];
    const notices: string[] = [];
    for (const label of labels) {
      const { version, notice } = await versionOf(label, flags);
      if (notice !== undefined) notices.push(notice);
      try {
        armed.push(
          await armGuard({
            harness: label,
            root,
            roots: flags.list("allow").map(absolute),
            ttlMs: duration(flags.text("ttl")),
            compat: flags.on("compat"),
            home: flags.text("home"),
            exe: flags.text("exe"),
            version,
            hints: flags.off("hints")
              ? false
              : flags.on("hints") || config.hints,
            failClosed: flags.off("fail-closed")
              ? false
              : flags.on("fail-closed") || config.failClosed,
            selfCheck: !flags.off("self-check"),
          }),
        );
      } catch (error) {
        // All or none: what this call has armed is taken back.
        for (const one of armed) {
          await teardownGuard(root, {
            home: flags.text("home"),
            harness: one.harness,
          });
        }
        if (!(error instanceof HookFileError) || flags.on("json")) throw error;
        const code = printFailure(io, error, false);
        io.err(
          `What install adds (without install's marker it judges nothing):\n${error.snippet}\n`,
        );
        return code;
      }
    }
    if (flags.on("snapshot")) {
      notices.push(await beforeScan(root, flags));
    }
    if (flags.on("json")) {
      printResult(io, { armed, notices });
      return 0;
    }
    for (const one of armed) {
      io.out(
        `🛡 Write guard armed for ${one.harness} until ${one.expiresAt}: ${
          visibleLines(one.hookPath)
        }\n`,
      );
      for (const allowed of one.allowedRoots) {
        io.out(`  may be written: ${visibleLines(allowed)}\n`);
      }
    }
    for (const notice of [...notices, ...armed.flatMap((one) => one.notices)]) {
      io.out(`  ${visibleLines(notice)}\n`);
    }
    io.out("  To remove it: bulkhead guard teardown\n");
    return 0;
  },
};

/** The harness's version: as given, or as the installed program says. */
async function versionOf(
  label: string,
  flags: Flags,
): Promise<{ version?: string; notice?: string }> {
  const given = flags.text("harness-version");
  const harness = harnessByLabel(label);
  if (given !== undefined) return { version: given };
  if (harness === undefined || flags.on("compat")) return {};
  const found = await detectHarness(harness);
  if (found === undefined) {
    return {
      notice:
        `${harness.program} is not on PATH: the hook is staged in the form that every version reads`,
    };
  }
  return found.version === undefined ? {} : { version: found.version };
}

/** The `[guard]` table of the home's configuration. */
async function guardConfig(
  home: string | undefined,
): Promise<{ hints: boolean; failClosed: boolean }> {
  const path = `${bulkheadHome(home)}/config.toml`;
  let guard: unknown;
  try {
    guard = parseToml(await readTextCapped(path, MAX_CONFIG_BYTES)).guard;
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  const fields = new Map<string, unknown>(Object.entries(guard ?? {}));
  const on = (name: string, usual: boolean): boolean => {
    const value = fields.get(name) ?? usual;
    if (typeof value === "boolean") return value;
    throw new TypeError(
      `Cannot read "${path}": guard.${name} must be true or false`,
    );
  };
  return { hints: on("hints", true), failClosed: on("fail_closed", false) };
}

/** A duration such as `90s` or `6h` in milliseconds. */
function duration(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const [, number, unit] = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(text) ?? [];
  const factor = unit === undefined ? undefined : UNITS[unit];
  if (number === undefined || factor === undefined) {
    throw new UsageError(
      `Cannot arm: --ttl is "${text}"; it takes a number and a unit`,
      "--ttl 6h",
    );
  }
  return Number(number) * factor;
}

/** `guard teardown`. */
export const teardown: Verb = {
  usage: "teardown [--root DIR] [--harness H]",
  summary: "remove the guard; the original bytes come back",
  examples: [
    "bulkhead guard teardown",
    "bulkhead guard teardown --harness codex",
  ],
  flags: { string: ["root", "harness"] },
  async run(flags, io) {
    const named = flags.text("harness");
    const harness = named === undefined
      ? undefined
      : harnessByLabel(named)?.label ?? named;
    if (harness !== undefined && harnessByLabel(harness) === undefined) {
      throw new UsageError(
        `Cannot remove the guard: harness "${harness}" is not known`,
        HARNESSES.map((one) => one.label).join(", "),
      );
    }
    const report = await teardownGuard(rootFlag(flags), {
      home: flags.text("home"),
      harness,
    });
    if (flags.on("json")) {
      printResult(io, { ...report });
      return 0;
    }
    for (const notice of report.notices) io.out(`${visibleLines(notice)}\n`);
    io.out(
      report.found
        ? "🛡 Write guard removed.\n"
        : "No write guard was installed — nothing to remove.\n",
    );
    return 0;
  },
};

/** `guard status`. */
export const status: Verb = {
  usage: "status [--root DIR]",
  summary: "say whether calls are judged here, and what keeps them from it",
  help: [
    "Reads the user's, the project's and managed settings, and runs each staged command again.",
    "Exit code 1 when a guard is here that does not judge.",
    "--no-self-check    do not run the staged commands",
  ],
  examples: ["bulkhead guard status"],
  flags: { string: ["root"], boolean: ["self-check"] },
  async run(flags, io) {
    const found = await guardStatus(rootFlag(flags), {
      selfCheck: !flags.off("self-check"),
    });
    const broken = found.harnesses.some((one) => !one.armed);
    if (flags.on("json")) {
      printResult(io, { ...found });
      return broken ? 1 : 0;
    }
    if (found.harnesses.length === 0) {
      io.out("No write guard is installed here.\n");
      return 0;
    }
    for (const one of found.harnesses) io.out(statusText(io, one));
    io.out(
      `denials: ${found.denials.denials}, let through unjudged: ${found.denials.failedOpen}\n`,
    );
    return broken ? 1 : 0;
  },
};

/** One harness's status in words. */
function statusText(io: CommandIo, one: HarnessStatus): string {
  const word = one.armed
    ? paint(io.color).green("armed")
    : paint(io.color).red("not armed");
  const lines = [
    `${one.harness}: ${word}${
      one.expiresAt === undefined ? "" : ` until ${one.expiresAt}`
    }; self-check ${one.selfCheck}`,
    ...(one.allowedRoots ?? []).map((root) =>
      `  may be written: ${visibleLines(root)}`
    ),
    ...one.problems.map((problem) =>
      `  ${paint(io.color).yellow("!")} ${visibleLines(problem)}`
    ),
  ];
  return lines.join("\n") + "\n";
}
