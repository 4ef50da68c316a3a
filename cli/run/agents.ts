import { joinPath, normalizePath } from "@bulkhead/sandbox";
import { UsageError } from "@bulkhead/sandbox/command";
import {
  type AgentDriver,
  claudeDriver,
  scriptedDriver,
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
 * @param marker What judges calls when we are gone, for agents whose gate is a
 * process of its own.
 * @returns the agent.
 * @throws {Deno.errors.NotFound} when its program is not installed.
 */
export async function chooseAgent(
  args: RunArguments,
  places: Places,
  marker: string | undefined,
): Promise<ChosenAgent> {
  const asked = args.agent;
  if (asked === undefined) {
    if (programPath("claude") !== undefined) {
      return { name: "claude", driver: claudeDriver() };
    }
    return {
      ...scripted(args, places),
      notice:
        "WARNING: Claude Code is not installed, so no model is behind this run: the scripted agent repeats what you say; run: npm i -g @anthropic-ai/claude-code",
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
  const options = marker === undefined ? {} : { marker };
  switch (asked) {
    case "claude":
      return { name: asked, driver: claudeDriver() };
    case "codex": {
      const { codexDriver } = await import("@bulkhead/worker/codex");
      return { name: asked, driver: codexDriver(options) };
    }
    case "opencode": {
      const { openCodeDriver } = await import("@bulkhead/worker/opencode");
      return { name: asked, driver: openCodeDriver(options) };
    }
    default:
      throw new UsageError(
        `Cannot run: "${asked}" is not an agent`,
        "--agent claude, codex, opencode, scripted or acp:COMMAND",
      );
  }
}

function scripted(args: RunArguments, places: Places): ChosenAgent {
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

/**
 * Where a program is on PATH.
 *
 * @param name Its name.
 * @returns its path, if it is installed.
 */
export function programPath(name: string): string | undefined {
  for (const dir of (Deno.env.get("PATH") ?? "").split(":")) {
    if (!dir.startsWith("/")) continue;
    try {
      const info = Deno.statSync(`${dir}/${name}`);
      if (info.isFile && ((info.mode ?? 0) & 0o111) !== 0) {
        return `${dir}/${name}`;
      }
    } catch {
      // Not here.
    }
  }
  return undefined;
}
