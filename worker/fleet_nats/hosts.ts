// deno-lint-ignore-file camelcase -- field names are the wire's own
/**
 * Hosts that are there: each program of the fleet says so every few seconds, and is
 * taken for gone when it has not for a while, by the server's clock alone.
 *
 * @module
 */
import { atMost } from "../agents/_within.ts";
import type { Fleet } from "./connection.ts";
import { FLEET_SCHEMA, token } from "./names.ts";
import type { FleetHostRecord } from "./records.ts";

/** How long a host that leaves waits for its word to be taken back. */
const TAKE_BACK_MS = 1_000;
const beats = new WeakMap<Fleet, HostBeat>();

/** What one program of the fleet says about itself. */
export class HostBeat {
  /** Sessions that this host may run; 0 when it only shows its own. */
  slots = 0;
  /** Memory that it offers. */
  memoryBytes: number | null = null;
  readonly #fleet: Fleet;
  readonly #sessions = new Set<string>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** One write after another: the last word is the last one there. */
  #writing: Promise<void> = Promise.resolve();

  private constructor(fleet: Fleet) {
    this.#fleet = fleet;
  }

  /** The beat of a connection; there is one. */
  static of(fleet: Fleet): HostBeat {
    let beat = beats.get(fleet);
    if (beat === undefined) {
      const made = beat = new HostBeat(fleet);
      beats.set(fleet, made);
      fleet.onClose(() => made.stop());
    }
    return beat;
  }

  /** The sessions that it says it runs. */
  get sessions(): readonly string[] {
    return [...this.#sessions];
  }

  /** A session more. */
  add(id: string): void {
    this.#sessions.add(id);
    this.now();
  }

  /** A session less; without any and without slots the last word is taken back. */
  async remove(id: string): Promise<void> {
    this.#sessions.delete(id);
    if (this.#sessions.size > 0 || this.slots > 0) return;
    await this.#takeBack();
  }

  /** Says it now, and from now on. */
  now(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.now(), this.#fleet.hostTtlMs / 4);
    this.#writing = this.#writing.then(() => this.#write())
      // It may have been deleted under us: a host without sessions is the one who finds out.
      .catch(() => this.#fleet.repair().then(() => this.#write()))
      .catch(() => {});
  }

  /** Says nothing more and takes the last word back. */
  async stop(): Promise<void> {
    this.slots = 0;
    await this.#takeBack();
  }

  async #takeBack(): Promise<void> {
    if (this.#timer === undefined) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#fleet.nc.isClosed()) return;
    const purge = async () => {
      // Said again meanwhile: there is a session more.
      if (this.#timer !== undefined) return;
      const bucket = await this.#fleet.bucket(this.#fleet.names.hosts);
      await bucket.purge(this.#key);
    };
    this.#writing = this.#writing.then(purge).catch(() => {});
    // A server that is gone lets the word run out by itself.
    await atMost(this.#writing, TAKE_BACK_MS);
  }

  get #key(): string {
    return `${token(this.#fleet.host)}.${this.#fleet.instance}`;
  }

  async #write(): Promise<void> {
    if (this.#fleet.nc.isClosed()) return clearTimeout(this.#timer);
    const bucket = await this.#fleet.bucket(this.#fleet.names.hosts);
    const record: FleetHostRecord = {
      schema: FLEET_SCHEMA,
      host: this.#fleet.host,
      instance: this.#fleet.instance,
      slots: this.slots,
      sessions: [...this.#sessions],
      memory_bytes: this.memoryBytes,
      load: loadNow(),
      clock: Date.now(),
    };
    await bucket.put(this.#key, JSON.stringify(record));
  }
}

function loadNow(): number | null {
  try {
    return Deno.loadavg()[0] ?? null;
  } catch {
    return null;
  }
}
