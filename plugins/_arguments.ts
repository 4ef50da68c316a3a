import { normalizePath } from "@bulkhead/sandbox/paths";
import { quote } from "./_text.ts";

/** Programs that run the file named by their first file argument. */
const INTERPRETER =
  /^(?:sh|bash|dash|zsh|ksh|fish|python[\d.]*|pypy[\d.]*|node|nodejs|deno|bun|tsx|ts-node|ruby[\d.]*|perl[\d.]*|php[\d.]*|lua[\d.]*|luajit|Rscript|tclsh|pwsh|osascript|uv)$/;

/** Programs that start the program named in their arguments. */
const LAUNCHER =
  /^(?:env|nice|ionice|timeout|nohup|setsid|stdbuf|time|xvfb-run)$/;

/** The words after which an interpreter runs text or a module, not a file. */
const INLINE: readonly [RegExp, RegExp][] = [
  [/^(?:ba|da|z|k|fi|tcl)?sh$/, /^-[A-Za-z]*c$/],
  [/^(?:python|pypy)/, /^-[A-Za-z]*[cm]$/],
  [
    /^(?:node|bun|tsx|ts-node|deno)/,
    /^(?:-[A-Za-z]*[ep]|--eval|--print|eval)$/,
  ],
  [/^php/, /^-r$/],
  [/^(?:ruby|perl|lua|Rscript|osascript)/, /^-[A-Za-z]*[eE]$/],
  [/^pwsh$/, /^-[Cc](?:ommand)?$/],
];

/** Names are told from program text, which may hold slashes too. */
const LOOKS_LIKE_FILE = /^(?=[^\n;(){}]*$).*(?:\/|\.[A-Za-z][\w-]{0,4}$)/;

/** The files of a plugin: path to whether it is a file (and not a directory). */
export type PluginPaths = ReadonlyMap<string, boolean>;

/**
 * Makes arguments that name a file of the plugin absolute. The working directory is the workspace, so a relative one
 * would run or read whatever an untrusted repository has put there.
 *
 * @param argv The command and its arguments, placeholders already replaced.
 * @param plugin The plugin's directory and files.
 * @returns The arguments without the command, or what is wrong with them.
 */
export function resolveArguments(
  argv: readonly string[],
  plugin: { dir: string; paths: PluginPaths },
): { args: string[]; problem?: string } {
  const script = scriptIndex(argv);
  const args: string[] = [];
  for (let index = 1; index < argv.length; index++) {
    const argument = argv[index] ?? "";
    const [, option = "", value = argument] =
      /^(--?[\w-]+=)(.*)$/s.exec(argument) ?? [];
    const resolved = resolveOne(value, plugin, index === script);
    if (resolved.problem !== undefined) {
      return { args, problem: resolved.problem };
    }
    args.push(option + resolved.value);
  }
  return { args };
}

function resolveOne(
  value: string,
  plugin: { dir: string; paths: PluginPaths },
  isScript: boolean,
): { value: string; problem?: string } {
  if (value.startsWith("/") || value.startsWith("-") || value === "") {
    return { value };
  }
  const path = normalizePath(value);
  const isFile = plugin.paths.get(path);
  const isExplicit = /^\.\.?\/./.test(value);
  if (isFile === true || (isFile === false && (isExplicit || isScript))) {
    return { value: `${plugin.dir}/${path}` };
  }
  if (isExplicit || isScript) {
    return {
      value,
      problem: `${
        quote(value)
      } is not a file of the plugin, and the workspace's file must not be run by accident; write \${WORKSPACE_DIR}/… to mean it`,
    };
  }
  return { value };
}

/** Where the file stands that an interpreter in the command line runs; -1 when there is none. */
export function scriptIndex(argv: readonly string[]): number {
  let at = 0;
  if (LAUNCHER.test(baseName(argv[0]))) {
    at = argv.findIndex((word, index) =>
      index > 0 && INTERPRETER.test(baseName(word))
    );
  }
  const interpreter = baseName(argv[at]);
  if (at < 0 || !INTERPRETER.test(interpreter)) return -1;
  const inline = INLINE.find(([name]) => name.test(interpreter))?.[1];
  for (let index = at + 1; index < argv.length; index++) {
    const word = argv[index] ?? "";
    if (word === "-" || inline?.test(word)) return -1;
    if (!word.startsWith("-") && LOOKS_LIKE_FILE.test(word)) return index;
  }
  return -1;
}

function baseName(word: string | undefined): string {
  return word === undefined ? "" : word.slice(word.lastIndexOf("/") + 1);
}
