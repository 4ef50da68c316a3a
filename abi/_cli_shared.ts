import type { IsolationLevel, IsolationPolicy } from "@bulkhead/sandbox";
import {
  type CommandIo,
  type Flags,
  type FlagSpec,
  parseFlags,
  UsageError,
} from "@bulkhead/sandbox/command";
import { resolveTarget } from "@bulkhead/sandbox/paths";
import { loadNativePlugin, type NativePlugin } from "./plugin.ts";
import type { NativePluginOptions } from "./plugin_options.ts";

/** One verb of the command line. */
export type Verb = (args: string[], io: CommandIo) => Promise<number>;

const LEVELS: readonly IsolationLevel[] = ["required", "preferred", "off"];

/** Flags of every verb that loads a library. */
const LOADING: Required<Pick<FlagSpec, "boolean" | "string" | "collect">> = {
  boolean: ["json", "net", "in-process"],
  string: ["sha256", "isolation", "cwd", "session", "name"],
  collect: ["read", "write"],
};

/** Parses the flags of a verb that loads a library. */
export function loadingFlags(args: string[], more: FlagSpec = {}): Flags {
  return parseFlags(args, {
    boolean: [...LOADING.boolean, ...more.boolean ?? []],
    string: [...LOADING.string, ...more.string ?? []],
    collect: [...LOADING.collect, ...more.collect ?? []],
  });
}

/** What is no flag, before `--` and after it: a library or an argument may begin with a dash. */
export function operandsOf(flags: Flags): string[] {
  return [...flags.operands, ...flags.rest];
}

/** The library a command line names. */
export function libraryOf(flags: Flags, usage: string): string {
  const [library] = operandsOf(flags);
  if (library === undefined) {
    throw new UsageError("Cannot start: no library is named", usage);
  }
  return library;
}

/** The only library of a command line. */
export function onlyLibraryOf(flags: Flags, usage: string): string {
  atMost(1, flags, usage);
  return libraryOf(flags, usage);
}

/** Refuses what a verb would not look at. */
export function atMost(count: number, flags: Flags, usage: string): void {
  const over = operandsOf(flags)[count];
  if (over !== undefined) {
    throw new UsageError(`Cannot start: "${over}" is left over`, usage);
  }
}

/** The confinement a command line asks for. */
export function confinementOf(
  flags: Flags,
): { permissions: IsolationPolicy; isolation: IsolationLevel } {
  const absolute = (path: string) => resolveTarget(path, Deno.cwd());
  return {
    isolation: flags.choice("isolation", LEVELS) ?? "required",
    permissions: {
      read: flags.list("read").map(absolute),
      write: flags.list("write").map(absolute),
      net: flags.on("net"),
    },
  };
}

/** Loads the library of a command line. */
export async function load(
  flags: Flags,
  io: CommandIo,
  library: string,
  more: NativePluginOptions = {},
): Promise<NativePlugin> {
  const cwd = flags.text("cwd");
  const sessionId = flags.text("session");
  const name = flags.text("name");
  const sha256 = flags.text("sha256");
  return await loadNativePlugin(library, {
    ...confinementOf(flags),
    ...flags.on("in-process") ? { mode: "process" as const } : {},
    ...name === undefined ? {} : { name },
    ...sha256 === undefined ? {} : { sha256 },
    context: {
      cwd: cwd ?? Deno.cwd(),
      ...sessionId === undefined ? {} : { sessionId },
    },
    onOutput: (line) => io.err(`${line}\n`),
    ...more,
  });
}

/**
 * Ends a plugin that ran inside this process, and with it the process: its threads may live on, and nothing of it can be
 * unmapped.
 */
export function leave(flags: Flags, code: number): number {
  if (flags.on("in-process")) Deno.exit(code);
  return code;
}
