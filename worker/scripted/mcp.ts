/**
 * The agent's MCP client: stdio servers from `--mcp-config`, and `sdk` servers
 * that the host answers over the pipes (`mcp_message`).
 *
 * @module
 */
import {
  LineSplitter,
  type ManagedProcess,
  startProcess,
} from "@bulkhead/sandbox";
import { isJson, type Json } from "./output.ts";

/** Sends one JSON-RPC message to a server and gives its answer, `undefined` for a notification. */
type Send = (message: Json) => Promise<Json | undefined>;

/** One connected or failed server. */
export interface McpServer {
  /** Name from the configuration. */
  name: string;
  /** Whether it answered `initialize` and `tools/list`. */
  status: "connected" | "failed";
  /** The names of its tools. */
  tools: string[];
}

interface Connection extends McpServer {
  send: Send;
  process?: ManagedProcess;
}

const PROTOCOL = "2025-11-25";
const START_MS = 30_000;
const CALL_MS = 600_000;

/** All MCP servers of a session. */
export class McpServers {
  readonly #servers: Connection[] = [];
  #nextId = 0;

  /** Name, status and tools of every server. */
  get list(): McpServer[] {
    return this.#servers.map(({ name, status, tools }) => ({
      name,
      status,
      tools,
    }));
  }

  /** The tool names as the model sees them. */
  get toolNames(): string[] {
    return this.#servers.flatMap((s) =>
      s.tools.map((t) => `mcp__${s.name}__${t}`)
    );
  }

  /** Connects every server of these configurations; a failed one has no tools. */
  async connect(
    configs: readonly Json[],
    hostSend: (server: string, message: Json) => Promise<Json | undefined>,
    sdkServers: readonly string[],
  ): Promise<void> {
    const entries = new Map<string, Json>();
    for (const config of configs) {
      const servers = config.mcpServers;
      if (!isJson(servers)) continue;
      for (const [name, entry] of Object.entries(servers)) {
        if (isJson(entry)) entries.set(name, entry);
      }
    }
    for (const name of sdkServers) {
      if (!entries.has(name)) entries.set(name, { type: "sdk" });
    }
    await Promise.all(
      [...entries].map(([name, entry]) => this.#open(name, entry, hostSend)),
    );
  }

  async #open(
    name: string,
    entry: Json,
    hostSend: (server: string, message: Json) => Promise<Json | undefined>,
  ): Promise<void> {
    const server: Connection = {
      name,
      status: "failed",
      tools: [],
      send: () => Promise.reject(new Error("not connected")),
    };
    this.#servers.push(server);
    try {
      if (entry.type === "sdk") {
        server.send = (message) => hostSend(name, message);
      } else await startStdio(server, entry);
      const hello = await this.#request(server, "initialize", {
        protocolVersion: PROTOCOL,
        capabilities: {},
        clientInfo: { name: "scripted-agent", version: "1" },
      }, START_MS);
      if (hello === undefined) throw new Error("no answer to initialize");
      await server.send({
        jsonrpc: "2.0",
        method: "notifications/initialized",
      });
      const answer = await this.#request(server, "tools/list", {}, START_MS);
      const tools = Array.isArray(answer?.tools) ? answer.tools : [];
      server.tools = tools.flatMap((tool: unknown) => {
        const name = isJson(tool) ? tool.name : undefined;
        return typeof name === "string" ? [name] : [];
      });
      server.status = "connected";
    } catch {
      server.status = "failed";
    }
  }

  /** Calls `mcp__server__tool`; `undefined` when there is no such tool. */
  call(
    fullName: string,
    args: Json,
    toolUseId: string,
  ): Promise<Json> | undefined {
    for (const server of this.#servers) {
      const prefix = `mcp__${server.name}__`;
      if (!fullName.startsWith(prefix)) continue;
      const name = fullName.slice(prefix.length);
      if (!server.tools.includes(name)) continue;
      return this.#request(server, "tools/call", {
        name,
        arguments: args,
        _meta: { "claudecode/toolUseId": toolUseId },
      }, CALL_MS);
    }
    return undefined;
  }

  /** Ends every stdio server. */
  async close(): Promise<void> {
    await Promise.all(
      this.#servers.map((s) => s.process?.end({ eofMs: 500, termMs: 500 })),
    );
  }

  async #request(
    server: Connection,
    method: string,
    params: Json,
    ms: number,
  ): Promise<Json> {
    const id = this.#nextId++;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(
        () =>
          reject(
            new Error(
              `MCP server "${server.name}" gave no answer to ${method}`,
            ),
          ),
        ms,
      );
    });
    try {
      const answer = await Promise.race([
        server.send({ jsonrpc: "2.0", id, method, params }),
        late,
      ]);
      const failure = answer?.error;
      if (isJson(failure)) {
        throw new Error(`MCP error ${failure.code}: ${failure.message}`);
      }
      const result = answer?.result;
      return isJson(result) ? result : {};
    } finally {
      clearTimeout(timer);
    }
  }
}

async function startStdio(server: Connection, entry: Json): Promise<void> {
  const command = String(entry.command ?? "");
  const args = Array.isArray(entry.args) ? entry.args.map(String) : [];
  const extra = isJson(entry.env) ? entry.env : {};
  const env: Record<string, string> = {};
  for (
    const [name, value] of Object.entries({ ...Deno.env.toObject(), ...extra })
  ) {
    if (!/^(LD_|DYLD_)/.test(name)) env[name] = String(value);
  }
  const child = await startProcess([command, ...args], { env, stderr: "null" });
  server.process = child;
  const waiting = new Map<number, (answer: Json) => void>();
  const failAll = () => {
    for (const [, resolve] of waiting) {
      resolve({ error: { code: -32000, message: "the server has ended" } });
    }
    waiting.clear();
  };
  (async () => {
    const splitter = new LineSplitter();
    for await (const chunk of child.stdout) {
      for (const line of splitter.push(chunk)) settle(waiting, line.bytes);
    }
  })().catch(() => {}).finally(failAll);
  const writer = child.stdin.getWriter();
  server.send = async (message) => {
    const line = new TextEncoder().encode(JSON.stringify(message) + "\n");
    const id = message.id;
    if (typeof id !== "number") {
      await writer.write(line);
      return undefined;
    }
    return await new Promise<Json>((resolve, reject) => {
      waiting.set(id, resolve);
      writer.write(line).catch(reject);
    });
  };
}

function settle(
  waiting: Map<number, (answer: Json) => void>,
  bytes: Uint8Array,
): void {
  try {
    const message: unknown = JSON.parse(new TextDecoder().decode(bytes));
    if (!isJson(message)) return;
    const { id } = message;
    if (typeof id !== "number") return;
    waiting.get(id)?.(message);
    waiting.delete(id);
  } catch {
    // A line that is no JSON is no answer.
  }
}
