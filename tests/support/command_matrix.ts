/**
 * The permission matrix of commands: with the least set of flags `bulkhead` runs the
 * command, and without any one of them it ends with exit code 1 and one line that
 * names the flag.
 *
 * @module
 */

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { fromFileUrl } from "@std/path";

/** One command. */
export interface CommandRow {
  /** The command as people type it, for example `bulkhead worker list`. */
  entry: string;
  /** Its arguments after `bulkhead`. `{DIR}` stands for the row's directory. */
  args: readonly string[];
  /** The least flags, one kind each. `{DIR}` stands for the row's directory. */
  flags: readonly string[];
  /** Standard input. */
  stdin?: string;
  /** The exit code with all flags; 0 otherwise. */
  code?: number;
  /** The line about a missing flag is one of several findings on standard output. */
  finding?: boolean;
  /** It cannot run here, as a line has said. */
  ignore?: boolean;
  /** Runs before the command, in the test's process. */
  prepare?: (dir: string) => Promise<void>;
  /** Runs after it, to end what it started. */
  after?: (dir: string) => Promise<void>;
}

const ROOT = fromFileUrl(new URL("../../", import.meta.url));

/**
 * Runs `bulkhead` with all permissions, for a row that needs something to be there.
 *
 * @param dir The row's directory, where it runs.
 * @param args Its arguments.
 */
export async function bulkhead(dir: string, ...args: string[]): Promise<void> {
  const { code, err } = await call({ entry: "", args, flags: [] }, dir, ["-A"]);
  assertEquals(code, 0, err);
}

async function call(
  row: CommandRow,
  dir: string,
  flags: readonly string[],
): Promise<{ code: number; out: string; err: string }> {
  const filled = (text: string): string => text.replaceAll("{DIR}", dir);
  const child = new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      `--config=${ROOT}deno.json`,
      "--no-lock",
      "--no-prompt",
      "--no-check",
      ...flags.map(filled),
      `${ROOT}cli/main.ts`,
      ...row.args.map(filled),
    ],
    cwd: dir,
    env: { FNO_CLAIMS_ROOT: dir, TMPDIR: dir },
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(row.stdin ?? "")).catch(() => {});
  await writer.close().catch(() => {});
  const { code, stdout, stderr } = await child.output();
  const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);
  return { code, out: text(stdout), err: text(stderr) };
}

/** Registers one test per row. */
export function testCommands(rows: readonly CommandRow[]): void {
  for (const row of rows) {
    const name = `permissions: ${row.entry} needs ${
      row.flags.join(" ") || "nothing"
    }`;
    Deno.test({ name, ignore: row.ignore ?? false }, async () => {
      const dir = await Deno.realPath(
        await Deno.makeTempDir({ prefix: "bh" }),
      );
      try {
        await row.prepare?.(dir);
        // First without: what a refused command leaves must not be in the way of the whole one.
        for (const flag of row.flags) {
          const { code, out, err } = await call(
            row,
            dir,
            row.flags.filter((other) => other !== flag),
          );
          const what = `${row.entry} without ${flag}: ${out}${err}`;
          const kind = flag.split("=")[0] ?? flag;
          assertEquals(code, 1, what);
          if (row.finding) {
            const lines = out.split("\n").filter((line) => line.includes(kind));
            assert(lines.length > 0, what);
          } else {
            assertEquals(err.trimEnd().split("\n").length, 1, what);
            assertStringIncludes(err, kind, what);
          }
        }
        const whole = await call(row, dir, row.flags);
        assertEquals(
          whole.code,
          row.code ?? 0,
          `${row.entry} with all its flags: ${whole.out}${whole.err}`,
        );
        assertEquals(/--allow-/.test(whole.err), false, whole.err);
      } finally {
        await row.after?.(dir);
        await Deno.remove(dir, { recursive: true });
      }
    });
  }
}
