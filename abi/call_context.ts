/**
 * What a tool is told about where it runs.
 *
 * @module
 */

import type { HostContext } from "./codec.ts";
import type { NativePluginOptions } from "./plugin_options.ts";

/** The host context of one plugin's calls. */
export class CallContext {
  readonly #base: HostContext;

  /**
   * Takes what the host said; where it said nothing, tools are told its current directory.
   *
   * @param options What the plugin is loaded with.
   */
  constructor({ context, cwd }: Pick<NativePluginOptions, "context" | "cwd">) {
    this.#base = context ?? { cwd: cwd ?? currentDirectory() };
  }

  /**
   * The context of one call.
   *
   * @param session The active session.
   * @param cwd The call's own directory, which wins.
   * @returns A copy.
   */
  of(session: string | undefined, cwd: string | undefined): HostContext {
    return {
      ...this.#base,
      ...session === undefined ? {} : { sessionId: session },
      ...cwd === undefined ? {} : { cwd },
    };
  }
}

function currentDirectory(): string {
  try {
    return Deno.cwd();
  } catch {
    // Removed, or not ours to know.
    return "/";
  }
}
