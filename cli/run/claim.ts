import { describeFailure } from "@bulkhead/sandbox/command";
import { acquireClaim, releaseClaim } from "@bulkhead/worker";
import type { Places } from "./places.ts";

/**
 * Claims the workspace for one run: two agents would undo each other's work.
 *
 * Where claims cannot be kept (a home that cannot be written) the run goes on and
 * says so, as the sessions themselves do.
 *
 * @param places The workspace, and where claims lie.
 * @param warn Told when claims cannot be kept.
 * @returns A function that lets the workspace go.
 * @throws {Deno.errors.Busy} When another run has it.
 */
export async function claimWorkspace(
  places: Places,
  warn: (line: string) => void,
): Promise<() => Promise<void>> {
  const key = `workspace:${places.workspace}`;
  const holder = `run:${crypto.randomUUID()}`;
  const options = places.claims === undefined ? {} : { root: places.claims };
  const outcome = await acquireClaim(key, holder, {
    ...options,
    reason: "bulkhead run",
  });
  if (outcome.kind === "held") {
    throw new Deno.errors.Busy(
      `Cannot run in "${places.workspace}": another run (pid ${outcome.claim.pid}) has it; wait for it, or end it with "kill ${outcome.claim.pid}"`,
    );
  }
  if (outcome.kind === "error") {
    const { message, fix } = describeFailure(new Error(outcome.message));
    warn(
      `WARNING: nothing keeps a second run out of this workspace: ${message}${
        fix === undefined ? "" : `; ${fix}`
      }`,
    );
    return () => Promise.resolve();
  }
  return async () => {
    await releaseClaim(key, holder, options);
  };
}
