import { digestPlugin, type TrustPin } from "@bulkhead/plugins";

/** The demo's plugin: one tool in a shell script, with a manifest as people write it. */
const FILES: Record<string, { text: string; mode: number }> = {
  "plugin.toml": {
    mode: 0o644,
    text: `name = "greeting"
version = "1.0.0"

[[tools]]
name = "greet"
command = "./greet.sh"
description = "Greets somebody by name"
params = { type = "object", properties = { name = { type = "string", maxLength = 100 } }, required = ["name"] }
timeout_ms = 10000
annotations = { readOnlyHint = true }
`,
  },
  "greet.sh": {
    mode: 0o755,
    text: `#!/bin/sh
# The model's arguments come as JSON on standard input.
name=$(sed -n 's/.*"name" *: *"\\([^"\\\\]*\\)".*/\\1/p')
printf 'Hello, %s, from a process of its own\\n' "\${name:-somebody}"
`,
  },
};

/**
 * Puts the demo's plugin into a home.
 *
 * @param home The demo's own home.
 * @returns Where it is, and the trust in exactly this content.
 */
export async function installDemoPlugin(
  home: string,
): Promise<{ dir: string; pin: TrustPin }> {
  const dir = `${home}/plugins/greeting`;
  await Deno.mkdir(dir, { recursive: true });
  for (const [name, { text, mode }] of Object.entries(FILES)) {
    await Deno.writeTextFile(`${dir}/${name}`, text);
    await Deno.chmod(`${dir}/${name}`, mode);
  }
  const { hash } = await digestPlugin(dir);
  return { dir, pin: { name: "greeting", hash } };
}
