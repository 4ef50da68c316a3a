/**
 * Copies, moves, links and transfers.
 *
 * @module
 */
import { ANY, SEG } from "../holes.ts";
import { type Call, type CallReader, writes } from "./call.ts";
import { specOf } from "./commands.ts";
import { applyGuess } from "./guess.ts";
import {
  carryLink,
  forgetLink,
  linkText,
  makeLink,
  replacesLink,
} from "./links.ts";
import { hasOption, optionValue, readOptions } from "./options.ts";
import { landsIn, sweeps } from "./own_files.ts";
import { readVariable } from "./parameters.ts";
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
const cloudCopy = (verbs: RegExp): CallReader => (call) => {
  const at = call.args.findIndex((arg) => verbs.test(arg));
  if (at === -1) return UNKNOWN_STREAM;
  const read = readOptions(call.args.slice(at + 1), {
    takes:
      "-c -n --kubeconfig --context --exclude --include --profile --region --endpoint-url --container --namespace --acl --storage-class",
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

/** Options of `aws` without a value. */
const AWS_FLAGS =
  /^--(?:no-\S+|debug|dry-?run|recursive|quiet|delete|force|follow\S*|exact-timestamps|size-only|only-show-errors|human-readable|summarize|include-shadow-trails|all|use-json|publish)$/;

/** `aws lambda invoke … out.json`: whatever service, a last operand is where its answer goes. */
const aws: CallReader = (call) => {
  const { args } = call;
  const [service = "", operation = ""] = args.filter((arg, i) =>
    !arg.startsWith("-") &&
    !/^--(?:profile|region|output|endpoint-url|query|cli-\S+)$/.test(
      args[i - 1] ?? "",
    )
  );
  if (service === "s3") return cloudCopy(/^(?:cp|mv|sync)$/)(call);
  const before = args.at(-2) ?? "";
  const last = args.at(-1) ?? "";
  if (
    !last.startsWith("-") && last !== operation &&
    (!before.startsWith("--") || AWS_FLAGS.test(before) ||
      before.includes("=")) &&
    !/^(?:configure|help|ssm-sessions?)$/.test(service) && !/[:{]/.test(last)
  ) writes(call, last);
  for (const [i, arg] of args.entries()) {
    if (
      /^--(?:output-template-file|[\w-]+-outfile|[\w-]+-output-file)$/.test(arg)
    ) {
      writes(call, args[i + 1] ?? "");
    }
  }
  if (operation === "update-kubeconfig" && !args.includes("--dry-run")) {
    const at = args.indexOf("--kubeconfig");
    writes(call, at === -1 ? kubeConfig(call) : args[at + 1] ?? "");
  }
  return UNKNOWN_STREAM;
};

/** The file in which `kubectl` keeps its clusters. */
function kubeConfig(call: Call): string {
  const { state, context } = call;
  const named = readVariable("KUBECONFIG", state, context)?.[0];
  const home = readVariable("HOME", state, context)?.[0] ?? ANY;
  return named === undefined || named === "" ? `${home}/.kube/config` : named;
}

const kubectl: CallReader = (call) => {
  const read = readOptions(call.args, {
    takes: "-n --namespace --context --kubeconfig -l -f -k",
    writes: "--output-directory --dest-dir --cache-dir",
  });
  for (const [name, value] of read.options) {
    if (/-dir(?:ectory)?$/.test(name) && value !== undefined) {
      writes(call, value);
    }
  }
  const [sub = "", action = ""] = read.operands;
  const own = optionValue(
    readOptions(call.args, { takes: "--kubeconfig" }),
    "--kubeconfig",
  );
  if (
    sub === "config" && own !== undefined &&
    /^(?:use-context|set|unset|delete-|rename-)/.test(action)
  ) writes(call, own);
  const output = optionValue(
    readOptions(call.args, { takes: "-o --output --to" }),
    "-o",
    "--output",
    "--to",
  );
  if (sub === "kustomize" && output !== undefined || sub === "extract") {
    writes(call, output ?? ".");
  }
  return cloudCopy(/^(?:cp|rsync)$/)(call);
};

const gcloud: CallReader = (call) => {
  const text = call.args.join(" ");
  if (/ get-credentials(?: |$)/.test(text)) writes(call, kubeConfig(call));
  if (/ config-ssh(?: |$)/.test(text)) {
    const home = readVariable("HOME", call.state, call.context)?.[0] ?? ANY;
    writes(call, `${home}/.ssh/config`);
  }
  const key = /\bkeys create (\S+)/.exec(text)?.[1];
  if (key !== undefined) writes(call, key);
  applyGuess(call);
  return cloudCopy(/^(?:cp|mv|rsync|scp)$/)(call);
};

/** `az storage blob download -f x`. */
const azure: CallReader = (call) => {
  if (call.args.includes("get-credentials")) {
    const read = readOptions(call.args, { takes: "-f --file -n -g" });
    writes(call, optionValue(read, "-f", "--file") ?? kubeConfig(call));
  }
  if (
    call.args.some((arg) =>
      /^(?:download|export|show-download)(?:-batch|-file)?$/.test(arg)
    )
  ) {
    const read = readOptions(call.args, {
      takes: "-f --file -d --destination -n -c -s --name --container-name",
    });
    const file = optionValue(read, "-f", "--file", "-d", "--destination");
    if (file !== undefined) writes(call, file);
  }
  return cloudCopy(/^(?:copy|sync)$/)(call);
};

/** `pdftk a.pdf cat output b.pdf`. */
const pdftk: CallReader = (call) => {
  const at = call.args.indexOf("output");
  if (at !== -1 && call.args[at + 1] !== "-") {
    writes(call, call.args[at + 1] ?? ".");
  }
  return UNKNOWN_STREAM;
};

/** `skopeo copy docker://x dir:/place`: local places are told by their transport. */
const skopeo: CallReader = (call) => {
  if (!/^(?:copy|sync)$/.test(call.args[0] ?? "")) return UNKNOWN_STREAM;
  const place = /^(?:dir|oci|oci-archive|docker-archive):([^:]+)/.exec(
    call.args.at(-1) ?? "",
  )?.[1];
  if (place !== undefined) writes(call, place);
  return UNKNOWN_STREAM;
};

/** `restic -r REPO backup .`: which sub-commands change the repository. */
const restic: CallReader = (call) => {
  const read = readOptions(call.args, {
    takes:
      "-r -p -t -H --repo --password-file --target --tag --host --exclude --include --keep-last --keep-daily --cache-dir",
  });
  const [sub = ""] = read.operands;
  const place = optionValue(read, "-t", "--target");
  if (sub === "restore" && place !== undefined) writes(call, place);
  const repository = optionValue(read, "-r", "--repo");
  if (
    repository !== undefined && !isRemote(repository) &&
    /^(?:backup|forget|prune|init|unlock|repair|tag|rewrite|copy|key|migrate)$/
      .test(sub)
  ) writes(call, repository);
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
  restic,
  rsync,
  skopeo,
  scp: transfer("-P -i -F -o -c -l -J -S -D"),
  pdftk,
  az: azure,
  azcopy: cloudCopy(/^(?:cp|copy|sync)$/),
  aws,
  gsutil: cloudCopy(/^(?:cp|mv|rsync)$/),
  gcloud,
  kubectl,
  oc: kubectl,
  mc: cloudCopy(/^(?:cp|mv|mirror|get)$/),
};
