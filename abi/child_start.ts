/**
 * Starts the process of a plugin: its socket's directory, its environment, the files it may see.
 *
 * @module
 */

import {
  denoEntry,
  inheritedEnvironment,
  type IsolationLevel,
  type IsolationPolicy,
  type ManagedProcess,
  startProcess,
  temporaryDirectory,
} from "@bulkhead/sandbox";
import type { ActionAnswer } from "./action_worker.ts";
// Imported for its flags; it also has the child's own code in the cache before a confined child, which may not write
// there, looks for it.
import { CHILD_FLAGS } from "./child.ts";
import type { ChildPort } from "./child_port.ts";
import type { EngineLimits } from "./engine_types.ts";
import type { AbiError } from "./errors.ts";
import { SESSION_ID_ENV, SUBAGENT_PARENT_ENV } from "./codes.ts";
import type { LibraryReport } from "./preflight.ts";

/** How a child is started. */
export interface ChildOptions {
  /** The inspected library. */
  readonly report: LibraryReport;
  /** The plugin's name. */
  readonly name: string;
  /** Limits that differ from the defaults. */
  readonly limits: EngineLimits;
  /** How much confinement is asked for. */
  readonly isolation: IsolationLevel;
  /** What it may touch besides its own files. */
  readonly permissions: IsolationPolicy;
  /** Variables on top of the short list every child gets. */
  readonly env: Readonly<Record<string, string>>;
  /** Its working directory. */
  readonly cwd: string;
  /** The session. */
  readonly sessionId?: string;
  /** How long it may take from start to registered. */
  readonly startTimeoutMs: number;
  /** Counts host strings, slowly. */
  readonly accounting: boolean;
  /** Answers its actions. */
  readonly answer: (action: number, args: string) => Promise<ActionAnswer>;
  /** Gets what it prints. */
  readonly onOutput?: (line: string) => void;
  /** Learns once that it is gone without having been closed. */
  readonly onDeath: (port: ChildPort, error: AbiError) => void;
}

/**
 * Starts the process; it connects to the socket by itself.
 *
 * @param socket The socket's path.
 * @param options The library and its surroundings.
 * @returns The process.
 */
export async function startChild(
  socket: string,
  options: ChildOptions,
): Promise<ManagedProcess> {
  const entry = denoEntry(new URL("./child.ts", import.meta.url), {
    permissions: CHILD_FLAGS.map((flag) => flag.replace("{socket}", socket)),
    args: [socket],
    config: false,
    ...options.accounting ? { flags: ["--v8-flags=--expose-gc"] } : {},
  });
  const own = decodeURIComponent(new URL(".", import.meta.url).pathname);
  return await startProcess(entry.argv, {
    cwd: options.cwd,
    env: childEnvironment(entry.env, options),
    isolation: {
      level: options.isolation,
      policy: {
        ...options.permissions,
        read: [
          ...entry.readable,
          ...import.meta.url.startsWith("file:") ? [own] : [],
          ...await ownFiles(options.report),
          ...options.permissions.read ?? [],
        ],
        write: [
          socket.slice(0, socket.lastIndexOf("/")),
          ...options.permissions.write ?? [],
        ],
        unixSockets: true,
      },
    },
  });
}

/** A private directory whose name fits into a socket's path and a permission flag. */
export async function socketDir(): Promise<string> {
  // A unix socket's path has at most 107 bytes, 103 on macOS.
  return await temporaryDirectory({ prefix: "bulkhead-abi-", maxBytes: 100 });
}

function childEnvironment(
  entry: Readonly<Record<string, string>>,
  options: ChildOptions,
): Record<string, string> {
  const inherited = inheritedEnvironment();
  for (const name of SUBAGENT_PARENT_ENV) delete inherited[name];
  const env: Record<string, string> = {
    // Deno asks for back traces, which push the message of a panic out of sight.
    RUST_BACKTRACE: "0",
    ...inherited,
    ...options.env,
    ...entry,
  };
  delete env[SESSION_ID_ENV];
  if (options.sessionId !== undefined) env[SESSION_ID_ENV] = options.sessionId;
  return env;
}

/** The library and those it needs from its own directory; not the directory, which may be a home. */
async function ownFiles(report: LibraryReport): Promise<string[]> {
  const dir = report.path.slice(0, report.path.lastIndexOf("/"));
  const files = [report.path];
  for (const name of report.needs) {
    if (name.includes("/")) continue;
    try {
      const file = `${dir}/${name}`;
      const real = await Deno.realPath(file);
      files.push(file, real);
    } catch {
      // Not beside it: a library of the system.
    }
  }
  return files;
}
