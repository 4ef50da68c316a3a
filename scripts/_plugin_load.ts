/**
 * The step `load`: configuration, trust, tools, as a new process would see them.
 *
 * @module
 */

import {
  ConfigError,
  loadConfig,
  loadPlugins,
  parseTrustPin,
} from "@bulkhead/plugins";
import { stringify } from "@std/toml";
import { answering } from "./_plugin_answers.ts";
import { exists, isObject, type JsonObject, strings } from "./_plugin_case.ts";
import { type Finding, type Play, stepKeys } from "./_plugin_step.ts";

/** Loads the plugins of a case. */
export async function loadStep(
  play: Play,
  step: JsonObject,
): Promise<Finding> {
  const { stage } = play;
  const keys = stepKeys(step, {
    answers: ["answer"],
    dirs: ["scanDirs", "scan"],
    config: [],
    trustPlugins: ["trustPlugin", "trust_plugin", "pins", "pin"],
    cwd: ["workspace", "ws"],
  });
  play.loaded = undefined;
  const prompts: string[] = [];
  const trust = answering(keys.answers, prompts);
  const none = { tools: [], plugins: [], hooks: [], prompts };
  const workspace = typeof keys.cwd === "string" ? keys.cwd : stage.workspace;
  await writeConfig(play, isObject(keys.config) ? keys.config : play.config);
  let resolved;
  try {
    resolved = await loadConfig({ home: stage.root, workspace });
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const lines = [error.message];
    return {
      ...none,
      // Loading with what could not be resolved is refused, too; a case may mean either door.
      outcome: isObject(step.expect) && step.expect.outcome === "blocked"
        ? "blocked"
        : "error",
      error: error.message,
      warnings: lines,
      lines,
    };
  }
  const outcome = await loadPlugins({
    config: resolved.config,
    home: stage.root,
    workspace,
    workspaceAccess: "write",
    pins: strings(keys.trustPlugins, "trustPlugins").map(parseTrustPin),
    ...(keys.dirs === undefined
      ? {}
      : { scanDirs: strings(keys.dirs, "dirs") }),
    ...(trust === undefined ? {} : { trust }),
  });
  const { notices } = resolved;
  if (outcome.status === "disabled") {
    return { ...none, outcome: "disabled", warnings: [], lines: notices };
  }
  const refused = outcome.refused.map((plugin) => plugin.reason);
  if (outcome.status === "blocked_pending_trust") {
    return {
      ...none,
      outcome: "blocked",
      warnings: [outcome.notice, ...outcome.warnings],
      lines: [...notices, outcome.notice, ...refused, ...outcome.warnings],
    };
  }
  play.loaded = outcome;
  return {
    outcome: "loaded",
    prompts,
    tools: outcome.tools.map((tool) => ({
      name: tool.name,
      plugin: tool.source.plugin,
      tool: tool.source.tool,
      description: tool.description,
      inputSchema: tool.inputSchema,
    })),
    plugins: outcome.plugins.map((plugin) => plugin.name),
    hooks: outcome.hooks.map(({ plugin, event, command }) => ({
      plugin,
      event,
      command,
    })),
    versions: Object.fromEntries(
      outcome.plugins.map((plugin) => [plugin.name, plugin.version]),
    ),
    warnings: outcome.warnings,
    lines: [...notices, ...refused, ...outcome.warnings],
  };
}

async function writeConfig(play: Play, config: JsonObject): Promise<void> {
  const { root, workspace } = play.stage;
  const { trust, ...plugins } = config;
  await Deno.writeTextFile(
    `${root}/config.toml`,
    stringify({
      capabilities: {
        plugins: { sandbox: play.isolation, ...plugins },
        ...(isObject(trust) ? { trust } : {}),
      },
    }),
  );
  // The seed's name of the project file; cases leave the name to us.
  const foreign = `${workspace}/.supercode.toml`;
  if (await exists(foreign)) {
    await Deno.rename(foreign, `${workspace}/.bulkhead.toml`);
  }
}
