import { namedPermissions, run } from "@bulkhead/sandbox";
import { joinPath, normalizePath } from "@bulkhead/sandbox/paths";
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
  const path = await findProgram(program);
  if (path === undefined) return undefined;
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

/** The first executable of that name on `PATH`. */
async function findProgram(program: string): Promise<string | undefined> {
  const candidates = program.includes("/")
    ? [normalizePath(joinPath(Deno.cwd(), program))]
    : (Deno.env.get("PATH") ?? "").split(":").filter((dir) =>
      dir.startsWith("/")
    ).map((dir) => `${dir}/${program}`);
  for (const candidate of candidates) {
    try {
      const info = await Deno.stat(candidate);
      if (info.isFile && ((info.mode ?? 0o111) & 0o111) !== 0) return candidate;
    } catch (error) {
      if (error instanceof Deno.errors.NotCapable) throw error;
    }
  }
  return undefined;
}
