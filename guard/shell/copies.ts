/**
 * Copies, moves, links and removals on this machine.
 *
 * @module
 */
import { ANY, SEG } from "../holes.ts";
import { type Call, type CallReader, writes } from "./call.ts";
import { specOf } from "./commands.ts";
import {
  carryLink,
  forgetLink,
  linkText,
  makeLink,
  replacesLink,
} from "./links.ts";
import { hasOption, optionValue, readOptions } from "./options.ts";
import { landsIn, sweeps } from "./own_files.ts";
import { EMPTY_STREAM, UNKNOWN_STREAM } from "./state.ts";
import { applyTable, isRemote } from "./verbs.ts";
import { joinPath } from "./places.ts";

/** The last part of a path; one that is not known cannot hold a slash. */
function lastPart(path: string): string {
  return (path.replace(/\/+$/, "").split("/").at(-1) ?? "").replaceAll(
    ANY,
    SEG,
  );
}

/** Writes into a destination: the path itself, and, where it may be a directory, what lands in it. */
function writeInto(
  call: Call,
  destination: string,
  sources: readonly string[],
  whole = false,
): void {
  if (!writes(call, destination)) return;
  for (const source of sources) {
    if (whole) {
      const contents = /(?:^|\/)\.{0,2}$/.test(source);
      landsIn(
        call,
        contents ? destination : joinPath(destination, lastPart(source)),
      );
    }
    const name = lastPart(source);
    // Only the guard's own files and links below can make a difference here.
    if (
      name !== "" && name !== "." && name !== ".." &&
      !/^\/dev\//.test(destination)
    ) {
      writes(call, joinPath(destination, name));
    }
  }
}

/** Puts something in the place of a link. */
function replace(call: Call, path: string): void {
  writes(call, path, "entry");
  forgetLink(call, path);
}

const COPY = {
  takes: "-S --suffix",
  writes: "-t --target-directory",
};

const cp: CallReader = (call) => {
  const read = readOptions(call.args, COPY);
  const into = optionValue(read, "-t", "--target-directory");
  const whole = hasOption(read, "-r", "-R", "-a", "--recursive", "--archive");
  if (into !== undefined) writeInto(call, into, read.operands, whole);
  else if (read.operands.length > 1) {
    const sources = read.operands.slice(0, -1);
    const destination = read.operands.at(-1) ?? "";
    if (hasOption(read, "--parents")) writes(call, destination);
    else if (
      hasOption(read, "--remove-destination") && replacesLink(call, destination)
    ) replace(call, destination);
    else writeInto(call, destination, sources, whole);
    if (sources.length === 1) {
      call.context.keepFile(
        destination,
        call.state,
        call.context.readFile(sources[0] ?? "", call.state),
        false,
      );
    }
    if (
      !hasOption(read, "-L", "-H", "--dereference") &&
      (whole || hasOption(read, "-d", "-P", "--no-dereference"))
    ) {
      for (const source of sources) {
        const text = linkText(call, source);
        if (text !== undefined) carryLink(call, text, source, destination);
      }
    }
    if (hasOption(read, "-s", "--symbolic-link", "-l", "--link")) {
      for (const source of sources) makeLink(call, source, destination);
    }
  }
  return EMPTY_STREAM;
};

const mv: CallReader = (call) => {
  const read = readOptions(call.args, COPY);
  const into = optionValue(read, "-t", "--target-directory");
  const sources = into === undefined
    ? read.operands.slice(0, -1)
    : read.operands;
  const destination = into ?? read.operands.at(-1) ?? "";
  if (sources.length === 0) return EMPTY_STREAM;
  const texts = sources.map((source) => linkText(call, source));
  for (const source of sources) {
    writes(call, source, "tree");
    forgetLink(call, source);
  }
  // The destination's entry is replaced, a link to a directory is entered.
  if (
    into === undefined &&
    (replacesLink(call, destination) ||
      hasOption(read, "-T", "--no-target-directory"))
  ) replace(call, destination);
  else writeInto(call, destination, sources);
  for (const [n, text] of texts.entries()) {
    if (text !== undefined) {
      carryLink(call, text, sources[n] ?? "", destination);
    }
  }
  if (sources.length === 1) {
    call.context.keepFile(
      destination,
      call.state,
      call.context.readFile(sources[0] ?? "", call.state),
      false,
    );
  }
  return EMPTY_STREAM;
};

