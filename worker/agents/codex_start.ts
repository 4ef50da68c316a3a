/**
 * A thread in Codex's app-server with our hook in it, and the proof that the hook will run.
 *
 * @module
 */

import { isJsonObject, type JsonObject } from "../frame.ts";
import { isOlder } from "./_programs.ts";
import {
  codexConfig,
  hookHash,
  hookStanding,
  serverNames,
  shellLine,
} from "./codex_config.ts";
import type { AgentStart } from "./driver.ts";
import type { JsonRpc } from "./json_rpc.ts";
import { hookEntry, markerLog, toolEntry } from "./relays.ts";

/** The oldest version whose gate was proven. */
const CODEX_OLDEST = "0.171.0";

/**
 * Says hello.
 *
 * @param rpc The app-server.
 * @returns The version of Codex.
 */
export async function greetCodex(rpc: JsonRpc): Promise<string> {
  const hello = await rpc.request("initialize", {
    clientInfo: { name: "bulkhead", title: "Bulkhead", version: "1" },
  });
  const version = /\/(\d+\.\d+\.\d+)/.exec(String(hello.userAgent))?.[1] ?? "";
  if (isOlder(version, CODEX_OLDEST)) {
    throw new Error(
      `version ${version} is too old, ${CODEX_OLDEST} is needed: update it with "npm install -g @openai/codex"`,
    );
  }
  rpc.notify("initialized");
  return version;
}

/** Options of {@linkcode openThread}. */
export interface ThreadOptions {
  /** The path of the bridge. */
  readonly socket: string;
  /** When Codex asks by itself. */
  readonly approvals: "on-request" | "untrusted";
  /** The guard's marker, for when the worker is gone. */
  readonly marker: string | undefined;
  /**
   * Takes the id of the thread as soon as it is known.
   *
   * @param threadId The id.
   */
  named(threadId: string): void;
}

/**
 * Starts or resumes a thread and makes sure that our hook will run in it.
 *
 * @param rpc The app-server.
 * @param start What to start.
 * @param options Socket, approvals, marker.
 * @returns The answer to the start of the thread.
 */
export async function openThread(
  rpc: JsonRpc,
  start: AgentStart,
  options: ThreadOptions,
): Promise<JsonObject> {
  const [config, account] = await Promise.all([
    rpc.request("config/read", { cwd: start.cwd }),
    rpc.request("account/read", {}),
  ]);
  if (account.account == null && account.requiresOpenaiAuth === true) {
    throw new Error('nobody is logged in: run "codex login"');
  }
  const { marker, socket } = options;
  const place = marker === undefined
    ? undefined
    : { path: marker, log: await markerLog(marker) };
  const hook = hookEntry(socket, place);
  const line = shellLine(hook.argv);
  const tools = start.tools === undefined ? {} : { tools: toolEntry(socket) };
  let trustedHash = await hookHash(line);
  for (let attempt = 0;; attempt++) {
    const opened = await thread(rpc, start, options, {
      cwd: start.cwd,
      hook,
      trustedHash,
      disable: serverNames(config),
      ...tools,
    });
    const listed = await rpc.request("hooks/list", { threadId: opened.id });
    const standing = hookStanding(listed, line);
    if (standing.trusted) return opened.answer;
    const { currentHash } = standing;
    // The formula of the hash is not documented: what Codex says it is counts, once.
    if (
      currentHash === undefined || currentHash === trustedHash || attempt > 0
    ) {
      throw new Error(
        `its hook would not run, so no turn is started: ${standing.detail}`,
      );
    }
    trustedHash = currentHash;
  }
}

async function thread(
  rpc: JsonRpc,
  start: AgentStart,
  options: ThreadOptions,
  config: Parameters<typeof codexConfig>[0],
): Promise<{ id: string; answer: JsonObject }> {
  const params = {
    cwd: start.cwd,
    approvalPolicy: options.approvals,
    // Otherwise a model may be the one who answers.
    approvalsReviewer: "user",
    sandbox: "workspace-write",
    ...(start.model === undefined ? {} : { model: start.model }),
    config: codexConfig(config),
  };
  const answer = start.resume === undefined
    ? await rpc.request("thread/start", params)
    : await rpc.request("thread/resume", {
      ...params,
      threadId: start.resume,
      excludeTurns: true,
    });
  const made = isJsonObject(answer.thread) ? answer.thread : {};
  if (typeof made.id !== "string") throw new Error("it named no thread");
  options.named(made.id);
  return { id: made.id, answer };
}
