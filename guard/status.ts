import { namedPermissions, readTextCapped } from "@bulkhead/sandbox";
import { joinPath, normalizePath } from "@bulkhead/sandbox/paths";
import { countDenials, type DenialCounts, readDenials } from "./denial_log.ts";
import { DENIALS_DIR, DENIALS_FILE } from "./denials.ts";
import { HARNESSES } from "./harnesses/mod.ts";
import type { GuardSection, HarnessDescriptor } from "./harnesses/types.ts";
import { stagedCommand } from "./hook_file.ts";
import { readHookFile } from "./files.ts";
import { MAX_MANIFEST_BYTES, parseManifestText } from "./manifest.ts";
import { type GuardMarker, isArmed } from "./marker.ts";
import { readMarker } from "./marker_file.ts";
import { type GuardPlaces, placesOf } from "./places.ts";
import { selfCheck, SelfCheckError } from "./self_check.ts";
import { findSwitches, type HookSwitch, SWITCH_VARIABLES } from "./switches.ts";

/** Options of {@linkcode guardStatus}. */
export interface StatusOptions {
  /**
   * Run each staged command again.
   *
   * @default {true}
   */
  selfCheck?: boolean;
  /** Milliseconds since the epoch. */
  now?: number;
  /** Environment variables, instead of the process's own. */
  env?: Readonly<Record<string, string | undefined>>;
  /** Directory of managed settings, instead of the system's. */
  managedDir?: string;
}

/** The guard of one harness in a workspace. */
export interface HarnessStatus {
  /** The harness. */
  harness: string;
  /** The guard judges calls: marker live, hook staged, nothing known that switches it off. */
  armed: boolean;
  /** The marker's state. */
  marker: "absent" | "armed" | "expired" | "inactive" | "damaged";
  /** The manifest's state. */
  manifest: "absent" | "ok" | "damaged" | "newer";
  /** Whether the hook file holds our hook. */
  hook: "absent" | "staged";
  /** When the guard stops judging. */
  expiresAt?: string;
  /** The roots that may be written. */
  allowedRoots?: string[];
  /** The settings that keep the hook from running. */
  switches: HookSwitch[];
  /** What the staged command did with an outside write. */
  selfCheck: "passed" | "failed" | "skipped";
  /** What is wrong, each with what to do. */
  problems: string[];
}

/** The guards of a workspace. */
export interface GuardStatus {
  /** The workspace. */
  root: string;
  /** Whether any harness's guard judges calls. */
  armed: boolean;
  /** Every harness that has a part of a guard here. */
  harnesses: HarnessStatus[];
  /** What the denial log counts. */
  denials: DenialCounts;
}

/**
 * Looks at the guards of a workspace: marker, manifest, hook, the settings that could switch
 * hooks off, and whether the staged command still denies.
 *
 * Needs `--allow-read`, `--allow-env`, and `--allow-run` for the self-check.
 *
 * @param root The workspace.
 * @param options Self-check, clock.
 * @returns What was found.
 *
 * @example
 * ```ts
 * import { guardStatus } from "@bulkhead/guard";
 * import { assertEquals } from "@std/assert";
 *
 * const root = await Deno.makeTempDir();
 * assertEquals((await guardStatus(root)).armed, false);
 * await Deno.remove(root);
 * ```
 */
export async function guardStatus(
  root: string,
  options: StatusOptions = {},
): Promise<GuardStatus> {
  return await namedPermissions("Looking at the guard", async () => {
    const absolute = normalizePath(joinPath(Deno.cwd(), root));
    const harnesses: HarnessStatus[] = [];
    let log = `${absolute}/${DENIALS_DIR}/${DENIALS_FILE}`;
    for (const harness of HARNESSES) {
      if (harness.guard === undefined) continue;
      const places = placesOf(harness, harness.guard, absolute);
      const marker = readMarker(places.marker);
      log = marker?.denialLogPath ?? log;
      const found = await lookAt(
        { harness, guard: harness.guard, places, marker, root: absolute },
        options,
      );
      if (found !== undefined) harnesses.push(found);
    }
    const { records } = await readDenials(log);
    return {
      root: absolute,
      armed: harnesses.some((one) => one.armed),
      harnesses,
      denials: countDenials(records),
    };
  });
}

