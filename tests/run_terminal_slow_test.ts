import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { allEnded, exists, speakingOf } from "./support/processes.ts";
import { hasTool } from "./support/require_tool.ts";
import { BULKHEAD, withRunWorld } from "./support/run_world.ts";
import { Terminal } from "./support/terminal.ts";

const ignore = !hasTool("script", "apt-get install util-linux");

function terminalTest(name: string, fn: () => Promise<void>): void {
  Deno.test({ name: `terminal: ${name}`, ignore, fn });
}

/** The demo's own directory, as the line about its workspace names it. */
function demoOf(shown: string): string {
  const [, dir] = /workspace (\S+)\/workspace/.exec(shown) ?? [];
  assert(dir, shown);
  return dir;
}

/** The demo in a terminal. */
function demo(env: Record<string, string>): Terminal {
  return new Terminal([...BULKHEAD, "run", "--example", "greeting"], { env });
}

/** A workspace, a home and a script for the scripted agent. */
async function withScript(
  steps: unknown[],
  fn: (world: {
    dir: string;
    ws: string;
    run(...args: string[]): Terminal;
  }) => Promise<void>,
): Promise<void> {
  await withRunWorld(async ({ dir, ws, env, playing }) => {
    const argv = [...BULKHEAD, ...await playing(steps)];
    const open: Terminal[] = [];
    try {
      await fn({
        dir,
        ws,
        run(...args): Terminal {
          const terminal = new Terminal([...argv, ...args, "go"], {
            env: { ...env, NO_COLOR: "" },
          });
          open.push(terminal);
          return terminal;
        },
      });
    } finally {
      for (const terminal of open) await terminal[Symbol.asyncDispose]();
    }
  });
}

const SHELL_STEP = {
  message: [{ tool: "Bash", input: { command: "echo made > made.txt" } }],
};

terminalTest(
  "the demo's question is answered in place, in colour, and nothing is left",
  async () => {
    await using terminal = demo({ NO_COLOR: "" });
    await terminal.see("May I finish?");
    await terminal.see("1) yes");
    await terminal.see("> ");
    await terminal.type("1\r");
    await terminal.see("That was all");
    assertEquals(await terminal.end(), 0);
    assertStringIncludes(terminal.shown, "\x1b[31mdenied by guard");
    assertStringIncludes(terminal.shown, "\x1b[32mallowed");
    assertEquals(terminal.shown.includes("nobody is there"), false);
    const dir = demoOf(terminal.shown);
    assertEquals([exists(dir), speakingOf(dir)], [false, []]);
  },
);

terminalTest("NO_COLOR is respected", async () => {
  await using terminal = demo({ NO_COLOR: "1" });
  await terminal.see("> ");
  await terminal.type("1\r");
  assertEquals(await terminal.end(), 0);
  assertEquals(terminal.shown.includes("\x1b["), false, terminal.shown);
});

terminalTest("yes lets a call run", async () => {
  await withScript([SHELL_STEP, { say: "after" }], async ({ ws, run }) => {
    const terminal = run();
    await terminal.see("[y/N, or a reason to deny]");
    await terminal.type("y\r");
    await terminal.see("after");
    assertEquals(await terminal.end(), 0);
    assertEquals(await Deno.readTextFile(`${ws}/made.txt`), "made\n");
  });
});

terminalTest(
  "a text denies a call and is its reason, for the model and in the summary",
  async () => {
    await withScript([SHELL_STEP, { say: "heard: ${last}" }], async (world) => {
      const terminal = world.run();
      await terminal.see("[y/N, or a reason to deny]");
      await terminal.type("use the build script\r");
      await terminal.see("heard: ");
      await terminal.see("use the build script");
      await terminal.see("denials");
      await terminal.see("use the build script");
      assertEquals(await terminal.end(), 0);
      assertEquals(exists(`${world.ws}/made.txt`), false);
    });
  },
);

terminalTest("an empty line is no", async () => {
  await withScript([SHELL_STEP, { say: "after" }], async ({ ws, run }) => {
    const terminal = run();
    await terminal.see("[y/N, or a reason to deny]");
    await terminal.type("\r");
    await terminal.see("the person said no");
    assertEquals(await terminal.end(), 0);
    assertEquals(exists(`${ws}/made.txt`), false);
  });
});

terminalTest("two questions are put one after the other", async () => {
  const steps = [{
    message: [
      { tool: "Bash", input: { command: "echo 1 > one.txt" } },
      { tool: "Bash", input: { command: "echo 2 > two.txt" } },
    ],
  }];
  await withScript(steps, async ({ ws, run }) => {
    const terminal = run();
    await terminal.see("one.txt? [y/N");
    await terminal.type("y\r");
    await terminal.see("two.txt? [y/N");
    await terminal.type("n\r");
    assertEquals(await terminal.end(), 0);
    assertEquals(
      (await Array.fromAsync(Deno.readDir(ws))).map(({ name }) => name),
      ["one.txt"],
    );
  });
});

