/**
 * Audit lines of claims, in the events file of the repository.
 *
 * @module
 */
import type { Claim } from "./claim_file.ts";
import { appendEventLine } from "./events.ts";

const TYPES = {
  acquired: "claim_acquired",
  reacquired: "claim_idempotent_reacquired",
  reclaimed: "claim_stale_reclaimed",
  released: "claim_released",
} as const;

/** Adds one line, as far as there is a file for it; failure is not the claim's. */
export async function emitClaimEvent(
  change: {
    readonly kind: keyof typeof TYPES;
    readonly claim: Claim;
    readonly previous?: Claim;
  },
  root: string | undefined,
): Promise<void> {
  try {
    const path = Deno.env.get("FNO_EVENTS_PATH") ||
      (root === undefined ? undefined : `${root}/.fno/events.jsonl`);
    if (path === undefined) return;
    const { claim, previous } = change;
    await appendEventLine(path, {
      type: TYPES[change.kind],
      source: "fno-loop",
      data: {
        key: claim.key,
        holder: claim.holder,
        pid: claim.pid,
        host: claim.host,
        ...claim.reason === undefined ? {} : { reason: claim.reason },
        ...previous === undefined ? {} : {
          previous_holder: previous.holder,
          previous_pid: previous.pid,
          previous_acquired_at: previous.acquiredAt,
        },
      },
    });
  } catch {
    // A missing audit line must not take a session down.
  }
}
