/**
 * Whether anything of a case is still running.
 *
 * @module
 */

/** How long a process may take to be gone. */
const PATIENCE_MS = 2000;

/**
 * Whether a process is gone or a zombie, or is one that was there before: a tool in a PID namespace writes a pid that
 * means somebody else outside.
 */
export async function pidIsDead(
  pid: number,
  startedAt: number,
): Promise<boolean> {
  return await within(() => !isAlive(pid, startedAt));
}

/** The processes that were started with this workspace, after they were given time to go. */
export async function livingProcesses(workspace: string): Promise<string[]> {
  let found: string[] = [];
  await within(() => {
    found = withWorkspace(workspace);
    return found.length === 0;
  });
  return found;
}

async function within(holds: () => boolean): Promise<boolean> {
  const end = performance.now() + PATIENCE_MS;
  while (!holds()) {
    if (performance.now() > end) return false;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return true;
}

function isAlive(pid: number, startedAt: number): boolean {
  if (!Number.isInteger(pid) || pid <= 1) return false;
  const stat = readProc(`${pid}/stat`);
  if (stat === undefined) return false;
  // The name in parentheses may hold anything; the fields begin after the last one.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  if (fields[0] === "Z" || fields[0] === "X") return false;
  const uptime = Number(readProc("uptime")?.split(" ")[0] ?? 0);
  const born = Date.now() - (uptime - Number(fields[19]) / 100) * 1000;
  return born >= startedAt - 1000;
}

function withWorkspace(workspace: string): string[] {
  const mark = `\0WORKSPACE_DIR=${workspace}\0`;
  const found: string[] = [];
  for (const entry of Deno.readDirSync("/proc")) {
    if (!/^\d+$/.test(entry.name)) continue;
    const environment = readProc(`${entry.name}/environ`);
    if (environment === undefined || !`\0${environment}`.includes(mark)) {
      continue;
    }
    const state = readProc(`${entry.name}/stat`)?.replace(/^.*\) /s, "")[0];
    if (state === "Z" || state === undefined) continue;
    const command = readProc(`${entry.name}/cmdline`)?.replaceAll("\0", " ");
    found.push(`${entry.name} ${command ?? ""}`.trim());
  }
  return found;
}

function readProc(path: string): string | undefined {
  try {
    return Deno.readTextFileSync(`/proc/${path}`);
  } catch {
    return undefined;
  }
}
