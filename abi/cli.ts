/**
 * The command line of native plugins.
 *
 * ```sh
 * deno run -A cli.ts inspect ./libweather.so
 * deno run -A cli.ts call ./libweather.so forecast --args '{"city":"Rome"}'
 * deno run -A cli.ts verify ./libweather.so
 * ```
 *
 * @module
 */

import {
  type CommandIo,
  describeFailure,
  printFailure,
  processIo,
  unknownCommand,
} from "@bulkhead/sandbox/command";
import { call, command, emit } from "./_cli_call.ts";
import { AbiError } from "./errors.ts";
import { safeIo } from "./_cli_safe.ts";
import { header, inspect, scaffold, tools, verify } from "./_cli_library.ts";
import type { Verb } from "./_cli_shared.ts";

const VERBS: ReadonlyMap<string, Verb> = new Map([
  ["inspect", inspect],
  ["tools", tools],
  ["call", call],
  ["command", command],
  ["emit", emit],
  ["verify", verify],
  ["header", header],
  ["new", scaffold],
]);

const HELP = `Native plugins (rpi plugin ABI 4)

Usage: bulkhead abi COMMAND [flags]

Commands:
  inspect LIB                  what the library is; none of its code runs
  tools LIB                    load it and list what it registers
  call LIB TOOL...             call tools, one after the other, in one process
      --args JSON              their arguments; - reads standard input
      --timeout-ms N           deadline of each call (60000; 0 for none)
      --repeat N               call each tool N times, print the last answer
      --in-process             load it into this very process: no protection
  command LIB NAME [ARGS]      run a slash command
  emit LIB EVENT...            send events to its handlers
      --data JSON              their payload
  verify LIB                   life cycle, cancel, late threads, ownership, leaks
      --tool NAME --args JSON  the tool that is called often
      --calls N                how often (10000)
      --timeout-ms N           how long a tool or handler may take (3000)
  header [--out FILE]          the C header for plugin authors
  new DIR --lang c|rust        a new plugin

  --json                       one JSON object on standard output
  --sha256 HASH                refuse the library unless its content matches; as
                               inspect prints it, or sha256sum
  --read PATH --write PATH --net   what it may touch besides its own files
  --isolation required|preferred|off
  --cwd DIR --session ID       what its tools are told under "__rpi"

Examples:
  bulkhead abi new weather --lang c && make -C weather
  bulkhead abi inspect weather/dist/libweather.so
  bulkhead abi call weather/dist/libweather.so weather_count --args '{"to":3}'
  bulkhead abi verify weather/dist/libweather.so
`;

/**
 * Runs one command line of `bulkhead abi`.
 *
 * @param args The arguments, without the program's name.
 * @param streams Where to read and write.
 * @returns The exit code: 0, 1 for a failure, 2 for a command line that cannot be understood.
 *
 * @example The header on standard output
 * ```ts
 * import { abiCommand } from "@bulkhead/abi/cli";
 * import { processIo } from "@bulkhead/sandbox/command";
 * import { assert, assertEquals } from "@std/assert";
 *
 * let printed = "";
 * const io = { ...processIo(), out: (text: string) => void (printed += text) };
 * assertEquals(await abiCommand(["header"], io), 0);
 * assert(printed.includes("rpi_plugin_register"));
 * ```
 */
export async function abiCommand(
  args: string[],
  streams: CommandIo,
): Promise<number> {
  const [word, ...rest] = args;
  const json = args.includes("--json");
  const io = safeIo(streams, json);
  try {
    if (
      word === undefined || word === "help" || args.includes("--help") ||
      args.includes("-h")
    ) {
      io.out(HELP);
      return word === undefined ? 2 : 0;
    }
    const verb = VERBS.get(word);
    if (verb === undefined) {
      throw unknownCommand("bulkhead abi", word, [...VERBS.keys()]);
    }
    return await verb(rest, io);
  } catch (error) {
    const code = report(io, error, json);
    // Threads of a plugin that was loaded into this process would keep it alive.
    if (args.includes("--in-process")) Deno.exit(code);
    return code;
  }
}

function report(io: CommandIo, error: unknown, json: boolean): number {
  if (!(error instanceof AbiError)) return printFailure(io, error, json);
  const { message, fix } = describeFailure(error);
  if (!json) {
    io.err(`error: ${message}${fix === undefined ? "" : `; ${fix}`}\n`);
    return 1;
  }
  const { code, plugin, signal, exitCode, stderrTail } = error;
  const detail = {
    code,
    message,
    fix,
    plugin,
    signal,
    exitCode,
    stderrTail: stderrTail || undefined,
  };
  io.out(JSON.stringify({ schema: 1, ok: false, error: detail }) + "\n");
  return 1;
}

if (import.meta.main) Deno.exitCode = await abiCommand(Deno.args, processIo());
