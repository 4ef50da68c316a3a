/**
 * Files that an agent of the Agent Client Protocol has read and written by its client.
 *
 * @module
 */

import {
  readTextCapped,
  resolveTarget,
  writeFileAtomic,
} from "@bulkhead/sandbox";
import type { JsonObject } from "../frame.ts";
import type { AskDesk } from "./ask_desk.ts";

const MAX_FILE = 16 * 1024 * 1024;

/**
 * Reads a file, or some lines of it.
 *
 * @param params The path, the first line and how many.
 * @returns The answer.
 */
export async function readFile(params: JsonObject): Promise<JsonObject> {
  if (typeof params.path !== "string") throw new TypeError("no path");
  const content = await readTextCapped(params.path, MAX_FILE);
  const line = typeof params.line === "number" ? Math.max(1, params.line) : 1;
  if (line === 1 && typeof params.limit !== "number") return { content };
  const lines = content.split("\n");
  const end = typeof params.limit === "number"
    ? line - 1 + params.limit
    : lines.length;
  return { content: lines.slice(line - 1, end).join("\n") };
}

/**
 * Writes a file for the agent: so here we are the gate, and the workspace is the bound.
 *
 * @param desk Who judges.
 * @param params The path and the content.
 * @param cwd The workspace.
 * @returns The answer.
 */
export async function writeFile(
  desk: AskDesk,
  params: JsonObject,
  cwd: string,
): Promise<JsonObject> {
  const path = typeof params.path === "string"
    ? resolveTarget(params.path, cwd)
    : "";
  const content = typeof params.content === "string" ? params.content : "";
  const root = await Deno.realPath(cwd);
  if (path !== root && !path.startsWith(`${root}/`)) {
    throw new Error(`"${params.path}" is outside the workspace`);
  }
  const input = { ["file_path"]: path, content };
  const answer = await desk.judge(
    { toolName: "Write", input, cwd },
    new AbortController().signal,
  );
  if (answer.decision === "deny") throw new Error(answer.reason ?? "denied");
  const mode = await Deno.stat(path).then((info) =>
    (info.mode ?? 0o644) & 0o777
  ).catch(() => 0o644);
  await writeFileAtomic(path, content, { mode });
  return {};
}
