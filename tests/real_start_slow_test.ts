/** `worker start` with real agents: the worker in the background has what its driver needs, and no more. */

import { assertEquals, assertStringIncludes } from "@std/assert";
import { fromFileUrl } from "@std/path";
import { makeWorld } from "./support/agent_world.ts";
import { findHarness } from "./support/harnesses.ts";

const CLI = fromFileUrl(new URL("../worker/cli.ts", import.meta.url));
const CONFIG = fromFileUrl(new URL("../deno.json", import.meta.url));
const DECODER = new TextDecoder();

const AGENTS = [
  { name: "claude", program: "claude", gate: ["callback", true] },
  { name: "codex", program: "codex", gate: ["hook", true] },
  { name: "opencode", program: "opencode", gate: ["plugin", true] },
  { name: "acp", program: "opencode", gate: ["none", false] },
] as const;

for (const { name, program, gate } of AGENTS) {
  const binary = await findHarness(program);
  Deno.test({
    name:
      `worker start: ${name} in the background, from its first turn to its end`,
    ignore: binary === undefined,
    async fn() {
      await using world = await makeWorld({ steps: [{ text: "hello there" }] });
      const say = async (...args: string[]) => {
        const { code, stdout, stderr } = await new Deno.Command(
          Deno.execPath(),
          {
            args: [
              "run",
              "-A",
              `--config=${CONFIG}`,
              "--no-lock",
              CLI,
              ...args,
            ],
            clearEnv: true,
            env: { ...world.env },
            cwd: world.workspace,
          },
        ).output();
        return {
          code,
          out: DECODER.decode(stdout),
          err: DECODER.decode(stderr),
        };
      };
      const agent = name === "acp"
        ? ["--agent", `acp:${binary} acp`]
        : ["--agent", name, "--", binary!];
      const started = await say("start", "demo", "--json", ...agent);
      assertEquals(started.code, 0, started.out);
      const told = JSON.parse(started.out);
      assertEquals([told.gate.kind, told.gate.verified], [...gate]);
      const status = JSON.parse((await say("status", "demo", "--json")).out);
      assertEquals(status.sessionId, told.session);
      const asked = await say("ask", "demo", "hi");
      assertEquals(asked.code, 0, asked.err);
      assertStringIncludes(asked.out, "hello there");
      assertEquals((await say("stop", "demo")).code, 0);
      await world.quiet();
      assertEquals(await world.list(world.workspace), []);
    },
  });
}
