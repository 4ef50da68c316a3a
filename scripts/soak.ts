// deno-lint-ignore-file no-console -- a maintainer's command
/**
 * `deno task soak [--minutes 10] [--json]`: injects faults over the whole for a
 * bounded time, and counts what was tried, what was lost (must be nothing), and the
 * processes, file descriptors and temporary files that are left (must be none).
 *
 * Everything happens on this machine and in a temporary directory. Faults that need
 * a right that is not there (mounting a small file system) are skipped with a line.
 *
 * @module
 */

import { reasonOf } from "@bulkhead/sandbox";
import { census, compare } from "./soak/census.ts";
import { FAULTS } from "./soak/faults.ts";

/** What came of one kind of fault. */
interface Tally {
  tried: number;
  lost: number;
  skipped?: string;
  losses: string[];
}

async function main(args: string[]): Promise<number> {
  const json = args.includes("--json");
  const minutes = Number(args[args.indexOf("--minutes") + 1] ?? 10) || 10;
  const root = await Deno.realPath(
    await Deno.makeTempDir({ prefix: "bulkhead-soak-" }),
  );
  Deno.env.set("TMPDIR", root);
  Deno.env.set("BULKHEAD_HOME", `${root}/home`);
  Deno.env.set("FNO_CLAIMS_ROOT", `${root}/home`);
  await Deno.mkdir(`${root}/home`);
  // The first round fills caches and pools; what is there after it is the measure.
  const tallies = new Map<string, Tally>();
  for (const fault of FAULTS) await play(fault, root, 0, tallies);
  const before = await census(root);
  const end = performance.now() + minutes * 60_000;
  for (let round = 1; performance.now() < end; round++) {
    for (const fault of FAULTS) {
      if (performance.now() >= end) break;
      await play(fault, root, round, tallies);
    }
  }
  const left = compare(before, await census(root));
  let lost = 0;
  for (const [name, tally] of tallies) {
    lost += tally.lost;
    if (json) console.log(JSON.stringify({ type: "fault", name, ...tally }));
    else if (tally.skipped) console.log(`${name}: skipped: ${tally.skipped}`);
    else console.log(`${name}: ${tally.tried} tried, ${tally.lost} lost`);
    if (!json) { for (const loss of tally.losses) console.log(`  ${loss}`); }
  }
  if (json) console.log(JSON.stringify({ type: "left", lost, ...left }));
  else {
    console.log(
      `left: ${left.processes.length} processes, ${left.descriptors} descriptors, ${left.files.length} files`,
    );
    for (const line of [...left.processes, ...left.files]) {
      console.log(`  ${line}`);
    }
  }
  await Deno.remove(root, { recursive: true });
  return lost + left.processes.length + left.descriptors + left.files.length ===
      0
    ? 0
    : 1;
}

async function play(
  fault: (typeof FAULTS)[number],
  root: string,
  round: number,
  tallies: Map<string, Tally>,
): Promise<void> {
  const tally = tallies.get(fault.name) ?? { tried: 0, lost: 0, losses: [] };
  tallies.set(fault.name, tally);
  if (tally.skipped) return;
  // Short: sockets lie below it.
  const dir = `${root}/f${FAULTS.indexOf(fault)}`;
  await Deno.mkdir(dir, { recursive: true });
  try {
    const skipped = await fault.inject(dir, round);
    if (typeof skipped === "string") tally.skipped = skipped;
    else tally.tried++;
  } catch (error) {
    tally.tried++;
    tally.lost++;
    const message = reasonOf(error);
    if (tally.losses.length < 5) {
      tally.losses.push(`round ${round}: ${message}`);
    }
  } finally {
    await Deno.remove(dir, { recursive: true }).catch(() => {});
  }
}

if (import.meta.main) Deno.exit(await main(Deno.args));
