import { isRecord } from "./_text.ts";
import { readToml, tomlProblemText } from "./_toml.ts";

/** The name of the user's configuration in the Bulkhead home. */
export const CONFIG_NAME = "config.toml";

/** The name of a workspace's configuration. */
export const PROJECT_CONFIG_NAME = ".bulkhead.toml";

/** The workspace's table without what a workspace may not say; what was cut out is told. */
export function projectTable(
  text: string | undefined,
  notices: string[],
): Record<string, unknown> {
  if (text === undefined) return {};
  const read = readToml(text);
  if ("problem" in read) {
    notices.push(
      `${PROJECT_CONFIG_NAME} ignored: ${tomlProblemText(read.problem)}`,
    );
    return {};
  }
  const { capabilities, ...rest } = read.table;
  if (!isRecord(capabilities)) return rest;
  const { plugins, trust, ...others } = capabilities;
  for (const [name, cut] of [["plugins", plugins], ["trust", trust]]) {
    if (cut === undefined) continue;
    notices.push(
      `${PROJECT_CONFIG_NAME}: [capabilities.${name}] ignored: a workspace cannot enable plugins, add directories or loosen trust; set it in ${CONFIG_NAME} of the Bulkhead home`,
    );
  }
  return { ...rest, capabilities: others };
}