terminalTest(
  "Ctrl-C interrupts the turn, and the run ends with what it came to",
  async () => {
    const steps = [{ say: "before" }, { waitMs: 600_000 }, { say: "never" }];
    await withScript(steps, async ({ dir, run }) => {
      const terminal = run();
      await terminal.see("before");
      await terminal.type("\x03");
      await terminal.see("interrupting the turn");
      await terminal.see("outcome");
      await terminal.see("aborted");
      assertEquals(await terminal.end(), 130);
      assertEquals(terminal.shown.includes("never"), false);
      await allEnded(dir);
    });
  },
);

terminalTest(
  "Ctrl-C in a question interrupts it, without a key more",
  async () => {
    await withScript([SHELL_STEP, { say: "never" }], async ({ dir, run }) => {
      const terminal = run();
      await terminal.see("[y/N, or a reason to deny]");
      await terminal.type("\x03");
      await terminal.see("interrupting the turn");
      assertEquals(await terminal.end(), 130);
      await allEnded(dir);
    });
  },
);

terminalTest(
  "a second Ctrl-C ends the session with its summary, whenever it comes, and leaves nothing",
  async () => {
    await withScript(
      [{ say: "before" }, { fault: { kind: "silence" } }],
      async ({ dir, run }) => {
        const terminal = run();
        await terminal.see("before");
        await terminal.type("\x03");
        await terminal.see("once more ends the session");
        // The agent may have stopped at the first one by now, and the session with it.
        await terminal.type("\x03").catch(() => {});
        await terminal.see("summary");
        assertEquals(await terminal.end(), 130);
        await allEnded(dir);
        const left = await Array.fromAsync(
          Deno.readDir(`${dir}/.fno/claims`),
          ({ name }) => name,
        ).catch(() => []);
        assertEquals(left.filter((name) => !name.startsWith(".")), []);
      },
    );
  },
);

/** Puts a plugin that was never seen into the home. */
async function newPlugin(dir: string): Promise<string> {
  const plugin = `${dir}/home/plugins/look`;
  await Deno.mkdir(plugin, { recursive: true });
  await Deno.chmod(`${dir}/home`, 0o700);
  await Deno.writeTextFile(
    `${plugin}/plugin.toml`,
    `[[tools]]\nname = "look"\ncommand = "cat"\n`,
  );
  await Deno.writeTextFile(
    `${dir}/home/config.toml`,
    `[capabilities.plugins]\nenabled = true\nsandbox = "preferred"\n[capabilities.trust]\nenabled = true\n`,
  );
  return plugin;
}

const LOOK = [{
  message: [{ tool: "mcp__bulkhead__plugin__look__look", input: { a: "eh" } }],
}, { say: "heard: ${last}" }];

terminalTest(
  "the question of trust is no by default, and is put again",
  async () => {
    await withScript(LOOK, async ({ dir, run }) => {
      await newPlugin(dir);
      for (const yes of ["", "yes"]) {
        const terminal = run();
        await terminal.see("Trust it?");
        if (yes !== "") {
          await terminal.type(`${yes}\r`);
          await terminal.see("yes for how long?");
        }
        await terminal.type("\r");
        await terminal.end();
        assertEquals(terminal.shown.includes(`heard: {"a":"eh"}`), false);
      }
    });
  },
);

terminalTest(
  "trusted always is not asked again, until the content changes",
  async () => {
    await withScript(LOOK, async ({ dir, run }) => {
      const plugin = await newPlugin(dir);
      const first = run();
      await first.see("Trust it?");
      await first.type("always\r");
      await first.see(`heard: {"a":"eh"}`);
      assertEquals(await first.end(), 0);
      const second = run();
      await second.see(`heard: {"a":"eh"}`);
      assertEquals(await second.end(), 0);
      assertEquals(second.shown.includes("Trust it?"), false);
      await Deno.writeTextFile(`${plugin}/more`, "x");
      const third = run();
      await third.see("Trust it?");
      await third.type("\r");
      await third.end();
    });
  },
);

terminalTest("trusted once is asked again, never is not", async () => {
  await withScript(LOOK, async ({ dir, run }) => {
    await newPlugin(dir);
    const first = run();
    await first.see("Trust it?");
    await first.type("o\r");
    await first.see(`heard: {"a":"eh"}`);
    assertEquals(await first.end(), 0);
    const second = run();
    await second.see("Trust it?");
    await second.type("never\r");
    await second.end();
    const third = run();
    await third.end();
    assertEquals(third.shown.includes("Trust it?"), false);
    assertStringIncludes(third.shown, "look");
  });
});

terminalTest(
  "Ctrl-C in the question of trust ends the run, and the next one starts",
  async () => {
    await withScript(LOOK, async ({ dir, run }) => {
      await newPlugin(dir);
      const first = run();
      await first.see("Trust it?");
      await first.type("\x03");
      assertEquals(await first.end(), 130);
      await allEnded(dir);
      const second = run();
      await second.see("Trust it?");
      await second.type("\r");
      await second.end();
      assertEquals(second.shown.includes("another run"), false);
    });
  },
);
