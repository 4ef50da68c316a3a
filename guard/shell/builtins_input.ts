/**
 * Builtins that put what they read into variables.
 *
 * @module
 */
import { ANY, isKnown, SEG } from "../holes.ts";
import type { CallReader } from "./call.ts";
import { optionValue, readOptions } from "./options.ts";
import { separatorOf } from "./splitting.ts";
import { EMPTY_STREAM, linesOf, union, type Values } from "./state.ts";
import { runSubscript } from "./subscripts.ts";

/** `read`: the names get the fields of a line. */
export const read: CallReader = (call) => {
  const { operands, options } = readOptions(call.args, {
    takes: "-d -i -n -N -p -t -u -a",
  });
  const array = options.find(([name]) => name === "-a")?.[1];
  const names = array === undefined ? operands : [array];
  const lines = linesOf(call.stdin);
  if (names.length === 0) names.push("REPLY");
  for (const name of names) {
    if (name.includes("[")) runSubscript(name, call.state, call.context);
  }
  if (array !== undefined || names.length > 1) {
    // Fields that a separator of its own makes are told apart one by one.
    const separator = call.state.get("IFS") === undefined
      ? undefined
      : separatorOf(call.state) ?? NEVER;
    const words = lines?.flatMap((line) =>
      isKnown(line) ? line.split(separator ?? /[\s,:;|]+/) : [line]
    )
      .filter((word) => word !== "" || separator !== undefined);
    const values: Values = words === undefined || words.length === 0
      ? [ANY]
      : words;
    if (array !== undefined && lines?.length === 1 && words !== undefined) {
      call.state.set(array, words.map((word) => [word]));
      return EMPTY_STREAM;
    }
    if (array === undefined && lines?.every(isKnown)) {
      names.forEach((name, n) => {
        const last = n === names.length - 1;
        call.state.set(name, [
          lines.map((line) => fieldOf(line, n, last, separator)).reduce<Values>(
            (all, one) => union(all, [one]),
            [],
          ),
        ]);
      });
      return EMPTY_STREAM;
    }
    // The last name gets the rest of the line.
    for (const name of names) {
      call.state.set(name, [union(values, lines ?? [ANY])]);
    }
    return EMPTY_STREAM;
  }
  for (const name of names) {
    call.state.set(name, [
      lines === undefined || lines.length === 0 ? [ANY] : lines,
    ]);
  }
  return EMPTY_STREAM;
};

/** No separator at all: `IFS=`. */
const NEVER = /(?!)/;

/** What the n-th name of `read` gets of a line; the last one gets the rest. */
function fieldOf(
  line: string,
  n: number,
  last: boolean,
  separator: string | RegExp | undefined,
): string {
  const fields = separator === undefined
    ? line.trim().split(/[ \t]+/)
    : line.split(separator);
  if (!last) return fields[n] ?? "";
  return fields.slice(n).join(typeof separator === "string" ? separator : " ");
}

/** `mapfile`: the array gets the lines. */
export const mapfile: CallReader = (call) => {
  const read = readOptions(call.args, { takes: "-d -n -O -s -u -C -c" });
  const { operands } = read;
  const callback = optionValue(read, "-C");
  if (callback !== undefined) {
    // It is given an index and a line to end with.
    call.context.nested(() =>
      call.context.run.text(`${callback} 0 ${SEG}`, call.state, EMPTY_STREAM)
    );
  }
  const lines = linesOf(call.stdin);
  call.state.set(
    operands[0] ?? "MAPFILE",
    lines === undefined
      ? [[ANY]]
      : call.stdin.text !== undefined
      ? lines.map((line) => [line])
      : [lines],
  );
  return EMPTY_STREAM;
};
