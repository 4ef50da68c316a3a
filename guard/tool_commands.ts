/**
 * Which commands a shell tool's input holds, and where they run.
 *
 * @module
 */
import { ANY } from "./holes.ts";
import { fieldsOf } from "./targets.ts";

/** Keys under which harnesses pass the directory a command runs in. */
const DIRECTORY_KEYS = [
  "workdir",
  "working_directory",
  "workingDirectory",
  "workingDir",
  "working_dir",
  "work_dir",
  "dir_path",
  "directory",
  "cwd",
];
/** Keys of a command, the usual ones first. */
const COMMAND_KEYS = [
  "command",
  "cmd",
  "script",
  "commands",
  "command_line",
  "commandLine",
  "argv",
  "code",
  "cell_source",
];
/** Keys of what is typed into a shell that runs already. */
const TYPED_KEYS = ["input", "chars", "text", "keys"];

/**
 * The directory that a call's commands run in.
 *
 * @param fields The call's input.
 * @param cwd The directory of the call itself.
 * @param home The home directory, when known.
 * @returns an absolute path, or one that stands for anything.
 */
export function directoryOf(
  fields: Map<string, unknown>,
  cwd: string,
  home: string | undefined,
): string {
  for (const key of DIRECTORY_KEYS) {
    const directory = fields.get(key);
    if (typeof directory !== "string" || directory === "") continue;
    const plain = directory.replace(/^~(?=\/|$)/, home ?? ANY);
    return /^[/\uE000]/.test(plain) ? plain : `${cwd}/${plain}`;
  }
  return cwd;
}

/**
 * Whether a call says that its command is one of PowerShell.
 *
 * @param fields The call's input.
 * @returns `true` when it does.
 */
export function saysPowerShell(fields: Map<string, unknown>): boolean {
  const shell = fields.get("shell");
  return typeof shell === "string" && /^(?:powershell|pwsh)/i.test(shell);
}

/**
 * Whether a patch tool was given a command line that applies a patch elsewhere.
 *
 * @param input The tool's input.
 * @returns `true` for `cd x && apply_patch <<'EOF'`.
 */
export function isShellLine(input: unknown): boolean {
  const command = fieldsOf(input).get("command");
  return typeof command === "string" &&
    /^\s*cd\s[^\n]*\bapply_?patch\b[^\n]*<</.test(command);
}

/**
 * The commands of a shell tool's input: one text, a list of texts, or one argument list.
 *
 * @param fields The input.
 * @param toolName The tool's name, which may say what runs its code.
 * @returns the commands.
 */
export function commandsOf(
  fields: Map<string, unknown>,
  toolName: string,
): (string | string[])[] {
  const action = fieldsOf(fields.get("action"));
  if (action.has("command")) return commandsOf(action, toolName);
  for (const key of COMMAND_KEYS) {
    const value = fields.get(key);
    if (typeof value === "string") {
      if (value.trim() === "") return [];
      if (/^(?:code|cell_source)$/.test(key)) {
        return codeOf(value, fields, toolName);
      }
      return [withArguments(value, fields.get("args"))];
    }
    if (!Array.isArray(value)) continue;
    const items = value.map((item) =>
      typeof item === "string" ? item : fieldsOf(item).get("command")
    ).filter((item) => typeof item === "string");
    if (items.length === 0) return [];
    if (key === "commands") return [items.join("\n")];
    return items.length === 1 ? items : [items];
  }
  if (!TYPES.test(toolName)) return [];
  const typed = TYPED_KEYS.map((key) => fields.get(key)).find((text) =>
    typeof text === "string" && text.trim() !== ""
  );
  return typeof typed === "string" ? [typed] : [];
}

/** Tools that type into a shell. */
const TYPES = /bash|terminal|shell|stdin|tmux|console/i;

/** A program beside the list of its arguments. */
function withArguments(command: string, args: unknown): string | string[] {
  if (!Array.isArray(args)) return command;
  const words = args.filter((arg) => typeof arg === "string");
  return words.length === 0
    ? command
    : [...command.trim().split(/\s+/), ...words];
}

/** What runs a tool's `code`: by what the call or the tool's name says of its language. */
function codeOf(
  code: string,
  fields: Map<string, unknown>,
  toolName: string,
): (string | string[])[] {
  const said = `${fields.get("language") ?? fields.get("lang") ?? ""}`;
  const hint = said === "" ? toolName : said;
  if (/bash|shell|terminal|zsh|(?:^|[^a-z])sh(?:$|[^a-z])|cmd/i.test(hint)) {
    return [code];
  }
  const script = ["node", "-e", code];
  if (/python|jupyter|notebook|cell|__ide__/i.test(hint)) return cellOf(code);
  if (/javascript|typescript|node|deno|bun|^[jt]sx?$/i.test(hint)) {
    return [script];
  }
  return said === "" ? [...cellOf(code), script] : [];
}

/** A cell of a notebook: Python, lines for the shell behind `!`, or a whole script of the shell. */
function cellOf(code: string): (string | string[])[] {
  const script = /^\s*%%(?:bash|sh|script\s+\w+)\b[^\n]*\n([^]*)/.exec(code)
    ?.[1];
  if (script !== undefined) return [script];
  const lines = code.split("\n");
  const shell = lines.flatMap((line) =>
    /^\s*(?:!|%(?:sx|system)\s)\s*(.+)/.exec(line)?.[1] ?? []
  );
  const rest = lines.filter((line) => !/^\s*[!%]/.test(line)).join("\n");
  return [...shell, ["python3", "-c", rest]];
}
