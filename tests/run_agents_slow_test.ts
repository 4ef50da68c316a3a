/** `bulkhead run` with the real Codex and OpenCode: the same promises as with Claude Code. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { makeWorld } from "./support/agent_world.ts";
import { findHarness } from "./support/harnesses.ts";
import { runWithAgent } from "./support/run_world.ts";

for (const name of ["codex", "opencode"] as const) {
  const program = await findHarness(name);
  Deno.test({
    name:
      `bulkhead run --agent ${name}: gate verified, inside allowed, outside denied, nothing left`,
    ignore: program === undefined,
    async fn() {
      await using world = await makeWorld({
        steps: [
          {
            text: "on it",
            calls: [{ do: "shell", command: "echo in > {{ws}}/in.txt" }],
          },
          { calls: [{ do: "shell", command: "echo x > {{out}}/b.txt" }] },
          { text: "done" },
        ],
      });
      const { code, out, err } = await runWithAgent(
        world,
        name,
        program ?? "",
        ["--agent", name, "--cwd", world.workspace, "--approve", "go"],
      );
      assertEquals(code, 0, out + err);
      assertStringIncludes(out, ", verified; workspace");
      assertStringIncludes(out, "done");
      assertEquals(await world.list(world.outside), [], out);
      assertEquals(
        (await world.list(world.workspace)).filter((f) => f === "in.txt"),
        ["in.txt"],
        out,
      );
      assertStringIncludes(out, "denied by guard");
      world.model.assertFinished();
      await world.quiet();
    },
  });
}
