/**
 * A worker of the fleet as a program: server, directory, session, options.
 *
 * @module
 */
import { runWorker, scriptedDriver } from "@bulkhead/worker";
import { claimSession, connectFleet } from "@bulkhead/worker/fleet";

const [servers = "", dir = "", sessionId = "", text = "{}"] = Deno.args;
const { script, ...lease } = JSON.parse(text);
// Tests have no certificates; on loopback it is off anyway.
const fleet = await connectFleet({ servers, host: "one", tls: "off" });
const seat = await claimSession(fleet, {
  shortId: "demo",
  sessionId,
  cwd: `${dir}/ws`,
  ...lease,
});
const worker = await runWorker({
  shortId: "demo",
  home: `${dir}/one`,
  claimsRoot: `${dir}/one`,
  cwd: `${dir}/ws`,
  sessionId,
  deciders: [seat.decider, {
    name: "test",
    decide: () => ({ decision: "allow" }),
  }],
  asks: "wait",
  driver: scriptedDriver({ script, sessions: `${dir}/sessions` }),
});
await seat.attach(worker);
(async () => {
  for (;;) {
    const ask = worker.asks[0];
    if (ask) worker.answer(ask.id, { decision: "allow" });
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
})();
await worker.send("go");
await Deno.stdout.write(new TextEncoder().encode("ready\n"));
await worker.ended;
Deno.exit(0);
