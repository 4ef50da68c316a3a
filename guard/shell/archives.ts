/**
 * Archives: where they are unpacked, and which are written.
 *
 * @module
 */
import { joinPath, normalizePath } from "@bulkhead/sandbox/paths";
import { SEG } from "../holes.ts";
import { type Call, type CallReader, writes } from "./call.ts";
import { hasOption, optionValue, readOptions } from "./options.ts";
import { landsIn } from "./own_files.ts";
import { UNKNOWN_STREAM } from "./state.ts";
import { applyTable, isRemote } from "./verbs.ts";

const tar: CallReader = (call) => {
  const [first = "", ...rest] = call.args;
  // `tar xzf a.tgz`: the first word is a cluster even without its dash; each letter that takes a
  // value takes the next argument in turn.
  const bundled = !first.startsWith("-") && /^[A-Za-z]+$/.test(first);
  const TAKES = "CfgITXbKLNVFH";
  const args: string[] = [];
  if (bundled) {
    const values = [...rest];
    for (const letter of first) {
      args.push("-" + letter);
      if (TAKES.includes(letter)) args.push(values.shift() ?? "");
    }
    args.push(...values);
  } else args.push(...call.args);
  const read = readOptions(args, {
    takes:
      "-f -g -I -T -X -b -K -L -N -V -F -H --file --listed-incremental --use-compress-program --files-from --exclude --exclude-from --transform --xform --strip-components --owner --group --mode --mtime --newer --to-command --checkpoint-action --checkpoint --format --add-file --index-file --pax-option --warning --sort --suffix",
    writes: "-C --directory",
  });
  const command = optionValue(
    read,
    "--to-command",
    "--use-compress-program",
    "-I",
  );
  if (command !== undefined) {
    call.context.run.text(command, call.state.fork(), {});
  }
  for (const [name, value] of read.options) {
    if (name === "--checkpoint-action" && value?.startsWith("exec=")) {
      call.context.run.text(value.slice(5), call.state.fork(), {});
    }
    if (/^--(?:index-file|one-top-level)$/.test(name) && value !== undefined) {
      writes(call, value);
    }
  }
  const archive = optionValue(read, "-f", "--file");
  const directories = read.options.filter(([name]) =>
    name === "-C" || name === "--directory"
  )
    .flatMap(([, value]) => value === undefined ? [] : [value]);
  const extracts = hasOption(read, "-x", "--extract", "--get");
  const creates = hasOption(
    read,
    "-c",
    "-r",
    "-u",
    "-A",
    "--create",
    "--append",
    "--update",
    "--delete",
    "--concatenate",
    "--catenate",
  );
  if (
    creates && archive !== undefined && archive !== "-" && !isRemote(archive)
  ) writes(call, archive);
  if (creates && hasOption(read, "--remove-files")) {
    for (const path of read.operands) writes(call, path, "tree");
  }
  const incremental = optionValue(read, "-g", "--listed-incremental");
  if (creates && incremental !== undefined) writes(call, incremental);
  if (extracts && !hasOption(read, "-O", "--to-stdout")) {
    // Directories build on one another; the last one is where it unpacks.
    const place = directories.reduce(
      (base, next) => joinPath(base, next),
      ".",
    );
    unpacks(call, place, read.operands);
    if (hasOption(read, "-P", "--absolute-names")) {
      for (const path of read.operands) writes(call, path);
      const renames = read.options.flatMap(([name, value]) =>
        /^--(?:transform|xform)$/.test(name) ? [value ?? ""] : []
      );
      if (call.name === "bsdtar") {
        renames.push(...args.filter((_arg, i) => args[i - 1] === "-s"));
      }
      for (const value of renames) {
        for (const path of renamedTo(value)) {
          writes(call, joinPath(place, path));
        }
      }
    }
  }
  return UNKNOWN_STREAM;
};

/** Where `s,^,../,` puts members; nothing for a new name that stays below the place. */
function renamedTo(expressions: string): string[] {
  return expressions.split(";").flatMap((expression) => {
    const separator = /^s?([^\w\s\\])/.exec(expression.trim())?.[1];
    if (separator === undefined) return [];
    const [, , to = ""] = expression.trim().split(separator);
    const path = to.replace(/\\\d|&/g, SEG);
    return /^\/|(?:^|\/)\.\.(?:\/|$)/.test(path) ? [path] : [];
  });
}

/** Records what is unpacked: the members that are named, or whatever there is. */
function unpacks(call: Call, place: string, members: readonly string[]): void {
  if (!writes(call, place)) return;
  if (members.length === 0) landsIn(call, place);
  for (const member of members) {
    // A member's name is a pattern, and never leads out of the place.
    const inside = normalizePath(`/${member}`).replace(/[*?]+/g, SEG);
    if (writes(call, place + inside)) landsIn(call, place + inside);
  }
}

const cpio: CallReader = (call) => {
  const read = readOptions(call.args, {
    takes: "-H -C -I -R -E",
    writes: "-D -O -F --directory --file",
  });
  const directory = optionValue(read, "-D", "--directory");
  if (hasOption(read, "-p", "--pass-through")) {
    const target = read.operands.at(-1);
    if (target !== undefined) writes(call, target);
  } else if (
    hasOption(read, "-i", "--extract") && !hasOption(read, "-t", "--list")
  ) {
    writes(call, directory ?? ".");
    if (call.stdin.items !== undefined) {
      for (const path of call.stdin.items) writes(call, path);
    }
  } else {
    const archive = optionValue(read, "-O", "-F", "--file");
    if (archive !== undefined) writes(call, archive);
  }
  return UNKNOWN_STREAM;
};

