/**
 * What dead machines have left behind.
 *
 * @module
 */
import type { Fleet } from "./connection.ts";
import type { JobRecord } from "./job_record.ts";
import { changeJob, listJobs, putInQueue } from "./jobs.ts";
import { type FleetSession, viewFleet } from "./remote.ts";

/** How long a session that is over is listed. */
const KEEP_MS = 7 * 86_400_000;

/**
 * Puts back into the queue what dead hosts have left, and tells of what nobody can take over: a
 * session that was not queued, and whose machine is gone, is orphaned.
 *
 * @param fleet The connection.
 * @returns The sessions that were queued again and those that were found orphaned.
 */
export async function sweepFleet(
  fleet: Fleet,
): Promise<{ requeued: string[]; orphaned: string[] }> {
  const [view, jobs] = await Promise.all([viewFleet(fleet), listJobs(fleet)]);
  // A program that was started again is another one: what it ran before is lost all the same.
  const there = new Set(view.hosts.map((h) => `${h.host}/${h.instance}`));
  const requeued: string[] = [], orphaned: string[] = [];
  for (const job of jobs) {
    if (job.host === null || there.has(job.host)) continue;
    if (job.state !== "placed" && job.state !== "delivered") continue;
    const moved = await changeJob(
      fleet,
      job.sessionId,
      (now) =>
        now.host === job.host && now.moves === job.moves &&
          now.state === job.state
          ? { host: null, moves: now.moves + 1 }
          : undefined,
    );
    if (moved === undefined) continue;
    await putInQueue(fleet, moved);
    requeued.push(job.sessionId);
  }
  requeued.push(...await queueLost(fleet, jobs));
  const bucket = await fleet.bucket(fleet.names.sessions);
  for (const session of view.sessions) {
    if (isOld(session)) {
      await bucket.purge(session.id);
      continue;
    }
    if (!session.lost || session.state === "orphaned") continue;
    if (jobs.some((job) => job.sessionId === session.session_id)) continue;
    const { lost: _, ...record } = session;
    await bucket.put(
      session.id,
      JSON.stringify({ ...record, state: "orphaned" }),
    );
    orphaned.push(session.id);
  }
  return { requeued, orphaned };
}

/** Jobs that wait although nothing is in the queue: it was deleted under them. */
async function queueLost(
  fleet: Fleet,
  jobs: readonly JobRecord[],
): Promise<string[]> {
  const waiting = jobs.filter((job) => job.state === "queued");
  if (waiting.length === 0) return [];
  const { state } = await fleet.jsm.streams.info(fleet.names.queue);
  if (state.messages > 0) return [];
  // One that is being queued right now is not doubled: the message has the same id.
  for (const job of waiting) await putInQueue(fleet, job);
  return waiting.map((job) => job.sessionId);
}

/** Its frames are gone as well by then. */
function isOld({ state, updated_at: at }: FleetSession): boolean {
  return (state === "ended" || state === "orphaned") &&
    Date.now() - at > KEEP_MS;
}
