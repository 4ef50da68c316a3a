import { hotParts } from "./tools.ts";
import type { HarnessDescriptor } from "./types.ts";

/** The plugin: its budget is three seconds, so the hook gets two. */
const PLUGIN =
  `// Bulkhead write guard. Staged by \`bulkhead guard install\`, removed by
// \`bulkhead guard teardown\`, which restores what was here before. Do not edit.
import { spawnSync } from "node:child_process";

const EXE = {exe};
const MARKER = {marker};
const FAIL_CLOSED = {fail_closed};
const NO_ANSWER = "eval guard: the hook gave no answer";

export default {
  name: "bulkhead-guard",
  manifest: { capabilities: ["hooks"] },
  hooks: {
    async beforeTool(context) {
      const call = context?.toolCall ?? {};
      const payload = JSON.stringify({
        tool_name: call.toolName,
        tool_input: context?.input ?? call.input ?? {},
        cwd: context?.cwd ?? context?.snapshot?.cwd ?? process.cwd(),
      });
      const result = spawnSync(EXE, ["guard-hook", "--harness", "cline", ...(FAIL_CLOSED ? ["--fail-closed"] : []), MARKER], {
        input: payload,
        encoding: "utf8",
        timeout: 2000,
        maxBuffer: 8 * 1024 * 1024,
        stdio: ["pipe", "pipe", "ignore"],
      });
      const stdout = (result.stdout ?? "").trim();
      if (!stdout) {
        if (FAIL_CLOSED && result.status !== 0) return { skip: true, reason: NO_ANSWER };
        return undefined;
      }
      let reason = stdout;
      try {
        const verdict = JSON.parse(stdout);
        if (typeof verdict?.reason === "string") reason = verdict.reason;
      } catch {
        // Not a verdict: the text itself is the reason.
      }
      return { skip: true, reason };
    },
  },
};
`;

/** Cline (its command line; the editor extension has another hook system). */
export const cline: HarnessDescriptor = {
  ...hotParts("cline"),
  title: "Cline",
  program: "cline",
  configDirs: [".cline"],
  guard: {
    engine: "opencode-plugin",
    pluginFile: ".cline/plugins/bulkhead-guard/index.js",
    plugin: PLUGIN,
  },
  proof: "real program",
  notes: [
    "Providers that run tools themselves (claude-code, codex) never reach a hook: do not use them under the guard.",
  ],
};
