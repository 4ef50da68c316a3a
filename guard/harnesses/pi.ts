import { hotParts } from "./tools.ts";
import type { HarnessDescriptor } from "./types.ts";

/** The extension: a handler that throws blocks too, so a broken hook fails closed in pi. */
const PLUGIN =
  `// Bulkhead write guard. Staged by \`bulkhead guard install\`, removed by
// \`bulkhead guard teardown\`, which restores what was here before. Do not edit.
import { spawnSync } from "node:child_process";

const EXE = {exe};
const MARKER = {marker};
const FAIL_CLOSED = {fail_closed};
const NO_ANSWER = "eval guard: the hook gave no answer";

export default function (pi) {
  pi.on("tool_call", async (event, ctx) => {
    const payload = JSON.stringify({
      tool_name: event.toolName,
      tool_input: event.input ?? {},
      cwd: ctx?.cwd ?? process.cwd(),
    });
    const result = spawnSync(EXE, ["guard-hook", "--harness", "pi", ...(FAIL_CLOSED ? ["--fail-closed"] : []), MARKER], {
      input: payload,
      encoding: "utf8",
      timeout: 10000,
      maxBuffer: 8 * 1024 * 1024,
      stdio: ["pipe", "pipe", "ignore"],
    });
    const stdout = (result.stdout ?? "").trim();
    if (!stdout) {
      if (FAIL_CLOSED && result.status !== 0) return { block: true, reason: NO_ANSWER };
      return undefined;
    }
    let reason = stdout;
    try {
      const verdict = JSON.parse(stdout);
      if (typeof verdict?.reason === "string") reason = verdict.reason;
    } catch {
      // Not a verdict: the text itself is the reason.
    }
    return { block: true, reason };
  });
}
`;

/** pi. */
export const pi: HarnessDescriptor = {
  ...hotParts("pi"),
  title: "pi",
  program: "pi",
  configDirs: [".pi"],
  guard: {
    engine: "opencode-plugin",
    pluginFile: ".pi/extensions/bulkhead-guard.js",
    plugin: PLUGIN,
  },
  proof: "real program",
  notes: [
    "`--no-extensions` leaves the guard out; pi has no approval of its own behind it.",
  ],
};
