/**
 * Modes, owners, devices and temporary files.
 *
 * @module
 */
import { type CallReader, writes } from "./call.ts";
import { hasOption, optionValue, readOptions } from "./options.ts";
import { sweeps } from "./own_files.ts";
import { readVariable } from "./parameters.ts";
import { EMPTY_STREAM, type Stream, UNKNOWN_STREAM } from "./state.ts";
import { joinPath } from "./places.ts";

const chmod: CallReader = (call) => {
  // `-x` and the like are modes, not options.
  const args = call.args.map((arg) =>
    /^-[rwxXstugoa,+=]+$/.test(arg) ? "u" + arg : arg
  );
  const read = readOptions(args, { takes: "--reference" });
  const byReference = hasOption(read, "--reference");
  const mode = byReference ? "" : read.operands[0] ?? "";
  const taken = takenFromOwner(mode);
  const recursive = hasOption(read, "-R", "--recursive");
  for (const path of read.operands.slice(byReference ? 0 : 1)) {
    // A hook that cannot be read, or reached, is none.
    const blinds = taken.includes("x") || recursive && taken.includes("r");
    if (blinds) sweeps(call, path);
    const stops = taken.includes("x") && /(?:^|\/)bulkhead-guard$/.test(path);
    const kept = KEEPS.test(mode) && !stops;
    writes(call, path, kept ? "attributes" : "content");
  }
  return EMPTY_STREAM;
};

/** Modes that leave the owner what reading and writing a file takes. */
const KEEPS =
  /^(?:0*[67][0-7]{2}|(?:[ugoa]*\+[rwxXst]*|[go]+[-+=][rwxXst]*)(?:,(?:[ugoa]*\+[rwxXst]*|[go]+[-+=][rwxXst]*))*)$/;

/** Which of `r` and `x` a mode takes from the owner. */
function takenFromOwner(mode: string): string {
  const digits = /^0*([0-7]?)[0-7]{0,2}$/.exec(mode);
  if (mode !== "" && digits !== null) {
    const owner = /^0*[0-7]{3}$/.test(mode) ? Number(digits[1]) : 0;
    return (owner & 4 ? "" : "r") + (owner & 1 ? "" : "x");
  }
  let taken = "";
  for (const clause of mode.split(",")) {
    const [, who = "", operator = "", bits = ""] =
      /^([ugoa]*)([-=])([rwxXst]*)/.exec(clause) ?? [];
    if (/^[go]+$/.test(who)) continue;
    if (operator === "-") taken += bits;
    else if (operator === "=") {
      taken += (bits.includes("r") ? "" : "r") + (/[xX]/.test(bits) ? "" : "x");
    }
  }
  return taken;
}

const chown: CallReader = (call) => {
  const read = readOptions(call.args, { takes: "--reference --from" });
  const mode = hasOption(read, "-h", "--no-dereference") ? "entry" : "content";
  for (
    const path of read.operands.slice(hasOption(read, "--reference") ? 0 : 1)
  ) {
    writes(call, path, mode);
  }
  return EMPTY_STREAM;
};

const dd: CallReader = (call) => {
  for (const arg of call.args) {
    if (!arg.startsWith("of=")) continue;
    const path = arg.slice(3);
    const home = readVariable("HOME", call.state, call.context)?.[0];
    writes(
      call,
      /^~(?:\/|$)/.test(path) && home !== undefined
        ? home + path.slice(1)
        : path,
    );
  }
  return UNKNOWN_STREAM;
};

const mktemp: CallReader = (call) => {
  const read = readOptions(call.args, { takes: "-p --suffix" });
  const template = read.operands[0];
  const named = optionValue(read, "-p", "--tmpdir");
  const temp = readVariable("TMPDIR", call.state, call.context)?.[0] || "/tmp";
  const inTemp = named !== undefined ||
    hasOption(read, "-t", "-p", "--tmpdir") ||
    template === undefined;
  const path = inTemp
    ? joinPath(named ?? temp, template ?? "tmp.XXXXXXXXXX")
    : template ?? "";
  if (!hasOption(read, "-u", "--dry-run")) writes(call, path);
  return { items: [path.replace(/X{3,}/, "\uE002")] };
};

const mount: CallReader = (call) => {
  const read = readOptions(call.args, {
    takes: "-t -o -L -U -O --types --options --source",
  });
  const target = optionValue(read, "--target") ?? read.operands.at(-1);
  if (target !== undefined && writes(call, target)) {
    // What lay there is hidden.
    writes(call, target, "tree");
  }
  // Writes below the mount land in what is mounted.
  const binds =
    hasOption(read, "-B", "-R", "-M", "--bind", "--rbind", "--move") ||
    /(?:^|,)r?bind(?:,|$)/.test(optionValue(read, "-o", "--options") ?? "");
  if (binds && read.operands.length > 1) writes(call, read.operands[0] ?? "");
  return UNKNOWN_STREAM;
};

const touchLike = (mode: "content"): CallReader => (call) => {
  const read = readOptions(call.args, { takes: "-l -s -u -h" });
  for (const path of read.operands) writes(call, path, mode);
  return UNKNOWN_STREAM;
};

const tee: CallReader = (call): Stream => {
  const read = readOptions(call.args, { takes: "" });
  for (const path of read.operands) {
    writes(call, path, "content", { label: "output redirection to a file" });
    call.context.keepFile(
      path,
      call.state,
      call.stdin,
      hasOption(read, "-a", "--append"),
    );
  }
  return call.stdin;
};

/** The programs by name. */
export const FILES: Readonly<Record<string, CallReader>> = {
  chmod,
  chown,
  dd,
  mktemp,
  mount,
  tempfile: touchLike("content"),
  tee,
};
