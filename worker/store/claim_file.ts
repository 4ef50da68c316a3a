/**
 * One claim as a file: its name is its key, its text is YAML, and it changes only by link and rename.
 *
 * @module
 */
import { readTextCapped, reasonOf } from "@bulkhead/sandbox";
import { readYaml, writeYaml, type YamlScalar } from "./yaml.ts";

/** What a claim file says. */
export interface Claim {
  /** Format of the file. */
  readonly schemaVersion: number;
  /** What is claimed, such as `session:<uuid>`. */
  readonly key: string;
  /** Who claims it, such as `stream:<short id>`. */
  readonly holder: string;
  /** When, in ms since the epoch. */
  readonly acquiredAt: number;
  /** The process whose life is the claim's. */
  readonly pid: number;
  /** The host's name. */
  readonly host: string;
  /** Until when, in ms; absent = as long as the process lives. */
  readonly expiresAt?: number;
  /** Why. */
  readonly reason?: string;
  /** For which harness. */
  readonly harness?: string;
  /** Which machine, more surely than by its name. */
  readonly machineId?: string;
  /** Further facts. */
  readonly metadata?: Readonly<Record<string, YamlScalar>>;
}

/** Where claims are. */
export interface ClaimPlace {
  /**
   * The directory above `.fno/claims`.
   *
   * @default `$FNO_CLAIMS_ROOT`, else `$HOME`
   */
  readonly root?: string;
}

/** The format of the files that are written. */
export const CLAIM_SCHEMA = 1;

const MAX_KEY = 256;
const MAX_NAME = 240;
const MAX_FILE = 64 * 1024;

/**
 * The path of a key's claim file.
 *
 * @param key What is claimed.
 * @param options Where claims are.
 * @returns The path.
 * @throws {RangeError} When the key cannot be a file name.
 * @throws {Deno.errors.NotFound} When no root is known.
 *
 * @example
 * ```ts
 * import { claimPath } from "@bulkhead/worker";
 * import { assertEquals } from "@std/assert";
 *
 * const path = claimPath("session:0b54", { root: "/home/a" });
 * assertEquals(path, "/home/a/.fno/claims/session%3A0b54.lock");
 * ```
 */
export function claimPath(key: string, options: ClaimPlace = {}): string {
  const bytes = new TextEncoder().encode(key);
  if (key === "" || bytes.length > MAX_KEY) {
    throw new RangeError(
      `Cannot claim "${
        key.slice(0, 40)
      }": the key has ${bytes.length} bytes, want 1 to ${MAX_KEY}`,
    );
  }
  const name = Array.from(bytes, (byte) => {
    const char = String.fromCharCode(byte);
    return /[A-Za-z0-9._~-]/.test(char)
      ? char
      : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  }).join("");
  if (name.length > MAX_NAME) {
    throw new RangeError(
      `Cannot claim "${
        key.slice(0, 40)
      }": its file name would have ${name.length} bytes, at most ${MAX_NAME} are accepted`,
    );
  }
  return `${claimsDirectory(options)}/${name}.lock`;
}

function claimsDirectory(options: ClaimPlace): string {
  const root = options.root || Deno.env.get("FNO_CLAIMS_ROOT") ||
    Deno.env.get("HOME");
  if (!root) {
    throw new Deno.errors.NotFound(
      "Cannot find the claims: neither FNO_CLAIMS_ROOT nor HOME is set; set FNO_CLAIMS_ROOT",
    );
  }
  return `${root.replace(/\/+$/, "")}/.fno/claims`;
}

/**
 * Reads a claim.
 *
 * @param key What is claimed.
 * @param options Where claims are.
 * @returns The claim; `undefined` when there is none.
 * @throws {SyntaxError} When the file cannot be read or is of a newer format.
 */
export async function readClaim(
  key: string,
  options: ClaimPlace = {},
): Promise<Claim | undefined> {
  return await readClaimFile(claimPath(key, options));
}

/**
 * Reads the claim of a path.
 *
 * @param path The file.
 * @returns The claim; `undefined` when there is none.
 * @throws {SyntaxError} When the file cannot be read or is of a newer format.
 */
