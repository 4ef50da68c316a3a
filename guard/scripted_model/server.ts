/**
 * The server that plays a script.
 *
 * @module
 */
import { namePermission, pause, reasonOf } from "@bulkhead/sandbox";
import { NoSuchToolError } from "./calls.ts";
import { chat } from "./chat.ts";
import { countTokens, messages } from "./messages.ts";
import { ScriptPlayer, type Turn } from "./player.ts";
import type { Answer, ModelRequest, Protocol, ToolResult } from "./request.ts";
import { responses } from "./responses.ts";
import {
  type ModelScript,
  parseScript,
  type ParseScriptOptions,
} from "./script.ts";
import {
  errorAnswer,
  eventsOf,
  makeAnswer,
  searchAnswer,
  streamOf,
} from "./answer.ts";

/** Options of {@linkcode startScriptedModel}. */
export interface ScriptedModelOptions extends ParseScriptOptions {
  /** Port on 127.0.0.1. Default 0: any free one. */
  readonly port?: number;
  /** Called for each request as it is recorded. */
  readonly onRequest?: (request: RecordedRequest) => void;
}

/** One request as the server saw it. */
export interface RecordedRequest {
  /** Number from 0, in order of arrival. */
  readonly number: number;
  /** Path and query. */
  readonly path: string;
  /** Headers without the values of `authorization` and `x-api-key`. */
  readonly headers: Readonly<Record<string, string>>;
  /** The request in the script's terms. */
  readonly request: ModelRequest;
  /** Name of the conversation it was counted to; `"side"` for requests without tools. */
  readonly conversation: string;
  /** Index of the step it got; −1 when it got none. */
  readonly step: number;
  /** The whole body. */
  readonly body: unknown;
}

const ENDPOINTS: Readonly<Record<string, Protocol>> = {
  "/messages": messages,
  "/responses": responses,
  "/chat/completions": chat,
};

/** Requests larger than this are refused. */
const MAX_BODY = 256 * 1024 * 1024;

/** A running scripted model. Made by {@linkcode startScriptedModel}. */
export class ScriptedModel implements AsyncDisposable {
  readonly #player: ScriptPlayer;
  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  readonly #stop = new AbortController();
  readonly #requests: RecordedRequest[] = [];
  readonly #problems: string[] = [];
  readonly #searched = new Set<string>();
  /** Which conversation each call belongs to. */
  readonly #issued = new Map<string, string>();
  readonly #gates = new Map<string, PromiseWithResolvers<void>>();
  readonly #waiting = new Set<{ met(): boolean; resolve(): void }>();
  readonly #onRequest: ((request: RecordedRequest) => void) | undefined;

