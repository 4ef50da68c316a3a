/**
 * When the agent asks before it runs a tool: settings rules, modes, the
 * working directory. The hook is asked before any of this.
 *
 * @module
 */
import { isInside, resolveTarget } from "@bulkhead/sandbox/paths";
import type { AgentArguments } from "./argv.ts";
import { isJson, type Json } from "./output.ts";

/** The rules in force. */
export interface Rules {
  /** Allowed without a question. */
  allow: string[];
  /** Refused without a question. */
  deny: string[];
  /** Asked whatever else says. */
  ask: string[];
  /** Command hooks and callbacks off (`disableAllHooks`); callbacks run all the same. */
  disableAllHooks: boolean;
}

/** What the rules say about one call. */
export type RuleVerdict =
  | { kind: "allow" }
  | { kind: "deny"; message: string }
  | { kind: "ask"; reasonType?: string; reason?: string };

const READERS = ["Read", "Glob", "Grep", "NotebookRead"];
const WRITERS = ["Write", "Edit", "NotebookEdit", "MultiEdit"];
const FREE = ["Task", "Agent", "TodoWrite", "TaskOutput", "ExitPlanMode"];
const READ_ONLY_COMMAND =
  /^\s*(?:sleep|echo|pwd|ls|cat|head|tail|wc|id|whoami|true|false|date|uname|hostname|git (?:status|log|diff))(?:\s[^|&;<>$`\\()]*)?$/;

/** Reads settings from flags, the user's file and the project's, as far as the sources say. */
export async function loadRules(
  args: AgentArguments,
  cwd: string,
): Promise<Rules> {
  const rules: Rules = {
    allow: [...args.allowed],
    deny: [...args.disallowed],
    ask: [],
    disableAllHooks: false,
  };
  const home = Deno.env.get("HOME");
  const trusted = await isTrusted(home, cwd);
  const files: [string, boolean][] = [];
  if (args.settingSources.includes("user") && home) {
    files.push([`${home}/.claude/settings.json`, true]);
  }
  if (args.settingSources.includes("project")) {
    files.push([`${cwd}/.claude/settings.json`, trusted]);
  }
  if (args.settingSources.includes("local")) {
    files.push([`${cwd}/.claude/settings.local.json`, trusted]);
  }
  for (const [path, allowCounts] of files) {
    mergeRules(rules, await readJson(path), allowCounts);
  }
  for (const source of args.settings) {
    const text = source.trimStart().startsWith("{") ? source : undefined;
    mergeRules(
      rules,
      text === undefined ? await readJson(source) : parse(text),
      true,
    );
  }
  return rules;
}

/** What the rules say about a call whose paths are already absolute. */
export function judge(
  rules: Rules,
  mode: string,
  cwd: string,
  tool: string,
  input: Json,
): RuleVerdict {
  if (rules.deny.some((rule) => matches(rule, tool, input))) {
    return {
      kind: "deny",
      message: `Permission to use ${tool} has been denied.`,
    };
  }
  if (tool === "AskUserQuestion") return { kind: "ask" };
  if (rules.ask.some((rule) => matches(rule, tool, input))) {
    return { kind: "ask", reasonType: "rule" };
  }
  if (mode === "bypassPermissions") return { kind: "allow" };
  if (rules.allow.some((rule) => matches(rule, tool, input))) {
    return { kind: "allow" };
  }
  if (FREE.includes(tool)) return { kind: "allow" };
  const path = typeof input.file_path === "string"
    ? input.file_path
    : undefined;
  if (
    READERS.includes(tool) || (WRITERS.includes(tool) && mode === "acceptEdits")
  ) {
    if (
      path === undefined ||
      isInside(resolveTarget(path, cwd), resolveTarget(cwd, "/"))
    ) {
      return { kind: "allow" };
    }
  }
  if (
    path !== undefined &&
    !isInside(resolveTarget(path, cwd), resolveTarget(cwd, "/"))
  ) {
    return {
      kind: "ask",
      reasonType: "workingDir",
      reason: "Path is outside allowed working directories",
    };
  }
  if (tool === "Bash" && READ_ONLY_COMMAND.test(String(input.command ?? ""))) {
    return { kind: "allow" };
  }
  return { kind: "ask" };
}

/** The suggestions and the description an ask carries. */
export function describeAsk(
  tool: string,
  input: Json,
  cwd: string,
): { description: string; suggestions?: Json[] } {
  const path = typeof input.file_path === "string"
    ? input.file_path
    : undefined;
  if (path === undefined) {
    const text = input.description ?? input.command ?? tool;
    return { description: String(text) };
  }
  const inside = path.startsWith(cwd + "/");
  const description = inside ? path.slice(cwd.length + 1) : path;
  const parent = path.slice(0, path.lastIndexOf("/"));
  if (WRITERS.includes(tool)) {
    const mode = {
      type: "setMode",
      mode: "acceptEdits",
      destination: "session",
    };
    const directories = {
      type: "addDirectories",
      directories: [parent],
      destination: "session",
    };
    return { description, suggestions: inside ? [mode] : [mode, directories] };
  }
  return {
    description,
    suggestions: [{
      type: "addRules",
      rules: [{ toolName: tool, ruleContent: `/${parent}/**` }],
      behavior: "allow",
      destination: "session",
    }],
  };
}

function matches(rule: string, tool: string, input: Json): boolean {
  const open = rule.indexOf("(");
  const name = (open < 0 ? rule : rule.slice(0, open)).trim();
  if (
    name !== tool &&
    !(open < 0 && name.startsWith("mcp__") && tool.startsWith(`${name}__`))
  ) {
    return false;
  }
  if (open < 0) return true;
  const content = rule.slice(open + 1, rule.endsWith(")") ? -1 : undefined);
  const subject = String(input.command ?? input.file_path ?? "");
  if (content.endsWith(":*")) return subject.startsWith(content.slice(0, -2));
  if (content === "*") return true;
  if (content.endsWith("/**")) {
    const root = content.slice(0, -3);
    return subject.startsWith(root.startsWith("//") ? root.slice(1) : root);
  }
  return subject === content;
}

function mergeRules(rules: Rules, value: unknown, allowCounts: boolean): void {
  if (!isJson(value)) return;
  if (value.disableAllHooks === true) rules.disableAllHooks = true;
  const { permissions } = value;
  if (!isJson(permissions)) return;
  const list = (key: string): string[] => {
    const found = permissions[key];
    return Array.isArray(found)
      ? found.filter((r) => typeof r === "string")
      : [];
  };
  if (allowCounts) rules.allow.push(...list("allow"));
  rules.deny.push(...list("deny"));
  rules.ask.push(...list("ask"));
}

async function isTrusted(
  home: string | undefined,
  cwd: string,
): Promise<boolean> {
  if (!home) return false;
  const state = await readJson(`${home}/.claude.json`);
  if (!isJson(state) || !isJson(state.projects)) return false;
  const entry = state.projects[cwd];
  return isJson(entry) && entry.hasTrustDialogAccepted === true;
}

async function readJson(path: string): Promise<unknown> {
  try {
    return parse(await Deno.readTextFile(path));
  } catch {
    return undefined;
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
