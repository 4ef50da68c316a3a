/**
 * Python: code, scripts, and the modules that `-m` runs as tools.
 *
 * @module
 */
import { type Call, type CallReader, writes } from "./call.ts";
import { scanCode } from "./code.ts";
import { optionValue, readOptions } from "./options.ts";
import { fromInput, script } from "./scripts.ts";
import { type Stream, UNKNOWN_STREAM } from "./state.ts";

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
    case "trace": {
      const read = readOptions(args, {
        takes: "-f --file --ignore-module --ignore-dir",
        writes: "-C --coverdir",
        stopsAtOperand: true,
      });
      const place = optionValue(read, "-C", "--coverdir");
      if (place !== undefined) writes(call, place);
      return UNKNOWN_STREAM;
    }
    case "pdb": {
      const read = readOptions(args, { takes: "-c -m", stopsAtOperand: true });
      for (const [name, value] of read.options) {
        if (name === "-c") {
          scanCode(
            call,
            (value ?? "").replace(/^!?(?:p|pp|exec)\s+/, ""),
            "python",
          );
        }
      }
      return UNKNOWN_STREAM;
    }
    case "gzip":
      return run(["gzip", "-k", ...args]);
    case "lib2to3":
      return run(["2to3", ...args]);
    case "sphinx":
      return run(["sphinx-build", ...args]);
    case "django":
      return run(["django-admin", ...args]);
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

/** `python`: the code, the module or the script that it runs. */
export const python: CallReader = (call) => {
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
