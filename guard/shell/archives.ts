/**
 * Archives: where they are unpacked, and which are written.
 *
 * @module
 */
import { normalizePath } from "@bulkhead/sandbox/paths";
import { SEG, SUB } from "../holes.ts";
import { type Call, type CallReader, writes } from "./call.ts";
import { hasOption, optionValue, readOptions } from "./options.ts";
import { landsIn } from "./own_files.ts";
import { UNKNOWN_STREAM } from "./state.ts";
import { applyTable, isRemote } from "./verbs.ts";
import { joinPath } from "./places.ts";

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
  // The names of members, which are relative.
  if (hasOption(read, "-t", "--list")) return { items: [SUB] };
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
  } else if (hasOption(read, "-t", "--list")) return UNKNOWN_STREAM;
  else if (hasOption(read, "-i", "--extract")) {
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

/** `pax -r` unpacks, `-w` packs, `-rw` copies; with neither it lists. */
const pax: CallReader = (call) => {
  const read = readOptions(call.args, {
    takes: "-b -f -o -s -x -B -E -G -N -T -U",
  });
  const reads = hasOption(read, "-r");
  const packs = hasOption(read, "-w");
  const archive = optionValue(read, "-f");
  if (reads && packs) {
    const place = read.operands.at(-1);
    if (place !== undefined) writes(call, place);
  } else if (packs && archive !== undefined && archive !== "-") {
    writes(call, archive);
  } else if (reads) {
    writes(call, ".");
    for (const [name, value] of read.options) {
      const renamed = name === "-s" ? renamedTo(value ?? "") : [];
      for (const path of renamed) writes(call, path);
    }
  }
  return UNKNOWN_STREAM;
};

/** `lha xw=/x a.lzh`: the letters of the command may hold its place. */
const lha: CallReader = (call) => {
  const [keys = "", archive] = call.args;
  const place = /w=(.+)$/.exec(keys)?.[1];
  if (/^-?[aumdc]/.test(keys)) {
    if (archive !== undefined) writes(call, archive);
  } else if (/^-?[xe]/.test(keys)) writes(call, place ?? ".");
  return UNKNOWN_STREAM;
};

/** `xorriso -as mkisofs -o x`, `xorriso -indev x -extract / y`. */
const xorriso: CallReader = (call) => {
  applyTable(call);
  const { args } = call;
  const as = args.indexOf("-as");
  if (as !== -1) {
    const read = readOptions(args.slice(as + 2), {
      writes: "-o -output",
      singleDash: true,
    });
    const image = optionValue(read, "-o", "-output");
    if (image !== undefined) writes(call, image);
  }
  for (const [i, arg] of args.entries()) {
    if (/^-(?:extract|extract_single)$/.test(arg)) {
      writes(call, args[i + 2] ?? ".");
    }
  }
  return UNKNOWN_STREAM;
};

const sevenZip: CallReader = (call) => {
  const [command = "", ...rest] = call.args.filter((arg) =>
    !arg.startsWith("-")
  );
  const output = call.args.find((arg) => /^-o./.test(arg))?.slice(2);
  const printed = call.args.includes("-so");
  if (/^[xe]$/.test(command)) {
    if (!printed) unpacks(call, output ?? ".", rest.slice(1));
  } else if (/^(?:a|u|d|rn)$/.test(command) && rest[0] !== undefined) {
    if (!printed) writes(call, rest[0]);
    if (call.args.includes("-sdel")) {
      for (const path of rest.slice(1)) writes(call, path, "tree");
    }
  }
  for (const arg of call.args) {
    if (/^-w./.test(arg)) writes(call, arg.slice(2));
  }
  return UNKNOWN_STREAM;
};

const jar: CallReader = (call) => {
  const [flags = "", ...rest] = call.args;
  if (/^-(?:-|.$)/.test(flags)) {
    // Each letter an option of its own, or by its long name.
    const read = readOptions(call.args, {
      takes: "-m -e -f -C --file --manifest --main-class --module-version",
      writes: "--dir",
    });
    const archive = optionValue(read, "-f", "--file");
    if (
      hasOption(
        read,
        "-c",
        "-u",
        "-i",
        "--create",
        "--update",
        "--generate-index",
      )
    ) {
      if (archive !== undefined) writes(call, archive);
    } else if (hasOption(read, "-x", "--extract")) {
      unpacks(call, optionValue(read, "--dir", "-C") ?? ".", read.operands);
    }
    return UNKNOWN_STREAM;
  }
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
    const state = call.state.fork();
    state.set("FILE", [[(read.operands[1] ?? "x") + SEG]]);
    call.context.run.text(filter, state, {});
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
  lha,
  pax,
  xorriso,
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
  "llvm-ar": ar,
  "gcc-ar": ar,
  strip,
  "llvm-strip": strip,
  zip,
};
