import {
  denoEntry,
  denoFlags,
  ensurePrivateDir,
  inheritedEnvironment,
  type IsolationPolicy,
  run,
} from "@bulkhead/sandbox";
import {
  isInside,
  joinPath,
  normalizePath,
  resolveTarget,
} from "@bulkhead/sandbox/paths";
import { type PluginPaths, resolveArguments } from "./_arguments.ts";
import { DENO_CHILD_ENV, fileUrl, graphProblem } from "./_deno_graph.ts";
import { expand, type Placeholders } from "./_placeholders.ts";
import type { ProgramSpec } from "./_program.ts";
import { quote } from "./_text.ts";
import type { SandboxLevel } from "./config.ts";

/** What the programs of one loaded plugin share. */
export interface PluginHost {
  /** The declared name. */
  readonly name: string;
  /** The real path of the directory. */
  readonly dir: string;
  /** The plugin's own writable directory. */
  readonly dataDir: string;
  /** The real path of the workspace. */
  readonly workspace: string;
  /** The trusted content. */
  readonly hash: string;
  /** What the directory holds. */
  readonly paths: PluginPaths;
  /** How programs are isolated. */
  readonly sandbox: SandboxLevel;
  /** What a command without `permissions` may do to the workspace. */
  readonly workspaceAccess: "read" | "write";
  /** Throws when the content is no longer the trusted one; the answer changes when somebody has touched it. */
  verify(): Promise<string>;
  /** The error for content that was touched while something of it ran. */
  touched(): Error;
}

/** One run of a program. */
export interface ProgramRun {
  /** What the program reads. */
  stdin: string;
  /** The working directory. */
  cwd: string;
  /** The deadline in milliseconds. */
  timeoutMs: number;
  /** Ends the run. */
  signal?: AbortSignal | undefined;
  /** Gets stdout as it comes. */
  onStdout?: ((chunk: Uint8Array) => void) | undefined;
}

/** How one run of a program ended and what it said. */
export interface ProgramResult {
  /** The exit code; `null` when a signal ended it or nothing was started. */
  code: number | null;
  /** The signal that ended it, if one did. */
  signal: string | null;
  /** True for exit code 0 within the time. */
  success: boolean;
  /** True when the deadline ended it. */
  timedOut: boolean;
  /** True when the abort signal ended it. */
  aborted: boolean;
  /** What it wrote to stdout, cut at the cap. */
  stdout: string;
  /** What it wrote to stderr, cut at the cap. */
  stderr: string;
  /** Which of the two were cut. */
  truncated: { stdout: boolean; stderr: boolean };
  /** Wall time in milliseconds. */
  durationMs: number;
  /** What confined it. */
  isolation: "bubblewrap" | "landlock" | "none";
}

/** The bytes that are kept of stdout and, separately, of stderr. */
export const OUTPUT_MAX_BYTES = 1_048_576;

/** A program of a plugin with everything about it settled that the manifest and the directory settle. */
export class PluginProgram {
  readonly #host: PluginHost;
  readonly #spec: ProgramSpec;
  readonly #values: Placeholders;
  readonly #argv: readonly string[];
  /** Why it is refused whenever it is run. */
  readonly #refusal: string | undefined;
  /** Why it will fail when it is run, as far as that is known before. */
  readonly note: string | undefined;

  private constructor(
    host: PluginHost,
    spec: ProgramSpec,
    values: Placeholders,
    argv: readonly string[],
    refusal?: string,
  ) {
    this.#host = host;
    this.#spec = spec;
    this.#values = values;
    this.#argv = argv;
    this.#refusal = refusal;
    const [path = ""] = argv;
    const inner = path.startsWith(`${host.dir}/`)
      ? path.slice(host.dir.length + 1)
      : undefined;
    this.note = inner !== undefined && host.paths.get(inner) !== true
      ? `there is no file ${quote(inner)} in the plugin`
      : refusal;
  }

  /** Settles a program; a text says why it cannot be run. */
  static prepare(host: PluginHost, spec: ProgramSpec): PluginProgram | string {
    const values: Placeholders = {
      PLUGIN_DIR: host.dir,
      PLUGIN_DATA_DIR: host.dataDir,
      WORKSPACE_DIR: host.workspace,
    };
    const { program } = spec;
    if (program.kind === "deno") {
      const path = normalizePath(program.module);
      if (host.paths.get(path) !== true) {
        return `module ${quote(program.module)} is not a file of the plugin`;
      }
      // Deno's own words start before the module, the plugin's come after it: none can become a flag.
      const args = program.args.map((argument) => expand(argument, values));
      return new PluginProgram(host, spec, values, [
        `${host.dir}/${path}`,
        ...args,
      ]);
    }
    const command = resolveCommand(expand(program.command, values), host);
    if ("problem" in command) return command.problem;
    const argv = [
      command.path,
      ...program.args.map((argument) => expand(argument, values)),
    ];
    const { args, problem } = resolveArguments(argv, host);
    return new PluginProgram(
      host,
      spec,
      values,
      [command.path, ...args],
      problem,
    );
  }

  /** The command for messages: as declared. */
  get command(): string {
    const { program } = this.#spec;
    return program.kind === "deno" ? program.module : program.command;
  }

