/**
 * One plugin in one child process: its start, its socket, its end.
 *
 * @module
 */

import type { IsolationBackend, ManagedProcess } from "@bulkhead/sandbox";
import { type ChildOptions, socketDir, startChild } from "./child_start.ts";
import type {
  DispatchOutcome,
  EngineStats,
  InvokeKind,
  InvokeOutcome,
} from "./engine_types.ts";
import { AbiError } from "./errors.ts";
import { decodeText, encodeText } from "./memory.ts";
import { OutputLog } from "./output.ts";
import type { CallOutcome } from "./poll_driver.ts";
import type { PluginPort, PortCall, PortEvent } from "./port.ts";
import { emptyRegistration, type Registration } from "./registration.ts";
import { FrameConnection, type Head, packTexts, PROTOCOL } from "./rpc.ts";
import {
  readCode,
  readDispatch,
  readKind,
  readRegistration,
  signalOf,
} from "./wire.ts";

interface Pending {
  readonly resolve: (frame: { head: Head; body: Uint8Array }) => void;
  readonly reject: (error: AbiError) => void;
  readonly onUpdate: ((text: string) => void) | undefined;
}

/** The longest text that goes to a child. */
const MAX_BODY_BYTES = 67_108_864;
/** Without a word from a child that owes an answer, it is asked whether it lives. */
const PING_MS = 5_000;
/** What a child gets on top of its own limits before the host stops waiting. */
const MARGIN_MS = 1_500;

/** One plugin in one child process. */
export class ChildPort implements PluginPort {
  registration: Registration = emptyRegistration();
  /** What confines it. */
  readonly isolation: IsolationBackend;
  readonly #options: ChildOptions;
  readonly #process: ManagedProcess;
  readonly #log: OutputLog;
  readonly #pending = new Map<number, Pending>();
  readonly #loaded = Promise.withResolvers<void>();
  readonly #output: Promise<unknown>;
  readonly #readers: ReadableStreamDefaultReader<Uint8Array>[] = [];
  readonly #gone = Promise.withResolvers<void>();
  #connection: FrameConnection | undefined;
  #nextId = 1;
  #death: AbiError | undefined;
  #closing = false;
  #registered = false;
  #wedged: string | undefined;
  #heard = 0;
  #watchdog: ReturnType<typeof setTimeout> | undefined;

