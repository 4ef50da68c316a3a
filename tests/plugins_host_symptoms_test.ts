/**
 * What users of other harnesses have reported about the host of plugins: how it survives, what it remembers, where it
 * looks. One test a symptom; the numbers are the rows of the log that the tests were written from.
 *
 * @module
 */

import { assert, assertEquals } from "@std/assert";
import { fromFileUrl } from "@std/path";
import {
  fireHooks,
  installPlugin,
  removePlugin,
  resultText,
  ToolRegistry,
  type TrustAnswer,
} from "@bulkhead/plugins";
import { script, writeFiles } from "../plugins/testing/world.ts";
import { pathWithout, runPlayer } from "./support/plugin_cases.ts";
import { symptom } from "./support/plugin_symptom.ts";

const cases = fromFileUrl(
  new URL("./fixtures/cases/plugins/", import.meta.url),
);

const TOOL = '[[tools]]\nname = "t"\ncommand = "cat"\n';

symptom(
  "22",
  "a stream that fails after SIGKILL crashes the process",
  async (world) => {
    await world.plugin(
      "p",
      '[[tools]]\nname = "t"\ncommand = "sh"\nargs = ["-c", "yes; exec yes >&2"]\n',
    );
    const tool = await world.tool("plugin__p__t");
    const input = { text: "x".repeat(3_000_000) };
    for (const timeoutMs of [1, 50, 200]) {
      const result = await tool.execute(input, { timeoutMs });
      assertEquals(result.details?.timedOut, true);
    }
    const signal = AbortSignal.timeout(50);
    assertEquals((await tool.execute(input, { signal })).isError, true);
  },
);

symptom(
  "30",
  "the first call works, then the tool is not found",
  async (world) => {
    await world.plugin("p", TOOL);
    const registry = new ToolRegistry();
    for (const tool of (await world.load()).tools) registry.add(tool);
    for (let round = 0; round < 3; round++) {
      const result = await registry.get("plugin__p__t")?.execute({ round });
      assert(result !== undefined);
      assertEquals(resultText(result), `{"round":${round}}`);
      assertEquals(registry.list().length, 1);
    }
  },
);

symptom(
  "52",
  "what is not installed is offered all the same",
  async (world) => {
    const manifest = { "plugin.toml": TOOL };
    await writeFiles(`${world.plugins}/group/p`, manifest);
    await writeFiles(`${world.home}/data/p`, manifest);
    await writeFiles(`${world.home}/plugins.old/p`, manifest);
    await Deno.writeTextFile(
      `${world.home}/plugins.lock.json`,
      '{"schema":1,"plugins":{"p":{"source":"/x","kind":"directory"}}}',
    );
    assertEquals((await world.load()).plugins, []);
  },
);

symptom(
  "53",
  "an install writes where the loader never looks",
  async (world) => {
    await writeFiles(`${world.temp}/p`, { "plugin.toml": TOOL });
    const { home } = world;
    const { dir } = await installPlugin(`${world.temp}/p`, {
      home,
      ask: () => "always",
    });
    const { plugins } = await world.load({ ask: true });
    assertEquals(plugins.map((plugin) => plugin.dir), [dir]);
    await removePlugin("p", { home });
    assertEquals((await world.load()).plugins, []);
  },
);

symptom(
  "59",
  "any truthy answer to the question of trust is a yes",
  async (world) => {
    await world.plugin("p", TOOL);
    const answers: unknown[] = [
      true,
      1,
      {},
      { trusted: true },
      ["always"],
      "yes",
      "ALWAYS",
      "always ",
    ];
    for (const answer of answers) {
      const outcome = await world.outcome({
        ask: true,
        trust: () => answer as TrustAnswer,
      });
      assertEquals(outcome.status, "blocked_pending_trust");
    }
  },
);

symptom("63", "every worktree asks again", async (world) => {
  await world.plugin("p", TOOL);
  let asked = 0;
  const trust = (): TrustAnswer => {
    asked++;
    return "always";
  };
  await world.load({ ask: true, trust });
  for (const name of ["a", "b"]) {
    const workspace = `${world.root}/${name}`;
    await Deno.mkdir(workspace);
    await world.load({ ask: true, trust, workspace });
  }
  assertEquals(asked, 1);
});

symptom(
  "69",
  "a hook after a failed tool does not learn that it failed",
  async (world) => {
    await world.plugin(
      "p",
      '[[hooks]]\nevent = "post_tool_failure"\ncommand = "./h.sh"\n',
      {
        "h.sh": script(
          `grep -q '"isError":true' && echo '{"additionalContext":"it failed"}'`,
        ),
      },
    );
    const { hooks } = await world.load();
    const outcome = await fireHooks(hooks, "post_tool_failure", {
      payload: {
        "session_id": "s",
        cwd: world.workspace,
        workspace: world.workspace,
        tool: { name: "Bash", input: {} },
        result: { content: "no", isError: true },
      },
    });
    assertEquals(outcome.additionalContext, ["it failed"]);
  },
);

Deno.test({
  name:
    "bubblewrap is there and may not make namespaces: nothing runs, or without a sandbox (73, 74)",
  ignore: Deno.build.os !== "linux",
  async fn() {
    const path = await pathWithout("bwrap");
    await writeFiles(path, {
      bwrap: script(
        'echo "bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted" >&2; exit 1',
      ),
    });
    const { code, verdicts } = await runPlayer([
      `${cases}cases.jsonl`,
      cases,
      "--isolation",
      "required",
      "--only",
      "^(?:r01|d01|d03|h08)-",
    ], path);
    assertEquals(verdicts.filter((verdict) => verdict.pass === false), []);
    assertEquals([code, verdicts.length], [0, 5]);
    await Deno.remove(path, { recursive: true });
  },
});
