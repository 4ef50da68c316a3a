/**
 * Applies the table of programs to one call.
 *
 * @module
 */
import { ANY } from "../holes.ts";
import { type Call, refuses, writes } from "./call.ts";
import { ACCOUNT, specOf, SYSTEM } from "./commands.ts";
import { applyGuess } from "./guess.ts";
import { joinDirectory } from "./places.ts";
import type { VerbSpec } from "./verb_spec.ts";
import {
  hasOption,
  type Options,
  optionValue,
  readOptions,
  writtenValues,
} from "./options.ts";
import { readVariable } from "./parameters.ts";

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

function applySpec(
  call: Call,
  args: readonly string[],
  spec: VerbSpec,
  tree?: string,
): void {
  if (spec.subs !== undefined) {
    const before = readOptions(args, { ...spec, stopsAtOperand: true });
    const place = placed(call, before, spec);
    for (const path of writtenValues(before, spec)) writes(place, path);
    const [sub, ...rest] = before.operands;
    const inner = sub !== undefined && Object.hasOwn(spec.subs, sub)
      ? spec.subs[sub]
      : undefined;
    if (inner !== undefined) {
      const { cwd, tree: trees } = spec;
      applySpec(
        { ...place, name: `${call.name} ${sub}` },
        rest,
        // Options of the program itself may follow its sub-command too.
        cwd === undefined && trees === undefined
          ? inner
          : { cwd, tree: trees, ...inner },
        treeOf(before, spec) ?? tree,
      );
    } else {
      const all = readOptions(args, spec);
      for (
        const path of writtenValues(all, spec).slice(
          writtenValues(before, spec).length,
        )
      ) {
        writes(place, path);
      }
      applyGuess({ ...place, args: rest }, { subs: true });
      writesHere(place, spec, all, writtenValues(all, spec), tree);
    }
    return;
  }
  const read = readOptions(args, spec);
  if (spec.unless !== undefined) {
    const names = spec.unless.split(" ");
    if (
      hasOption(read, ...names) ||
      read.operands.slice(0, 2).some((operand) => names.includes(operand))
    ) {
      return;
    }
  }
  const name = REDIRECT_LABEL.has(call.name)
    ? { label: "output redirection to a file" }
    : {};
  const place = placed(call, read, spec);
  const named = spec.named?.split(" ") ?? [];
  const written = writtenValues(read, spec);
  // An option that switches writing on does so for the named places as well.
  const idle = spec.operands === undefined && spec.onlyWith !== undefined &&
    !hasOption(read, ...spec.onlyWith.split(" "));
  for (const path of written) {
    if (path !== "-" && !idle) {
      // `home:/x` of an option that takes a path as well
      const plain = named.length === 0
        ? path
        : path.replace(/^[\w-]+[:=](?:\/\/)?(?=[/~.])/, "");
      writes(place, plain, "content", name);
    }
  }
  for (const [option, value] of read.options) {
    if (!named.includes(option)) continue;
    const path = NAMED_PLACE.exec(value ?? "")?.[1];
    if (path !== undefined) writes(place, path);
  }
  if (spec.guess) applyGuess({ ...place, args }, { short: false });
  for (const operand of spec.pairs ? read.operands : []) {
    const at = operand.indexOf(":");
    if (at > 0) writes(place, operand.slice(at + 1));
  }
  const sets = spec.sets?.split(" ") ?? [];
  for (const operand of sets.length === 0 ? [] : args) {
    const at = operand.indexOf("=");
    if (at > 0 && sets.includes(operand.slice(0, at))) {
      writes(place, operand.slice(at + 1));
    }
  }
  const paths = spec.operands === undefined ||
      spec.onlyWith !== undefined &&
        !hasOption(read, ...spec.onlyWith.split(" ")) ||
      spec.instead !== undefined &&
        hasOption(read, ...spec.instead.split(" "))
    ? []
    : chosen(read.operands, spec.operands);
  for (const path of paths) {
    if (path === "-" || isRemote(path)) continue;
    const itself = spec.entry !== undefined &&
      hasOption(read, ...spec.entry.split(" "));
    writes(
      place,
      path.replace(/^file:\/\//, ""),
      itself ? "entry" : spec.mode,
      name,
    );
  }
  if (paths.length === 0) {
    writesHere(place, spec, read, written, treeOf(read, spec) ?? tree);
  }
}

/** The call in the directory that its options name. */
function placed(call: Call, read: Options, spec: VerbSpec): Call {
  const cwd = spec.cwd === undefined
    ? undefined
    : optionValue(read, ...spec.cwd.split(" "));
  if (cwd === undefined) return call;
  const state = call.state.fork();
  state.cwd = state.cwd.map((here) => joinDirectory(here, cwd));
  return { ...call, state };
}

/** The tree that its options name. */
function treeOf(read: Options, spec: VerbSpec): string | undefined {
  return spec.tree === undefined
    ? undefined
    : optionValue(read, ...spec.tree.split(" "));
}

/** A place behind a name that says so: `cache_dir=out`, `html:out`. */
const NAMED_PLACE =
  /^(?:\w*(?:dir|file|path|location|output|incremental|profile-generate)|[\w-]*(?:html|xml|json|csv)|lcov|annotate|markdown|home|temp|dest)(?:[:=]|\s+)(.+)$/i;

/** A program that writes where it runs, unless a place that is named replaces that. */
function writesHere(
  call: Call,
  spec: VerbSpec,
  read: Options,
  written: readonly string[],
  tree: string | undefined,
): void {
  if (spec.here === undefined || written.length > 0) return;
  const unless = spec.hereUnless?.split(" ") ?? [];
  if (hasOption(read, ...unless) || unless.includes(read.operands[0] ?? "")) {
    return;
  }
  const place = spec.here === true ? "." : spec.here;
  const home = readVariable("HOME", call.state, call.context)?.[0] ?? ANY;
  writes(call, tree ?? place.replace(/^~(?=\/)/, home));
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
      !operand.startsWith(".") && !/^file:/i.test(operand);
}
