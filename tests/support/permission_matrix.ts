/**
 * The permission matrix: for each entry point the least set of flags passes, and
 * without any one of them the caller gets a `PermissionRequiredError` that names it.
 *
 * @module
 */

import { assertEquals, assertStringIncludes } from "@std/assert";
import { fromFileUrl } from "@std/path";

/** One entry point. */
export interface MatrixRow {
  /** The entry point as people call it, for example `sandbox run()`. */
  entry: string;
  /**
   * A module body that calls it once. It may import by package name, use `await`
   * and `DIR`, a directory of its own, which is a constant in scope.
   */
  code: string;
  /**
   * The least flags, one kind each, for example `--allow-read`. `{DIR}` in a flag
   * stands for the row's directory.
   */
  flags: readonly string[];
  /** It never throws of itself: the flag is named in what it returns, which the code throws. */
  told?: boolean;
  /** Runs before the call, in the test's process. */
  prepare?: (dir: string) => Promise<void>;
}

const CONFIG = fromFileUrl(new URL("../../deno.json", import.meta.url));

/** What a child said of its one call. */
interface Outcome {
  ok: boolean;
  name?: string;
  flag?: string;
  message?: string;
}

async function call(
  row: MatrixRow,
  dir: string,
  flags: readonly string[],
): Promise<Outcome> {
  // Imports stand outside the try block, as a caller's would.
  const imports = row.code.match(/^import .*$/gm) ?? [];
  const body = row.code.replace(/^import .*$/gm, "");
  const file = `${dir}/row.ts`;
  await Deno.writeTextFile(
    file,
    `${imports.join("\n")}
const DIR = ${JSON.stringify(dir)};
try {
  await (async () => { ${body} })();
  console.log(JSON.stringify({ ok: true }));
} catch (error) {
  console.log(JSON.stringify({
    ok: false, name: error.name, flag: error.flag, message: error.message,
  }));
}
`,
  );
  const output = await new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      `--config=${CONFIG}`,
      "--no-lock",
      "--no-prompt",
      "--no-check",
      ...flags.map((flag) => flag.replaceAll("{DIR}", dir)),
      file,
    ],
    stdin: "null",
  }).output();
  const lines = new TextDecoder().decode(output.stdout).trim().split("\n");
  try {
    return JSON.parse(lines.at(-1) ?? "");
  } catch {
    const message = new TextDecoder().decode(output.stderr);
    return { ok: false, name: "no answer", message };
  }
}

/** Registers one test per row. */
export function testMatrix(rows: readonly MatrixRow[]): void {
  for (const row of rows) {
    Deno.test(`permissions: ${row.entry} needs ${row.flags.join(" ") || "nothing"}`, async () => {
      const dir = await Deno.makeTempDir();
      try {
        await row.prepare?.(dir);
        const whole = await call(row, dir, row.flags);
        assertEquals(whole, { ok: true }, `${row.entry} with all its flags`);
        for (const flag of row.flags) {
          const rest = row.flags.filter((other) => other !== flag);
          const outcome = await call(row, dir, rest);
          const what = `${row.entry} without ${flag}: ${
            JSON.stringify(outcome)
          }`;
          const kind = flag.split("=")[0] ?? flag;
          if (row.told) {
            assertStringIncludes(outcome.message ?? "", kind, what);
            continue;
          }
          assertEquals(outcome.name, "PermissionRequiredError", what);
          assertStringIncludes(outcome.flag ?? "", kind, what);
        }
      } finally {
        await Deno.remove(dir, { recursive: true });
      }
    });
  }
}
