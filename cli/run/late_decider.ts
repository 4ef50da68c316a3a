import type { Decider } from "@bulkhead/worker";

/**
 * A decider that is loaded while the agent comes up; calls wait for it, and one that
 * cannot be loaded denies them.
 *
 * @param name Its name.
 * @param loading Resolves with it.
 * @returns The decider.
 */
export function lateDecider(name: string, loading: Promise<Decider>): Decider {
  let loaded: Decider | undefined;
  loading.then((decider) => loaded = decider, () => {});
  return {
    name,
    // Once it is there a call is not held up by a promise.
    decide: (call) =>
      loaded === undefined
        ? loading.then((decider) => decider.decide(call))
        : loaded.decide(call),
  };
}
