/**
 * A plugin between its source and its place: staged, checked, put to a person.
 *
 * @module
 */
import { probeIsolation } from "@bulkhead/sandbox";
import { isInside } from "@bulkhead/sandbox/paths";
import { disclose, isolationLine } from "./_disclosure.ts";
import { InstallError } from "./_install_error.ts";
import { digestIfThere, type Places, PLUGIN_NAME } from "./_install_places.ts";
import type { LockEntry } from "./_lock_file.ts";
import { type ReadSource, readSource } from "./_source.ts";
import { type Stage, writeTree } from "./_stage.ts";
import { messageOf, quote } from "./_text.ts";
import {
  diffFiles,
  digestPlugin,
  fingerprints,
  type PluginDigest,
} from "./digest.ts";
import { ManifestError } from "./errors.ts";
import type { InstallOptions } from "./install.ts";
import { parseManifest, type PluginManifest, problemText } from "./manifest.ts";
import type { TrustAnswer, TrustChange, TrustQuestion } from "./trust.ts";

/** A staged plugin. */
export interface Candidate {
  read: ReadSource;
  manifest: PluginManifest;
  digest: PluginDigest;
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
      `Cannot install from "${read.source}": it and the plugins directory lie in each other`,
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
      `Cannot install from ${quote(source, 1000)}: it holds no plugin.toml`,
      {
        fix: "give the directory or archive whose top holds plugin.toml",
      },
    );
  }
  options.onProgress?.("checking");
  await writeTree(read.entries, stage.next, options.signal);
  const digest = await digestPlugin(stage.next);
  const manifest = readManifest(digest, read.fallbackName);
  if (!PLUGIN_NAME.test(manifest.name)) {
    throw new InstallError(
      "bad_manifest",
      `Cannot install a plugin named ${
        quote(manifest.name)
      }: a name is a-z, A-Z, 0-9, ".", "_" and "-", at most 64 characters`,
    );
  }
  return { read, manifest, digest };
}

function readManifest(digest: PluginDigest, directory: string): PluginManifest {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(
      digest.manifest,
    );
    return parseManifest(text, { directory });
  } catch (error) {
    const reason = error instanceof ManifestError
      ? error.message
      : `plugin.toml is not UTF-8 text: ${messageOf(error)}`;
    throw new InstallError(
      "bad_manifest",
      `Cannot install the plugin: ${reason}`,
      { cause: error },
    );
  }
}

/** Whether the content may come in: pinned, or the answer of a person. */
export async function decide(
  candidate: Candidate,
  target: string,
  change: TrustChange | undefined,
  options: InstallOptions,
  notices: readonly string[] = [],
): Promise<"always" | "once"> {
  const { manifest, digest } = candidate;
  const { name } = manifest;
  const action = change === undefined ? "install" : "update";
  if (
    options.pins?.some((pin) => pin.name === name && pin.hash === digest.hash)
  ) return "always";
  if (options.ask === undefined) {
    throw new InstallError(
      "refused",
      `Cannot ${action} "${name}": nobody is there to be asked about its content`,
      {
        fix:
          `run it on a terminal, or add --trust-plugin ${name}=${digest.hash}`,
      },
    );
  }
  const level = options.sandbox ?? "required";
  const { backend } = level === "off"
    ? { backend: "none" }
    : await probeIsolation();
  const question: TrustQuestion = {
    name,
    version: manifest.version,
    dir: target,
    hash: digest.hash,
    lines: disclose(manifest),
    problems: [...manifest.problems.map(problemText), ...notices],
    sandbox: isolationLine(level, backend),
    ...(change === undefined ? {} : { change }),
  };
  let answer: TrustAnswer = "no";
  try {
    answer = await options.ask(question);
  } catch (error) {
    throw new InstallError(
      "refused",
      `Cannot ${action} "${name}": asking failed: ${messageOf(error)}`,
      { cause: error },
    );
  }
  options.signal?.throwIfAborted();
  if (answer === "always" || answer === "once") return answer;
  const kept = change === undefined
    ? ""
    : `, version ${quote(await installedVersion(target))} stays`;
  throw new InstallError(
    "refused",
    `Did not ${action} "${name}": the question was answered with no${kept}`,
  );
}

/** The difference between what is installed and what would be. */
export function describeChange(
  present: PluginDigest,
  candidate: Candidate,
  entry: LockEntry,
): TrustChange {
  let before: string[] = [];
  let version = entry.version;
  try {
    const manifest = readManifest(present, candidate.manifest.name);
    before = disclose(manifest);
    version = manifest.version;
  } catch {
    // An installed manifest that was broken by hand could run nothing.
  }
  const after = disclose(candidate.manifest);
  const lines = [
    ...(version === candidate.manifest.version ? [] : [
      `- version ${quote(version)}`,
      `+ version ${quote(candidate.manifest.version)}`,
    ]),
    ...before.filter((line) => !after.includes(line)).map((line) =>
      `- ${line}`
    ),
    ...after.filter((line) => !before.includes(line)).map((line) =>
      `+ ${line}`
    ),
  ];
  return {
    hash: present.hash,
    time: entry.installedAt,
    files: diffFiles(fingerprints(present), fingerprints(candidate.digest)),
    lines,
  };
}

async function installedVersion(dir: string): Promise<string> {
  const digest = await digestIfThere(dir);
  return digest === undefined ? "" : readManifest(digest, "").version;
}
