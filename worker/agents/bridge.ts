/**
 * The way back to the worker for what an agent starts by itself: the process that it asks about each call, a plugin
 * inside of it, and the server of the host's tools. One private unix socket, one JSON object per line.
 *
 * - `{"kind":"judge","id":1,"payload":{…}}` is answered `{"id":1,"decision":"allow"|"deny","reason":…}`
 * - `{"kind":"hello"}` tells that a plugin is loaded, and is answered in kind
 * - `{"kind":"tools"}` turns the rest of the connection into the Model Context Protocol
 *
 * @module
 */

import {
  ensurePrivateDir,
  joinPath,
  type ManagedProcess,
  readLines,
  reasonOf,
  startProcess,
  temporaryDirectory,
} from "@bulkhead/sandbox";
import { isJsonObject, type JsonObject } from "../frame.ts";
import type { ToolServer } from "./tool_server.ts";

/** The answer to one call. */
export interface BridgeAnswer {
  /** Whether the call may run, as far as we are asked. */
  readonly decision: "allow" | "deny";
  /** Why not, for the model. */
  readonly reason?: string;
  /** Arguments that replace the call's own. */
  readonly updatedInput?: unknown;
}

/** Options of {@linkcode Bridge.open}. */
export interface BridgeOptions {
  /**
   * Judges one call. A throw counts as deny.
   *
   * @param payload What the agent's hook says about the call.
   * @param gone Fires when whoever asked is gone.
   * @returns The answer.
   */
  judge(
    payload: JsonObject,
    gone: AbortSignal,
  ): BridgeAnswer | Promise<BridgeAnswer>;
  /** The host's tools. */
  readonly tools?: ToolServer;
  /** Takes one line for the worker's own log. */
  log?(line: string): void;
}

/** Longest line that is read: a call may carry the text of a whole file. */
const MAX_LINE = 64 * 1024 * 1024;

/** A socket path may have 107 bytes; this is what our own names need of them. */
const MAX_DIR = 90;

/** Waits for the end of its input, which comes when we die, and removes the directory. */
const SWEEP = 'cat >/dev/null; rm -rf -- "$1"';

/** The socket, and the private directory that it lies in. */
export class Bridge implements AsyncDisposable {
  /** A directory of mode 0700 for this one session; it is removed at the end. */
  readonly dir: string;
  /** The path of the socket. */
  readonly path: string;
  readonly #sweeper: ManagedProcess;
  readonly #options: BridgeOptions;
  readonly #listener: Deno.UnixListener;
  readonly #connections = new Set<Deno.UnixConn>();
  readonly #hello = Promise.withResolvers<void>();
  readonly #serving: Promise<void>;
  #calls = 0;

  private constructor(
    dir: string,
    options: BridgeOptions,
    sweeper: ManagedProcess,
  ) {
    this.dir = dir;
    this.#sweeper = sweeper;
    this.path = joinPath(dir, "bridge.sock");
    this.#options = options;
    this.#listener = Deno.listen({ transport: "unix", path: this.path });
    this.#serving = this.#serve();
  }

  /**
   * Opens a socket in a new private directory.
   *
   * @param options Who judges, which tools.
   * @returns The open bridge.
   */
  static async open(options: BridgeOptions): Promise<Bridge> {
    const prefix = `bulkhead-agent-${Deno.pid}-`;
    const dir = await temporaryDirectory({ prefix, maxBytes: MAX_DIR });
    await ensurePrivateDir(dir);
    // A socket must not outlive us, not even a SIGKILL.
    const sweeper = await startProcess(["/bin/sh", "-c", SWEEP, "sh", dir], {
      cwd: "/",
      env: { PATH: "/usr/bin:/bin" },
      stderr: "null",
      parentDeath: "none",
    });
    await sweeper.stdout.cancel();
    return new Bridge(dir, options, sweeper);
  }

  /** Resolves when a plugin has said that it is loaded. */
  get hello(): Promise<void> {
    return this.#hello.promise;
  }

  /** How many calls were judged. */
  get calls(): number {
    return this.#calls;
  }

  /** Closes the socket and everything on it, and removes the directory. */
  async close(): Promise<void> {
    try {
      this.#listener.close();
    } catch {
      // Closed before.
    }
    for (const connection of this.#connections) shut(connection);
    await this.#serving;
    await this.#sweeper.end();
    await Deno.remove(this.dir, { recursive: true }).catch(() => {});
  }

  /** Same as {@linkcode Bridge.close}. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #serve(): Promise<void> {
    const open: Promise<void>[] = [];
    try {
      for await (const connection of this.#listener) {
        this.#connections.add(connection);
        const talk = this.#talk(connection).catch((error) => {
          this.#options.log?.(
            `A connection to the bridge broke: ${reasonOf(error)}`,
          );
        }).finally(() => {
          this.#connections.delete(connection);
          shut(connection);
        });
        open.push(talk);
      }
    } catch {
      // The listener was closed.
    }
    await Promise.all(open);
  }

  async #talk(connection: Deno.UnixConn): Promise<void> {
    const gone = new AbortController();
    const send = writerOf(connection);
    let tools = false;
    try {
      for await (
        const line of readLines(connection.readable, { maxLineBytes: MAX_LINE })
      ) {
        const message = parse(line.bytes);
        if (line.truncated || message === undefined) {
          this.#options.log?.(
            "A line on the bridge is no JSON object or too long",
          );
          return;
        }
        if (tools) this.#tool(message, send);
        else if (message.kind === "judge") {
          this.#judge(message, send, gone.signal);
        } else if (message.kind === "hello") {
          this.#hello.resolve();
          await send({ kind: "hello" });
        } else if (message.kind === "tools") tools = true;
        else return;
      }
    } finally {
      gone.abort();
    }
  }

  #judge(
    message: JsonObject,
    send: (value: JsonObject) => Promise<void>,
    gone: AbortSignal,
  ): void {
    this.#calls++;
    const payload = isJsonObject(message.payload) ? message.payload : {};
    const judged = async (): Promise<BridgeAnswer> =>
      await this.#options.judge(payload, gone);
    judged()
      .catch((error): BridgeAnswer => ({
        decision: "deny",
        reason: `Cannot judge the call: ${reasonOf(error)}`,
      }))
      .then((answer) => send({ id: message.id, ...answer }));
  }

  #tool(message: JsonObject, send: (value: JsonObject) => Promise<void>): void {
    const server = this.#options.tools;
    if (server === undefined) return;
    server.answer(message).then((answer) => {
      // On a byte stream a notification has no answer.
      if (message.id !== undefined) return send(answer);
    });
  }
}

/** Writes whole lines, one after the other; what nobody reads any more is dropped. */
function writerOf(
  connection: Deno.UnixConn,
): (value: JsonObject) => Promise<void> {
  let last = Promise.resolve();
  const encoder = new TextEncoder();
  return (value) => {
    const bytes = encoder.encode(JSON.stringify(value) + "\n");
    last = last.then(async () => {
      for (let at = 0; at < bytes.length;) {
        at += await connection.write(bytes.subarray(at));
      }
    }).catch(() => {});
    return last;
  };
}

function parse(bytes: Uint8Array): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(bytes));
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function shut(connection: Deno.UnixConn): void {
  try {
    connection.close();
  } catch {
    // Closed before, or its stream has closed it.
  }
}
