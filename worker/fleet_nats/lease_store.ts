/**
 * Leases in a bucket of the fleet.
 *
 * @module
 */
import type { Fleet } from "./connection.ts";
import type { LeaseStore } from "./lease.ts";
import { keyOf } from "./names.ts";
import { isPassing } from "./provision.ts";

const WRONG_SEQUENCE = 10071;
const UPDATE_TIMEOUT_MS = 3_000;

/** The claims of a fleet as a store of leases. */
export function fleetLeases(fleet: Fleet): LeaseStore {
  const bucket = () => fleet.bucket(fleet.names.claims);
  return {
    async create(key, value) {
      return await unlessMoved((await bucket()).create(keyOf(key), value));
    },
    async update(key, value, revision) {
      try {
        const kv = await bucket();
        return await unlessMoved(
          kv.update(keyOf(key), value, revision, UPDATE_TIMEOUT_MS),
        );
      } catch (error) {
        // It may have been deleted under us: the owner makes its claim again in a new one.
        fleet.repair().catch(() => {});
        throw error;
      }
    },
    async read(key) {
      const entry = await (await bucket()).get(keyOf(key));
      if (entry === null || entry.operation !== "PUT") return undefined;
      return { value: entry.string(), revision: entry.revision };
    },
    async remove(key, revision) {
      await (await bucket()).delete(keyOf(key), { previousSeq: revision });
    },
    passes: isPassing,
  };
}

/** `undefined` when the revision was another; any other failure is thrown. */
async function unlessMoved(work: Promise<number>): Promise<number | undefined> {
  try {
    return await work;
  } catch (error) {
    if (codeOf(error) === WRONG_SEQUENCE) return undefined;
    if (/wrong last sequence|key exists|already exists/i.test(String(error))) {
      return undefined;
    }
    throw error;
  }
}

function codeOf(error: unknown): unknown {
  if (typeof error !== "object" || error === null) return undefined;
  return "code" in error ? error.code : undefined;
}
