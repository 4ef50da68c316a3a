/**
 * The `bulkhead` command line as a program, and a place for its sessions: a
 * workspace, a home and the scripts that are played there.
 *
 * @module
 */

import { fromFileUrl } from "@std/path";

/** The command line's entry. */
export const CLI = fromFileUrl(new URL("../../cli/main.ts", import.meta.url));

/** How the command line is started. */
export const BULKHEAD: readonly string[] = [
  Deno.execPath(),
  "run",
  "-A",
  CLI,
];

/** How a program ended and what it printed. */
export interface Ran {
  code: number;
  out: string;
  err: string;
}

/** Runs one command line to its end; nobody is there to be asked. */
export async function bulkhead(
  args: readonly string[],
  options: Pick<Deno.CommandOptions, "cwd" | "env" | "clearEnv"> = {},
): Promise<Ran> {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [...BULKHEAD.slice(1), ...args],
    stdin: "null",
    ...options,
  }).output();
  const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);
  return { code, out: text(stdout), err: text(stderr) };
}

/** Runs `bulkhead run` with an agent's real program first on PATH, in an environment of its own. */
export async function runWithAgent(
  world: { env: Readonly<Record<string, string>>; home: string },
  name: string,
  program: string,
  args: readonly string[],
): Promise<Ran> {
  const bin = `${world.home}/bin`;
  await Deno.mkdir(bin, { recursive: true });
  await Deno.symlink(program, `${bin}/${name}`).catch(() => {});
  return await bulkhead(["run", ...args], {
    clearEnv: true,
    env: { ...world.env, PATH: `${bin}:${world.env.PATH}` },
  });
}

/** A directory that everything of a session lies in. */
export interface RunWorld {
  /** All of it. */
  dir: string;
  /** The workspace. */
  ws: string;
  /** The home; it does not exist yet. */
  home: string;
  /** The environment that keeps claims in the directory. */
  env: Record<string, string>;
  /** The arguments that put a run into this place. */
  place: readonly string[];
  /** The arguments of a run in this place that plays these turns. */
  playing(...turns: unknown[][]): Promise<string[]>;
}

/** Makes the directory; the caller removes it. */
export async function openRunWorld(): Promise<RunWorld> {
  // Short, since a socket's path below it may have 107 bytes at most.
  const dir = await Deno.realPath(await Deno.makeTempDir({ prefix: "bh" }));
  const [ws, home] = [`${dir}/ws`, `${dir}/home`];
  await Deno.mkdir(ws);
  const place = ["--cwd", ws, "--home", home];
  return {
    dir,
    ws,
    home,
    place,
    env: { FNO_CLAIMS_ROOT: dir },
    async playing(...turns): Promise<string[]> {
      const script = `${dir}/script.json`;
      await Deno.writeTextFile(
        script,
        JSON.stringify({ schema: 1, turns: turns.map((steps) => ({ steps })) }),
      );
      return ["run", "--script", script, ...place];
    },
  };
}

/** Makes the directory and removes it afterwards. */
export async function withRunWorld(
  fn: (world: RunWorld) => Promise<void>,
): Promise<void> {
  const world = await openRunWorld();
  try {
    await fn(world);
  } finally {
    await Deno.remove(world.dir, { recursive: true });
  }
}