  private constructor(options: ChildOptions, process: ManagedProcess) {
    this.#options = options;
    this.#process = process;
    this.isolation = process.isolation;
    this.#log = new OutputLog({
      name: options.name,
      ...options.onOutput === undefined ? {} : { onLine: options.onOutput },
    });
    this.#loaded.promise.catch(() => {});
    this.#output = Promise.all([
      this.#collect(process.stderr),
      this.#collect(process.stdout),
    ]);
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
      guard = setTimeout(
        () => this.#wedge("the plugin's process"),
        this.#options.limits.cancelGraceMs + MARGIN_MS,
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
    const stats: EngineStats = JSON.parse(decodeText(body));
    return stats;
  }

  async close(): Promise<void> {
    if (!this.#closing) {
      this.#closing = true;
      clearTimeout(this.#watchdog);
      this.#connection?.send({ t: "bye" });
      await Promise.race([this.#connection?.flushed(), this.#gone.promise]);
      this.#fail(
        new AbiError(
          "closed",
          `Cannot call plugin "${this.#options.name}": it was closed`,
          {
            plugin: this.#options.name,
          },
        ),
      );
    }
    // A destructor of the plugin may hang or crash now; nobody waits for it any more.
    await this.#process.end({ eofMs: 1_000, termMs: 1_000 });
    this.#connection?.close();
    // A process that the plugin forked may still hold its pipes.
    await within(this.#output, 200);
    await Promise.all(
      this.#readers.map((reader) => reader.cancel().catch(() => {})),
    );
    await this.#output;
  }

  async #boot(listener: Deno.UnixListener): Promise<void> {
    const { name, startTimeoutMs, report, limits, sessionId, accounting } =
      this.#options;
    let where = "its process did not connect";
    const timer = setTimeout(() => {
      const what =
        `Cannot load plugin "${name}": ${where} within ${startTimeoutMs} ms`;
      this.#die(
        new AbiError("start", what, {
          plugin: name,
          fix: "look at what its entry point and its constructors do",
        }),
      );
    }, startTimeoutMs);
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
    this.#heard = performance.now();
    const id = head.id ?? 0;
    switch (head.t) {
      case "update":
        this.#pending.get(id)?.onUpdate?.(decodeText(body));
        return;
      case "result":
      case "ran":
      case "dispatched":
      case "stats":
      case "pong": {
        const pending = this.#pending.get(id);
        this.#pending.delete(id);
        pending?.resolve({ head, body });
        return;
      }
      case "error": {
        const pending = this.#pending.get(id);
        this.#pending.delete(id);
        pending?.reject(this.#remoteError(head));
        return;
      }
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
          const what =
            `Cannot load plugin "${this.#options.name}": its process speaks protocol ${head.protocol}, not ${PROTOCOL}`;
          this.#die(
            new AbiError("start", what, {
              fix: "update @bulkhead/abi as a whole",
            }),
          );
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
  ): { id: number; answer: Promise<{ head: Head; body: Uint8Array }> } {
    const id = this.#nextId++;
    if (this.#death !== undefined) {
      return { id, answer: Promise.reject(this.#death) };
    }
    if (body !== undefined && body.length > MAX_BODY_BYTES) {
      const { name } = this.#options;
      const what =
        `Cannot call plugin "${name}": the input has ${body.length} bytes, at most ${MAX_BODY_BYTES} are passed on`;
      const error = new AbiError("protocol", what, { plugin: name });
      return { id, answer: Promise.reject(error) };
    }
    const answer = Promise.withResolvers<{ head: Head; body: Uint8Array }>();
    this.#pending.set(id, {
      resolve: answer.resolve,
      reject: answer.reject,
      onUpdate,
    });
    this.#connection?.send({ ...head, id }, body);
    this.#watchdog ??= setTimeout(() => this.#ping(performance.now()), PING_MS);
    return { id, answer: answer.promise };
  }

  /** A child whose main thread stands still answers nothing, not even this. */
  #ping(asked: number): void {
    this.#watchdog = undefined;
    if (this.#pending.size === 0 || this.#death !== undefined) return;
    this.#connection?.send({ t: "ping" });
    this.#watchdog = setTimeout(() => {
      this.#watchdog = undefined;
      if (this.#pending.size === 0) return;
      if (this.#heard < asked) this.#wedge("a callback");
      else {this.#watchdog = setTimeout(() =>
          this.#ping(performance.now()), PING_MS);}
    }, PING_MS);
  }

  async #within<T>(answer: Promise<T>, ms: number): Promise<T> {
    if (!Number.isFinite(ms)) return await answer;
    const timer = setTimeout(() => this.#wedge("a handler"), ms);
    try {
      return await answer;
    } finally {
      clearTimeout(timer);
    }
  }

  #remoteError(head: Head): AbiError {
    const { name } = this.#options;
    return new AbiError(
      readCode(head.code),
      typeof head.message === "string"
        ? head.message
        : `Plugin "${name}" failed`,
      {
        plugin: name,
        ...typeof head.fix === "string" ? { fix: head.fix } : {},
        ...typeof head.rc === "number" ? { exitCode: head.rc } : {},
        stderrTail: this.#log.tail,
      },
    );
  }

  #wedge(what: string): void {
    if (this.#wedged !== undefined || this.#closing) return;
    this.#wedged = what;
    this.#die(
      new AbiError(
        "wedged",
        `Plugin "${this.#options.name}" was stopped: ${what} did not come back`,
        {
          plugin: this.#options.name,
          fix: "ask its author to keep poll short and to notice a cancel",
          stderrTail: this.#log.tail,
        },
      ),
    );
  }

  async #onEnd(error?: unknown): Promise<void> {
    if (this.#closing || this.#death !== undefined) return;
    if (error !== undefined) {
      const why = error instanceof Error ? error.message : String(error);
      this.#die(
        new AbiError(
          "protocol",
          `Plugin "${this.#options.name}" was stopped: ${why}`,
          { plugin: this.#options.name },
        ),
      );
      return;
    }
    // The socket closes a moment before the exit code is known.
    const timer = setTimeout(() => {
      const { name } = this.#options;
      const what =
        `Plugin "${name}" was stopped: it closed its connection to the host`;
      this.#die(new AbiError("crashed", what, { plugin: name }));
    }, 1_000);
    await this.#process.status;
    clearTimeout(timer);
  }

  async #onExit(): Promise<void> {
    // What was written before the end still counts; a process it forked may hold the socket open.
    await within(this.#output, 50);
    this.#gone.resolve();
    if (this.#closing) return;
    const { code, signal } = await this.#process.status;
    this.#die(this.#crash(code, signal));
  }

  #crash(code: number | null, signal: string | null): AbiError {
    const { name } = this.#options;
    // Inside a PID namespace the first process reports a signal as 128 + n.
    const ended = signal ??
      (this.isolation === "bubblewrap" ? signalOf(code ?? 0) : undefined);
    const tail = this.#log.tail;
    const what = ended !== undefined
      ? `Plugin "${name}" crashed (${ended})`
      : `Plugin "${name}" ended its process unexpectedly (exit code ${code})`;
    return new AbiError(
      "crashed",
      tail === "" ? what : `${what}: ${lastLine(tail)}`,
      {
        plugin: name,
        fix: `run "bulkhead abi verify" on it, or ask its author`,
        ...ended === undefined ? {} : { signal: ended },
        ...ended === undefined && code !== null ? { exitCode: code } : {},
        stderrTail: tail,
      },
    );
  }

  /** The end of this child: everybody who waits is told, then it is cleared away. */
  #die(error: AbiError): void {
    if (this.#death !== undefined) return;
    clearTimeout(this.#watchdog);
    this.#fail(error);
    this.#process.kill("SIGKILL");
    this.#options.onDeath(this, error);
  }

  #fail(error: AbiError): void {
    this.#death ??= error;
    this.#loaded.reject(error);
    const pending = [...this.#pending.values()];
    this.#pending.clear();
    for (const { reject } of pending) reject(error);
  }

  async #collect(stream: ReadableStream<Uint8Array>): Promise<void> {
    const reader = stream.getReader();
    this.#readers.push(reader);
    try {
      while (true) {
        const { value, done } = await reader.read();
        if (done) break;
        this.#log.push(value);
      }
    } catch {
      // The pipe broke with the process.
    }
    this.#log.end();
  }
}

async function within(promise: Promise<unknown>, ms: number): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const timeout = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([promise, timeout]);
  clearTimeout(timer);
}

function lastLine(text: string): string {
  return (text.split("\n").at(-1) ?? "").slice(0, 200);
}
