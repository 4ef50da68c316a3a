import { guardStatus, teardownGuard } from "@bulkhead/guard";
import { checkPlugins } from "@bulkhead/plugins";
import { probeIsolation, run } from "@bulkhead/sandbox";
import { describeFailure } from "@bulkhead/sandbox/command";
import {
  listWorkers,
  readRegistry,
  reapWorkers,
  workerHome,
} from "@bulkhead/worker";
import { AGENT_PROGRAMS, programPath } from "../run/agents.ts";
import { checkClaims } from "./claims.ts";
import { checkFleet } from "./fleet.ts";
import { checkHome, takesFile } from "./home.ts";
import { checkMarkers } from "./markers.ts";
import { demoTemp, leftoverDemos, sweepDemos } from "../run/places.ts";
import type { Check, Finding, Scene } from "./finding.ts";

/** What the doctor looks at, in this order. */
export const CHECKS: readonly Check[] = [
  { name: "deno", look: checkDeno },
  { name: "agents", look: checkAgents },
  { name: "sandbox", look: checkSandbox },
  { name: "home", look: (scene) => checkHome(scene) },
  { name: "plugins", look: checkPluginState },
  { name: "guard", look: checkGuard },
  { name: "workers", look: checkWorkers },
  { name: "markers", look: checkMarkers },
  { name: "claims", look: checkClaims },
  { name: "fleet", look: checkFleet },
  { name: "temp", look: checkTemp },
];

function checkDeno(): Promise<Finding[]> {
  const area = "deno";
  const path = Deno.execPath();
  const findings: Finding[] = [{
    area,
    status: "ok",
    text: `deno ${Deno.version.deno} at ${path}`,
  }];
  if (path.includes("/_npx/")) {
    findings.push({
      area,
      status: "warning",
      text: "this deno lies in the cache of npx, which is cleaned one day",
      fix: "npm i -g deno@2.9.6",
    });
  }
  const [major = 0, minor = 0] = Deno.version.deno.split(".").map(Number);
  if (major < 2 || (major === 2 && minor < 9)) {
    findings.push({
      area,
      status: "broken",
      text: `deno ${Deno.version.deno} is older than 2.9`,
      fix: "npm i -g deno@2.9.6",
    });
  }
  return Promise.resolve(findings);
}

async function checkAgents(): Promise<Finding[]> {
  const names = Object.entries(AGENT_PROGRAMS);
  return await Promise.all(names.map(async ([name, { program, fix }]) => {
    const path = programPath(program);
    if (path === undefined) {
      return {
        area: "agents",
        status: "warning" as const,
        text: `${name} is not installed`,
        fix,
      };
    }
    const { code, stdout, timedOut } = await run([path, "--version"], {
      timeoutMs: 20_000,
      maxBytes: 4096,
    });
    const version = stdout.trim().split("\n")[0] ?? "";
    return code === 0
      ? {
        area: "agents",
        status: "ok" as const,
        text: `${name} ${version} at ${path}`,
      }
      : {
        area: "agents",
        status: "broken" as const,
        text: `${name} at ${path} ${
          timedOut ? "does not answer" : `exits with ${code}`
        } when asked for its version`,
        fix,
      };
  }));
}

async function checkSandbox(): Promise<Finding[]> {
  const { backend, detail, fix } = await probeIsolation();
  return [{
    area: "sandbox",
    status: backend === "bubblewrap"
      ? "ok"
      : backend === "none"
      ? "broken"
      : "warning",
    text: detail,
    ...fix === undefined ? {} : { fix },
  }];
}

async function checkPluginState(scene: Scene): Promise<Finding[]> {
  const findings = await checkPlugins(scene);
  const words = { ok: "ok", note: "warning", problem: "broken" } as const;
  return findings
    // The sandbox has a line of its own.
    .filter(({ text }) => !text.startsWith("sandbox: "))
    .map(({ level, text, fix }) => ({
      area: "plugins",
      status: text === "plugins are off" ? "ok" as const : words[level],
      text,
      ...fix === undefined ? {} : { fix },
    }));
}

