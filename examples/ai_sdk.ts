// deno-lint-ignore-file no-console no-import-prefix -- an example that people copy
/**
 * A harness in twenty lines: the AI SDK with the tools of trusted plugins.
 *
 * ```sh
 * deno run -A examples/ai_sdk.ts PLUGINS_DIR name=sha256:…
 * ```
 *
 * PLUGINS_DIR is the directory that holds the plugin's own directory.
 */
import {
  loadPlugins,
  parseTrustPin,
  toAiSdkTools,
  ToolRegistry,
} from "@bulkhead/plugins";
import * as ai from "npm:ai@6.0.325";
import { model } from "./_model.ts"; // any model of the AI SDK; here one that plays a script

const [dir, pin] = Deno.args;
if (dir === undefined || pin === undefined) {
  console.error(
    "usage: ai_sdk.ts PLUGINS_DIR name=sha256:… (the directory above the plugin's own)",
  );
  Deno.exit(2);
}
const outcome = await loadPlugins({
  config: {
    enabled: true,
    dirs: [dir],
    sandbox: "preferred",
    trust: { enabled: true, default: "ask" },
  },
  home: await Deno.makeTempDir(),
  workspace: Deno.cwd(),
  pins: [parseTrustPin(pin)],
});
if (outcome.status !== "loaded" || outcome.unmet !== undefined) {
  console.error(JSON.stringify(outcome));
  Deno.exit(1);
}

const registry = new ToolRegistry();
for (const tool of outcome.tools) registry.add(tool);
const { text } = await ai.generateText({
  model,
  tools: toAiSdkTools(registry.list(), ai),
  prompt: "Greet Ada",
  stopWhen: ai.stepCountIs(5),
});
console.log(text);
