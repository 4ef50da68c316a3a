import { assertEquals, assertStringIncludes } from "@std/assert";
import { digestPlugin } from "@bulkhead/plugins";
import { bulkhead, type Ran, withRunWorld } from "./support/run_world.ts";

/** A world with one plugin, whose hooks note each event in the plugin's data directory. */
async function withHooks(
  manifest: string,
  script: unknown,
  fn: (
    run: (...args: string[]) => Promise<Ran>,
    log: () => Promise<Record<string, unknown>[]>,
    ws: string,
  ) => Promise<void>,
): Promise<void> {
  await withRunWorld(async ({ dir, ws, home, place, env }) => {
    const plugin = `${dir}/plugins/watch`;
    await Deno.mkdir(plugin, { recursive: true });
    await Deno.writeTextFile(`${plugin}/plugin.toml`, manifest);
    await Deno.writeTextFile(
      `${plugin}/note.sh`,
      // One write a note: some hooks run at the same time.
      `#!/bin/sh\nnote=$(cat)\nprintf '%s\\n' "$note" >> "$PLUGIN_DATA_DIR/log"\nexit \${1:-0}\n`,
      { mode: 0o755 },
    );
    const { hash } = await digestPlugin(plugin);
    await Deno.writeTextFile(`${dir}/script.json`, JSON.stringify(script));
    await fn(
      (...args) =>
        bulkhead([
          "run",
          "--script",
          `${dir}/script.json`,
          ...place,
          "--plugin-dir",
          `${dir}/plugins`,
          "--trust-plugin",
          `watch=${hash}`,
          "--isolation",
          "preferred",
          ...args,
        ], { env }),
      async () =>
        (await Deno.readTextFile(`${home}/data/watch/log`)).trim()
          .split("\n").filter(Boolean).map((line) => JSON.parse(line)),
      ws,
    );
  });
}

const EVENTS = [
  "session_start",
  "user_prompt",
  "pre_tool",
  "post_tool",
  "post_tool_failure",
  "stop",
  "session_end",
];

Deno.test("run: every event of a session reaches the hooks, in order and with its payload", async () => {
  const manifest = EVENTS.map((event) =>
    `[[hooks]]\nevent = "${event}"\ncommand = "./note.sh"\n`
  ).join("\n");
  const script = {
    schema: 1,
    turns: [{
      steps: [
        {
          message: [{ tool: "Write", input: { file_path: "a", content: "x" } }],
        },
        { message: [{ tool: "Read", input: { file_path: "missing" } }] },
        { say: "done" },
      ],
    }],
  };
  await withHooks(manifest, script, async (run, log, ws) => {
    const { code, out, err } = await run("hello");
    assertEquals([code, err], [0, ""], out);
    const seen = await log();
    assertEquals(
      new Set(seen.map((payload) => payload.event)),
      new Set(EVENTS),
      out,
    );
    assertEquals(seen[0]?.event, "session_start");
    assertEquals(seen[1]?.event, "user_prompt");
    assertEquals(seen[1]?.prompt, "hello");
    assertEquals(seen.at(-1)?.event, "session_end");
    assertEquals(seen.at(-2)?.event, "stop");
    const failure = seen.find((payload) =>
      payload.event === "post_tool_failure"
    );
    assertStringIncludes(JSON.stringify(failure), '"name":"Read"');
    assertEquals(seen.every((payload) => payload.cwd === ws), true);
    assertEquals(seen.every((payload) => payload.plugin === "watch"), true);
  });
});

Deno.test("run: a pre_tool hook denies a call that guard and posture would allow", async () => {
  const manifest =
    `[[hooks]]\nevent = "pre_tool"\ncommand = "./note.sh"\nargs = ["2"]\nmatcher = "Write|Edit"\n`;
  const script = {
    schema: 1,
    turns: [{
      steps: [{
        message: [{ tool: "Write", input: { file_path: "a", content: "x" } }],
      }],
    }],
  };
  await withHooks(manifest, script, async (run, _log, ws) => {
    const { code, out } = await run("hello");
    assertEquals(code, 0, out);
    assertStringIncludes(out, "denied by plugin watch");
    assertEquals(await Array.fromAsync(Deno.readDir(ws)), []);
  });
});

Deno.test("run: a call that a hook has changed is what a person is asked about, and what runs", async () => {
  const answer = JSON.stringify({
    updatedInput: { command: "echo changed > in.txt" },
  });
  const manifest =
    `[[hooks]]\nevent = "pre_tool"\ncommand = "/bin/echo"\nargs = ['${answer}']\nmatcher = "Bash"\n`;
  const script = {
    schema: 1,
    turns: [{
      steps: [{ message: [{ tool: "Bash", input: { command: "echo hi" } }] }],
    }],
  };
  await withHooks(manifest, script, async (run, _log, ws) => {
    const { code, out } = await run("--approve", "hello");
    assertEquals(code, 0, out);
    assertStringIncludes(
      out,
      "plugin watch changed it to echo changed > in.txt",
    );
    assertStringIncludes(out, "--approve: Bash echo changed > in.txt");
    assertEquals(await Deno.readTextFile(`${ws}/in.txt`), "changed\n");
  });
});

Deno.test("run: a user_prompt hook refuses the prompt, and nothing is sent", async () => {
  const manifest =
    `[[hooks]]\nevent = "user_prompt"\ncommand = "./note.sh"\nargs = ["2"]\n`;
  const script = { schema: 1, turns: [{ steps: [{ say: "never said" }] }] };
  await withHooks(manifest, script, async (run) => {
    const { code, out, err } = await run("hello");
    assertEquals(code, 1);
    assertStringIncludes(err, "a plugin's hook refused it");
    assertEquals(out.includes("never said"), false);
  });
});

Deno.test("run: a hook that fails is told and does not end the session", async () => {
  const manifest =
    `[[hooks]]\nevent = "session_start"\ncommand = "./note.sh"\nargs = ["7"]\n`;
  const script = { schema: 1, turns: [{ steps: [{ say: "said" }] }] };
  await withHooks(manifest, script, async (run) => {
    const { code, out, err } = await run("hello");
    assertEquals(code, 0);
    assertStringIncludes(out, "said");
    assertStringIncludes(err, 'hook session_start of plugin "watch"');
  });
});
