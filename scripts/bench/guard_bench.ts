import { decideCall, decideLine } from "@bulkhead/guard";
import { HOSTILE_COMMANDS } from "./_hostile_commands.ts";
import { type BenchCase, median } from "./harness.ts";

const CASES = new URL(
  "../../tests/fixtures/cases/guard/cases.jsonl",
  import.meta.url,
);

/** Shell calls of the shared corpus that are judged in a second. */
async function decisionsPerSecond(): Promise<number> {
  const text = await Deno.readTextFile(CASES);
  const lines: unknown[] = text.trim().split("\n").map((line) =>
    JSON.parse(line)
  );
  const shell = lines.filter((line) =>
    typeof line === "object" && line !== null && "tool_name" in line &&
    (line.tool_name === "Bash" || line.tool_name === "bash")
  );
  const rates: number[] = [];
  for (let round = 0; round < 40; round++) {
    const start = performance.now();
    for (let i = 0; i < 5; i++) {
      for (const line of shell) decideLine(line, { now: 0, home: "/home/me" });
    }
    rates.push(shell.length * 5 / (performance.now() - start) * 1000);
  }
  return median(rates.slice(10));
}

/** The slowest of the hostile texts, in milliseconds; the better of two runs of each. */
function slowestHostile(): Promise<number> {
  let slowest = 0;
  for (const command of Object.values(HOSTILE_COMMANDS)) {
    const call = { toolName: "Bash", toolInput: { command }, cwd: "/work/env" };
    const times = [0, 1].map(() => {
      const start = performance.now();
      decideCall(call, { active: true, allowedRoots: ["/work/env"] }, {
        now: 0,
      });
      return performance.now() - start;
    });
    slowest = Math.max(slowest, Math.min(...times));
  }
  return Promise.resolve(slowest);
}

/** What judging costs. */
export const benches: BenchCase[] = [
  {
    area: "guard",
    name: "decide on the shell calls of the shared corpus",
    bound: 20_000,
    keep: "at least",
    unit: "calls/s",
    noise: 0.3,
    measure: decisionsPerSecond,
  },
  {
    area: "guard",
    name: "decide on the slowest hostile text of 256 KiB",
    bound: 150,
    keep: "at most",
    unit: "ms",
    measure: slowestHostile,
  },
];