async function checkGuard(scene: Scene): Promise<Finding[]> {
  const area = "guard";
  const { harnesses } = await guardStatus(scene.workspace);
  const findings: Finding[] = [];
  for (const one of harnesses) {
    if (one.armed && one.problems.length === 0) {
      findings.push({
        area,
        status: "ok",
        text: `${one.harness}: armed until ${one.expiresAt ?? "torn down"}`,
      });
      continue;
    }
    // A guard that judges nothing any more is a left-over, whatever it is that lacks.
    if (scene.fix && !one.armed && one.marker !== "inactive") {
      await teardownGuard(scene.workspace, {
        home: scene.home,
        harness: one.harness,
      });
      findings.push({
        area,
        status: "mended",
        text: `${one.harness}: what was left of a guard is removed`,
      });
      continue;
    }
    const problems = one.problems.length > 0
      ? one.problems
      : [`the marker is ${one.marker}, the hook is ${one.hook}`];
    for (const problem of problems) {
      findings.push({
        area,
        status: one.armed ? "warning" : "broken",
        text: `${one.harness}: ${problem}`,
        fix: "bulkhead guard teardown, or bulkhead doctor --fix",
      });
    }
  }
  return findings.length > 0
    ? findings
    : [{ area, status: "ok", text: "no guard is installed here" }];
}

async function checkWorkers({ home, fix }: Scene): Promise<Finding[]> {
  const area = "workers";
  const places = `${home}/workers`;
  const findings: Finding[] = [];
  const { registry } = workerHome(places);
  try {
    await readRegistry(workerHome(places));
  } catch (error) {
    findings.push({
      area,
      status: "broken",
      text: describeFailure(error).message,
      fix: `look at it, then mv ${registry} ${registry}.damaged`,
    });
  }
  if (fix && findings.length === 0) {
    const { recovered } = await reapWorkers(places);
    for (const { shortId } of recovered) {
      findings.push({
        area,
        status: "mended",
        text: `what was left of ${shortId} is cleared`,
      });
    }
  }
  for (const worker of await listWorkers(places)) {
    const { shortId, state, problem, cwd, pid } = worker;
    if (state === "exited") continue;
    const orphaned = state === "orphaned";
    // Killed, and everything that it left was put in order since.
    if (orphaned && (fix || worker.settled)) continue;
    findings.push({
      area,
      status: problem !== undefined || orphaned || state === "unresponsive"
        ? "broken"
        : "ok",
      text: `${shortId}: ${state}${cwd === null ? "" : ` in ${cwd}`}${
        problem === undefined ? "" : `: ${problem}`
      }`,
      ...orphaned
        ? { fix: "bulkhead doctor --fix" }
        : state === "unresponsive"
        ? { fix: `bulkhead worker stop ${shortId} (pid ${pid})` }
        : {},
    });
  }
  return findings.length > 0
    ? findings
    : [{ area, status: "ok", text: "no session is running" }];
}

async function checkTemp({ fix }: Scene): Promise<Finding[]> {
  const area = "temp";
  if (fix) {
    const swept = await sweepDemos();
    if (swept.length > 0) {
      return swept.map((dir) => ({
        area,
        status: "mended",
        text: `${dir} is removed`,
      }));
    }
  }
  const left = await leftoverDemos();
  const refused = await takesFile(demoTemp());
  if (refused !== undefined) {
    return [{
      area,
      status: "broken",
      text: describeFailure(refused).message,
      fix: "free some space, or set TMPDIR to a directory that can be written",
    }];
  }
  return left.length === 0
    ? [{ area, status: "ok", text: "nothing is left over" }]
    : left.map((dir) => ({
      area,
      status: "broken",
      text: `${dir} is left from a demo that was killed`,
      fix: "bulkhead doctor --fix",
    }));
}
