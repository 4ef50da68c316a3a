/**
 * Redirections: what they open for writing, and what they feed to a command.
 *
 * @module
 */
import type { HereDoc, Redirect, Redirection } from "unbash";
import { SEG } from "../holes.ts";
import type { Context } from "./context.ts";
import {
  EMPTY_STREAM,
  type State,
  type Stream,
  UNKNOWN_STREAM,
  type Values,
} from "./state.ts";
import { expandBody, expandScalar } from "./words.ts";

const WRITES = {
  rule: "redirect",
  label: "output redirection to a file",
} as const;

/** What the redirections of a command leave to its input and output. */
export interface RedirectedStreams {
  /** The input. */
  stdin: Stream;
  /** Takes the output; gives what is left of it for a pipe or substitution. */
  keep(output: Stream): Stream;
}

/**
 * Follows the redirections of one command.
 *
 * @param redirects The redirections in order.
 * @param state The shell.
 * @param stdin The input without them.
 * @param context The reading.
 * @returns Input and output with them.
 */
export function applyRedirects(
  redirects: readonly Redirection[],
  state: State,
  stdin: Stream,
  context: Context,
): RedirectedStreams {
  if (redirects.length === 0) return { stdin, keep: (output) => output };
  let input = stdin;
  let files: { path: string; append: boolean }[] = [];
  let captured = false;
  for (const redirect of redirects) {
    if (!context.step()) break;
    const descriptor = redirect.descriptor?.type === "FileDescriptor"
      ? redirect.descriptor.value
      : undefined;
    if (redirect.descriptor?.type === "FileDescriptorVariable") {
      state.set(redirect.descriptor.name, [[SEG]]);
    }
    if (redirect.type === "HereDoc") {
      const text = hereDocument(redirect, state, context);
      if (descriptor === undefined || descriptor === 0) input = { text };
      else opens(descriptor, { text }, context);
      continue;
    }
    if (redirect.target === undefined) continue;
    const targets = expandScalar(redirect.target, state, context);
    if (redirect.type === "HereString") {
      const given: Stream = targets.length === 1
        ? { text: targets[0] + "\n" }
        : { items: targets };
      if (descriptor === undefined || descriptor === 0) input = given;
      else opens(descriptor, given, context);
      continue;
    }
    if (redirect.operator === "<") {
      if (descriptor === undefined || descriptor === 0) {
        input = readAll(targets, state, context);
      } else opens(descriptor, readAll(targets, state, context), context);
      continue;
    }
    if (redirect.operator === "<&") {
      if (descriptor === undefined || descriptor === 0) {
        input = context.files.get(`/dev/fd/${targets[0]}`) ?? input;
      }
      continue;
    }
    if (redirect.operator === ">&" && isDescriptor(redirect, targets)) continue;
    for (const target of targets) {
      context.write({ ...WRITES, verb: redirect.operator }, target, state);
    }
    const toOutput =
      redirect.operator !== "<>" && redirect.descriptor === undefined ||
      descriptor === 1;
    if (toOutput) {
      captured = true;
      const append = redirect.operator.endsWith(">>");
      // Each file is truncated; the last one gets the output.
      files = targets.length === 1 ? [{ path: targets[0] ?? "", append }] : [];
    }
  }
  return {
    stdin: input,
    keep: (output) => {
      if (!captured) return output;
      for (const { path, append } of files) {
        context.keepFile(path, state, output, append);
      }
      return EMPTY_STREAM;
    },
  };
}

function readAll(targets: Values, state: State, context: Context): Stream {
  return targets.length === 1
    ? context.readFile(targets[0] ?? "", state)
    : UNKNOWN_STREAM;
}

/** `2>&1`, `>&-`, `>&$fd`: a copy of a descriptor, not a file. */
function isDescriptor(redirect: Redirect, targets: Values): boolean {
  // `1>&file` opens the file like `>&file`; any other descriptor makes a copy.
  const { descriptor } = redirect;
  if (descriptor?.type === "FileDescriptorVariable") return true;
  if (descriptor !== undefined && descriptor.value !== 1) return true;
  return targets.every((target) =>
    /^(?:\d+-?|-)$/.test(target) || target === SEG
  );
}

function hereDocument(
  redirect: HereDoc,
  state: State,
  context: Context,
): string {
  // Bash only warns, but a text cut short may hide what follows.
  if (redirect.closing === undefined) context.incomplete = true;
  const { body } = redirect;
  if (redirect.delimiter?.quoted === true) return body.text;
  const text = body.parts === undefined
    ? body.text
    : expandBody(body.parts, state, context);
  return redirect.operator === "<<-" ? text.replace(/^\t+/gm, "") : text;
}

/** Remembers what a further descriptor gives to its reader. */
function opens(descriptor: number, content: Stream, context: Context): void {
  context.files.set(`/dev/fd/${descriptor}`, content);
}
