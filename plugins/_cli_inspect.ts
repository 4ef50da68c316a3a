/**
 * `plugins list`, `check` and `doctor`.
 *
 * @module
 */
import { describeFailure, printResult } from "@bulkhead/sandbox/command";
import { absolute } from "./_cli_input.ts";
import type { Command, Verb } from "./_cli_shared.ts";
import { messageOf, printable, quote, quoteWhole } from "./_text.ts";
import { discoverPlugins } from "./discover.ts";
import { checkPlugin, checkPlugins, type PluginCheck } from "./doctor.ts";
import { ManifestError } from "./errors.ts";
import { installedPlugins, repairInstalls } from "./installed.ts";
import type { LoadOutcome } from "./load.ts";
import { readPlugin } from "./read.ts";
import { TrustStore } from "./trust.ts";

/** `plugins list`. */
export const list: Verb = {
  summary:
    "what is installed, what is trusted, which tools and hooks it brings",
  help:
    `Show the plugins, the tools and hooks they bring, and whether they are trusted

Usage: plugins list [--trust-plugin NAME=sha256:…] [--json]

Nothing is run and nobody is asked. With --trust-plugin it shows what a session with that pin would have; the exit code
is 1 when the pin lets nothing in. The states:
  loaded    trusted; its tools are offered and its hooks fire
  waiting   not trusted yet, or changed since: "plugins trust NAME" decides
  off       plugins are switched off in config.toml
  broken    it cannot be read; the reason stands beside it

Examples:
  bulkhead plugins list
  bulkhead plugins list --json
`,
  operands: [0, 0],
  takesPins: true,
  run: runList,
};

interface Row {
  name: string;
  version: string;
  state: "loaded" | "waiting" | "off" | "broken";
  dir: string;
  hash: string;
  tools: string[];
  hooks: string[];
  /** The library, whose tools are known only once it runs. */
  native?: string;
  reason?: string;
  source?: string;
  modified?: boolean;
}

async function runList(command: Command): Promise<number> {
  const repaired = await repairInstalls({ home: command.home });
  const config = await command.config();
  const [installed, { rows, warnings, outcome }] = await Promise.all([
    installedPlugins({ home: command.home }),
    readRows(command),
  ]);
  for (const { name, dir, entry, state, changes } of installed.plugins) {
    const row = rows.find((each) => each.dir === dir || each.name === name);
    if (row !== undefined) {
      row.source = entry.source;
      row.modified = state === "modified";
      if (row.modified) {
        row.reason = `not what was installed${
          changes === undefined ? "" : `: ${changes.join(", ")}`
        }; bulkhead plugins update ${name} restores it`;
      }
    }
  }
  const missing = installed.plugins.filter((plugin) =>
    plugin.state === "missing"
  ).map((plugin) => plugin.name);
  const problems = [
    ...repaired,
    ...installed.problems,
    ...missing.map((name) =>
      `plugin "${name}" is in the lock file but its directory is gone; bulkhead plugins update ${name}`
    ),
    ...warnings,
  ];
  const unmet = command.unmetPins(outcome);
  if (command.json) {
    command.io.out(
      `${
        JSON.stringify({
          schema: 1,
          ok: unmet === undefined,
          ...(unmet === undefined ? {} : { error: describeFailure(unmet) }),
          enabled: config.enabled,
          sandbox: config.sandbox,
          trust: config.trust.default ?? "closed",
          plugins: rows,
          problems,
        })
      }\n`,
    );
    return unmet === undefined ? 0 : 1;
  }
  for (const problem of problems) command.note(`note: ${problem}`);
  if (rows.length === 0) {
    command.say(
      `No plugins in ${
        printable(`${command.home}/plugins`)
      }; bulkhead plugins new DIR makes one to start from`,
    );
  }
  const width = Math.max(0, ...rows.map((row) => row.name.length));
  for (const row of rows) command.say(describeRow(command, row, width));
  if (!config.enabled && rows.length > 0) {
    command.say("Plugins are off: nothing of this is loaded");
  }
  if (unmet !== undefined) throw unmet;
  return 0;
}

function describeRow(command: Command, row: Row, width: number): string {
  const color = {
    loaded: "green",
    waiting: "yellow",
    off: "dim",
    broken: "red",
  } as const;
  const lines = [
    `${printable(row.name).padEnd(width)}  ${
      command.paint(row.state.padEnd(7), color[row.state])
    }  ${printable(row.version)}${
      row.modified ? "  (changed since it was installed)" : ""
    }`,
    ...(row.tools.length === 0
      ? []
      : [`  tools: ${row.tools.map(printable).join(", ")}`]),
    ...(row.hooks.length === 0
      ? []
      : [`  hooks: ${row.hooks.map(printable).join(", ")}`]),
    ...(row.native === undefined
      ? []
      : [`  native library: ${printable(row.native)}`]),
    `  ${command.paint(printable(row.dir), "dim")}`,
    ...(row.source === undefined ? [] : [`  from ${printable(row.source)}`]),
    ...(row.reason === undefined ? [] : [`  ${printable(row.reason)}`]),
  ];
  return lines.join("\n");
}

