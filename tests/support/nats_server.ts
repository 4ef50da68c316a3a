/**
 * A real nats-server for tests, and a link to it that can be cut and healed.
 *
 * @module
 */

/** A running server. */
export interface TestServer extends AsyncDisposable {
  /** Its port. */
  readonly port: number;
  /** Where it keeps its data. */
  readonly dir: string;
  /** Its process. */
  readonly pid: number;
  /** Ends it, keeping its data. */
  stop(signal?: Deno.Signal): Promise<void>;
  /** Starts it again on the same port and data. */
  restart(): Promise<void>;
}

/** A free port on loopback. */
export function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}

/** Starts a server; `config` is a piece of its configuration file. */
export async function startNats(
  options: {
    jetstream?: boolean;
    config?: string;
    /** What it listens on; loopback by default. */
    address?: string;
    port?: number;
    dir?: string;
  } = {},
): Promise<TestServer> {
  const dir = options.dir ?? await Deno.makeTempDir();
  const port = options.port ?? freePort();
  const config = [
    `listen: "${options.address ?? "127.0.0.1"}:${port}"`,
    ...options.jetstream === false ? [] : [
      `jetstream { store_dir: "${dir}/data", max_file: 2GB, max_mem: 64MB }`,
    ],
    options.config ?? "",
  ].join("\n");
  await Deno.writeTextFile(`${dir}/nats.conf`, config);
  let child = await launch(dir, port);
  const stop = async (signal: Deno.Signal = "SIGTERM") => {
    try {
      child.kill(signal);
    } catch {
      // it has ended
    }
    await child.status;
  };
  return {
    port,
    dir,
    get pid() {
      return child.pid;
    },
    stop,
    async restart() {
      child = await launch(dir, port);
    },
    async [Symbol.asyncDispose]() {
      await stop("SIGKILL");
      if (options.dir === undefined) {
        await Deno.remove(dir, { recursive: true });
      }
    },
  };
}

/** Three servers that know each other. */
export async function startCluster(): Promise<TestServer[]> {
  const ports = Array.from(
    { length: 3 },
    () => ({ client: freePort(), route: freePort() }),
  );
  const routes = ports.map((p) => `"nats://127.0.0.1:${p.route}"`).join(", ");
  return await Promise.all(ports.map((p, i) =>
    startNats({
      port: p.client,
      config:
        `server_name: n${i}\ncluster { name: test, listen: "127.0.0.1:${p.route}", routes: [${routes}] }`,
    })
  ));
}

/** Again and again until it works: a cluster chooses its leaders first. */
export async function patiently<T>(work: () => Promise<T>): Promise<T> {
  const deadline = performance.now() + 90_000;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (performance.now() > deadline) throw error;
      await new Promise((resolve) => setTimeout(resolve, 250));
    }
  }
}

async function launch(dir: string, port: number): Promise<Deno.ChildProcess> {
  const child = new Deno.Command("nats-server", {
    args: ["-c", `${dir}/nats.conf`, "-l", `${dir}/log`],
    stdout: "null",
    stderr: "null",
  }).spawn();
  const deadline = performance.now() + 60_000;
  while (performance.now() < deadline) {
    try {
      (await Deno.connect({ hostname: "127.0.0.1", port })).close();
      return child;
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
  }
  throw new Error(
    `nats-server did not start: ${await Deno.readTextFile(`${dir}/log`)}`,
  );
}

/** A link that passes bytes both ways until it is cut: then nothing passes, and nothing is closed. */
export class TestLink implements AsyncDisposable {
  readonly port: number;
  readonly #listener: Deno.TcpListener;
  readonly #target: number;
  readonly #connections = new Set<Deno.TcpConn>();
  #cut = false;
  #heal = Promise.withResolvers<void>();

  /** Opens a link to a port. */
  constructor(target: number) {
    this.#target = target;
    this.#listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    this.port = this.#listener.addr.port;
    this.#accept();
  }

  /** Nothing passes any more. */
  cut(): void {
    this.#cut = true;
    this.#heal = Promise.withResolvers();
  }

  /** Everything passes again; connections of before are gone, as after a long cut. */
  heal(): void {
    this.#cut = false;
    for (const connection of this.#connections) close(connection);
    this.#connections.clear();
    this.#heal.resolve();
  }

  async #accept(): Promise<void> {
    try {
      for await (const near of this.#listener) this.#join(near);
    } catch {
      // the listener was closed
    }
  }

  async #join(near: Deno.TcpConn): Promise<void> {
    this.#connections.add(near);
    if (this.#cut) await this.#heal.promise;
    try {
      const far = await Deno.connect({
        hostname: "127.0.0.1",
        port: this.#target,
      });
      this.#connections.add(far);
      await Promise.all([this.#pass(near, far), this.#pass(far, near)]);
    } catch {
      close(near);
    }
  }

  async #pass(from: Deno.TcpConn, to: Deno.TcpConn): Promise<void> {
    const buffer = new Uint8Array(64 * 1024);
    try {
      for (;;) {
        const size = await from.read(buffer);
        if (size === null) break;
        if (this.#cut) await this.#heal.promise;
        let at = 0;
        while (at < size) at += await to.write(buffer.subarray(at, size));
      }
    } catch {
      // one side is gone
    }
    close(from);
    close(to);
  }

  /** Closes everything. */
  [Symbol.asyncDispose](): Promise<void> {
    this.#heal.resolve();
    for (const connection of this.#connections) close(connection);
    close(this.#listener);
    return Promise.resolve();
  }
}

function close(thing: { close(): void }): void {
  try {
    thing.close();
  } catch {
    // closed already
  }
}
