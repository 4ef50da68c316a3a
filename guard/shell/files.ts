// deno-lint-ignore-file camelcase -- sub-commands of cmake
/**
 * Programs that copy, move, link, unpack and create files by grammars of their own.
 *
 * @module
 */
import { joinPath } from "@bulkhead/sandbox/paths";
import { patchBodyTargets, unifiedDiffTargets } from "../targets.ts";
import { type Call, type CallReader, writes } from "./call.ts";
import { hasOption, optionValue, readOptions } from "./options.ts";
import { readVariable } from "./parameters.ts";
import { EMPTY_STREAM, type Stream, UNKNOWN_STREAM } from "./state.ts";
import { applyTable, isRemote } from "./verbs.ts";

function lastPart(path: string): string {
  return path.replace(/\/+$/, "").split("/").at(-1) ?? "";
}

/** Writes into a destination: the path itself, and, where it may be a directory, what lands in it. */
function writeInto(
  call: Call,
  destination: string,
  sources: readonly string[],
): void {
  if (!writes(call, destination)) return;
  for (const source of sources) {
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

const COPY = {
  takes: "-S --suffix",
  writes: "-t --target-directory",
};

const cp: CallReader = (call) => {
  const read = readOptions(call.args, COPY);
  const into = optionValue(read, "-t", "--target-directory");
  if (into !== undefined) writeInto(call, into, read.operands);
  else if (read.operands.length > 1) {
    const sources = read.operands.slice(0, -1);
    const destination = read.operands.at(-1) ?? "";
    if (hasOption(read, "--parents")) writes(call, destination);
    else writeInto(call, destination, sources);
    if (sources.length === 1) {
      call.context.keepFile(
        destination,
        call.state,
        call.context.readFile(sources[0] ?? "", call.state),
        false,
      );
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
  for (const source of sources) writes(call, source, "tree");
  // The destination's entry is replaced, a link to a directory is entered.
  writeInto(call, destination, sources);
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

/** Remembers a link, so that later writes of the same command are seen through it. */
function makeLink(call: Call, target: string, link: string): void {
  const { boundary } = call.context;
  for (const cwd of call.state.cwd) {
    const path = boundary.resolve(link, cwd, false);
    if (path === undefined) continue;
    const isPlace = /(?:^|\/)\.{0,2}$/.test(link) ||
      boundary.linkAt(path) === null ||
      boundary.roots.includes(path) || call.state.cwd.includes(path);
    boundary.links.set(
      isPlace ? joinPath(path, lastPart(target)) : path,
      target,
    );
  }
}

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
  for (const target of targets) {
    if (operands.length < 2 && into === undefined) {
      writes(call, joinPath(".", lastPart(target)), "entry");
    } else if (writes(call, place, mode)) {
      writes(call, joinPath(place, lastPart(target)), "entry");
    }
    if (symbolic) makeLink(call, target, place);
    else {
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
    writeInto(call, read.operands.at(-1) ?? "", read.operands.slice(0, -1));
  }
  return EMPTY_STREAM;
};

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
    writes(call, directories.reduce((base, next) => joinPath(base, next), "."));
    if (hasOption(read, "-P", "--absolute-names")) {
      for (const path of read.operands) writes(call, path);
    }
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

const patch: CallReader = (call) => {
  const read = readOptions(call.args, {
    takes:
      "-p -i -F -D -B -V -Y -z -g --strip --input --fuzz --prefix --suffix --version-control",
    writes: "-d -o -r --directory --output --reject-file",
  });
  if (hasOption(read, "--dry-run", "-C", "--check")) return UNKNOWN_STREAM;
  const directory = optionValue(read, "-d", "--directory");
  const state = call.state.fork();
  if (directory !== undefined) {
    writes(call, directory);
    state.cwd = state.cwd.map((cwd) => joinPath(cwd, directory));
  }
  const inner = { ...call, state };
  const output = optionValue(read, "-o", "--output");
  if (output !== undefined && output !== "-") writes(inner, output);
  const reject = optionValue(read, "-r", "--reject-file");
  if (reject !== undefined && reject !== "-") writes(inner, reject);
  if (read.operands[0] !== undefined && output === undefined) {
    writes(inner, read.operands[0]);
  } else if (output === undefined) {
    writes(inner, ".");
    const input = optionValue(read, "-i", "--input") ?? read.operands[1];
    const body = input === undefined
      ? call.stdin
      : call.context.readFile(input, state);
    const strip = Number(optionValue(read, "-p", "--strip") ?? NaN);
    if (body.text !== undefined) {
      for (
        const path of unifiedDiffTargets(
          body.text,
          Number.isNaN(strip) ? 99 : strip,
        )
      ) {
        writes(inner, path);
      }
    }
  }
  return UNKNOWN_STREAM;
};

const applyPatch: CallReader = (call) => {
  const body = call.args[0] ?? call.stdin.text;
  if (body === undefined) return UNKNOWN_STREAM;
  for (const path of patchBodyTargets(body)) {
    writes(call, path, "content", {
      rule: "patch",
      label: "patch target outside the allowed roots",
    });
  }
  return UNKNOWN_STREAM;
};

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
  if (/^[xe]$/.test(command)) writes(call, output ?? ".");
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

const rsync: CallReader = (call) => {
  // The table knows its options; only the removal of what is sent is its own.
  applyTable(call);
  if (call.args.includes("--remove-source-files")) {
    for (
      const path of call.args.filter((arg) => !arg.startsWith("-")).slice(0, -1)
    ) {
      if (!isRemote(path)) writes(call, path, "tree");
    }
  }
  return UNKNOWN_STREAM;
};

/** Copies whose last operand may be on another machine. */
const transfer = (takes: string): CallReader => (call) => {
  const read = readOptions(call.args, { takes });
  const destination = read.operands.at(-1);
  if (
    read.operands.length > 1 && destination !== undefined &&
    !isRemote(destination)
  ) {
    writes(call, destination);
  }
  return UNKNOWN_STREAM;
};

/** `aws s3 cp a b`, `gsutil cp a b`, `kubectl cp pod:/a b`. */
const cloudCopy: CallReader = (call) => {
  const at = call.args.findIndex((arg) =>
    /^(?:cp|mv|sync|copy|rsync|copyto|moveto|move|get|download|mirror)$/.test(
      arg,
    )
  );
  if (at === -1) return UNKNOWN_STREAM;
  const read = readOptions(call.args.slice(at + 1), {
    takes:
      "-c -n --exclude --include --profile --region --endpoint-url --container --namespace --acl --storage-class",
  });
  const destination = read.operands.at(-1);
  if (
    read.operands.length > 1 && destination !== undefined &&
    !isRemote(destination)
  ) {
    writes(call, destination);
  }
  return UNKNOWN_STREAM;
};

const curl: CallReader = (call) => {
  const takes = CURL_TAKES;
  const read = readOptions(call.args, takes);
  const directory = optionValue(read, "--output-dir");
  for (const [name, value] of read.options) {
    if (/^(?:-O|-J|--remote-name|--remote-name-all)$/.test(name)) {
      writes(call, directory ?? ".");
    }
    if (value === undefined || value === "-") continue;
    if (name === "-o" || name === "--output") {
      writes(
        call,
        directory === undefined ? value : joinPath(directory, value),
      );
    } else if (CURL_WRITES.has(name)) writes(call, value);
  }
  return UNKNOWN_STREAM;
};

const CURL_WRITES = new Set(
  "-D -c --dump-header --cookie-jar --trace --trace-ascii --stderr --libcurl --hsts --alt-svc --etag-save"
    .split(" "),
);
const CURL_TAKES = {
  takes:
    "-A -b -C -d -e -E -F -H -K -m -P -Q -r -t -T -u -U -w -x -X -y -Y -z -h --data --data-raw --data-binary --data-urlencode --json --header --user --user-agent --cookie --form --request --url --max-time --connect-timeout --retry --retry-delay --retry-max-time --proxy --cacert --cert --key --range --referer --resolve --upload-file --write-out --limit-rate --interface --max-redirs --config --continue-at --ciphers --capath --unix-socket --max-filesize --oauth2-bearer --connect-to --noproxy -o --output --output-dir " +
    [...CURL_WRITES].join(" "),
};

const wget: CallReader = (call) => {
  const read = readOptions(call.args, {
    takes:
      "-e -i -t -T -w -Q -U -D -R -A -l -B -X -I -O -o -a -P --execute --input-file --tries --timeout --wait --quota --user-agent --header --post-data --post-file --user --password --level --domains --accept --reject --base --referer --limit-rate --method --body-data --load-cookies --max-redirect --cut-dirs --waitretry --output-document --output-file --append-output --directory-prefix --save-cookies --warc-file --hsts-file",
  });
  if (hasOption(read, "--spider", "--version", "--help")) return UNKNOWN_STREAM;
  let document: string | undefined;
  for (const [name, value] of read.options) {
    if (value === undefined || value === "-") {
      if (name === "-O" || name === "--output-document") document = "-";
      continue;
    }
    if (/^(?:-O|--output-document)$/.test(name)) document = value;
    if (
      /^(?:-O|-o|-a|-P|--output-document|--output-file|--append-output|--directory-prefix|--save-cookies|--warc-file|--hsts-file)$/
        .test(name)
    ) {
      writes(call, value);
    }
  }
  if (
    document === undefined &&
    optionValue(read, "-P", "--directory-prefix") === undefined
  ) {
    writes(call, ".");
  }
  return UNKNOWN_STREAM;
};

const unzip: CallReader = (call) => {
  // `-d` takes its directory attached as well; `-l`, `-t`, `-p` and the like only read.
  const args = call.args;
  let directory: string | undefined;
  for (let i = 0; i < args.length; i++) {
    const arg = args[i] ?? "";
    if (arg === "-d") directory = args[++i];
    else if (/^-d./.test(arg)) directory = arg.slice(2);
    else if (/^-[a-zA-Z]*[ltvpzZ]/.test(arg) && !/^-x/.test(arg)) {
      return UNKNOWN_STREAM;
    } else if (/^-[a-zA-Z]+d$/.test(arg)) directory = args[++i];
  }
  writes(call, directory ?? ".");
  return UNKNOWN_STREAM;
};

const sqlite: CallReader = (call) => {
  const read = readOptions(call.args, {
    takes:
      "-separator -nullvalue -newline -init -mmap -vfs -maxsize -pagecache -lookaside",
    writes: "",
    singleDash: true,
  });
  const cmd = read.options.filter(([name]) => name === "-cmd").map((
    [, value],
  ) => value ?? "");
  const [database, ...statements] = read.operands;
  const text = [...cmd, ...statements, call.stdin.text ?? ""].join("\n");
  const readOnly = hasOption(read, "-readonly", "--readonly");
  const changes =
    /\b(?:insert|update|delete|create|drop|alter|replace|vacuum|reindex|attach)\b|^\s*\.(?:import|restore|read)\b/im
      .test(text);
  if (
    database !== undefined && changes && !readOnly && database !== ":memory:"
  ) {
    writes(call, database.replace(/^file:([^?]*).*$/, "$1"));
  }
  const outputs = text.matchAll(
    /(?:^|\n)\s*\.(?:output|once|backup|save|log|clone|excel)\s+(?:main\s+)?(?:-\w+\s+)*["']?([^\s"';]+)|\binto\s+'([^']+)'/gi,
  );
  for (const match of outputs) {
    const path = match[1] ?? match[2] ?? "";
    if (path !== "" && !/^(?:stdout|off|on|stderr)$/.test(path)) {
      writes(call, path);
    }
  }
  for (
    const match of text.matchAll(
      /\battach\s+(?:database\s+)?['"]([^'"]+)['"]/gi,
    )
  ) {
    writes(call, match[1] ?? "");
  }
  for (const match of text.matchAll(/(?:^|\n)\s*\.(?:shell|system)\s+(.+)/g)) {
    call.context.run.text(match[1] ?? "", call.state.fork(), {});
  }
  return UNKNOWN_STREAM;
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

const cmake: CallReader = (call) => {
  const { args } = call;
  if (args[0] === "-E") {
    const [, tool = "", ...rest] = args;
    const known: Record<string, string> = {
      touch: "touch",
      touch_nocreate: "touch",
      copy: "cp",
      copy_if_different: "cp",
      copy_directory: "cp",
      rename: "mv",
      remove: "rm",
      rm: "rm",
      remove_directory: "rm",
      make_directory: "mkdir",
      create_symlink: "ln -s",
      create_hardlink: "ln",
      env: "env",
      time: "env",
      tar: "tar",
      chdir: "",
    };
    const program = Object.hasOwn(known, tool) ? known[tool] : undefined;
    if (tool === "chdir") {
      return call.context.run.argv(
        ["env", "-C", ...rest],
        call.state.fork(),
        call.stdin,
      );
    }
    return program === undefined ? UNKNOWN_STREAM : call.context.run.argv(
      [...program.split(" "), ...rest],
      call.state.fork(),
      call.stdin,
    );
  }
  const read = readOptions(args, {
    takes:
      "-D -U -G -T -A -C -S -H -P --target --config --parallel -j --preset --component",
    writes: "-B --build --install --prefix",
  });
  if (hasOption(read, "-P", "--version", "--help", "-N")) return UNKNOWN_STREAM;
  if (hasOption(read, "--install")) {
    const prefix = optionValue(read, "--prefix");
    const destination = readVariable("DESTDIR", call.state, call.context)?.[0];
    writes(call, destination ?? prefix ?? "/usr/local");
    return UNKNOWN_STREAM;
  }
  const tree = optionValue(read, "-B", "--build");
  writes(call, tree ?? ".");
  if (
    optionValue(read, "--target") === "install" ||
    read.operands.includes("install")
  ) {
    writes(
      call,
      readVariable("DESTDIR", call.state, call.context)?.[0] ?? "/usr/local",
    );
  }
  return UNKNOWN_STREAM;
};

const make: CallReader = (call) => {
  const read = readOptions(call.args, {
    takes:
      "-f -o -W -I --file --makefile --include-dir --old-file --what-if --eval --assume-new",
    writes: "-C --directory",
  });
  if (
    hasOption(
      read,
      "-n",
      "-q",
      "-p",
      "-v",
      "-h",
      "--dry-run",
      "--just-print",
      "--recon",
      "--question",
      "--version",
      "--help",
      "--print-data-base",
    )
  ) {
    return UNKNOWN_STREAM;
  }
  const state = call.state.fork();
  for (const [name, value] of read.options) {
    if ((name === "-C" || name === "--directory") && value !== undefined) {
      state.cwd = state.cwd.map((cwd) => joinPath(cwd, value));
    }
  }
  const inner: Call = { ...call, state };
  writes(inner, ".");
  const variables = new Map(
    read.operands.flatMap((arg) => {
      const at = arg.indexOf("=");
      return at > 0
        ? [[arg.slice(0, at).replace(/[:?+]$/, ""), arg.slice(at + 1)] as const]
        : [];
    }),
  );
  const place = variables.get("DESTDIR") ??
    readVariable("DESTDIR", state, call.context)?.[0];
  const prefix = variables.get("PREFIX") ?? variables.get("prefix") ??
    readVariable("PREFIX", state, call.context)?.[0];
  if (
    read.operands.some((arg) =>
      /^(?:un)?install(?:-(?:bin|data|exec|lib|man|strip))?$/.test(arg)
    )
  ) {
    writes(inner, place ?? prefix ?? "/usr/local");
  }
  for (const [name, value] of variables) {
    if (
      /^(?:BUILDDIR|BUILD_DIR|O|OUT|OUTDIR|OUT_DIR|OUTPUT|OUTPUT_DIR|DEST|DESTINATION|TARGET_DIR|OBJDIR|DISTDIR|DIST)$/
        .test(name)
    ) {
      writes(inner, value);
    }
  }
  return UNKNOWN_STREAM;
};

/** Editors that are told on the command line or by their input what to save. */
const editor: CallReader = (call) => {
  const read = readOptions(call.args, {
    takes: "-c -S -u -U -i -T -t --cmd",
  });
  const scripts = [
    ...read.options.filter(([name]) => name === "-c" || name === "--cmd").map((
      [, value],
    ) => value ?? ""),
    ...call.args.filter((arg) => arg.startsWith("+")).map((arg) =>
      arg.slice(1)
    ),
    call.stdin.text ?? "",
  ];
  const commands = scripts.flatMap((text) => text.split(/[|\n]/));
  for (const command of commands) {
    const saved =
      /^[\s:]*(?:silent!?\s+|%|\d*,?\$?)*(?:w|wq|x|write|saveas|sav|up|update|wa|wqa|xa|wall)!?(?:\s+(>>\s*)?(\S.*))?$/
        .exec(command.trim());
    const shell = /^[\s:]*(?:silent!?\s+)?(?:[rw]\s+|%|r)?!(.+)$/
      .exec(
        command.trim(),
      );
    if (shell?.[1] !== undefined) {
      call.context.run.text(shell[1], call.state.fork(), {});
    } else if (saved !== null) {
      const path = saved[2]?.trim();
      for (const file of path === undefined ? read.operands : [path]) {
        writes(call, file);
      }
    }
  }
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

const touchLike = (mode: "content"): CallReader => (call) => {
  const read = readOptions(call.args, { takes: "-l -s -u -h" });
  for (const path of read.operands) writes(call, path, mode);
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
  cp,
  copy: cp,
  mv,
  ln,
  link: ln,
  install,
  chmod,
  chown,
  dd,
  tar,
  bsdtar: tar,
  mktemp,
  patch,
  apply_patch: applyPatch,
  applypatch: applyPatch,
  cpio,
  "7z": sevenZip,
  "7za": sevenZip,
  "7zz": sevenZip,
  "7zr": sevenZip,
  jar,
  curl,
  wget,
  unzip,
  rsync,
  scp: transfer("-P -i -F -o -c -l -J -S -D"),
  sftp: () => UNKNOWN_STREAM,
  aws: cloudCopy,
  gsutil: cloudCopy,
  gcloud: cloudCopy,
  kubectl: cloudCopy,
  rclone: cloudCopy,
  mc: cloudCopy,
  az: cloudCopy,
  sqlite3: sqlite,
  sqlite: sqlite,
  mount,
  "ssh-keygen": sshKeygen,
  cmake,
  make,
  gmake: make,
  bmake: make,
  vim: editor,
  vi: editor,
  nvim: editor,
  ex: editor,
  ed: editor,
  view: editor,
  "dpkg-deb": dpkgDeb,
  tempfile: touchLike("content"),
  split,
  tee,
};
