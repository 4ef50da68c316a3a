/**
 * Hosts, people and pages while their server goes and comes, loses its streams and is
 * cut off: whatever fails is told to whoever asked, and nothing ends the program. The
 * runner fails a file for any rejection that nobody handles.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { runWorker } from "@bulkhead/worker";
import {
  connectFleet,
  type Fleet,
  type FleetHost,
  fleetPageSource,
  listJobs,
  offerHost,
  queueSession,
  RemoteWorker,
  sweepFleet,
  viewFleet,
} from "@bulkhead/worker/fleet";
import { eventually } from "./support/eventually.ts";
import { startNats, TestLink } from "./support/nats_server.ts";
import { hasTool } from "./support/require_tool.ts";
import { Counted, SimulatedAgent } from "./support/simulated_agent.ts";

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

async function offer(
  fleet: Fleet,
  dir: string,
  counted: Counted,
): Promise<FleetHost> {
  return await offerHost(fleet, {
    slots: 5,
    workspaces: `${dir}/copies`,
    sweepMs: 500,
    againMs: 100,
    start: ({ cwd, job, shortId, resume, seat }) =>
      runWorker({
        shortId,
        home: `${dir}/${fleet.host}`,
        claimsRoot: `${dir}/${fleet.host}`,
        cwd,
        ...resume === undefined ? { sessionId: job.sessionId } : { resume },
        asks: "wait",
        deciders: [seat.decider],
        driver: new SimulatedAgent(counted, fleet.host),
      }),
  });
}

/** What people do all the time: each piece may fail, and is tried again. */
function people(fleet: Fleet, dir: string): (() => Promise<unknown>)[] {
  return [
    () => listJobs(fleet),
    () => sweepFleet(fleet),
    async () => {
      await queueSession(fleet, {
        sessionId: crypto.randomUUID(),
        agent: "scripted",
        workspace: { path: `${dir}/ws` },
        prompt: "go",
      });
      await pause(1_000);
    },
    async () => {
      const { asks, sessions } = await viewFleet(fleet);
      for (const { session, ask } of asks) {
        await new RemoteWorker(fleet, session)
          .answerAsk(ask.id, { decision: "allow" });
      }
      const idle = sessions.filter((session) => session.state === "idle");
      for (const { id } of idle.slice(0, 3)) {
        const remote = new RemoteWorker(fleet, id);
        const signal = AbortSignal.timeout(300);
        for await (const _ of remote.frames({ signal }));
        await remote.shutdown();
      }
    },
  ];
}

Deno.test({
  name: "fleet: nothing is left uncaught while the server goes and comes",
  ignore: !hasTool("nats-server"),
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    const dir = await Deno.realPath(await Deno.makeTempDir({ prefix: "fu" }));
    await Deno.mkdir(`${dir}/ws`);
    const counted = new Counted();
    {
      await using server = await startNats();
      await using link = new TestLink(server.port);
      const join = (port: number, host: string) =>
        connectFleet({ servers: `nats://127.0.0.1:${port}`, host });
      const fleets = await Promise.all([
        join(server.port, "h0"),
        join(server.port, "h1"),
        join(link.port, "h2"),
      ]);
      const hosts = await Promise.all(
        fleets.map((fleet) => offer(fleet, dir, counted)),
      );
      await using viewer = await join(server.port, "viewer");
      const page = fleetPageSource(viewer);
      const unlisten = page.listen(() => {});
      let on = true;
      const busy = people(viewer, dir).map(async (work) => {
        while (on) {
          await work().catch(() => {});
          await pause(50);
        }
      });
      const answers = () =>
        viewer.jsm.streams.list().next().then(() => true, () => false);
      const works = async () => {
        const before = counted.runs.size;
        await eventually("it works", async () => {
          if (counted.runs.size > before) return true;
          await pause(250);
          // nats-server 2.9.10 may answer nobody any more after streams were deleted in use: that is not what is
          // looked at here, and a restart mends it.
          if (!await answers() && !await answers()) {
            await server.stop("SIGKILL");
            await server.restart();
          }
          return counted.runs.size > before;
        }, 240_000);
      };
      await works();
      await server.stop("SIGKILL");
      await pause(1_000);
      await server.restart();
      await works();
      for (const { config } of await viewer.jsm.streams.list().next()) {
        await viewer.jsm.streams.delete(config.name);
      }
      await works();
      link.cut();
      await pause(3_000);
      link.heal();
      await fleets[1]?.nc.close();
      await works();
      on = false;
      await Promise.all(busy);
      unlisten();
      await page.close();
      await Promise.all(hosts.map((host) => host.close()));
      await Promise.all(fleets.map((fleet) => fleet.close()));
      assertEquals(counted.doubleWriters(), []);
    }
    await Deno.remove(dir, { recursive: true });
  },
});
