/**
 * The program of an ACP agent, and what it may touch.
 *
 * @module
 */

import { findExecutable, type IsolationPolicy } from "@bulkhead/sandbox";
import { findCodex } from "./codex_program.ts";
import { findOpenCode } from "./opencode_program.ts";

/**
 * Finds the program, behind its launcher where we know it.
 *
 * @param command The command, or a path.
 * @param path The PATH.
 * @returns The program, or `undefined` when there is none.
 */
export async function findAcpProgram(
  command: string,
  path: string,
): Promise<string | undefined> {
  const name = command.replace(/^.*\//, "");
  if (name === "opencode") return await findOpenCode(command, path);
  if (name === "codex") return await findCodex(command, path);
  return findExecutable(command, Deno.cwd(), path) ?? undefined;
}

/** What {@linkcode confinement} is made of. */
export interface ConfinementOptions {
  /** The program. */
  readonly program: string;
  /** Its environment. */
  readonly env: Readonly<Record<string, string>>;
  /** The workspace. */
  readonly workspace: string;
  /** Where it keeps its own state; what is known of it when absent. */
  readonly state: readonly string[] | undefined;
  /** What else it must be able to read. */
  readonly read: readonly string[];
  /** The directory of the bridge. */
  readonly socketDir: string;
}

/** Directories below the home that known agents keep their state in. */
const STATE: readonly (readonly [RegExp, readonly string[]])[] = [
  [/opencode/, [
    ".local/share/opencode",
    ".local/state/opencode",
    ".cache/opencode",
    ".config/opencode",
  ]],
  [/claude/, [".claude"]],
  [/codex/, [".codex"]],
  [/gemini/, [".gemini"]],
];

/**
 * Where a known agent keeps its own state.
 *
 * @param program The program.
 * @param home The home of the user.
 * @returns The directories.
 */
export function stateOf(program: string, home: string): string[] {
  return STATE.filter(([name]) => name.test(program)).flatMap(([, dirs]) =>
    dirs.map((dir) => `${home}/${dir}`)
  );
}

/**
 * What an agent without a gate may touch: it reads its home and its program, and writes the workspace and its state.
 *
 * @param options The agent.
 * @returns The policy.
 */
export async function confinement(
  options: ConfinementOptions,
): Promise<IsolationPolicy> {
  const { env, program, workspace } = options;
  const home = env.HOME;
  const state = options.state ??
    (home === undefined ? [] : stateOf(program, home));
  // They would be made by the agent itself, if its home could be written to.
  for (const dir of state) {
    await Deno.mkdir(dir, { recursive: true }).catch(() => {});
  }
  const real = await Deno.realPath(program);
  return {
    read: [
      ...home === undefined ? [] : [home],
      packageOf(real),
      ...(env.PATH ?? "").split(":").filter((dir) => dir.startsWith("/")),
      ...options.read,
    ],
    write: [workspace, ...state, options.socketDir],
    net: true,
    unixSockets: true,
  };
}

/** The directory that holds the program and what it needs: its `node_modules`, or where it lies. */
function packageOf(program: string): string {
  const modules = program.lastIndexOf("/node_modules/");
  return modules >= 0
    ? program.slice(0, modules + "/node_modules".length)
    : program.replace(/\/[^/]*$/, "");
}
