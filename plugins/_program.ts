import type { Fields, KeyPath } from "./_fields.ts";
import { placeholderProblem } from "./_placeholders.ts";
import { quote } from "./_text.ts";

/** What a tool or hook runs: a command, or a TypeScript module under Deno's flags and the same OS sandbox. */
export type Program =
  | {
    /** A command with fixed arguments. */
    kind: "command";
    /** The command: looked up on PATH, or a path inside the plugin. */
    command: string;
    /** The fixed arguments. */
    args: string[];
  }
  | {
    /** A module of the plugin that Deno runs. */
    kind: "deno";
    /** The module's path inside the plugin. */
    module: string;
    /** The fixed arguments. */
    args: string[];
  };

/** What a tool or hook may reach. Paths may hold placeholders; relative ones lie in the plugin's directory. */
export interface Permissions {
  /** Files and directories to read. */
  read: string[];
  /** Files and directories to read and write. */
  write: string[];
  /** Hosts to reach. */
  net: string[];
}

/** What tools and hooks share. */
export interface ProgramSpec {
  /** What runs. */
  program: Program;
  /** The deadline of one run in milliseconds. */
  timeoutMs: number;
  /** The names taken from the host's environment. */
  env: string[];
  /** What it may reach; undefined when nothing is declared. */
  permissions?: Permissions;
}

/** The keys that tools and hooks share. */
export const PROGRAM_KEYS = [
  "command",
  "args",
  "runtime",
  "module",
  "timeout_ms",
  "env",
  "permissions",
] as const;

/** The deadline of one run when the manifest names none. */
const DEFAULT_TIMEOUT_MS = 30_000;

/** A day: longer deadlines are slips. */
const MAX_TIMEOUT_MS = 86_400_000;

/** Variables that make a loader or an interpreter run code of somebody else. */
const LOADER_VARIABLES =
  /^(LD_.*|DYLD_.*|NODE_OPTIONS|NODE_PATH|BASH_ENV|BASH_FUNC_.*|ENV|SHELLOPTS|BASHOPTS|PS4|IFS|PATH|PYTHONPATH|PYTHONHOME|PYTHONSTARTUP|PYTHONINSPECT|PERL5LIB|PERL5OPT|RUBYLIB|RUBYOPT|JAVA_TOOL_OPTIONS|_JAVA_OPTIONS|JDK_JAVA_OPTIONS|CLASSPATH|DENO_.*|GCONV_PATH|GIT_SSH.*|GIT_EXEC_PATH|GLIBC_TUNABLES|PLUGIN_DIR|PLUGIN_DATA_DIR|WORKSPACE_DIR)$/i;

/** Reads the keys that tools and hooks share; undefined when the entry must be left out, which is noted. */
export function programSpec(
  fields: Fields,
  table: Record<string, unknown>,
  at: KeyPath,
): ProgramSpec | undefined {
  // Types first: a wrong type anywhere costs the manifest, so it must be seen even in an entry that is left out.
  const command = fields.string(table, "command", at);
  const args = fields.strings(table, "args", at) ?? [];
  const runtime = fields.string(table, "runtime", at);
  const module = fields.string(table, "module", at);
  const timeout = fields.integer(table, "timeout_ms", at);
  const env = fields.strings(table, "env", at) ?? [];
  const permissions = readPermissions(fields, table, at);
  // Some write the names among the permissions; both places mean the same.
  const nested = fields.table(table, "permissions", at);
  const alsoEnv = nested === undefined
    ? []
    : fields.strings(nested, "env", [...at, "permissions"]) ?? [];

  const problem = entryProblem({ command, args, runtime, module });
  if (problem !== undefined) {
    fields.note([...at, problem.key], `${problem.message}, entry left out`);
    return undefined;
  }
  if (permissions === "bad") return undefined;
  let program: Program;
  if (runtime === "deno") {
    program = { kind: "deno", module: module ?? "", args };
    if (command !== undefined) {
      fields.note([...at, "command"], `ignored with runtime = "deno"`);
    }
  } else {
    program = { kind: "command", command: command ?? "", args };
    if (module !== undefined) {
      fields.note([...at, "module"], `ignored without runtime = "deno"`);
    }
  }
  return {
    program,
    timeoutMs: readTimeout(fields, timeout, at),
    env: readEnv(fields, [...env, ...alsoEnv], at),
    ...(permissions === undefined ? {} : { permissions }),
  };
}

