/**
 * A process that hosts one agent and nothing else, for tests that kill it.
 *
 * Arguments: the agent, its program, the workspace, the guard's marker if there is one.
 *
 * @module
 */
import { type AgentDriver, claudeDriver, Session } from "@bulkhead/worker";
import { codexDriver } from "@bulkhead/worker/codex";
import { openCodeDriver } from "@bulkhead/worker/opencode";

function driverOf(
  agent: string,
  program: string,
  marker: string | undefined,
): AgentDriver {
  const options = {
    command: [program],
    ...(marker === undefined ? {} : { marker }),
  };
  if (agent === "codex") return codexDriver(options);
  return agent === "opencode"
    ? openCodeDriver(options)
    : claudeDriver({ command: [program] });
}

const [agent = "", program = "", cwd = "", marker] = Deno.args;
const session = new Session({
  driver: driverOf(agent, program, marker),
  cwd,
  asks: "deny",
  deciders: [{ name: "host", decide: () => ({ decision: "allow" }) }],
});
await session.start();
await session.send({ text: "go" });
await session.ended;
