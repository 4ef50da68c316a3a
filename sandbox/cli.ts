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
  closest,
  type CommandIo,
  type Flags,
  interruptible,
  parseFlags,
  printFailure,
  printResult,
  processIo,
  UsageError,
} from "./command.ts";
import { inheritedEnvironment } from "./environment.ts";
import { type IsolationLevel, probeIsolation } from "./isolation.ts";
import { joinPath, normalizePath } from "./paths.ts";
import { run, type RunOptions } from "./run.ts";

const LEVELS: readonly IsolationLevel[] = ["required", "preferred", "off"];

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
  --max-bytes N     bytes kept of each stream (default 1048576)
  --isolation L     required, preferred or off (default required)
  --json            print one object with code, signal and both texts

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
 * up, 130 after Ctrl-C (TERM 143, HUP 129): the program is ended first.
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
    switch (flags.operands[0]) {
      case "run":
        return await runProgram(flags, io);
      case "probe":
        return await probe(flags, io);
      default:
        throw unknown(flags.operands[0]);
    }
  } catch (error) {
    return printFailure(io, error, args.includes("--json"));
  }
}

function unknown(word: string | undefined): UsageError {
  const near = word === undefined ? undefined : closest(word, ["run", "probe"]);
  return new UsageError(
    word === undefined
      ? "Cannot read the command line: no command is given"
      : `Cannot read the command line: "${word}" is not a command${
        near === undefined ? "" : `; did you mean "${near}"?`
      }`,
    "sandbox run -- PROGRAM, or sandbox probe",
  );
}

async function runProgram(flags: Flags, io: CommandIo): Promise<number> {
  if (flags.rest.length === 0) {
    throw new UsageError(
      "Cannot run: no program is given",
      "sandbox run -- PROGRAM",
    );
  }
  const [, extra] = flags.operands;
  if (extra !== undefined) {
    throw new UsageError(
      `Cannot run: "${extra}" is left over`,
      `sandbox run -- ${extra}`,
    );
  }
  for (const name of flags.list("env")) {
    if (name === "" || /[=\0]/.test(name)) {
      throw new UsageError(
        `Cannot hand on a variable: "${name}" is not the name of one`,
        "--env NAME takes the value that it has here",
      );
    }
  }
  const absolute = (path: string): string =>
    normalizePath(joinPath(Deno.cwd(), path));
  const timeoutMs = flags.integer("timeout-ms") ?? 30_000;
  const maxBytes = flags.integer("max-bytes") ?? 1024 * 1024;
  const options: RunOptions = {
    env: inheritedEnvironment(flags.list("env")),
    timeoutMs,
    maxBytes,
    isolation: {
      policy: {
        read: flags.list("read").map(absolute),
        write: flags.list("write").map(absolute),
        net: flags.on("net"),
      },
      level: flags.choice("isolation", LEVELS) ?? "required",
    },
  };
  const { value: result, exitCode } = await interruptible((signal) =>
    run(flags.rest, { ...options, signal })
  );
  if (flags.on("json")) {
    printResult(io, { ...result });
  } else {
    io.out(result.stdout);
    io.err(result.stderr);
    for (const stream of ["stdout", "stderr"] as const) {
      if (result.truncated[stream]) {
        io.err(
          `warning: ${stream} is cut after ${maxBytes} bytes; --max-bytes N keeps more\n`,
        );
      }
    }
    if (result.timedOut) {
      io.err(
        `error: Cannot wait for "${
          flags.rest[0]
        }": it ran longer than ${timeoutMs} ms and was killed; --timeout-ms N gives it more, 0 all the time it takes\n`,
      );
    }
  }
  if (exitCode !== undefined) return exitCode;
  if (result.signal !== null && !result.timedOut && !flags.on("json")) {
    io.err(`error: "${flags.rest[0]}" was ended by ${result.signal}\n`);
  }
  return result.timedOut ? 124 : result.code ?? 1;
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
  Deno.exitCode = await sandboxCommand(Deno.args, processIo());
}
