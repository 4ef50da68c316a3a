import {
  bubblewrapArgv,
  bubblewrapFix,
  findBubblewrap,
} from "./isolation/bubblewrap.ts";
import { isolationPaths } from "./isolation/profile.ts";
import { landlockArgv, probeLandlock } from "./isolation/landlock.ts";
import { requirePermissions } from "./permissions.ts";

/** What confines a process; `none` when nothing does. */
export type IsolationBackend = "bubblewrap" | "landlock" | "none";

/**
 * How much confinement is asked for: `required` refuses when there is none,
 * `preferred` goes on without and says so, `off` does not look.
 */
export type IsolationLevel = "required" | "preferred" | "off";

/**
 * What a confined process may touch. Everything else is absent or refused, system
 * programs and libraries excepted, which can be read.
 */
export interface IsolationPolicy {
  /** Absolute paths that it may read. */
  read?: readonly string[];
  /** Absolute paths that it may read and write. */
  write?: readonly string[];
  /**
   * Network access. A list of hosts switches the network on as a whole: no backend
   * filters by host, and the notice says so.
   *
   * @default {false}
   */
  net?: boolean | readonly string[];
  /**
   * Unix sockets below the paths above, for a child that talks to us.
   *
   * @default {false}
   */
  unixSockets?: boolean;
  /**
   * The accounts of the system, `/etc/passwd` and `/etc/group`. Most programs ask for the name of their user; Deno
   * does not.
   *
   * @default {true}
   */
  accounts?: boolean;
}

/** Options of {@linkcode isolate}. */
export interface IsolationOptions {
  /** What it may touch. */
  policy: IsolationPolicy;
  /**
   * What to do when no backend works.
   *
   * @default {"required"}
   */
  level?: IsolationLevel;
}

/** Options of {@linkcode isolate} with where and in what the program runs. */
export interface IsolateOptions extends IsolationOptions {
  /** The program's working directory. */
  cwd: string;
  /** The program's environment. */
  env: Readonly<Record<string, string>>;
}

/** A command line that runs confined. */
export interface Isolated {
  /** The command line to start instead. */
  argv: string[];
  /** What confines it. */
  backend: IsolationBackend;
  /** Variables to set on top of the program's environment. */
  env: Record<string, string>;
  /** What is not in force, in one line. */
  notice?: string;
  /** Removes what was made for this one call. */
  dispose(): Promise<void>;
}

/**
 * No confinement is to be had and `required` was asked for.
 *
 * @example Usage
 * ```ts
 * import { IsolationUnavailableError } from "@bulkhead/sandbox";
 * import { assertEquals } from "@std/assert";
 *
 * const error = new IsolationUnavailableError("no bwrap", "apt-get install bubblewrap");
 * assertEquals(error.fix, "apt-get install bubblewrap");
 * ```
 */
export class IsolationUnavailableError extends Error {
  /** The command that mends it. */
  readonly fix: string;

  /**
   * Creates the error.
   *
   * @param detail What was found.
   * @param fix The command that mends it.
   */
  constructor(detail: string, fix: string) {
    super(`Cannot confine the process: ${detail}; run: ${fix}`);
    this.name = "IsolationUnavailableError";
    this.fix = fix;
  }
}

/** What this system can confine with. */
export interface IsolationProbe {
  /** The backend that will be used. */
  backend: IsolationBackend;
  /** Why, in one line. */
  detail: string;
  /** The command that would make a better backend available. */
  fix?: string;
}

/** One probe per PATH: the search for bwrap depends on it. */
const probes = new Map<string, Promise<IsolationProbe & { bwrap?: string }>>();

/**
 * Finds out what this system can confine with, once per process and PATH.
 *
 * Needs `--allow-run`, `--allow-read` and `--allow-env=PATH`.
 *
 * @returns The backend and why.
 * @throws {PermissionRequiredError} When a grant is missing.
 *
 * @example Usage
 * ```ts
 * import { probeIsolation } from "@bulkhead/sandbox";
 * import { assert } from "@std/assert";
 *
 * const probe = await probeIsolation();
 * assert(["bubblewrap", "landlock", "none"].includes(probe.backend));
 * ```
 */
