/**
 * A worker from another process: typed calls and an async iterator of what happens.
 *
 * @module
 */

import { namedPermissions } from "@bulkhead/sandbox";
import type { AskAnswer, TurnImage } from "./agents/driver.ts";
import type { OpenAsk } from "./asks.ts";
import {
  asksOf,
  codeOf,
  eventOf,
  framesOf,
  maybeText,
  numberOf,
  objectOf,
  statusOf,
  textOf,
  turnStatusOf,
} from "./client_answers.ts";
import type {
  FramesAnswer,
  SessionStatus,
  TurnStatus,
  WatchEvent,
  WatchOptions,
  WrittenTurn,
} from "./client_types.ts";
import { isJsonObject, type JsonObject } from "./frame.ts";
import { encodeMessage, MessageReader, RpcError } from "./rpc.ts";

export { turnStatusOf } from "./client_answers.ts";
export type * from "./client_types.ts";

interface Pending {
  resolve(result: unknown): void;
  reject(error: Error): void;
}

/**
 * Connects to a worker.
 *
 * Needs read and write of the socket and `--allow-net=unix:` of its path.
 *
 * @param socketPath The worker's socket, `<home>/<shortId>/worker.sock`.
 * @returns The client; close it or use `using`.
 * @throws {Deno.errors.NotFound} When there is no socket.
 * @throws {Deno.errors.ConnectionRefused} When nobody listens any more.
 */
export async function connect(socketPath: string): Promise<WorkerClient> {
  const connection = await namedPermissions(
    `Connecting to the worker "${socketPath}"`,
    () => Deno.connect({ transport: "unix", path: socketPath }),
  );
  return new WorkerClient(socketPath, connection);
}

/** A connection to a worker. Made by {@linkcode connect}. */
export class WorkerClient implements Disposable {
  /** Where the worker's socket is. */
  readonly socketPath: string;
  readonly #connection: Deno.UnixConn;
  readonly #reader: MessageReader;
  readonly #pending = new Map<string, Pending>();
  #ids = 0;
  #writing: Promise<void> = Promise.resolve();
  #reading = false;
  #pumping: Promise<void> = Promise.resolve();
  #closed = false;

  /**
   * Wraps a connection; use {@linkcode connect}.
   *
   * @param socketPath Where it leads.
   * @param connection The connection.
   */
  constructor(socketPath: string, connection: Deno.UnixConn) {
    this.socketPath = socketPath;
    this.#connection = connection;
    this.#reader = new MessageReader(connection);
  }

