import { hotParts } from "./tools.ts";
import type { HarnessDescriptor } from "./types.ts";

/** The plugin file as the first release staged it, byte for byte. */
const COMPAT_PLUGIN =
  `// slow-powers eval write guard — staged by \`eval-magic\` into this env's
// project plugins; removed by \`eval-magic teardown-guard\` (or the next run).
// Do not edit: re-staging overwrites, and teardown restores the original.
//
// Dumb forwarder by design: every tool call goes to
// \`eval-magic guard-hook --harness opencode <marker>\` on stdin and the shared
// arbiter inside the binary classifies it. Empty stdout allows; non-empty
// stdout is the deny verdict JSON whose reason blocks the call.
import { spawnSync } from "node:child_process";

const EXE = {exe};
const MARKER = {marker};

export const SlowPowersEvalGuard = async () => {
  return {
    "tool.execute.before": async (input, output) => {
      const payload = JSON.stringify({
        tool_name: input.tool,
        tool_input: output?.args ?? {},
      });
      const result = spawnSync(EXE, ["guard-hook", "--harness", "opencode", MARKER], {
        input: payload,
        encoding: "utf8",
        timeout: 10000,
        stdio: ["pipe", "pipe", "ignore"],
      });
      const stdout = (result.stdout ?? "").trim();
      if (!stdout) {
        return; // allow — also the fail-open path on spawn error or timeout
      }
      let reason = stdout;
      try {
        const verdict = JSON.parse(stdout);
        if (typeof verdict?.reason === "string") {
          reason = verdict.reason;
        }
      } catch {
        // Not the verdict shape — surface the raw stdout as the reason.
      }
      throw new Error(reason);
    },
  };
};
`;

/** The plugin file of today: the session's directory and the call's `workdir` go along. */
const PLUGIN =
  `// Bulkhead write guard. Staged by \`bulkhead guard install\`, removed by
// \`bulkhead guard teardown\`, which restores what was here before. Do not edit.
//
// A forwarder: each tool call goes to the guard's hook on stdin. Nothing on
// stdout allows it; a verdict on stdout blocks it with its reason.
import { spawnSync } from "node:child_process";

const EXE = {exe};
const MARKER = {marker};
const FAIL_CLOSED = {fail_closed};
const NO_ANSWER = "eval guard: the hook gave no answer";

export const BulkheadGuard = async ({ directory } = {}) => {
  return {
    "tool.execute.before": async (input, output) => {
      const args = output?.args ?? {};
      const payload = JSON.stringify({
        tool_name: input.tool,
        tool_input: args,
        cwd: directory,
        workdir: args.workdir,
        session_id: input.sessionID,
      });
      const result = spawnSync(EXE, ["guard-hook", "--harness", "opencode", ...(FAIL_CLOSED ? ["--fail-closed"] : []), MARKER], {
        input: payload,
        encoding: "utf8",
        timeout: 10000,
        maxBuffer: 8 * 1024 * 1024,
        stdio: ["pipe", "pipe", "ignore"],
      });
      const stdout = (result.stdout ?? "").trim();
      if (!stdout) {
        if (FAIL_CLOSED && result.status !== 0) throw new Error(NO_ANSWER);
        return;
      }
      let reason = stdout;
      try {
        const verdict = JSON.parse(stdout);
        if (typeof verdict?.reason === "string") reason = verdict.reason;
      } catch {
        // Not a verdict: the text itself is the reason.
      }
      throw new Error(reason);
    },
  };
};
`;

/** OpenCode. */
export const opencode: HarnessDescriptor = {
  ...hotParts("opencode"),
  title: "OpenCode",
  program: "opencode",
  configDirs: [".opencode"],
  guard: {
    engine: "opencode-plugin",
    pluginFile: ".opencode/plugins/slow-powers-eval-guard.js",
    plugin: PLUGIN,
    compatPlugin: COMPAT_PLUGIN,
  },
  // It installs the types of its plugin interface beside a plugin.
  ownFiles: {
    dir: ".opencode",
    names: [
      ".gitignore",
      "bun.lock",
      "node_modules",
      "package-lock.json",
      "package.json",
    ],
  },
  proof: "real program",
  notes: [
    "OpenCode installs its plugin types from npm into .opencode when it finds a plugin; without a network its start waits for that (npm_config_fetch_retries=0 keeps it short).",
    "`--pure`, `OPENCODE_PURE=1` and `OPENCODE_DISABLE_PROJECT_CONFIG=1` leave the plugin out.",
  ],
};
