/**
 * What users of other harnesses have reported about programs that are installed and not found. The numbers are the rows
 * of the log that the tests were written from.
 *
 * All 77 rows, and where each has its test:
 * - 10, 11, 14: here
 * - 12 (`npx` is `npx.cmd`), 14 as far as it is about `.sh` opening an editor: Windows only. No backend confines a
 *   process there, so a plugin does not start by default, and no machine with Windows runs these tests.
 * - 15 is the same defect as 5 on Windows and has its test with it
 * - 19, 47, 48, 50, 51: `plugins/install_test.ts` and `plugins/_archive_test.ts`, named after the reports
 * - 27: `plugins_kill_test.ts`
 * - 22, 30, 52, 53, 59, 63, 69, 73, 74: `plugins_host_symptoms_test.ts`
 * - all others: `plugins_symptoms_test.ts`
 *
 * @module
 */

import { assertEquals, assertStringIncludes } from "@std/assert";
import { checkPlugin, resultText } from "@bulkhead/plugins";
import { script, type World, writeFiles } from "../plugins/testing/world.ts";
import { symptom } from "./support/plugin_symptom.ts";

const POOR_PATH = "/usr/bin:/bin";

/** A test in the environment that a desktop gives to what it starts; nothing of it outlives the test. */
function desktopSymptom(
  rows: string,
  name: string,
  body: (world: World) => Promise<void>,
): void {
  symptom(rows, name, async (world) => {
    const changed = { PATH: POOR_PATH, HOME: world.root, SHELL: "/bin/sh" };
    const before = Object.keys(changed).map((key) =>
      [key, Deno.env.get(key)] as const
    );
    for (const [key, value] of Object.entries(changed)) {
      Deno.env.set(key, value);
    }
    try {
      await body(world);
    } finally {
      for (const [key, value] of before) {
        if (value === undefined) Deno.env.delete(key);
        else Deno.env.set(key, value);
      }
    }
  });
}

desktopSymptom(
  "10",
  "a program that is not on PATH is noticed at the first call only",
  async (world) => {
    const dir = await world.plugin(
      "p",
      '[[tools]]\nname = "t"\ncommand = "no-such-tool"\n[[hooks]]\nevent = "stop"\ncommand = "no-such-hook"\n',
    );
    const { notices } = await world.load();
    assertEquals(notices.length, 2, notices.join("\n"));
    for (const [index, name] of ["no-such-tool", "no-such-hook"].entries()) {
      assertStringIncludes(
        notices[index] ?? "",
        `: Cannot start "${name}": it is not on PATH (${POOR_PATH})`,
      );
    }
    const { problems } = await checkPlugin(dir, world);
    assertEquals(problems, notices);
  },
);

desktopSymptom(
  "11",
  "started by a desktop, the host does not find what the terminal finds",
  async (world) => {
    await writeFiles(world.root, {
      ".profile": 'PATH="$PATH:$HOME/versions/bin"; echo noise',
      "versions/bin/my-tool": script('echo "my-tool ran"'),
    });
    await world.plugin(
      "p",
      '[[tools]]\nname = "t"\ncommand = "my-tool"\n[[tools]]\nname = "s"\ncommand = "./s.sh"\n',
      { "s.sh": { text: "#!/usr/bin/env my-tool\n", mode: 0o755 } },
    );
    const poor = await world.load();
    assertEquals(poor.notices.length, 2, poor.notices.join("\n"));
    assertStringIncludes(
      poor.notices[1] ?? "",
      `its interpreter "my-tool" is not on PATH (${POOR_PATH})`,
    );
    const result = await poor.tools[1]?.execute({});
    assertStringIncludes(
      result ? resultText(result) : "",
      `its interpreter "my-tool" is not on PATH (${POOR_PATH})`,
    );
    world.loginPath = true;
    for (const sandbox of ["off", "preferred"] as const) {
      world.sandbox = sandbox;
      const { tools, notices } = await world.load();
      assertEquals(
        notices.filter((line) => line.includes("PATH")),
        [],
      );
      for (const tool of tools) {
        assertEquals(resultText(await tool.execute({})), "my-tool ran\n");
      }
    }
  },
);

desktopSymptom(
  "11",
  "a login shell that fails takes the plugins down",
  async (world) => {
    await writeFiles(world.root, { "shell": script("exit 3") });
    Deno.env.set("SHELL", `${world.root}/shell`);
    await world.plugin("p", '[[tools]]\nname = "t"\ncommand = "cat"\n');
    world.loginPath = true;
    const { tools, notices } = await world.load();
    assertEquals(tools.length, 1);
    assertStringIncludes(notices.join(), `/shell" ended with 3`);
  },
);

desktopSymptom(
  "14",
  "a script whose shell lies elsewhere is called a missing file",
  async (world) => {
    await world.plugin("p", '[[tools]]\nname = "t"\ncommand = "./t.sh"\n', {
      "t.sh": { text: "#!/no/such/bin/bash\necho hi\n", mode: 0o755 },
    });
    const { tools: [tool], notices } = await world.load();
    const reason = 't.sh": its interpreter "/no/such/bin/bash" does not exist';
    assertStringIncludes(notices.join(), reason);
    const result = await tool?.execute({});
    assertEquals(result?.isError, true);
    assertStringIncludes(result ? resultText(result) : "", reason);
  },
);
