/**
 * Fifty hosts with twenty sessions each on a real server, three hosts cut off in the
 * middle. Counted: frames lost or twice, questions answered twice, double writers,
 * turns run again. All none.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { DeliverPolicy } from "@nats-io/jetstream";
import { runWorker } from "@bulkhead/worker";
import {
  connectFleet,
  type Fleet,
  type FleetHost,
  listJobs,
  offerHost,
  queueSession,
  RemoteWorker,
  viewFleet,
} from "@bulkhead/worker/fleet";
import { followBucket } from "../worker/fleet_nats/follow.ts";
import { eventually } from "./support/eventually.ts";
import { LinkThread } from "./support/link_worker.ts";
import { startNats } from "./support/nats_server.ts";
import { hasTool } from "./support/require_tool.ts";
import { Counted, SimulatedAgent } from "./support/simulated_agent.ts";

const HOSTS = 50, PER_HOST = 20, CUT = 3;
const SESSIONS = HOSTS * PER_HOST;

/** Answers every question of the fleet as soon as it is seen; others do the same. */
async function answerAll(
  fleet: Fleet,
  signal: AbortSignal,
  won: Map<string, number>,
): Promise<void> {
  await followBucket(fleet, fleet.names.asks, undefined, signal, (_, text) => {
    if (text === undefined) return;
    const { session, ask }: { session: string; ask: { id: string } } = JSON
      .parse(text);
    (async () => {
      while (!signal.aborted) {
        try {
          const answered = await new RemoteWorker(fleet, session)
            .answerAsk(ask.id, { decision: "allow" });
          if (answered) won.set(ask.id, (won.get(ask.id) ?? 0) + 1);
          return;
        } catch {
          // Its host is cut off or slow: until somebody has it.
          await new Promise((resolve) => setTimeout(resolve, 500));
        }
      }
    })();
  });
}