  /** Use {@linkcode startScriptedModel}. */
  constructor(script: ModelScript, options: ScriptedModelOptions = {}) {
    this.#player = new ScriptPlayer(script);
    this.#onRequest = options.onRequest;
    this.#server = Deno.serve({
      hostname: "127.0.0.1",
      port: options.port ?? 0,
      signal: this.#stop.signal,
      onListen: () => {},
    }, (request) => this.#handle(request));
  }

  /** Where it listens, for example `http://127.0.0.1:40123`. */
  get origin(): string {
    return `http://127.0.0.1:${this.#server.addr.port}`;
  }

  /** Every request so far that asked for an answer. */
  get requests(): readonly RecordedRequest[] {
    return this.#requests;
  }

  /** What went wrong: calls no offered tool can do, requests to unknown paths or with bad bodies. */
  get problems(): readonly string[] {
    return this.#problems;
  }

  /**
   * Every tool result the agent sent back, each call once, in order of first sight.
   *
   * @returns The results.
   */
  results(): ToolResult[] {
    const seen = new Map<string, ToolResult>();
    for (const { request, conversation } of this.#requests) {
      for (const result of request.results) {
        // A forked conversation repeats its parent's calls, not always with their results.
        const owner = this.#issued.get(result.callId);
        if (owner !== undefined && owner !== conversation) continue;
        if (!seen.has(result.callId)) seen.set(result.callId, result);
      }
    }
    return [...seen.values()];
  }

  /**
   * The result of one call.
   *
   * @param callId As the script says it, or `call_<conversation>_<step>_<number>`.
   * @returns The result, or `undefined` when the agent has not sent it back.
   */
  result(callId: string): ToolResult | undefined {
    return this.results().find((result) => result.callId === callId);
  }

  /**
   * Waits until a conversation has been asked for a number of its steps.
   *
   * @param steps How many.
   * @param conversation Which one; default the main one.
   * @throws {RangeError} For an unknown conversation.
   */
  async reached(steps: number, conversation = "main"): Promise<void> {
    if (this.#player.progress(conversation) === undefined) {
      throw new RangeError(
        `Cannot wait for conversation "${conversation}": the script has none of that name`,
      );
    }
    await this.until(() => (this.#player.progress(conversation) ?? 0) >= steps);
  }

  /**
   * Waits until something holds; it is looked at again after each request.
   *
   * @param met What is to hold.
   */
  async until(met: () => boolean): Promise<void> {
    if (met()) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.add({ met, resolve });
    await promise;
  }

  /**
   * Lets the step with that `hold` be answered, now or when it is reached.
   *
   * @param hold Name the step gives.
   */
  release(hold: string): void {
    this.#gate(hold).resolve();
  }

  /**
   * Steps no agent asked for.
   *
   * @returns One line for each conversation that has steps left.
   */
  unreached(): string[] {
    return this.#player.unreached();
  }

  /**
   * Checks that the script was played to its end without problems.
   *
   * @throws {Error} With one line that names the first step never reached, or the first problem.
   */
  assertFinished(): void {
    const found = [...this.#problems, ...this.unreached()];
    if (found.length > 0) {
      throw new Error(
        `The script did not finish after ${this.#requests.length} requests: ${
          found.join("; ")
        }`,
      );
    }
  }

  /** Stops the server and cuts what is still open. */
  async close(): Promise<void> {
    for (const gate of this.#gates.values()) gate.resolve();
    for (const waiter of this.#waiting) waiter.resolve();
    this.#stop.abort();
    await this.#server.finished;
  }

  /** Same as {@linkcode ScriptedModel.close}. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #gate(name: string): PromiseWithResolvers<void> {
    const known = this.#gates.get(name);
    if (known) return known;
    const gate = Promise.withResolvers<void>();
    this.#gates.set(name, gate);
    return gate;
  }

  async #handle(request: Request): Promise<Response> {
    const url = new URL(request.url);
    const path = url.pathname.replace(/^\/v1(?=\/)/, "");
    if (request.method === "HEAD" || path === "/") {
      return new Response(null, { status: 200 });
    }
    if (request.method === "GET" && path === "/models") {
      return Response.json({ object: "list", data: [], models: [] });
    }
    const counting = path === "/messages/count_tokens";
    const protocol = counting ? messages : ENDPOINTS[path];
    if (!protocol || request.method !== "POST") {
      await request.body?.cancel();
      this.#problems.push(
        `no such endpoint: ${request.method} ${url.pathname}`,
      );
      return Response.json({
        error: { message: `scripted model: no such endpoint: ${url.pathname}` },
      }, { status: 404 });
    }
    let body: unknown;
    try {
      if (Number(request.headers.get("content-length") ?? 0) > MAX_BODY) {
        throw new RangeError("body too large");
      }
      body = await request.json();
    } catch (error) {
      const message = `request body of ${url.pathname} cannot be read: ${
        reasonOf(error)
      }`;
      this.#problems.push(message);
      return Response.json(protocol.error(400, message), { status: 400 });
    }
    if (counting) return Response.json(countTokens(body));
    return await this.#answer(protocol, url, request.headers, body);
  }

  /** Looks for a tool that the agent has not listed, once for each step. */
  #search(turn: Turn, asked: ModelRequest, number: number): Answer | undefined {
    const step = `${turn.conversation}/${turn.index}`;
    if (this.#searched.has(step)) return undefined;
    const answer = searchAnswer(turn, asked, number);
    if (answer === undefined) return undefined;
    this.#searched.add(step);
    this.#player.unplay(turn);
    return answer;
  }

  async #answer(
    protocol: Protocol,
    url: URL,
    headers: Headers,
    body: unknown,
  ): Promise<Response> {
    const asked = protocol.read(body);
    const turn = this.#player.next(asked);
    const number = this.#requests.length;
    const record: RecordedRequest = {
      number,
      path: url.pathname + url.search,
      headers: shownHeaders(headers),
      request: asked,
      conversation: turn.conversation,
      step: turn.index,
      body,
    };
    this.#requests.push(record);
    this.#onRequest?.(record);
    for (const waiter of this.#waiting) {
      if (!waiter.met()) continue;
      this.#waiting.delete(waiter);
      waiter.resolve();
    }
    const { step } = turn;
    if (step.hold !== undefined) await this.#gate(step.hold).promise;
    const { await: awaited } = step;
    if (awaited !== undefined) {
      await this.until(() => this.#player.finished(awaited));
    }
    if (step.delayMs) await pause(step.delayMs, this.#stop.signal);
    if (step.error && !step.error.inStream) return errorAnswer(protocol, step);
    let answer: Answer;
    try {
      answer = this.#search(turn, asked, number) ??
        makeAnswer(turn, asked, number);
    } catch (error) {
      if (!(error instanceof NoSuchToolError)) throw error;
      const message = `conversation "${turn.conversation}", step ${
        turn.index + 1
      }: ${error.message}`;
      this.#problems.push(message);
      return Response.json(protocol.error(400, `scripted model: ${message}`), {
        status: 400,
      });
    }
    for (const call of answer.calls) {
      this.#issued.set(call.id, turn.conversation);
    }
    if (!asked.stream && !step.cut) {
      return Response.json(protocol.whole(answer));
    }
    const stream = new Headers({
      "content-type": "text/event-stream",
      "cache-control": "no-store",
    });
    // A promised length that never comes makes the server break the connection.
    if (step.cut) stream.set("content-length", "1000000000");
    const events = eventsOf(protocol, answer, step);
    return new Response(streamOf(events, step, this.#stop.signal), {
      headers: stream,
    });
  }
}

/** Headers without what nobody should read in a log. */
function shownHeaders(headers: Headers): Record<string, string> {
  return Object.fromEntries(
    [...headers].map((
      [name, value],
    ) => [name, /^(authorization|x-api-key|cookie)$/.test(name) ? "…" : value]),
  );
}

/**
 * Starts a server on loopback that plays a script.
 *
 * Needs `--allow-net=127.0.0.1`.
 *
 * @param script JSON text or the parsed value, see {@linkcode ModelScript}.
 * @param options Port, variables of the script, an observer.
 * @returns The running server.
 * @throws {SyntaxError} When the script is not one.
 * @throws {Deno.errors.AddrInUse} When the port is taken.
 */
export function startScriptedModel(
  script: string | ModelScript,
  options: ScriptedModelOptions = {},
): Promise<ScriptedModel> {
  return new Promise((resolve) => {
    const parsed = parseScript(script, options);
    try {
      resolve(new ScriptedModel(parsed, options));
    } catch (cause) {
      if (!(cause instanceof Deno.errors.AddrInUse)) {
        throw namePermission("Starting the scripted model", cause);
      }
      throw new Deno.errors.AddrInUse(
        `Cannot start the scripted model: port ${options.port} of 127.0.0.1 is in use: choose another, or 0 for any`,
        { cause },
      );
    }
  });
}
