/**
 * The plugin that OpenCode loads into itself: it asks the worker about each call, and ends OpenCode with everything it
 * started when the worker is gone.
 *
 * @module
 */

/** What the plugin has to know. */
export interface OpenCodePluginOptions {
  /** The path of the bridge. */
  readonly socket: string;
  /** The guard's hook, which decides when the worker is gone; without one every call is refused then. */
  readonly fallback?: readonly string[];
}

/**
 * The text of the plugin.
 *
 * @param options Socket and fall-back.
 * @returns JavaScript for a file of its own.
 */
export function openCodePlugin(options: OpenCodePluginOptions): string {
  return `const SOCKET = ${JSON.stringify(options.socket)};
const FALLBACK = ${JSON.stringify(options.fallback ?? null)};
${PROGRAM}`;
}

/** Runs in OpenCode, not here. */
const PROGRAM = `
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import net from "node:net";

const GONE = "eval guard: blocked because the session's worker is gone";
const waiting = new Map();
let connection, last = 0;

// What a shell started lives in sessions of its own: only the mark in the environment finds it.
function end() {
  const mark = "BULKHEAD_TREE=" + process.env.BULKHEAD_TREE;
  if (process.platform === "linux" && process.env.BULKHEAD_TREE) {
    for (let round = 0, found = true; found && round < 50; round++) {
      found = false;
      for (const pid of readdirSync("/proc")) {
        if (!/^\\d+$/.test(pid) || Number(pid) === process.pid) continue;
        try {
          if (!readFileSync("/proc/" + pid + "/environ", "latin1").split("\\0").includes(mark)) continue;
          process.kill(Number(pid), "SIGKILL");
          found = true;
        } catch {}
      }
    }
  }
  process.exit(143);
}
process.on("SIGTERM", end);

function open() {
  return new Promise((resolve) => {
    const socket = net.connect(SOCKET);
    let text = "";
    socket.setEncoding("utf8");
    socket.on("connect", () => {
      connection = socket;
      socket.write('{"kind":"hello"}\\n');
      resolve();
    });
    socket.on("data", (piece) => {
      text += piece;
      for (let at = text.indexOf("\\n"); at >= 0; at = text.indexOf("\\n")) {
        const answer = JSON.parse(text.slice(0, at));
        text = text.slice(at + 1);
        waiting.get(answer.id)?.(answer);
        waiting.delete(answer.id);
      }
    });
    socket.on("error", () => {});
    socket.on("close", () => {
      connection = undefined;
      for (const settle of waiting.values()) settle(undefined);
      waiting.clear();
      resolve();
      // The worker has ended. What is asked in the meantime is answered by the fall-back.
      setTimeout(end, 2000).unref?.();
    });
  });
}

function ask(payload) {
  if (connection === undefined) return undefined;
  const id = ++last;
  return new Promise((resolve) => {
    waiting.set(id, resolve);
    connection.write(JSON.stringify({ kind: "judge", id, payload }) + "\\n");
  });
}

function fallback(payload) {
  if (FALLBACK === null) return GONE;
  const [program, ...args] = FALLBACK;
  const result = spawnSync(program, args, { input: JSON.stringify(payload), encoding: "utf8", timeout: 10000 });
  if (result.status !== 0) return GONE;
  const output = result.stdout.trim();
  if (output === "") return undefined;
  try {
    return JSON.parse(output).reason ?? output;
  } catch {
    return output;
  }
}

export const BulkheadGate = async ({ directory }) => {
  await open();
  return {
    "tool.execute.before": async (input, output) => {
      const args = output?.args ?? {};
      const payload = {
        tool_name: input.tool,
        tool_input: args,
        tool_use_id: input.callID,
        session_id: input.sessionID,
        cwd: directory,
        workdir: args.workdir,
      };
      const answer = await ask(payload);
      if (answer === undefined) {
        const reason = fallback(payload);
        if (reason !== undefined) throw new Error(reason);
        return;
      }
      if (answer.decision !== "allow") throw new Error(answer.reason || "denied");
      if (answer.updatedInput === undefined) return;
      for (const key of Object.keys(args)) delete args[key];
      Object.assign(args, answer.updatedInput);
    },
  };
};
`;
