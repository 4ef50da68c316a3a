/**
 * The armed marker: the small JSON file that tells a hook process which roots the agent may
 * write and until when. A hook without a live marker allows everything.
 *
 * This file is on the hook's hot path: no dependencies, synchronous reads.
 *
 * @module
 */

/** Name of the marker file inside a harness's skills directory. */
export const GUARD_MARKER = ".slow-powers-eval-guard.json";

/** Name of the manifest file that stands beside the marker. */
export const GUARD_MANIFEST = ".slow-powers-eval-guard-manifest.json";

/** Life time of an armed guard unless another one is asked for: six hours. */
export const GUARD_TTL_MS: number = 6 * 60 * 60 * 1000;

/** The longest marker that is accepted. */
export const MAX_MARKER_BYTES = 1_048_576;

/** Tool names by what they do, added to the built-in vocabularies. */
export interface MarkerTools {
  /** Tools that write the file they name. */
  write?: string[];
  /** Tools that apply a patch body. */
  patch?: string[];
  /** Tools that run a shell command. */
  shell?: string[];
  /** Tools that only read. */
  read?: string[];
}

/** What an armed guard allows. Unknown fields of the file are ignored. */
export interface GuardMarker {
  /** The guard is on only when this is exactly `true`. */
  active?: boolean;
  /** Absolute directories (or files) that may be written. */
  allowedRoots?: string[];
  /** ISO time after which the guard is inert; absent or unreadable means never. */
  expiresAt?: string;
  /** Where the hook appends one line per denial. */
  denialLogPath?: string;
  /** Paths the guard itself lives in: never writable, inside a root or not. */
  protectedPaths?: string[];
  /** Those of them that git tracks, which a checkout or a stash would put back. */
  trackedPaths?: string[];
  /** Append an inside alternative to reasons. Absent means no. */
  hints?: boolean;
  /** Deny what the hook cannot judge, instead of letting it pass. */
  failClosed?: boolean;
  /** Tool names that user layers add to the built-in vocabularies. */
  tools?: MarkerTools;
}

/**
 * Reads a marker from text.
 *
 * @param text The content of a marker file.
 * @returns The marker, or `undefined` when the text is not an object of the right shape.
 *
 * @example A field of the wrong type disarms
 * ```ts
 * import { parseMarker } from "@bulkhead/guard";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(parseMarker('{"active":true}'), { active: true });
 * assertEquals(parseMarker('{"active":"yes"}'), undefined);
 * ```
 */
export function parseMarker(text: string): GuardMarker | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return undefined;
  }
  const marker: GuardMarker = {};
  const fields = new Map(Object.entries(value));
  for (const name of ["active", "hints", "failClosed"] as const) {
    const field = fields.get(name);
    if (field === undefined || field === null) continue;
    if (typeof field !== "boolean") return undefined;
    marker[name] = field;
  }
  for (const name of ["expiresAt", "denialLogPath"] as const) {
    const field = fields.get(name);
    if (field === undefined || field === null) continue;
    if (typeof field !== "string") return undefined;
    marker[name] = field;
  }
  for (
    const name of ["allowedRoots", "protectedPaths", "trackedPaths"] as const
  ) {
    const field = fields.get(name);
    if (field === undefined || field === null) continue;
    const list = stringList(field);
    if (list === undefined) return undefined;
    marker[name] = list;
  }
  const tools = fields.get("tools");
  if (tools !== undefined && tools !== null) {
    if (typeof tools !== "object" || Array.isArray(tools)) return undefined;
    const kinds = new Map<string, unknown>(Object.entries(tools));
    marker.tools = {};
    for (const kind of ["write", "patch", "shell", "read"] as const) {
      const list = stringList(kinds.get(kind) ?? []);
      if (list === undefined) return undefined;
      if (list.length > 0) marker.tools[kind] = list;
    }
  }
  return marker;
}

/** Narrows to a list of strings. */
function stringList(value: unknown): string[] | undefined {
  if (!Array.isArray(value)) return undefined;
  const list: string[] = [];
  for (const item of value) {
    if (typeof item !== "string") return undefined;
    list.push(item);
  }
  return list;
}

/** Reads a marker file; `undefined` when it is missing, unreadable, too large or not a marker. */
export function readMarkerSync(path: string): GuardMarker | undefined {
  try {
    // No look at the file first: that costs more than reading it, on every tool call.
    const text = Deno.readTextFileSync(path);
    return text.length > MAX_MARKER_BYTES ? undefined : parseMarker(text);
  } catch (error) {
    // A missing grant is not a missing marker: the caller decides what that means.
    if (error instanceof Deno.errors.NotCapable) throw error;
    return undefined;
  }
}

/** An RFC 3339 time: anything looser counts as unreadable, and an unreadable expiry never expires. */
const RFC3339 =
  /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/;

/**
 * Says whether a marker arms the guard now.
 *
 * @param marker The marker, if there is one.
 * @param now Milliseconds since the epoch.
 * @returns `true` when it is active and not expired; a time equal to `now` counts as expired.
 *
 * @example
 * ```ts
 * import { isArmed } from "@bulkhead/guard";
 * import { assert, assertFalse } from "@std/assert";
 *
 * assert(isArmed({ active: true }, 0));
 * assertFalse(isArmed({ active: true, expiresAt: "1970-01-01T00:00:00.005Z" }, 5));
 * ```
 */
export function isArmed(marker: GuardMarker | undefined, now: number): boolean {
  if (marker?.active !== true) return false;
  if (marker.expiresAt === undefined) return true;
  if (!RFC3339.test(marker.expiresAt)) return true;
  const expires = Date.parse(marker.expiresAt);
  return Number.isNaN(expires) || expires > now;
}
