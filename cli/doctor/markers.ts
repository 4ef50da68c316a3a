import { listWorkers } from "@bulkhead/worker";
import { YOUNG_MS } from "../run/places.ts";
import type { Finding, Scene } from "./finding.ts";

/**
 * Looks for markers of sessions that are gone: what a Codex or OpenCode session is
 * judged by when its host has died, and nothing once the session has ended too.
 *
 * @param scene The home.
 * @returns One line per left-over marker, or one that says there is none.
 */
export async function checkMarkers({ home, fix }: Scene): Promise<Finding[]> {
  const area = "markers";
  const markers = await markerNames(`${home}/markers`);
  const live = new Set<string>();
  if (markers.length > 0) {
    for (const { shortId, state } of await listWorkers(`${home}/workers`)) {
      if (state !== "exited" && state !== "orphaned") live.add(shortId);
    }
  }
  const findings: Finding[] = [];
  for (const name of markers) {
    const session = name.replace(/^fleet-/, "").replace(/\.json$/, "");
    if (live.has(session) || await isYoung(`${home}/markers/${name}`)) continue;
    if (fix) await Deno.remove(`${home}/markers/${name}`);
    findings.push({
      area,
      status: fix ? "mended" : "warning",
      text: `${home}/markers/${name} is left from a session that was killed`,
      fix: "bulkhead doctor --fix",
    });
  }
  return findings.length > 0
    ? findings
    : [{ area, status: "ok", text: "no left-over marker" }];
}

/** A session writes its marker before anything else is seen of it. */
async function isYoung(path: string): Promise<boolean> {
  const { mtime } = await Deno.stat(path);
  return Date.now() - (mtime?.getTime() ?? 0) < YOUNG_MS;
}

async function markerNames(dir: string): Promise<string[]> {
  try {
    const names = await Array.fromAsync(Deno.readDir(dir), ({ name }) => name);
    return names.filter((name) => name.endsWith(".json")).toSorted();
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return [];
    throw error;
  }
}
