/**
 * Two hosts on two networks of their own, with a cable between them that is pulled.
 *
 * @module
 */
import { assert } from "@std/assert";
import { claimSession, connectFleet } from "@bulkhead/worker/fleet";
import { ended, killAll, startProgram } from "./support/fleet_program.ts";
import { startNats } from "./support/nats_server.ts";
import { hasTool } from "./support/require_tool.ts";
import {
  assertSilentSince,
  lastTick,
  SHORT_LEASE,
  TICKER,
  ticks,
} from "./support/ticker.ts";

async function ip(command: string): Promise<boolean> {
  const { success } = await new Deno.Command("ip", {
    args: command.split(" "),
    stdout: "null",
    stderr: "null",
  }).output();
  return success;
}

/** A network namespace and a cable to it; `undefined` without the right to make them. */
async function network(): Promise<
  { name: string; cable: string; near: string } & AsyncDisposable | undefined
> {
  const name = `bh${Deno.pid}`, cable = `${name}a`, far = `${name}b`;
  const net = `10.213.${Deno.pid % 250}`;
  const steps = [
    `netns add ${name}`,
    `link add ${cable} type veth peer name ${far} netns ${name}`,
    `addr add ${net}.1/30 dev ${cable}`,
    `link set ${cable} up`,
    `-n ${name} addr add ${net}.2/30 dev ${far}`,
    `-n ${name} link set lo up`,
    `-n ${name} link set ${far} up`,
  ];
  const undo = async () => {
    await ip(`link del ${cable}`);
    await ip(`netns del ${name}`);
  };
  for (const step of steps) {
    if (await ip(step)) continue;
    await undo();
    return undefined;
  }
  return { name, cable, near: `${net}.1`, [Symbol.asyncDispose]: undo };
}

Deno.test({
  name:
    "fleet: a host whose cable is pulled ends its agent before another begins",
  ignore: ![
    hasTool("nats-server"),
    hasTool("ip", "apt-get install iproute2"),
  ].every((there) => there),
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    await using net = await network();
    if (net === undefined) {
      // No tool that could be installed: not even CI has the right everywhere.
      return void await Deno.stderr.write(new TextEncoder().encode(
        "skipped: no right to make a network namespace; run as root\n",
      ));
    }
    const dir = await Deno.realPath(await Deno.makeTempDir());
    await Deno.mkdir(`${dir}/ws`);
    const children: Deno.ChildProcess[] = [];
    try {
      await using server = await startNats({ address: "0.0.0.0" });
      await using two = await connectFleet({
        servers: `nats://127.0.0.1:${server.port}`,
        host: "two",
      });
      const sessionId = crypto.randomUUID();
      const child = await startProgram("fleet_host.ts", [
        `nats://${net.near}:${server.port}`,
        dir,
        sessionId,
        JSON.stringify({ ...SHORT_LEASE, script: TICKER }),
      ], ["ip", "netns", "exec", net.name]);
      children.push(child);
      await ticks(`${dir}/ws`);
      assert(await ip(`link set ${net.cable} down`));
      const next = await claimSession(two, {
        shortId: "next",
        sessionId,
        ...SHORT_LEASE,
      });
      const last = await assertSilentSince(`${dir}/ws`, Date.now());
      // Plugged in again it finds that it has lost, and writes nothing more.
      assert(await ip(`link set ${net.cable} up`));
      await ended(child);
      assert(await lastTick(`${dir}/ws`) === last && next.lease.valid);
      await next.end();
    } finally {
      await killAll(children);
      await Deno.remove(dir, { recursive: true });
    }
  },
});
