/**
 * The connection to the server, and what has to be there: one stream of frames, one
 * of work, and five buckets.
 *
 * @module
 */
import {
  DiscardPolicy,
  jetstream,
  type JetStreamClient,
  type JetStreamManager,
  jetstreamManager,
  RetentionPolicy,
  StorageType,
} from "@nats-io/jetstream";
import { type KV, Kvm } from "@nats-io/kv";
import {
  connect,
  credsAuthenticator,
  type NatsConnection,
} from "@nats-io/transport-node";
import { thisMachine } from "../store/machine.ts";
import { FleetError, reasonOf } from "./error.ts";
import { FLEET_SCHEMA, type FleetNames, fleetNames, token } from "./names.ts";

/** Options of {@linkcode connectFleet}. */
export interface FleetConnectOptions {
  /** One or more `nats://host:port`, with commas between them. */
  readonly servers: string;
  /** A NATS credentials file. */
  readonly credentialsFile?: string;
  /** User and password, for servers without credentials files. */
  readonly user?: string;
  /** The password of `user`. */
  readonly password?: string;
  /** `required` encrypts; `off` does not, which is refused unless every server is on loopback or this is given. @default by address */
  readonly tls?: "required" | "off";
  /** A file with the certificate authority of the servers. */
  readonly caFile?: string;
  /** What all names begin with. @default "bulkhead" */
  readonly prefix?: string;
  /** The name of this machine in the fleet. @default its host name and a hash of its id */
  readonly host?: string;
  /** Copies of everything on the server; 3 in a cluster of three. @default 1 */
  readonly replicas?: number;
  /** Bytes of frames that are kept, over all sessions. @default 1 GiB */
  readonly maxFrameBytes?: number;
  /** How long frames are kept. @default 7 days */
  readonly maxFrameAgeMs?: number;
  /** How long the first connection may take. @default 5000 */
  readonly timeoutMs?: number;
  /** Create what is missing on the server. @default true */
  readonly create?: boolean;
}

