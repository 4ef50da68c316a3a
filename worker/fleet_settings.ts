/**
 * Which fleet somebody asked for: on the command line, or `[worker] fleet` in the
 * user's configuration. Nothing here knows the server's protocol, so that asking costs
 * nothing when there is no fleet.
 *
 * @module
 */
import { readTextCapped, reasonOf } from "@bulkhead/sandbox";
import { UsageError } from "@bulkhead/sandbox/command";

/** Where a fleet is and how it is reached. */
export interface FleetAddress {
  /** One or more `nats://host:port`, with commas between them. */
  readonly servers: string;
  /** A NATS credentials file. */
  readonly credentialsFile?: string;
  /** A user, for servers without credentials files. */
  readonly user?: string;
  /** The password of `user`. */
  readonly password?: string;
  /**
   * `required` encrypts; `off` does not, which is refused unless every server is on
   * loopback or this is given.
   *
   * @default by address
   */
  readonly tls?: "required" | "off";
  /** A file with the certificate authority of the servers. */
  readonly caFile?: string;
  /**
   * What all names on the server begin with.
   *
   * @default {"bulkhead"}
   */
  readonly prefix?: string;
  /**
   * The name of this machine in the fleet.
   *
   * @default its host name and a hash of its id
   */
  readonly host?: string;
}

/** A fleet that somebody asked for. */
export interface FleetSettings extends FleetAddress {
  /** True when it was asked for in this very command: then a fleet that cannot be had is a failure. */
  readonly explicit: boolean;
}

/** The flags that say which fleet. */
export const FLEET_FLAGS: readonly string[] = [
  "fleet",
  "fleet-credentials",
  "fleet-tls",
  "fleet-ca",
  "fleet-user",
  "fleet-prefix",
  "fleet-host",
];

const CONNECTION_HELP = `  --fleet-credentials FILE  a NATS credentials file
  --fleet-tls required|off  encryption; on unless every server is on this machine
  --fleet-ca FILE           the certificate authority of the servers
`;

/** The help of {@linkcode FLEET_FLAGS} for a worker, which is where it is. */
export const FLEET_HELP =
  `  --fleet nats://HOST:PORT  every machine of the fleet sees the session; several servers with
                            commas; "off" for none
${CONNECTION_HELP}`;

/** The help of {@linkcode FLEET_FLAGS} for whoever starts a session. */
export const PLACE_HELP =
  `  --fleet nats://HOST:PORT  start it on whichever machine of the fleet has room; several servers
                            with commas; alone it is [worker] fleet in config.toml, "off" is none
  --here                    start it here all the same; every machine sees it. So it is without
                            --fleet when config.toml names one
${CONNECTION_HELP}`;

/** What was asked for without a value: the fleet of the environment or the configuration. */
const CONFIGURED = "configured";
const MAX_CONFIG = 1_048_576;

/**
 * Whether a command line that starts a session wants it on another machine: `--fleet` asks
 * for that, the configuration alone does not.
 *
 * @param fleet What `--fleet` says.
 * @param here Whether `--here` is given.
 * @returns True when it is to be queued.
 */
export function isQueued(fleet: string | undefined, here: boolean): boolean {
  return fleet !== undefined && fleet !== "off" && !here;
}

/**
 * A lone `--fleet` means the configured fleet; parsers of flags want a value.
 *
 * @param args The command line.
 * @returns The command line with a value after every `--fleet`.
 */
export function fillFleetFlag(args: readonly string[]): string[] {
  const end = args.indexOf("--");
  return args.map((arg, at) => {
    if (arg !== "--fleet" || (end >= 0 && at > end)) return arg;
    const next = args[at + 1];
    return next === "off" || /^[a-z+]+:\/\/\S+$/i.test(next ?? "")
      ? arg
      : `--fleet=${CONFIGURED}`;
  });
}

/**
 * The fleet that was asked for.
 *
 * @param home The Bulkhead home, where `config.toml` is; `undefined` to look at flags alone.
 * @param flag Reads a flag of the command line by its name.
 * @returns How to reach it; `undefined` when there is none.
 * @throws {UsageError} When a flag or the configuration cannot be understood.
 */
