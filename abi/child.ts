/**
 * The process that holds one native plugin: `child.ts SOCKET`. It does what the socket says and ends with it.
 *
 * Its module graph is small on purpose and it imports nothing by a bare name.
 *
 * @module
 */

import { AbiError, reasonOf } from "./errors.ts";
import { Engine } from "./engine.ts";
import type { DispatchMode, EngineLimits, InvokeKind } from "./engine_types.ts";
import { ACTION_DROPPED } from "./codes.ts";
import { isObject } from "./json.ts";
import { cString, decodeText, encodeText, libc } from "./memory.ts";
import { FrameConnection, type Head, PROTOCOL, unpackTexts } from "./rpc.ts";
import type { ActionAnswer } from "./action_worker.ts";

/**
 * The permission flags of the child; `{socket}` stands for the socket's path. Native code needs none of them: they are
 * for the few lines of TypeScript that hold it.
 */
export const CHILD_FLAGS: readonly string[] = [
  "--allow-ffi",
  "--allow-read={socket}",
  "--allow-write={socket}",
  "--allow-net=unix:{socket}",
];

/** Updates that may wait for a slow host, per call. */
const MAX_WAITING_UPDATES = 256;
/** Bytes on their way to the host beyond which updates wait. */
const BUSY_BYTES = 262_144;

class Child {
  readonly #out: FrameConnection;
  readonly #aborts = new Map<number, AbortController>();
  readonly #waiting = new Map<number, string[]>();
  readonly #answers = new Map<number, (answer: ActionAnswer) => void>();
  #engine: Engine | undefined;
  #nextAction = 1;

  constructor(out: FrameConnection) {
    this.#out = out;
    out.onDrain = () => {
      for (const id of [...this.#waiting.keys()]) this.#flushUpdates(id);
    };
  }

  handle(head: Head, body: Uint8Array): void {
    const id = head.id ?? 0;
    switch (head.t) {
      case "load":
        this.#load(head).catch((error) => this.#fail("failed", id, error));
        return;
      case "call":
        this.#call(id, head, body).catch((error) =>
          this.#fail("error", id, error)
        );
        return;
      case "cancel":
        this.#aborts.get(id)?.abort();
        return;
      case "invoke":
        this.#invoke(id, head, body).catch((error) =>
          this.#fail("error", id, error)
        );
        return;
      case "dispatch":
        this.#dispatch(id, head, body).catch((error) =>
          this.#fail("error", id, error)
        );
        return;
      case "answer":
        this.#answers.get(id)?.({
          rc: number(head.rc, ACTION_DROPPED),
          text: decodeText(body),
        });
        this.#answers.delete(id);
        return;
      case "session":
        if (typeof head.session === "string") {
          this.#engine?.setSession(head.session);
        }
        return;
      case "stats":
        this.#out.send(
          { t: "stats", id },
          encodeText(JSON.stringify(this.#engine?.stats() ?? null)),
        );
        return;
      case "ping":
        this.#out.send({ t: "pong", id });
        return;
      case "bye":
        Deno.exit(0);
    }
  }

  async #load(head: Head): Promise<void> {
    const { path, name, session, limits, accounting } = head;
    if (typeof path !== "string" || typeof name !== "string") {
      throw new TypeError("Cannot load a plugin: path or name is missing");
    }
    this.#engine = await Engine.load(path, {
      name,
      limits: readLimits(limits),
      accounting: accounting === true,
      keepAlive: true,
      ...typeof session === "string" ? { sessionId: session } : {},
      answer: (action, args) => this.#ask(action, args),
      onWedged: (what) => this.#out.send({ t: "wedged", what }),
    });
    this.#out.send(
      { t: "loaded" },
      encodeText(JSON.stringify(this.#engine.registration)),
    );
  }

  async #call(id: number, head: Head, body: Uint8Array): Promise<void> {
    const abort = new AbortController();
    this.#aborts.set(id, abort);
    try {
      const call = this.#loaded().call({
        tool: number(head.tool, -1),
        callId: typeof head.call === "string" ? head.call : "",
        args: new Uint8Array(body),
        signal: abort.signal,
        ...head.quiet === true
          ? {}
          : { onUpdate: (text) => this.#update(id, text) },
      });
      call.finished.catch(() => {
        // Reported through the outcome.
      });
      const { kind, text, cancelled, ignoredCancel } = await call.outcome;
      this.#flushUpdates(id);
      this.#out.send({
        t: "result",
        id,
        kind,
        cancelled,
        ignored: ignoredCancel,
      }, encodeText(text));
    } finally {
      this.#waiting.delete(id);
      this.#aborts.delete(id);
    }
  }

  #update(id: number, text: string): void {
    if (this.#out.queuedBytes < BUSY_BYTES && !this.#waiting.has(id)) {
      this.#out.send({ t: "update", id }, encodeText(text));
      return;
    }
    const waiting = this.#waiting.get(id) ?? [];
    waiting.push(text);
    // The newest ones win: progress is about now.
    if (waiting.length > MAX_WAITING_UPDATES) waiting.shift();
    this.#waiting.set(id, waiting);
  }

  #flushUpdates(id: number): void {
    const waiting = this.#waiting.get(id);
    if (waiting === undefined) return;
    this.#waiting.delete(id);
    for (const text of waiting) {
      this.#out.send({ t: "update", id }, encodeText(text));
    }
  }

  async #invoke(id: number, head: Head, body: Uint8Array): Promise<void> {
    const kind = KINDS.find((k) => k === head.kind);
    if (kind === undefined) {
      throw new TypeError(
        `Cannot call "${head.kind}": it is no kind of handler`,
      );
    }
    const inputs = unpackTexts(body, head.sizes);
    const timeoutMs = number(head.timeout, Infinity);
    const { rc, text } = await this.#loaded().handlers.invoke(
      kind,
      number(head.index, -1),
      inputs,
      timeoutMs,
    );
    this.#out.send({ t: "ran", id, rc }, encodeText(text));
  }

  async #dispatch(id: number, head: Head, body: Uint8Array): Promise<void> {
    const mode = MODES.find((m) => m === head.mode) ?? "observe";
    const outcome = await this.#loaded().handlers.dispatch(
      number(head.tag, 0),
      unpackTexts(body, head.sizes),
      head.isError === true,
      mode,
      number(head.budget, Infinity),
    );
    this.#out.send({ t: "dispatched", id, ...outcome });
  }

  #ask(action: number, args: string): Promise<ActionAnswer> {
    const id = this.#nextAction++;
    const answer = Promise.withResolvers<ActionAnswer>();
    this.#answers.set(id, answer.resolve);
    this.#out.send({ t: "action", id, action }, encodeText(args));
    return answer.promise;
  }

  #loaded(): Engine {
    if (this.#engine === undefined) {
      throw new TypeError("Cannot call a plugin: none is loaded");
    }
    return this.#engine;
  }

  #fail(t: string, id: number, error: unknown): void {
    const known = error instanceof AbiError ? error : undefined;
    const message = reasonOf(error);
    this.#out.send({
      t,
      id,
      code: known?.code ?? "protocol",
      message,
      fix: known?.fix,
      rc: known?.exitCode,
    });
  }
}

