import { bulkheadHome, joinPath, normalizePath } from "@bulkhead/sandbox";
import {
  type CommandIo,
  describeFailure,
  paint,
  parseFlags,
  printResult,
  UsageError,
  visible,
} from "@bulkhead/sandbox/command";
import { CHECKS } from "./doctor/checks.ts";
import type { Finding, Scene } from "./doctor/finding.ts";

const HELP = `What is there, what is left over, and how to mend it

Usage: bulkhead doctor [--fix] [--cwd DIR] [--home DIR] [--json]

Looks at deno, the agents' programs, the sandbox, plugins, guards in this
workspace, sessions, their markers and claims, and temporary directories. Each
line is ok, a warning or broken, with the command that mends it; --fix runs what
can be mended without a choice, and puts files back byte for byte.

Examples:
  bulkhead doctor
  bulkhead doctor --fix
`;

/**
 * `bulkhead doctor`: looks at everything and mends what can be mended.
 *
 * @param args The arguments after `doctor`.
 * @param io Where to write.
 * @returns 0 when nothing is broken, else 1.
 */
export async function doctorCommand(
  args: string[],
  io: CommandIo,
): Promise<number> {
  const flags = parseFlags(args, {
    boolean: ["fix", "json", "help"],
    string: ["cwd", "home"],
    alias: { h: "help" },
  });
  if (flags.on("help")) {
    io.out(HELP);
    return 0;
  }
  const [extra] = [...flags.operands, ...flags.rest];
  if (extra !== undefined) {
    throw new UsageError(
      `Cannot read the command line: doctor does not know what to do with "${extra}"`,
      "bulkhead doctor --cwd DIR looks at another workspace",
    );
  }
  const absolute = (path: string): string =>
    normalizePath(joinPath(Deno.cwd(), path));
  const scene: Scene = {
    home: absolute(bulkheadHome(flags.text("home"))),
    workspace: absolute(flags.text("cwd") ?? "."),
    fix: flags.on("fix"),
  };
  await checkWorkspace(scene.workspace);
  const findings: Finding[] = [];
  for (const { name, look } of CHECKS) {
    try {
      findings.push(...await look(scene));
    } catch (error) {
      // One check that cannot look must not hide what the others see.
      const { message, fix } = describeFailure(error);
      findings.push({
        area: name,
        status: "broken",
        text: message,
        ...fix === undefined ? {} : { fix },
      });
    }
  }
  const broken = findings.filter(({ status }) => status === "broken").length;
  const error = {
    code: "broken",
    message: `${broken} of ${findings.length} findings are broken`,
    fix: "see the fix of each finding, or bulkhead doctor --fix",
  };
  if (flags.on("json")) {
    const verdict = broken === 0 ? {} : { ok: false, error };
    printResult(io, { ...verdict, broken, findings });
  } else print(findings, io);
  return broken === 0 ? 0 : 1;
}

/** Nothing can be said of a workspace that is none. */
async function checkWorkspace(path: string): Promise<void> {
  let isDirectory = false;
  try {
    isDirectory = (await Deno.stat(path)).isDirectory;
  } catch (error) {
    // Each check that may not look says so by itself.
    if (error instanceof Deno.errors.NotCapable) return;
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  if (!isDirectory) {
    throw new Deno.errors.NotFound(
      `Cannot look at "${path}": there is no such directory; give another --cwd`,
    );
  }
}

function print(findings: readonly Finding[], io: CommandIo): void {
  const { green, yellow, red, dim, bold } = paint(io.color);
  const mark = { ok: green, mended: green, warning: yellow, broken: red };
  for (const { area, status, text, fix } of findings) {
    io.out(
      `${mark[status](status.padEnd(8))} ${bold(area.padEnd(9))} ${
        visible(text)
      }\n`,
    );
    if (fix !== undefined && status !== "ok" && status !== "mended") {
      io.out(`${" ".repeat(19)}${dim(`fix: ${visible(fix)}`)}\n`);
    }
  }
}
