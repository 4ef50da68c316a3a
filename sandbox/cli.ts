/**
 * The sandbox from the command line: run one program bounded and confined, or see
 * what this system can confine with.
 *
 * ```sh
 * deno run --allow-run --allow-read --allow-env --allow-write cli.ts run --read . -- ls
 * deno run --allow-run --allow-read --allow-env cli.ts probe
 * ```
 *
 * @module
 */

import {
  type CommandIo,
  type Flags,
  parseFlags,
  printFailure,
  printResult,
  processIo,
  unknownCommand,
  UsageError,
} from "./command.ts";
import { runProgram } from "./cli_run.ts";
import { probeIsolation } from "./isolation.ts";

const HELP = `Run a program bounded, confined and ended for sure

Usage:
  sandbox run [flags] -- PROGRAM [ARGUMENT…]
  sandbox probe [--json]

Flags of run:
  --read PATH       let it read PATH (again for more)
  --write PATH      let it read and write PATH (again for more)
  --net             let it use the network
  --env NAME        hand on a variable (again for more)
  --timeout-ms N    kill it after N milliseconds; 0 waits for ever (default 30000)
  --max-bytes N     pass at most N bytes of each stream on; with --json kept of each
                    (default 1048576)
  --isolation L     required, preferred or off (default required)
  --json            print one object with code, signal and both texts

It reads what we read, and what it writes is passed on as it comes.

Examples:
  bulkhead sandbox run --read . -- wc -l README.md
  bulkhead sandbox run --write ./out --timeout-ms 5000 -- ./build.sh
`;

/**
 * Runs the command line of this member.
 *
 * @param args The arguments, without the program's name.
 * @param io Where to write.
 * @returns The exit code: the program's own for `run`, 1 for a failure, 2 for a
 * command line that cannot be understood, 124 when the time was
 * up, 130 after Ctrl-C (TERM 143, HUP 129), 141 when nobody reads on: the program is
 * ended first.
 *
 * @example Usage
 * ```ts
 * import { sandboxCommand } from "@bulkhead/sandbox/cli";
 * import { processIo } from "@bulkhead/sandbox/command";
 * import { assertEquals } from "@std/assert";
 *
 * const io = { ...processIo(), out: () => {} };
 * assertEquals(await sandboxCommand(["--help"], io), 0);
 * ```
 */
export async function sandboxCommand(
  args: readonly string[],
  io: CommandIo,
): Promise<number> {
  try {
    const flags = parseFlags(args, {
      boolean: ["help", "json", "net"],
      string: ["timeout-ms", "max-bytes", "isolation"],
      collect: ["read", "write", "env"],
      alias: { h: "help" },
    });
    if (flags.on("help")) {
      io.out(HELP);
      return 0;
    }
    const [word] = flags.operands;
    switch (word) {
      case undefined:
        throw new UsageError(
          "Cannot read the command line: no command is given",
          "sandbox run -- PROGRAM, or sandbox probe",
        );
      case "run":
        return await runProgram(flags, io);
      case "probe":
        return await probe(flags, io);
      default:
        throw unknownCommand("bulkhead sandbox", word, ["run", "probe"]);
    }
  } catch (error) {
    return printFailure(io, error, args.includes("--json"));
  }
}

async function probe(flags: Flags, io: CommandIo): Promise<number> {
  const found = await probeIsolation();
  if (flags.on("json")) printResult(io, { ...found });
  else {
    io.out(`${found.backend}: ${found.detail}\n`);
    if (found.fix) io.out(`fix: ${found.fix}\n`);
  }
  return found.backend === "none" ? 1 : 0;
}

if (import.meta.main) {
  // Not by the end of all work: input that nobody types any more would be waited for.
  Deno.exit(await sandboxCommand(Deno.args, processIo()));
}