function entryProblem(
  entry: {
    command: string | undefined;
    args: string[];
    runtime: string | undefined;
    module: string | undefined;
  },
): { key: string; message: string } | undefined {
  const { command, args, runtime, module } = entry;
  if (runtime !== undefined && runtime !== "deno") {
    return {
      key: "runtime",
      message: `${quote(runtime)} is not a runtime, the only one is "deno"`,
    };
  }
  if (runtime === "deno") {
    if (module === undefined || module.trim() === "") {
      return {
        key: "module",
        message: `"module" is missing with runtime = "deno"`,
      };
    }
    if (
      module.startsWith("/") || module.includes("\0") ||
      module.includes("${") ||
      module.split("/").includes("..") || /^[a-z][a-z0-9+.-]*:/i.test(module)
    ) {
      return {
        key: "module",
        message: `${quote(module)} is not a path inside the plugin`,
      };
    }
  } else if (command === undefined || command.trim() === "") {
    return { key: "command", message: `"command" is missing or blank` };
  }
  if (runtime !== "deno" && command !== undefined) {
    const problem = valueProblem(command);
    if (problem !== undefined) return { key: "command", message: problem };
  }
  for (const argument of args) {
    const problem = valueProblem(argument);
    if (problem !== undefined) return { key: "args", message: problem };
  }
  return undefined;
}

function valueProblem(value: string): string | undefined {
  if (value.includes("\0")) return `${quote(value)} holds a NUL character`;
  return placeholderProblem(value);
}

function readTimeout(
  fields: Fields,
  value: number | undefined,
  at: KeyPath,
): number {
  if (value === undefined) return DEFAULT_TIMEOUT_MS;
  if (value >= 1 && value <= MAX_TIMEOUT_MS) return value;
  fields.note(
    [...at, "timeout_ms"],
    `${value} is not between 1 and ${MAX_TIMEOUT_MS}, ${DEFAULT_TIMEOUT_MS} used`,
  );
  return DEFAULT_TIMEOUT_MS;
}

function readEnv(fields: Fields, names: string[], at: KeyPath): string[] {
  const kept: string[] = [];
  names.forEach((name, index) => {
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) {
      fields.note(
        [...at, "env", index],
        `${quote(name)} is not a variable name, left out`,
      );
    } else if (LOADER_VARIABLES.test(name)) {
      fields.note(
        [...at, "env", index],
        `${quote(name)} changes what code is loaded, left out`,
      );
    } else if (!kept.includes(name)) kept.push(name);
  });
  return kept;
}

function readPermissions(
  fields: Fields,
  table: Record<string, unknown>,
  at: KeyPath,
): Permissions | undefined | "bad" {
  const raw = fields.table(table, "permissions", at);
  if (raw === undefined) return undefined;
  const where = [...at, "permissions"];
  fields.unknownKeys(raw, ["read", "write", "net", "env"], where);
  const permissions: Permissions = {
    read: fields.strings(raw, "read", where) ?? [],
    write: fields.strings(raw, "write", where) ?? [],
    net: fields.strings(raw, "net", where) ?? [],
  };
  for (const key of ["read", "write"] as const) {
    for (const path of permissions[key]) {
      const problem = pathProblem(path);
      if (problem === undefined) continue;
      fields.note([...where, key], `${problem}, entry left out`);
      return "bad";
    }
  }
  for (const host of permissions.net) {
    if (
      /^[A-Za-z0-9.*_-]+(:\d{1,5})?$|^\[[0-9A-Fa-f:.]+\](:\d{1,5})?$/.test(host)
    ) {
      continue;
    }
    fields.note(
      [...where, "net"],
      `${quote(host)} is not a host or host:port, entry left out`,
    );
    return "bad";
  }
  return permissions;
}

function pathProblem(path: string): string | undefined {
  if (path.trim() === "") return "an empty path";
  if (path === "~" || path.startsWith("~/")) {
    return `${quote(path)} is not expanded, write the whole path`;
  }
  if (path.includes(",")) {
    return `${quote(path)} holds a comma, which would split it into two paths`;
  }
  return valueProblem(path);
}
