/**
 * The `bulkhead` command line. Each verb is loaded when it is asked for.
 *
 * ```sh
 * deno run -A jsr:@bulkhead/bulkhead/cli --help
 * ```
 *
 * @module
 */

import {
  type CommandIo,
  printFailure,
  printResult,
  processIo,
  unknownCommand,
} from "@bulkhead/sandbox/command";
import type { OpenNative } from "@bulkhead/plugins/cli";
import { HELP, VERBS, VERSION } from "./help.ts";

/** What a verb does with its arguments. */
type Verb = (args: string[], io: CommandIo) => Promise<number>;

/**
 * The verbs, each loaded when it is asked for: a command that needs no plugin host
 * should not wait for one.
 */
const verbs: Record<string, () => Promise<Verb>> = {
  run: async () => (await import("./run.ts")).runCommand,
  attach: async () => (await import("./attach.ts")).attachCommand,
  doctor: async () => (await import("./doctor.ts")).doctorCommand,
  completions: async () =>
    (await import("./completions.ts")).completionsCommand,
  plugins: async () => {
    const { pluginsCommand } = await import("@bulkhead/plugins/cli");
    const native: OpenNative = async (...given) =>
      await (await import("./run/native.ts")).openNative(...given);
    return (args, io) => pluginsCommand(args, io, { native });
  },
  guard: async () => (await import("@bulkhead/guard/cli")).guardCommand,
  worker: async () => (await import("@bulkhead/worker/cli")).workerCommand,
  fleet: async () => {
    const { fleetCommand } = await import("@bulkhead/worker/fleet-cli");
    const { fleetOptions } = await import("./run/placed.ts");
    return (args, io) => fleetCommand(args, io, fleetOptions());
  },
  abi: async () => (await import("@bulkhead/abi/cli")).abiCommand,
  sandbox: async () => (await import("@bulkhead/sandbox/cli")).sandboxCommand,
};

/** Names that earlier programs called us by. */
const ALIASES: Record<string, string[]> = {
  "guard-codex": ["guard", "hook", "--harness", "codex"],
  "guard-hook": ["guard", "hook"],
};

/**
 * Runs one command line of `bulkhead`.
 *
 * @param args The arguments, without the program's name.
 * @param io Where to read and write.
 * @returns The exit code: 0, 1 for a failure, 2 for a command line that cannot be
 * understood.
 *
 * @example Usage
 * ```ts
 * import { bulkheadCommand } from "@bulkhead/bulkhead";
 * import { processIo } from "@bulkhead/sandbox/command";
 * import { assertEquals } from "@std/assert";
 *
 * const io = { ...processIo(), out: () => {} };
 * assertEquals(await bulkheadCommand(["--version"], io), 0);
 * ```
 */
export async function bulkheadCommand(
  args: string[],
  io: CommandIo,
): Promise<number> {
  try {
    const [first, ...rest] = args;
    if (first === "help" && rest[0] !== undefined) {
      const [word] = rest;
      if (!VERBS.includes(word)) throw unknownCommand("bulkhead", word, VERBS);
      return word === "help" || word === "version"
        ? await bulkheadCommand(["--help"], io)
        : await bulkheadCommand([word, "--help"], io);
    }
    if (
      first === undefined || first === "help" || /^(?:-h|--help)$/.test(first)
    ) {
      io.out(HELP);
      return first === undefined ? 2 : 0;
    }
    if (/^(?:-V|--version|version)$/.test(first)) {
      if (rest.includes("--json")) {
        printResult(io, { version: VERSION, deno: Deno.version.deno });
      } else io.out(`bulkhead ${VERSION}\n`);
      return 0;
    }
    const alias = ALIASES[first];
    if (alias) return await bulkheadCommand([...alias, ...rest], io);
    const load = Object.hasOwn(verbs, first) ? verbs[first] : undefined;
    if (!load) throw unknownCommand("bulkhead", first, VERBS);
    const verb = await load();
    return await verb(rest, io);
  } catch (error) {
    return printFailure(io, error, args.includes("--json"));
  }
}

if (import.meta.main) {
  // Not by the end of all work: a line that nobody types any more would be waited for.
  Deno.exit(await bulkheadCommand(Deno.args, processIo()));
}
