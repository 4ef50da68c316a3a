/**
 * The write guard as a decider of a hosted session.
 *
 * @module
 */

import type { GuardMarker } from "@bulkhead/guard";
import { namedPermissions } from "@bulkhead/sandbox";
import type { Decider, ToolCall, Verdict } from "./agents/driver.ts";

/** What may be written. */
export interface GuardScope {
  /** Directories that may be written, links resolved. */
  roots: readonly string[];
  /** Files of our own that nobody may write. */
  protectedPaths: readonly string[];
}

/**
 * The marker that says what may be written: what {@linkcode guardDecider} judges by, and
 * a hook process when it is written to a file.
 *
 * @param scope The roots.
 * @returns An armed marker without an end.
 *
 * @example Usage
 * ```ts
 * import { guardMarker } from "@bulkhead/worker";
 * import { assertEquals } from "@std/assert";
 *
 * const marker = guardMarker({ roots: ["/work"], protectedPaths: [] });
 * assertEquals(marker.allowedRoots, ["/work"]);
 * ```
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
  onWrite?(paths: string[]): void;
}

/**
 * The guard as the first decider of a session: its denial is final, and where it
 * has no objection it has no opinion.
 *
 * @param options The roots.
 * @returns The decider, once the guard is loaded.
 *
 * @example Usage
 * ```ts
 * import { guardDecider, Judge } from "@bulkhead/worker";
 * import { assertEquals } from "@std/assert";
 *
 * const guard = await guardDecider({ roots: ["/work"], protectedPaths: [], home: "/home/me" });
 * const judge = new Judge([guard, { name: "host", decide: () => ({ decision: "allow" }) }]);
 * const call = { toolName: "Bash", input: { command: "touch ~/x" }, cwd: "/work" };
 * assertEquals((await judge.judge(call)).by, "guard");
 * ```
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
      options.onWrite?.(
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
 * A directory that may be written besides the session's own, links resolved.
 *
 * @param root The directory as given.
 * @returns Its real path.
 * @throws {Deno.errors.NotFound} When there is none.
 *
 * @example Usage
 * ```ts
 * import { realRoot } from "@bulkhead/worker";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(await realRoot("/usr/.."), "/");
 * ```
 */
export async function realRoot(root: string): Promise<string> {
  try {
    return await namedPermissions(
      `Letting the agent write in "${root}"`,
      () => Deno.realPath(root),
    );
  } catch (cause) {
    if (cause instanceof Deno.errors.NotCapable) throw cause;
    throw new Deno.errors.NotFound(
      `Cannot let the agent write in "${root}": there is no such directory; make it or give another --root`,
      { cause },
    );
  }
}
