/**
 * `plugins check` and `doctor`.
 *
 * @module
 */
import { describeFailure } from "@bulkhead/sandbox/command";
import { absolute } from "./_cli_input.ts";
import type { Command, Verb } from "./_cli_shared.ts";
import { printable, quote, quoteWhole } from "./_text.ts";
import { checkPlugin, checkPlugins, type PluginCheck } from "./doctor.ts";
import { ManifestError } from "./errors.ts";
import { TrustStore } from "./trust.ts";

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
    command.say(`${printable(found.name)} ${printable(found.version)}`);
    command.say(`  content: ${found.hash}`);
    for (const line of found.lines) command.say(`  ${line}`);
    for (const problem of found.problems) {
      command.say(`${command.paint("problem:", "red")} ${problem}`);
    }
    const [first] = found.problems;
    if (first === undefined) {
      command.say(command.paint("nothing is wrong", "green"));
      return command.finish(found);
    }
    const count = counted(found.problems.length);
    command.say(count);
    return command.finish(found, {
      code: "check_failed",
      message: `${quote(found.name)} has ${count}, the first: ${first}`,
    });
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
  const [message = ""] = problems;
  if (!command.json) {
    for (const problem of problems) command.note(`error: ${problem}`);
  }
  const { code } = describeFailure(error);
  return command.finish({ problems }, { code, message });
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
    for (const { level, text, fix } of findings) {
      const mark = level === "ok"
        ? command.paint("ok", "green")
        : level === "note"
        ? command.paint("note", "yellow")
        : command.paint("problem", "red");
      const hint = fix === undefined || text.includes(fix) ? "" : `; ${fix}`;
      command.say(`${mark}: ${text}${hint}`);
    }
    const problems = findings.filter(({ level }) => level === "problem");
    if (problems.length === 0) return command.finish({ findings });
    const fix = findings.find((each) => each.fix !== undefined)?.fix;
    return command.finish({ findings }, {
      code: "doctor_failed",
      message: counted(problems.length),
      ...(fix === undefined ? {} : { fix }),
    });
  },
};
