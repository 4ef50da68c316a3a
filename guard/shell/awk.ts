/**
 * `awk` programs: output redirections, pipes and `system`.
 *
 * @module
 */
import { type Call, type CallReader, writes } from "./call.ts";
import { hasOption, readOptions } from "./options.ts";
import { readVariable } from "./parameters.ts";

const LABEL = { label: "file written by an awk program" } as const;

/** Reads one `awk` command. */
export const readAwk: CallReader = (call) => {
  const read = readOptions(call.args, {
    takes:
      "-F -v -f -i -e -l -E --field-separator --assign --file --include --source --load --exec -W",
    writes: "--dump-variables --pretty-print --profile --debug",
    attached: "-o -p -d",
    stopsAtOperand: true,
  });
  const names = new Map<string, string>();
  const programs: string[] = [];
  let inPlace = false;
  for (const [name, value] of read.options) {
    if (value === undefined) continue;
    if (/^-(?:[opd]|-dump-variables|-pretty-print|-profile)$/.test(name)) {
      if (value !== "-") writes(call, value);
    }
    if (name === "-v" || name === "--assign") assign(names, value);
    if (name === "-e" || name === "--source") programs.push(value);
    if ((name === "-i" || name === "--include") && value === "inplace") {
      inPlace = true;
    }
  }
  let { operands } = read;
  if (
    programs.length === 0 && !hasOption(read, "-f", "--file", "-E", "--exec")
  ) {
    programs.push(operands[0] ?? "");
    operands = operands.slice(1);
  }
  for (const operand of operands) {
    if (/^[A-Za-z_]\w*=/.test(operand)) assign(names, operand);
    else if (inPlace) {
      writes(call, operand, "entry", {
        rule: "in-place",
        label: "in-place file edit (awk)",
      });
    }
  }
  for (const [name, file] of read.options) {
    if (!/^(?:-f|--file|-E|--exec)$/.test(name) || file === undefined) continue;
    const { text } = file === "-"
      ? call.stdin
      : call.context.readFile(file, call.state);
    if (text !== undefined) programs.push(text);
  }
  for (const program of programs) readProgram(call, program, names, operands);
  return undefined;
};

function assign(names: Map<string, string>, text: string): void {
  const at = text.indexOf("=");
  if (at > 0) names.set(text.slice(0, at), text.slice(at + 1));
}

interface AwkToken {
  kind: "text" | "name" | "mark";
  value: string;
}

function tokens(program: string): AwkToken[] {
  const found: AwkToken[] = [];
  for (let i = 0; i < program.length && found.length < 20_000;) {
    const char = program[i] ?? "";
    if (char === '"') {
      let value = "";
      for (i++; i < program.length && program[i] !== '"'; i++) {
        if (program[i] === "\\") {
          value += ({ n: "\n", t: "\t" })[program[++i] ?? ""] ?? program[i];
        } else value += program[i];
      }
      i++;
      found.push({ kind: "text", value });
    } else if (char === "#") {
      const end = program.indexOf("\n", i);
      i = end === -1 ? program.length : end;
    } else if (char === "/" && isPattern(found.at(-1))) {
      for (
        i++;
        i < program.length && program[i] !== "/" && program[i] !== "\n";
        i++
      ) {
        if (program[i] === "\\") i++;
      }
      i++;
      found.push({ kind: "mark", value: "//" });
    } else if (/[A-Za-z_]/.test(char)) {
      const name = /^\w+/.exec(program.slice(i, i + 200))?.[0] ?? char;
      found.push({ kind: "name", value: name });
      i += name.length;
    } else if (char === "\n" || !/\s/.test(char)) {
      const pair = program.slice(i, i + 2);
      const value = /^(?:>>|\|&|\|\||&&|==|!=|>=|<=)$/.test(pair) ? pair : char;
      found.push({ kind: "mark", value });
      i += value.length;
    } else i++;
  }
  return found;
}

/** A slash after an operand divides; anywhere else it opens a pattern. */
function isPattern(last: AwkToken | undefined): boolean {
  if (last === undefined) return true;
  if (last.kind === "mark") return !/^[)\]\d$]$/.test(last.value);
  return last.kind === "name" &&
    /^(?:print|printf|return|in|case)$/.test(last.value);
}

function readProgram(
  call: Call,
  program: string,
  names: Map<string, string>,
  operands: readonly string[],
): void {
  const list = tokens(program);
  let printing = false;
  let depth = 0;
  for (let i = 0; i < list.length; i++) {
    const token = list[i];
    if (token === undefined) break;
    const next = list[i + 1];
    if (token.kind === "name") {
      if (token.value === "print" || token.value === "printf") {
        printing = true;
        depth = 0;
      } else if (token.value === "system" && next?.value === "(") {
        run(call, value(call, list, i + 2, names, operands));
      } else if (next?.value === "=" && list[i + 2]?.kind !== undefined) {
        const assigned = value(call, list, i + 2, names, operands);
        if (assigned !== undefined) names.set(token.value, assigned);
      }
      continue;
    }
    if (token.kind === "text") {
      // "command" | getline
      if (next?.value === "|" || next?.value === "|&") {
        if (list[i + 2]?.value === "getline") run(call, token.value);
      }
      continue;
    }
    if (token.value === "(") depth++;
    else if (token.value === ")") depth--;
    else if (/^[;{}\n]$/.test(token.value)) printing = false;
    else if (
      printing && depth === 0 && (token.value === ">" || token.value === ">>")
    ) {
      const path = value(call, list, i + 1, names, operands);
      if (path !== undefined) writes(call, path, "content", LABEL);
    } else if (
      printing && depth === 0 && (token.value === "|" || token.value === "|&")
    ) {
      run(call, value(call, list, i + 1, names, operands));
    }
  }
}

function run(call: Call, text: string | undefined): void {
  if (text !== undefined) call.context.run.text(text, call.state.fork(), {});
}

/** Concatenated literals and known names from a place on; undefined when something is computed. */
function value(
  call: Call,
  list: readonly AwkToken[],
  from: number,
  names: Map<string, string>,
  operands: readonly string[],
): string | undefined {
  let text: string | undefined;
  for (let i = from; i < list.length; i++) {
    const token = list[i];
    if (token === undefined) break;
    if (token.kind === "text") text = (text ?? "") + token.value;
    else if (token.kind === "name") {
      if (token.value === "ARGV" && list[i + 1]?.value === "[") {
        const given = operands[Number(list[i + 2]?.value) - 1];
        if (given === undefined) return undefined;
        text = (text ?? "") + given;
        i += 3;
        continue;
      }
      if (token.value === "FILENAME") {
        const given = operands.find((operand) =>
          !/^[A-Za-z_]\w*=/.test(operand)
        );
        if (given === undefined) return undefined;
        text = (text ?? "") + given;
        continue;
      }
      if (token.value === "ENVIRON" && list[i + 2]?.kind === "text") {
        const { state, context } = call;
        const given = readVariable(list[i + 2]?.value ?? "", state, context);
        if (given?.length !== 1) return undefined;
        text = (text ?? "") + given[0];
        i += 3;
        continue;
      }
      const known = names.get(token.value);
      // A field or counter in the middle of a name cannot be read.
      if (known === undefined) return computed(text);
      text = (text ?? "") + known;
    } else if (token.value === "(") continue;
    else if (token.value === "$") return computed(text);
    else break;
  }
  return text;
}

/** A name whose beginning is known: judged by it when that alone leaves the roots. */
function computed(beginning: string | undefined): string | undefined {
  return beginning === undefined ? undefined : beginning + "\uE002";
}
