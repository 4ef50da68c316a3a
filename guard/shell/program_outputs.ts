/**
 * Outputs that many programs share: options of a language's runtime beside its script, and
 * variables of the environment that name a file.
 *
 * @module
 */
import { type Call, writes } from "./call.ts";
import { onlyReads } from "./commands.ts";

/** Options of a runtime whose value is a file or a directory that it writes. */
const RUNTIME_OPTIONS: Readonly<Record<string, RegExp>> = {
  node:
    /^--(?:cpu-prof-(?:dir|name)|heap-prof-(?:dir|name)|diagnostic-dir|redirect-warnings|report-(?:dir|directory|filename)|trace-event-file-pattern|logfile|tls-keylog|test-reporter-destination|disk-compile-cache)$/,
  deno: /^--(?:coverage|cpu-prof-(?:dir|name)|junit-path|output)$/,
  bun: /^--(?:cpu-prof-(?:dir|name)|coverage-dir|reporter-outfile)$/,
};

/** Programs that take the options of another. */
const LIKE: Readonly<Record<string, string>> = {
  nodejs: "node",
  tsx: "node",
  "ts-node": "node",
};

/** Variables that any program may be built to write to. */
const ANY_PROGRAM =
  "SSLKEYLOGFILE GCOV_PREFIX LLVM_PROFILE_FILE GMON_OUT_PREFIX MALLOC_TRACE LD_DEBUG_OUTPUT LD_PROFILE_OUTPUT " +
  "GOCOVERDIR COVERAGE_FILE PYTHONPYCACHEPREFIX PYTHON_HISTORY NODE_V8_COVERAGE NODE_REDIRECT_WARNINGS " +
  "NODE_REPL_HISTORY NODE_COMPILE_CACHE SEGFAULT_OUTPUT_NAME G_MESSAGES_FILE PIP_LOG";
const VARIABLES = ANY_PROGRAM.split(" ");

/** Programs that keep a history, a cache or a tree of their own, and the variables that move it. */
const HISTORIES: Readonly<Record<string, string>> = {
  less: "LESSHISTFILE",
  mysql: "MYSQL_HISTFILE",
  mariadb: "MYSQL_HISTFILE",
  psql: "PSQL_HISTORY",
  sqlite3: "SQLITE_HISTORY",
  gdb: "GDBHISTFILE",
  irb: "IRB_HISTFILE",
  go: "GOCACHE GOTMPDIR GOMODCACHE",
  cargo: "CARGO_HOME CARGO_TARGET_DIR",
  rustc: "CARGO_HOME",
  npm: "npm_config_cache npm_config_prefix",
  uv: "UV_CACHE_DIR UV_PROJECT_ENVIRONMENT UV_TOOL_DIR",
  pip: "PIP_CACHE_DIR PIP_TARGET PIP_PREFIX",
  ccache: "CCACHE_DIR",
  gradle: "GRADLE_USER_HOME",
  initdb: "PGDATA",
  "pg_ctl": "PGDATA",
  postgres: "PGDATA",
  terraform: "TF_DATA_DIR TF_LOG_PATH TF_PLUGIN_CACHE_DIR",
  tofu: "TF_DATA_DIR TF_LOG_PATH",
};

/** Programs that only read, but talk over a connection whose keys are logged. */
const CONNECTS = /^(?:curl|wget|nc|ncat|openssl)$/;

/**
 * Records the outputs that a program's environment and its runtime's options name.
 *
 * @param call The call.
 */
export function writesOutputs(call: Call): void {
  runtimeOptions(call, call.args);
  if (/^(?:python[23]?|pypy3?)$/.test(call.name)) {
    for (const arg of call.args) {
      const place = /^(?:-X)?pycache_prefix=(.+)$/.exec(arg)?.[1];
      if (place !== undefined) writes(call, place);
    }
  }
  // Most commands set none, and every call of a hook process comes by here.
  if (!call.state.hasVariables()) return;
  const more = call.state.get("NODE_OPTIONS")?.[0]?.[0];
  if (more !== undefined && familyOf(call.name) === "node") {
    runtimeOptions(call, more.split(/\s+/));
  }
  const history = Object.hasOwn(HISTORIES, call.name)
    ? HISTORIES[call.name]
    : undefined;
  for (const name of history?.split(" ") ?? []) writesVariable(call, name);
  // What only reads files and prints them was not built to keep a record of its run.
  if (onlyReads(call.name) && !CONNECTS.test(call.name)) return;
  for (const name of VARIABLES) writesVariable(call, name);
}

/**
 * Records the file that a variable of the command names.
 *
 * @param call The call.
 * @param name The variable.
 */
export function writesVariable(call: Call, name: string): void {
  const path = call.state.get(name)?.[0]?.[0];
  if (path !== undefined && /[/.]/.test(path)) writes(call, path);
}

function familyOf(name: string): string {
  return Object.hasOwn(LIKE, name) ? LIKE[name] ?? name : name;
}

/** Options of a runtime, `--name=value` or, for node, `--name value` as well. */
function runtimeOptions(call: Call, args: readonly string[]): void {
  const family = familyOf(call.name);
  if (family === "java") return args.forEach((arg) => javaOption(call, arg));
  if (family === "jmap" || family === "jcmd") return heapDump(call, args);
  const names = Object.hasOwn(RUNTIME_OPTIONS, family)
    ? RUNTIME_OPTIONS[family]
    : undefined;
  if (names === undefined) return;
  for (const [i, arg] of args.entries()) {
    const equals = arg.indexOf("=");
    const name = equals === -1 ? arg : arg.slice(0, equals);
    if (!names.test(name)) continue;
    const value = equals !== -1
      ? arg.slice(equals + 1)
      : family === "node"
      ? args[i + 1]
      : undefined;
    if (value !== undefined && !/^(?:std(?:out|err)|-.*|)$/.test(value)) {
      writes(call, value);
    }
  }
}

/** `jmap -dump:live,file=PATH 1`, `jcmd 1 GC.heap_dump PATH`, `jcmd 1 JFR.dump filename=PATH`. */
function heapDump(call: Call, args: readonly string[]): void {
  for (const [i, arg] of args.entries()) {
    const path = /(?:^|[,:])file(?:name)?=([^,]+)/.exec(arg)?.[1] ??
      (/^(?:GC\.heap_dump|Thread\.dump_to_file)$/.test(args[i - 1] ?? "")
        ? arg
        : undefined);
    if (path !== undefined && !path.startsWith("-")) writes(call, path);
  }
}

/** `-Xlog:gc*:file=PATH`, `-XX:HeapDumpPath=PATH`, `-XX:StartFlightRecording=filename=PATH`. */
function javaOption(call: Call, arg: string): void {
  const path =
    /^(?:-Xlog:[^:]*:file=|-Xloggc:|-XX:(?:HeapDumpPath|ErrorFile|LogFile|ArchiveClassesAtExit)=|-Djava\.io\.tmpdir=|-XX:StartFlightRecording[=:](?:.*,)?filename=)"?([^",:]+)/
      .exec(arg)?.[1];
  if (path !== undefined) writes(call, path);
}
