/** One session, one writer, with the real agents: whoever goes on with a session that is written is refused. */

import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import {
  type AgentDriver,
  claudeDriver,
  readClaim,
  runWorker,
} from "@bulkhead/worker";
import { acpDriver } from "../worker/agents/acp.ts";
import { codexDriver } from "../worker/agents/codex.ts";
import { openCodeDriver } from "../worker/agents/opencode.ts";
import { type AgentWorld, makeWorld } from "./support/agent_world.ts";
import { findHarness } from "./support/harnesses.ts";
import { hasTool } from "./support/require_tool.ts";

const [claude, codex, opencode] = await Promise.all(
  (["claude", "codex", "opencode"] as const).map(findHarness),
);
const confined = hasTool("bwrap");

/** The agents, and under which other names each takes its own session. */
const AGENTS: readonly {
  readonly name: string;
  readonly driver: (() => AgentDriver) | undefined;
  readonly others?: (session: string) => string[];
}[] = [
  {
    name: "claude",
    driver: claude === undefined
      ? undefined
      : () => claudeDriver({ command: [claude] }),
  },
  {
    name: "codex",
    driver: codex === undefined
      ? undefined
      : () => codexDriver({ command: [codex] }),
    others: (session) => [session.toUpperCase(), session.replaceAll("-", "")],
  },
  {
    name: "opencode",
    driver: opencode === undefined
      ? undefined
      : () => openCodeDriver({ command: [opencode] }),
  },
  {
    name: "acp:opencode",
    driver: opencode !== undefined && confined
      ? () => acpDriver({ command: [opencode, "acp"] })
      : undefined,
  },
];

function host(
  world: AgentWorld,
  shortId: string,
  driver: AgentDriver,
  resume?: string,
) {
  return runWorker({
    shortId,
    home: `${world.home}/workers`,
    claimsRoot: world.home,
    cwd: world.workspace,
    env: world.env,
    driver,
    ...(resume === undefined ? {} : { resume }),
  });
}

for (const { name, driver, others } of AGENTS) {
  Deno.test({
    name: `one writer: a session of ${name} is not resumed while it is written`,
    ignore: driver === undefined,
    async fn() {
      assert(driver !== undefined);
      await using world = await makeWorld({
        steps: [{ text: "one" }, { text: "two" }, { text: "three" }],
      });
      let session: string;
      {
        await using first = await host(world, "a", driver());
        assertEquals((await first.ask("go")).outcome, "completed");
        assert(first.sessionId !== undefined);
        session = first.sessionId;
        const claim = await readClaim(`session:${session}`, {
          root: world.home,
        });
        assertEquals(claim?.holder, "stream:a");
        assertEquals(
          claim?.metadata?.agent_pid,
          first.session.driver.status().pid,
        );
        const before = await world.processes();
        for (const resume of [session, ...others?.(session) ?? []]) {
          const second = driver();
          const refused = await assertRejects(
            () => host(world, "b", second, resume),
            Error,
          );
          // Under another spelling of the name Codex itself is asked, and refuses too.
          assertMatch(
            refused.message,
            resume === session ? /"stream:a"/ : /"stream:a"|active writer/,
          );
          assert(!second.status().alive);
        }
        assertEquals(
          (await world.processes()).filter((pid) => !before.includes(pid)),
          [],
        );
        assertEquals((await first.ask("again")).outcome, "completed");
      }
      assertEquals(
        await readClaim(`session:${session}`, { root: world.home }),
        undefined,
      );
      await using next = await host(world, "b", driver(), session);
      assertEquals((await next.ask("more")).outcome, "completed");
    },
  });
}
