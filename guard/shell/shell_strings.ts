/**
 * Programs whose operands, options or input are command lines.
 *
 * @module
 */
import { type Call, type CallReader, writes } from "./call.ts";
import { hasOption, readOptions } from "./options.ts";
import { type Stream, UNKNOWN_STREAM } from "./state.ts";

/** A debugger: `shell` and `!` in its commands run a command line, `--args` a program. */
function debuggers(call: Call): Stream {
  const read = readOptions(call.args, {
    takes: "-ex -eval-command -x -p -iex -o -O -s -k --eval-command --one-line",
    singleDash: true,
    stopsAtOperand: true,
  });
  for (const [name, value] of read.options) {
    const text = /^-?-(?:i?ex|eval-command|o|O|k|one-line)$/.test(name)
      ? /^\s*(?:(?:platform\s+)?shell\s+|!\s*)(.+)/.exec(value ?? "")?.[1]
      : undefined;
    if (text !== undefined) {
      call.context.run.text(text, call.state.fork(), {});
    }
  }
  return UNKNOWN_STREAM;
}

/** Programs whose operands or option values are command lines. */
export const SHELL_STRINGS: Readonly<Record<string, CallReader>> = {
  hyperfine: (call) =>
    texts(
      call,
      readOptions(call.args, {
        takes:
          "-w -m -M -r -s -p -c -L -P -D --warmup --runs --setup --prepare --cleanup --parameter-list --shell",
        writes: "--export-json --export-csv --export-markdown",
      }),
    ),
  concurrently: (call) =>
    texts(
      call,
      readOptions(call.args, {
        takes: "-n -c -m -s -p --names --prefix-colors",
      }),
    ),
  "npm-run-all": () => UNKNOWN_STREAM,
  gdb: debuggers,
  lldb: debuggers,
  at: (call) => {
    const text = call.stdin.text;
    if (
      text !== undefined &&
      !hasOption(
        readOptions(call.args, { takes: "-f -q -t" }),
        "-l",
        "-d",
        "-c",
      )
    ) {
      call.context.run.text(text, call.state.fork(), {});
    }
    return UNKNOWN_STREAM;
  },
  batch: (call) => {
    if (call.stdin.text !== undefined) {
      call.context.run.text(call.stdin.text, call.state.fork(), {});
    }
    return UNKNOWN_STREAM;
  },
  rpm2cpio: () => UNKNOWN_STREAM,
};

function texts(call: Call, read: ReturnType<typeof readOptions>): Stream {
  for (const [name, value] of read.options) {
    if (value === undefined) continue;
    if (
      /^--?(?:prepare|setup|cleanup|p|s|c)$/.test(name) &&
      call.name === "hyperfine"
    ) {
      call.context.run.text(value, call.state.fork(), {});
    }
    if (name.startsWith("--export-")) writes(call, value);
  }
  for (const text of read.operands) {
    call.context.nested(() =>
      call.context.run.text(text, call.state.fork(), {})
    );
  }
  return UNKNOWN_STREAM;
}
