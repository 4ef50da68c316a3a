/**
 * How the shell splits and joins words: by `IFS`.
 *
 * @module
 */
import { isKnown } from "../holes.ts";
import type { State } from "./state.ts";

const USUAL = /[ \t\n]+/;

/**
 * What stands between words when an expansion is split.
 *
 * @param state The shell.
 * @returns A pattern of one separator, or `undefined` when nothing is split.
 */
export function separatorOf(state: State): RegExp | undefined {
  const set = separatorText(state);
  if (set === undefined || set === " \t\n") return USUAL;
  if (set === "") return undefined;
  const blanks = classOf(set.replace(/[^ \t\n]/g, ""));
  const marks = classOf(set.replace(/[ \t\n]/g, ""));
  if (marks === "") return new RegExp(`${blanks}+`);
  return blanks === ""
    ? new RegExp(marks)
    : new RegExp(`${blanks}*${marks}${blanks}*|${blanks}+`);
}

/**
 * What `"$*"` puts between words.
 *
 * @param state The shell.
 * @returns The first character of `IFS`.
 */
export function joinerOf(state: State): string {
  return separatorText(state)?.slice(0, 1) ?? " ";
}

/** The value of `IFS`, when the command sets one that is known. */
function separatorText(state: State): string | undefined {
  const values = state.get("IFS")?.[0];
  const value = values?.length === 1 ? values[0] : undefined;
  return value !== undefined && isKnown(value) ? value : undefined;
}

function classOf(characters: string): string {
  return characters === ""
    ? ""
    : `[${characters.replace(/[\\\]^-]/g, "\\$&")}]`;
}
