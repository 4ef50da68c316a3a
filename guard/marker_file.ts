import { namePermission } from "@bulkhead/sandbox";
import { type GuardMarker, readMarkerSync } from "./marker.ts";

/**
 * Reads a marker file.
 *
 * Needs `--allow-read` of the file.
 *
 * @param path Where the marker lies.
 * @returns The marker, or `undefined` when it is missing, unreadable, too large or not a marker.
 * @throws {PermissionRequiredError} When reading is not granted.
 *
 * @example
 * ```ts
 * import { readMarker } from "@bulkhead/guard";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(readMarker("/nonexistent/marker.json"), undefined);
 * ```
 */
export function readMarker(path: string): GuardMarker | undefined {
  try {
    // A pipe in its place would keep the reader waiting.
    return Deno.statSync(path).isFile ? readMarkerSync(path) : undefined;
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable) {
      throw namePermission("Reading the marker", error);
    }
    return undefined;
  }
}
