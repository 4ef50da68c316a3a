/**
 * One plugin in one child process: its start, its socket, its end.
 *
 * @module
 */

import type { IsolationBackend, ManagedProcess } from "@bulkhead/sandbox";
import {
  closedError,
  crashError,
  disconnectedError,
  framingError,
  inputTooLong,
  lateStartError,
  protocolError,
  remoteError,
  wedgedError,
} from "./child_errors.ts";
import { ChildOutput } from "./child_output.ts";
import { type ChildOptions, socketDir, startChild } from "./child_start.ts";
import type {
  DispatchOutcome,
  EngineStats,
  InvokeKind,
  InvokeOutcome,
} from "./engine_types.ts";
import type { AbiError } from "./errors.ts";
import { decodeText, encodeText } from "./memory.ts";
import { type Frame, OpenRequests } from "./open_requests.ts";
import type { CallOutcome } from "./poll_driver.ts";
import type { PluginPort, PortCall, PortEvent } from "./port.ts";
import { emptyRegistration, type Registration } from "./registration.ts";
import { FrameConnection, type Head, packTexts, PROTOCOL } from "./rpc.ts";
import { after } from "./timer.ts";
import { readDispatch, readKind, readRegistration, readStats } from "./wire.ts";

/** The longest text that goes to a child. */
const MAX_BODY_BYTES = 67_108_864;
/** What a child gets on top of its own limits before the host stops waiting. */
const MARGIN_MS = 1_500;

/** One plugin in one child process. */
export class ChildPort implements PluginPort {
  registration: Registration = emptyRegistration();
  /** What confines it. */
  readonly isolation: IsolationBackend;
  readonly #options: ChildOptions;
  readonly #process: ManagedProcess;
  readonly #output: ChildOutput;
  readonly #requests: OpenRequests;
  readonly #loaded = Promise.withResolvers<void>();
  readonly #gone = Promise.withResolvers<void>();
  #connection: FrameConnection | undefined;
  #death: AbiError | undefined;
  #closing = false;
  #registered = false;
  #wedged: string | undefined;

