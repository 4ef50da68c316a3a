/**
 * `guard decide` and `guard explain`: the arbiter from the command line.
 *
 * @module
 */

import { readLines, reasonOf } from "@bulkhead/sandbox";
import { joinPath, normalizePath } from "@bulkhead/sandbox/paths";
import {
  type CommandIo,
  type Flags,
  paint,
  printResult,
  UsageError,
  visibleLines,
} from "@bulkhead/sandbox/command";
import type { Verb } from "./_cli_shared.ts";
import type { Decision } from "./decide.ts";
import type { Effect } from "./effect.ts";
import { decideCall, decideLine } from "./explain.ts";
import { readHookCall } from "./verdict.ts";

/** Longest line of input. */
const MAX_LINE_BYTES = 64 * 1024 * 1024;

/** Bytes of output that are gathered before they are written. */
const FLUSH_AT = 65_536;

/** `guard decide`. */
export const decide: Verb = {
  usage: "decide --jsonl < CALLS",
  summary: "judge one call a line",
  help: [
    'Reads {"id","harness","tool_name","tool_input","cwd","roots"} a line and prints',
    '{"id","allow","reason","effects"} a line. A line that cannot be judged gets {"id","error"}.',
    "Further fields of a line: home, env, hints, protected.",
    "--root DIR stands in for lines without roots.",
  ],
  examples: ["bulkhead guard decide --jsonl < calls.jsonl"],
  flags: { boolean: ["jsonl"], collect: ["root"] },
  async run(flags, io) {
    if (flags.operands.length > 0) {
      throw new UsageError(
        "Cannot judge: guard decide reads its calls from standard input",
        "bulkhead guard decide --jsonl < calls.jsonl",
      );
    }
    if (!flags.on("jsonl")) {
      throw new UsageError(
        "Cannot judge: say how the calls on standard input are written",
        "bulkhead guard decide --jsonl < calls.jsonl",
      );
    }
    const roots = flags.list("root").map(absolute);
    let gathered = "";
    let number = 0;
    let unjudged = 0;
    const flush = () => {
      if (gathered !== "") io.out(gathered);
      gathered = "";
    };
    for await (
      const line of readLines(io.stdin, { maxLineBytes: MAX_LINE_BYTES })
    ) {
      number++;
      if (line.bytes.every((byte) => byte === 0x20 || byte === 0x0d)) continue;
      const answer = line.truncated
        ? {
          id: null,
          error:
            `Cannot judge line ${number}: it is longer than ${MAX_LINE_BYTES} bytes`,
        }
        : judgeLine(new TextDecoder().decode(line.bytes), number, roots);
      if ("error" in answer) unjudged++;
      gathered += JSON.stringify(answer) + "\n";
      if (gathered.length >= FLUSH_AT) flush();
      // Nobody reads the answers any more.
      if (io.unread) break;
    }
    flush();
    if (unjudged === 0) return 0;
    io.err(
      `error: Cannot judge ${unjudged} of ${number} lines: each says why in "error"\n`,
    );
    return 1;
  },
};

/** What is printed for a line. */
type Answer =
  | { id: unknown; allow: boolean; reason: string; effects: Effect[] }
  | { id: unknown; error: string };

/** Judges one line; whatever is wrong with it is the answer. */
function judgeLine(
  text: string,
  number: number,
  roots: readonly string[],
): Answer {
  let id: unknown = null;
  try {
    const value: unknown = JSON.parse(text);
    const call = readHookCall(value);
    if (call === undefined) throw new TypeError("it is not an object");
    const fields = new Map<string, unknown>(Object.entries(value ?? {}));
    id = fields.get("id") ?? null;
    const own = textList(fields, "roots") ?? roots;
    const [first] = own;
    if (first === undefined) {
      throw new TypeError('"roots" must be a list of at least one directory');
    }
    const hints = fields.get("hints");
    const decided = decideLine(
      {
        id: "",
        tool_name: call.toolName,
        tool_input: call.toolInput,
        cwd: joinPath(first, optionalText(fields, "cwd") ?? first),
        roots: own,
      },
      {
        now: Date.now(),
        home: optionalText(fields, "home") ?? grantedHome(),
        env: textRecord(fields, "env"),
        protectedPaths: textList(fields, "protected"),
        ...typeof hints === "boolean" ? { hints } : {},
      },
    );
    return { ...decided, id };
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable) throw error;
    const detail = reasonOf(error);
    return { id, error: `Cannot judge line ${number}: ${detail}` };
  }
}

/** The account's home directory, which a line may replace; without the grant it is unknown. */
function grantedHome(): string | undefined {
  const { state } = Deno.permissions.querySync({
    name: "env",
    variable: "HOME",
  });
  return state === "granted" ? Deno.env.get("HOME") : undefined;
}