export async function readClaimFile(path: string): Promise<Claim | undefined> {
  let text: string;
  try {
    text = await readTextCapped(path, MAX_FILE);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
  try {
    return parse(text);
  } catch (cause) {
    const why = reasonOf(cause);
    throw new SyntaxError(
      `Cannot read the claim "${path}": ${why}; look at it and remove it by hand if nobody writes that session`,
      { cause },
    );
  }
}

function parse(text: string): Claim {
  const fields = readYaml(text);
  const string = (name: string): string | undefined => {
    const value = fields.get(name);
    if (value === undefined || value === null || value instanceof Map) {
      return undefined;
    }
    return String(value);
  };
  const number = (name: string): number | undefined => {
    const value = fields.get(name);
    return typeof value === "number" && Number.isFinite(value)
      ? value
      : undefined;
  };
  const need = <T>(name: string, value: T | undefined): T => {
    if (value === undefined || value === "") {
      throw new SyntaxError(`"${name}" is missing`);
    }
    return value;
  };
  const schemaVersion = need("schema_version", number("schema_version"));
  if (schemaVersion > CLAIM_SCHEMA) {
    throw new SyntaxError(
      `its schema is ${schemaVersion}, this program knows up to ${CLAIM_SCHEMA}`,
    );
  }
  const metadata = fields.get("metadata");
  const optional = {
    expiresAt: number("expires_at"),
    reason: string("reason"),
  };
  return {
    schemaVersion,
    key: need("key", string("key")),
    holder: need("holder", string("holder")),
    acquiredAt: need("acquired_at", number("acquired_at")),
    pid: need("pid", number("pid")),
    host: string("host") ?? "",
    ...optional.expiresAt === undefined
      ? {}
      : { expiresAt: optional.expiresAt },
    ...optional.reason === undefined ? {} : { reason: optional.reason },
    ...string("harness") === undefined ? {} : { harness: string("harness") },
    ...string("machine_id") === undefined
      ? {}
      : { machineId: string("machine_id") },
    ...metadata instanceof Map && metadata.size > 0
      ? { metadata: Object.fromEntries(metadata) }
      : {},
  };
}

function serialize(claim: Claim): string {
  const { metadata } = claim;
  return writeYaml([
    ["schema_version", claim.schemaVersion],
    ["key", claim.key],
    ["holder", claim.holder],
    ["acquired_at", claim.acquiredAt],
    ["pid", claim.pid],
    ["host", claim.host],
    ["expires_at", claim.expiresAt],
    ["reason", claim.reason],
    ["harness", claim.harness],
    ["machine_id", claim.machineId],
    [
      "metadata",
      metadata === undefined || Object.keys(metadata).length === 0
        ? undefined
        : metadata,
    ],
  ]);
}

/**
 * Publishes a whole file under a name that must be free.
 *
 * @param path The file.
 * @param claim What it says.
 * @returns False when the name is taken.
 */
export async function createClaimFile(
  path: string,
  claim: Claim,
): Promise<boolean> {
  const dir = path.slice(0, path.lastIndexOf("/"));
  for (let made = false;; made = true) {
    const temporary = `${dir}/.claim-tmp-${crypto.randomUUID()}`;
    try {
      await Deno.writeTextFile(temporary, serialize(claim), {
        createNew: true,
        mode: 0o600,
      });
      await Deno.link(temporary, path);
      return true;
    } catch (error) {
      if (error instanceof Deno.errors.AlreadyExists) return false;
      if (made || !(error instanceof Deno.errors.NotFound)) throw error;
      await Deno.mkdir(dir, { recursive: true });
    } finally {
      await Deno.remove(temporary).catch(() => {});
    }
  }
}

/**
 * Puts a claim in the place of the one that is there.
 *
 * @param path The file.
 * @param claim What it says.
 */
export async function replaceClaimFile(
  path: string,
  claim: Claim,
): Promise<void> {
  const temporary = `${path}.tmp.${crypto.randomUUID()}`;
  try {
    await Deno.writeTextFile(temporary, serialize(claim), {
      createNew: true,
      mode: 0o600,
    });
    await Deno.rename(temporary, path);
  } catch (error) {
    await Deno.remove(temporary).catch(() => {});
    throw error;
  }
}

/**
 * Keeps a dead claim aside before another takes its place.
 *
 * @param path The file.
 */
export async function archiveClaimFile(path: string): Promise<void> {
  const at = path.lastIndexOf("/");
  const dir = `${path.slice(0, at)}/.expired`;
  const name = path.slice(at + 1).replace(/\.lock$/, "");
  await Deno.mkdir(dir, { recursive: true });
  await Deno.link(path, `${dir}/${name}.${Date.now()}.lock`);
}
