/**
 * Claim files: one writer for a session, whoever starts it. A claim is a small YAML
 * file whose name is its key; it is live while the process in it lives.
 *
 * @module
 */
import { readTextCapped } from "@bulkhead/sandbox";
import { emitClaimEvent } from "./claim_events.ts";
import { takeMutex } from "./claim_mutex.ts";
import { type Machine, thisMachine } from "./machine.ts";
import { processStart } from "./processes.ts";
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

/** Options of {@linkcode acquireClaim}, {@linkcode releaseClaim} and {@linkcode readClaim}. */
export interface ClaimOptions {
  /** The directory above `.fno/claims`. @default `$FNO_CLAIMS_ROOT`, else `$HOME` */
  readonly root?: string;
  /** The process whose life is the claim's. @default ours */
  readonly pid?: number;
  /** Why. */
  readonly reason?: string;
  /** For which harness. */
  readonly harness?: string;
  /** Further facts. */
  readonly metadata?: Readonly<Record<string, YamlScalar>>;
  /** A claim that ends by time: 60 000 to 86 400 000 ms. @default as long as the process lives */
  readonly ttlMs?: number;
  /**
   * Refuse a claim of the same holder when another process of it lives, other than those in
   * `handoverFrom`: two workers of one name must not both write.
   *
   * @default {false}
   */
  readonly exclusive?: boolean;
  /** Processes that may hand their claim over, such as the parent that took it for us. */
  readonly handoverFrom?: readonly number[];
  /** The directory whose `.fno/events.jsonl` gets audit lines. @default `$FNO_EVENTS_PATH`, else none */
  readonly eventsRoot?: string;
}

/** What became of an attempt to claim. */
export type AcquireOutcome =
  | {
    /** New, taken again, or taken over from a dead holder. */
    readonly kind: "acquired" | "reacquired" | "reclaimed";
    /** The claim as it stands now. */
    readonly claim: Claim;
    /** The claim that was there before. */
    readonly previous?: Claim;
  }
  | {
    /** Somebody else has it. */
    readonly kind: "held";
    /** Their claim. */
    readonly claim: Claim;
  }
  | {
    /** The claim store cannot be used, or the file cannot be read; it was left alone. */
    readonly kind: "error";
    /** What was found, in one line. */
    readonly message: string;
  };

const SCHEMA = 1;
const MAX_KEY = 256;
const MAX_NAME = 240;
const MAX_FILE = 64 * 1024;
const MIN_TTL_MS = 60_000;
const MAX_TTL_MS = 86_400_000;
const ATTEMPTS = 5;
/** The boot time is told in whole seconds. */
const START_SLACK_MS = 1_500;

/**
 * The path of a key's claim file.
 *
 * @param key What is claimed
 * @param options Where claims are
 * @returns The path
 * @throws {RangeError} when the key cannot be a file name
 * @throws {Deno.errors.NotFound} when no root is known
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
export function claimPath(key: string, options: ClaimOptions = {}): string {
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

function claimsDirectory(options: ClaimOptions): string {
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
 * Claims a key. Never throws for what it finds on disk.
 *
 * @param key What to claim
 * @param holder Who claims it
 * @param options For which process, and where
 * @returns What became of it
 *
 * @example One writer
 * ```ts
 * import { acquireClaim, releaseClaim } from "@bulkhead/worker";
 * import { assertEquals } from "@std/assert";
 *
 * const root = await Deno.makeTempDir();
 * assertEquals((await acquireClaim("session:a", "one", { root })).kind, "acquired");
 * assertEquals((await acquireClaim("session:a", "two", { root })).kind, "held");
 * assertEquals(await releaseClaim("session:a", "one", { root }), "released");
 * await Deno.remove(root, { recursive: true });
 * ```
 */
export async function acquireClaim(
  key: string,
  holder: string,
  options: ClaimOptions = {},
): Promise<AcquireOutcome> {
  try {
    const path = claimPath(key, options);
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const outcome = await attemptClaim(path, key, holder, options);
      if (outcome === undefined) continue;
      if (outcome.kind !== "held" && outcome.kind !== "error") {
        await emitClaimEvent(outcome, options.eventsRoot);
      }
      return outcome;
    }
    return failure(`"${path}" changed under us ${ATTEMPTS} times; try again`);
  } catch (error) {
    return failure(error instanceof Error ? error.message : String(error));
  }
}

function failure(message: string): AcquireOutcome {
  return { kind: "error", message };
}

/** One attempt; `undefined` = the file changed meanwhile, look again. */
async function attemptClaim(
  path: string,
  key: string,
  holder: string,
  options: ClaimOptions,
): Promise<AcquireOutcome | undefined> {
  const claim = await newClaim(key, holder, options);
  if (await createExclusive(path, claim)) return { kind: "acquired", claim };
  const found = await read(path);
  if (found === undefined) return undefined;
  if (
    found.holder === holder ? await lostTo(found, options) : await isHeld(found)
  ) {
    return { kind: "held", claim: found };
  }
  await using mutex = await takeMutex(`${path}.recovery.d`);
  if (mutex === undefined) return undefined;
  const again = await read(path);
  if (again === undefined || !sameClaim(found, again)) return undefined;
  if (!await mutex.isHeld()) return undefined;
  if (found.holder === holder) {
    await replace(path, claim);
    return { kind: "reacquired", claim, previous: found };
  }
  await archive(path);
  if (!await createExclusive(path, claim)) return undefined;
  return { kind: "reclaimed", claim, previous: found };
}

