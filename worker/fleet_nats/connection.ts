/**
 * The connection to the server.
 *
 * @module
 */
import {
  jetstream,
  type JetStreamClient,
  type JetStreamManager,
} from "@nats-io/jetstream";
import { type KV, Kvm } from "@nats-io/kv";
import {
  connect,
  credsAuthenticator,
  type NatsConnection,
} from "@nats-io/transport-node";
import { reasonOf, requirePermissions } from "@bulkhead/sandbox";
import { type FleetAddress, fleetAddresses } from "../fleet_settings.ts";
import { thisMachine } from "../store/machine.ts";
import { FleetError } from "./error.ts";
import { type FleetNames, fleetNames, token } from "./names.ts";
import {
  checkSchema,
  HOST_TTL_MS,
  isNotPermitted,
  makeBucket,
  makeStreams,
} from "./provision.ts";
import {
  checkVersion,
  connectError,
  managerOf,
  permissionError,
} from "./refusals.ts";
import { catchResets } from "./resets.ts";

/** Options of {@linkcode connectFleet}. */
export interface FleetConnectOptions extends FleetAddress {
  /**
   * Copies of everything on the server; 3 in a cluster of three.
   *
   * @default {1}
   */
  readonly replicas?: number;
  /**
   * Bytes of frames that are kept, over all sessions.
   *
   * @default 1 GiB
   */
  readonly maxFrameBytes?: number;
  /**
   * How long frames are kept.
   *
   * @default 7 days
   */
  readonly maxFrameAgeMs?: number;
  /**
   * How long a host counts as there after its last word; said by whoever makes the bucket.
   *
   * @default {20000}
   */
  readonly hostTtlMs?: number;
  /**
   * How long the first connection may take.
   *
   * @default {5000}
   */
  readonly timeoutMs?: number;
  /**
   * Create what is missing on the server.
   *
   * @default {true}
   */
  readonly create?: boolean;
}

/** A connection to the fleet. Made by {@linkcode connectFleet}. */
export class Fleet implements AsyncDisposable {
  /** The name of this machine in the fleet. */
  readonly host: string;
  /** One run of this program: a host that starts anew is another instance. */
  readonly instance: string = crypto.randomUUID().slice(0, 8);
  /** The names on the server. */
  readonly names: FleetNames;
  /** @ignore */
  readonly nc: NatsConnection;
  /** @ignore */
  readonly js: JetStreamClient;
  /** @ignore */
  readonly jsm: JetStreamManager;
  readonly #kvm: Kvm;
  readonly #options: FleetConnectOptions;
  readonly #buckets = new Map<string, Promise<KV>>();
  #repairing: Promise<void> | undefined;
  #mayMake = true;
  #hostTtlMs = HOST_TTL_MS;
  readonly #back = new Set<() => void>();
  readonly #closers: (() => Promise<void> | void)[] = [];

  /**
   * Wraps a connection; use {@linkcode connectFleet}.
   *
   * @param nc The connection.
   * @param jsm The manager of streams.
   * @param host The name of this machine.
   * @param options How it was connected.
   */
  constructor(
    nc: NatsConnection,
    jsm: JetStreamManager,
    host: string,
    options: FleetConnectOptions,
  ) {
    this.nc = nc;
    this.jsm = jsm;
    this.js = jetstream(nc);
    this.#kvm = new Kvm(nc);
    this.host = host;
    this.names = fleetNames(options.prefix ?? "bulkhead");
    this.#options = options;
    this.#watchLink().catch(() => {});
  }

  /** Version of the connected server. */
  get serverVersion(): string {
    return this.nc.info?.version ?? "unknown";
  }

  /** Bytes that one message may have. */
  get maxPayload(): number {
    return this.nc.info?.max_payload ?? 1_048_576;
  }

  /** How long a host counts as there after its last word, as the server has it. */
  get hostTtlMs(): number {
    return this.#hostTtlMs;
  }

  /** Whether what is missing on the server is made. */
  get creates(): boolean {
    return this.#options.create !== false && this.#mayMake;
  }

