import {
  bulkheadHome,
  ensurePrivateDir,
  namedPermissions,
  readTextCapped,
  writeFileAtomic,
} from "@bulkhead/sandbox";
import {
  isInside,
  joinPath,
  normalizePath,
  resolveTarget,
} from "@bulkhead/sandbox/paths";
import { DENIALS_DIR, DENIALS_FILE } from "./denials.ts";
import {
  directoryOf,
  readHookFile,
  removeFile,
  removeIfEmpty,
  sha256,
  sweepTemporaries,
} from "./files.ts";
import { removeExclude } from "./git_exclude.ts";
import { HARNESSES } from "./harnesses/mod.ts";
import type { GuardSection, HarnessDescriptor } from "./harnesses/types.ts";
import { removeOwnHooks } from "./hook_file.ts";
import {
  type GuardManifest,
  type ManifestReading,
  MAX_MANIFEST_BYTES,
  parseManifestText,
} from "./manifest.ts";
import {
  type GuardPlaces,
  hookCleanupDir,
  hookFileOf,
  placesOf,
} from "./places.ts";

/** Options of {@linkcode teardownGuard}. */
export interface TeardownOptions {
  /** The Bulkhead home, where versions of a hook file that would be lost are kept. */
  home?: string;
  /** Only this harness; all of them when absent. */
  harness?: string;
}

/** What teardown found and did. */
export interface TeardownReport {
  /** Whether any guard was found. */
  found: boolean;
  /** The harnesses whose guard was removed. */
  harnesses: string[];
  /** Lines for a person. */
  notices: string[];
}

/**
 * Removes the guard from a workspace, of every harness: the hook file gets its original bytes
 * back, or goes when arming made it; marker and manifest go. A denial log with a line in it
 * stays.
 *
 * Needs `--allow-read` and `--allow-write` of the workspace and of the home.
 *
 * @param root The workspace.
 * @param options The home, one harness.
 * @returns What was found.
 *
 * @example Nothing to remove
 * ```ts
 * import { teardownGuard } from "@bulkhead/guard";
 * import { assertEquals } from "@std/assert";
 *
 * const root = await Deno.makeTempDir();
 * assertEquals((await teardownGuard(root)).found, false);
 * await Deno.remove(root);
 * ```
 */
export async function teardownGuard(
  root: string,
  options: TeardownOptions = {},
): Promise<TeardownReport> {
  return await namedPermissions("Removing the guard", async () => {
    const absolute = normalizePath(joinPath(Deno.cwd(), root));
    const report: TeardownReport = { found: false, harnesses: [], notices: [] };
    for (const harness of HARNESSES) {
      if (options.harness !== undefined && options.harness !== harness.label) {
        continue;
      }
      const notices = await teardownHarness(harness, absolute, options.home);
      if (notices === undefined) continue;
      report.found = true;
      report.harnesses.push(harness.label);
      report.notices.push(...notices);
    }
    await removeEmptyLog(absolute, report.found);
    return report;
  });
}

/**
 * The denial log stays for whoever wants to read it; one without a line is only a trace, also
 * where the rest of the guard was deleted before. A directory without it may be somebody else's.
 */
async function removeEmptyLog(root: string, found: boolean): Promise<void> {
  const dir = `${root}/${DENIALS_DIR}`;
  const log = `${dir}/${DENIALS_FILE}`;
  for (const harness of HARNESSES) {
    if (harness.guard === undefined) continue;
    const { marker } = placesOf(harness, harness.guard, root);
    if (await infoOf(marker) !== undefined) return;
  }
  if (!(await infoOf(dir))?.isDirectory) return;
  const info = await infoOf(log);
  const isTrace = info?.isFile === true && info.size === 0;
  if (isTrace) await removeFile(log);
  if (found || isTrace) await removeIfEmpty(dir);
}

