// deno-lint-ignore-file camelcase -- field names of the file on disk
/**
 * The manifest beside the marker: what arming changed, so that teardown can restore it.
 *
 * @module
 */

/** The manifest's content. The first five fields are an on-disk contract. */
export interface GuardManifest {
  /** When the guard was armed. */
  created_at: string;
  /** The file that holds the hook. */
  settings_path: string;
  /** Whether that file was there before. */
  settings_existed: boolean;
  /** Its original text. */
  settings_backup: string | null;
  /** The marker. */
  marker_path: string;
  /** What Bulkhead adds; absent in a manifest of the pinned old form. */
  bulkhead?: ManifestExtension;
}

/** What Bulkhead remembers besides. */
export interface ManifestExtension {
  /** Version of this extension. */
  schema: number;
  /** The harness that was armed. */
  harness: string;
  /** Directories that arming made, relative to the root, the outermost first. */
  created_dirs: string[];
  /** Directories that were not there and that the harness may leave behind empty. */
  absent_dirs: string[];
  /** SHA-256 of the hook file as armed, to notice later changes. */
  armed_sha256: string;
  /** Permission bits of the hook file as found. */
  settings_mode: number | null;
}

/** The version of the extension that is written. */
export const MANIFEST_SCHEMA = 1;

/** Most bytes of a manifest. */
export const MAX_MANIFEST_BYTES: number = 16 * 1024 * 1024;

/** What reading a manifest can find. */
export type ManifestReading =
  | { readonly kind: "missing" }
  | { readonly kind: "corrupt"; readonly detail: string }
  | { readonly kind: "newer"; readonly schema: number }
  | { readonly kind: "ok"; readonly manifest: GuardManifest };

/**
 * Reads a manifest from text.
 *
 * @param text The file's content.
 * @returns The manifest, or what is wrong with it.
 *
 * @example
 * ```ts
 * import { parseManifestText } from "@bulkhead/guard";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(parseManifestText("{").kind, "corrupt");
 * ```
 */
export function parseManifestText(text: string): ManifestReading {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { kind: "corrupt", detail: "it is not JSON" };
  }
  const fields = fieldsOf(value);
  if (fields === undefined) {
    return { kind: "corrupt", detail: "it is not an object" };
  }
  const created = fields.get("created_at");
  const settings = fields.get("settings_path");
  const existed = fields.get("settings_existed");
  const backup = fields.get("settings_backup") ?? null;
  const marker = fields.get("marker_path");
  if (
    typeof created !== "string" || typeof settings !== "string" ||
    typeof existed !== "boolean" || typeof marker !== "string" ||
    (backup !== null && typeof backup !== "string")
  ) {
    return {
      kind: "corrupt",
      detail: "a field is missing or has another type",
    };
  }
  const manifest: GuardManifest = {
    created_at: created,
    settings_path: settings,
    settings_existed: existed,
    settings_backup: backup,
    marker_path: marker,
  };
  const extension = fieldsOf(fields.get("bulkhead"));
  if (extension === undefined) return { kind: "ok", manifest };
  const schema = extension.get("schema");
  if (typeof schema === "number" && schema > MANIFEST_SCHEMA) {
    return { kind: "newer", schema };
  }
  const parsed = parseExtension(extension);
  if (parsed === undefined) {
    return { kind: "corrupt", detail: "its bulkhead part is damaged" };
  }
  return { kind: "ok", manifest: { ...manifest, bulkhead: parsed } };
}

/** Narrows our part. */
function parseExtension(
  fields: Map<string, unknown>,
): ManifestExtension | undefined {
  const schema = fields.get("schema");
  const harness = fields.get("harness");
  const created = relativeDirs(fields.get("created_dirs"));
  const absent = relativeDirs(fields.get("absent_dirs") ?? []);
  const hash = fields.get("armed_sha256");
  const mode = fields.get("settings_mode") ?? null;
  if (
    typeof schema !== "number" || typeof harness !== "string" ||
    typeof hash !== "string" || created === undefined || absent === undefined ||
    (mode !== null && typeof mode !== "number")
  ) return undefined;
  return {
    schema,
    harness,
    created_dirs: created,
    absent_dirs: absent,
    armed_sha256: hash,
    settings_mode: mode,
  };
}

/** Narrows to directories that cannot leave the root. */
function relativeDirs(value: unknown): string[] | undefined {
  if (!Array.isArray(value)) return undefined;
  const dirs: string[] = [];
  for (const dir of value) {
    if (
      typeof dir !== "string" ||
      dir.split("/").some((part) => ["", ".", ".."].includes(part))
    ) return undefined;
    dirs.push(dir);
  }
  return dirs;
}

/** Narrows to an object's fields. */
function fieldsOf(value: unknown): Map<string, unknown> | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? new Map(Object.entries(value))
    : undefined;
}
