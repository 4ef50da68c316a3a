/**
 * The names on the server: subjects, streams and buckets, all under one prefix.
 *
 * @module
 */

/** The format of everything on the server. */
export const FLEET_SCHEMA = 1;

/** The methods of the control subjects, by role. */
const ROLE_METHODS: Readonly<Record<FleetRole, readonly string[]>> = {
  watch: ["stream.ping", "stream.status", "stream.asks", "stream.turn"],
  answer: ["stream.answer_ask"],
  drive: ["stream.write_turn", "stream.interrupt", "stream.shutdown"],
};

/** What somebody may do with sessions: each role includes those before it. */
export type FleetRole = "watch" | "answer" | "drive";

/** The roles, from the least to the most. */
export const ROLES: readonly FleetRole[] = ["watch", "answer", "drive"];

/** All names of one fleet. */
export interface FleetNames {
  /** The prefix. */
  readonly prefix: string;
  /** The stream of frames. */
  readonly frames: string;
  /** The stream of sessions to start. */
  readonly queue: string;
  /** Bucket of sessions: `<host>.<short id>`. */
  readonly sessions: string;
  /** Bucket of open questions: `<host>.<short id>.<question>`. */
  readonly asks: string;
  /** Bucket of claims: the session's id. */
  readonly claims: string;
  /** Bucket of hosts that are there: `<host>.<instance>`. */
  readonly hosts: string;
  /** Bucket of queued sessions: the session's id. */
  readonly jobs: string;
  /** Bucket of the format. */
  readonly meta: string;
}

/** The names under a prefix. */
export function fleetNames(prefix: string): FleetNames {
  if (!/^[A-Za-z][A-Za-z0-9_-]{0,31}$/.test(prefix)) {
    throw new RangeError(
      `Cannot use the fleet prefix ${
        JSON.stringify(prefix)
      }: want letters, digits, "_" and "-"`,
    );
  }
  return {
    prefix,
    frames: `${prefix}_frames`,
    queue: `${prefix}_queue`,
    sessions: `${prefix}_sessions`,
    asks: `${prefix}_asks`,
    claims: `${prefix}_claims`,
    hosts: `${prefix}_hosts`,
    jobs: `${prefix}_jobs`,
    meta: `${prefix}_meta`,
  };
}

/** The subject of a session's frames; `epoch` is one life of the worker. */
export function frameSubject(
  prefix: string,
  id: string,
  epoch: string,
): string {
  return `${prefix}.frames.${id}.${epoch}`;
}

/** The subject that a session answers calls of a role on. */
export function controlSubject(
  prefix: string,
  id: string,
  role: FleetRole | "*",
): string {
  return `${prefix}.ctl.${id}.${role}`;
}

/** The subject of sessions to start. */
export function queueSubject(prefix: string): string {
  return `${prefix}.queue.session`;
}

/** The role that a method belongs to. */
export function roleOf(method: string): FleetRole | undefined {
  return ROLES.find((role) => ROLE_METHODS[role].includes(method));
}

/** A text as one token of a subject or key: nothing but letters, digits, `_` and `-`. */
export function token(text: string): string {
  return text.replace(/[^A-Za-z0-9_-]/g, "-").slice(0, 64) || "x";
}

/** A text as a key, without loss: what is no letter or digit becomes `=XX`. */
export function keyOf(text: string): string {
  return Array.from(new TextEncoder().encode(text), (byte) => {
    const char = String.fromCharCode(byte);
    return /[A-Za-z0-9_-]/.test(char)
      ? char
      : `=${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  }).join("");
}
