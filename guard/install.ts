// deno-lint-ignore-file camelcase -- field names of the files on disk
import {
  bulkheadHome,
  namedPermissions,
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
  makeDirs,
  readHookFile,
  sha256,
  writeExclusive,
} from "./files.ts";
import { HARNESSES } from "./harnesses/mod.ts";
import { addExclude } from "./git_exclude.ts";
import { isTracked } from "./git_index.ts";
import type { HarnessDescriptor } from "./harnesses/types.ts";
import { renderHookFile } from "./hook_file.ts";
import { type GuardManifest, MANIFEST_SCHEMA } from "./manifest.ts";
import { GUARD_TTL_MS, type GuardMarker, isArmed } from "./marker.ts";
import { readMarker } from "./marker_file.ts";
import { type GuardPlaces, hookFileOf, placesOf } from "./places.ts";
import { selfCheck } from "./self_check.ts";
import { runtimeWarning, writeShim } from "./shim.ts";
import { teardownHarness } from "./teardown.ts";
import {
  existingRoot,
  expiryOf,
  guardedHarness,
  requireGrants,
  rootsOf,
} from "./arm_request.ts";

/** What in the home decides over the guard. */
const OWN_HOME_PARTS = [
  "bin",
  "config.toml",
  "trust.json",
  "harnesses",
  "data/guard",
];

/** Options of {@linkcode armGuard}. */
export interface ArmOptions {
  /** The harness, for example `claude-code`. */
  harness: string;
  /** The workspace the agent works in: the root it may write. */
  root: string;
  /** Further roots. */
  roots?: readonly string[];
  /**
   * How long the guard stays armed, in milliseconds.
   *
   * @default {21600000}
   */
  ttlMs?: number;
  /**
   * Stage the pinned old bytes: temp is a root, no hints, no log, the old hook form.
   *
   * @default {false}
   */
  compat?: boolean;
  /** The Bulkhead home; found from the environment when absent. */
  home?: string;
  /** The executable that the harness starts; the home's shim when absent. */
  exe?: string;
  /** The harness's version, so that newer hook forms can be used. */
  version?: string;
  /**
   * Append an inside alternative to reasons.
   *
   * @default {true}
   */
  hints?: boolean;
  /**
   * Deny what the hook cannot judge.
   *
   * @default {false}
   */
  failClosed?: boolean;
  /**
   * Run the staged command once and refuse to arm unless it denies.
   *
   * @default {true}
   */
  selfCheck?: boolean;
  /**
   * Bundle the hook's modules, see {@linkcode ShimOptions}.
   *
   * @default {true}
   */
  bundle?: boolean;
  /** Milliseconds since the epoch. */
  now?: number;
}

/** What arming left behind. */
export interface ArmedGuard {
  /** The harness. */
  harness: string;
  /** The marker. */
  markerPath: string;
  /** The manifest. */
  manifestPath: string;
  /** The file that holds the hook. */
  hookPath: string;
  /** The roots that may be written. */
  allowedRoots: string[];
  /** When the guard stops judging, ISO. */
  expiresAt: string;
  /** The executable that is staged. */
  exe: string;
  /** Lines for a person. */
  notices: string[];
}

/**
 * Arms the guard in a workspace: manifest with the original bytes, marker, hook. Each step is
 * crash-safe, and {@linkcode teardownGuard} restores the original from any of them.
 *
 * Needs `--allow-read`, `--allow-write`, `--allow-env` and, for the self-check, `--allow-run`.
 *
 * @param options Which harness, where, for how long.
 * @returns What was staged.
 * @throws {Deno.errors.AlreadyExists} When the workspace is armed already.
 * @throws {HookFileError} When the hook file cannot be merged; nothing was written then.
 * @throws {SelfCheckError} When the staged command does not deny; everything was restored then.
 *
 * @example
 * ```ts
 * import { armGuard, teardownGuard } from "@bulkhead/guard";
 * import { assert } from "@std/assert";
 *
 * const root = await Deno.makeTempDir();
 * const home = await Deno.makeTempDir();
 * const armed = await armGuard({ harness: "claude-code", root, home });
 * assert((await Deno.stat(armed.markerPath)).isFile);
 * await teardownGuard(root, { home });
 * await Deno.remove(root, { recursive: true });
 * await Deno.remove(home, { recursive: true });
 * ```
 */
export async function armGuard(options: ArmOptions): Promise<ArmedGuard> {
  return await namedPermissions("Arming the guard", () => arm(options));
}

