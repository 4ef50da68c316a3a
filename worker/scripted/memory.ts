/**
 * What survives the process, so that `--resume` works: one small file a session.
 *
 * @module
 */
import { readJsonFile, writeFileAtomic } from "@bulkhead/sandbox";
import { isJson } from "./output.ts";

/** The remembered part of a session. */
export interface SessionRecord {
  /** Id of the session. */
  sessionId: string;
  /** Where it was started; a session resumes only there. */
  cwd: string;
  /** Ids of the user lines that were taken. */
  uuids: string[];
  /** Indices of the script's turns that were played. */
  played: number[];
}

/** Reads a session; `undefined` when there is none for this directory. */
export async function loadRecord(
  sessions: string,
  sessionId: string,
  cwd: string,
): Promise<SessionRecord | undefined> {
  let value: unknown;
  try {
    value = await readJsonFile(pathOf(sessions, sessionId));
  } catch {
    return undefined;
  }
  if (!isJson(value) || value.cwd !== cwd) return undefined;
  return {
    sessionId,
    cwd,
    uuids: strings(value.uuids),
    played: Array.isArray(value.played)
      ? value.played.filter((n) => typeof n === "number")
      : [],
  };
}

/** Writes a session; a directory that cannot be written only means that it will not resume. */
export async function saveRecord(
  sessions: string,
  record: SessionRecord,
): Promise<void> {
  try {
    await Deno.mkdir(sessions, { recursive: true, mode: 0o700 });
    await writeFileAtomic(
      pathOf(sessions, record.sessionId),
      JSON.stringify(record),
    );
  } catch {
    // As the real child does with a home that it cannot write.
  }
}

function pathOf(sessions: string, sessionId: string): string {
  return `${sessions}/${sessionId}.json`;
}

function strings(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((v) => typeof v === "string") : [];
}