async function infoOf(path: string): Promise<Deno.FileInfo | undefined> {
  try {
    return await Deno.lstat(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

/** Removes one harness's guard. Nothing found: `undefined`; else lines for a person. */
export async function teardownHarness(
  harness: HarnessDescriptor,
  root: string,
  home?: string,
): Promise<string[] | undefined> {
  const { guard } = harness;
  if (guard === undefined || harness.speech === undefined) return undefined;
  const places = placesOf(harness, guard, root);
  for (const path of [places.marker, places.manifest]) {
    await sweepTemporaries(path);
  }
  const text = await readManifestText(places.manifest);
  const reading: ManifestReading = text === undefined
    ? { kind: "missing" }
    : parseManifestText(text);
  if (reading.kind === "newer") {
    throw new TypeError(
      `Cannot remove the guard of ${harness.label}: "${places.manifest}" has schema ${reading.schema}, written by a newer Bulkhead; use that one`,
    );
  }
  if (reading.kind === "ok") {
    return await undo(harness, guard, places, root, reading.manifest, home);
  }

  // The original is lost: take out what is ours, and sweep.
  const notices: string[] = [];
  const swept = await takeOut(guard, places, root);
  if (swept) {
    notices.push(`The hook was taken out of "${places.hook}"`);
  }
  if (reading.kind === "corrupt" && text !== undefined) {
    const kept = await keepAside(places.manifest, text, home);
    notices.push(
      `"${places.manifest}" was damaged (${reading.detail})${
        kept ? `; it is kept at "${kept}"` : ""
      }`,
    );
  }
  const marker = await removeFile(places.marker);
  const manifest = await removeFile(places.manifest);
  if (!swept && !marker && !manifest) return undefined;
  await removeExclude(root, harness.label);
  await prune(harness, guard, root);
  return notices;
}

/** The manifest's text; anything that is there but cannot be read as text counts as damaged. */
async function readManifestText(path: string): Promise<string | undefined> {
  try {
    return await readTextCapped(path, MAX_MANIFEST_BYTES);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    if (error instanceof TypeError || error instanceof RangeError) return "";
    throw error;
  }
}

/** Restores the original by the manifest. A failure leaves the manifest, which holds it. */
async function undo(
  harness: HarnessDescriptor,
  guard: GuardSection,
  places: GuardPlaces,
  root: string,
  manifest: GuardManifest,
  home: string | undefined,
): Promise<string[]> {
  const notices = await restore(places, root, manifest, home);
  await removeFile(places.marker);
  if (manifest.bulkhead === undefined) {
    await removeFile(places.manifest);
    await prune(harness, guard, root);
    return notices;
  }
  const { created_dirs: created, absent_dirs: absent } = manifest.bulkhead;
  await removeOwnFiles(harness, root, created);
  await removeExclude(root, harness.label);
  await removeFile(places.manifest);
  for (const dir of [...created.toReversed(), ...absent]) {
    await removeIfEmpty(`${root}/${dir}`);
  }
  return notices;
}

/** Removes what the harness itself put into a directory that only arming made it have. */
async function removeOwnFiles(
  harness: HarnessDescriptor,
  root: string,
  created: readonly string[],
): Promise<void> {
  const own = harness.ownFiles;
  if (own === undefined || !created.includes(own.dir)) return;
  for (const name of own.names) {
    try {
      await Deno.remove(`${root}/${own.dir}/${name}`, { recursive: true });
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
  }
}

/** Puts the hook file's original back. The path is the workspace's, never the manifest's. */
async function restore(
  places: GuardPlaces,
  root: string,
  manifest: GuardManifest,
  home: string | undefined,
): Promise<string[]> {
  const backup = manifest.settings_existed ? manifest.settings_backup : null;
  const target = resolveTarget(places.hook, "/");
  await sweepTemporaries(target);
  const current = await currentText(places, root);
  if (current === (backup ?? undefined)) return [];
  const armedHash = manifest.bulkhead?.armed_sha256;
  const known = current === undefined ||
    (armedHash !== undefined && await sha256(current) === armedHash);
  const outside = !isInside(target, resolveTarget(root, "/"));
  if (outside && !(known && current !== undefined)) {
    // A workspace from somewhere else may bring a manifest and a link of its own.
    return [
      `"${places.hook}" leads to "${target}" outside the workspace and does not hold what was armed: left as it is`,
    ];
  }
  const notices: string[] = [];
  if (!known && armedHash !== undefined && current !== undefined) {
    if (backup === null && !current.includes(places.marker)) {
      return [`"${places.hook}" holds no hook of ours any more: left as it is`];
    }
    const kept = await keepAside(places.hook, current, home);
    notices.push(
      `"${places.hook}" was changed while the guard was armed; the original is back${
        kept ? `, the changed version is kept at "${kept}"` : ""
      }`,
    );
  }
  if (backup === null) {
    await removeFile(target);
  } else {
    await Deno.mkdir(directoryOf(target), { recursive: true });
    await writeFileAtomic(target, backup, {
      mode: manifest.bulkhead?.settings_mode ?? await modeOf(target) ?? 0o644,
    });
  }
  return notices;
}

/** The hook file's present text; `undefined` when it is gone, empty when it is not text. */
async function currentText(
  places: GuardPlaces,
  root: string,
): Promise<string | undefined> {
  try {
    return (await readHookFile(places.hook, root)).text;
  } catch (error) {
    if (error instanceof TypeError || error instanceof RangeError) return "";
    throw error;
  }
}

/** A file's permission bits. */
async function modeOf(path: string): Promise<number | undefined> {
  try {
    const { mode } = await Deno.stat(path);
    return mode === null ? undefined : mode & 0o7777;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

/** Takes our entries out of a hook file whose original is lost. */
async function takeOut(
  guard: GuardSection,
  places: GuardPlaces,
  root: string,
): Promise<boolean> {
  let found;
  try {
    found = await readHookFile(places.hook, root);
  } catch (error) {
    if (error instanceof TypeError || error instanceof RangeError) return false;
    throw error;
  }
  if (found.text === undefined) return false;
  if (!isInside(found.target, resolveTarget(root, "/"))) return false;
  const rest = removeOwnHooks(guard, found.text, places.marker);
  if (rest === undefined) return false;
  if (rest === null) await removeFile(found.target);
  else await writeFileAtomic(found.target, rest, { mode: found.mode ?? 0o644 });
  return true;
}

/** Removes the directory that was made for the hook alone, when it is empty. */
async function prune(
  harness: HarnessDescriptor,
  guard: GuardSection,
  root: string,
): Promise<void> {
  const dir = hookCleanupDir(
    hookFileOf(guard),
    harness.speech?.skillsDir,
    root,
  );
  if (dir !== undefined) await removeIfEmpty(dir);
}

/** Keeps a text that would be lost, in the home; nothing when there is no home to keep it in. */
async function keepAside(
  path: string,
  text: string,
  home: string | undefined,
): Promise<string | undefined> {
  try {
    const dir = `${bulkheadHome(home)}/data/guard/kept`;
    await ensurePrivateDir(dir);
    const name = path.slice(path.lastIndexOf("/") + 1).replace(/^\./, "");
    const kept = `${dir}/${crypto.randomUUID()}-${name}`;
    await writeFileAtomic(kept, text);
    return kept;
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable) throw error;
    return undefined;
  }
}
