/**
 * A machine of the fleet as a program: server, name, directory, slots.
 *
 * @module
 */
import { runWorker, scriptedDriver } from "@bulkhead/worker";
import { connectFleet, offerHost } from "@bulkhead/worker/fleet";

const [servers = "", name = "", dir = "", slots = "1"] = Deno.args;
const fleet = await connectFleet({ servers, host: name });
await offerHost(fleet, {
  slots: Number(slots),
  workspaces: `${dir}/copies-${name}`,
  leaseMs: 8_000,
  marginMs: 2_000,
  ackMs: 10_000,
  againMs: 200,
  sweepMs: 500,
  maxOffers: 5,
  start: ({ cwd, job, shortId, resume, seat }) =>
    runWorker({
      shortId,
      home: `${dir}/${name}`,
      claimsRoot: `${dir}/${name}`,
      cwd,
      ...(resume === undefined ? { sessionId: job.sessionId } : { resume }),
      asks: "wait",
      deciders: [seat.decider, {
        name: "test",
        decide: () => ({ decision: "allow" }),
      }],
      driver: scriptedDriver({
        // Shared by all machines, as a home on a network would be.
        sessions: `${dir}/sessions`,
        script: {
          schema: 1,
          turns: [{
            steps: [{
              tool: "Bash",
              input: { command: `echo "${name}" >> ran` },
            }, {
              say: "ran once",
            }],
          }],
        },
      }),
    }),
});
await Deno.stdout.write(new TextEncoder().encode("ready\n"));
