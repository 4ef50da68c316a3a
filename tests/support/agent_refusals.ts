/**
 * Starts that have to fail: programs that stand in for an agent, and what is said about them.
 *
 * @module
 */
import { assert, assertRejects, assertStringIncludes } from "@std/assert";
import type { AgentDriver } from "@bulkhead/worker";
import type { AgentWorld } from "./agent_world.ts";

/** How a driver is made for one start. */
export interface RefusalOptions {
  /** The program; the one on the PATH when absent. */
  readonly command?: readonly string[];
  /** How long it may take. */
  readonly readyMs: number;
}

/** What tests of refusals need. */
export interface Refusals {
  /** A shell program that stands in for the agent. */
  program(name: string, text: string): Promise<string[]>;
  /** Starts the driver in the world. */
  start(
    command: string[] | undefined,
    env?: Record<string, string>,
    readyMs?: number,
  ): Promise<unknown>;
  /** Asserts that a start is refused in one line with these parts. */
  says(started: Promise<unknown>, ...parts: string[]): Promise<void>;
}

/**
 * Makes starts in a world.
 *
 * @param world Of the agent.
 * @param driver For one start.
 * @returns What to start and to ask with.
 */
export function refusalsIn(
  world: AgentWorld,
  driver: (options: RefusalOptions) => AgentDriver,
): Refusals {
  return {
    async program(name, text) {
      const path = `${world.home}/${name}`;
      await Deno.writeTextFile(path, `#!/bin/sh\n${text}\n`, { mode: 0o755 });
      return [path];
    },
    start: (command, env = {}, readyMs = 60_000) =>
      driver({ ...(command === undefined ? {} : { command }), readyMs }).start({
        cwd: world.workspace,
        env: { ...world.env, ...env },
        judge: () => ({ decision: "deny" }),
      }),
    async says(started, ...parts) {
      const error = await assertRejects(() => started, Error);
      for (const part of parts) assertStringIncludes(error.message, part);
      assert(!error.message.includes("\n"), error.message);
    },
  };
}
