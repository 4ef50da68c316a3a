/**
 * The command line of the guard.
 *
 * ```sh
 * deno run -A cli.ts install --harness claude-code
 * deno run -A cli.ts explain 'cp a.txt /etc/'
 * deno run -A cli.ts teardown
 * ```
 *
 * @module
 */

import { namePermission } from "@bulkhead/sandbox";
import {
  type CommandIo,
  printFailure,
  processIo,
  unknownCommand,
} from "@bulkhead/sandbox/command";
import { parseVerb, type Verb } from "./_cli_shared.ts";

/** The verbs, each loaded when it is asked for: judging a line needs no installer. */
const VERBS: ReadonlyMap<string, () => Promise<Verb>> = new Map([
  ["install", async () => (await import("./_cli_install.ts")).install],
  ["status", async () => (await import("./_cli_install.ts")).status],
  ["verify", async () => (await import("./_cli_verify.ts")).verify],
  ["explain", async () => (await import("./_cli_decide.ts")).explain],
  ["decide", async () => (await import("./_cli_decide.ts")).decide],
  ["log", async () => (await import("./_cli_log.ts")).log],
  ["scan", async () => (await import("./_cli_log.ts")).scan],
  ["teardown", async () => (await import("./_cli_install.ts")).teardown],
]);

/** Names under which earlier armed workspaces call the hook. */
const HOOK_NAMES = ["hook", "guard", "guard-hook", "guard-codex"];

/**
 * Runs one command line of `bulkhead guard`.
 *
 * @param args The arguments, without the program's name.
 * @param io Where to read and write.
 * @returns The exit code: 0, 1 for a failure, 2 for a command line that cannot be understood.
 *
 * @example
 * ```ts
 * import { guardCommand } from "@bulkhead/guard/cli";
 * import { processIo } from "@bulkhead/sandbox/command";
 * import { assertEquals, assertStringIncludes } from "@std/assert";
 *
 * let printed = "";
 * const io = { ...processIo(), out: (text: string) => void (printed += text) };
 * assertEquals(await guardCommand(["--help"], io), 0);
 * assertStringIncludes(printed, "explain");
 * ```
 */
export async function guardCommand(
  args: readonly string[],
  io: CommandIo,
): Promise<number> {
  const [word, ...rest] = args;
  // A marker in place of a verb is the oldest form of the hook.
  if (word !== undefined && (HOOK_NAMES.includes(word) || word.includes("/"))) {
    const { runHook } = await import("./hook.ts");
    return await runHook(args);
  }
  const json = args.includes("--json") || args.includes("-j");
  try {
    if (word === undefined || ["help", "--help", "-h"].includes(word)) {
      io.out(await overview());
      return word === undefined ? 2 : 0;
    }
    const load = VERBS.get(word);
    if (load === undefined) {
      throw unknownCommand("bulkhead guard", word, [...VERBS.keys()]);
    }
    const verb = await load();
    const flags = parseVerb(verb, rest);
    if (flags.on("help")) {
      io.out(`bulkhead guard ${verb.usage}\n  ${verb.summary}\n`);
      for (const line of verb.help ?? []) io.out(`  ${line}\n`);
      io.out(`\nExamples:\n  ${verb.examples.join("\n  ")}\n`);
      return 0;
    }
    return await verb.run(flags, io);
  } catch (error) {
    return printFailure(io, namePermission("The guard", error), json);
  }
}

/** The list of commands. */
async function overview(): Promise<string> {
  const verbs = await Promise.all([...VERBS.values()].map((load) => load()));
  const lines = verbs.map((verb) => `  ${verb.usage}\n      ${verb.summary}`);
  return `bulkhead guard: deny an agent's writes outside the allowed roots\n\n${
    lines.join("\n")
  }\n\nEvery command takes --json and --help; --home DIR names another Bulkhead home.

Examples:
  bulkhead guard explain 'cp a.txt /etc/'
  bulkhead guard install --harness claude-code
  bulkhead guard teardown
`;
}

if (import.meta.main) Deno.exit(await guardCommand(Deno.args, processIo()));
