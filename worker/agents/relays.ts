/**
 * How the processes are started that an agent starts on our behalf.
 *
 * @module
 */

import {
  type DenoEntry,
  denoEntry,
  denoFlags,
  readJsonFile,
} from "@bulkhead/sandbox";
import { isJsonObject } from "../frame.ts";

/** The guard's marker, and where its log lies. */
export interface MarkerPlace {
  /** The path of the marker. */
  readonly path: string;
  /** The directory of the denial log: only there may the hook write. */
  readonly log: string | undefined;
}

/**
 * Where a marker wants its log.
 *
 * @param path The path of the marker.
 * @returns The directory.
 */
export async function markerLog(path: string): Promise<string | undefined> {
  try {
    const marker = await readJsonFile(path);
    return isJsonObject(marker) && typeof marker.denialLogPath === "string"
      ? marker.denialLogPath.replace(/\/[^/]*$/, "")
      : undefined;
  } catch {
    return undefined;
  }
}

const HOOK_ENV = "--allow-env=HOME,TMPDIR,USER,LOGNAME";

/**
 * The process that Codex starts per call.
 *
 * @param socket The path of the bridge.
 * @param marker The guard's marker, for when the worker is gone.
 * @returns How to start it.
 */
export function hookEntry(socket: string, marker?: MarkerPlace): DenoEntry {
  const write = [socket, ...marker?.log === undefined ? [] : [marker.log]];
  return denoEntry(new URL("./hook_relay.ts", import.meta.url), {
    permissions: [
      "--allow-read",
      ...denoFlags({ write, net: [`unix:${socket}`] }),
      HOOK_ENV,
    ],
    args: marker === undefined ? [socket] : [socket, marker.path],
  });
}

/**
 * The process that hands on the host's tools.
 *
 * @param socket The path of the bridge.
 * @returns How to start it.
 */
export function toolEntry(socket: string): DenoEntry {
  return denoEntry(new URL("./tool_relay.ts", import.meta.url), {
    permissions: denoFlags({
      read: [socket],
      write: [socket],
      net: [`unix:${socket}`],
    }),
    args: [socket],
    config: false,
  });
}

/**
 * The guard's own hook, which judges by its marker alone and refuses what it cannot judge.
 *
 * @param harness Whose verdict is spoken.
 * @param marker The guard's marker.
 * @returns How to start it.
 */
export function guardHook(harness: string, marker: MarkerPlace): DenoEntry {
  const write = marker.log === undefined
    ? []
    : denoFlags({ write: [marker.log] });
  return denoEntry(import.meta.resolve("@bulkhead/guard/hook"), {
    permissions: ["--allow-read", ...write, HOOK_ENV],
    args: ["--fail-closed", "--harness", harness, marker.path],
  });
}
