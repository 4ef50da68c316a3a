/**
 * The session behind a socket: many clients at once, push from a cursor, long poll.
 *
 * @module
 */

import {
  AgentBusyError,
  type AskAnswer,
  type TurnImage,
} from "./agents/driver.ts";
import { isJsonObject, type JsonObject } from "./frame.ts";
import {
  encodeMessage,
  errorBody,
  MessageReader,
  parseRequest,
  RpcError,
  type RpcRequest,
  successBody,
} from "./rpc.ts";
import type { Session, SessionChange } from "./session.ts";
import type { OwnedSocket } from "./socket.ts";
import { boundedJson, FrameWire } from "./frame_wire.ts";

/** What the server needs besides the session. */
export interface ServerPort {
  /** The session. */
  readonly session: Session;
  /** Ends the agent; resolves once it is reaped. */
  shutdown(): Promise<void>;
}

/** The longest wait of a long poll. */
const MAX_WAIT_MS = 60_000;

/** How many requests of one client may be under way. */
const MAX_IN_FLIGHT = 64;

/** How many clients are served at once; one more is hung up on. */
const MAX_CLIENTS = 256;

/** How much a push carries at most, in bytes of lines. */
const PUSH_BYTES = 1_048_576;

/** A follower that is so many frames behind is waited for, but no longer than this for each read of the agent. */
const LAG_FRAMES = 1024;
const PACE_MS = 50;

/** A follower that takes nothing for so long is slow: nobody waits for it until it has caught up. */
const STUCK_MS = 250;

/** How much of one question's arguments goes to clients. */
const ASK_BYTES = 1_048_576;

/** How long a subscriber gets to take its last frames when the worker ends. */
const FAREWELL_MS = 1000;

const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;
const IMAGE_TYPE = /^image\/(?:png|jpeg|gif|webp)$/;
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

/** Serves one session to any number of clients. */
export class WorkerServer {
  readonly #port: ServerPort;
  readonly #socket: OwnedSocket;
  readonly #clients = new Set<Client>();
  readonly #wire: FrameWire;
  readonly #unwatch: () => void;
  #shutdown: Promise<void> | undefined;

  /**
   * Serves a session on a bound socket.
   *
   * @param socket The socket
   * @param port The session and its end
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
   * @param reason Why the worker ends
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
    const client = new Client(connection, this.#port.session, this.#wire);
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
  #answer(client: Client, request: RpcRequest): string | Promise<string> {
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

  #handle(client: Client, request: RpcRequest): string | Promise<string> {
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
        const why = error instanceof Error ? error.message : String(error);
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
      return JSON.stringify(turnJson(session, turn));
    }
    session.touch();
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        unwatch();
        session.touch();
        resolve(JSON.stringify(turnJson(session, turn)));
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

/** One connection. */
class Client {
  readonly #connection: Deno.UnixConn;
  readonly #session: Session;
  readonly #wire: FrameWire;
  readonly #underWay = new Set<Promise<void>>();
  #sending: Promise<void> = Promise.resolve();
  #free = true;
  #detach: (() => void) | undefined;
  #cursor: number | undefined;
  #raw = false;
  #stateDue = false;
  #asksDue = false;
  #pumping: Promise<void> | undefined;
  #stepped = Promise.withResolvers<void>();
  #steppedAt = 0;
  #slow = false;
  #closed = false;

  constructor(connection: Deno.UnixConn, session: Session, wire: FrameWire) {
    this.#connection = connection;
    this.#session = session;
    this.#wire = wire;
  }

  /** Sends one body after whatever is on its way. */
  send(json: string): Promise<void> {
    return this.#write(encodeOrExplain(json));
  }

