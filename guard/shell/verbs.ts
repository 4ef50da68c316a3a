/**
 * Applies the table of programs to one call.
 *
 * @module
 */
import { isKnown } from "../holes.ts";
import { type Call, refuses, writes } from "./call.ts";
import { COMMANDS, OUTPUT_OPTION, SYSTEM } from "./commands.ts";
import type { VerbSpec } from "./verb_spec.ts";
import { hasOption, readOptions, writtenValues } from "./options.ts";

/** Programs whose redirected-like output keeps the redirection's label. */
const REDIRECT_LABEL = new Set(["tee", "sponge"]);

/**
 * Records what a program of the table writes.
 *
 * @param call The call.
 * @returns whether the table knows the program.
 */
export function applyTable(call: Call): boolean {
  const system = SYSTEM[call.name];
  if (system !== undefined && Object.hasOwn(SYSTEM, call.name)) {
    if (system === true || call.args.some((arg) => system.test(arg))) {
      if (!call.args.some((arg) => arg === "--help" || arg === "--version")) {
        refuses(call, {
          rule: "system",
          label: `${call.name} changes the system`,
        });
      }
    }
    return true;
  }
  if (!Object.hasOwn(COMMANDS, call.name)) return false;
  const spec = COMMANDS[call.name];
  if (spec !== undefined) applySpec(call, call.args, spec);
  return true;
}

function applySpec(call: Call, args: readonly string[], spec: VerbSpec): void {
  if (spec.subs !== undefined) {
    const before = readOptions(args, { ...spec, stopsAtOperand: true });
    for (const path of writtenValues(before, spec)) writes(call, path);
    const [sub, ...rest] = before.operands;
    const inner = sub !== undefined && Object.hasOwn(spec.subs, sub)
      ? spec.subs[sub]
      : undefined;
    if (inner !== undefined) {
      applySpec({ ...call, name: `${call.name} ${sub}` }, rest, inner);
    } else {
      const all = readOptions(args, spec);
      for (
        const path of writtenValues(all, spec).slice(
          writtenValues(before, spec).length,
        )
      ) {
        writes(call, path);
      }
      applyGuess({ ...call, args: rest });
    }
    return;
  }
  const read = readOptions(args, spec);
  if (spec.unless !== undefined) {
    const names = spec.unless.split(" ");
    if (hasOption(read, ...names) || names.includes(read.operands[0] ?? "")) {
      return;
    }
  }
  const name = REDIRECT_LABEL.has(call.name)
    ? { label: "output redirection to a file" }
    : {};
  const written = writtenValues(read, spec);
  for (const path of written) {
    if (path !== "-") writes(call, path, "content", name);
  }
  // A build directory that is named replaces the one it runs in.
  if (spec.here && written.length === 0) writes(call, ".", "content", name);
  if (spec.operands === undefined) return;
  if (
    spec.onlyWith !== undefined && !hasOption(read, ...spec.onlyWith.split(" "))
  ) return;
  for (const path of chosen(read.operands, spec.operands)) {
    if (path !== "-" && !isRemote(path)) writes(call, path, spec.mode, name);
  }
}

function chosen(
  operands: string[],
  which: NonNullable<VerbSpec["operands"]>,
): string[] {
  switch (which) {
    case "all":
      return operands;
    case "rest":
      return operands.slice(1);
    case "first":
      return operands.slice(0, 1);
    case "second":
      return operands.slice(1, 2);
    case "last":
      return operands.length < 2 ? [] : operands.slice(-1);
    case "final":
      return operands.slice(-1);
  }
}

/**
 * Whether an operand names a place on another machine: `host:path`, `scheme://…`.
 *
 * @param operand The operand.
 * @returns `true` when it does.
 */
export function isRemote(operand: string): boolean {
  return /^[a-z][a-z\d+.-]*:\/\//i.test(operand) && !/^file:/i.test(operand) ||
    /^(?:[\w.-]+@)?[\w.-]+:(?!\\)/.test(operand) && !operand.startsWith("/") &&
      !operand.startsWith(".");
}

/**
 * Judges a program that no table knows by options that name an output. Only paths that lead
 * outside for sure count.
 *
 * @param call The call.
 */
export function applyGuess(call: Call): void {
  const { args } = call;
  for (let i = 0; i < args.length; i++) {
    const arg = args[i] ?? "";
    const equals = arg.indexOf("=");
    const name = equals === -1 ? arg : arg.slice(0, equals);
    let value: string | undefined;
    if (OUTPUT_OPTION.test(name)) {
      value = equals === -1 ? args[i + 1] : arg.slice(equals + 1);
    } else if (arg === "-o") value = args[i + 1];
    if (
      value !== undefined && /^(?:\/|\.\.(?:\/|$)|~\/)/.test(value) &&
      isKnown(value)
    ) {
      writes(call, value);
    }
  }
}
