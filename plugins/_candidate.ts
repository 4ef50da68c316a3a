/**
 * A plugin between its source and its place: staged, checked, put to a person.
 *
 * @module
 */
import { isInside } from "@bulkhead/sandbox/paths";
import { diffLines } from "./_disclosure.ts";
import { InstallError } from "./_install_error.ts";
import { type Places, PLUGIN_NAME } from "./_install_places.ts";
import type { LockEntry } from "./_lock_file.ts";
import { type ReadSource, readSource } from "./_source.ts";
import { type Stage, writeTree } from "./_stage.ts";
import { messageOf, quote, quoteWhole } from "./_text.ts";
import { diffTexts } from "./_text_diff.ts";
import { isTrusted } from "./config.ts";
import { diffFiles, fingerprints, type PluginDigest } from "./digest.ts";
import type { InstallOptions } from "./install.ts";
import { type PluginOnDisk, questionFor, readPlugin } from "./read.ts";
import {
  type TrustAnswer,
  type TrustChange,
  type TrustPin,
  type TrustQuestion,
  TrustStore,
} from "./trust.ts";

/** A staged plugin. */
export interface Candidate {
  /** Where it comes from. */
  read: ReadSource;
  /** The plugin as it is staged. */
  plugin: PluginOnDisk;
}

/** Reads, checks and stages a source. */
export async function readCandidate(
  source: string,
  stage: Stage,
  places: Places,
  options: InstallOptions,
): Promise<Candidate> {
  options.onProgress?.(`reading ${source}`);
  const read = await readSource(source, {
    workDir: stage.work,
    ...(options.sha256 === undefined ? {} : { sha256: options.sha256 }),
    ...(options.limits === undefined ? {} : { limits: options.limits }),
    ...(options.signal === undefined ? {} : { signal: options.signal }),
  });
  if (
    read.kind === "directory" &&
    (isInside(places.pluginsDir, read.source) ||
      isInside(read.source, places.pluginsDir))
  ) {
    throw new InstallError(
      "bad_source",
      `Cannot install from ${
        quoteWhole(read.source)
      }: it and the plugins directory lie in each other`,
      {
        fix: "copy the plugin elsewhere first",
      },
    );
  }
  if (
    !read.entries.some((entry) =>
      entry.path === "plugin.toml" && entry.kind === "file"
    )
  ) {
    throw new InstallError(
      "bad_manifest",
      `Cannot install from ${quoteWhole(source)}: it holds no plugin.toml`,
      {
        fix: "give the directory or archive whose top holds plugin.toml",
      },
    );
  }
  options.onProgress?.("checking");
  await writeTree(read.entries, stage.next, options.signal);
  const plugin = await readStaged(stage.next, read.fallbackName);
  const { name } = plugin.manifest;
  if (!PLUGIN_NAME.test(name)) {
    throw new InstallError(
      "bad_manifest",
      `Cannot install a plugin named ${
        quote(name)
      }: a name is a-z, A-Z, 0-9, ".", "_" and "-", at most 64 characters`,
    );
  }
  return { read, plugin };
}

async function readStaged(
  dir: string,
  fallbackName: string,
): Promise<PluginOnDisk> {
  try {
    return await readPlugin(dir, { directory: fallbackName });
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable) throw error;
    const message = `Cannot install the plugin: ${
      messageOf(error).replaceAll(`${dir}/`, "")
    }`;
    throw new InstallError("bad_manifest", message, { cause: error });
  }
}

/** Whether the caller has pinned this very content; a pin that does not fit is an error, wherever it would be needed. */
export function isPinned(
  { plugin: { manifest: { name }, digest: { hash } } }: Candidate,
  action: "install" | "update",
  pins: readonly TrustPin[] = [],
): boolean {
  if (pins.length === 0) return false;
  const own = pins.filter((pin) => pin.name === name);
  if (own.some((pin) => pin.hash === hash)) return true;
  const found = own.length === 0
    ? `--trust-plugin names ${
      pins.map((pin) => quote(pin.name)).join(" and ")
    }, not it`
    : `its content is ${hash}, not the ${
      own.map((pin) => pin.hash).join(" or ")
    } of --trust-plugin`;
  throw new InstallError("refused", `Cannot ${action} "${name}": ${found}`, {
    fix: `look at it with "bulkhead plugins check DIR", then pin ${
      quote(`${name}=${hash}`)
    }`,
  });
}

/** Whether the content may come in: pinned, or the answer of a person. */
export async function decide(
  candidate: Candidate,
  target: string,
  change: TrustChange | undefined,
  options: InstallOptions,
  notices: readonly string[] = [],
): Promise<"always" | "once"> {
  const { plugin } = candidate;
  const { name } = plugin.manifest;
  const { hash } = plugin.digest;
  const action = change === undefined ? "install" : "update";
  if (isPinned(candidate, action, options.pins)) return "always";
  if (options.trust !== undefined && isTrusted(options.trust)) return "once";
  // What was changed by hand and is put back was decided about already.
  const record = await new TrustStore(options.home).get(target);
  if (record?.hash === hash && record.decision === "always") return "always";
  if (options.ask === undefined) {
    throw new InstallError(
      "refused",
      `Cannot ${action} "${name}": nobody is there to be asked about its content`,
      { fix: `run it on a terminal, or add --trust-plugin ${name}=${hash}` },
    );
  }
  const question: TrustQuestion = await questionFor(
    { ...plugin, dir: target },
    { sandbox: options.sandbox ?? "required" },
  );
  question.source = sourceText(candidate.read);
  question.problems = [...question.problems, ...notices];
  if (change !== undefined) question.change = change;
  let answer: TrustAnswer = "no";
  try {
    answer = await options.ask(question);
  } catch (error) {
    options.signal?.throwIfAborted();
    throw new InstallError(
      "refused",
      `Cannot ${action} "${name}": asking failed: ${messageOf(error)}`,
      { cause: error },
    );
  }
  options.signal?.throwIfAborted();
  if (answer === "always" || answer === "once") return answer;
  const kept = change === undefined ? "" : ", what is installed stays";
  throw new InstallError(
    "refused",
    `Did not ${action} "${name}": the question was answered with no${kept}`,
  );
}

/** A source with the commit that was taken of it. */
function sourceText({ source, commit }: ReadSource): string {
  return commit === undefined || source.includes(commit)
    ? source
    : `${source} at ${commit}`;
}

/** The difference between what is installed and what would be. */
export async function describeChange(
  present: PluginDigest,
  { plugin }: Candidate,
  entry: LockEntry,
): Promise<TrustChange> {
  let before: string[] = [];
  let version = entry.version;
  try {
    const installed = await readPlugin(present.dir);
    before = installed.lines;
    version = installed.manifest.version;
  } catch (error) {
    // A manifest that was broken by hand could run nothing.
    if (error instanceof Deno.errors.NotCapable) throw error;
  }
  const now = plugin.manifest.version;
  return {
    hash: present.hash,
    time: entry.installedAt,
    files: diffFiles(fingerprints(present), fingerprints(plugin.digest)),
    lines: [
      ...(version === now
        ? []
        : [`- version ${quote(version)}`, `+ version ${quote(now)}`]),
      ...diffLines(before, plugin.lines),
    ],
    texts: await diffTexts(present, plugin.digest),
  };
}