/** A field that is a text, if it is there. */
function optionalText(
  fields: Map<string, unknown>,
  name: string,
): string | undefined {
  const value = fields.get(name) ?? undefined;
  if (value === undefined || typeof value === "string") return value;
  throw new TypeError(`"${name}" must be a text`);
}

/** A field that is a list of texts, if it is there. */
function textList(
  fields: Map<string, unknown>,
  name: string,
): string[] | undefined {
  const value = fields.get(name) ?? undefined;
  if (value === undefined) return undefined;
  if (Array.isArray(value)) {
    const list = value.filter((item) => typeof item === "string");
    if (list.length === value.length) return list;
  }
  throw new TypeError(`"${name}" must be a list of texts`);
}

/** A field that maps names to texts, if it is there. */
function textRecord(
  fields: Map<string, unknown>,
  name: string,
): Record<string, string> | undefined {
  const value = fields.get(name) ?? undefined;
  if (value === undefined) return undefined;
  const entries: [string, string][] = [];
  if (typeof value === "object" && value !== null && !Array.isArray(value)) {
    for (const [key, item] of Object.entries(value)) {
      if (typeof item !== "string") break;
      entries.push([key, item]);
    }
    if (entries.length === Object.keys(value).length) {
      return Object.fromEntries(entries);
    }
  }
  throw new TypeError(`"${name}" must map names to texts`);
}

/** `guard explain`. */
export const explain: Verb = {
  usage: "explain 'COMMAND' [--cwd DIR] [--root DIR] [--exit-code]",
  summary: "show what a command would write, and what the guard says",
  help: [
    "--cwd DIR       where the command runs (the present directory)",
    "--root DIR      a root that may be written; may be given more than once (the cwd)",
    "--powershell    read the command as PowerShell",
    "--exit-code     end with 1 when the command is denied; without it the exit code says only that",
    "                the command was judged",
  ],
  examples: [
    "bulkhead guard explain 'cp a.txt /etc/'",
    "bulkhead guard explain --root /work --cwd /work 'cd src && echo done > ../report.txt'",
  ],
  flags: {
    string: ["cwd"],
    collect: ["root"],
    boolean: ["powershell", "exit-code"],
  },
  run(flags, io) {
    const command = [...flags.operands, ...flags.rest].join(" ");
    if (command === "") {
      throw new UsageError(
        "Cannot explain: no command is given",
        "bulkhead guard explain 'cp a.txt /etc/'",
      );
    }
    const cwd = absolute(flags.text("cwd") ?? ".");
    const given = flags.list("root").map(absolute);
    const roots = given.length > 0 ? given : [cwd];
    const home = Deno.env.get("HOME");
    const decision = decideCall(
      {
        toolName: flags.on("powershell") ? "PowerShell" : "Bash",
        toolInput: { command },
        cwd,
      },
      { active: true, allowedRoots: roots, hints: true },
      {
        now: Date.now(),
        home,
        env: { HOME: home, TMPDIR: Deno.env.get("TMPDIR") },
      },
    );
    if (flags.on("json")) {
      printResult(io, {
        command,
        cwd,
        roots,
        allow: decision.allow,
        reason: decision.allow ? null : decision.reason,
        effects: decision.effects,
      });
    } else {
      io.out(describe(io, decision, cwd, roots));
    }
    const denied = flags.on("exit-code") && !decision.allow;
    return Promise.resolve(denied ? 1 : 0);
  },
};

/** A decision in words. */
function describe(
  io: CommandIo,
  decision: Decision,
  cwd: string,
  roots: readonly string[],
): string {
  const { dim, green, red } = paint(io.color);
  const lines = [
    dim(`cwd   ${visibleLines(cwd)}`),
    ...roots.map((root) => dim(`root  ${visibleLines(root)}`)),
  ];
  for (const effect of decision.effects) {
    const fine = effect.verdict === "inside" || effect.verdict === "device";
    const mark = (fine ? green : red)(effect.verdict.padEnd(9));
    const place = effect.target !== undefined && effect.target !== effect.path
      ? `${effect.path} → ${effect.target}`
      : effect.path;
    lines.push(
      `${mark} ${visibleLines(`${effect.verb} ${place}`.trim())} ${
        dim(`[${effect.rule}]`)
      }`,
    );
  }
  if (decision.effects.length === 0) {
    lines.push(dim("no write is found"));
  }
  lines.push(
    decision.allow
      ? green("allow")
      : `${red("deny")}  ${visibleLines(decision.reason)}`,
  );
  return lines.join("\n") + "\n";
}

/** A path from the command line. */
export function absolute(path: string): string {
  return normalizePath(joinPath(Deno.cwd(), path));
}

/** A flag's directories, or the present one. */
export function rootFlag(flags: Flags): string {
  return absolute(flags.text("root") ?? ".");
}
