import type { GuardMarker } from "@bulkhead/guard";
import type { Decider, ToolCall, Verdict } from "@bulkhead/worker";

/** What may be written. */
export interface GuardScope {
  /** Directories that may be written, links resolved. */
  roots: readonly string[];
  /** Files of our own that nobody may write. */
  protectedPaths: readonly string[];
}

/**
 * The marker that says what may be written.
 *
 * @param scope The roots.
 * @returns An armed marker without an end.
 */
export function guardMarker(scope: GuardScope): GuardMarker {
  return {
    active: true,
    allowedRoots: [...scope.roots],
    hints: true,
    protectedPaths: [...scope.protectedPaths],
  };
}

/** What the guard of a hosted session needs to know. */
export interface GuardDeciderOptions extends GuardScope {
  /** The home directory, for `~`. */
  home: string | undefined;
  /** Told the paths that an allowed call would write. */
  onWrite(paths: string[]): void;
}

/**
 * The guard as the first decider of a session: its denial is final, and where it
 * has no objection it has no opinion.
 *
 * @param options The roots.
 * @returns The decider, once the guard is loaded.
 */
export async function guardDecider(
  options: GuardDeciderOptions,
): Promise<Decider> {
  const { decideCall } = await import("@bulkhead/guard/explain");
  const marker = guardMarker(options);
  return {
    name: "guard",
    decide(call: ToolCall): Verdict | null {
      const decision = decideCall(
        { toolName: call.toolName, toolInput: call.input, cwd: call.cwd },
        marker,
        {
          now: Date.now(),
          foldCase: Deno.build.os === "darwin",
          ...options.home === undefined ? {} : { home: options.home },
        },
      );
      if (!decision.allow) {
        return { decision: "deny", reason: decision.reason, by: "guard" };
      }
      options.onWrite(
        decision.effects.flatMap((effect) =>
          effect.verdict === "inside" && effect.target !== undefined
            ? [effect.target]
            : []
        ),
      );
      return null;
    },
  };
}

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
