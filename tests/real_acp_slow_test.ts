import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { acpDriver } from "../worker/agents/acp.ts";
import { makeWorld } from "./support/agent_world.ts";
import { findHarness } from "./support/harnesses.ts";
import { GREET, hostAgent, OFF_LIMITS } from "./support/hosted.ts";

const opencode = await findHarness("opencode");
const ignore = opencode === undefined;
const codex = await findHarness("codex");
const adapter = await findHarness("codex-acp");

Deno.test({
  name:
    "acpDriver() with opencode acp: prompts, asks, tools, cancel and load, confined to the workspace",
  ignore,
  async fn() {
    await using world = await makeWorld({
      steps: [
        {
          text: "working",
          calls: [
            {
              do: "shell",
              command: "echo s > s.txt; echo x > {{out}}/b.txt",
              id: "both",
            },
            {
              do: "tool",
              name: "greet",
              input: { who: "you" },
              id: "greeting",
            },
          ],
        },
        { text: "done" },
        {
          calls: [{ do: "shell", command: "echo x > started.txt; sleep 600" }],
        },
        { text: "loaded" },
      ],
    });
    // OpenCode's own permissions decide what it asks about.
    const config = `${world.home}/.config/opencode/opencode.json`;
    const own = JSON.parse(await Deno.readTextFile(config));
    const permission = { bash: "allow", edit: "ask", "bulkhead_*": "ask" };
    await Deno.writeTextFile(config, JSON.stringify({ ...own, permission }));
    const driver = () => acpDriver({ command: [opencode!, "acp"] });
    let id: string | undefined;
    {
      await using hosted = await hostAgent(driver(), world, { tools: [GREET] });
      id = hosted.session.sessionId;
      assertEquals([hosted.session.gate?.kind, hosted.session.gate?.verified], [
        "none",
        false,
      ]);
      assertStringIncludes(
        hosted.session.gate?.detail ?? "",
        "asks only, no gate",
      );
      const outcome = await hosted.turn("go");
      assertEquals([outcome.outcome, outcome.text], [
        "completed",
        "workingdone",
      ]);
      assert(
        hosted.judged.some((call) => call.toolName.includes("greet")),
        JSON.stringify(hosted.judged),
      );
      assertStringIncludes(
        world.model.result("greeting")?.content ?? "",
        "hello you",
      );
      assertStringIncludes(
        world.model.result("both")?.content ?? "",
        "outside/b.txt",
      );
      const cut = hosted.turn("again");
      await hosted.until(() =>
        hosted.frames().some((f) =>
          f.kind === "system" && f.status === "in_progress"
        )
      );
      await world.model.reached(3);
      await hosted.session.interrupt();
      assertEquals((await cut).outcome, "aborted");
    }
    await world.quiet();
    assertEquals(await world.list(world.outside), []);
    {
      await using hosted = await hostAgent(driver(), world, { resume: id! });
      assertEquals((await hosted.turn("once more")).text, "loaded");
    }
    assert((await world.list(world.workspace)).includes("s.txt"));
  },
});

Deno.test({
  name:
    "acpDriver() with an adapter from npm: prompts, tools and asks, confined to the workspace",
  ignore: codex === undefined || adapter === undefined,
  async fn() {
    await using world = await makeWorld({
      asides: ["generate a very short title"],
      steps: [
        {
          text: "working",
          calls: [{ do: "write", path: "in.txt", content: "in" }, {
            do: "tool",
            name: "greet",
            input: { who: "you" },
            id: "greeting",
          }],
        },
        { text: "done" },
        { calls: [{ do: "write", path: "{{out}}/a.txt", content: "x" }] },
      ],
    });
    const modules = adapter!.slice(0, adapter!.indexOf("/node_modules/"));
    const vendor = codex!.slice(0, codex!.lastIndexOf("/bin/"));
    const driver = acpDriver({
      command: ["node", adapter!],
      env: { CODEX_PATH: codex! },
      state: [`${world.home}/.codex`],
      read: [modules, vendor],
    });
    await using hosted = await hostAgent(driver, world, { tools: [GREET] });
    const outcome = await hosted.turn("go");
    assertEquals([outcome.outcome, outcome.text], ["completed", "workingdone"]);
    assertStringIncludes(
      world.model.result("greeting")?.content ?? "",
      "hello you",
    );
    assertEquals(await world.list(world.workspace), ["in.txt"]);
    // This adapter takes a rejected call for the end of the turn.
    const denied = await hosted.turn("outside");
    const seen = JSON.stringify([
      world.model.requests.map((
        asked,
      ) => [asked.conversation, asked.step, asked.request.results.at(-1)]),
      hosted.frames().slice(-20),
    ]);
    assertEquals([denied.outcome, denied.denied[0]?.reason], [
      "aborted",
      OFF_LIMITS,
    ], seen);
    assertEquals(await world.list(world.outside), []);
    await hosted.session.close();
    await world.quiet();
  },
});

Deno.test({
  name: "acpDriver() refuses in one line when the program is missing or broken",
  async fn() {
    await using world = await makeWorld({ steps: [] });
    const start = (command: string[], readyMs?: number) =>
      acpDriver({ command, readyMs }).start({
        cwd: world.workspace,
        env: { ...world.env },
        judge: () => ({ decision: "deny" }),
      });
    const says = async (command: string[], part: string, readyMs?: number) => {
      const error = await assertRejects(
        () => start(command, readyMs),
        Error,
        part,
      );
      assert(!error.message.includes("\n"), error.message);
    };
    await says(
      ["no-such-agent"],
      `the program "no-such-agent" is not on the PATH`,
    );
    await says(["sh", "-c", "echo no way >&2; exit 3"], "no way");
    await says(["sh", "-c", "sleep 600"], "no session within 500 ms", 500);
    await world.quiet();
  },
});
