/**
 * `sed` programs: in-place files, `w` files and `e` commands.
 *
 * @module
 */
import { type Call, type CallReader, writes } from "./call.ts";
import { forgetLink } from "./links.ts";
import { hasOption, readOptions } from "./options.ts";
import { UNKNOWN_STREAM } from "./state.ts";

const IN_PLACE = {
  rule: "in-place",
  label: "in-place file edit (sed -i)",
} as const;

/** Reads one `sed` command. */
export const readSed: CallReader = (call) => {
  // `-i` takes its suffix attached, so a cluster ends there.
  let inPlace = false;
  const args = call.args.flatMap((arg, i, all) => {
    if (arg === "--in-place" || arg.startsWith("--in-place=")) {
      inPlace = true;
      return [];
    }
    const cluster = /^-([nErsuzlb]*)i(.*)$/.exec(arg);
    if (
      cluster !== null && !arg.startsWith("--") &&
      !/^-[ef]$/.test(all[i - 1] ?? "")
    ) {
      inPlace = true;
      return cluster[1] === "" ? [] : ["-" + cluster[1]];
    }
    return [arg];
  });
  const read = readOptions(args, {
    takes: "-e -f -l --expression --file --line-length",
  });
  const scripts = read.options.flatMap(([name, value]) =>
    (name === "-e" || name === "--expression") && value !== undefined
      ? [value]
      : []
  );
  for (const [name, value] of read.options) {
    if (name !== "-f" && name !== "--file" || value === undefined) continue;
    const { text } = value === "-"
      ? call.stdin
      : call.context.readFile(value, call.state);
    if (text !== undefined) scripts.push(text);
  }
  let operands = read.operands;
  // BSD's `sed -i '' script file`.
  if (inPlace && operands[0] === "") operands = operands.slice(1);
  if (scripts.length === 0 && !hasOption(read, "-f", "--file")) {
    scripts.push(operands[0] ?? "");
    operands = operands.slice(1);
  }
  if (inPlace) {
    // A new file takes the place of the old one, and of a link.
    const mode = hasOption(read, "--follow-symlinks") ? "content" : "entry";
    for (const path of operands) {
      writes(call, path, mode, IN_PLACE);
      if (mode === "entry") forgetLink(call, path);
    }
  }
  // Scripts are joined by newlines: text of `a\` goes on in the next one.
  readScript(call, scripts.join("\n"));
  return undefined;
};

/** Finds `w file`, `s///w file`, `W file`, `e command` and `s///e`. */
function readScript(call: Call, script: string): void {
  for (let i = 0; i < script.length;) {
    i = skipAddress(script, i);
    const command = script[i] ?? "";
    i++;
    if (command === "w" || command === "W") {
      const end = lineEnd(script, i);
      writeFile(call, script.slice(i, end));
      i = end;
    } else if (command === "e") {
      const end = lineEnd(script, i);
      const text = script.slice(i, end).trim();
      if (text !== "") {
        call.context.run.text(text, call.state.fork(), UNKNOWN_STREAM);
      }
      i = end;
    } else if (command === "s") {
      const delimiter = script[i] ?? "";
      const middle = skipDelimited(script, i + 1, delimiter);
      i = skipDelimited(script, middle, delimiter);
      const replacement = script.slice(middle, i - 1).replace(/\\(.)/g, "$1");
      const flags = /^[gpiImMe\d]*/.exec(script.slice(i))?.[0] ?? "";
      i += flags.length;
      // The result is run; what the replacement says is all that can be read.
      if (flags.includes("e")) {
        call.context.run.text(replacement, call.state.fork(), UNKNOWN_STREAM);
      }
      if (script[i] === "w") {
        const end = lineEnd(script, i);
        writeFile(call, script.slice(i + 1, end));
        i = end;
      }
    } else if (command === "y") {
      const delimiter = script[i] ?? "";
      i = skipDelimited(
        script,
        skipDelimited(script, i + 1, delimiter),
        delimiter,
      );
    } else if (/[aicrR#:btTv]/.test(command)) {
      i = lineEnd(script, i, /[btT]/.test(command));
    }
  }
}

function writeFile(call: Call, text: string): void {
  const path = text.trim();
  if (path !== "") {
    writes(call, path, "content", { label: "file written by a sed program" });
  }
}

function lineEnd(script: string, from: number, semicolon = false): number {
  for (let i = from; i < script.length; i++) {
    if (script[i] === "\\" && script[i + 1] === "\n") i++;
    else if (script[i] === "\n" || (semicolon && script[i] === ";")) return i;
  }
  return script.length;
}

function skipDelimited(
  script: string,
  from: number,
  delimiter: string,
): number {
  for (let i = from; i < script.length; i++) {
    if (script[i] === "\\") i++;
    else if (script[i] === delimiter) return i + 1;
  }
  return script.length;
}

function skipAddress(script: string, from: number): number {
  let i = from;
  for (; i < script.length; i++) {
    const char = script[i] ?? "";
    if (char === "/") i = skipDelimited(script, i + 1, "/") - 1;
    else if (char === "\\" && script[i + 1] !== undefined) {
      i = skipDelimited(script, i + 2, script[i + 1] ?? "") - 1;
    } else if (!/[\s\d,$!;{}~+I]/.test(char)) break;
  }
  return i;
}
