/**
 * Interpreters: in-place switches, and code given on the command line or on standard input.
 *
 * @module
 */
import { readAwk } from "./awk.ts";
import { type Call, type CallReader, refuses, writes } from "./call.ts";
import { scanCode } from "./code.ts";
import { INSTALL } from "./installs.ts";
import { forgetLink } from "./links.ts";
import { optionValue, readOptions } from "./options.ts";
import { denoPackages, nodePackages } from "./packages_node.ts";
import { readPowerShell } from "./powershell.ts";
import { readSed } from "./sed.ts";
import { UNKNOWN_STREAM } from "./state.ts";

import { applyTable } from "./verbs.ts";
import { python } from "./python.ts";
import { fromInput, interpreter, script } from "./scripts.ts";

const IN_PLACE = { rule: "in-place", label: "in-place file edit" } as const;

/** A new file takes the place of the old one, and of a link. */
function editsInPlace(call: Call, path: string): void {
  writes(call, path, "entry", IN_PLACE);
  forgetLink(call, path);
}

const perl: CallReader = (call) => {
  const codes: string[] = [];
  const operands: string[] = [];
  let inPlace = false;
  const { args } = call;
  for (let i = 0; i < args.length; i++) {
    const arg = args[i] ?? "";
    if (operands.length > 0 || !arg.startsWith("-") || arg === "-") {
      operands.push(arg);
      continue;
    }
    if (arg === "--") {
      operands.push(...args.slice(i + 1));
      break;
    }
    // `-pi.bak -e`, `-lane`, `-0777`, `-MModule`, `-Idir`.
    for (let j = 1; j < arg.length; j++) {
      const flag = arg[j];
      if (flag === "e" || flag === "E") {
        codes.push(j + 1 < arg.length ? arg.slice(j + 1) : args[++i] ?? "");
        break;
      }
      if (flag === "i") {
        inPlace = true;
        const suffix = /^[^\s]*?(?=e$)/.exec(arg.slice(j + 1))?.[0] ??
          arg.slice(j + 1);
        j += suffix.length;
        continue;
      }
      if (/[MmIFCDxV]/.test(flag ?? "")) {
        if (flag === "I" && j + 1 === arg.length) i++;
        break;
      }
      if (flag === "0" || flag === "l") {
        const digits = /^[xX]?[\da-fA-F]*/.exec(arg.slice(j + 1))?.[0] ?? "";
        j += /^\d*$/.test(digits) ? digits.length : 0;
      }
    }
  }
  const files = codes.length > 0 ? operands : operands.slice(1);
  if (inPlace) {
    for (const path of files) editsInPlace(call, path);
  }
  for (const code of codes) scanCode(call, code, "perl", files);
  if (codes.length === 0) {
    if (operands[0] !== undefined) {
      return script(call, operands[0], files, "perl");
    }
    fromInput(call, "perl", []);
  }
  return UNKNOWN_STREAM;
};

const ruby: CallReader = (call) => {
  const read = readOptions(call.args, {
    takes: "-e -I -r -C -E -F",
    stopsAtOperand: true,
  });
  const codes = read.options.filter(([name]) => name === "-e").map((
    [, value],
  ) => value ?? "");
  const inPlace = call.args.some((arg) => /^-[naplsW\d]*i/.test(arg));
  const files = codes.length > 0 ? read.operands : read.operands.slice(1);
  if (inPlace) {
    for (const path of files) editsInPlace(call, path);
  }
  for (const code of codes) scanCode(call, code, "ruby", files);
  if (codes.length === 0) {
    if (read.operands[0] !== undefined) {
      return script(call, read.operands[0], files, "ruby");
    }
    fromInput(call, "ruby", []);
  }
  return UNKNOWN_STREAM;
};

const node = interpreter(
  "javascript",
  "-e --eval -p --print",
  "-r --require --import --loader -C --conditions --env-file",
);

const deno: CallReader = (call) => {
  const [sub, ...rest] = call.args;
  if (sub === "eval") {
    const read = readOptions(rest, { takes: "--ext -c --config --import-map" });
    for (const code of read.operands.slice(0, 1)) {
      scanCode(call, code, "javascript", read.operands.slice(1));
    }
    return UNKNOWN_STREAM;
  }
  if (sub === "run" && (rest.includes("-") || rest.length === 0)) {
    fromInput(call, "javascript", []);
  } else if (sub === "run") {
    const read = readOptions(rest, {
      takes: "-c --config --import-map --env-file",
      stopsAtOperand: true,
    });
    const [file, ...args] = read.operands;
    // `npm:prettier@3`, `jsr:@scope/name`
    const program = /^(?:npm|jsr):(?:@[^/]+\/)?([^@/]+)/.exec(file ?? "")?.[1];
    if (program !== undefined) {
      return call.context.run.argv(
        [program, ...args],
        call.state.fork(),
        call.stdin,
      );
    }
    if (file !== undefined) return script(call, file, args, "javascript");
  } else if (sub === "task") {
    const place = optionValue(readOptions(rest, { takes: "--cwd" }), "--cwd");
    if (place !== undefined) writes({ ...call, name: "deno task" }, place);
  }
  const installed = denoPackages(call);
  if (installed === undefined) applyTable(call);
  return UNKNOWN_STREAM;
};

