/**
 * `plugins list`.
 *
 * @module
 */
import { describeFailure } from "@bulkhead/sandbox/command";
import type { Command, Verb } from "./_cli_shared.ts";
import { messageOf, printable } from "./_text.ts";
import { discoverPlugins } from "./discover.ts";
import { installedPlugins, repairInstalls } from "./installed.ts";
import type { LoadOutcome } from "./load.ts";
import { readPlugin } from "./read.ts";

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
    return command.finish({
      enabled: config.enabled,
      sandbox: config.sandbox,
      trust: config.trust.default ?? "closed",
      plugins: rows,
      problems,
    }, unmet === undefined ? undefined : describeFailure(unmet));
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
  if (!config.enabled) {
    command.say(
      `Plugins are off in ${
        printable(`${command.home}/config.toml`)
      }: nothing is loaded`,
    );
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
    ...(row.hash === "" ? [] : [`  ${command.paint(row.hash, "dim")}`]),
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
