import { quote } from "./_text.ts";

/** What the placeholders of a manifest stand for. */
export interface Placeholders {
  /** The plugin's own directory. */
  PLUGIN_DIR: string;
  /** The plugin's own writable directory. */
  PLUGIN_DATA_DIR: string;
  /** The workspace of the session. */
  WORKSPACE_DIR: string;
}

const NAMES: readonly string[] = [
  "PLUGIN_DIR",
  "PLUGIN_DATA_DIR",
  "WORKSPACE_DIR",
];

/** `$${` is a literal `${`. */
const PLACEHOLDER = /\$\$\{|\$\{([^}]*)(\}?)/g;

/** What is wrong with the placeholders of a text; undefined when nothing is. */
export function placeholderProblem(text: string): string | undefined {
  for (const [whole, name, end] of text.matchAll(PLACEHOLDER)) {
    if (whole === "$${") continue;
    if (end !== "}" || name === undefined || !NAMES.includes(name)) {
      return `${quote(whole)} in ${quote(text)} is not one of ${
        NAMES.map((known) => `\${${known}}`).join(", ")
      }; write "$\${" for a literal "\${"`;
    }
  }
  return undefined;
}

/** The text with its placeholders replaced; the text has passed {@linkcode placeholderProblem}. */
export function expand(text: string, values: Placeholders): string {
  return text.replace(PLACEHOLDER, (whole, name: string | undefined) => {
    if (whole === "$${") return "${";
    if (
      name === "PLUGIN_DIR" || name === "PLUGIN_DATA_DIR" ||
      name === "WORKSPACE_DIR"
    ) return values[name];
    return whole;
  });
}
