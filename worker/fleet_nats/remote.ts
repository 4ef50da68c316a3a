/**
 * The fleet from the other side: every session of every host, watched, answered and
 * driven as if it were here.
 *
 * @module
 */
import type { AskAnswer } from "../agents/driver.ts";
import { type TurnStatus, turnStatusOf } from "../client.ts";
import { codeOf, objectOf, textOf } from "../client_answers.ts";
import { isJsonObject } from "../frame.ts";
import { RpcError } from "../rpc.ts";
import type { Fleet } from "./connection.ts";
import { FleetError } from "./error.ts";
import {
  type FrameBatch,
  readFleetFrames,
  type ReadFrameOptions,
} from "./frames.ts";
import { controlSubject, roleOf } from "./names.ts";
import { insistently, isNotPermitted } from "./provision.ts";
import { valuesOf } from "./values.ts";
import {
  askRecord,
  type FleetAsk,
  type FleetHostRecord,
  type FleetSessionRecord,
  hostRecord,
  sessionRecord,
} from "./records.ts";

const CALL_MS = 10_000;

/** A session of the fleet, and whether its host is there. */
export interface FleetSession extends FleetSessionRecord {
  /** True when its host has not said a word for too long: nobody serves it. */
  readonly lost: boolean;
}

/** Everything in the fleet at one moment. */
export interface FleetView {
  /** The machines. */
  readonly hosts: FleetHostRecord[];
  /** The sessions. */
  readonly sessions: FleetSession[];
  /** The open questions. */
  readonly asks: FleetAsk[];
}

/**
 * Everything in the fleet: hosts, sessions with their true state, open questions.
 *
 * @param fleet The connection.
 * @returns The view.
 */
export async function viewFleet(fleet: Fleet): Promise<FleetView> {
  const { names } = fleet;
  const read = async <T>(name: string, of: (text: string) => T | undefined) =>
    await valuesOf(await fleet.bucket(name), of);
  const [hosts, sessions, asks] = await Promise.all([
    read(names.hosts, hostRecord),
    read(names.sessions, sessionRecord),
    read(names.asks, askRecord),
  ]);
  const there = new Set(hosts.map((host) => host.instance));
  return {
    hosts,
    sessions: sessions.map((session) => ({
      ...session,
      lost: session.state !== "ended" && !there.has(session.instance),
    })).toSorted((a, b) => a.id < b.id ? -1 : 1),
    asks: asks.filter((ask) => sessions.some((s) => s.id === ask.session)),
  };
}

/** A session of the fleet from anywhere. */
export class RemoteWorker {
  /** The session: `<host>.<short id>`. */
  readonly id: string;
  readonly #fleet: Fleet;
  #calls = 0;

  /**
   * Talks to a session; nothing is sent yet.
   *
   * @param fleet The connection.
   * @param id The session: `<host>.<short id>`.
   */
  constructor(fleet: Fleet, id: string) {
    this.#fleet = fleet;
    this.id = id;
  }

  /**
   * Calls a method by its name on the socket.
   *
   * @param method The method.
   * @param params Its parameters.
   * @returns The result, unchecked.
   * @throws {RpcError} When the worker answers with an error.
   * @throws {FleetError} When nobody serves the session, or gives no answer.
   */
  async call(
    method: string,
    params: Record<string, unknown> = {},
  ): Promise<unknown> {
    const role = roleOf(method);
    if (role === undefined) {
      throw new RpcError("unknown_method", `unknown stream method: ${method}`);
    }
    const subject = controlSubject(this.#fleet.names.prefix, this.id, role);
    const body = JSON.stringify({ id: ++this.#calls, method, params });
    let text: string;
    try {
      text = (await this.#fleet.nc.request(subject, body, { timeout: CALL_MS }))
        .string();
    } catch (error) {
      throw this.#failure(method, error);
    }
    const { result, error } = objectOf(JSON.parse(text), method);
    if (error !== undefined) {
      const { code, message } = objectOf(error, method);
      throw new RpcError(codeOf(code), textOf(message));
    }
    return result;
  }

  #failure(method: string, error: unknown): Error {
    const text = String(error);
    if (isNotPermitted(error)) {
      return new FleetError(
        "not_authorized",
        `Cannot call "${method}" of "${this.id}": the server does not permit it`,
        "use credentials with that role (`bulkhead fleet perms`)",
        error,
      );
    }
    if (/no responders/i.test(text)) {
      return new FleetError(
        "no_worker",
        `Cannot call "${method}" of "${this.id}": nobody serves it`,
        "look at `bulkhead worker list --fleet`: its host may be gone",
        error,
      );
    }
    return new FleetError(
      "timeout",
      `Cannot call "${method}" of "${this.id}": no answer within ${CALL_MS} ms`,
      "try again; the host may be cut off",
      error,
    );
  }

  /** Sends a turn; one with a known `uuid` is not run twice. */
  async writeTurn(
    text: string,
    options: { uuid?: string } = {},
  ): Promise<void> {
    await this.call("stream.write_turn", { text, ...options });
  }

  /** How a turn stands, or ends within `waitMs`. */
  async turn(turn: string, waitMs = 0): Promise<TurnStatus> {
    return turnStatusOf(
      await this.call("stream.turn", { turn, wait_ms: waitMs }),
    );
  }

  /** Answers a question; false when it was settled before. */
  async answerAsk(id: string, answer: AskAnswer): Promise<boolean> {
    const result = await this.call("stream.answer_ask", {
      id,
      decision: answer.decision,
      ...answer.reason === undefined ? {} : { reason: answer.reason },
      ...answer.updatedInput === undefined
        ? {}
        : { updated_input: answer.updatedInput },
      ...answer.interrupt === true ? { interrupt: true } : {},
    });
    return isJsonObject(result) && result.answered === true;
  }

  /** Stops the running turn. */
  async interrupt(): Promise<void> {
    await this.call("stream.interrupt");
  }

  /** Ends the worker. */
  async shutdown(): Promise<void> {
    await this.call("stream.shutdown");
  }

  /** How the session stands in the fleet. */
  async record(): Promise<FleetSessionRecord | undefined> {
    const bucket = await this.#fleet.bucket(this.#fleet.names.sessions);
    const entry = await insistently(() => bucket.get(this.id));
    return entry === null || entry.operation !== "PUT"
      ? undefined
      : sessionRecord(entry.string());
  }

  /**
   * The frames of the session's current life, from a cursor on, each once and in order.
   *
   * @param options Where to begin.
   * @returns The frames as they come.
   */
  async *frames(
    options: ReadFrameOptions = {},
  ): AsyncGenerator<FrameBatch, void, undefined> {
    const record = await this.record();
    if (record === undefined) {
      throw new FleetError(
        "no_worker",
        `Cannot watch "${this.id}": there is no such session in the fleet`,
        "look at `bulkhead worker list --fleet`",
      );
    }
    yield* readFleetFrames(this.#fleet, this.id, record.epoch, options);
  }
}
