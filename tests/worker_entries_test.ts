/**
 * The programs that a worker starts need exactly the permissions that they are given.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { fromFileUrl } from "@std/path";
import {
  processStart,
  SCRIPTED_AGENT_PERMISSIONS,
  scriptedAgentEntry,
} from "@bulkhead/worker";
import { WATCHDOG_PERMISSIONS } from "../worker/fleet_nats/watchdog.ts";

const root = (path: string) =>
  fromFileUrl(new URL(`../${path}`, import.meta.url));

/** A script that uses everything: a file written and read, a shell, the environment. */
const SCRIPT = JSON.stringify({
  schema: 1,
  turns: [{
    steps: [
      { tool: "Write", input: { file_path: "a.txt", content: "x" } },
      { tool: "Read", input: { file_path: "a.txt" } },
      { tool: "Bash", input: { command: "cat a.txt" } },
      { say: "${last}${env.HOME}" },
    ],
  }],
});

async function playWith(flags: readonly string[]): Promise<boolean> {
  const dir = await Deno.realPath(await Deno.makeTempDir());
  const entry = scriptedAgentEntry([
    "-p",
    "--verbose",
    "--input-format",
    "stream-json",
    "--output-format",
    "stream-json",
    "--permission-mode",
    "bypassPermissions",
    "--sessions",
    `${dir}/sessions`,
    "--script",
    SCRIPT,
  ]);
  const argv = entry.argv.filter((word) =>
    !SCRIPTED_AGENT_PERMISSIONS.includes(word) || flags.includes(word)
  );
  const child = new Deno.Command(argv[0] ?? "", {
    args: argv.slice(1),
    cwd: dir,
    clearEnv: true,
    env: { ...entry.env, HOME: dir, PATH: Deno.env.get("PATH") ?? "" },
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const writer = child.stdin.getWriter();
  const line = { type: "user", message: { role: "user", content: "go" } };
  await writer.write(new TextEncoder().encode(JSON.stringify(line) + "\n"))
    .catch(() => {});
  await writer.close().catch(() => {});
  const { stdout, success } = await child.output();
  await Deno.remove(dir, { recursive: true });
  const text = new TextDecoder().decode(stdout);
  return success && text.includes(`"result":"x${dir}"`);
}

Deno.test("scripted agent plays with its permissions and with none of them missing", async () => {
  assertEquals(await playWith(SCRIPTED_AGENT_PERMISSIONS), true);
  for (const missing of SCRIPTED_AGENT_PERMISSIONS) {
    const rest = SCRIPTED_AGENT_PERMISSIONS.filter((flag) => flag !== missing);
    assertEquals(await playWith(rest), false, `without ${missing}`);
  }
});

/** Whether the watchdog ends a process that nobody vouches for. */
async function watchWith(flags: readonly string[]): Promise<boolean> {
  const agent = new Deno.Command("sh", { args: ["-c", "sleep 60 & wait"] })
    .spawn();
  const start = await processStart(agent.pid);
  const child = new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      `--config=${root("deno.json")}`,
      "--no-prompt",
      "--no-lock",
      ...flags,
      root("worker/fleet_nats/watchdog.ts"),
    ],
    stdin: "piped",
    stdout: "null",
    stderr: "null",
  }).spawn();
  const writer = child.stdin.getWriter();
  const mark = { pid: agent.pid, ticks: start?.ticks };
  const line = JSON.stringify({ agent: mark, holdMs: 100 }) + "\n";
  await writer.write(new TextEncoder().encode(line)).catch(() => {});
  await child.status;
  await writer.close().catch(() => {});
  const ended = await processStart(agent.pid) === undefined;
  if (!ended) agent.kill("SIGKILL");
  await agent.status;
  return ended;
}

Deno.test({
  name: "watchdog ends what nobody vouches for, with its permissions",
  ignore: Deno.build.os !== "linux",
  async fn() {
    assert(await watchWith(WATCHDOG_PERMISSIONS));
    for (const missing of WATCHDOG_PERMISSIONS) {
      const rest = WATCHDOG_PERMISSIONS.filter((flag) => flag !== missing);
      const works = await watchWith(rest);
      assertEquals(works, false, `without ${missing}`);
    }
  },
});
