/**
 * Code that an interpreter is given: by an option, as a script file, on standard input.
 *
 * @module
 */
import { type Call, type CallReader, writes } from "./call.ts";
import { scanCode } from "./code.ts";
import { hasOption, readOptions } from "./options.ts";
import { type Stream, UNKNOWN_STREAM } from "./state.ts";
import type { Lexicon } from "./tokens.ts";
import { applyGuess } from "./guess.ts";

/** A script file, which is known only when the command itself has written it. */
export function script(
  call: Call,
  file: string,
  given: readonly string[],
  language: Lexicon,
): Stream {
  // `process.argv` of a script holds its name, which code of an option has not.
  const args = language === "javascript" && /^(?:node|bun|tsx)/.test(call.name)
    ? [file, ...given]
    : given;
  if (file === "-" || /^\/dev\/(?:stdin|fd\/0)$/.test(file)) {
    fromInput(call, language, args);
  } else {
    const { text } = call.context.readFile(file, call.state);
    if (text !== undefined) scanCode(call, text, language, args);
    else if (
      /(?:^|\/)setup\.py$/.test(file) &&
      args.some((arg) => /^(?:install|develop)$/.test(arg))
    ) {
      call.context.run.argv(
        ["pip", "install", "."],
        call.state.fork(),
        UNKNOWN_STREAM,
      );
    } else {
      if (/(?:^|\/)setup\.py$/.test(file)) {
        // `setup.py sdist -d place`
        const read = readOptions(args, {
          writes:
            "-d -b --build-base --build-lib --build-temp --dist-dir --bdist-dir --egg-base",
        });
        for (const [, path] of read.options) {
          if (path !== undefined) writes(call, path);
        }
      }
      applyGuess({ ...call, args: given });
    }
  }
  return UNKNOWN_STREAM;
}

/** Reads the code that an interpreter gets on standard input, when its text is known. */
export function fromInput(
  call: Call,
  language: Lexicon,
  args: readonly string[],
): void {
  if (call.stdin.text !== undefined) {
    scanCode(call, call.stdin.text, language, args);
  }
}

/** Interpreters that take code by one option and a script by the first operand. */
export function interpreter(
  language: Lexicon,
  codeOptions: string,
  takes = "",
): CallReader {
  const names = codeOptions.split(" ");
  return (call) => {
    // `node -pe code` is print and evaluate, not the code "e".
    const given = call.args.map((arg) => arg === "-pe" ? "-e" : arg);
    const read = readOptions(given, {
      takes: `${codeOptions} ${takes}`,
      stopsAtOperand: true,
    });
    let coded = false;
    for (const [name, value] of read.options) {
      if (names.includes(name) && value !== undefined) {
        coded = true;
        scanCode(call, value, language, read.operands);
      }
    }
    if (coded) return UNKNOWN_STREAM;
    const [file, ...args] = read.operands;
    if (file !== undefined) return script(call, file, args, language);
    if (
      !hasOption(
        read,
        "-v",
        "--version",
        "-h",
        "--help",
        "-c",
        "--check",
        "--test",
      )
    ) {
      fromInput(call, language, []);
    }
    return UNKNOWN_STREAM;
  };
}