const sevenZip: CallReader = (call) => {
  const [command = "", ...rest] = call.args.filter((arg) =>
    !arg.startsWith("-")
  );
  const output = call.args.find((arg) => /^-o./.test(arg))?.slice(2);
  if (/^[xe]$/.test(command)) unpacks(call, output ?? ".", rest.slice(1));
  else if (/^[audn]+$/.test(command) && rest[0] !== undefined) {
    writes(call, rest[0]);
  }
  return UNKNOWN_STREAM;
};

const jar: CallReader = (call) => {
  const [flags = "", ...rest] = call.args;
  if (/x/.test(flags.replace(/^-+/, "")) && !flags.startsWith("--")) {
    const at = rest.indexOf("-C");
    writes(call, at === -1 ? "." : rest[at + 1] ?? ".");
  } else if (/[cu]/.test(flags.replace(/^-+/, "")) && flags.includes("f")) {
    writes(call, rest[0] ?? "");
  }
  return UNKNOWN_STREAM;
};

const unzip: CallReader = (call) => {
  // `-d` takes its directory attached as well; `-l`, `-t`, `-p` and the like only read.
  const args = call.args;
  let directory: string | undefined;
  const operands: string[] = [];
  for (let i = 0; i < args.length; i++) {
    const arg = args[i] ?? "";
    if (arg === "-x") {
      // Names follow, up to the next option.
      while (i + 1 < args.length && !args[i + 1]?.startsWith("-")) i++;
      continue;
    }
    if (!arg.startsWith("-")) operands.push(arg);
    else if (arg === "-d") directory = args[++i];
    else if (/^-d./.test(arg)) directory = arg.slice(2);
    else if (/^-[a-zA-Z]*[ltvpzZ]/.test(arg) && !/^-x/.test(arg)) {
      return UNKNOWN_STREAM;
    } else if (/^-[a-zA-Z]+d$/.test(arg)) directory = args[++i];
  }
  unpacks(call, directory ?? ".", operands.slice(1));
  return UNKNOWN_STREAM;
};

const dpkgDeb: CallReader = (call) => {
  const at = call.args.findIndex((arg) =>
    /^(?:-x|-X|-R|-e|--extract|--vextract|--raw-extract|--control)$/.test(arg)
  );
  if (at !== -1) writes(call, call.args[at + 2] ?? ".");
  const build = call.args.findIndex((arg) => arg === "-b" || arg === "--build");
  if (build !== -1) {
    writes(call, call.args[build + 2] ?? call.args[build + 1] ?? ".");
  }
  return UNKNOWN_STREAM;
};

const split: CallReader = (call) => {
  const read = readOptions(call.args, {
    takes:
      "-a -b -C -l -n -t --suffix-length --bytes --line-bytes --lines --number --separator --additional-suffix --filter",
  });
  const filter = optionValue(read, "--filter");
  if (filter !== undefined) {
    call.context.run.text(filter, call.state.fork(), {});
  } else writes(call, read.operands[1] ?? "x");
  return UNKNOWN_STREAM;
};

const zstd: CallReader = (call) => {
  const read = readOptions(call.args, {
    takes: "-T -D -M --threads --memory --format",
    writes: "-o --output-dir-flat --output-dir-mirror",
  });
  if (
    hasOption(read, "-c", "-l", "-t", "--stdout", "--list", "--test", "--help")
  ) return UNKNOWN_STREAM;
  const output = optionValue(
    read,
    "-o",
    "--output-dir-flat",
    "--output-dir-mirror",
  );
  if (output !== undefined) writes(call, output);
  for (const path of read.operands) {
    if (hasOption(read, "--rm")) writes(call, path, "tree");
    // Without a place the output lies beside its source, which is kept.
    else if (output === undefined && path !== "-") writes(call, path);
  }
  return UNKNOWN_STREAM;
};

/** `ar rcs lib.a x.o`, `ar x lib.a`: the key letters say whether the archive is written. */
const ar: CallReader = (call) => {
  const read = readOptions(call.args, { takes: "", writes: "--output" });
  const [first = "", ...others] = read.operands;
  const dashed = read.options.map(([name]) => /^-\w$/.test(name) ? name : "")
    .join("");
  const keys = /[dmpqrtx]/.test(dashed) ? dashed : first;
  const [archive] = keys === first ? others : read.operands;
  if (/x/.test(keys)) writes(call, optionValue(read, "--output") ?? ".");
  else if (/[dmqrs]/.test(keys) && archive !== undefined) writes(call, archive);
  return UNKNOWN_STREAM;
};

const strip: CallReader = (call) => {
  const read = readOptions(call.args, {
    takes: "-F -I -O -R -K -N",
    writes: "-o",
  });
  const output = optionValue(read, "-o");
  for (const path of output === undefined ? read.operands : [output]) {
    writes(call, path);
  }
  return UNKNOWN_STREAM;
};

const zip: CallReader = (call) => {
  // It lists or tests an archive that is there.
  if (call.args.includes("-sf")) return UNKNOWN_STREAM;
  if (call.args.length === 2 && call.args.includes("-T")) {
    return UNKNOWN_STREAM;
  }
  applyTable(call);
  const read = readOptions(call.args, { takes: "-b -i -n -t -x -P -s -O" });
  if (hasOption(read, "-m", "--move")) {
    for (const path of read.operands.slice(1)) writes(call, path, "tree");
  }
  return UNKNOWN_STREAM;
};

/** The programs by name. */
export const ARCHIVES: Readonly<Record<string, CallReader>> = {
  tar,
  bsdtar: tar,
  cpio,
  "7z": sevenZip,
  "7za": sevenZip,
  "7zz": sevenZip,
  "7zr": sevenZip,
  jar,
  unzip,
  "dpkg-deb": dpkgDeb,
  split,
  zstd,
  unzstd: zstd,
  ar,
  strip,
  zip,
};
