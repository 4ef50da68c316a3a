/**
 * Interpreters: in-place switches, and code given on the command line or on standard input.
 *
 * @module
 */
import { readAwk } from "./awk.ts";
import { type Call, type CallReader, refuses, writes } from "./call.ts";
import { scanCode } from "./code.ts";
import { INSTALL } from "./installs.ts";
import { hasOption, optionValue, readOptions } from "./options.ts";
import { denoPackages, nodePackages } from "./packages_node.ts";
import { readPowerShell } from "./powershell.ts";
import { readSed } from "./sed.ts";
import { type Stream, UNKNOWN_STREAM } from "./state.ts";
import type { Lexicon } from "./tokens.ts";
import { applyTable } from "./verbs.ts";

const IN_PLACE = { rule: "in-place", label: "in-place file edit" } as const;

/** Modules that `python -m` runs as tools of their own. */
function pythonModule(
  call: Call,
  module: string,
  args: readonly string[],
): Stream {
  const run = (argv: readonly string[]) =>
    call.context.run.argv(argv, call.state.fork(), call.stdin);
  switch (module) {
    case "pip":
    case "ensurepip":
    case "pip3":
      return run([
        "pip",
        ...module === "ensurepip" ? ["install", "pip"] : args,
      ]);
    case "venv":
    case "virtualenv": {
      const read = readOptions(args, { takes: "--prompt -p --python" });
      for (const path of read.operands) writes(call, path);
      return UNKNOWN_STREAM;
    }
    case "zipfile":
    case "tarfile": {
      const at = args.findIndex((arg) =>
        /^(?:-e|--extract|-c|--create)$/.test(arg)
      );
      if (at === -1) return UNKNOWN_STREAM;
      const extracts = /^(?:-e|--extract)$/.test(args[at] ?? "");
      writes(call, extracts ? args[at + 2] ?? "." : args[at + 1] ?? ".");
      return UNKNOWN_STREAM;
    }
    case "json.tool": {
      const read = readOptions(args, { takes: "--indent" });
      if (read.operands[1] !== undefined) writes(call, read.operands[1]);
      return UNKNOWN_STREAM;
    }
    case "compileall":
    case "py_compile": {
      const read = readOptions(args, { takes: "-d -p -s -x -i -j -r -o" });
      for (const path of read.operands) writes(call, path);
      return UNKNOWN_STREAM;
    }
    case "cProfile":
    case "profile": {
      const output = optionValue(
        readOptions(args, { takes: "-o -s", stopsAtOperand: true }),
        "-o",
      );
      if (output !== undefined) writes(call, output);
      return UNKNOWN_STREAM;
    }
    case "build": {
      const read = readOptions(args, {
        takes: "-o --outdir -C --config-setting",
      });
      writes(
        call,
        optionValue(read, "-o", "--outdir") ?? read.operands[0] ?? ".",
      );
      return UNKNOWN_STREAM;
    }
    default:
      return run([module, ...args]);
  }
}

const python: CallReader = (call) => {
  const { args } = call;
  for (let i = 0; i < args.length; i++) {
    const arg = args[i] ?? "";
    if (/^-[bBdEhiIOPqsSuvVx]*c$/.test(arg)) {
      scanCode(call, args[i + 1] ?? "", "python", args.slice(i + 2));
      return UNKNOWN_STREAM;
    }
    if (/^-[bBdEhiIOPqsSuvVx]*c./.test(arg)) {
      scanCode(
        call,
        arg.slice(arg.indexOf("c") + 1),
        "python",
        args.slice(i + 1),
      );
      return UNKNOWN_STREAM;
    }
    const module = /^-[bBdEhiIOPqsSuvVx]*m(.*)$/.exec(arg);
    if (module !== null) {
      return module[1] === ""
        ? pythonModule(call, args[i + 1] ?? "", args.slice(i + 2))
        : pythonModule(call, module[1] ?? "", args.slice(i + 1));
    }
    if (arg === "-W" || arg === "-X") i++;
    else if (arg === "-" || !arg.startsWith("-")) {
      return script(call, arg, args.slice(i + 1), "python");
    }
  }
  if (!args.some((arg) => /^(?:-V|--version|-h|--help)$/.test(arg))) {
    fromInput(call, "python", []);
  }
  return UNKNOWN_STREAM;
};

/** A script file, which is known only when the command itself has written it. */
function script(
  call: Call,
  file: string,
  given: readonly string[],
  language: Lexicon,
): Stream {
  // `process.argv` of a script holds its name, which code of an option has not.
  const args = language === "javascript" && /^(?:node|bun|tsx)/.test(call.name)
    ? [file, ...given]
    : given;
  if (file === "-" || /^\/dev\/(?:stdin|fd\/0)$/.test(file)) {
    fromInput(call, language, args);
  } else {
    const { text } = call.context.readFile(file, call.state);
    if (text !== undefined) scanCode(call, text, language, args);
    else if (
      /(?:^|\/)setup\.py$/.test(file) &&
      args.some((arg) => /^(?:install|develop)$/.test(arg))
    ) {
      call.context.run.argv(
        ["pip", "install", "."],
        call.state.fork(),
        UNKNOWN_STREAM,
      );
    } else if (/(?:^|\/)manage\.py$/.test(file)) return UNKNOWN_STREAM;
  }
  return UNKNOWN_STREAM;
}

function fromInput(
  call: Call,
  language: Lexicon,
  args: readonly string[],
): void {
  if (call.stdin.text !== undefined) {
    scanCode(call, call.stdin.text, language, args);
  }
}

/** Interpreters that take code by one option and a script by the first operand. */
function interpreter(
  language: Lexicon,
  codeOptions: string,
  takes = "",
): CallReader {
  const names = codeOptions.split(" ");
  return (call) => {
    // `node -pe code` is print and evaluate, not the code "e".
    const given = call.args.map((arg) => arg === "-pe" ? "-e" : arg);
    const read = readOptions(given, {
      takes: `${codeOptions} ${takes}`,
      stopsAtOperand: true,
    });
    let coded = false;
    for (const [name, value] of read.options) {
      if (names.includes(name) && value !== undefined) {
        coded = true;
        scanCode(call, value, language, read.operands);
      }
    }
    if (coded) return UNKNOWN_STREAM;
    const [file, ...args] = read.operands;
    if (file !== undefined) return script(call, file, args, language);
    if (
      !hasOption(
        read,
        "-v",
        "--version",
        "-h",
        "--help",
        "-c",
        "--check",
        "--test",
      )
    ) {
      fromInput(call, language, []);
    }
    return UNKNOWN_STREAM;
  };
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
    for (const path of files) writes(call, path, "content", IN_PLACE);
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
    for (const path of files) writes(call, path, "content", IN_PLACE);
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
    if (file !== undefined) return script(call, file, args, "javascript");
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
  for (const match of text.matchAll(/\bspawn\s+([^;\n]+)/g)) {
    call.context.run.text(match[1] ?? "", call.state.fork(), {});
  }
  return UNKNOWN_STREAM;
};

const R = interpreter("r", "-e");

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
