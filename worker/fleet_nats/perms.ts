/**
 * What each role may say and hear on the server, as NATS subject permissions.
 *
 * @module
 */
import { fleetNames, type FleetRole, queueSubject, ROLES } from "./names.ts";

/** Subject permissions in the shape of a NATS server's configuration. */
export interface FleetPermissions {
  /** What may be published. */
  readonly publish: { readonly allow: string[] };
  /** What may be subscribed to. */
  readonly subscribe: { readonly allow: string[] };
  /** Whether a received request may be answered. */
  readonly allowResponses: boolean;
}

/** A role of `bulkhead fleet perms`: one of people, `queue` to start sessions, `host` for machines. */
export type PermissionRole = FleetRole | "queue" | "host";

/** All roles, from the least to the most. */
export const PERMISSION_ROLES: readonly PermissionRole[] = [
  ...ROLES,
  "queue",
  "host",
];

/**
 * The subject permissions of a role. People get the calls of their role and the reading of
 * streams and buckets, nothing that writes or deletes them; hosts own everything of the fleet.
 *
 * @param role The role.
 * @param options The fleet's prefix.
 * @returns The permissions.
 */
export function fleetPermissions(
  role: PermissionRole,
  options: { prefix?: string } = {},
): FleetPermissions {
  const names = fleetNames(options.prefix ?? "bulkhead");
  const { prefix } = names;
  if (role === "host") {
    return {
      publish: {
        allow: [
          `${prefix}.>`,
          "$JS.API.>",
          "$JS.ACK.>",
          ...[
            names.sessions,
            names.asks,
            names.claims,
            names.hosts,
            names.jobs,
            names.meta,
          ]
            .map((bucket) => `$KV.${bucket}.>`),
          "_INBOX.>",
        ],
      },
      subscribe: { allow: [`${prefix}.ctl.>`, "_INBOX.>"] },
      allowResponses: true,
    };
  }
  const calls = ROLES.slice(
    0,
    Math.max(1, ROLES.findIndex((r) => r === role) + 1),
  )
    .map((r) => `${prefix}.ctl.*.*.${r}`);
  const readable = [
    names.frames,
    ...[names.sessions, names.asks, names.hosts, names.jobs, names.meta].map((
      b,
    ) => `KV_${b}`),
  ];
  const reading = readable.flatMap((stream) => [
    `$JS.API.STREAM.INFO.${stream}`,
    `$JS.API.STREAM.MSG.GET.${stream}`,
    `$JS.API.DIRECT.GET.${stream}`,
    `$JS.API.DIRECT.GET.${stream}.>`,
    `$JS.API.CONSUMER.CREATE.${stream}`,
    `$JS.API.CONSUMER.CREATE.${stream}.>`,
    `$JS.API.CONSUMER.INFO.${stream}.>`,
    `$JS.API.CONSUMER.MSG.NEXT.${stream}.>`,
    `$JS.API.CONSUMER.DELETE.${stream}.>`,
    `$JS.ACK.${stream}.>`,
    `$JS.FC.${stream}.>`,
  ]);
  return {
    publish: {
      allow: [
        ...calls,
        ...role === "queue"
          ? [queueSubject(prefix), `$KV.${names.jobs}.>`]
          : [],
        "$JS.API.INFO",
        ...reading,
      ],
    },
    subscribe: { allow: ["_INBOX.>"] },
    allowResponses: false,
  };
}

/**
 * The permissions of roles as a piece of a NATS server's configuration: one variable
 * a role, to be named in the users' `permissions`.
 *
 * @param options The fleet's prefix, and which roles; a server refuses variables that nobody names.
 * @returns The text, to be included.
 *
 * @example
 * ```ts
 * import { permissionsConfig } from "@bulkhead/worker/fleet";
 * import { assert } from "@std/assert";
 *
 * const text = permissionsConfig({ roles: ["watch"] });
 * assert(text.includes("BULKHEAD_WATCH"));
 * ```
 */
export function permissionsConfig(
  options: { prefix?: string; roles?: readonly PermissionRole[] } = {},
): string {
  const roles = options.roles ?? PERMISSION_ROLES;
  const blocks = roles.map((role) => {
    const { publish, subscribe, allowResponses } = fleetPermissions(
      role,
      options,
    );
    const list = (subjects: readonly string[]) =>
      subjects.map((s) => JSON.stringify(s)).join(", ");
    return `BULKHEAD_${role.toUpperCase()} = {\n` +
      `  publish: { allow: [${list(publish.allow)}] }\n` +
      `  subscribe: { allow: [${list(subscribe.allow)}] }\n` +
      (allowResponses ? "  allow_responses: true\n" : "") + "}\n";
  });
  return "# Name one in a user's permissions, for example\n" +
    `#   users: [ { user: ann, password: $ANN, permissions: $BULKHEAD_${
      (roles[0] ?? "watch").toUpperCase()
    } } ]\n` + blocks.join("");
}
