/** `bulkhead run` with the real Codex and OpenCode: the same promises as with Claude Code. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { type AgentWorld, makeWorld } from "./support/agent_world.ts";
import { findHarness } from "./support/harnesses.ts";

const MOD = new URL("../mod.ts", import.meta.url).pathname;

async function bulkheadRun(
  world: AgentWorld,
  name: "codex" | "opencode",
  program: string,
  args: string[],
): Promise<{ code: number; out: string; err: string }> {
  const bin = `${world.home}/bin`;
  await Deno.mkdir(bin, { recursive: true });
  await Deno.symlink(program, `${bin}/${name}`);
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", MOD, "run", "--agent", name, ...args],
    clearEnv: true,
    env: { ...world.env, PATH: `${bin}:${world.env.PATH}` },
    stdin: "null",
  }).output();
  return {
    code,
    out: new TextDecoder().decode(stdout),
    err: new TextDecoder().decode(stderr),
  };
}

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
      const { code, out, err } = await bulkheadRun(world, name, program ?? "", [
        "--cwd",
        world.workspace,
        "--approve",
        "go",
      ]);
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
