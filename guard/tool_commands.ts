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
  "dir",
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
];
/** Keys of code. */
const CODE_KEYS = [
  "code",
  "python_code",
  "cell_source",
  "source",
  "snippet",
  "expression",
];
/** Keys of a program whose arguments stand beside it. */
const PROGRAM_KEYS = ["program", "executable", "binary"];
/** Keys of its arguments. */
const ARGUMENT_KEYS = ["args", "arguments", "argv"];
/** Keys of a statement of SQL, and of the file it works on. */
const STATEMENT_KEYS = ["query", "sql", "statement"];
const DATABASE_KEYS = ["db_path", "dbPath", "database", "db", "path"];
/** Keys of what is typed into a shell that runs already. */
const TYPED_KEYS = ["input", "chars", "text", "keys"];

/**
 * The directory that a call's commands run in.
 *
 * @param fields The call's input.
 * @param cwd The directory of the call itself.
 * @param home The home directory, when known.
 * @returns An absolute path, or one that stands for anything.
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
 * @param toolName The tool's name.
 * @returns `true` when it does.
 */
export function saysPowerShell(
  fields: Map<string, unknown>,
  toolName: string,
): boolean {
  const shell = fields.get("shell");
  return typeof shell === "string"
    ? /^(?:powershell|pwsh)/i.test(shell)
    : /powershell|pwsh/i.test(toolName);
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
 * @returns The commands.
 */
export function commandsOf(
  fields: Map<string, unknown>,
  toolName: string,
): (string | string[])[] {
  const action = fieldsOf(fields.get("action"));
  if (action.has("command")) return commandsOf(action, toolName);
  const args = ARGUMENT_KEYS.map((key) => fields.get(key)).find(Array.isArray);
  for (const key of COMMAND_KEYS) {
    const value = fields.get(key);
    if (typeof value === "string") {
      if (value.trim() === "") return [];
      return saysCode(fields)
        ? codeOf(value, fields, toolName)
        : [withArguments(value, args)];
    }
    if (!Array.isArray(value)) continue;
    const items = value.map((item) =>
      typeof item === "string" ? item : fieldsOf(item).get("command")
    ).filter((item) => typeof item === "string");
    if (items.length === 0) return [];
    if (key === "commands") return [items.join("\n")];
    return items.length === 1 ? items : [items];
  }
  const program = textOf(fields, PROGRAM_KEYS);
  if (program !== undefined) return [withArguments(program, args)];
  const code = textOf(fields, CODE_KEYS);
  if (code !== undefined) return codeOf(code, fields, toolName);
  const statement = textOf(fields, STATEMENT_KEYS);
  if (statement !== undefined) {
    return /sqlite|duckdb/i.test(toolName)
      ? [["sqlite3", textOf(fields, DATABASE_KEYS) ?? ":memory:", statement]]
      : [];
  }
  // `mcp__cli__git` with its arguments alone
  const own = /^mcp__.*cli__(\w+)$/.exec(toolName)?.[1];
  if (own !== undefined && args !== undefined) {
    return [withArguments(own, args)];
  }
  const typed = TYPES.test(toolName) ? textOf(fields, TYPED_KEYS) : undefined;
  return typed === undefined ? [] : [typed];
}

function textOf(
  fields: Map<string, unknown>,
  keys: readonly string[],
): string | undefined {
  for (const key of keys) {
    const value = fields.get(key);
    if (typeof value === "string" && value.trim() !== "") return value;
  }
  return undefined;
}

/** Whether a call says that its script is one of another language than the shell's. */
function saysCode(fields: Map<string, unknown>): boolean {
  const said = fields.get("language") ?? fields.get("lang");
  return typeof said === "string" &&
    /^(?:python|py|javascript|js|typescript|ts|node|deno|ruby|perl|php|r|lua)/i
      .test(said);
}

/** Tools that type into a shell. */
const TYPES = /bash|terminal|shell|stdin|tmux|console|^mcp__term/i;

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
  if (/(?:^|_)r$|rscript/i.test(hint)) return [["Rscript", "-e", code]];
  if (/ruby|perl|php|lua/i.test(hint)) {
    const [program = ""] = /ruby|perl|php|lua/i.exec(hint) ?? [];
    return [[program.toLowerCase(), program === "php" ? "-r" : "-e", code]];
  }
  if (/python|pyrun|jupyter|notebook|cell|kernel|__ide__/i.test(hint)) {
    return cellOf(code);
  }
  if (
    /javascript|typescript|node|deno|bun|^[jt]sx?$|(?:^|_)js(?:_|$)/i.test(hint)
  ) {
    return [script];
  }
  return said === "" ? [...cellOf(code), script] : [];
}

/**
 * A cell of a notebook: Python, lines for the shell behind `!`, a directory behind `%cd`, or a
 * whole script or file behind `%%`.
 */
function cellOf(code: string): (string | string[])[] {
  const [, magic = "", place = "", text = ""] =
    /^\s*%%(\w+)(?:[ \t]+([^\n]*))?\n([^]*)/.exec(code) ?? [];
  if (/^(?:bash|sh|script|system)$/.test(magic)) return [text];
  if (/^(?:writefile|file)$/.test(magic)) {
    return [["tee", ...place.trim().split(/\s+/)]];
  }
  const lines = code.split("\n");
  const rest = lines.map((line) => {
    const [, directory] = /^\s*%cd\s+(\S+)/.exec(line) ?? [];
    if (directory === undefined) return /^\s*[!%]/.test(line) ? "" : line;
    return `import os; os.chdir(${JSON.stringify(directory)})`;
  }).filter((line) => !/^\s*\w+\s*=\s*!/.test(line)).join("\n");
  const shell = lines.flatMap((line) =>
    /^\s*(?:(?:\w+\s*=\s*)?!+|%(?:sx|system)\s)\s*(.+)/.exec(line)?.[1] ??
      /^\s*%(cd\s+\S+)/.exec(line)?.[1] ??
      (/^\s*%(?:save|logstart)\s+(?:-\w+\s+)*(\S+)/.exec(line)?.[1] ?? "")
        .replace(/^(?=.)/, "touch ")
  ).filter((line) => line !== "");
  return [
    ...shell.length === 0 ? [] : [shell.join("\n")],
    ["python3", "-c", rest],
  ];
}