/** How long a host counts as there after its last word. */
export const HOST_TTL_MS = 20_000;
const DAY_NS = 86_400_000_000_000;
const MINIMUM = [2, 9, 0] as const;
const DUPLICATE_WINDOW_NS = 120_000_000_000;

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
  readonly #closers: (() => Promise<void> | void)[] = [];

  /**
   * Wraps a connection; use {@linkcode connectFleet}.
   *
   * @param nc The connection
   * @param jsm The manager of streams
   * @param host The name of this machine
   * @param options How it was connected
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
  }

  /** Version of the connected server. */
  get serverVersion(): string {
    return this.nc.info?.version ?? "unknown";
  }

  /** Bytes that one message may have. */
  get maxPayload(): number {
    return this.nc.info?.max_payload ?? 1_048_576;
  }

  /** @ignore */
  bucket(name: string): Promise<KV> {
    let bucket = this.#buckets.get(name);
    if (bucket === undefined) {
      bucket = this.#openBucket(name);
      bucket.catch(() => this.#buckets.delete(name));
      this.#buckets.set(name, bucket);
    }
    return bucket;
  }

  async #openBucket(name: string): Promise<KV> {
    const { names } = this;
    if (this.#options.create === false) return await this.#kvm.open(name);
    return await severalTimes(() =>
      this.#kvm.create(name, {
        history: 1,
        replicas: this.#options.replicas ?? 1,
        storage: StorageType.File,
        ...name === names.hosts ? { ttl: HOST_TTL_MS } : {},
      })
    );
  }

  /** Makes what is missing on the server, and looks at its format. */
  async ensure(): Promise<void> {
    const { names } = this;
    if (this.#options.create !== false) {
      await this.#ensureStream({
        name: names.frames,
        subjects: [`${names.prefix}.frames.>`],
        storage: StorageType.File,
        retention: RetentionPolicy.Limits,
        discard: DiscardPolicy.Old,
        max_bytes: this.#options.maxFrameBytes ?? 1_073_741_824,
        max_age: (this.#options.maxFrameAgeMs ?? 7 * DAY_NS / 1e6) * 1e6,
        duplicate_window: DUPLICATE_WINDOW_NS,
        allow_direct: true,
        num_replicas: this.#options.replicas ?? 1,
      });
      await this.#ensureStream({
        name: names.queue,
        subjects: [`${names.prefix}.queue.>`],
        storage: StorageType.File,
        retention: RetentionPolicy.Workqueue,
        discard: DiscardPolicy.New,
        max_bytes: 64 * 1024 * 1024,
        duplicate_window: DUPLICATE_WINDOW_NS,
        num_replicas: this.#options.replicas ?? 1,
      });
    }
    await this.#checkSchema();
    await Promise.all(
      [names.sessions, names.asks, names.claims, names.hosts, names.jobs].map((
        name,
      ) => this.bucket(name)),
    );
  }

  async #ensureStream(
    config: Parameters<JetStreamManager["streams"]["add"]>[0],
  ): Promise<void> {
    await severalTimes(async () => {
      try {
        await this.jsm.streams.info(config.name);
      } catch {
        await this.jsm.streams.add(config);
      }
    });
  }

  async #checkSchema(): Promise<void> {
    const meta = await this.bucket(this.names.meta);
    // A bucket that was made a moment ago may not answer yet.
    const entry = await severalTimes(() => meta.get("schema"));
    if (entry === null) {
      if (this.#options.create !== false) {
        await meta.create("schema", String(FLEET_SCHEMA)).catch(() => {});
      }
      return;
    }
    const schema = Number(entry.string());
    if (schema > FLEET_SCHEMA) {
      throw new FleetError(
        "newer_schema",
        `Cannot use the fleet "${this.names.prefix}": its format is ${schema}, this program knows ${FLEET_SCHEMA}`,
        "update this program or use another prefix",
      );
    }
  }

  /** Forgets buckets and makes them again: for a server that lost its data under us. */
  async repair(): Promise<void> {
    this.#buckets.clear();
    await this.ensure();
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
 * @param options Where, and with what right
 * @returns The connection
 * @throws {FleetError} in one line with the fix, whatever is wrong
 */
export async function connectFleet(
  options: FleetConnectOptions,
): Promise<Fleet> {
  const servers = options.servers.split(",").map((s) => s.trim()).filter((s) =>
    s !== ""
  );
  const tls = decideTls(servers, options);
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
    await nc.close();
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

/** Hosts that start at the same moment make the same things: whoever is late finds them. */
async function severalTimes<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 1;; tries++) {
    try {
      return await work();
    } catch (error) {
      if (
        tries === 6 ||
        /permissions? violation/i.test(String(error))
      ) throw error;
      await new Promise((resolve) =>
        setTimeout(resolve, tries * 50 * (1 + Math.random()))
      );
    }
  }
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

function connectError(servers: string, error: unknown): FleetError {
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

function checkVersion(nc: NatsConnection): void {
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

async function managerOf(nc: NatsConnection): Promise<JetStreamManager> {
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

function permissionError(servers: string, error: unknown): FleetError {
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

let catching = false;

/**
 * Keeps a reset from ending the program, for good: the client library stops listening
 * to a socket that it closes, also when it connects anew by itself, and the server's
 * reset comes in whenever the network brings it. An error that nobody listens to would
 * be an uncaught one, although what it means was told already.
 */
function catchResets(): void {
  if (catching) return;
  catching = true;
  globalThis.addEventListener("error", (event) => {
    if (isSocketReset(event.error)) event.preventDefault();
  });
}

/** Only `node:net` says which system call it was: what Deno's own connections throw passes. */
function isSocketReset(error: unknown): boolean {
  return error instanceof Error && "syscall" in error && "code" in error &&
    (error.code === "ECONNRESET" || error.code === "EPIPE");
}
