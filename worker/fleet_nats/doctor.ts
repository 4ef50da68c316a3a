/**
 * Is the server fit for the fleet: reachable, new enough, with JetStream, with the
 * rights that are needed, and with a clock that agrees?
 *
 * @module
 */
import { reasonOf } from "@bulkhead/sandbox";
import {
  connectFleet,
  type Fleet,
  type FleetConnectOptions,
} from "./connection.ts";
import { FleetError } from "./error.ts";

/** One thing that was looked at. */
export interface FleetCheck {
  /** What. */
  readonly name: string;
  /** Whether it is in order. */
  readonly ok: boolean;
  /** What was found. */
  readonly found: string;
  /** What to do. */
  readonly fix?: string;
}

const FIRST_HOST =
  "start `bulkhead fleet host` once, with credentials of the host role where there are users: the first host makes what the fleet needs";

const MAX_SKEW_MS = 5_000;

/** Looks at the server; stops at what makes the rest impossible. */
export async function doctorFleet(
  options: FleetConnectOptions,
): Promise<FleetCheck[]> {
  let fleet: Fleet;
  try {
    fleet = await connectFleet({ ...options, create: false });
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable) throw error;
    if (!(error instanceof FleetError)) {
      return [{ name: "server", ok: false, found: reasonOf(error) }];
    }
    if (/stream not found/.test(error.message)) {
      return [{
        name: "server",
        ok: false,
        found: "it is there, and no fleet was made on it yet",
        fix: FIRST_HOST,
      }];
    }
    const { message, fix } = error;
    const found = message.replace(`; ${fix}`, "");
    return [{ name: "server", ok: false, found, fix }];
  }
  const checks: FleetCheck[] = [
    { name: "server", ok: true, found: `version ${fleet.serverVersion}` },
  ];
  checks.push(
    await check(
      "frames",
      FIRST_HOST,
      async () => {
        const info = await fleet.jsm.streams.info(fleet.names.frames);
        const { state, config } = info;
        return `${state.messages} messages, ${state.bytes} of ${config.max_bytes} bytes, ${config.num_replicas} copies`;
      },
    ),
  );
  checks.push(
    await check(
      "claims",
      "use credentials of the host role to run sessions",
      async () => {
        const bucket = await fleet.bucket(fleet.names.claims);
        const key = `doctor-${crypto.randomUUID()}`;
        await bucket.create(key, "x");
        await bucket.purge(key);
        return "can be made and removed";
      },
    ),
  );
  checks.push(await clock(fleet));
  await fleet.close();
  return checks;
}

/** The lease needs no agreeing clocks; ages and times that people read do. */
async function clock(fleet: Fleet): Promise<FleetCheck> {
  return await check(
    "clock",
    "set the clocks of server and hosts by NTP",
    async () => {
      const bucket = await fleet.bucket(fleet.names.claims);
      const key = `doctor-${crypto.randomUUID()}`;
      const before = Date.now();
      await bucket.create(key, "x");
      const middle = (before + Date.now()) / 2;
      const entry = await bucket.get(key);
      await bucket.purge(key);
      if (entry === null) return "the server does not tell its time";
      const skew = Math.round(entry.created.getTime() - middle);
      if (Math.abs(skew) > MAX_SKEW_MS) {
        throw new Error(
          `differs by ${skew} ms`,
        );
      }
      return `differs by ${skew} ms`;
    },
  );
}

async function check(
  name: string,
  fix: string,
  look: () => Promise<string>,
): Promise<FleetCheck> {
  try {
    return { name, ok: true, found: await look() };
  } catch (error) {
    // Advice for programs that need the stream; here it has a line of its own.
    const found = reasonOf(error).replace(
      /; let a user with the host .*$/s,
      "",
    );
    return { name, ok: false, found, fix };
  }
}
