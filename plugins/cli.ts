/**
 * The command line of plugins.
 *
 * ```sh
 * deno run -A cli.ts new demo
 * deno run -A cli.ts install ./demo
 * deno run -A cli.ts call demo/greet --args '{"name":"Ada"}'
 * ```
 *
 * @module
 */
import {
  type FlagSpec,
  parseFlags,
  printFailure,
  processIo,
  UsageError,
} from "@bulkhead/sandbox/command";
import { check, doctor } from "./_cli_inspect.ts";
import { create, install, remove, update } from "./_cli_install.ts";
import { list } from "./_cli_list.ts";
import { call, fire, serve } from "./_cli_run.ts";
import { failureOf, InterruptedError, unknownWord } from "./_cli_errors.ts";
import {
  Command,
  COMMON_FLAGS,
  PIN_FLAGS,
  type PluginsExtensions,
  type PluginsIo,
  type Verb,
} from "./_cli_shared.ts";
import { trust, untrust } from "./_cli_trust.ts";
import { quote } from "./_text.ts";
import { InstallError } from "./install.ts";

export type { CommandIo } from "@bulkhead/sandbox/command";
export type {
  OpenNative,
  PluginsExtensions,
  PluginsIo,
} from "./_cli_shared.ts";

const VERBS: ReadonlyMap<string, Verb> = new Map([
  ["list", list],
  ["check", check],
  ["trust", trust],
  ["untrust", untrust],
  ["call", call],
  ["fire", fire],
  ["install", install],
  ["update", update],
  ["remove", remove],
  ["serve", serve],
  ["new", create],
  ["doctor", doctor],
]);

/** What other programs call these commands. */
const OTHER_WORDS: ReadonlyMap<string, string> = new Map([
  ["uninstall", "remove"],
  ["delete", "remove"],
  ["rm", "remove"],
  ["add", "install"],
  ["upgrade", "update"],
  ["ls", "list"],
  ["run", "call"],
  ["validate", "check"],
  ["init", "new"],
  ["create", "new"],
  ["mcp", "serve"],
]);

/**
 * Runs one command line of `bulkhead plugins`.
 *
 * @param args The arguments, without the program's name.
 * @param io Where to read, write and ask.
 * @param extensions What the calling program adds: a host of native libraries.
 * @returns The exit code: 0, 1 for a failure, 2 for a command line that cannot be understood, 130 when interrupted.
 *
 * @example Usage
 * ```ts
 * import { pluginsCommand } from "@bulkhead/plugins/cli";
 * import { processIo } from "@bulkhead/sandbox/command";
 * import { assertEquals } from "@std/assert";
 *
 * const io = { ...processIo(), out: () => {} };
 * assertEquals(await pluginsCommand(["--help"], io), 0);
 * ```
 */
export async function pluginsCommand(
  args: readonly string[],
  io: PluginsIo,
  extensions: PluginsExtensions = {},
): Promise<number> {
  const json = args.includes("--json") || args.includes("-j");
  try {
    const [word, ...rest] = args;
    if (
      word === undefined || word === "help" || word === "--help" ||
      word === "-h"
    ) {
      io.out(overview());
      return word === undefined ? 2 : 0;
    }
    const verb = VERBS.get(word);
    if (verb === undefined) {
      throw unknownWord(
        "command of plugins",
        word,
        [...VERBS.keys()],
        OTHER_WORDS.get(word),
      );
    }
    const own = joined(
      verb.flags ?? {},
      verb.takesPins === true ? PIN_FLAGS : {},
    );
    const flags = parseFlags(rest, joined(COMMON_FLAGS, own));
    if (flags.on("help")) {
      io.out(withProgram(verb.help) + commonHelp(verb.takesPins === true));
      return 0;
    }
    const [min, max] = verb.operands;
    const count = flags.operands.length;
    if (count < min || count > max) {
      const usage = /^Usage: (.*)$/m.exec(verb.help)?.[1] ?? `plugins ${word}`;
      throw new UsageError(
        count < min
          ? `Cannot read the command line: plugins ${word} needs ${
            min === 1 ? "one operand" : `${min} operands`
          }`
          : `Cannot read the command line: plugins ${word} does not know what to do with ${
            quote(flags.operands[max] ?? "")
          }`,
        `bulkhead ${usage}`,
      );
    }
    const command = new Command(io, flags, extensions);
    if (verb.usesHome ?? true) await command.checkHome();
    const code = await verb.run(command);
    return code === 0 ? 0 : command.interrupted ?? code;
  } catch (error) {
    if (error instanceof InstallError && json) {
      const failure = { schema: 1, ok: false, error: failureOf(error) };
      io.out(`${JSON.stringify(failure)}\n`);
      return 1;
    }
    const code = printFailure(io, error, json);
    return error instanceof InterruptedError ? error.exitCode : code;
  }
}

/** A verb's help with its usage as it is typed. */
function withProgram(help: string): string {
  return help.replace(/^(Usage: | {7})(?=plugins )/gm, "$1bulkhead ");
}

const COMMON_HELP = `
Flags of every command:
  --home DIR                  Bulkhead's own directory (default $BULKHEAD_HOME, else ~/.bulkhead)
  --workspace DIR             where tools and hooks work (default: here)
  --json                      print one object
`;

const PIN_HELP =
  `  --trust-plugin NAME=HASH    trust this very content (again for more)
`;

function commonHelp(takesPins: boolean): string {
  return takesPins ? COMMON_HELP + PIN_HELP : COMMON_HELP;
}

function overview(): string {
  const width = Math.max(...[...VERBS.keys()].map((name) => name.length));
  const lines = [...VERBS].map(([name, { summary }]) =>
    `  ${name.padEnd(width)}  ${summary}`
  );
  return `Tools and hooks from directories with a plugin.toml

Usage: bulkhead plugins COMMAND [flags]

Commands:
${lines.join("\n")}

"plugins COMMAND --help" shows the flags and examples of one.
${COMMON_HELP}
Flag of ${
    [...VERBS].flatMap(([name, verb]) => verb.takesPins ? [name] : []).join(
      ", ",
    )
  }:
${PIN_HELP}
Examples:
  bulkhead plugins new weather
  bulkhead plugins install ./weather
  bulkhead plugins call weather/greet --args '{"name":"Ada"}'
`;
}

function joined(a: FlagSpec, b: FlagSpec): FlagSpec {
  return {
    boolean: [...a.boolean ?? [], ...b.boolean ?? []],
    string: [...a.string ?? [], ...b.string ?? []],
    collect: [...a.collect ?? [], ...b.collect ?? []],
    alias: { ...a.alias, ...b.alias },
  };
}

if (import.meta.main) Deno.exit(await pluginsCommand(Deno.args, processIo()));
