/**
 * A host for the scripted agent in tests: starts it, sends lines, waits for
 * frames.
 *
 * @module
 */
import { type AgentScript, scriptedAgentEntry } from "@bulkhead/worker";
import { TextLineStream } from "@std/streams";

/** A JSON object from or to the agent. */
export type Json = Record<string, unknown>;

/** What a host starts with. */
export interface HostOptions {
  /** The script, without its schema. */
  script: Omit<AgentScript, "schema">;
  /** Further arguments. */
  args?: string[];
  /** Further environment. */
  env?: Record<string, string>;
  /** A directory to use again; a new one by default. */
  dir?: string;
}

/** What a host starts a stream-json agent with, but for `--verbose`. */
export const STREAM_JSON_ARGS: readonly string[] = [
  "-p",
  "--input-format",
  "stream-json",
  "--output-format",
  "stream-json",
  "--include-partial-messages",
  "--replay-user-messages",
  "--permission-prompt-tool",
  "stdio",
  "--setting-sources",
  "user",
];

/** A running scripted agent. */
export class ScriptedHost implements AsyncDisposable {
  /** Every frame so far; lines that are no JSON are strings. */
  readonly frames: (Json | string)[] = [];
  /** The directory that holds everything of this run. */
  readonly dir: string;
  /** The agent's working directory. */
  readonly cwd: string;
  /** Answers requests that no test waits for; returns the inner response. */
  answer: ((request: Json, id: string) => Json | undefined) | undefined;
  readonly child: Deno.ChildProcess;
  readonly #writer: WritableStreamDefaultWriter<Uint8Array>;
  readonly #reading: Promise<void>;
  readonly #errors: Promise<string>;
  readonly #keep: boolean;
  #grown = Promise.withResolvers<void>();
  #at = 0;

  private constructor(dir: string, child: Deno.ChildProcess, keep: boolean) {
    this.dir = dir;
    this.cwd = `${dir}/ws`;
    this.child = child;
    this.#keep = keep;
    this.#writer = child.stdin.getWriter();
    this.#writer.closed.catch(() => {});
    this.#errors = new Response(child.stderr).text();
    this.#reading = this.#read();
  }

  /** Starts the agent. */
  static async start(options: HostOptions): Promise<ScriptedHost> {
    const dir = options.dir ?? await Deno.realPath(await Deno.makeTempDir());
    await Deno.mkdir(`${dir}/ws`, { recursive: true });
    await Deno.writeTextFile(
      `${dir}/script.json`,
      JSON.stringify({ schema: 1, ...options.script }),
    );
    const entry = scriptedAgentEntry([
      ...STREAM_JSON_ARGS,
      "--verbose",
      "--sessions",
      `${dir}/sessions`,
      "--script",
      `${dir}/script.json`,
      ...options.args ?? [],
    ]);
    const child = new Deno.Command(entry.argv[0] ?? "", {
      args: entry.argv.slice(1),
      cwd: `${dir}/ws`,
      clearEnv: true,
      env: {
        ...entry.env,
        HOME: dir,
        PATH: Deno.env.get("PATH") ?? "",
        CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS: "1",
        ...options.env,
      },
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    return new ScriptedHost(dir, child, options.dir !== undefined);
  }

  /** Sends one JSON line. */
  async send(line: unknown): Promise<void> {
    await this.sendText(JSON.stringify(line) + "\n");
  }

  /** Sends bytes as they are. */
  async sendText(text: string): Promise<void> {
    await this.#writer.write(new TextEncoder().encode(text)).catch(() => {});
  }

  /** Sends a turn. */
  async turn(text: string, uuid?: string): Promise<void> {
    await this.send({
      type: "user",
      message: { role: "user", content: [{ type: "text", text }] },
      ...(uuid === undefined ? {} : { uuid }),
    });
  }

  /** Registers the gate and waits for the answer. */
  async initialize(extra: Json = {}): Promise<Json> {
    await this.send({
      type: "control_request",
      request_id: "init-1",
      request: {
        subtype: "initialize",
        hooks: {
          PreToolUse: [{
            matcher: null,
            hookCallbackIds: ["gate"],
            timeout: 30,
          }],
        },
        ...extra,
      },
    });
    return await this.next((f) => f.type === "control_response");
  }

  /** Answers a request of the agent. */
  async respond(id: unknown, response: Json): Promise<void> {
    await this.send({
      type: "control_response",
      response: { subtype: "success", request_id: id, response },
    });
  }

  /** The next frame that fits, counted from the last one found. */
  async next(
    fits: (frame: Json) => boolean,
    what = String(fits),
  ): Promise<Json> {
    for (;;) {
      while (this.#at < this.frames.length) {
        const frame = this.frames[this.#at++];
        if (typeof frame === "object" && fits(frame)) return frame;
      }
      const grew = this.#grown.promise;
      const ended = await Promise.race([
        grew,
        this.#reading.then(() => "ended"),
      ]);
      if (ended && this.#at >= this.frames.length) {
        throw new Error(
          `The agent ended before ${what}: ${await this.#errors}`,
        );
      }
    }
  }

  /** The next `result`. */
  async result(): Promise<Json> {
    return await this.next((f) => f.type === "result", "a result");
  }

  /** The next request of this subtype. */
  async request(subtype: string): Promise<Json> {
    return await this.next(
      (f) => (f.request as Json | undefined)?.subtype === subtype,
      subtype,
    );
  }

  /** Closes stdin and waits for the end. */
  async end(): Promise<
    { code: number; signal: string | null; stderr: string }
  > {
    await this.#writer.close().catch(() => {});
    return await this.ended();
  }

  /** Waits for the end. */
  async ended(): Promise<
    { code: number; signal: string | null; stderr: string }
  > {
    const { code, signal } = await this.child.status;
    await this.#reading;
    return { code, signal, stderr: await this.#errors };
  }

  /** Ends the agent and removes its directory. */
  async [Symbol.asyncDispose](): Promise<void> {
    try {
      this.child.kill("SIGKILL");
    } catch {
      // it has ended
    }
    await this.#writer.close().catch(() => {});
    await this.ended();
    if (!this.#keep) await Deno.remove(this.dir, { recursive: true });
  }

  async #read(): Promise<void> {
    const lines = this.child.stdout.pipeThrough(new TextDecoderStream())
      .pipeThrough(new TextLineStream());
    for await (const line of lines) {
      this.#take(line);
      this.#grown.resolve();
      this.#grown = Promise.withResolvers();
    }
    this.#grown.resolve();
  }

  #take(text: string): void {
    let frame: Json | string = text;
    try {
      frame = JSON.parse(text);
    } catch {
      // kept as text
    }
    this.frames.push(frame);
    if (typeof frame !== "object" || this.answer === undefined) return;
    if (frame.type !== "control_request") return;
    const inner = this.answer(frame.request as Json, String(frame.request_id));
    if (inner !== undefined) this.respond(frame.request_id, inner);
  }
}
