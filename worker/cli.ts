/**
 * The command line of workers.
 *
 * ```sh
 * deno run -A cli.ts start demo --agent scripted
 * deno run -A cli.ts ask demo "hello"
 * deno run -A cli.ts watch demo
 * ```
 *
 * @module
 */

import {
  type CommandIo,
  parseFlags,
  printFailure,
  printResult,
  processIo,
  unknownCommand,
  UsageError,
} from "@bulkhead/sandbox/command";
import { fillFleetFlag, FLEET_FLAGS } from "./fleet_settings.ts";
import { overFleet } from "./cli/over_fleet.ts";
import { COMMON_FLAGS, type WorkerVerb } from "./cli/shared.ts";
import config from "./deno.json" with { type: "json" };

/** The verbs, each loaded when it is asked for: listing workers needs none. */
const VERBS: ReadonlyMap<string, () => Promise<WorkerVerb>> = new Map([
  ["list", async () => (await import("./cli/fleet.ts")).list],
  ["start", async () => (await import("./cli/start.ts")).start],
  ["ask", async () => (await import("./cli/talk.ts")).ask],
  ["watch", async () => (await import("./cli/talk.ts")).watch],
  ["answer", async () => (await import("./cli/talk.ts")).answer],
  ["interrupt", async () => (await import("./cli/talk.ts")).interrupt],
  ["status", async () => (await import("./cli/talk.ts")).status],
  ["stop", async () => (await import("./cli/talk.ts")).stop],
  ["reap", async () => (await import("./cli/fleet.ts")).reap],
  ["ui", async () => (await import("./cli/ui.ts")).ui],
]);

const COMMON_HELP = `
Flags of every command:
  --home DIR      Bulkhead's own directory (default $BULKHEAD_HOME, else ~/.bulkhead)
  --json          print one object; watch prints one a line
  --fleet URL     nats://host:port: over all machines of the fleet, sessions are HOST.ID
                  (default: [worker] fleet in config.toml; "off" for none)
`;

/**
 * Runs one command line of `bulkhead worker`.
 *
 * @param args The arguments, without the program's name.
 * @param io Where to read, write and ask.
 * @returns The exit code: 0, 1 for a failure, 2 for a command line that cannot be understood.
 *
 * @example Usage
 * ```ts
 * import { workerCommand } from "@bulkhead/worker/cli";
 * import { processIo } from "@bulkhead/sandbox/command";
 * import { assertEquals } from "@std/assert";
 *
 * const io = { ...processIo(), out: () => {} };
 * assertEquals(await workerCommand(["--help"], io), 0);
 * ```
 */
export async function workerCommand(
  args: readonly string[],
  io: CommandIo,
): Promise<number> {
  const json = beforeDashes(args).some((arg) =>
    arg === "--json" || arg === "-j"
  );
  try {
    const [word, ...rest] = args;
    if (
      word === undefined || word === "help" || word === "--help" ||
      word === "-h"
    ) {
      io.out(await overview());
      return word === undefined ? 2 : 0;
    }
    if (word === "version" || word === "--version" || word === "-V") {
      return version(json, io);
    }
    const load = VERBS.get(word);
    if (load === undefined && word.startsWith("-")) {
      const { serve } = await import("./cli/serve.ts");
      return await serve(args, io);
    }
    if (load === undefined) {
      throw unknownCommand("bulkhead worker", word, [...VERBS.keys()]);
    }
    const verb = await load();
    const flags = parseFlags(fillFleetFlag(rest), {
      boolean: [...COMMON_FLAGS.boolean ?? [], ...verb.flags?.boolean ?? []],
      string: [
        ...COMMON_FLAGS.string ?? [],
        ...FLEET_FLAGS,
        ...verb.flags?.string ?? [],
      ],
      collect: verb.flags?.collect ?? [],
      alias: { ...COMMON_FLAGS.alias, ...verb.flags?.alias },
    });
    if (flags.on("help")) {
      io.out(
        `${sentence(verb.summary)}\n\n${withProgram(verb.help)}${COMMON_HELP}`,
      );
      return 0;
    }
    const [min, max] = verb.operands;
    if (flags.operands.length < min || flags.operands.length > max) {
      const usage = /^Usage: (.*)$/m.exec(verb.help)?.[1] ?? `worker ${word}`;
      throw new UsageError(
        `Cannot read the command line: worker ${word} got ${flags.operands.length} operands`,
        `bulkhead ${usage}`,
      );
    }
    return await overFleet(word, flags, io) ?? await verb.run(flags, io);
  } catch (error) {
    return printFailure(io, error, json);
  }
}

function beforeDashes(args: readonly string[]): readonly string[] {
  const at = args.indexOf("--");
  return at < 0 ? args : args.slice(0, at);
}

function version(json: boolean, io: CommandIo): number {
  if (json) {
    printResult(io, {
      name: config.name,
      version: config.version,
      deno: Deno.version.deno,
    });
  } else {io.out(
      `${config.name} ${config.version} (deno ${Deno.version.deno})\n`,
    );}
  return 0;
}

function sentence(words: string): string {
  return `${words.slice(0, 1).toUpperCase()}${words.slice(1)}`;
}

/** A verb's help with its usage as it is typed. */
function withProgram(help: string): string {
  return help.replace(/^(Usage: | {7})(?=worker )/gm, "$1bulkhead ");
}

async function overview(): Promise<string> {
  const { SERVE_HELP } = await import("./cli/serve.ts");
  const width = Math.max(...[...VERBS.keys()].map((name) => name.length));
  const lines = await Promise.all(
    [...VERBS].map(async ([name, load]) =>
      `  ${name.padEnd(width)}  ${(await load()).summary}`
    ),
  );
  return `Agent sessions behind sockets

Usage: bulkhead worker COMMAND [flags]

Commands:
${lines.join("\n")}

"worker COMMAND --help" shows the flags and examples of one.
${COMMON_HELP}
Examples:
  bulkhead worker start demo --agent scripted
  bulkhead worker ask demo "hello"
  bulkhead worker stop demo

${withProgram(SERVE_HELP)}`;
}

if (import.meta.main) Deno.exit(await workerCommand(Deno.args, processIo()));
