/**
 * The guard's own files and programs that sweep: what they would remove or replace without
 * naming it.
 *
 * @module
 */
import { isInside, normalizePath } from "@bulkhead/sandbox/paths";
import { isKnown } from "../holes.ts";
import { type Call, writes } from "./call.ts";
import type { Context } from "./context.ts";
import { matchesGlob } from "./glob.ts";
import type { State } from "./state.ts";
import { joinPath } from "./places.ts";

/** One of the guard's own files, seen from a directory above it. */
export interface OwnFile {
  /** Its resolved path. */
  path: string;
  /** The rest of the path below the directory. */
  below: string;
}

/**
 * The guard's own files below a directory: of a whole root those that are there, of a directory
 * that is named for itself all that may be.
 *
 * @param place The directory as a value.
 * @param state The shell.
 * @param context The reading.
 * @returns Each of them; none for a directory that cannot be known.
 */
export function ownBelow(
  place: string,
  state: State,
  context: Context,
): OwnFile[] {
  const { boundary } = context;
  return state.cwd.flatMap((cwd) => {
    const top = boundary.resolve(place, cwd, true);
    if (top === undefined || !isKnown(top)) return [];
    const from = top === "/" ? 1 : top.length + 1;
    const root = boundary.rootOf(top);
    const named = root !== undefined && root !== top;
    return boundary.ownPaths().flatMap((path) =>
      path !== top && isInside(path, top) && (named || boundary.isLaid(path))
        ? [{ path, below: path.slice(from) }]
        : []
    );
  });
}

/**
 * Records that everything below a directory goes, apart from what is excluded.
 *
 * @param call The call.
 * @param place The directory.
 * @param excluded Patterns of what stays.
 */
export function sweeps(
  call: Call,
  place: string,
  excluded: readonly string[] = [],
): void {
  for (const { path, below } of ownBelow(place, call.state, call.context)) {
    if (excluded.some((pattern) => covers(pattern, below))) continue;
    writes(call, path, "entry");
  }
}

/**
 * Records that files of unknown names land in a directory: an archive's members, a tree's
 * entries. Only a directory that holds the hook itself is in danger; the guard's names in a
 * skills directory are not met by chance.
 *
 * @param call The call.
 * @param place The directory.
 */
export function landsIn(call: Call, place: string): void {
  for (const { path, below } of ownBelow(place, call.state, call.context)) {
    if (below.includes("/") || below.startsWith(".")) continue;
    const parent = path.slice(0, path.lastIndexOf("/"));
    if (call.context.boundary.rootOf(parent) === parent) continue;
    writes(call, path);
  }
}

/**
 * Whether a pattern of `rsync --exclude` or `git clean -e` keeps a path.
 *
 * @param pattern The pattern.
 * @param below The path, relative to where the program works.
 * @returns `true` when one of its parents or the path itself matches.
 */
function covers(pattern: string, below: string): boolean {
  const bare = pattern.replace(/^\.?\/|\/(?:\*{1,3})?$/g, "");
  const names = below.split("/");
  return names.some((name, i) =>
    matchesGlob(bare, name) ||
    bare.includes("/") && matchesGlob(bare, names.slice(0, i + 1).join("/"))
  );
}

/**
 * Whether an operand names one of the guard's files, or a directory below a root that holds one.
 *
 * @param operand The operand as a value.
 * @param state The shell.
 * @param context The reading.
 * @returns The files it names.
 */
export function namedOwn(
  operand: string,
  state: State,
  context: Context,
): string[] {
  const { boundary } = context;
  return state.cwd.flatMap((cwd) => {
    const place = boundary.resolve(operand, cwd, false);
    if (
      place === undefined || boundary.rootOf(place) === place ||
      !boundary.isInside(place)
    ) return [];
    return boundary.ownPaths().filter((own) =>
      isInside(own, place) || isInside(place, own)
    );
  });
}

/** Sub-commands of `guard` that change what is armed. */
const DISARMING = /^(?:teardown|install)$/;

/**
 * Records an agent's attempt to arm or disarm the guard by Bulkhead's own command line, started
 * as a program, by a package runner or by deno.
 *
 * @param call The call, of whatever program.
 */
export function disarms(call: Call): void {
  const { name, args } = call;
  if (args.length === 0 || args.includes("--help") || args.includes("-h")) {
    return;
  }
  const verbs = /^bulkhead(?:-guard)?$/.test(name)
    ? [disarmingVerb(args, name === "bulkhead-guard")]
    : args.map((arg, i) => {
      const what = startedBy(arg, call.state.cwd);
      return what === undefined
        ? name === "deno" && args[0] === "task" && i === 1
          ? disarmingVerb(args.slice(2), false)
          : undefined
        : disarmingVerb(args.slice(i + 1), what === "guard");
    });
  const verb = verbs.find((one) => one !== undefined);
  if (verb === undefined) return;
  recordDisarming(call.context, verb);
}

/**
 * Records an attempt to arm or disarm the guard.
 *
 * @param context The reading.
 * @param verb The sub-command that does it.
 */
export function recordDisarming(context: Context, verb: string): void {
  context.effects.push({
    rule: "system",
    verb: `guard ${verb}`,
    path: "the marker",
    verdict: "protected",
    label: `guard ${verb}`,
  });
}

/** The sub-command that arms or disarms, when these arguments of the command line ask for one. */
function disarmingVerb(
  args: readonly string[],
  isGuard: boolean,
): string | undefined {
  const words = args.filter((arg) => !arg.startsWith("-"));
  const at = isGuard ? 0 : words.indexOf("guard") + 1;
  // An option's value may stand before `guard`: `--home DIR guard teardown`.
  if (!isGuard && (at === 0 || at > 2)) return undefined;
  const verb = words[at];
  return verb !== undefined && DISARMING.test(verb) ? verb : undefined;
}

/** Whether an argument starts the whole command line or the guard's own, by package or file. */
function startedBy(
  arg: string,
  places: readonly string[],
): "bulkhead" | "guard" | undefined {
  // Patterns take time to be made ready: most arguments are told apart without.
  if (arg.includes("bulkhead") && PACKAGE.test(arg)) {
    return /guard[^/]*(?:\/cli)?$/.test(arg) ? "guard" : "bulkhead";
  }
  // A glob or a variable may be any of its files.
  if (!isKnown(arg)) return "bulkhead";
  if (!arg.includes(".")) return undefined;
  const path = arg.replace(/[?#].*$/, "").replace(/^file:\/\//, "");
  if (!SCRIPT.test(path)) return undefined;
  const isGuards = /\/guard\/cli\.[cm]?[jt]s$/;
  return /^https?:/.test(path) && isGuards.test(path) ||
      places.some((cwd) => isGuards.test(normalizePath(joinPath(cwd, path))))
    ? "guard"
    : "bulkhead";
}

/** Bulkhead's command line as a package. */
const PACKAGE =
  /(?:^|[/@:])bulkhead(?:$|@[\w.^~-]+$|\/(?:bulkhead|guard)(?:@[\w.^~-]+)?(?:\/cli)?$)/;

/** The files that start it, wherever the tree lies. */
const SCRIPT = /(?:^|\/)(?:main|mod|cli)\.[cm]?[jt]s$/;

const STARTERS = new Set(
  "bulkhead bulkhead-guard deno npx bunx pnpx npm pnpm yarn bun dx".split(" "),
);

/**
 * Gives what a package runner or deno starts: only there are other words Bulkhead's command line.
 *
 * @param name The program.
 * @returns `true` for a program that {@linkcode disarms} looks at.
 */
export function startsBulkhead(name: string): boolean {
  return STARTERS.has(name);
}
