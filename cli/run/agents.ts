import {
  findExecutable,
  joinPath,
  normalizePath,
  pause,
} from "@bulkhead/sandbox";
import { UsageError } from "@bulkhead/sandbox/command";
import {
  type AgentDriver,
  claudeDriver,
  scriptedDriver,
  scriptedExample,
} from "@bulkhead/worker";
import type { RunArguments } from "./options.ts";
import type { Places } from "./places.ts";

/** The agent of a session. */
export interface ChosenAgent {
  /** Its name for people. */
  name: string;
  /** A driver that was not started yet. */
  driver: AgentDriver;
  /** What people should know about the choice, in one line. */
  notice?: string;
}

/** Programs that an agent's driver starts, and how to install them. */
export const AGENT_PROGRAMS: Record<string, { program: string; fix: string }> =
  {
    claude: {
      program: "claude",
      fix: "npm i -g @anthropic-ai/claude-code",
    },
    codex: { program: "codex", fix: "npm i -g @openai/codex" },
    opencode: { program: "opencode", fix: "npm i -g opencode-ai" },
  };

/**
 * Chooses the agent: the one that was asked for, else Claude Code when it is
 * installed, else the scripted agent.
 *
 * @param args The command line.
 * @param places Where the session lives.
 * @param marker Writes what judges calls when we are gone, for agents whose gate is
 * a process of its own; nothing when nothing judges them.
 * @returns The agent.
 * @throws {Deno.errors.NotFound} When its program is not installed.
 */
export async function chooseAgent(
  args: RunArguments,
  places: Places,
  marker: () => Promise<string | undefined>,
): Promise<ChosenAgent> {
  const asked = args.agent;
  if (asked === undefined) {
    if (programPath("claude") !== undefined) {
      return { name: "claude", driver: claudeDriver() };
    }
    return {
      ...scripted(args, places),
      notice:
        "WARNING: Claude Code is not installed, so no model is behind this run: the scripted agent repeats what you say; run: npm i -g @anthropic-ai/claude-code (--agent claude fails instead)",
    };
  }
  if (asked === "scripted") return scripted(args, places);
  if (asked.startsWith("acp:")) {
    const { acpDriver } = await import("@bulkhead/worker/acp");
    const command = asked.slice(4).trim().split(/\s+/);
    return { name: asked, driver: acpDriver({ command }) };
  }
  const { program, fix } = AGENT_PROGRAMS[asked] ?? { program: asked, fix: "" };
  if (programPath(program) === undefined) {
    throw new Deno.errors.NotFound(
      `Cannot run "${asked}": "${program}" is not on PATH; run: ${fix}`,
    );
  }
  switch (asked) {
    case "claude":
      return { name: asked, driver: claudeDriver() };
    case "codex": {
      const { codexDriver } = await import("@bulkhead/worker/codex");
      return { name: asked, driver: codexDriver(await judgedBy(marker)) };
    }
    case "opencode": {
      const { openCodeDriver } = await import("@bulkhead/worker/opencode");
      return { name: asked, driver: openCodeDriver(await judgedBy(marker)) };
    }
    default:
      throw new UsageError(
        `Cannot run: "${asked}" is not an agent`,
        "--agent claude, codex, opencode, scripted or acp:COMMAND",
      );
  }
}

function scripted(args: RunArguments, places: Places): ChosenAgent {
  // One that there is not is told before anything is begun.
  if (args.example !== undefined) scriptedExample(args.example);
  const source = args.example !== undefined
    ? { example: args.example }
    : args.script !== undefined
    ? { script: normalizePath(joinPath(Deno.cwd(), args.script)) }
    : {};
  const sessions = `${places.home}/data/scripted/sessions`;
  return {
    name: "scripted",
    driver: scriptedDriver({ ...source, sessions }),
  };
}

async function judgedBy(
  write: () => Promise<string | undefined>,
): Promise<{ marker?: string }> {
  const marker = await write();
  return marker === undefined ? {} : { marker };
}

/**
 * Where a program is on our PATH; without a PATH it is nowhere.
 *
 * @param name Its name.
 * @returns Its path, if it is installed.
 */
export function programPath(name: string): string | undefined {
  return findExecutable(name, "/", Deno.env.get("PATH") ?? "") ?? undefined;
}

/**
 * Waits until the agent's process is there, which no driver tells by itself.
 *
 * @param driver The agent.
 * @param starting Settles when the agent is ready, or does not come up.
 */
export async function launched(
  driver: AgentDriver,
  starting: Promise<unknown>,
): Promise<void> {
  let settled = false;
  const end = (): void => void (settled = true);
  starting.then(end, end);
  while (!settled && driver.status().pid === null) {
    await pause(1);
  }
}
