/**
 * Two hundred sessions at rest on one machine: no timer fires, so they cost next to
 * no CPU.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import {
  connect,
  listWorkers,
  runWorker,
  scriptedDriver,
  type Worker,
} from "@bulkhead/worker";

const SESSIONS = 200;
const AT_ONCE = 4;
const WATCH_MS = 12_000;
/** CPU that all sessions may take in a minute, in seconds. */
const BUDGET_S = 1;

/** CPU time of a process in seconds. */
async function cpuSeconds(pid: number): Promise<number> {
  const stat = await Deno.readTextFile(`/proc/${pid}/stat`);
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

Deno.test({
  name: "200 sessions at rest take no CPU and are all listed",
  ignore: Deno.build.os !== "linux",
  async fn() {
    const dir = await Deno.realPath(await Deno.makeTempDir());
    const workers: Worker[] = [];
    try {
      const ids = Array.from({ length: SESSIONS }, (_, i) => `s${i}`);
      const startSome = async () => {
        for (let id = ids.shift(); id !== undefined; id = ids.shift()) {
          workers.push(
            await runWorker({
              shortId: id,
              home: `${dir}/w`,
              claimsRoot: dir,
              cwd: dir,
              driver: scriptedDriver({ sessions: `${dir}/sessions` }),
            }),
          );
        }
      };
      await Promise.all(Array.from({ length: AT_ONCE }, startSome));
      // One turn each, so that they rest after work and not before it.
      for (const worker of workers) {
        assertEquals((await worker.ask("hi")).outcome, "completed");
      }
      const started = performance.now();
      const list = await listWorkers(`${dir}/w`);
      const listMs = performance.now() - started;
      assertEquals(
        list.filter((entry) => entry.state === "idle").length,
        SESSIONS,
      );
      // A client that only watches costs nothing either.
      using client = await connect(workers[0]?.socketPath ?? "");
      const stop = new AbortController();
      const watching = Array.fromAsync(client.watch({ signal: stop.signal }));
      const pids = [Deno.pid, ...list.flatMap((entry) => entry.agentPid ?? [])];
      await new Promise((resolve) => setTimeout(resolve, 1_500));
      const total = async () =>
        (await Promise.all(pids.map(cpuSeconds))).reduce((a, b) => a + b, 0);
      const before = await total();
      await new Promise((resolve) => setTimeout(resolve, WATCH_MS));
      const used = await total() - before;
      stop.abort();
      await watching;
      const perMinute = used * 60_000 / WATCH_MS;
      const megabytes = (list[0]?.memoryBytes ?? 0) / 1_048_576;
      const text =
        `idle: ${SESSIONS} sessions, ${perMinute.toFixed(2)} s CPU a minute, ` +
        `listed in ${Math.round(listMs)} ms, host tree ${
          Math.round(megabytes)
        } MB\n`;
      await Deno.stderr.write(new TextEncoder().encode(text));
      assert(perMinute <= BUDGET_S, text);
    } finally {
      await Promise.all(workers.map((worker) => worker.end()));
      await Deno.remove(dir, { recursive: true });
    }
  },
});