export async function fleetSettings(
  home: string | undefined,
  flag: (name: string) => string | undefined = () => undefined,
): Promise<FleetSettings | undefined> {
  const given = flag("fleet");
  if (given === "off") return undefined;
  const explicit = given !== undefined;
  const config: Record<string, string | undefined> = home === undefined
    ? {}
    : await configured(home);
  const environment = given === CONFIGURED
    ? Deno.env.get("BULKHEAD_FLEET")
    : undefined;
  const servers = explicit && given !== CONFIGURED
    ? given
    : environment ?? config.fleet;
  if (!servers || servers === "off") {
    if (!explicit) return undefined;
    throw new UsageError(
      "Cannot find the fleet: no server is named",
      '--fleet nats://host:4222, or [worker] fleet = "nats://host:4222" in config.toml',
    );
  }
  for (const server of servers.split(",")) {
    if (/^(?:nats|tls):\/\/[^\s/]+$/.test(server.trim())) continue;
    throw new UsageError(
      `Cannot read the fleet "${server.trim()}": want nats://host:port`,
      "--fleet nats://127.0.0.1:4222",
    );
  }
  const tls = flag("fleet-tls") ?? config.fleet_tls;
  if (tls !== undefined && tls !== "required" && tls !== "off") {
    throw new UsageError(
      `Cannot read the fleet's encryption "${tls}": want required or off`,
      "--fleet-tls required",
    );
  }
  const path = (text: string | undefined, base: string) =>
    text === undefined || text.startsWith("/") ? text : `${base}/${text}`;
  const user = flag("fleet-user") ?? config.fleet_user;
  const set: Record<string, string | undefined> = {
    credentialsFile: path(flag("fleet-credentials"), Deno.cwd()) ??
      path(config.fleet_credentials, home ?? "") ??
      (explicit || config.fleet
        ? Deno.env.get("BULKHEAD_FLEET_CREDENTIALS")
        : undefined),
    user,
    password: user === undefined
      ? undefined
      : Deno.env.get("BULKHEAD_FLEET_PASSWORD") ?? "",
    caFile: path(flag("fleet-ca"), Deno.cwd()) ??
      path(config.fleet_ca, home ?? ""),
    prefix: flag("fleet-prefix") ?? config.fleet_prefix,
    host: flag("fleet-host") ?? config.fleet_host,
  };
  return {
    servers,
    explicit,
    ...tls === undefined ? {} : { tls },
    ...Object.fromEntries(
      Object.entries(set).filter(([, value]) => value !== undefined),
    ),
  };
}

/**
 * The same settings as flags of another program of ours; the password stays in the environment.
 *
 * @param settings The settings.
 * @returns The flags.
 */
export function fleetFlags(settings: FleetSettings): string[] {
  const pairs: [string, string | undefined][] = [
    ["fleet", settings.servers],
    ["fleet-credentials", settings.credentialsFile],
    ["fleet-tls", settings.tls],
    ["fleet-ca", settings.caFile],
    ["fleet-user", settings.user],
    ["fleet-prefix", settings.prefix],
    ["fleet-host", settings.host],
  ];
  return pairs.flatMap(([name, value]) =>
    value === undefined ? [] : [`--${name}`, value]
  );
}

/**
 * The addresses that Deno has to permit.
 *
 * @param settings The settings.
 * @returns `host:port` of every server.
 */
export function fleetAddresses(
  settings: Pick<FleetSettings, "servers">,
): string[] {
  return settings.servers.split(",").map((server) => {
    const address = server.trim().replace(/^\w+:\/\//, "").replace(
      /^[^@]*@/,
      "",
    );
    return /:\d+$/.test(address) ? address : `${address}:4222`;
  });
}

/** `[worker] fleet…` of the user's configuration; a workspace has no say in it. */
async function configured(
  home: string,
): Promise<Record<string, string | undefined>> {
  const path = `${home}/config.toml`;
  let text: string;
  try {
    text = await readTextCapped(path, MAX_CONFIG);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return {};
    throw error;
  }
  if (!/^\s*(?:worker\s*\.\s*)?["']?fleet/m.test(text)) return {};
  const { parse } = await import("@std/toml");
  let root: Record<string, unknown>;
  try {
    root = parse(text);
  } catch (error) {
    throw new UsageError(
      `Cannot read "${path}": ${reasonOf(error).split("\n")[0]}`,
      "mend the file; bulkhead doctor looks at it",
    );
  }
  const { worker } = root;
  if (typeof worker !== "object" || worker === null) return {};
  const found: Record<string, string> = {};
  for (const [name, value] of Object.entries(worker)) {
    if (!name.startsWith("fleet")) continue;
    if (typeof value !== "string") {
      throw new UsageError(
        `Cannot read "${path}": worker.${name} is no text`,
        'fleet = "nats://host:4222"',
      );
    }
    found[name] = value;
  }
  return found;
}
