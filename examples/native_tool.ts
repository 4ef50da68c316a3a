// deno-lint-ignore-file no-console -- an example that people copy
/**
 * A native plugin's tool beside all others, from one registry: in a process of its
 * own, confined, with a deadline.
 *
 * ```sh
 * bulkhead abi new weather --lang c && make -C weather
 * deno run -A examples/native_tool.ts weather/dist/libweather.so weather_count '{"to":3}'
 * ```
 */
import { inspectLibrary, loadNativePlugin, nativeTools } from "@bulkhead/abi";
import { ToolRegistry } from "@bulkhead/plugins";

const [library, name = "", args = "{}"] = Deno.args;
if (library === undefined) {
  console.error("usage: native_tool.ts LIBRARY [TOOL [JSON]]");
  Deno.exit(2);
}

// None of its code runs here: a library that does not fit is refused before.
const { sha256 } = await inspectLibrary(library);

await using plugin = await loadNativePlugin(library, {
  sha256, // these very bytes, and no others
  isolation: "preferred",
});
const registry = new ToolRegistry();
for (const tool of nativeTools(plugin, { timeoutMs: 10_000 })) {
  registry.add(tool);
}

const tool = registry.get(name) ?? registry.list()[0];
if (tool === undefined) throw new Error(`"${library}" registers no tool`);
const { content, isError } = await tool.execute(JSON.parse(args));
console.log(tool.name, isError ? "failed:" : "answered:", content);
