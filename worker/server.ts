/**
 * The session behind a socket: many clients at once, push from a cursor, long poll.
 *
 * @module
 */

import { reasonOf } from "@bulkhead/sandbox";
import { AgentBusyError, type AskAnswer } from "./agents/driver.ts";
import type { JsonObject } from "./frame.ts";
import {
  errorBody,
  MessageReader,
  parseRequest,
  RpcError,
  type RpcRequest,
  successBody,
} from "./rpc.ts";
import type { Session, SessionChange } from "./session.ts";
import type { OwnedSocket } from "./socket.ts";
import { FrameWire } from "./frame_wire.ts";
import {
  asksJson,
  cursorOf,
  imagesOf,
  statusOf,
  turnJson,
} from "./server_answers.ts";
import { PUSH_BYTES, ServerClient } from "./server_client.ts";

/** What the server needs besides the session. */
export interface ServerPort {
  /** The session. */
  readonly session: Session;
  /** Ends the agent; resolves once it is reaped. */
  shutdown(): Promise<void>;
}

/** The longest wait of a long poll. */
const MAX_WAIT_MS = 60_000;

/** How many clients are served at once; one more is hung up on. */
const MAX_CLIENTS = 256;

/** How long followers that are behind are waited for after each read of the agent. */
const PACE_MS = 50;

/** How long a subscriber gets to take its last frames when the worker ends. */
const FAREWELL_MS = 1000;

const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;

/** Serves one session to any number of clients. */
export class WorkerServer {
  readonly #port: ServerPort;
  readonly #socket: OwnedSocket;
  readonly #clients = new Set<ServerClient>();
  readonly #wire: FrameWire;
  readonly #unwatch: () => void;
  #shutdown: Promise<void> | undefined;

