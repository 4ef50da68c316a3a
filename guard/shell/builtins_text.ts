/**
 * What `echo` and `printf` print.
 *
 * @module
 */
import { ANY } from "../holes.ts";
import type { CallReader } from "./call.ts";
import { EMPTY_STREAM, UNKNOWN_STREAM } from "./state.ts";
import { runSubscript } from "./subscripts.ts";

/** `printf`: what it prints, or the variable that it sets. */
export const printf: CallReader = (call) => {
  const { args } = call;
  if (args[0] === "-v") {
    const text = formatted(args.slice(2));
    runSubscript(args[1] ?? "", call.state, call.context);
    call.state.set(args[1] ?? "", [[text ?? ANY]]);
    return EMPTY_STREAM;
  }
  const text = formatted(args[0] === "--" ? args.slice(1) : args);
  return text === undefined ? UNKNOWN_STREAM : { text };
};

/** What `printf` prints; nothing known for conversions beyond strings and numbers. */
function formatted(args: readonly string[]): string | undefined {
  const [format = "", ...values] = args;
  const plain = unescapeText(format);
  const slots = plain.match(/%(?:[-+ #0]*\d*(?:\.\d+)?[sdiucbq]|%)/g) ?? [];
  const count = slots.filter((slot) => slot !== "%%").length;
  if (
    plain.replace(/%(?:[-+ #0]*\d*(?:\.\d+)?[sdiucbq]|%)/g, "").includes("%")
  ) return undefined;
  let text = "";
  let next = 0;
  do {
    text += plain.replace(
      /%(?:[-+ #0]*\d*(?:\.\d+)?([sdiucbq])|%)/g,
      (slot, kind) => {
        if (slot === "%%") return "%";
        const value = values[next++] ?? "";
        return kind === "b"
          ? unescapeText(value)
          : kind === "c"
          ? value.slice(0, 1)
          : value;
      },
    );
  } while (count > 0 && next < values.length && text.length < 65_536);
  return text;
}

/**
 * Turns backslash escapes into what they stand for.
 *
 * @param text Text with escapes.
 * @returns The text they stand for.
 */
export function unescapeText(text: string): string {
  if (!text.includes("\\")) return text;
  return text.replace(
    /\\(?:0?([0-7]{1,3})|x([\da-fA-F]{1,2})|u([\da-fA-F]{1,4})|([abefnrtv\\'"]))/g,
    (_, octal, hex, unicode, letter) =>
      octal !== undefined
        ? String.fromCharCode(parseInt(octal, 8) & 255)
        : hex !== undefined || unicode !== undefined
        ? String.fromCharCode(parseInt(hex ?? unicode, 16))
        : ({
          n: "\n",
          t: "\t",
          r: "\r",
          a: "\x07",
          b: "\b",
          f: "\f",
          v: "\v",
          e: "\x1b",
        })[
          String(letter)
        ] ?? String(letter),
  );
}

/** `echo`: what it prints. */
export const echo: CallReader = (call) => {
  let i = 0;
  let newline = true;
  let escapes = false;
  for (; i < call.args.length && /^-[neE]+$/.test(call.args[i] ?? ""); i++) {
    const flags = call.args[i] ?? "";
    if (flags.includes("n")) newline = false;
    escapes = flags.includes("e") || (escapes && !flags.includes("E"));
  }
  const text = call.args.slice(i).join(" ");
  return {
    text: (escapes ? unescapeText(text) : text) + (newline ? "\n" : ""),
  };
};
