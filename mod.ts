/**
 * Bulkhead hosts coding agents with every foreign part in a compartment of its own:
 * a plugin, a shell command, an agent, a native library runs in a subprocess with
 * the least permissions it needs. When it fails, floods, hangs or attacks, the rest
 * stays dry.
 *
 * This module is the roof: the members as namespaces. Each can be imported alone.
 * Run as a program it is the `bulkhead` command line, as `@bulkhead/bulkhead/cli` is,
 * which starts sooner since it loads only what a verb needs.
 *
 * @example Judge a command before it runs
 * ```ts
 * import { guard } from "@bulkhead/bulkhead";
 * import { assertEquals } from "@std/assert";
 *
 * const decision = guard.decideCall(
 *   { toolName: "Bash", toolInput: { command: "cp a.txt /etc/" }, cwd: "/work" },
 *   { active: true, allowedRoots: ["/work"] },
 *   { now: Date.now() },
 * );
 * assertEquals(decision.allow, false);
 * ```
 *
 * @example A harness in twenty lines: the AI SDK with the tools of trusted plugins
 * ```ts ignore
 * import { plugins } from "@bulkhead/bulkhead";
 * import * as ai from "ai";
 *
 * const outcome = await plugins.loadPlugins({
 *   config: {
 *     enabled: true,
 *     dirs: ["./plugins"],
 *     sandbox: "required",
 *     trust: { enabled: true, default: "ask" },
 *   },
 *   home: "/home/me/.bulkhead",
 *   workspace: Deno.cwd(),
 *   pins: [plugins.parseTrustPin("greeter=sha256:…")],
 * });
 * if (outcome.status !== "loaded") throw new Error(JSON.stringify(outcome));
 *
 * const { text } = await ai.generateText({
 *   model: "anthropic/claude-sonnet-4.5",
 *   tools: plugins.toAiSdkTools(outcome.tools, ai),
 *   prompt: "Greet Ada",
 *   stopWhen: ai.stepCountIs(5),
 * });
 * ```
 *
 * @module
 */

export * as abi from "@bulkhead/abi";
export * as guard from "@bulkhead/guard";
export * as plugins from "@bulkhead/plugins";
export * as sandbox from "@bulkhead/sandbox";
export * as worker from "@bulkhead/worker";
export { bulkheadCommand } from "./cli/main.ts";

import { processIo } from "@bulkhead/sandbox/command";
import { bulkheadCommand } from "./cli/main.ts";

if (import.meta.main) {
  Deno.exit(await bulkheadCommand(Deno.args, processIo()));
}