  /**
   * Runs the program once, when the plugin's content is the trusted one before and after.
   *
   * @throws {UntrustedError} If it is not.
   * @throws {TypeError} If what it asks for cannot be granted.
   */
  async run(options: ProgramRun): Promise<ProgramResult> {
    const host = this.#host;
    if (this.#refusal !== undefined) throw new TypeError(this.#refusal);
    const isDeno = this.#spec.program.kind === "deno";
    // The look at the imports must see trusted content.
    if (isDeno) await host.verify();
    await ensureOnce(host.dataDir);
    const policy = this.#policy();
    const { argv, env } = isDeno
      ? await this.#denoArgv(policy)
      : { argv: this.#argv, env: {} };
    const settings = {
      cwd: options.cwd,
      env: {
        ...inheritedEnvironment(this.#spec.env),
        ...env,
        ...this.#values,
        PYTHONDONTWRITEBYTECODE: "1",
      },
      stdin: options.stdin,
      maxBytes: OUTPUT_MAX_BYTES,
      timeoutMs: options.timeoutMs,
      isolation: { policy, level: host.sandbox },
      ...(options.signal === undefined ? {} : { signal: options.signal }),
      ...(options.onStdout === undefined ? {} : { onStdout: options.onStdout }),
    };
    // Last before the start, and again after the end: what was swapped in between, even for a moment, shows.
    const before = await host.verify();
    const result = await run(argv, settings);
    if (await host.verify() !== before) throw host.touched();
    return result;
  }

  #policy(): PluginPolicy {
    const host = this.#host;
    const { permissions, program } = this.#spec;
    if (permissions === undefined) {
      const workspace = program.kind === "deno" ? [] : [host.workspace];
      return host.workspaceAccess === "write"
        ? {
          read: [host.dir],
          write: [host.dataDir, ...workspace],
          net: [],
        }
        : { read: [host.dir, ...workspace], write: [host.dataDir], net: [] };
    }
    const write = [
      host.dataDir,
      ...permissions.write.map((path) => this.#path(path)),
    ];
    // What lies in a writable directory is granted with it. By itself it must not be granted: the plugin could have put
    // a link there, which would then be followed out of the directory.
    const covered = (path: string): boolean =>
      write.some((root) => root !== path && isInside(path, root));
    return {
      read: [
        host.dir,
        ...permissions.read.map((path) => this.#path(path)).filter((path) =>
          !covered(path)
        ),
      ],
      write: write.filter((path) => !covered(path)),
      net: permissions.net,
    };
  }

  /** A path of the manifest as an absolute one. A link in the workspace or the plugin must not widen it. */
  #path(raw: string): string {
    const path = normalizePath(
      joinPath(this.#host.dir, expand(raw, this.#values)),
    );
    const { workspace, dir, dataDir } = this.#host;
    for (const root of [workspace, dir, dataDir]) {
      if (!isInside(path, root)) continue;
      const real = resolveTarget(path, root);
      if (isInside(real, root)) return real;
      throw new TypeError(
        `Cannot grant ${quote(raw)}: ${
          quote(path, 1000)
        } is or holds a link that leads outside ${quote(root, 1000)}`,
      );
    }
    return path;
  }

  async #denoArgv(
    policy: PluginPolicy,
  ): Promise<{ argv: string[]; env: Record<string, string> }> {
    const host = this.#host;
    const [module = "", ...args] = this.#argv;
    const problem = await graphProblem(module, host);
    if (problem !== undefined) {
      throw new TypeError(`Cannot run ${quote(this.command)}: it ${problem}`);
    }
    const { permissions } = this.#spec;
    const flags = denoFlags({
      read: permissions?.read.map((path) => this.#path(path)) ?? [],
      write: permissions?.write.map((path) => this.#path(path)) ?? [],
      net: permissions?.net ?? [],
      env: [
        "PLUGIN_DIR",
        "PLUGIN_DATA_DIR",
        "WORKSPACE_DIR",
        ...this.#spec.env,
      ],
    });
    const entry = denoEntry(fileUrl(module), {
      permissions: flags,
      args,
      config: false,
      flags: ["--no-remote", "--no-npm"],
    });
    policy.read.push(...entry.readable);
    return { argv: entry.argv, env: { ...entry.env, ...DENO_CHILD_ENV } };
  }
}

/** A policy under construction. */
interface PluginPolicy extends IsolationPolicy {
  read: string[];
  write: string[];
  net: string[];
}

function resolveCommand(
  command: string,
  host: PluginHost,
): { path: string } | { problem: string } {
  if (!command.includes("/") || command.startsWith("/")) {
    return { path: command };
  }
  const path = normalizePath(command);
  if (path === ".." || path.startsWith("../")) {
    return { problem: `command ${quote(command)} is outside the plugin` };
  }
  return { path: `${host.dir}/${path}` };
}

const made = new Set<string>();

/** Makes the data directory the first time it is needed, and again when somebody removed it. */
async function ensureOnce(dir: string): Promise<void> {
  if (made.has(dir) && exists(dir)) return;
  await ensurePrivateDir(dir);
  made.add(dir);
}

function exists(path: string): boolean {
  try {
    return Deno.statSync(path).isDirectory;
  } catch {
    return false;
  }
}
