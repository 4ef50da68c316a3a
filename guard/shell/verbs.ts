/**
 * Applies the table of programs to one call.
 *
 * @module
 */
import { isKnown } from "../holes.ts";
import { type Call, refuses, writes } from "./call.ts";
import { ACCOUNT, OUTPUT_OPTION, specOf, SYSTEM } from "./commands.ts";
import type { VerbSpec } from "./verb_spec.ts";
import {
  hasOption,
  type Options,
  readOptions,
  writtenValues,
} from "./options.ts";

/** `npx create-next-app ../app` and its like. */
const SCAFFOLD: VerbSpec = {
  operands: "first",
  takes: "-t -e --template --example",
};

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
  if (/^create-[a-z]/.test(call.name)) {
    applySpec(call, call.args, SCAFFOLD);
    return true;
  }
  const spec = specOf(call.name);
  if (spec !== undefined) applySpec(call, call.args, spec);
  return spec !== undefined;
}

/**
 * Records a change of the account's settings or credentials.
 *
 * @param call The call.
 * @returns whether it makes one.
 */
export function changesAccount(call: Call): boolean {
  if (!Object.hasOwn(ACCOUNT, call.name)) return false;
  const changes = ACCOUNT[call.name]?.test(call.args.join(" ")) === true &&
    !call.args.includes("--help");
  if (changes) {
    refuses(call, {
      rule: "system",
      label: `${call.name} changes the account's configuration`,
    });
  }
  return changes;
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
      writesHere(call, spec, all, writtenValues(all, spec));
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
  const named = spec.named?.split(" ") ?? [];
  for (const [option, value] of read.options) {
    if (!named.includes(option)) continue;
    const path = NAMED_PLACE.exec(value ?? "")?.[1];
    if (path !== undefined) writes(call, path);
  }
  if (spec.guess) applyGuess({ ...call, args }, false);
  const paths = spec.operands === undefined ||
      spec.onlyWith !== undefined &&
        !hasOption(read, ...spec.onlyWith.split(" "))
    ? []
    : chosen(read.operands, spec.operands);
  for (const path of paths) {
    if (path !== "-" && !isRemote(path)) writes(call, path, spec.mode, name);
  }
  if (paths.length === 0) writesHere(call, spec, read, written);
}

/** A place behind a name that says so: `cache_dir=out`, `html:out`. */
const NAMED_PLACE =
  /^(?:\w*(?:dir|file|path)|html|xml|json|lcov|annotate|markdown)[:=](.+)$/;

/** A program that writes where it runs, unless a place that is named replaces that. */
function writesHere(
  call: Call,
  spec: VerbSpec,
  read: Options,
  written: readonly string[],
): void {
  if (!spec.here || written.length > 0) return;
  const unless = spec.hereUnless?.split(" ") ?? [];
  if (hasOption(read, ...unless) || unless.includes(read.operands[0] ?? "")) {
    return;
  }
  writes(call, ".");
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
 * @param short Whether `-o` counts too.
 */
export function applyGuess(call: Call, short = true): void {
  const { args } = call;
  for (let i = 0; i < args.length; i++) {
    const arg = args[i] ?? "";
    const equals = arg.indexOf("=");
    const name = equals === -1 ? arg : arg.slice(0, equals);
    let value: string | undefined;
    if (name.startsWith("--") && OUTPUT_OPTION.test(name)) {
      value = equals === -1 ? args[i + 1] : arg.slice(equals + 1);
      // `--go_out=paths=source_relative:gen`
      if (name.endsWith("_out")) value = value?.replace(/^[^/~.][^:]*:/, "");
    } else if (short && arg === "-o") value = args[i + 1];
    if (
      value !== undefined && /^(?:\/|\.\.(?:\/|$)|~\/)/.test(value) &&
      isKnown(value)
    ) {
      writes(call, value);
    }
  }
}