/** What is there, and what is odd about what is loaded. */
async function readRows(
  command: Command,
): Promise<{ rows: Row[]; warnings: string[]; outcome: LoadOutcome }> {
  const config = await command.config();
  const outcome = await command.load({ ask: false });
  const loaded = outcome.status === "loaded" ? outcome.plugins : [];
  const refused = outcome.status === "disabled" ? [] : outcome.refused;
  const rows: Row[] = [];
  for (
    const found of await discoverPlugins([
      `${command.home}/plugins`,
      ...config.dirs,
    ])
  ) {
    try {
      const plugin = await readPlugin(found.dir, { directory: found.name });
      const live = loaded.find((each) => each.dir === plugin.dir);
      const reason = refused.find((each) => each.dir === plugin.dir)?.reason;
      rows.push({
        name: plugin.manifest.name,
        version: plugin.manifest.version,
        state: live !== undefined
          ? "loaded"
          : config.enabled
          ? "waiting"
          : "off",
        dir: plugin.dir,
        hash: plugin.digest.hash,
        tools: live?.tools.map((tool) => tool.name) ??
          plugin.manifest.tools.map((tool) => tool.name),
        hooks: plugin.manifest.hooks.map((hook) => hook.event),
        ...(plugin.manifest.native === undefined
          ? {}
          : { native: plugin.manifest.native.library }),
        ...(reason === undefined ? {} : { reason }),
      });
    } catch (error) {
      if (error instanceof Deno.errors.NotCapable) throw error;
      const reason = printable(messageOf(error));
      rows.push({
        name: found.name,
        version: "",
        state: "broken",
        dir: found.dir,
        hash: "",
        tools: [],
        hooks: [],
        reason,
      });
    }
  }
  if (outcome.status === "disabled") return { rows, warnings: [], outcome };
  // Why a plugin is broken stands in its row.
  const broken = rows.filter((row) => row.state === "broken").map((row) =>
    `plugin \`${printable(row.name)}\` (`
  );
  const warnings = outcome.warnings.filter((line) =>
    !broken.some((start) => line.startsWith(start))
  );
  const notices = outcome.status === "loaded" ? outcome.notices : [];
  return { rows, warnings: [...notices, ...warnings], outcome };
}

/** `plugins check`. */
export const check: Verb = {
  summary: "what is wrong with a plugin's directory, and what it could run",
  help: `Check a plugin's directory before anybody trusts it

Usage: plugins check DIR [--json]

Reads the manifest, the schemas, the programs and the content; runs nothing. The exit code is 1 when something is wrong.

Examples:
  bulkhead plugins check ./weather
  bulkhead plugins check ./weather --json
`,
  operands: [1, 1],
  async run(command) {
    let found: PluginCheck;
    try {
      found = await checkPlugin(absolute(command.operand()), {
        home: command.home,
        workspace: command.workspace,
      });
    } catch (error) {
      if (!(error instanceof ManifestError)) throw error;
      return unusable(command, error);
    }
    // It says nothing about this plugin, but a decision about it could not be kept.
    const { problem } = await new TrustStore(command.home).read();
    if (problem !== undefined) command.note(`note: ${problem}`);
    if (command.json) {
      if (found.problems.length === 0) printResult(command.io, { ...found });
      else {
        const message = `${quote(found.name)} has ${
          counted(found.problems.length)
        }, the first: ${found.problems[0]}`;
        command.io.out(
          `${
            JSON.stringify({
              schema: 1,
              ok: false,
              error: { code: "check_failed", message },
              ...found,
            })
          }\n`,
        );
      }
      return found.problems.length === 0 ? 0 : 1;
    }
    command.say(`${printable(found.name)} ${printable(found.version)}`);
    command.say(`  content: ${found.hash}`);
    for (const line of found.lines) command.say(`  ${line}`);
    for (const problem of found.problems) {
      command.say(`${command.paint("problem:", "red")} ${problem}`);
    }
    command.say(
      found.problems.length === 0
        ? command.paint("nothing is wrong", "green")
        : counted(found.problems.length),
    );
    return found.problems.length === 0 ? 0 : 1;
  },
};

function counted(problems: number): string {
  return problems === 1 ? "1 problem" : `${problems} problems`;
}

/** Tells everything that costs a manifest, with the file it stands in. */
function unusable(command: Command, error: ManifestError): number {
  const problems = [error, ...error.others].map((each) =>
    each.line === 0
      ? printable(each.message)
      : `${quoteWhole(each.path)}: ${printable(each.message)}`
  );
  if (command.json) {
    const { code } = describeFailure(error);
    command.io.out(
      `${
        JSON.stringify({
          schema: 1,
          ok: false,
          error: { code, message: problems[0] },
          problems,
        })
      }\n`,
    );
  } else for (const problem of problems) command.note(`error: ${problem}`);
  return 1;
}

/** `plugins doctor`. */
export const doctor: Verb = {
  summary: "is everything in order, and how to mend what is not",
  help: `Look for what keeps plugins from working

Usage: plugins doctor [--fix] [--json]

Checks the configuration, the sandbox, the trust store, the lock file, interrupted installs and every plugin.
The exit code is 1 when something is wrong. With --fix, interrupted installs are put right.

Examples:
  bulkhead plugins doctor
  bulkhead plugins doctor --fix
`,
  flags: { boolean: ["fix"] },
  operands: [0, 0],
  async run(command) {
    const findings = await checkPlugins({
      home: command.home,
      workspace: command.workspace,
      fix: command.flags.on("fix"),
    });
    const bad =
      findings.filter((finding) => finding.level === "problem").length;
    if (command.json) {
      const error = {
        code: "doctor_failed",
        message: counted(bad),
        fix: findings.find((each) => each.fix !== undefined)?.fix,
      };
      command.io.out(
        `${
          JSON.stringify({
            schema: 1,
            ok: bad === 0,
            ...(bad === 0 ? {} : { error }),
            findings,
          })
        }\n`,
      );
      return bad === 0 ? 0 : 1;
    }
    for (const { level, text, fix } of findings) {
      const mark = level === "ok"
        ? command.paint("ok", "green")
        : level === "note"
        ? command.paint("note", "yellow")
        : command.paint("problem", "red");
      const hint = fix === undefined || text.includes(fix) ? "" : `; ${fix}`;
      command.say(`${mark}: ${text}${hint}`);
    }
    return bad === 0 ? 0 : 1;
  },
};
