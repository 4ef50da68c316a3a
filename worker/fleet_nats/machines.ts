/**
 * The machines of the fleet: one may run several of its programs.
 *
 * @module
 */
import type { PageHost } from "../page/source.ts";
import type { FleetHostRecord } from "./records.ts";

/** One entry a machine, from what its programs say, by name. */
export function machinesOf(records: Iterable<FleetHostRecord>): PageHost[] {
  const machines = Map.groupBy(records, (record) => record.host);
  return [...machines].map(([host, all]) => ({
    host,
    sessions: sum(all.map((one) => one.sessions.length)),
    slots: sum(all.map((one) => one.slots)),
    load: all.find((one) => one.load !== null)?.load ?? null,
    memoryBytes: all.find((one) => one.memory_bytes !== null)?.memory_bytes ??
      null,
  })).toSorted((a, b) => a.host < b.host ? -1 : 1);
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}
