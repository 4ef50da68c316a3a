import {
  denoEntry,
  denoFlags,
  ensurePrivateDir,
  inheritedEnvironment,
  run,
} from "@bulkhead/sandbox";
import { normalizePath } from "@bulkhead/sandbox/paths";
import { resolveArguments, scriptIndex } from "./_arguments.ts";
import { DENO_CHILD_ENV, fileUrl, graphProblem } from "./_deno_graph.ts";
import {
  grantedPath,
  grantedPolicy,
  type PluginPolicy,
  writablePath,
} from "./_grants.ts";
import { expand, type Placeholders } from "./_placeholders.ts";
import type { ProgramSpec } from "./_program.ts";
import type { PluginHost } from "./_plugin_host.ts";
import { quote } from "./_text.ts";

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
  /** Why it will fail when it is run, as far as the plugin's content tells. */
  readonly note: string | undefined;
  /** Why it cannot be started on this system, as far as a look at the PATH tells. */
  readonly notHere: string | undefined;

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
    this.note = refusal ?? grantNote(host, spec, values) ??
      failureNote(host, spec, argv);
    this.notHere = this.note === undefined
      ? notHere(host, spec, argv)
      : undefined;
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
    const policy = grantedPolicy(host, this.#spec, this.#values);
    const { argv, env } = isDeno
      ? await this.#denoArgv(policy)
      : { argv: this.#argv, env: {} };
    const settings = {
      cwd: options.cwd,
      env: {
        ...inheritedEnvironment(this.#spec.env),
        ...host.path === undefined ? {} : { PATH: host.path.value },
        ...env,
        ...this.#values,
        PYTHONDONTWRITEBYTECODE: "1",
      },
      stdin: options.stdin,
      maxBytes: OUTPUT_MAX_BYTES,
      timeoutMs: options.timeoutMs,
      // Without a permission a module reads nothing of the system, also not through a link or an import.
      isolation: {
        policy: { ...policy, accounts: !isDeno },
        level: host.sandbox,
      },
      ...(options.signal === undefined ? {} : { signal: options.signal }),
      ...(options.onStdout === undefined ? {} : { onStdout: options.onStdout }),
    };
    // Last before the start, and again after the end: what was swapped in between, even for a moment, shows.
    const before = await host.verify();
    const result = await run(argv, settings);
    if (await host.verify() !== before) throw host.touched();
    return result;
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
      read: permissions?.read.map((path) =>
        grantedPath(path, host, this.#values)
      ) ?? [],
      write: permissions?.write.map((path) =>
        writablePath(path, host, this.#values)
      ) ?? [],
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

/** Why what the program asks for cannot be granted; asked again whenever it runs. */
function grantNote(
  host: PluginHost,
  spec: ProgramSpec,
  values: Placeholders,
): string | undefined {
  if (spec.permissions === undefined) return undefined;
  try {
    grantedPolicy(host, spec, values);
  } catch (error) {
    if (error instanceof TypeError) return error.message;
    // Who may not look here is told when it runs.
    if (!(error instanceof Deno.errors.NotCapable)) throw error;
  }
  return undefined;
}

/** Why a program will fail, as far as the plugin's content tells. */
function failureNote(
  host: PluginHost,
  spec: ProgramSpec,
  argv: readonly string[],
): string | undefined {
  const script = scriptIndex(argv);
  const isCommand = spec.program.kind === "command";
  for (const index of script > 0 ? [0, script] : [0]) {
    const path = argv[index] ?? "";
    if (!path.startsWith(`${host.dir}/`)) continue;
    const inner = normalizePath(path.slice(host.dir.length + 1));
    if (host.paths.get(inner) !== true) {
      return `there is no file ${quote(inner)} in the plugin`;
    }
    if (index === 0 && isCommand && !host.startable.has(inner)) {
      return `${quote(inner)} is not executable; chmod +x it`;
    }
  }
  return undefined;
}

/** Why a command cannot be started on this system. */
function notHere(
  host: PluginHost,
  spec: ProgramSpec,
  argv: readonly string[],
): string | undefined {
  return spec.program.kind === "deno"
    ? undefined
    : host.path?.problem(argv[0] ?? "", host.dir);
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
  if (made.has(dir) && isDirectory(dir)) return;
  await ensurePrivateDir(dir);
  made.add(dir);
}

function isDirectory(path: string): boolean {
  try {
    return Deno.statSync(path).isDirectory;
  } catch {
    return false;
  }
}
