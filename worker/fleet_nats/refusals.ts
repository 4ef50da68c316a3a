/**
 * A server that cannot be used, in one line with the fix.
 *
 * @module
 */
import { reasonOf } from "@bulkhead/sandbox";
import { type JetStreamManager, jetstreamManager } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/transport-node";
import { FleetError } from "./error.ts";

const MINIMUM = [2, 9, 0] as const;

/** Why there is no connection. */
export function connectError(servers: string, error: unknown): FleetError {
  const text = reasonOf(error);
  if (/authoriz|authentic/i.test(text)) {
    return new FleetError(
      "not_authorized",
      `Cannot connect to the fleet "${servers}": the server refused the credentials`,
      "check the credentials file or user of this host",
      error,
    );
  }
  if (/tls|certificate|secure/i.test(text)) {
    return new FleetError(
      "insecure",
      `Cannot connect to the fleet "${servers}": ${text}`,
      "give the server a certificate and name its authority, or set tls to off on a network you trust",
      error,
    );
  }
  return new FleetError(
    "unreachable",
    `Cannot reach the fleet "${servers}": ${text}`,
    "start nats-server with JetStream there or drop --fleet; local sessions need no server",
    error,
  );
}

/** @throws {FleetError} When the server is too old. */
export function checkVersion(nc: NatsConnection): void {
  const version = nc.info?.version ?? "0";
  const parts = version.split(".").map((part) => Number.parseInt(part));
  for (const [i, least] of MINIMUM.entries()) {
    const part = parts[i] ?? 0;
    if (part > least) return;
    if (part < least) {
      throw new FleetError(
        "old_server",
        `Cannot use the fleet: the server is version ${version}`,
        `install nats-server ${MINIMUM.join(".")} or newer`,
      );
    }
  }
}

/** The manager of streams; JetStream may be off. */
export async function managerOf(nc: NatsConnection): Promise<JetStreamManager> {
  try {
    return await jetstreamManager(nc);
  } catch (error) {
    throw new FleetError(
      "no_jetstream",
      `Cannot use the fleet: the server has no JetStream for this account (${
        reasonOf(error)
      })`,
      "start nats-server with --jetstream, or enable it for the account",
      error,
    );
  }
}

/** Why what is missing on the server cannot be made. */
export function permissionError(servers: string, error: unknown): FleetError {
  if (error instanceof Error && error.name === "TimeoutError") {
    return new FleetError(
      "timeout",
      `Cannot prepare the fleet "${servers}": the server gives no answer`,
      "look at its load and, in a cluster, whether most of its nodes are there",
      error,
    );
  }
  return new FleetError(
    "not_authorized",
    `Cannot prepare the fleet "${servers}": ${reasonOf(error)}`,
    "let a user with the host permissions of `bulkhead fleet perms` connect first, and check the server's limits",
    error,
  );
}
