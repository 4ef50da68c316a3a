/**
 * Claims: one writer for a session, whoever starts it. A claim is live while the process in it lives.
 *
 * @module
 */
import { reasonOf } from "@bulkhead/sandbox";
import { emitClaimEvent } from "./claim_events.ts";
import {
  archiveClaimFile,
  type Claim,
  CLAIM_SCHEMA,
  claimPath,
  type ClaimPlace,
  createClaimFile,
  readClaimFile,
  replaceClaimFile,
} from "./claim_file.ts";
import { takeMutex } from "./claim_mutex.ts";
import { type Machine, thisMachine } from "./machine.ts";
import { processStart } from "./processes.ts";
import type { YamlScalar } from "./yaml.ts";

/** Options of {@linkcode acquireClaim} and {@linkcode releaseClaim}. */
export interface ClaimOptions extends ClaimPlace {
  /**
   * The process whose life is the claim's.
   *
   * @default ours
   */
  readonly pid?: number;
  /** Why. */
  readonly reason?: string;
  /** For which harness. */
  readonly harness?: string;
  /** Further facts. */
  readonly metadata?: Readonly<Record<string, YamlScalar>>;
  /**
   * A claim that ends by time: 60 000 to 86 400 000 ms.
   *
   * @default as long as the process lives
   */
  readonly ttlMs?: number;
  /**
   * Refuse a claim of the same holder when another process of it lives, other than those in
   * `handoverFrom`: two workers of one name must not both write. Within one process writers are told
   * apart by `writer_id` in the metadata.
   *
   * @default {false}
   */
  readonly exclusive?: boolean;
  /** Processes that may hand their claim over, such as the parent that took it for us. */
  readonly handoverFrom?: readonly number[];
  /**
   * The directory whose `.fno/events.jsonl` gets audit lines.
   *
   * @default `$FNO_EVENTS_PATH`, else none
   */
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

const MIN_TTL_MS = 60_000;
const MAX_TTL_MS = 86_400_000;
/** How often a claim that changes while it is looked at is looked at again. */
const ATTEMPTS = 5;
/** The boot time is told in whole seconds. */
const START_SLACK_MS = 1_500;

/**
 * Claims a key. Never throws for what it finds on disk.
 *
 * @param key What to claim.
 * @param holder Who claims it.
 * @param options For which process, and where.
 * @returns What became of it.
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
    return failure(reasonOf(error));
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
  if (await createClaimFile(path, claim)) return { kind: "acquired", claim };
  const found = await readClaimFile(path);
  if (found === undefined) return undefined;
  if (
    found.holder === holder ? await lostTo(found, options) : await isHeld(found)
  ) {
    return { kind: "held", claim: found };
  }
  await using mutex = await takeMutex(`${path}.recovery.d`);
  if (mutex === undefined) return undefined;
  const again = await readClaimFile(path);
  if (again === undefined || !sameClaim(found, again)) return undefined;
  if (!await mutex.isHeld()) return undefined;
  if (found.holder === holder) {
    await replaceClaimFile(path, claim);
    return { kind: "reacquired", claim, previous: found };
  }
  await archiveClaimFile(path);
  // The name is never free meanwhile: who finds it free knows nothing of the one before.
  await replaceClaimFile(path, claim);
  return { kind: "reclaimed", claim, previous: found };
}

/** Whether a claim of our own holder belongs to another living writer. */
async function lostTo(found: Claim, options: ClaimOptions): Promise<boolean> {
  if (options.exclusive !== true) return false;
  if (
    found.pid === (options.pid ?? Deno.pid) &&
    found.metadata?.writer_id === options.metadata?.writer_id
  ) return false;
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
 * @param claim The claim.
 * @returns False too when it is another machine's.
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
 * @param key What was claimed.
 * @param holder Who claimed it.
 * @param options For which process, and where.
 * @returns What was found; none of it is a failure.
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
    const found = await readClaimFile(path);
    if (found === undefined) return "missing";
    if (!mine(found)) return "not ours";
    await using mutex = await takeMutex(`${path}.recovery.d`);
    if (mutex === undefined) return "busy";
    const again = await readClaimFile(path);
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
    schemaVersion: CLAIM_SCHEMA,
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

function sameClaim(a: Claim, b: Claim): boolean {
  return a.holder === b.holder && a.pid === b.pid &&
    a.acquiredAt === b.acquiredAt;
}