const KINDS: readonly InvokeKind[] = [
  "commands",
  "providers",
  "renderers",
  "discover",
  "beforeAgentStart",
  "oauth",
];
const MODES: readonly DispatchMode[] = ["observe", "lifecycle", "arbitrate"];

function number(value: unknown, otherwise: number): number {
  return typeof value === "number" ? value : otherwise;
}

function readLimits(value: unknown): Partial<EngineLimits> {
  if (!isObject(value)) return {};
  const limits: Partial<EngineLimits> = {};
  for (
    const key of [
      "cancelGraceMs",
      "stuckMs",
      "actionDeadlineMs",
      "maxResultBytes",
      "maxUpdateBytes",
    ] as const
  ) {
    const given = value[key];
    if (typeof given === "number") limits[key] = given;
  }
  return limits;
}

/** What the plugin prints goes to stderr and it reads nothing: constructors included, so before it is opened. */
function moveStreams(): void {
  const O_RDONLY = 0;
  const nothing = libc().open(cString("/dev/null"), O_RDONLY);
  if (nothing >= 0) libc().dup2(nothing, 0);
  libc().dup2(2, 1);
}

/** When memory runs out, the kernel is to take this process and not its host. Where this cannot be said it decides. */
function offerToDie(): void {
  const O_WRONLY = 1;
  const file = libc().open(cString("/proc/self/oom_score_adj"), O_WRONLY);
  if (file < 0) return;
  libc().write(file, encodeText("1000"), 4n);
  libc().close(file);
}

/**
 * Serves one plugin over a socket and ends the process with it.
 *
 * @param socket The socket's path.
 */
export async function serveChild(socket: string): Promise<never> {
  moveStreams();
  offerToDie();
  const conn = await Deno.connect({ transport: "unix", path: socket });
  const connection = new FrameConnection(conn);
  const child = new Child(connection);
  connection.send({ t: "hello", protocol: PROTOCOL });
  try {
    await connection.read((head, body) => child.handle(head, body));
  } catch {
    Deno.exit(3);
  }
  Deno.exit(0);
}

if (import.meta.main) await serveChild(Deno.args[0] ?? "");
