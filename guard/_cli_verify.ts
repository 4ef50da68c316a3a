/**
 * `guard verify`: the real program against a scripted model.
 *
 * @module
 */

import {
  paint,
  printResult,
  UsageError,
  visibleLines,
} from "@bulkhead/sandbox/command";
import type { Verb } from "./_cli_shared.ts";
import { VERIFIABLE, verifyGuard } from "./verify.ts";

/** `guard verify`. */
export const verify: Verb = {
  usage: "verify --harness H [--program FILE] [-- ARGS]",
  summary:
    "prove the guard on the installed program, without a model or a login",
  help: [
    `--harness H      ${VERIFIABLE.join(", ")}`,
    "--program FILE   the program, when it is not on PATH",
    "--no-control     do not run once more without the guard",
    "-- ARGS          further arguments for the program, to prove how you start it",
    "Exit code 1 when the guard does not hold, or when the program is not there to prove it on.",
  ],
  examples: ["bulkhead guard verify --harness claude-code"],
  flags: { string: ["harness", "program"], boolean: ["control"] },
  async run(flags, io) {
    const harness = flags.text("harness");
    if (harness === undefined || flags.operands.length > 0) {
      throw new UsageError(
        "Cannot verify: name the harness",
        `bulkhead guard verify --harness ${VERIFIABLE[0]}`,
      );
    }
    const report = await verifyGuard({
      harness,
      program: flags.text("program"),
      args: flags.rest,
      control: !flags.off("control"),
    });
    if (flags.on("json")) {
      printResult(io, { ...report });
      return report.armed ? 0 : 1;
    }
    if (report.state === "unknown") {
      const why = visibleLines(report.reasons.join("; "));
      io.out(
        `${harness}: ${paint(io.color).yellow("cannot verify")}: ${why}\n`,
      );
      io.out("  Whether a guard is here: bulkhead guard status\n");
      return 1;
    }
    const { program = "", version = "" } = report;
    const word = report.armed
      ? paint(io.color).green("armed")
      : paint(io.color).red("not armed");
    io.out(`${harness} ${version} ${visibleLines(program)}: ${word}\n`);
    for (const one of report.cases) {
      const mark = one.ok
        ? paint(io.color).green("ok  ")
        : paint(io.color).red("FAIL");
      const what = one.happened ? "happened" : "did not happen";
      io.out(`  ${mark} ${one.name}: ${what}${one.logged ? ", denied" : ""}\n`);
    }
    if (report.control) {
      io.out("  without the guard each of these writes happens\n");
    }
    for (const reason of report.reasons) io.out(`  ${visibleLines(reason)}\n`);
    return report.armed ? 0 : 1;
  },
};
