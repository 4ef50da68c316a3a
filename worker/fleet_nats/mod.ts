/**
 * The same sessions over many machines, on NATS JetStream. Loaded only when it is
 * asked for: nothing else of this package imports it.
 *
 * @example What a person who only watches may do
 * ```ts
 * import { fleetPermissions } from "@bulkhead/worker/fleet";
 * import { assert } from "@std/assert";
 *
 * const { publish } = fleetPermissions("watch");
 * assert(publish.allow.includes("bulkhead.ctl.*.*.watch"));
 * assert(!publish.allow.some((subject) => subject.endsWith(".drive")));
 * ```
 *
 * @module
 */
export type { FleetAddress } from "../fleet_settings.ts";
export { connectFleet, Fleet, type FleetConnectOptions } from "./connection.ts";
export { doctorFleet, type FleetCheck } from "./doctor.ts";
export { FleetError, type FleetErrorCode } from "./error.ts";
export { type FrameBatch, type ReadFrameOptions } from "./frames.ts";
export {
  acquireLease,
  Lease,
  type LeaseClock,
  type LeaseEnd,
  type LeaseHeld,
  type LeaseOptions,
  type LeaseStore,
} from "./lease.ts";
export type {
  FleetJob,
  FleetWorkspace,
  JobRecord,
  JobState,
} from "./job_record.ts";
export { listJobs, queueSession, readJob } from "./jobs.ts";
export type { OfferOptions } from "./offers.ts";
export { type FleetMember, joinFleet } from "./join.ts";
export type { JobOptions } from "./job_options.ts";
export { queueCommand, type QueueRequest } from "./queue.ts";
export { claimSession, FleetSeat, type SeatOptions } from "./member.ts";
export type { FleetNames, FleetRole } from "./names.ts";
export * from "./perms.ts";
export type {
  FleetAsk,
  FleetHostRecord,
  FleetSessionRecord,
} from "./records.ts";
export {
  type FleetSession,
  type FleetView,
  RemoteWorker,
  viewFleet,
} from "./remote.ts";
export {
  FleetHost,
  type HostOptions,
  offerHost,
  type PlacedSession,
} from "./placement.ts";
export { sweepFleet } from "./sweep.ts";
export { fleetPageSource } from "./page.ts";
