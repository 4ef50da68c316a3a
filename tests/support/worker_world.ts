/**
 * A place for workers in tests: a home of its own, the seed's client, a registry row, the events.
 *
 * @module
 */

import { assert } from "@std/assert";
import { fromFileUrl } from "@std/path";
import { denoEntry } from "@bulkhead/sandbox";
import {
  argvDriver,
  encodeMessage,
  MessageReader,
  readEvents,
  type RecordedEvent,
  runWorker,
  updateRegistry,
  type Worker,
  type WorkerHome,
  workerHome,
  type WorkerOptions,
} from "@bulkhead/worker";

/** An object out of JSON. */
export type Json = Record<string, unknown>;

const CLI = fromFileUrl(new URL("../../worker/cli.ts", import.meta.url));
const CONFIG = fromFileUrl(new URL("../../deno.json", import.meta.url));

/** The line of a `system/init` without anything. */
export const INIT =
  `printf '%s\\n' '{"type":"system","subtype":"init","session_id":"s1"}'`;

/** The seed's fake agent: greets, and answers each line with an echo, a delta, a reply and a result. */
export const FAKE_EMITTER = `
${INIT}
while IFS= read -r line; do
  printf '%s\\n' '{"type":"user","message":{"role":"user"}}'
  printf '%s\\n' '{"type":"stream_event","event":{"type":"content_block_delta","delta":{"type":"text_delta","text":"par"}}}'
  printf '%s\\n' '{"type":"assistant","message":{"content":[{"type":"text","text":"reply-text"}]}}'
  printf '%s\\n' '{"type":"result","subtype":"success","is_error":false,"result":"reply-text"}'
done
`;

/** A home and a directory for workers; gone at the end. */
export class WorkerWorld implements AsyncDisposable {
  /** Everything lies in it. */
  readonly root: string;
  /** The workers' home. */
  readonly home: WorkerHome;
  /** Where agents work. */
  readonly cwd: string;

  private constructor(root: string) {
    this.root = root;
    this.home = workerHome(`${root}/w`);
    this.cwd = `${root}/cwd`;
  }

  /** Makes one. */
  static async make(): Promise<WorkerWorld> {
    const world = new WorkerWorld(
      await Deno.realPath(await Deno.makeTempDir({ prefix: "bhw" })),
    );
    await Deno.mkdir(world.cwd);
    return world;
  }

  /** Runs a worker whose agent is a shell script. */
  script(
    script: string,
    options: Partial<WorkerOptions> = {},
  ): Promise<Worker> {
    return this.argv(["bash", "-c", script], options);
  }

  /** Runs a worker with an argv. */
  argv(argv: string[], options: Partial<WorkerOptions> = {}): Promise<Worker> {
    return runWorker({
      shortId: "w1",
      home: this.home.root,
      cwd: this.cwd,
      claimsRoot: this.root,
      driver: argvDriver(argv),
      ...options,
    });
  }

  /** Puts a live row for a worker into the registry, as the seed's daemon does. */
  async row(shortId = "w1"): Promise<void> {
    await updateRegistry(this.home, (rows) => {
      rows.push({
        name: shortId,
        short_id: shortId,
        harness: "claude",
        harness_session_id: `uuid-${shortId}`,
        cwd: this.cwd,
        status: "live",
        created_at: "2026-06-09T00:00:00Z",
      });
    });
  }

  /** The events of one type. */
  async events(type: string): Promise<(RecordedEvent & { data: Json })[]> {
    const all = await readEvents(this.home);
    return all.filter((event) => event.type === type).map((event) => ({
      ...event,
      data: { ...event.data },
    }));
  }

  /**
   * The processes that have been told this world in their environment, and whose
   * command line holds a text.
   */
  async processes(program = ""): Promise<number[]> {
    const found: number[] = [];
    for await (const { name } of Deno.readDir("/proc")) {
      if (!/^\d+$/.test(name)) continue;
      const read = (file: string) =>
        Deno.readTextFile(`/proc/${name}/${file}`).catch(() => "");
      if (
        (await read("environ")).includes(
          `BULKHEAD_TEST_WORLD=${this.root}\0`,
        ) &&
        (await read("cmdline")).includes(program)
      ) found.push(Number(name));
    }
    return found;
  }