  /** Sends a body once it is there, without holding up the requests behind it. */
  async later(answer: Promise<string>): Promise<void> {
    const task = answer.then((json) => this.send(json)).catch(() => {}).finally(
      () => this.#underWay.delete(task),
    );
    this.#underWay.add(task);
    if (this.#underWay.size >= MAX_IN_FLIGHT) {
      await Promise.race(this.#underWay);
    }
  }

  subscribe(params: JsonObject): string {
    this.#cursor = cursorOf(params.cursor);
    this.#raw = params.raw === true;
    if (params.answers === true) this.answers();
    this.#stateDue = this.#asksDue = true;
    // The answer is written first: it is queued by whoever called us, the first push behind it.
    queueMicrotask(() => this.#pump());
    return JSON.stringify({
      subscribed: true,
      cursor: Math.min(this.#cursor, this.#session.log.end),
    });
  }

  unsubscribe(): string {
    this.#cursor = undefined;
    this.#stepped.resolve();
    return '{"subscribed":false}';
  }

  answers(): void {
    this.#detach ??= this.#session.attachAnswerer();
  }

  changed(change: SessionChange): void {
    if (this.#cursor === undefined) return;
    if (change === "state" || change === "ended") this.#stateDue = true;
    if (change === "asks") this.#asksDue = true;
    this.#pump();
  }

  /** What the client follows, when it moves. */
  get follows(): "plain" | "raw" | undefined {
    if (this.#slow || this.#cursor === undefined) return undefined;
    return this.#raw ? "raw" : "plain";
  }

  /** True for a follower that is far behind and still moves. */
  get lags(): boolean {
    return !this.#slow && this.#cursor !== undefined &&
      this.#session.log.end - this.#cursor > LAG_FRAMES;
  }

  /** Resolves with the next push that is through. */
  step(): Promise<void> {
    return this.#stepped.promise;
  }

  /** The wait was in vain: a client that has not moved for long is slow. */
  judge(): void {
    this.#slow = performance.now() - this.#steppedAt > STUCK_MS;
  }

  async farewell(reason: string): Promise<void> {
    await Promise.allSettled(this.#underWay);
    if (this.#cursor === undefined) return;
    this.#stateDue = true;
    this.#pump();
    await this.#pumping;
    await this.send(`{"event":"end","reason":${JSON.stringify(reason)}}`).catch(
      () => {},
    );
  }

  /** The client has said its last; what is under way is still answered. */
  async finish(): Promise<void> {
    this.#detach?.();
    this.#cursor = undefined;
    await Promise.allSettled(this.#underWay);
    await this.#sending.catch(() => {});
    this.close();
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    try {
      this.#connection.close();
    } catch {
      // Closed by the other side.
    }
  }

  /** Pushes what the client has not seen. It reads at its own speed: what it misses is a gap, and it holds up nobody. */
  #pump(): void {
    this.#pumping ??= this.#pumpAll().catch(() => {
      // A follower that cannot be written to is hung up on, so that it knows.
      this.#cursor = undefined;
      this.#pumping = undefined;
      this.close();
    });
  }

  async #pumpAll(): Promise<void> {
    // Not before it is noted as running: a round with nothing to send ends at once.
    await Promise.resolve();
    for (;;) {
      const cursor = this.#cursor;
      if (cursor === undefined) {
        this.#pumping = undefined;
        return;
      }
      const push = this.#wire.push(cursor, this.#raw, PUSH_BYTES);
      if (push !== undefined) {
        this.#cursor = push.next;
        if (this.#free) this.#steppedAt = performance.now();
        await this.#write(push.bytes);
        this.#steppedAt = performance.now();
        this.#stepped.resolve();
        this.#stepped = Promise.withResolvers();
      } else if (this.#stateDue) {
        this.#stateDue = false;
        await this.send(
          `{"event":"state",${JSON.stringify(stateOf(this.#session)).slice(1)}`,
        );
      } else if (this.#asksDue) {
        this.#asksDue = false;
        await this.send(`{"event":"asks","asks":${asksJson(this.#session)}}`);
      } else {
        // Cleared at once: whatever changes from here on starts a new round.
        this.#slow = false;
        this.#pumping = undefined;
        return;
      }
    }
  }

  /** Writes whole messages one after the other; the first of them at once. */
  #write(bytes: Uint8Array): Promise<void> {
    const sent = this.#free
      ? this.#flush(bytes)
      : this.#sending.then(() => this.#flush(bytes));
    this.#free = false;
    this.#sending = sent;
    sent.then(() => {
      if (this.#sending === sent) this.#free = true;
    }, () => {});
    return sent;
  }

  async #flush(bytes: Uint8Array): Promise<void> {
    let at = await this.#connection.write(bytes);
    while (at < bytes.length) {
      at += await this.#connection.write(bytes.subarray(at));
    }
  }
}

function encodeOrExplain(json: string): Uint8Array {
  try {
    return encodeMessage(json);
  } catch (error) {
    const id = /^\{"id":(\d+)/.exec(json)?.[1];
    if (id === undefined) throw error;
    return encodeMessage(
      errorBody(
        id,
        "internal",
        error instanceof Error ? error.message : String(error),
      ),
    );
  }
}

function failureBody(request: RpcRequest, error: unknown): string {
  if (error instanceof RpcError) {
    return errorBody(request.id, error.code, error.message);
  }
  return errorBody(
    request.id,
    "internal",
    error instanceof Error ? error.message : String(error),
  );
}

/** Anything that is no unsigned integer means 0; what is beyond the end means the end. */
function cursorOf(value: unknown): number {
  if (
    typeof value !== "number" || !Number.isInteger(value) || value < 0 ||
    value > 18_446_744_073_709_551_616
  ) return 0;
  return Math.min(value, Number.MAX_SAFE_INTEGER);
}

function imagesOf(value: unknown): TurnImage[] | undefined {
  if (value === undefined) return undefined;
  if (!Array.isArray(value)) {
    throw new RpcError("invalid_params", "`images` is no list");
  }
  return value.map((image) => {
    if (
      !isJsonObject(image) || typeof image.media_type !== "string" ||
      typeof image.data !== "string" ||
      !IMAGE_TYPE.test(image.media_type) || !BASE64.test(image.data)
    ) {
      throw new RpcError(
        "invalid_params",
        "`images` holds something without a `media_type` of png, jpeg, gif or webp and base64 `data`",
      );
    }
    return { mediaType: image.media_type, data: image.data };
  });
}

function turnJson(session: Session, turn: string): JsonObject {
  const outcome = session.turns.outcome(turn);
  if (outcome === undefined) {
    return { turn, phase: session.turns.phase(turn) ?? "done" };
  }
  return {
    turn,
    phase: "done",
    outcome: outcome.outcome,
    text: outcome.text,
    errors: outcome.errors,
    denied: outcome.denied,
    cost_usd: outcome.costUsd,
    duration_ms: outcome.durationMs,
  };
}

/** The open questions, however large or deep the arguments of one are: a person gets to see the beginning of them. */
function asksJson(session: Session): string {
  return `[${
    session.asks.map((ask) =>
      boundedJson(ask, ASK_BYTES) ??
        boundedJson({ ...ask, input: null }, Infinity)
    ).join(",")
  }]`;
}

/** What watchers get when the state changes. */
function stateOf(session: Session): JsonObject {
  return {
    state: session.state,
    child_alive: session.driver.status().alive,
    open_asks: session.asks.length,
    open_tasks: session.tasks.size,
    pending_turns: session.turns.pending,
    cost_usd: session.turns.totalCostUsd,
    stalled: session.stalled,
  };
}

function statusOf(session: Session, clients: number): JsonObject {
  const status = session.driver.status();
  return {
    child_pid: status.pid,
    child_alive: status.alive,
    exit_code: status.exitCode,
    child_ready: session.ready,
    ...stateOf(session),
    agent: session.driver.name,
    session_id: session.sessionId ?? null,
    model: session.model ?? null,
    permission_mode: session.permissionMode ?? null,
    gate: session.gate ?? null,
    next: session.log.end,
    silent_ms: Math.round(session.silentMs),
    clients,
  };
}