export async function probeIsolation(): Promise<IsolationProbe> {
  const { backend, detail, fix } = await cachedProbe();
  return { backend, detail, ...fix === undefined ? {} : { fix } };
}

function cachedProbe(): Promise<IsolationProbe & { bwrap?: string }> {
  requirePermissions("Confining a process", [
    { name: "run" },
    { name: "read" },
    { name: "env", variable: "PATH" },
  ]);
  const path = Deno.env.get("PATH") ?? "";
  let found = probes.get(path);
  if (!found) {
    found = probe(path);
    probes.set(path, found);
  }
  return found;
}

async function probe(
  path: string,
): Promise<IsolationProbe & { bwrap?: string }> {
  if (Deno.build.os !== "linux") {
    return {
      backend: "none",
      detail: `there is no backend for ${Deno.build.os} yet`,
      fix: 'set sandbox = "off" in config.toml, or run on Linux',
    };
  }
  const bubblewrap = await findBubblewrap(path);
  if (bubblewrap.works) {
    return {
      backend: "bubblewrap",
      detail: bubblewrap.detail,
      bwrap: bubblewrap.program,
    };
  }
  const fix = bubblewrapFix(bubblewrap);
  const landlock = await probeLandlock();
  return landlock.works
    ? {
      backend: "landlock",
      detail: `${bubblewrap.detail}; using ${landlock.detail}`,
      fix,
    }
    : {
      backend: "none",
      detail: `${bubblewrap.detail}, and ${landlock.detail}`,
      fix,
    };
}

/**
 * Wraps a command line so that it runs confined: bubblewrap, else Landlock, else a
 * refusal or, when confinement is only preferred, a notice.
 *
 * Needs `--allow-run`, `--allow-read` and `--allow-env`; without bubblewrap also
 * `--allow-write` of the temp directory.
 *
 * @param argv The program and its arguments.
 * @param options Policy, level, directory, environment.
 * @returns The command line to start instead.
 * @throws {IsolationUnavailableError} When it is required and cannot be had.
 * @throws {TypeError} For a relative path in the policy.
 *
 * @example Usage
 * ```ts
 * import { isolate } from "@bulkhead/sandbox";
 * import { assertEquals } from "@std/assert";
 *
 * const options = { policy: {}, level: "off" as const, cwd: "/", env: {} };
 * const isolated = await isolate(["true"], options);
 * assertEquals(isolated.argv, ["true"]);
 * ```
 */
export async function isolate(
  argv: readonly string[],
  options: IsolateOptions,
): Promise<Isolated> {
  const level = options.level ?? "required";
  const dispose = (): Promise<void> => Promise.resolve();
  if (level === "off") {
    return { argv: [...argv], backend: "none", env: {}, dispose };
  }
  const { policy } = options;
  for (const path of [...policy.read ?? [], ...policy.write ?? []]) {
    if (!path.startsWith("/")) {
      throw new TypeError(
        `Cannot confine "${argv[0]}": the path "${path}" is not absolute`,
      );
    }
  }
  const found = await cachedProbe();
  if (found.backend === "none") {
    if (level === "required") {
      throw new IsolationUnavailableError(found.detail, found.fix ?? "");
    }
    return {
      argv: [...argv],
      backend: "none",
      env: {},
      notice: `not confined: ${found.detail}; run: ${found.fix}`,
      dispose,
    };
  }
  const paths = isolationPaths(argv, options);
  const notice = Array.isArray(policy.net) && policy.net.length > 0
    ? `network is on as a whole: ${found.backend} does not filter by host (${
      policy.net.join(", ")
    })`
    : undefined;
  const isolated = found.backend === "bubblewrap"
    ? {
      argv: bubblewrapArgv(found.bwrap ?? "bwrap", argv, paths),
      // A private /tmp is all the temporary space there is inside.
      env: { TMPDIR: "/tmp" },
      dispose,
    }
    : await landlockArgv(argv, paths);
  return {
    ...isolated,
    backend: found.backend,
    ...notice === undefined ? {} : { notice },
  };
}