Deno.test({
  name: "fleet at size: 50 hosts x 20 sessions, counted",
  ignore: !hasTool("nats-server"),
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    const dir = await Deno.realPath(await Deno.makeTempDir({ prefix: "fs" }));
    await Deno.mkdir(`${dir}/ws`);
    const counted = new Counted();
    const made = new Map<string, number>();
    {
      await using server = await startNats();
      await using ann = await connectFleet({
        servers: `nats://127.0.0.1:${server.port}`,
        host: "ann",
      });
      await using links = await LinkThread.open(server.port, CUT);
      const fleets = await Promise.all(
        Array.from({ length: HOSTS }, (_, i) =>
          connectFleet({
            servers: `nats://127.0.0.1:${links.ports[i] ?? server.port}`,
            host: `h${i}`,
            timeoutMs: 20_000,
          })),
      );
      const hosts: FleetHost[] = [];
      for (const fleet of fleets) {
        hosts.push(
          await offerHost(fleet, {
            // The others have room for what the three leave.
            slots: PER_HOST + 2,
            workspaces: `${dir}/copies`,
            async start({ cwd, job, shortId, resume, seat }) {
              const worker = await runWorker({
                shortId,
                home: `${dir}/${fleet.host}`,
                claimsRoot: `${dir}/${fleet.host}`,
                cwd,
                ...resume === undefined
                  ? { sessionId: job.sessionId }
                  : { resume },
                asks: "wait",
                deciders: [seat.decider],
                driver: new SimulatedAgent(counted, fleet.host),
              });
              worker.ended.finally(() =>
                made.set(seat.epoch, worker.session.log.end)
              );
              return worker;
            },
          }),
        );
      }
      await using bob = await connectFleet({
        servers: `nats://127.0.0.1:${server.port}`,
        host: "bob",
      });
      const stop = new AbortController();
      const annWon = new Map<string, number>(),
        bobWon = new Map<string, number>();
      const people = [
        answerAll(ann, stop.signal, annWon),
        answerAll(bob, stop.signal, bobWon),
      ];
      for (const person of people) person.catch(() => {});
      const began = performance.now();
      const ids = Array.from({ length: SESSIONS }, () => crypto.randomUUID());
      for (let at = 0; at < ids.length; at += 50) {
        await Promise.all(
          ids.slice(at, at + 50).map((sessionId) =>
            queueSession(ann, {
              sessionId,
              agent: "scripted",
              workspace: { path: `${dir}/ws` },
              prompt: "go",
            })
          ),
        );
      }
      const settled = async (turns: number) =>
        counted.answers.size >= turns &&
        (await viewFleet(ann)).asks.length === 0;
      await eventually(
        () => `${counted.answers.size} first turns`,
        () => settled(SESSIONS),
        480_000,
      );
      const placed = performance.now() - began;

      // Three hosts are cut off with everything they run.
      const moving = hosts.slice(0, CUT).flatMap((host) => host.sessions);
      await links.cut();
      await eventually(
        () => `${moving.length} sessions elsewhere`,
        async () => {
          const jobs = new Map(
            (await listJobs(ann)).map((job) => [job.sessionId, job]),
          );
          return moving.every((id) =>
            hosts.slice(CUT).some((host) => host.sessions.includes(id)) &&
            jobs.get(id)?.moves === 1
          );
        },
        480_000,
      );
      const moved = performance.now() - began - placed;

      // One more turn for each, sent by two people with one id.
      const view = await viewFleet(ann);
      const serving = new Map(
        view.sessions.filter((s) => !s.lost && s.state !== "ended")
          .map((s) => [s.session_id, s.id]),
      );
      assertEquals(serving.size, SESSIONS);
      await Promise.all([...serving.values()].flatMap((id) => {
        const uuid = crypto.randomUUID();
        return [ann, bob].map((who) =>
          new RemoteWorker(who, id).writeTurn("again", { uuid })
        );
      }));
      await eventually(
        () => `${counted.answers.size} turns`,
        () => settled(2 * SESSIONS),
        480_000,
      );
      stop.abort();
      await Promise.all(people);
      await Promise.all(hosts.slice(CUT).map((host) => host.close()));
      await Promise.all(fleets.slice(CUT).map((fleet) => fleet.close()));
      const names = fleets.slice(0, CUT).map((fleet) => fleet.host);
      assertEquals(
        counted.lives.filter((life) =>
          names.includes(life.host) && life.ended === Infinity
        ),
        [],
        "a host that is cut off runs nothing",
      );

      // Every frame of every life, straight from the stream.
      const seen = new Map<string, Set<number>>();
      let twice = 0, total = 0;
      const { name } = await ann.jsm.consumers.add(
        ann.names.frames,
        {
          deliver_policy: DeliverPolicy.All,
          ack_policy: "none",
          mem_storage: true,
        } as Parameters<typeof ann.jsm.consumers.add>[1],
      );
      const consumer = await ann.js.consumers.get(ann.names.frames, name);
      const { num_pending: pending } = await consumer.info();
      let left = pending;
      for await (const message of await consumer.consume()) {
        const epoch = message.subject.split(".").at(-1) ?? "";
        const from = Number(message.headers?.get("Bulkhead-From"));
        const frames = message.json<unknown[]>();
        const indexes = seen.get(epoch) ?? new Set();
        seen.set(epoch, indexes);
        for (const [i] of frames.entries()) {
          if (indexes.has(from + i)) twice++;
          indexes.add(from + i);
          total++;
        }
        if (--left === 0) break;
      }
      let lost = 0;
      for (const [epoch, count] of made) {
        for (let i = 0; i < count; i++) if (!seen.get(epoch)?.has(i)) lost++;
      }
      const answeredTwice = [...counted.answers].filter(([id, times]) =>
        times !== 1 || (annWon.get(id) ?? 0) + (bobWon.get(id) ?? 0) > 1
      ).length;
      const rerun = [...counted.runs.values()].filter((n) =>
        n !== 1
      ).length;
      const figures = {
        framesLost: lost,
        framesTwice: twice,
        asksTwice: answeredTwice,
        doubleWriters: counted.doubleWriters().length,
        turnsRerun: rerun,
      };
      await Deno.stderr.write(new TextEncoder().encode(
        `fleet: ${SESSIONS} sessions placed and answered in ${
          Math.round(placed)
        } ms, ${moving.length} moved in ${
          Math.round(moved)
        } ms, ${counted.lives.length} lives, ${counted.runs.size} turns, ${total} frames: ${
          JSON.stringify(figures)
        }\n`,
      ));
      assertEquals(figures, {
        framesLost: 0,
        framesTwice: 0,
        asksTwice: 0,
        doubleWriters: 0,
        turnsRerun: 0,
      });
      assertEquals(counted.runs.size, 2 * SESSIONS);
      assertEquals(counted.lives.length, SESSIONS + moving.length);
      assert(moving.length >= CUT);
      // Healed, they end in order.
      await links.heal();
      await Promise.all(hosts.slice(0, CUT).map((host) => host.close()));
      await Promise.all(fleets.slice(0, CUT).map((fleet) => fleet.close()));
    }
    await Deno.remove(dir, { recursive: true });
  },
});
