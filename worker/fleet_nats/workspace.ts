/**
 * The workspace of a queued session on this machine.
 *
 * @module
 */
import { run } from "@bulkhead/sandbox";
import { GIT_SOURCE, type JobRecord } from "./job_record.ts";

/** The directory of a job on this machine; `undefined` when it cannot be had. */
export async function prepareWorkspace(
  job: Pick<JobRecord, "workspace" | "sessionId">,
  root: string,
): Promise<string | undefined> {
  if ("path" in job.workspace) {
    const info = await Deno.stat(job.workspace.path).catch(() => undefined);
    return info?.isDirectory
      ? await Deno.realPath(job.workspace.path)
      : undefined;
  }
  const [, url, commit] = GIT_SOURCE.exec(job.workspace.git) ?? [];
  if (url === undefined || commit === undefined) return undefined;
  const dir = `${root}/${job.sessionId}`;
  if ((await Deno.stat(`${dir}/.git`).catch(() => undefined))?.isDirectory) {
    return dir;
  }
  await Deno.mkdir(dir, { recursive: true, mode: 0o700 });
  // Exactly that commit, no prompt, no helper that the url could name.
  const steps = [
    ["init", "--quiet"],
    ["fetch", "--quiet", "--depth", "1", "--", url, commit],
    ["checkout", "--quiet", "--detach", commit],
  ];
  for (const step of steps) {
    const result = await run(
      ["git", "-c", "protocol.ext.allow=never", ...step],
      {
        cwd: dir,
        env: {
          PATH: Deno.env.get("PATH") ?? "/usr/bin:/bin",
          HOME: Deno.env.get("HOME") ?? "/",
          GIT_TERMINAL_PROMPT: "0",
        },
        timeoutMs: 120_000,
      },
    ).catch(() => undefined);
    if (result?.success !== true) {
      await Deno.remove(dir, { recursive: true }).catch(() => {});
      return undefined;
    }
  }
  return dir;
}