/** Whether a claim of our own holder belongs to another living process. */
async function lostTo(found: Claim, options: ClaimOptions): Promise<boolean> {
  if (options.exclusive !== true) return false;
  if (found.pid === (options.pid ?? Deno.pid)) return false;
  if (options.handoverFrom?.includes(found.pid)) return false;
  return await isClaimLive(found);
}

async function isHeld(claim: Claim): Promise<boolean> {
  if (claim.expiresAt !== undefined && Date.now() < claim.expiresAt) {
    return true;
  }
  return await isClaimLive(claim);
}

/**
 * Whether the process of a claim lives on this machine.
 *
 * @param claim The claim
 * @returns False too when it is another machine's
 */
export async function isClaimLive(claim: Claim): Promise<boolean> {
  const machine = await thisMachine();
  const here = claim.machineId !== undefined && machine.machineId !== undefined
    ? claim.machineId === machine.machineId
    : claim.host === machine.host;
  if (!here) return false;
  const start = await processStart(claim.pid);
  if (start === undefined) return false;
  // Ticks since boot do not move with the clock.
  const { boot_id: boot, start_ticks: ticks } = claim.metadata ?? {};
  if (typeof ticks === "number" && boot === machine.bootId) {
    return ticks === start.ticks;
  }
  return start.ms <= claim.acquiredAt + START_SLACK_MS;
}

/**
 * Lets go of a claim, if it is ours. With a `pid`, only while it is that process's: a worker that
 * ends late must not take away its successor's claim.
 *
 * @param key What was claimed
 * @param holder Who claimed it
 * @param options For which process, and where
 * @returns What was found; none of it is a failure
 */
export async function releaseClaim(
  key: string,
  holder: string,
  options: ClaimOptions = {},
): Promise<"released" | "missing" | "not ours" | "unreadable" | "busy"> {
  const path = claimPath(key, options);
  const mine = (claim: Claim) =>
    claim.holder === holder &&
    (options.pid === undefined || claim.pid === options.pid);
  try {
    const found = await read(path);
    if (found === undefined) return "missing";
    if (!mine(found)) return "not ours";
    await using mutex = await takeMutex(`${path}.recovery.d`);
    if (mutex === undefined) return "busy";
    const again = await read(path);
    if (again === undefined) return "missing";
    if (!mine(again)) return "not ours";
    await Deno.remove(path);
    await emitClaimEvent(
      { kind: "released", claim: again },
      options.eventsRoot,
    );
    return "released";
  } catch {
    return "unreadable";
  }
}

/**
 * Reads a claim.
 *
 * @param key What is claimed
 * @param options Where claims are
 * @returns The claim; `undefined` when there is none
 * @throws {SyntaxError} when the file cannot be read or is of a newer format
 */
export async function readClaim(
  key: string,
  options: ClaimOptions = {},
): Promise<Claim | undefined> {
  return await read(claimPath(key, options));
}

async function newClaim(
  key: string,
  holder: string,
  options: ClaimOptions,
): Promise<Claim> {
  if (holder === "") {
    throw new RangeError(`Cannot claim "${key}": the holder is empty`);
  }
  const { ttlMs } = options;
  if (ttlMs !== undefined && !(ttlMs >= MIN_TTL_MS && ttlMs <= MAX_TTL_MS)) {
    throw new RangeError(
      `Cannot claim "${key}": a claim lasts ${MIN_TTL_MS} to ${MAX_TTL_MS} ms, got ${ttlMs}`,
    );
  }
  const pid = options.pid ?? Deno.pid;
  const machine = await thisMachine();
  const start = await processStart(pid);
  const acquiredAt = Date.now();
  return {
    schemaVersion: SCHEMA,
    key,
    holder,
    acquiredAt,
    pid,
    host: machine.host,
    ...ttlMs === undefined ? {} : { expiresAt: acquiredAt + ttlMs },
    ...options.reason === undefined ? {} : { reason: options.reason },
    ...options.harness === undefined ? {} : { harness: options.harness },
    ...machine.machineId === undefined ? {} : { machineId: machine.machineId },
    metadata: {
      ...options.metadata,
      ...bootMark(machine, start?.ticks),
    },
  };
}

function bootMark(
  machine: Machine,
  ticks: number | undefined,
): Record<string, YamlScalar> {
  if (machine.bootId === undefined || ticks === undefined) return {};
  return { boot_id: machine.bootId, start_ticks: ticks };
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

async function read(path: string): Promise<Claim | undefined> {
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
    const why = cause instanceof Error ? cause.message : String(cause);
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
  if (schemaVersion > SCHEMA) {
    throw new SyntaxError(
      `its schema is ${schemaVersion}, this program knows up to ${SCHEMA}`,
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

function sameClaim(a: Claim, b: Claim): boolean {
  return a.holder === b.holder && a.pid === b.pid &&
    a.acquiredAt === b.acquiredAt;
}

/** Publishes a whole file under a name that must be free; false when it is taken. */
async function createExclusive(path: string, claim: Claim): Promise<boolean> {
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

async function replace(path: string, claim: Claim): Promise<void> {
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

/** Moves a dead claim aside; it is never deleted. */
async function archive(path: string): Promise<void> {
  const at = path.lastIndexOf("/");
  const dir = `${path.slice(0, at)}/.expired`;
  const name = path.slice(at + 1).replace(/\.lock$/, "");
  await Deno.mkdir(dir, { recursive: true });
  await Deno.rename(path, `${dir}/${name}.${Date.now()}.lock`);
}