  private constructor(options: ChildOptions, process: ManagedProcess) {
    this.#options = options;
    this.#process = process;
    this.isolation = process.isolation;
    this.#output = new ChildOutput(
      options.name,
      [process.stderr, process.stdout],
      options.onOutput,
    );
    this.#requests = new OpenRequests(
      () => this.#connection?.send({ t: "ping" }),
      () => this.#wedge("a callback"),
    );
    this.#loaded.promise.catch(() => {});
    process.status.then(() => this.#onExit());
  }

  /**
   * Starts a child and loads the plugin in it.
   *
   * @param options The library and its surroundings.
   * @returns The loaded plugin; rejects with an {@linkcode AbiError}.
   */
  static async start(options: ChildOptions): Promise<ChildPort> {
    const dir = await socketDir();
    const socket = `${dir}/s`;
    const listener = Deno.listen({ transport: "unix", path: socket });
    let port: ChildPort | undefined;
    try {
      const process = await startChild(socket, options);
      port = new ChildPort(options, process);
      await port.#boot(listener);
      return port;
    } catch (error) {
      await port?.close();
      throw error;
    } finally {
      try {
        listener.close();
      } catch {
        // Closed by the deadline.
      }
      await Deno.remove(dir, { recursive: true });
    }
  }

  get death(): AbiError | undefined {
    return this.#death;
  }

  async call(call: PortCall): Promise<CallOutcome> {
    const { signal } = call;
    if (signal?.aborted) {
      return {
        kind: "cancelled",
        text: "",
        cancelled: true,
        ignoredCancel: false,
      };
    }
    const { id, answer } = this.#request(
      {
        t: "call",
        tool: call.tool,
        call: call.callId,
        quiet: call.onUpdate === undefined,
      },
      encodeText(call.args),
      call.onUpdate,
    );
    let guard: ReturnType<typeof setTimeout> | undefined;
    const onAbort = () => {
      this.#connection?.send({ t: "cancel", id });
      // The child answers within the grace, unless it cannot.
      guard = after(
        this.#options.limits.cancelGraceMs + MARGIN_MS,
        () => this.#wedge("the plugin's process"),
      );
    };
    signal?.addEventListener("abort", onAbort, { once: true });
    try {
      const { head, body } = await answer;
      return {
        kind: readKind(head.kind),
        text: decodeText(body),
        cancelled: head.cancelled === true,
        ignoredCancel: head.ignored === true,
      };
    } finally {
      clearTimeout(guard);
      signal?.removeEventListener("abort", onAbort);
    }
  }

  async invoke(
    kind: InvokeKind,
    index: number,
    inputs: readonly string[],
    timeoutMs: number,
  ): Promise<InvokeOutcome> {
    const { body, sizes } = packTexts(inputs);
    const head = {
      t: "invoke",
      kind,
      index,
      sizes,
      timeout: Number.isFinite(timeoutMs) ? timeoutMs : null,
    };
    const frame = await this.#within(
      this.#request(head, body).answer,
      timeoutMs + MARGIN_MS,
    );
    return {
      rc: typeof frame.head.rc === "number" ? frame.head.rc : 1,
      text: decodeText(frame.body),
    };
  }

  async dispatch(event: PortEvent): Promise<DispatchOutcome> {
    const { body, sizes } = packTexts(event.strings);
    const { tag, isError, mode, budgetMs } = event;
    const handlers = this.registration.events.filter((t) => t === tag).length;
    const head = {
      t: "dispatch",
      tag,
      isError,
      mode,
      sizes,
      budget: Number.isFinite(budgetMs) ? budgetMs : null,
    };
    const frame = await this.#within(
      this.#request(head, body).answer,
      budgetMs * handlers + MARGIN_MS,
    );
    return readDispatch(frame.head);
  }

  setSession(id: string): void {
    this.#connection?.send({ t: "session", session: id });
  }

  async stats(): Promise<EngineStats> {
    const { body } = await this.#request({ t: "stats" }).answer;
    return readStats(body);
  }

  async close(): Promise<void> {
    if (!this.#closing) {
      this.#closing = true;
      this.#requests.rest();
      this.#connection?.send({ t: "bye" });
      await Promise.race([this.#connection?.flushed(), this.#gone.promise]);
      this.#fail(closedError(this.#options.name));
    }
    // A destructor of the plugin may hang or crash now; nobody waits for it any more.
    await this.#process.end({ eofMs: 1_000, termMs: 1_000 });
    this.#connection?.close();
    await this.#output.close();
  }

  async #boot(listener: Deno.UnixListener): Promise<void> {
    const { name, startTimeoutMs, report, limits, sessionId, accounting } =
      this.#options;
    let where = "its process did not connect";
    const timer = after(
      startTimeoutMs,
      () => this.#die(lateStartError(name, where, startTimeoutMs)),
    );
    try {
      const accepted = listener.accept();
      accepted.catch(() => {});
      const conn = await Promise.race([accepted, this.#loaded.promise]);
      if (conn === undefined) {
        throw new TypeError(
          "Cannot load a plugin: it loaded before it connected",
        );
      }
      const connection = new FrameConnection(conn);
      this.#connection = connection;
      connection.read((head, body) => this.#onFrame(head, body)).then(
        () => this.#onEnd(),
        (error) => this.#onEnd(error),
      );
      where = "its constructors or its entry point did not return";
      connection.send({
        t: "load",
        path: report.path,
        name,
        limits,
        accounting,
        session: sessionId,
      });
      await this.#loaded.promise;
    } finally {
      clearTimeout(timer);
    }
  }

  #onFrame(head: Head, body: Uint8Array): void {
    this.#requests.heard();
    const id = head.id ?? 0;
    switch (head.t) {
      case "update":
        this.#requests.update(id, () => decodeText(body));
        return;
      case "result":
      case "ran":
      case "dispatched":
      case "stats":
      case "pong":
        this.#requests.resolve(id, { head, body });
        return;
      case "error":
        this.#requests.reject(id, this.#remoteError(head));
        return;
      case "action":
        this.#answerAction(
          id,
          typeof head.action === "number" ? head.action : -1,
          decodeText(body),
        );
        return;
      case "wedged":
        this.#wedge(typeof head.what === "string" ? head.what : "a function");
        return;
      case "hello":
        if (head.protocol !== PROTOCOL) {
          this.#die(protocolError(this.#options.name, head.protocol));
        }
        return;
      case "loaded":
        // Once: what the plugin registered does not change under its callers.
        if (!this.#registered) this.registration = readRegistration(body);
        this.#registered = true;
        this.#loaded.resolve();
        return;
      case "failed":
        this.#loaded.reject(this.#remoteError(head));
        return;
    }
  }

  async #answerAction(id: number, action: number, args: string): Promise<void> {
    const { rc, text } = await this.#options.answer(action, args);
    const bytes = encodeText(text);
    if (bytes.length <= MAX_BODY_BYTES) {
      this.#connection?.send({ t: "answer", id, rc }, bytes);
      return;
    }
    const error = `the answer of ${bytes.length} bytes is too long`;
    const short = encodeText(JSON.stringify({ error }));
    this.#connection?.send({ t: "answer", id, rc: 1 }, short);
  }

  #request(
    head: Head,
    body?: Uint8Array,
    onUpdate?: (text: string) => void,
  ): { id: number; answer: Promise<Frame> } {
    const id = this.#requests.next();
    if (this.#death !== undefined) {
      return { id, answer: Promise.reject(this.#death) };
    }
    if (body !== undefined && body.length > MAX_BODY_BYTES) {
      const { name } = this.#options;
      const error = inputTooLong(name, body.length, MAX_BODY_BYTES);
      return { id, answer: Promise.reject(error) };
    }
    const answer = this.#requests.wait(id, onUpdate);
    this.#connection?.send({ ...head, id }, body);
    return { id, answer };
  }

  async #within<T>(answer: Promise<T>, ms: number): Promise<T> {
    const timer = after(ms, () => this.#wedge("a handler"));
    try {
      return await answer;
    } finally {
      clearTimeout(timer);
    }
  }

  #remoteError(head: Head): AbiError {
    return remoteError(this.#options.name, head, this.#output.tail);
  }

  #wedge(what: string): void {
    if (this.#wedged !== undefined || this.#closing) return;
    this.#wedged = what;
    this.#die(wedgedError(this.#options.name, what, this.#output.tail));
  }

  async #onEnd(error?: unknown): Promise<void> {
    if (this.#closing || this.#death !== undefined) return;
    if (error !== undefined) {
      return this.#die(framingError(this.#options.name, error));
    }
    // The socket closes a moment before the exit code is known.
    const timer = setTimeout(
      () => this.#die(disconnectedError(this.#options.name)),
      1_000,
    );
    await this.#process.status;
    clearTimeout(timer);
  }

  async #onExit(): Promise<void> {
    // What was written before the end still counts; a process it forked may hold the socket open.
    await this.#output.settled(50);
    this.#gone.resolve();
    if (this.#closing) return;
    const status = await this.#process.status;
    const { name } = this.#options;
    const { tail } = this.#output;
    this.#die(
      crashError(name, status, this.isolation, tail, !this.#registered),
    );
  }

  /** The end of this child: everybody who waits is told, then it is cleared away. */
  #die(error: AbiError): void {
    if (this.#death !== undefined) return;
    this.#fail(error);
    this.#process.kill("SIGKILL");
    this.#options.onDeath(this, error);
  }

  #fail(error: AbiError): void {
    this.#death ??= error;
    this.#loaded.reject(error);
    this.#requests.fail(error);
  }
}
