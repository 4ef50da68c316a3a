import { decideCall, type GuardMarker } from "@bulkhead/guard";
import type { Decider, ToolCall, Verdict } from "@bulkhead/worker";

/** What the guard of a hosted session needs to know. */
export interface GuardDeciderOptions {
  /** Directories that may be written, links resolved. */
  roots: readonly string[];
  /** Files of our own that nobody may write. */
  protectedPaths: readonly string[];
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
  const marker: GuardMarker = {
    active: true,
    allowedRoots: [...options.roots],
    hints: true,
    protectedPaths: [...options.protectedPaths],
  };
  return {
    name: "guard",
    decide(call: ToolCall): Verdict | null {
      const decision = decideCall(
        { toolName: call.toolName, toolInput: call.input, cwd: call.cwd },
        marker,
        {
          now: Date.now(),
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