/** What one harness has in the workspace. */
interface Subject {
  harness: HarnessDescriptor;
  guard: GuardSection;
  places: GuardPlaces;
  marker: GuardMarker | undefined;
  root: string;
}

/** One harness; `undefined` when it has no part of a guard here. */
async function lookAt(
  subject: Subject,
  options: StatusOptions,
): Promise<HarnessStatus | undefined> {
  const { harness, guard, places, marker, root } = subject;
  const manifest = await manifestState(places.manifest);
  const text = await hookText(places, root);
  const command = text === undefined
    ? undefined
    : stagedCommand(guard, harness.label, text, places.marker);
  const state = await markerState(marker, places, options.now ?? Date.now());
  if (state === "absent" && manifest === "absent" && command === undefined) {
    return undefined;
  }
  const problems: string[] = [];
  if (state !== "armed") {
    problems.push(
      `the marker is ${state}: calls are not judged; tear down and arm again`,
    );
  }
  if (manifest !== "ok") {
    problems.push(
      `the manifest is ${manifest}: run \`bulkhead guard teardown\``,
    );
  }
  if (command === undefined) {
    problems.push(
      `"${places.hook}" holds no hook of ours: tear down and arm again`,
    );
  }
  const env = options.env ?? environment();
  const switches = await findSwitches(harness.label, {
    root,
    env,
    ...env.HOME ? { userHome: env.HOME } : {},
    ...options.managedDir === undefined
      ? {}
      : { managedDir: options.managedDir },
  });
  for (const one of switches) problems.push(`${one.source}: ${one.problem}`);
  let checked: HarnessStatus["selfCheck"] = "skipped";
  if (
    options.selfCheck !== false && state === "armed" && command !== undefined
  ) {
    try {
      await selfCheck({
        harness,
        guard,
        places,
        allowedRoots: marker?.allowedRoots ?? [],
      });
      checked = "passed";
    } catch (error) {
      if (!(error instanceof SelfCheckError)) throw error;
      checked = "failed";
      problems.push(error.message);
    }
  }
  return {
    harness: harness.label,
    armed: state === "armed" && command !== undefined &&
      checked !== "failed" && !switches.some((one) => one.effect === "off"),
    marker: state,
    manifest,
    hook: command === undefined ? "absent" : "staged",
    ...marker?.expiresAt === undefined ? {} : { expiresAt: marker.expiresAt },
    ...marker?.allowedRoots === undefined
      ? {}
      : { allowedRoots: marker.allowedRoots },
    switches,
    selfCheck: checked,
    problems,
  };
}

/** The marker's state. */
async function markerState(
  marker: GuardMarker | undefined,
  places: GuardPlaces,
  now: number,
): Promise<HarnessStatus["marker"]> {
  if (marker === undefined) {
    return await exists(places.marker) ? "damaged" : "absent";
  }
  if (isArmed(marker, now)) return "armed";
  return marker.active === true ? "expired" : "inactive";
}

/** The manifest's state. */
async function manifestState(
  path: string,
): Promise<HarnessStatus["manifest"]> {
  let text: string;
  try {
    text = await readTextCapped(path, MAX_MANIFEST_BYTES);
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable) throw error;
    return await exists(path) ? "damaged" : "absent";
  }
  const { kind } = parseManifestText(text);
  return kind === "corrupt" ? "damaged" : kind === "missing" ? "absent" : kind;
}

/** The hook file's text, if it can be read. */
async function hookText(
  places: GuardPlaces,
  root: string,
): Promise<string | undefined> {
  try {
    return (await readHookFile(places.hook, root)).text;
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable) throw error;
    return undefined;
  }
}

/** Says whether anything is there. */
async function exists(path: string): Promise<boolean> {
  try {
    await Deno.lstat(path);
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable) throw error;
    return false;
  }
}

/** The variables that decide where settings lie and whether hooks run. */
function environment(): Record<string, string | undefined> {
  const found: Record<string, string | undefined> = {};
  for (const name of SWITCH_VARIABLES) found[name] = Deno.env.get(name);
  return found;
}
