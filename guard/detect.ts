import { findExecutable, namedPermissions, run } from "@bulkhead/sandbox";
import { normalizePath } from "@bulkhead/sandbox/paths";
import type { HarnessDescriptor } from "./harnesses/types.ts";

/** Milliseconds that a program gets to say its version. */
const VERSION_MS = 10_000;

/** An installed harness. */
export interface DetectedHarness {
  /** The program. */
  readonly path: string;
  /** Its version, when it said one. */
  readonly version?: string;
}

/**
 * Finds a harness's program on `PATH` and asks for its version.
 *
 * Needs `--allow-env`, `--allow-read` and `--allow-run`.
 *
 * @param harness The harness.
 * @param program Another program than the usual one.
 * @returns Where it is, or `undefined` when it is not installed.
 *
 * @example
 * ```ts
 * import { detectHarness, harnessByLabel } from "@bulkhead/guard";
 * import { assertEquals } from "@std/assert";
 *
 * const codex = harnessByLabel("codex");
 * assertEquals(codex && await detectHarness(codex, "/nonexistent/codex"), undefined);
 * ```
 */
export async function detectHarness(
  harness: HarnessDescriptor,
  program: string = harness.program,
): Promise<DetectedHarness | undefined> {
  return await namedPermissions(
    `Looking for "${program}"`,
    () => detect(program),
  );
}

/** Finds and asks. */
async function detect(program: string): Promise<DetectedHarness | undefined> {
  // Without a PATH nothing is installed, whatever a shell would fall back to.
  const found = findExecutable(
    program,
    Deno.cwd(),
    Deno.env.get("PATH") ?? "",
  );
  if (found === undefined) {
    throw new Deno.errors.NotCapable(
      "Requires read access to PATH, run again with the --allow-read flag",
    );
  }
  if (found === null) return undefined;
  const path = normalizePath(found);
  try {
    const { stdout, stderr } = await run([path, "--version"], {
      timeoutMs: VERSION_MS,
      maxBytes: 4096,
    });
    const version = /\d+\.\d+\.\d+/.exec(stdout + stderr)?.[0];
    return version === undefined ? { path } : { path, version };
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable) throw error;
    return { path };
  }
}
