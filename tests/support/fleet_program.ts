/**
 * Programs of the fleet as processes of their own.
 *
 * @module
 */

import type { Fleet } from "@bulkhead/worker/fleet";
import { eventually } from "./eventually.ts";
import { fromFileUrl } from "@std/path";

const ROOT = fromFileUrl(new URL("../../", import.meta.url));

/** Starts `tests/support/<name>` and waits until it says that it is ready; `under` goes before its command line. */
export async function startProgram(
  name: string,
  args: readonly string[],
  under: readonly string[] = [],
): Promise<Deno.ChildProcess> {
  const [program = "", ...before] = [...under, Deno.execPath()];
  const child = new Deno.Command(program, {
    args: [
      ...before,
      "run",
      "-A",
      "--no-lock",
      "--no-check",
      `--config=${ROOT}deno.json`,
      `${ROOT}tests/support/${name}`,
      ...args,
    ],
    stdout: "piped",
  }).spawn();
  const reader = child.stdout.getReader();
  const { done } = await reader.read();
  reader.cancel().catch(() => {});
  if (done) throw new Error(`${name} ended before it was ready`);
  return child;
}

/** Waits until a program has ended by itself. */
export async function ended(child: Deno.ChildProcess): Promise<void> {
  let over = false;
  child.status.then(() => over = true);
  await eventually("the program ends by itself", () => over);
}

/** Kills programs, those that have ended as well. */
export async function killAll(
  children: readonly Deno.ChildProcess[],
): Promise<void> {
  for (const child of children) {
    try {
      child.kill("SIGKILL");
    } catch {
      // it has ended
    }
    await child.status;
  }
}

/** Waits until no host has anything of the queue in hand that it has not acknowledged. */
export async function acknowledged(fleet: Fleet): Promise<void> {
  await eventually("what was placed is acknowledged", async () => {
    const info = await fleet.jsm.consumers.info(fleet.names.queue, "placement");
    return info.num_ack_pending === 0 && info.num_pending === 0;
  });
}

/** Puts a session on record that no process stands behind. */
export async function putSession(
  fleet: Fleet,
  id: string,
  epoch: string = crypto.randomUUID(),
): Promise<void> {
  const bucket = await fleet.bucket(fleet.names.sessions);
  const { host, instance } = fleet;
  await bucket.put(
    id,
    JSON.stringify({ schema: 1, id, host, instance, epoch, state: "idle" }),
  );
}
