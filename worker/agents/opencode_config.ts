/**
 * The user's own configuration of OpenCode, which OpenCode completes with a `$schema` line at every start.
 *
 * @module
 */

import { joinPath, writeFileAtomic } from "@bulkhead/sandbox";

const NAMES = ["config.json", "opencode.json", "opencode.jsonc"];

/**
 * Remembers the user's configuration.
 *
 * @param env The environment of OpenCode.
 * @returns Puts the bytes back where a `$schema` line is all that was added.
 */
export async function keepConfig(
  env: Readonly<Record<string, string>>,
): Promise<() => Promise<void>> {
  const base = env.XDG_CONFIG_HOME || `${env.HOME ?? ""}/.config`;
  const paths = NAMES.map((name) => joinPath(base, `opencode/${name}`));
  if (env.OPENCODE_CONFIG) paths.push(env.OPENCODE_CONFIG);
  const kept = new Map<string, string>();
  for (const path of paths) {
    const text = await Deno.readTextFile(path).catch(() => undefined);
    if (text !== undefined && !text.includes('"$schema"')) kept.set(path, text);
  }
  return async () => {
    for (const [path, before] of kept) {
      try {
        const now = await Deno.readTextFile(path);
        if (now === before || withoutSchema(now) !== withoutSpace(before)) {
          continue;
        }
        // A link in the user's home stays a link.
        const file = await Deno.realPath(path);
        const { mode } = await Deno.stat(file);
        await writeFileAtomic(file, before, { mode: (mode ?? 0o600) & 0o777 });
      } catch {
        // Gone or not ours to write: then it stays as it is.
      }
    }
  };
}

function withoutSpace(text: string): string {
  return text.replace(/\s+/g, "");
}

/** The text without the line that OpenCode adds after the first brace. */
function withoutSchema(text: string): string {
  return withoutSpace(text).replace(/^\{"\$schema":"[^"]*",?/, "{");
}