/** Arms, without naming permissions. */
async function arm(options: ArmOptions): Promise<ArmedGuard> {
  const compat = options.compat === true;
  requireGrants(options);
  const root = await existingRoot(options.root);
  const home = normalizePath(
    joinPath(Deno.cwd(), bulkheadHome(options.home)),
  );
  const { harness, guard, tools } = await guardedHarness(options.harness, home);
  const places = placesOf(harness, guard, root);
  const allowedRoots = rootsOf(options, root);

  const original = await readHookFile(places.hook, root);
  if (await exists(places.manifest)) throw alreadyArmed(harness, places);
  const notices = [...original.notices];
  const exe = options.exe ?? await writeShim(home, {
    bundle: options.bundle,
  });
  const warning = options.exe === undefined && runtimeWarning(Deno.execPath());
  if (warning) notices.push(warning);
  const armedText = renderHookFile(
    guard,
    original.text,
    { exe, marker: places.marker },
    { compat, version: options.version, failClosed: options.failClosed },
  );

  const now = options.now ?? Date.now();
  const expiresAt = expiryOf(now, options.ttlMs ?? GUARD_TTL_MS);
  const marker: GuardMarker = { active: true, allowedRoots, expiresAt };
  const denialLog = `${root}/${DENIALS_DIR}/${DENIALS_FILE}`;
  if (!compat) {
    marker.denialLogPath = denialLog;
    // What lies outside every root is denied anyway.
    const resolvedRoots = allowedRoots.map((one) => resolveTarget(one, "/"));
    marker.protectedPaths = [
      places.marker,
      places.manifest,
      places.hook,
      denialLog,
      ...[
        original.target,
        exe,
        ...OWN_HOME_PARTS.map((part) => `${home}/${part}`),
      ].filter((path) =>
        path !== places.hook &&
        resolvedRoots.some((one) => isInside(resolveTarget(path, "/"), one))
      ),
    ];
    if (original.text !== undefined && await isTracked(places.hook)) {
      marker.trackedPaths = [places.hook];
      notices.push(
        `"${places.hook}" is tracked by git: while armed the agent is denied what would put its committed text back (stash, reset --hard, checkout .); do not run that yourself either`,
      );
    }
    marker.hints = options.hints ?? true;
    if (options.failClosed) marker.failClosed = true;
    if (tools !== undefined) marker.tools = tools;
  }

  const absent: string[] = [];
  for (const dir of harness.emptyLeftovers ?? []) {
    if (!await exists(`${root}/${dir}`)) absent.push(dir);
  }
  const created = [
    ...await makeDirs(root, harness.speech?.skillsDir ?? ""),
    ...await makeDirs(root, directoryOf(hookFileOf(guard))),
  ];
  const manifest: GuardManifest = {
    created_at: new Date(now).toISOString(),
    settings_path: places.hook,
    settings_existed: original.text !== undefined,
    settings_backup: original.text ?? null,
    marker_path: places.marker,
    ...compat ? {} : {
      bulkhead: {
        schema: MANIFEST_SCHEMA,
        harness: harness.label,
        created_dirs: created,
        absent_dirs: absent,
        armed_sha256: await sha256(armedText),
        settings_mode: original.mode ?? null,
      },
    },
  };
  // The manifest first: from here on every state can be undone. Its exclusive creation also
  // decides between two that arm at the same moment.
  if (!await writeExclusive(places.manifest, pretty(manifest))) {
    throw alreadyArmed(harness, places);
  }
  try {
    if (!compat) {
      await startDenialLog(harness, root, denialLog, now);
      const own = [places.marker, places.manifest, places.hook].map((path) =>
        path.slice(root.length + 1)
      );
      await addExclude(root, harness.label, [...own, `${DENIALS_DIR}/`]);
    }
    await writeFileAtomic(places.marker, pretty(marker), { mode: 0o644 });
    await writeFileAtomic(original.target, armedText, {
      mode: original.mode ?? 0o644,
    });
    if (options.selfCheck !== false) {
      await selfCheck({ harness, guard, places, allowedRoots });
    }
  } catch (error) {
    await teardownHarness(harness, root, home).catch(() => {});
    throw error;
  }
  notices.push(...harness.notes);
  return {
    harness: harness.label,
    markerPath: places.marker,
    manifestPath: places.manifest,
    hookPath: places.hook,
    allowedRoots,
    expiresAt,
    exe,
    notices,
  };
}

/** Refuses to arm twice: the armed file would become the backup. */
function alreadyArmed(
  harness: HarnessDescriptor,
  places: GuardPlaces,
): Deno.errors.AlreadyExists {
  return new Deno.errors.AlreadyExists(
    `Cannot arm ${harness.label}: a manifest lies at "${places.manifest}"; run \`bulkhead guard teardown\` in that workspace first`,
  );
}

/** An empty log, unless another guard of this workspace still writes to it. */
async function startDenialLog(
  harness: HarnessDescriptor,
  root: string,
  path: string,
  now: number,
): Promise<void> {
  const directory = directoryOf(path);
  if (!isInside(resolveTarget(directory, "/"), resolveTarget(root, "/"))) {
    throw new TypeError(
      `Cannot start the denial log "${path}": its directory is a link that leaves the workspace; remove the link`,
    );
  }
  await Deno.mkdir(directory, { recursive: true });
  const shared = HARNESSES.some((other) => {
    if (other.guard === undefined || other.label === harness.label) {
      return false;
    }
    const marker = readMarker(placesOf(other, other.guard, root).marker);
    return isArmed(marker, now) && marker?.denialLogPath === path;
  });
  if (!shared) await writeFileAtomic(path, "", { mode: 0o600 });
}

/** JSON as the files on disk have it. */
function pretty(value: unknown): string {
  return JSON.stringify(value, null, 2) + "\n";
}

/** Says whether anything is there, a dangling link included. */
async function exists(path: string): Promise<boolean> {
  try {
    await Deno.lstat(path);
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}
