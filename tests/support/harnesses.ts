/**
 * Finds the pinned agent programs for tests that drive the real binaries.
 *
 * @module
 */
import {
  FETCH_COMMAND,
  harnessBuild,
  harnessDir,
  type HarnessName,
  harnessPin,
  harnessPlatform,
} from "../../scripts/harness_pins.ts";

const told = new Set<string>();

/**
 * Finds a pinned program. Without it one line is printed that names the install command, and the
 * caller skips its tests; under `CI=true` a missing program is an error.
 *
 * ```ts ignore
 * const claude = await findHarness("claude");
 * Deno.test({ name: "…", ignore: claude === undefined, fn: () => drive(claude!) });
 * ```
 *
 * @param name Of the program.
 * @returns The absolute path of the native binary, or `undefined` when the tests are to be skipped.
 */
export async function findHarness(
  name: HarnessName,
): Promise<string | undefined> {
  const pin = harnessPin(name);
  const build = harnessBuild(pin);
  const path = build && `${harnessDir(pin)}/${build.binary}`;
  if (path !== undefined) {
    try {
      if ((await Deno.stat(path)).isFile) return path;
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
  }
  const line = build === undefined
    ? `no ${pin.title} ${pin.version} is pinned for ${harnessPlatform()}`
    : `${pin.title} ${pin.version} is not installed: run "${FETCH_COMMAND} ${name}"`;
  if (Deno.env.get("CI") === "true") {
    throw new Error(`Cannot run the ${name} tests: ${line}`);
  }
  if (!told.has(name)) {
    told.add(name);
    await Deno.stderr.write(new TextEncoder().encode(`skipped: ${line}\n`));
  }
  return undefined;
}

export type { HarnessName };
