import {
  claimPath,
  isClaimLive,
  readClaim,
  releaseClaim,
} from "@bulkhead/worker";
import type { Finding, Scene } from "./finding.ts";

/**
 * Looks for claims whose holder is dead. They do no harm, since the next holder
 * takes them over; mending removes them.
 *
 * @param scene Whether to mend.
 * @returns One line per dead claim, or one that says there is none.
 */
export async function checkClaims({ fix }: Scene): Promise<Finding[]> {
  const area = "claims";
  const findings: Finding[] = [];
  for (const key of await claimedKeys()) {
    const claim = await readClaim(key).catch(() => undefined);
    if (claim === undefined) {
      findings.push({
        area,
        status: "broken",
        text: `the claim file ${claimPath(key)} cannot be read`,
        fix: `look at it, then rm ${claimPath(key)}`,
      });
      continue;
    }
    if (await isClaimLive(claim)) continue;
    if (fix) await releaseClaim(key, claim.holder);
    findings.push({
      area,
      status: fix ? "mended" : "warning",
      text: `${key} is claimed by pid ${claim.pid}, which is gone`,
      fix: "bulkhead doctor --fix",
    });
  }
  return findings.length > 0
    ? findings
    : [{ area, status: "ok", text: "no dead claim" }];
}

/** The keys of all claim files. */
async function claimedKeys(): Promise<string[]> {
  const sample = claimPath("session:x");
  const dir = sample.slice(0, sample.lastIndexOf("/"));
  const keys: string[] = [];
  try {
    for await (const { name, isFile } of Deno.readDir(dir)) {
      if (!isFile || !name.endsWith(".lock")) continue;
      try {
        keys.push(decodeURIComponent(name.slice(0, -".lock".length)));
      } catch {
        // Not a name that we wrote.
      }
    }
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  return keys.sort();
}