const bun: CallReader = (call) => {
  const at = call.args.findIndex((arg) =>
    /^(?:-e|--eval|-p|--print)$/.test(arg)
  );
  if (at !== -1) {
    scanCode(
      call,
      call.args[at + 1] ?? "",
      "javascript",
      call.args.slice(at + 2),
    );
    return UNKNOWN_STREAM;
  }
  const [first = "", ...rest] = call.args[0] === "run"
    ? call.args.slice(1)
    : call.args;
  if (/\.[cm]?[jt]sx?$/.test(first)) {
    return script(call, first, rest, "javascript");
  }
  if (call.args[0] === "x") {
    return call.context.run.argv(
      ["bunx", ...call.args.slice(1)],
      call.state.fork(),
      call.stdin,
    );
  }
  if (call.args[0] === "build") {
    const read = readOptions(call.args.slice(1), {
      takes: "--target --format -e --external",
      writes: "--outdir --outfile",
    });
    for (const [name, value] of read.options) {
      if (/^--out/.test(name) && value !== undefined) writes(call, value);
    }
    return UNKNOWN_STREAM;
  }
  return nodePackages(call);
};

const pwsh: CallReader = (call) => {
  const at = call.args.findIndex((arg) =>
    /^-(?:c|command|commandwithargs|encodedcommand|e|ec|enc)$/i.test(arg)
  );
  if (at !== -1) {
    const encoded = /^-(?:e|ec|enc|encodedcommand)$/i.test(call.args[at] ?? "");
    const text = call.args.slice(at + 1).join(" ");
    readPowerShell(
      encoded ? decode(text) : text,
      call.state.fork(),
      call.context,
    );
  } else if (
    call.args.length === 1 && !/^-/.test(call.args[0] ?? "-") &&
    !/\.ps1$/i.test(call.args[0] ?? "")
  ) {
    readPowerShell(call.args[0] ?? "", call.state.fork(), call.context);
  } else if (call.stdin.text !== undefined) {
    readPowerShell(call.stdin.text, call.state.fork(), call.context);
  }
  return UNKNOWN_STREAM;
};

function decode(text: string): string {
  try {
    return atob(text.trim()).replace(/(.)\0/g, "$1");
  } catch {
    return "";
  }
}

const osascript: CallReader = (call) => {
  const text = call.args.join("\n");
  for (const match of text.matchAll(/do shell script\s+"((?:[^"\\]|\\.)*)"/g)) {
    call.context.run.text(
      (match[1] ?? "").replace(/\\(.)/g, "$1"),
      call.state.fork(),
      {},
    );
  }
  return UNKNOWN_STREAM;
};

const expect: CallReader = (call) => {
  const text = [...call.args, call.stdin.text ?? ""].join("\n");
  for (const match of text.matchAll(/\b(?:spawn|exec)\s+([^;\n\]]+)/g)) {
    call.context.run.text(match[1] ?? "", call.state.fork(), {});
  }
  for (const match of text.matchAll(/\blog_file\s+(?:-\w+\s+)*([^\s;]+)/g)) {
    writes(call, match[1] ?? "");
  }
  return UNKNOWN_STREAM;
};

const R = interpreter("r", "-e");

/** `R CMD build --output=x`, `R CMD BATCH in out`, or code as for `Rscript`. */
const rTools: CallReader = (call) => {
  const [cmd, tool = "", ...rest] = call.args;
  if (cmd !== "CMD") return rscript(call);
  const read = readOptions(rest, {
    takes: "-l --library -o --output -d --outdir",
  });
  const output = optionValue(read, "-o", "--output", "-d", "--outdir");
  if (output !== undefined) writes(call, output);
  const library = optionValue(read, "-l", "--library");
  if (tool === "INSTALL" && library !== undefined) writes(call, library);
  else if (/^(?:INSTALL|REMOVE)$/.test(tool)) {
    refuses(call, { ...INSTALL, verb: `R CMD ${tool}` });
  }
  if (tool === "BATCH") writes(call, read.operands[1] ?? ".");
  if (/^(?:build|check)$/.test(tool) && output === undefined) writes(call, ".");
  return UNKNOWN_STREAM;
};

const rscript: CallReader = (call) => {
  if (/\binstall\.packages\(/.test(call.args.join(" "))) {
    refuses(call, { ...INSTALL, verb: call.name });
  }
  return R(call);
};

/** The programs by name. */
export const INTERPRETERS: Readonly<Record<string, CallReader>> = {
  python,
  python3: python,
  python2: python,
  pypy: python,
  pypy3: python,
  ipython: python,
  py: python,
  perl,
  ruby,
  irb: ruby,
  node,
  nodejs: node,
  tsx: node,
  "ts-node": node,
  deno,
  bun,
  php: interpreter("php", "-r", "-d -c -f -B -R -E"),
  lua: interpreter("lua", "-e", "-l"),
  luajit: interpreter("lua", "-e", "-l"),
  R: rTools,
  Rscript: rscript,
  awk: readAwk,
  gawk: readAwk,
  mawk: readAwk,
  nawk: readAwk,
  sed: readSed,
  pwsh,
  powershell: pwsh,
  osascript,
  expect,
};