const ln: CallReader = (call) => {
  const read = readOptions(call.args, {
    takes: "-S --suffix",
    writes: "-t --target-directory",
  });
  const { operands } = read;
  const symbolic = hasOption(read, "-s", "--symbolic");
  const into = optionValue(read, "-t", "--target-directory");
  const targets = into !== undefined || operands.length < 2
    ? operands
    : operands.slice(0, -1);
  const place = into ?? (operands.length < 2 ? "." : operands.at(-1) ?? ".");
  const mode = /(?:^|\/)\.{0,2}$/.test(place) ? "content" : "entry";
  // A link that leads to a directory is replaced, not entered.
  const replaces = into === undefined &&
      hasOption(
        read,
        "-n",
        "-T",
        "-h",
        "--no-dereference",
        "--no-target-directory",
      ) ||
    into === undefined && operands.length > 1 && replacesLink(call, place);
  for (const target of targets) {
    if (operands.length < 2 && into === undefined) {
      writes(call, joinPath(".", lastPart(target)), "entry");
    } else if (writes(call, place, mode) && !replaces) {
      writes(call, joinPath(place, lastPart(target)), "entry");
    }
    const several = into !== undefined || targets.length > 1;
    if (symbolic) {
      makeLink(
        call,
        target,
        several ? joinPath(place, lastPart(target)) : place,
      );
    } else {
      // A second name of the guard's own file could be written through.
      const [cwd = "/"] = call.state.cwd;
      const { verdict } = call.context.boundary.judge(target, cwd, "content");
      if (verdict === "protected") writes(call, target);
      const path = call.context.resolve(target, call.state);
      if (path !== undefined) makeLink(call, path, place);
    }
  }
  return EMPTY_STREAM;
};

const install: CallReader = (call) => {
  const read = readOptions(call.args, {
    takes: "-m -o -g -S --mode --owner --group --suffix --strip-program",
    writes: "-t --target-directory",
  });
  const into = optionValue(read, "-t", "--target-directory");
  if (hasOption(read, "-d", "--directory")) {
    for (const path of read.operands) writes(call, path);
  } else if (into !== undefined) writeInto(call, into, read.operands);
  else if (read.operands.length > 1) {
    const destination = read.operands.at(-1) ?? "";
    if (replacesLink(call, destination)) replace(call, destination);
    else writeInto(call, destination, read.operands.slice(0, -1));
  }
  return EMPTY_STREAM;
};

const rsync: CallReader = (call) => {
  // The table knows its options; only the removal of what is sent is its own.
  applyTable(call);
  const read = readOptions(call.args, specOf("rsync") ?? {});
  const destination = read.operands.at(-1);
  const sources = read.operands.slice(0, -1);
  if (hasOption(read, "-n", "--dry-run", "--list-only")) return UNKNOWN_STREAM;
  if (hasOption(read, "--remove-source-files")) {
    for (const path of sources) {
      if (!isRemote(path)) writes(call, path, "tree");
    }
  }
  if (destination === undefined || isRemote(destination)) {
    return UNKNOWN_STREAM;
  }
  const deletes = read.options.some(([name]) => /^--del/.test(name));
  const excluded = hasOption(read, "--delete-excluded")
    ? []
    : read.options.flatMap(([name, value]) =>
      name === "--exclude" && value !== undefined ? [value] : []
    );
  for (const source of sources) {
    const place = source.endsWith("/")
      ? destination
      : joinPath(destination, lastPart(source));
    if (deletes) sweeps(call, place, excluded);
    else landsIn(call, place);
  }
  return UNKNOWN_STREAM;
};

/** `pdftk a.pdf cat output b.pdf`. */
const pdftk: CallReader = (call) => {
  const at = call.args.indexOf("output");
  if (at !== -1 && call.args[at + 1] !== "-") {
    writes(call, call.args[at + 1] ?? ".");
  }
  return UNKNOWN_STREAM;
};

/** `rm`, `unlink`: what they take away leads nowhere from then on. */
const remove: CallReader = (call) => {
  applyTable(call);
  const read = readOptions(call.args, { takes: "" });
  if (!hasOption(read, "-i", "-I", "--interactive", "--help", "--version")) {
    for (const path of read.operands) forgetLink(call, path);
  }
  return EMPTY_STREAM;
};

/** The programs by name. */
export const COPIES: Readonly<Record<string, CallReader>> = {
  cp,
  copy: cp,
  rm: remove,
  unlink: remove,
  mv,
  ln,
  link: ln,
  install,
  rsync,
  pdftk,
};
