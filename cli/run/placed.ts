import { loadConfig, type ResolvedConfig } from "@bulkhead/plugins/config";
import { ensurePrivateDir, writeFileAtomic } from "@bulkhead/sandbox";
import { processIo } from "@bulkhead/sandbox/command";
import {
  createPosture,
  guardDecider,
  guardMarker,
  realRoot,
  type Worker,
} from "@bulkhead/worker";
import type {
  FleetCommandOptions,
  HostJudges,
  HostScope,
} from "@bulkhead/worker/fleet-cli";
import { SessionHooks } from "./hooks.ts";
import { follow } from "./follow.ts";
import { allowList } from "./settings.ts";

/**
 * What judges and serves the sessions that a machine takes: the guard and the posture
 * as for `bulkhead run`, and its trusted plugins where it offers them.
 *
 * @returns The options of the fleet's command line.
 */
export function fleetOptions(): FleetCommandOptions {
  return {
    host: {
      async judges({ cwd, shortId }, scope) {
        const { home } = scope;
        const config = await loadConfig({ home, workspace: cwd });
        const roots = [cwd, ...await Promise.all(scope.roots.map(realRoot))];
        const guarded = { roots, protectedPaths: [home] };
        const marker = `${home}/markers/fleet-${shortId}.json`;
        await ensurePrivateDir(`${home}/markers`);
        await writeFileAtomic(
          marker,
          `${JSON.stringify(guardMarker(guarded))}\n`,
        );
        const guard = await guardDecider({
          ...guarded,
          home: Deno.env.get("HOME"),
          onWrite: () => {},
        });
        const posture = await createPosture({
          cwd,
          rules: { allow: [...allowList(config.user), ...scope.allow] },
          roots,
          ...scope.trustProject ? { project: "trusted" } : {},
        });
        const plugins = scope.plugins
          ? await openPlugins(cwd, config, scope)
          : undefined;
        return {
          ...plugins,
          deciders: [guard, posture, ...plugins?.deciders ?? []],
          marker,
          async close() {
            await plugins?.close?.();
            await Deno.remove(marker).catch(() => {});
          },
        };
      },
    },
  };
}

/** The tools and hooks of plugins that are trusted here; nobody is there to be asked about others. */
async function openPlugins(
  workspace: string,
  config: ResolvedConfig,
  { home, log }: HostScope,
): Promise<HostJudges> {
  const { openTools } = await import("./tools.ts");
  const tools = await openTools(
    { trusted: [], pluginDirs: [], isolation: undefined, json: true },
    { home, workspace, claims: undefined },
    config,
    { ...processIo(), canAsk: false },
    () => Promise.resolve(undefined),
  );
  for (const line of tools.notices) log(line);
  let worker: Worker | undefined;
  const hooks = new SessionHooks(Promise.resolve(tools.hooks), {
    id: () => worker?.sessionId ?? "",
    workspace,
    report: log,
  });
  let stop = () => {};
  return {
    deciders: [hooks.decider()],
    tools: tools.registry,
    started(running) {
      worker = running;
      stop = follow(running.session, {
        frame: (_, frame) => hooks.observe(frame),
        verdict: () => {},
        note: log,
      });
      hooks.tell("session_start").catch((error) => log(String(error)));
    },
    async close() {
      stop();
      await hooks.settled();
      if (worker !== undefined) await hooks.tell("session_end");
      await tools.close();
    },
  };
}
