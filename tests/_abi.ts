/**
 * Builds the native plugins of the tests, once per content.
 *
 * @module
 */

import { probeIsolation } from "@bulkhead/sandbox";
import {
  loadNativePlugin,
  type NativePlugin,
  type NativePluginOptions,
} from "@bulkhead/abi";
import { hasTool, skip } from "./support/require_tool.ts";
import { fromFileUrl } from "@std/path";

const ROOT = fromFileUrl(new URL("..", import.meta.url));
const OWN = `${ROOT}tests/fixtures/abi`;
const CASES = `${ROOT}tests/fixtures/cases/abi`;

/** Whether the C plugins can be built and confined here; a line says why not. */
export async function canRun(): Promise<boolean> {
  if (!hasTool("gcc")) return false;
  const probe = await probeIsolation();
  if (probe.backend === "none") {
    skip("bwrap", probe.fix ?? "apt-get install bubblewrap");
    return false;
  }
  return true;
}

/** Builds a C plugin of ours, or of the cases when its name starts with a digit. */
export async function build(
  name: string,
  flags: readonly string[] = [],
): Promise<string> {
  const dir = /^\d/.test(name) ? CASES : OWN;
  const source = `${dir}/${name}.c`;
  const texts = await Promise.all(
    [source, `${CASES}/common.c`].map((file) => Deno.readTextFile(file)),
  );
  const argv = [
    "gcc",
    "-std=gnu11",
    "-O1",
    "-g",
    "-w",
    "-shared",
    "-fPIC",
    ...flags,
  ];
  const key = await crypto.subtle.digest(
    "SHA-256",
    new TextEncoder().encode(JSON.stringify([texts, argv])),
  );
  const out = `${ROOT}.cache/abi/${
    new Uint8Array(key).toHex().slice(0, 16)
  }/${name}.so`;
  try {
    await Deno.stat(out);
    return out;
  } catch {
    // Built below.
  }
  await Deno.mkdir(out.slice(0, out.lastIndexOf("/")), { recursive: true });
  const half = `${out}.${crypto.randomUUID()}`;
  await command([...argv, "-o", half, source, "-lpthread"]);
  await Deno.rename(half, out);
  return out;
}

/** Runs a command that has to succeed. */
export async function command(
  argv: readonly string[],
  options: Deno.CommandOptions = {},
): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(argv[0] ?? "", {
    args: argv.slice(1),
    ...options,
  }).output();
  if (!success) {
    throw new Error(`${argv.join(" ")}: ${new TextDecoder().decode(stderr)}`);
  }
  return new TextDecoder().decode(stdout);
}

/** Loads a built plugin with short limits. */
export async function open(
  name: string,
  options: NativePluginOptions = {},
  flags: readonly string[] = [],
): Promise<NativePlugin> {
  return await loadNativePlugin(await build(name, flags), {
    context: {},
    ...options,
    limits: { cancelGraceMs: 400, stuckMs: 900, ...options.limits },
    restart: { backoffMs: [10], maxRestarts: 50, ...options.restart },
  });
}

/** The text of a tool's answer. */
export async function say(
  plugin: NativePlugin,
  tool: string,
  args: unknown = {},
): Promise<string> {
  const { content } = await plugin.callTool(tool, args);
  return content.map((part) =>
    part.type === "text" ? part.text : `(${part.type})`
  ).join("");
}

/** What must be zero after any series of calls. */
const ZERO = [
  "live_strings",
  "bad_free",
  "foreign_free",
  "live_handles",
  "double_destroy",
  "use_after_destroy",
  "polls_after_done",
];

/** The plugin's own accounting, with what is wrong in it. */
export async function accounts(
  plugin: NativePlugin,
): Promise<{ counts: Record<string, number>; wrong: string[] }> {
  const counts: Record<string, number> = JSON.parse(
    await say(plugin, "probe_stats"),
  );
  const wrong = ZERO.filter((key) => counts[key] !== 0);
  if (counts.host_strings_seen !== counts.host_strings_freed) {
    wrong.push("host_strings");
  }
  return { counts, wrong };
}
