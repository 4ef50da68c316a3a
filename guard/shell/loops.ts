/**
 * Loops: a short literal list round by round, anything else until nothing changes any more.
 *
 * @module
 */
import type { For, Select } from "unbash";
import { ANY } from "../holes.ts";
import { anyOf } from "./and_or.ts";
import type { Context } from "./context.ts";
import {
  EMPTY_STREAM,
  joinStreams,
  type State,
  type Stream,
  UNKNOWN_STREAM,
  type Values,
} from "./state.ts";
import { expandFields } from "./words.ts";

/** Most items of a literal list that a loop is followed for one by one. */
const MAX_ITEMS = 24;

/** Follows a `for` or `select` loop: item by item where they are few and known. */
export function runFor(
  node: For | Select,
  state: State,
  context: Context,
  body: (inner: State) => Stream,
): Stream {
  const name = node.name.value;
  const fields = node.wordlist === undefined
    ? [...state.positional]
    : node.wordlist.flatMap((word) => expandFields(word, state, context));
  if (
    node.type === "For" && fields.length <= MAX_ITEMS &&
    fields.every((field) => field.length === 1)
  ) {
    let output: Stream = EMPTY_STREAM;
    for (const field of fields) {
      if (!context.step()) break;
      const inner = state.fork();
      inner.set(name, [field]);
      output = joinStreams(output, body(inner));
      // `break` and `continue` end one round, not the shell.
      inner.ended = false;
      state.merge([inner], false);
    }
    return output;
  }
  const all: Values = fields.flat();
  const values = new Set(all);
  state.set(name, [
    values.size === 0 ? [""] : values.size > 200 ? [ANY] : [...values],
  ]);
  return loop(state, context, body);
}

/** Whether every directory is one of some others, or lies below one. */
export function descends(places: Values, others: Values): boolean {
  return places.every((place) =>
    others.some((other) => place === other || place.startsWith(other + "/"))
  );
}

/** Follows a body that runs any number of times, until nothing changes any more. */
export function loop(
  state: State,
  context: Context,
  body: (inner: State) => Stream,
): Stream {
  let output: Stream = UNKNOWN_STREAM;
  for (let round = 0; round < 3 && context.step(); round++) {
    const inner = state.fork();
    const before = state.fork();
    const printed = body(inner);
    inner.ended = false;
    output = round === 0 ? anyOf([EMPTY_STREAM, printed], false) : output;
    const changed = inner.changedFrom(before);
    const last = round === 2;
    if (last) {
      for (const name of changed) {
        if (state.get(name)?.length === 1) inner.set(name, [[ANY]]);
      }
      // Going down further cannot reach what the first rounds did not.
      if (descends(inner.cwd, state.cwd)) inner.cwd = state.cwd;
      else if (inner.cwd !== state.cwd) inner.cwd = [ANY];
    }
    const values = changed.map((name) => state.get(name));
    const { cwd } = state;
    state.merge([inner], true);
    const grew = changed.some((name, i) =>
      JSON.stringify(values[i]) !== JSON.stringify(state.get(name))
    ) || JSON.stringify(cwd) !== JSON.stringify(state.cwd);
    if (!grew) {
      break;
    }
    if (last) {
      body(state.fork());
    }
  }
  return output;
}