  /**
   * Calls a method by its name on the wire.
   *
   * @param method The method.
   * @param params Its parameters.
   * @returns The result, unchecked.
   * @throws {RpcError} When the worker answers with an error.
   * @throws {Deno.errors.ConnectionReset} When the connection ends first.
   */
  async call(method: string, params: JsonObject = {}): Promise<unknown> {
    if (this.#closed) throw this.#gone();
    const id = String(++this.#ids);
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.#pending.set(id, { resolve, reject });
    this.#write(
      encodeMessage(
        `{"id":${id},"method":${JSON.stringify(method)},"params":${
          JSON.stringify(params)
        }}`,
      ),
    )
      .catch(() => this.#fail());
    this.#pumping = this.#pump();
    return await promise;
  }

  /** Asks whether the worker is there. */
  async ping(): Promise<void> {
    await this.call("stream.ping");
  }

  /**
   * How the worker stands.
   *
   * @returns The status.
   */
  async status(): Promise<SessionStatus> {
    return statusOf(await this.call("stream.status"));
  }

  /**
   * Sends a turn.
   *
   * @param text The text.
   * @param options An id of the caller's, and pictures.
   * @returns What was written.
   */
  async writeTurn(
    text: string,
    options: { uuid?: string; images?: TurnImage[] } = {},
  ): Promise<WrittenTurn> {
    const answer = objectOf(
      await this.call("stream.write_turn", {
        text,
        ...(options.uuid === undefined ? {} : { uuid: options.uuid }),
        ...(options.images === undefined ? {} : {
          images: options.images.map((image) => ({
            media_type: image.mediaType,
            data: image.data,
          })),
        }),
      }),
      "stream.write_turn",
    );
    return {
      written: numberOf(answer.written),
      turn: maybeText(answer.turn) ?? undefined,
      repeated: answer.repeated === true,
    };
  }

  /**
   * Waits for the end of a turn.
   *
   * @param turn The id of the turn.
   * @param waitMs How long to wait at most; without it the state of now is given.
   * @returns How it stands.
   */
  async turn(turn: string, waitMs = 0): Promise<TurnStatus> {
    return turnStatusOf(
      await this.call("stream.turn", { turn, wait_ms: waitMs }),
    );
  }

  /**
   * Reads the frames from a cursor on.
   *
   * @param cursor The first wanted frame.
   * @param options Wait for new frames, give lines.
   * @returns The frames.
   */
  async readFrames(
    cursor: number,
    options: { waitMs?: number; raw?: boolean } = {},
  ): Promise<FramesAnswer> {
    const answer = objectOf(
      await this.call("stream.read_frames", {
        cursor,
        ...(options.waitMs === undefined ? {} : { wait_ms: options.waitMs }),
        ...(options.raw === undefined ? {} : { raw: options.raw }),
      }),
      "stream.read_frames",
    );
    return {
      frames: framesOf(answer.frames),
      next: numberOf(answer.next),
      gap: answer.gap === true,
      childAlive: answer.child_alive === true,
      more: answer.more === true,
    };
  }

  /**
   * The open questions.
   *
   * @param options `answers`: say that this client answers them.
   * @returns The questions, oldest first.
   */
  async asks(options: { answers?: boolean } = {}): Promise<OpenAsk[]> {
    const answer = objectOf(
      await this.call("stream.asks", { answers: options.answers === true }),
      "stream.asks",
    );
    return asksOf(answer.asks);
  }

  /**
   * Answers a question.
   *
   * @param id The question.
   * @param answer The answer.
   * @returns False when it is no longer open.
   */
  async answerAsk(id: string, answer: AskAnswer): Promise<boolean> {
    const result = objectOf(
      await this.call("stream.answer_ask", {
        id,
        decision: answer.decision,
        ...(answer.reason === undefined ? {} : { reason: answer.reason }),
        ...(answer.updatedInput === undefined
          ? {}
          : { updated_input: answer.updatedInput }),
        ...(answer.interrupt === true ? { interrupt: true } : {}),
      }),
      "stream.answer_ask",
    );
    return result.answered === true;
  }

  /** Stops the running turn. */
  async interrupt(): Promise<void> {
    await this.call("stream.interrupt");
  }

  /** Ends the worker; resolves once the agent is reaped. */
  async shutdown(): Promise<void> {
    await this.call("stream.shutdown");
  }

  /** Resolves when the worker has let this connection go, which it does once its record is written. */
  async ended(): Promise<void> {
    await this.#pumping;
    while (!this.#closed && await nextOrEnd(this.#reader) !== null);
    this.close();
  }

  /**
   * Everything that happens from a cursor on, each frame exactly once and in order. It runs on a connection of its
   * own: a watcher that is slow misses frames, is told so by `gap`, and holds up no call.
   *
   * @param options Where to begin.
   * @returns The events, to the end of the worker or of the loop.
   */
  async *watch(
    options: WatchOptions = {},
  ): AsyncGenerator<WatchEvent, void, undefined> {
    const connection = await Deno.connect({
      transport: "unix",
      path: this.socketPath,
    });
    const close = () => {
      try {
        connection.close();
      } catch {
        // Closed by the other side.
      }
    };
    options.signal?.addEventListener("abort", close);
    if (options.signal?.aborted) close();
    try {
      const params = {
        cursor: options.cursor ?? 0,
        raw: options.raw === true,
        answers: options.answers === true,
      };
      await writeAll(
        connection,
        encodeMessage(
          `{"id":1,"method":"stream.subscribe","params":${
            JSON.stringify(params)
          }}`,
        ),
      );
      const reader = new MessageReader(connection);
      for (
        let body = await nextOrEnd(reader);
        body !== null;
        body = await nextOrEnd(reader)
      ) {
        const event = eventOf(parse(body));
        if (event !== undefined) yield event;
      }
    } catch (error) {
      if (!options.signal?.aborted) throw error;
    } finally {
      options.signal?.removeEventListener("abort", close);
      close();
    }
  }

  /** Closes the connection; the worker lives on. */
  close(): void {
    if (this.#closed) return;
    this.#fail();
  }

  /** Same as {@linkcode close}. */
  [Symbol.dispose](): void {
    this.close();
  }

  #write(bytes: Uint8Array): Promise<void> {
    this.#writing = this.#writing.then(() => writeAll(this.#connection, bytes));
    return this.#writing;
  }

  /** Reads while a call is open, so that an idle client keeps nothing busy. */
  async #pump(): Promise<void> {
    if (this.#reading) return await this.#pumping;
    this.#reading = true;
    try {
      while (this.#pending.size > 0) {
        const body = await this.#reader.next();
        if (body === null) throw this.#gone();
        this.#settle(parse(body));
      }
    } catch {
      this.#fail();
    } finally {
      this.#reading = false;
    }
  }

  #settle(value: unknown): void {
    if (!isJsonObject(value)) return;
    const pending = this.#pending.get(String(value.id));
    if (pending === undefined) return;
    this.#pending.delete(String(value.id));
    if (isJsonObject(value.error)) {
      pending.reject(
        new RpcError(codeOf(value.error.code), textOf(value.error.message)),
      );
    } else pending.resolve(value.result);
  }

  #fail(): void {
    this.#closed = true;
    for (const pending of this.#pending.values()) pending.reject(this.#gone());
    this.#pending.clear();
    try {
      this.#connection.close();
    } catch {
      // Closed by the other side.
    }
  }

  #gone(): Error {
    return new Deno.errors.ConnectionReset(
      `Cannot talk to the worker "${this.socketPath}": the connection has ended`,
    );
  }
}

async function writeAll(
  connection: Deno.UnixConn,
  bytes: Uint8Array,
): Promise<void> {
  let at = 0;
  while (at < bytes.length) at += await connection.write(bytes.subarray(at));
}

async function nextOrEnd(reader: MessageReader): Promise<Uint8Array | null> {
  try {
    return await reader.next();
  } catch {
    return null;
  }
}

function parse(body: Uint8Array): unknown {
  const value: unknown = JSON.parse(new TextDecoder().decode(body));
  return value;
}