  /** @ignore */
  bucket(name: string): Promise<KV> {
    let bucket = this.#buckets.get(name);
    if (bucket === undefined) {
      bucket = this.creates
        ? makeBucket(this.#kvm, this.names, name, this.#options)
        : this.#kvm.open(name);
      bucket.catch(() => this.#buckets.delete(name));
      this.#buckets.set(name, bucket);
    }
    return bucket;
  }

  /** Makes what is missing on the server, and looks at its format. */
  async ensure(): Promise<void> {
    const { names } = this;
    if (this.creates) await this.#makeStreams();
    await checkSchema(this);
    const opened = [names.sessions, names.asks, names.hosts, names.jobs];
    if (this.creates) opened.push(names.claims);
    await Promise.all(opened.map((name) => this.bucket(name)));
    const { ttl } = await (await this.bucket(names.hosts)).status();
    if (ttl > 0) this.#hostTtlMs = ttl;
  }

  /** People may not make anything: for them it has to be there. */
  async #makeStreams(): Promise<void> {
    try {
      await makeStreams(this.jsm, this.names, this.#options);
    } catch (error) {
      if (!isNotPermitted(error)) throw error;
      this.#mayMake = false;
    }
  }

  /** Forgets buckets and makes them again: for a server that lost its data under us. */
  repair(): Promise<void> {
    this.#repairing ??= (async () => {
      this.#buckets.clear();
      await this.ensure();
    })().finally(() => this.#repairing = undefined);
    return this.#repairing;
  }

  /**
   * @ignore
   * Calls a function whenever the connection is there again after a cut; returns what ends it.
   */
  onReconnect(listener: () => void): () => void {
    this.#back.add(listener);
    return () => void this.#back.delete(listener);
  }

  async #watchLink(): Promise<void> {
    for await (const { type } of this.nc.status()) {
      if (type !== "reconnect") continue;
      for (const listener of this.#back) listener();
    }
  }

  /** @ignore */
  onClose(work: () => Promise<void> | void): void {
    this.#closers.push(work);
  }

  /** Lets go of the connection; sessions on it are not ended. */
  async close(): Promise<void> {
    for (const work of this.#closers.splice(0)) await work();
    await this.nc.close();
  }

  /** Same as {@linkcode close}. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

/**
 * Connects to the fleet's server and makes what is missing on it.
 *
 * Needs `--allow-net` for the servers, read of the credentials file, and `--allow-env`, `--allow-sys`
 * for the client library.
 *
 * @param options Where, and with what right.
 * @returns The connection.
 * @throws {FleetError} In one line with the fix, whatever is wrong.
 */
export async function connectFleet(
  options: FleetConnectOptions,
): Promise<Fleet> {
  const servers = options.servers.split(",").map((s) => s.trim()).filter((s) =>
    s !== ""
  );
  const tls = decideTls(servers, options);
  // The client tells a missing grant as a server that is not there.
  requirePermissions(
    "Reaching the fleet",
    fleetAddresses(options).map((host) => ({ name: "net", host })),
  );
  let nc: NatsConnection;
  catchResets();
  try {
    nc = await connect({
      servers: servers.map((server) =>
        server.replace(/^(?:nats|tls):\/\//, "")
      ),
      name: "bulkhead",
      timeout: options.timeoutMs ?? 5_000,
      reconnect: true,
      maxReconnectAttempts: -1,
      reconnectTimeWait: 100,
      reconnectJitter: 50,
      pingInterval: 2_000,
      maxPingOut: 2,
      ...options.user === undefined
        ? {}
        : { user: options.user, pass: options.password ?? "" },
      ...options.credentialsFile === undefined ? {} : {
        authenticator: credsAuthenticator(
          await readCredentials(options.credentialsFile),
        ),
      },
      ...tls
        ? {
          tls: options.caFile === undefined ? {} : { caFile: options.caFile },
        }
        : {},
    });
  } catch (error) {
    if (error instanceof FleetError) throw error;
    throw connectError(options.servers, error);
  }
  try {
    checkVersion(nc);
    const jsm = await managerOf(nc);
    const fleet = new Fleet(nc, jsm, options.host ?? await hostId(), options);
    await fleet.ensure();
    return fleet;
  } catch (error) {
    await nc.close().catch(() => {});
    if (error instanceof FleetError) throw error;
    throw permissionError(options.servers, error);
  }
}

/** Encryption is on unless every server is on this machine; switching it off takes a word. */
function decideTls(
  servers: readonly string[],
  options: FleetConnectOptions,
): boolean {
  const local = servers.every((server) => {
    const host =
      /^(?:\w+:\/\/)?(?:[^@/]*@)?(\[[^\]]+\]|[^:/]+)/.exec(server)?.[1] ?? "";
    return ["localhost", "[::1]"].includes(host) || host.startsWith("127.");
  });
  if (options.tls === "required") return true;
  if (local || options.tls === "off") return false;
  return true;
}

async function readCredentials(path: string): Promise<Uint8Array> {
  try {
    return await Deno.readFile(path);
  } catch (error) {
    throw new FleetError(
      "not_authorized",
      `Cannot read the fleet's credentials "${path}": ${reasonOf(error)}`,
      "name a NATS credentials file that exists",
      error,
    );
  }
}

/** The host's name and a piece of a hash of its id: the same after a restart, another on a clone. */
async function hostId(): Promise<string> {
  const machine = await thisMachine();
  const bytes = new TextEncoder().encode(machine.machineId ?? machine.host);
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  const short = Array.from(
    hash.subarray(0, 3),
    (b) => b.toString(16).padStart(2, "0"),
  ).join("");
  return `${token(machine.host)}-${short}`;
}
