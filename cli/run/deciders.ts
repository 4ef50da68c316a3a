import { decideCall, type GuardMarker } from "@bulkhead/guard";
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
 * @returns an armed marker without an end.
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
  onWrite(call: ToolCall, paths: string[]): void;
}

/**
 * The guard as the first decider of a session: its denial is final, and where it
 * has no objection it has no opinion.
 *
 * @param options The roots.
 * @returns the decider.
 */
export function guardDecider(options: GuardDeciderOptions): Decider {
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
        call,
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