  /** The environment of a worker that is a process of its own. */
  get environment(): Record<string, string> {
    // Whatever HOME a test gives it, its modules are where ours are.
    const { env } = denoEntry(import.meta.url, { permissions: [] });
    return {
      ...env,
      FNO_CLAIMS_ROOT: this.root,
      BULKHEAD_TEST_WORLD: this.root,
    };
  }

  /** The command line of a worker that is a process of its own. */
  serveArgv(shortId: string, home: string, args: readonly string[]): string[] {
    return [
      Deno.execPath(),
      "run",
      `--config=${CONFIG}`,
      "--no-lock",
      "--cached-only",
      "-A",
      CLI,
      "--stream",
      "--short-id",
      shortId,
      "--home",
      home,
      "--cwd",
      this.cwd,
      ...args,
    ];
  }

  /** The state file of a worker. */
  async state(shortId = "w1"): Promise<Json> {
    return JSON.parse(
      await Deno.readTextFile(`${this.home.root}/${shortId}/state.json`),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.root, { recursive: true }).catch(() => {});
  }
}

/** The seed's client: four bytes of length, five methods, one request after the other. */
export class SeedClient implements Disposable {
  readonly #connection: Deno.UnixConn;
  readonly #reader: MessageReader;
  #id = 0;

  private constructor(connection: Deno.UnixConn) {
    this.#connection = connection;
    this.#reader = new MessageReader(connection);
  }

  /** Connects to a socket. */
  static async connect(path: string): Promise<SeedClient> {
    return new SeedClient(await Deno.connect({ transport: "unix", path }));
  }

  /** Connects as soon as somebody listens; the bound is there against a hang only. */
  static async whenUp(path: string): Promise<SeedClient> {
    const until = performance.now() + 60_000;
    for (;;) {
      try {
        return await SeedClient.connect(path);
      } catch (error) {
        if (performance.now() > until) throw error;
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
    }
  }

  /** The connection, for those who want to misbehave. */
  get connection(): Deno.UnixConn {
    return this.#connection;
  }

  /** Writes bytes as they are. */
  async bytes(bytes: Uint8Array): Promise<void> {
    let at = 0;
    while (at < bytes.length) {
      at += await this.#connection.write(bytes.subarray(at));
    }
  }

  /** The next body as text; `null` when the worker has hung up. */
  async body(): Promise<string | null> {
    const body = await this.#reader.next().catch(() => null);
    return body === null ? null : new TextDecoder().decode(body);
  }

  /** The next message; `null` when the worker has hung up. */
  async next(): Promise<Json | null> {
    const body = await this.body();
    return body === null ? null : JSON.parse(body);
  }

  /** One request and the whole answer. */
  async request(method: string, params?: unknown): Promise<Json> {
    const id = ++this.#id;
    await this.bytes(
      encodeMessage(
        JSON.stringify({
          id,
          method,
          ...(params === undefined ? {} : { params }),
        }),
      ),
    );
    const answer = await this.next();
    assert(answer !== null, `the worker hung up on ${method}`);
    return answer;
  }

  /** The result of one request. */
  async call(method: string, params?: unknown): Promise<Json> {
    const answer = await this.request(method, params);
    const result = answer.result;
    assert(
      typeof result === "object" && result !== null,
      JSON.stringify(answer),
    );
    return { ...result };
  }

  /** Polls frames as the seed's daemon does, until one is of a kind. */
  async framesUntil(
    kind: string,
    cursor = 0,
  ): Promise<{ frames: Json[]; cursor: number }> {
    const frames: Json[] = [];
    const deadline = performance.now() + 60_000;
    while (performance.now() < deadline) {
      const read = await this.call("stream.read_frames", {
        cursor,
        wait_ms: 5000,
      });
      assert(Array.isArray(read.frames) && typeof read.next === "number");
      cursor = read.next;
      frames.push(...read.frames);
      if (frames.some((frame) => frame.kind === kind)) {
        return { frames, cursor };
      }
    }
    throw new Error(
      `no frame of kind "${kind}" came: ${JSON.stringify(frames)}`,
    );
  }

  [Symbol.dispose](): void {
    try {
      this.#connection.close();
    } catch {
      // Closed by the other side.
    }
  }
}
