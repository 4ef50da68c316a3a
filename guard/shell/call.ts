/**
 * One program call in the reader's model.
 *
 * @module
 */
import type { EffectMode } from "../effect.ts";
import type { Context, EffectName } from "./context.ts";
import type { State, Stream } from "./state.ts";

/** A program, its surroundings and what it may do with them. */
export interface Call {
  /** The program's base name. */
  name: string;
  /** Its arguments. */
  args: readonly string[];
  /** The shell it runs in. */
  state: State;
  /** Its input. */
  stdin: Stream;
  /** The reading. */
  context: Context;
}

/** Reads one program's arguments; gives its output when something is known of it. */
export type CallReader = (call: Call) => Stream | undefined;

/**
 * Records a write of the called program.
 *
 * @param call The call.
 * @param path The target.
 * @param mode How it is touched.
 * @param name Rule and label, when they are not those of a plain verb.
 * @returns `true` when every place it may go to is allowed.
 */
export function writes(
  call: Call,
  path: string,
  mode: EffectMode = "content",
  name: Partial<EffectName> = {},
): boolean {
  const verb = name.verb ?? call.name;
  return call.context.write(
    { rule: "verb", label: `${verb} outside the allowed roots`, ...name, verb },
    path,
    call.state,
    mode,
  );
}

/**
 * Records a change that is denied for what it is.
 *
 * @param call The call.
 * @param name Rule and label.
 */
export function refuses(
  call: Call,
  name: Omit<EffectName, "verb"> & { verb?: string },
): void {
  call.context.refuse({ ...name, verb: name.verb ?? call.name });
}
