/**
 * A session of this machine in the fleet: connected, claimed, and shown to all.
 *
 * @module
 */
import type { Decider } from "../agents/driver.ts";
import type { FleetSettings } from "../fleet_settings.ts";
import type { Worker } from "../worker.ts";
import { connectFleet, type Fleet } from "./connection.ts";
import { FleetError } from "./error.ts";
import { claimSession, type FleetSeat, type SeatOptions } from "./member.ts";

/** A session that is in the fleet. Made by {@linkcode joinFleet}. */
export interface FleetMember {
  /** The session in the fleet: `<host>.<short id>`. */
  readonly id: string;
  /** Denies every call while the lease is not sure; put it first. */
  readonly decider: Decider;
  /** Shows the worker to the fleet until it ends. */
  attach(worker: Worker): Promise<void>;
  /** Lets go of the session and the connection; end the worker first. */
  close(): Promise<void>;
}

/**
 * Connects, and claims a session over all machines; before its worker is started.
 *
 * A fleet that is only configured must not keep people from working: when it cannot be
 * reached, a new session, whose id nobody else can know, goes on without it. One that is
 * resumed might run elsewhere, and is refused.
 *
 * @param settings The fleet.
 * @param options The session, and whether it ran before.
 * @returns The member; `undefined` when the session goes on without the fleet.
 * @throws {FleetError} When the fleet was asked for and cannot be had, or somebody else has the session.
 */
export async function joinFleet(
  settings: FleetSettings,
  options: SeatOptions & { readonly resumed: boolean },
): Promise<FleetMember | undefined> {
  const { explicit, ...connection } = settings;
  let fleet: Fleet | undefined;
  let seat: FleetSeat;
  try {
    fleet = await connectFleet(connection);
    seat = await claimSession(fleet, options);
  } catch (error) {
    await fleet?.close();
    const known = error instanceof FleetError && error.code !== "held";
    if (!known || explicit) throw error;
    if (options.resumed) {
      throw new FleetError(
        error.code,
        error.message,
        "an earlier session may run on another machine: give --fleet off to go on here all the same",
        error,
      );
    }
    options.log?.(`${error.message}; this session is local`);
    return undefined;
  }
  const connected = fleet;
  return {
    id: seat.id,
    decider: seat.decider,
    attach: (worker) => seat.attach(worker),
    async close() {
      await seat.end();
      await connected.close();
    },
  };
}
