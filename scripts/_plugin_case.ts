/**
 * One case on disk: copied to a fresh directory, placeholders replaced, set up.
 *
 * @module
 */

/** A value of a case file. */
export type Json =
  | null
  | boolean
  | number
  | string
  | Json[]
  | { [key: string]: Json };

/** An object of a case file. */
export type JsonObject = { [key: string]: Json };

/** Where a case plays. */
export interface Stage {
  /** The copy of the case's directory; also the Bulkhead home. */
  root: string;
  plugins: string;
  workspace: string;
  temp: string;
  /** The process groups of lines that were run. */
  groups: number[];
}

/** True for an object of a case file. */
export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The value as a list of strings; a single string is a list of one. */
export function strings(value: Json | undefined, what: string): string[] {
  const list = Array.isArray(value)
    ? value
    : value === undefined
    ? []
    : [value];
  return list.map((item) => {
    if (typeof item === "string") return item;
    throw new TypeError(`${what} must be a string or a list of strings`);
  });
}

/** The value as a string. */
export function string(value: Json | undefined, what: string): string {
  if (typeof value === "string") return value;
  throw new TypeError(`${what} must be a string`);
}

/** Fails when the object has a key that is not known: a key that is ignored would be a check that is not made. */
export function onlyKeys(
  value: JsonObject,
  known: readonly string[],
  what: string,
): void {
  for (const key of Object.keys(value)) {
    if (!known.includes(key)) {
      throw new TypeError(`${what} has the unknown key "${key}"`);
    }
  }
}

/** Copies a case's directory and makes what every case has. */
export async function openStage(source: string): Promise<Stage> {
  const root = await Deno.realPath(
    await Deno.makeTempDir({ prefix: "bulkhead-case-" }),
  );
  const temp = await Deno.realPath(
    await Deno.makeTempDir({ prefix: "bulkhead-case-tmp-" }),
  );
  const stage: Stage = {
    root,
    plugins: `${root}/plugins`,
    workspace: `${root}/ws`,
    temp,
    groups: [],
  };
  if (await exists(source)) await copyTree(source, root, stage);
  await Deno.mkdir(stage.plugins, { recursive: true });
  await Deno.mkdir(stage.workspace, { recursive: true });
  return stage;
}

/** Ends and removes what the case left. */
export async function closeStage(stage: Stage): Promise<void> {
  stage.groups.forEach(endGroup);
  await Deno.remove(`${stage.temp}.log`).catch(() => undefined);
  for (const dir of [stage.root, stage.temp]) {
    try {
      await Deno.remove(dir, { recursive: true });
    } catch {
      // A case may have taken permissions away.
      await new Deno.Command("chmod", { args: ["-R", "u+rwx", dir] }).output();
      await Deno.remove(dir, { recursive: true }).catch(() => undefined);
    }
  }
}

/** Replaces the placeholders and `$repeat` in a value. */
export function fill(value: Json, stage: Stage): Json {
  if (typeof value === "string") return fillText(value, stage);
  if (Array.isArray(value)) return value.map((item) => fill(item, stage));
  if (value === null || typeof value !== "object") return value;
  const repeat = value.$repeat;
  if (Array.isArray(repeat) && Object.keys(value).length === 1) {
    const [text, count] = repeat;
    if (typeof text === "string" && typeof count === "number") {
      return fillText(text, stage).repeat(count);
    }
  }
  return Object.fromEntries(
    Object.entries(value).map((
      [key, item],
    ) => [fillText(key, stage), fill(item, stage)]),
  );
}

function fillText(text: string, stage: Stage): string {
  return text
    .replaceAll(/\{PLUGINS(?:_REAL)?\}/g, () => stage.plugins)
    .replaceAll(/\{WS(?:_REAL)?\}/g, () => stage.workspace)
    .replaceAll(/\{TMP(?:_REAL)?\}/g, () => stage.temp)
    .replaceAll(/\{CASE(?:_REAL)?\}/g, () => stage.root);
}

/** How long a line of a case may take. */
const LINE_DEADLINE_MS = 60_000;

/**
 * Runs a line of a case with bash in a directory. What the line leaves running, a server for instance, runs until the
 * case ends.
 */
export async function bash(
  line: string,
  cwd: string,
  stage: Stage,
): Promise<void> {
  const log = `${stage.temp}.log`;
  const child = new Deno.Command("bash", {
    args: ["-c", 'exec 2>"$0"; eval "$1"', log, line],
    cwd,
    detached: true,
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).spawn();
  stage.groups.push(child.pid);
  const timer = setTimeout(() => endGroup(child.pid), LINE_DEADLINE_MS);
  const { success, code, signal } = await child.status;
  clearTimeout(timer);
  if (success) return;
  const said = await Deno.readTextFile(log).catch(() => "");
  throw new Error(
    `set-up failed (${signal ?? code}): ${line}: ${said.trim().slice(0, 500)}`,
  );
}

function endGroup(pid: number): void {
  try {
    Deno.kill(-pid, "SIGKILL");
  } catch {
    // Nothing of it is left.
  }
}

async function copyTree(
  from: string,
  to: string,
  stage: Stage,
): Promise<void> {
  await Deno.mkdir(to, { recursive: true });
  for await (const entry of Deno.readDir(from)) {
    const source = `${from}/${entry.name}`;
    const target = `${to}/${entry.name}`;
    if (entry.isSymlink) {
      await Deno.symlink(fillText(await Deno.readLink(source), stage), target);
    } else if (entry.isDirectory) await copyTree(source, target, stage);
    else {
      await Deno.copyFile(source, target);
      // Kept, but for the owner, who may have to edit it.
      const mode = (await Deno.lstat(source)).mode ?? 0o644;
      await Deno.chmod(target, mode & 0o777 | 0o600);
      await fillFile(target, stage);
    }
  }
}

async function fillFile(path: string, stage: Stage): Promise<void> {
  const bytes = await Deno.readFile(path);
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(
      bytes,
    );
  } catch {
    return;
  }
  const filled = fillText(text, stage);
  if (filled !== text) await Deno.writeTextFile(path, filled);
}

/** Whether something is there, a broken link included. */
export async function exists(path: string): Promise<boolean> {
  try {
    await Deno.lstat(path);
    return true;
  } catch {
    return false;
  }
}
