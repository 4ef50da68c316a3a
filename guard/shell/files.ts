/**
 * Modes, owners, devices and temporary files.
 *
 * @module
 */
import { joinPath } from "@bulkhead/sandbox/paths";
import { type CallReader, writes } from "./call.ts";
import { hasOption, optionValue, readOptions } from "./options.ts";
import { readVariable } from "./parameters.ts";
import { EMPTY_STREAM, type Stream, UNKNOWN_STREAM } from "./state.ts";

const chmod: CallReader = (call) => {
  // `-x` and the like are modes, not options.
  const args = call.args.map((arg) =>
    /^-[rwxXstugoa,+=]+$/.test(arg) ? "u" + arg : arg
  );
  const read = readOptions(args, { takes: "--reference" });
  const skip = hasOption(read, "--reference") ? 0 : 1;
  for (const path of read.operands.slice(skip)) {
    // Recursion takes the owner's bits of everything below.
    writes(call, path);
  }
  return EMPTY_STREAM;
};

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
  if (hasOption(read, "-u", "--dry-run")) return UNKNOWN_STREAM;
  const template = read.operands[0];
  const named = optionValue(read, "-p", "--tmpdir");
  const temp = readVariable("TMPDIR", call.state, call.context)?.[0] || "/tmp";
  const inTemp = named !== undefined ||
    hasOption(read, "-t", "-p", "--tmpdir") ||
    template === undefined;
  const path = inTemp
    ? joinPath(named ?? temp, template ?? "tmp.XXXXXXXXXX")
    : template ?? "";
  writes(call, path);
  return { items: [path.replace(/X{3,}/, "\uE002")] };
};

const mount: CallReader = (call) => {
  const read = readOptions(call.args, {
    takes: "-t -o -L -U -O --types --options --source",
  });
  const target = optionValue(read, "--target") ?? read.operands.at(-1);
  if (target !== undefined) writes(call, target);
  // Writes below the mount land in what is mounted.
  const binds =
    hasOption(read, "-B", "-R", "-M", "--bind", "--rbind", "--move") ||
    /(?:^|,)r?bind(?:,|$)/.test(optionValue(read, "-o", "--options") ?? "");
  if (binds && read.operands.length > 1) writes(call, read.operands[0] ?? "");
  return UNKNOWN_STREAM;
};

const sshKeygen: CallReader = (call) => {
  const read = readOptions(call.args, {
    takes: "-b -C -N -t -m -P -O -I -n -s -V -z -a -E -Y -Z -w -r -F -D",
    writes: "-f -M",
  });
  if (hasOption(read, "-l", "-F", "-y", "-B", "-L", "-e", "")) {
    return UNKNOWN_STREAM;
  }
  const file = optionValue(read, "-f");
  const home = readVariable("HOME", call.state, call.context)?.[0];
  writes(
    call,
    file ?? (home === undefined ? "\uE000/.ssh" : `${home}/.ssh/id_ed25519`),
  );
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
  "ssh-keygen": sshKeygen,
  tempfile: touchLike("content"),
  tee,
};