  /**
   * Serves a session on a bound socket.
   *
   * @param socket The socket.
   * @param port The session and its end.
   */
  constructor(socket: OwnedSocket, port: ServerPort) {
    this.#socket = socket;
    this.#port = port;
    this.#wire = new FrameWire(port.session.log);
    this.#unwatch = port.session.watch((change) => this.#changed(change));
    port.session.paceBy(() => this.#pace());
    this.#accept();
  }

  /** How many clients are connected. */
  get clients(): number {
    return this.#clients.size;
  }

  /** Stops accepting clients; those that are connected stay. */
  stop(): void {
    this.#socket.stop();
  }

  /**
   * Gives every subscriber its last frames and the reason of the end, and lets all clients go.
   *
   * @param reason Why the worker ends.
   */
  async close(reason: string): Promise<void> {
    this.stop();
    this.#unwatch();
    const farewell = Promise.all(
      [...this.#clients].map((client) => client.farewell(reason)),
    );
    let timer: ReturnType<typeof setTimeout> | undefined;
    const limit = new Promise<void>((resolve) =>
      timer = setTimeout(resolve, FAREWELL_MS)
    );
    await Promise.race([farewell, limit]);
    clearTimeout(timer);
    for (const client of this.#clients) client.close();
  }

  async #accept(): Promise<void> {
    for (;;) {
      const connection = await this.#socket.accept();
      if (connection === undefined) return;
      if (this.#clients.size >= MAX_CLIENTS) connection.close();
      else this.#serve(connection);
    }
  }

  async #serve(connection: Deno.UnixConn): Promise<void> {
    const client = new ServerClient(connection, this.#port.session, this.#wire);
    this.#clients.add(client);
    const reader = new MessageReader(connection);
    try {
      for (
        let body = await reader.next();
        body !== null;
        body = await reader.next()
      ) {
        const parsed = parseRequest(body);
        if (!parsed.ok) {
          if (parsed.id !== undefined) {
            await client.send(
              errorBody(parsed.id, "malformed_frame", parsed.why),
            );
          }
          break;
        }
        const answer = this.#answer(client, parsed.request);
        if (typeof answer === "string") await client.send(answer);
        else await client.later(answer);
      }
    } catch {
      // Garbage, a cut frame, a client that is gone: its connection ends, nothing else.
    } finally {
      this.#clients.delete(client);
      await client.finish();
    }
  }

  /** The body of the answer; errors become error bodies. */
  #answer(client: ServerClient, request: RpcRequest): string | Promise<string> {
    try {
      const result = this.#handle(client, request);
      if (typeof result === "string") return successBody(request.id, result);
      return result.then(
        (json) => successBody(request.id, json),
        (error) => failureBody(request, error),
      );
    } catch (error) {
      return failureBody(request, error);
    }
  }

  #handle(client: ServerClient, request: RpcRequest): string | Promise<string> {
    const { session } = this.#port;
    const { params } = request;
    switch (request.method) {
      case "stream.ping":
        return '{"pong":true}';
      case "stream.status":
        return JSON.stringify(statusOf(session, this.#clients.size));
      case "stream.read_frames":
        session.touch();
        return this.#readFrames(params);
      case "stream.write_turn":
        return this.#writeTurn(params);
      case "stream.turn":
        return this.#turn(params);
      case "stream.subscribe":
        return client.subscribe(params);
      case "stream.unsubscribe":
        return client.unsubscribe();
      case "stream.asks":
        if (params.answers === true) client.answers();
        return `{"asks":${asksJson(session)}}`;
      case "stream.answer_ask":
        return this.#answerAsk(params);
      case "stream.interrupt":
        return session.interrupt().then(() => '{"interrupted":true}');
      case "stream.shutdown":
        this.#shutdown ??= this.#port.shutdown();
        return this.#shutdown.then(() => '{"shutdown":true}');
      default:
        throw new RpcError(
          "unknown_method",
          `unknown stream method: ${request.method}`,
        );
    }
  }

  #readFrames(params: JsonObject): string | Promise<string> {
    const { session } = this.#port;
    const cursor = cursorOf(params.cursor);
    const raw = params.raw === true;
    const read = () => {
      session.touch();
      return this.#wire.readResult(cursor, raw, session.driver.status().alive);
    };
    const wait = typeof params.wait_ms === "number"
      ? Math.min(Math.max(params.wait_ms, 0), MAX_WAIT_MS)
      : 0;
    if (wait === 0 || session.log.end > cursor || session.state === "dead") {
      return read();
    }
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        unwatch();
        resolve(read());
      };
      const timer = setTimeout(done, wait);
      const unwatch = session.watch((change) => {
        if (
          change === "ended" ||
          (change === "frames" && session.log.end > cursor)
        ) done();
      });
    });
  }

  #writeTurn(params: JsonObject): Promise<string> {
    if (typeof params.text !== "string") {
      throw new RpcError("invalid_params", "missing `text` (string)");
    }
    const { uuid } = params;
    if (uuid !== undefined && (typeof uuid !== "string" || !UUID.test(uuid))) {
      throw new RpcError("invalid_params", "`uuid` is no UUID");
    }
    if (this.#shutdown !== undefined) {
      throw new RpcError("shutting_down", "the worker is shutting down");
    }
    const images = imagesOf(params.images);
    return this.#port.session.send({
      text: params.text,
      ...(uuid === undefined ? {} : { uuid }),
      ...(images === undefined ? {} : { images }),
    }).then(
      (sent) =>
        JSON.stringify({
          written: sent.written,
          turn: sent.turn,
          ...(sent.repeated ? { repeated: true } : {}),
        }),
      (error) => {
        const why = reasonOf(error);
        throw new RpcError(
          error instanceof AgentBusyError ? "busy" : "internal",
          `write_turn failed: ${why}`,
        );
      },
    );
  }

  #turn(params: JsonObject): string | Promise<string> {
    const { session } = this.#port;
    const { turn } = params;
    if (typeof turn !== "string") {
      throw new RpcError("invalid_params", "missing `turn` (string)");
    }
    const phase = session.turns.phase(turn);
    if (phase === undefined) {
      throw new RpcError("invalid_params", `unknown turn "${turn}"`);
    }
    const wait = typeof params.wait_ms === "number"
      ? Math.min(Math.max(params.wait_ms, 0), MAX_WAIT_MS)
      : 0;
    if (phase === "done" || wait === 0) {
      return turnJson(session, turn);
    }
    session.touch();
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        unwatch();
        session.touch();
        resolve(turnJson(session, turn));
      };
      const timer = setTimeout(done, wait);
      const unwatch = session.watch(() => {
        if (session.turns.phase(turn) === "done") done();
      });
    });
  }

  #answerAsk(params: JsonObject): string {
    const { id, decision } = params;
    if (typeof id !== "string") {
      throw new RpcError("invalid_params", "missing `id` (string)");
    }
    if (decision !== "allow" && decision !== "deny") {
      throw new RpcError(
        "invalid_params",
        '`decision` is neither "allow" nor "deny"',
      );
    }
    const answer: AskAnswer = {
      decision,
      ...(typeof params.reason === "string" ? { reason: params.reason } : {}),
      ...(params.updated_input === undefined
        ? {}
        : { updatedInput: params.updated_input }),
      ...(params.interrupt === true ? { interrupt: true } : {}),
    };
    return JSON.stringify({ answered: this.#port.session.answer(id, answer) });
  }

  #changed(change: SessionChange): void {
    if (change === "frames") this.#prepare();
    for (const client of this.#clients) client.changed(change);
  }

  #prepare(): void {
    let plain = false;
    let raw = false;
    for (const client of this.#clients) {
      plain ||= client.follows === "plain";
      raw ||= client.follows === "raw";
    }
    if (plain) this.#wire.prepare(false, PUSH_BYTES);
    if (raw) this.#wire.prepare(true, PUSH_BYTES);
  }

  /** Waits a moment for clients that fall behind and still move. */
  #pace(): Promise<void> | undefined {
    const behind = [...this.#clients].filter((client) => client.lags);
    if (behind.length === 0) return undefined;
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        for (const client of behind) client.judge();
        resolve();
      }, PACE_MS);
      Promise.all(behind.map((client) => client.step())).then(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }
}

function failureBody(request: RpcRequest, error: unknown): string {
  if (error instanceof RpcError) {
    return errorBody(request.id, error.code, error.message);
  }
  return errorBody(request.id, "internal", reasonOf(error));
}
