/**
 * The start of OpenCode's server: what it gets by environment, where it listens, its version, a session in it.
 *
 * @module
 */

import { joinPath, writeFileAtomic } from "@bulkhead/sandbox";
import { agentEnvironment, type AgentLine } from "../agent_child.ts";
import { isJsonObject, type JsonObject } from "../frame.ts";
import { isOlder } from "./_programs.ts";
import { within } from "./_within.ts";
import type { Bridge } from "./bridge.ts";
import {
  type OpenCodeApi,
  OpenCodeApiError,
  OpenCodeLateError,
} from "./opencode_api.ts";
import { openCodePlugin } from "./opencode_plugin.ts";
import { guardHook, markerLog, toolEntry } from "./relays.ts";

/** The oldest version whose gate was proven. */
const OPENCODE_OLDEST = "1.18.0";

/** What must be asked; every key is spelt out, because `*` alone loses against a project's own keys. */
const PERMISSIONS: JsonObject = {
  "*": "ask",
  bash: "ask",
  edit: "ask",
  read: "allow",
  task: "ask",
  "external_directory": "ask",
  webfetch: "ask",
};

/** What {@linkcode openCodeEnvironment} is made of. */
export interface OpenCodeSetup {
  /** The way back to the worker; the plugin is put into its directory. */
  readonly bridge: Bridge;
  /** The password of the server. */
  readonly password: string;
  /** The guard's marker, for when the worker is gone. */
  readonly marker: string | undefined;
  /** Whether the host offers tools. */
  readonly tools: boolean;
  /** Variables on top of the inherited ones. */
  readonly env: Readonly<Record<string, string>>;
}

/**
 * The environment of the server. Our plugin, tools and permissions come with it; nothing is written into the workspace.
 *
 * @param setup What goes into it.
 * @returns The whole environment.
 */
export async function openCodeEnvironment(
  setup: OpenCodeSetup,
): Promise<Record<string, string>> {
  const { bridge, marker } = setup;
  const fallback = marker === undefined
    ? undefined
    : guardHook("opencode", { path: marker, log: await markerLog(marker) });
  const plugin = joinPath(bridge.dir, "gate.js");
  await writeFileAtomic(
    plugin,
    openCodePlugin({
      socket: bridge.path,
      ...(fallback === undefined ? {} : { fallback: fallback.argv }),
    }),
  );
  const relay = toolEntry(bridge.path);
  const env = agentEnvironment({ ...relay.env, ...setup.env });
  const server = {
    type: "local",
    command: relay.argv,
    environment: relay.env,
    enabled: true,
  };
  const own: JsonObject = {
    plugin: [`file://${plugin}`],
    permission: PERMISSIONS,
    autoupdate: false,
    share: "disabled",
    ...(setup.tools ? { mcp: { bulkhead: server } } : {}),
  };
  // It would leave our plugin out.
  delete env.OPENCODE_PURE;
  return {
    ...env,
    OPENCODE_CONFIG_CONTENT: JSON.stringify(
      merged(env.OPENCODE_CONFIG_CONTENT, own),
    ),
    OPENCODE_DISABLE_PROJECT_CONFIG: "1",
    OPENCODE_DISABLE_AUTOUPDATE: "1",
    OPENCODE_SERVER_PASSWORD: setup.password,
    OPENCODE_SERVER_USERNAME: "opencode",
  };
}

/** The config that the user gives by environment, under ours. */
function merged(theirs: string | undefined, ours: JsonObject): JsonObject {
  if (theirs === undefined) return ours;
  let given: unknown;
  try {
    given = JSON.parse(theirs);
  } catch {
    return ours;
  }
  if (!isJsonObject(given)) return ours;
  const plugins = Array.isArray(given.plugin) ? given.plugin : [];
  const servers = isJsonObject(given.mcp) ? given.mcp : {};
  return {
    ...given,
    ...ours,
    plugin: [...plugins, ...(Array.isArray(ours.plugin) ? ours.plugin : [])],
    ...(isJsonObject(ours.mcp) ? { mcp: { ...servers, ...ours.mcp } } : {}),
  };
}

/**
 * Waits for the line that says where the server listens: a request before it would never be answered.
 *
 * @param lines What the server prints.
 * @param limitMs How long it may take.
 * @returns The origin.
 */
export async function whereItListens(
  lines: AsyncGenerator<readonly AgentLine[], void, undefined>,
  limitMs: number,
): Promise<string> {
  const find = async (): Promise<string> => {
    for (;;) {
      const { value, done } = await lines.next();
      if (done === true) throw new Error("it ended before it listened");
      for (const line of value) {
        const origin = /listening on (http:\/\/\S+)/.exec(line.text)?.[1];
        if (origin !== undefined) return origin;
      }
    }
  };
  const found = find();
  // Whatever it prints from then on is read and dropped.
  found.then(async () => {
    while (!(await lines.next()).done);
  }).catch(() => {});
  return await within(
    found,
    limitMs,
    `it did not say that it listens within ${limitMs} ms`,
  );
}

/**
 * The version of the server.
 *
 * @param api The server.
 * @returns The version.
 */
export async function versionOf(api: OpenCodeApi): Promise<string> {
  const health = await api.call("GET", "/global/health");
  const version = typeof health.version === "string" ? health.version : "";
  if (!isOlder(version, OPENCODE_OLDEST)) return version;
  throw new Error(
    `version ${version} is too old, ${OPENCODE_OLDEST} is needed: update it with "npm install -g opencode-ai"`,
  );
}

/**
 * A new session, or the one to go on with.
 *
 * @param api The server.
 * @param resume The session to go on with.
 * @param limitMs How long the server may take.
 * @returns The id of the session.
 */
export async function sessionOf(
  api: OpenCodeApi,
  resume: string | undefined,
  limitMs: number,
): Promise<string> {
  if (resume !== undefined) {
    try {
      await api.call(
        "GET",
        `/session/${encodeURIComponent(resume)}`,
        undefined,
        limitMs,
      );
      return resume;
    } catch (error) {
      if (!(error instanceof OpenCodeApiError) || error.status >= 500) {
        throw error;
      }
      throw new Error(
        `there is no session "${resume}" to go on with: start without resume`,
      );
    }
  }
  try {
    const made = await api.call("POST", "/session", {}, limitMs);
    if (typeof made.id === "string") return made.id;
  } catch (error) {
    if (!(error instanceof OpenCodeLateError)) throw error;
    throw new Error(
      `it made no session within ${limitMs} ms: at its first start it fetches packages with npm, check the network`,
    );
  }
  throw new Error("it named no session");
}
