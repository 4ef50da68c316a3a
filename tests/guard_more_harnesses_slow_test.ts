import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { run } from "@bulkhead/sandbox";
import { armGuard } from "../guard/install.ts";
import { teardownGuard } from "../guard/teardown.ts";
import { verifyGuard } from "../guard/verify.ts";
import {
  NPM_FETCH_COMMAND,
  NPM_HARNESS_DIR,
} from "../scripts/fetch_npm_harnesses.ts";
import { startGeminiModel } from "./support/gemini_model.ts";
import { skip } from "./support/require_tool.ts";

/** The program's path, when it is installed. */
async function find(name: string): Promise<string | undefined> {
  const path = `${NPM_HARNESS_DIR}/node_modules/.bin/${name}`;
  try {
    await Deno.stat(path);
    return path;
  } catch {
    skip(name, NPM_FETCH_COMMAND);
    return undefined;
  }
}

for (const name of ["pi", "cline"]) {
  const program = await find(name);
  Deno.test({
    name: `verifyGuard() proves the guard on the real ${name}`,
    ignore: program === undefined,
    async fn() {
      const report = await verifyGuard({ harness: name, program });
      assert(report.cases.every((one) => one.ok), JSON.stringify(report));
      assertEquals([report.armed, report.control], [true, true]);
      // pi has no subagents of its own.
      assertEquals(report.cases.length, name === "pi" ? 4 : 5);
    },
  });
}

const gemini = await find("gemini");

/** Plays a write inside and a shell write outside to Gemini CLI in an armed workspace. */
async function playGemini(
  env: Record<string, string>,
  args: string[],
): Promise<{ inside: boolean; outside: boolean; answers: string }> {
  const base = await Deno.realPath(
    await Deno.makeTempDir({ prefix: "guard gemini " }),
  );
  const root = `${base}/it's a root`;
  const outside = `${base}/outside.txt`;
  await Deno.mkdir(`${base}/home/.gemini`, { recursive: true });
  await Deno.mkdir(root);
  await Deno.writeTextFile(
    `${base}/home/.gemini/settings.json`,
    JSON.stringify({
      security: { auth: { selectedType: "gemini-api-key" } },
      privacy: { usageStatisticsEnabled: false },
    }),
  );
  await using model = startGeminiModel([
    { name: "write_file", args: { file_path: `${root}/in.txt`, content: "x" } },
    {
      name: "run_shell_command",
      args: { command: `echo x > '${outside}'`, description: "write" },
    },
  ]);
  await armGuard({ harness: "gemini", root, home: `${base}/bulkhead` });
  const before = await Deno.readTextFile(`${root}/.gemini/settings.json`);
  await run([
    gemini ?? "",
    "-p",
    "go",
    "--yolo",
    "--model",
    "gemini-2.5-flash",
    ...args,
  ], {
    cwd: root,
    env: {
      PATH: Deno.env.get("PATH") ?? "/usr/bin:/bin",
      HOME: `${base}/home`,
      GEMINI_API_KEY: "scripted",
      GOOGLE_GEMINI_BASE_URL: model.origin,
      ...env,
    },
    timeoutMs: 90_000,
  });
  const exists = (path: string) =>
    Deno.stat(path).then(() => true).catch(() => false);
  const found = {
    inside: await exists(`${root}/in.txt`),
    outside: await exists(outside),
    answers: model.answers.join("\n"),
  };
  assertEquals(
    await Deno.readTextFile(`${root}/.gemini/settings.json`),
    before,
    "Gemini leaves the file alone",
  );
  await teardownGuard(root, { home: `${base}/bulkhead` });
  await Deno.remove(base, { recursive: true });
  return found;
}

/** In a trusted workspace, and under a switch that skips trust; both at once. */
let played: Promise<Awaited<ReturnType<typeof playGemini>>[]> | undefined;
function playBoth(): NonNullable<typeof played> {
  return played ??= Promise.all([
    playGemini({ GEMINI_CLI_TRUST_WORKSPACE: "true" }, []),
    playGemini({}, ["--skip-trust"]),
  ]);
}

Deno.test({
  name: "the real Gemini CLI denies an outside write in a trusted workspace",
  ignore: gemini === undefined,
  async fn() {
    const [trusted] = await playBoth();
    assertEquals([trusted?.inside, trusted?.outside], [true, false]);
    assertStringIncludes(trusted?.answers ?? "", "eval guard");
  },
});

Deno.test({
  name:
    "the real Gemini CLI runs no hook of a workspace under --skip-trust, as the notes say",
  ignore: gemini === undefined,
  async fn() {
    const [, skipped] = await playBoth();
    assertEquals([skipped?.inside, skipped?.outside], [true, true]);
  },
});
