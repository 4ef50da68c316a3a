/**
 * Copies between this machine and others: clouds, clusters, registries and backups.
 *
 * @module
 */
import { ANY } from "../holes.ts";
import { type Call, type CallReader, writes } from "./call.ts";
import { applyGuess } from "./guess.ts";
import { optionValue, readOptions } from "./options.ts";
import { readVariable } from "./parameters.ts";
import { UNKNOWN_STREAM } from "./state.ts";
import { isRemote } from "./verbs.ts";

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

/** The programs by name. */
export const REMOTE_COPIES: Readonly<Record<string, CallReader>> = {
  restic,
  skopeo,
  scp: transfer("-P -i -F -o -c -l -J -S -D"),
  az: azure,
  azcopy: cloudCopy(/^(?:cp|copy|sync)$/),
  aws,
  gsutil: cloudCopy(/^(?:cp|mv|rsync)$/),
  gcloud,
  kubectl,
  oc: kubectl,
  mc: cloudCopy(/^(?:cp|mv|mirror|get)$/),
};
