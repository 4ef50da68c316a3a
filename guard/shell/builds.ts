// deno-lint-ignore-file camelcase -- sub-commands of cmake
/**
 * Build tools: the tree they build in and the place they install to.
 *
 * @module
 */
import { type Call, type CallReader, writes } from "./call.ts";
import { recipesOf } from "./makefiles.ts";
import {
  hasOption,
  type OptionGrammar,
  type Options,
  optionValue,
  readOptions,
  writtenValues,
} from "./options.ts";
import { readVariable } from "./parameters.ts";
import { UNKNOWN_STREAM } from "./state.ts";
import { applyTable } from "./verbs.ts";
import { joinPath } from "./places.ts";

/** Name of the shell's note of the prefix that a build was configured with; no variable's name. */
const CONFIGURED = "configured prefix";

/** The prefix that an earlier part of the command has configured. */
function configuredPrefix(call: Call): string | undefined {
  return readVariable(CONFIGURED, call.state, call.context)?.[0];
}

/** `./configure --prefix=DIR`: a later `make install` goes there. */
const configure: CallReader = (call) => {
  const read = readOptions(call.args, { takes: "--prefix" });
  if (hasOption(read, "--help", "-h", "--version")) return UNKNOWN_STREAM;
  writes(call, ".");
  const prefix = optionValue(read, "--prefix");
  if (prefix !== undefined) call.state.set(CONFIGURED, [[prefix]]);
  return UNKNOWN_STREAM;
};

const cmake: CallReader = (call) => {
  const { args } = call;
  if (args[0] === "-E") {
    const [, tool = "", ...rest] = args;
    const known: Record<string, string> = {
      touch: "touch",
      touch_nocreate: "touch",
      copy: "cp",
      copy_if_different: "cp",
      copy_directory: "cp",
      rename: "mv",
      remove: "rm",
      rm: "rm",
      remove_directory: "rm",
      make_directory: "mkdir",
      create_symlink: "ln -s",
      create_hardlink: "ln",
      env: "env",
      time: "env",
      tar: "tar",
      chdir: "",
    };
    const program = Object.hasOwn(known, tool) ? known[tool] : undefined;
    if (tool === "chdir") {
      return call.context.run.argv(
        ["env", "-C", ...rest],
        call.state.fork(),
        call.stdin,
      );
    }
    return program === undefined ? UNKNOWN_STREAM : call.context.run.argv(
      [...program.split(" "), ...rest],
      call.state.fork(),
      call.stdin,
    );
  }
  const read = readOptions(args, {
    takes:
      "-D -U -G -T -A -C -S -H -P --target --config --parallel -j --preset --component",
    writes: "-B --build --install --prefix",
  });
  for (const arg of args) {
    const path =
      /^--(?:graphviz|trace-redirect|profiling-output|debug-trycompile-dir)=(.+)$/
        .exec(arg)?.[1];
    if (path !== undefined) writes(call, path);
  }
  if (hasOption(read, "-P", "--version", "--help", "-N")) return UNKNOWN_STREAM;
  if (hasOption(read, "--install")) {
    const prefix = optionValue(read, "--prefix");
    const destination = readVariable("DESTDIR", call.state, call.context)?.[0];
    writes(
      call,
      destination ?? prefix ?? configuredPrefix(call) ?? "/usr/local",
    );
    return UNKNOWN_STREAM;
  }
  for (const [name, value] of read.options) {
    const prefix = name === "-D"
      ? /^CMAKE_INSTALL_PREFIX(?::\w+)?=(.+)$/.exec(value ?? "")?.[1]
      : undefined;
    if (prefix !== undefined) call.state.set(CONFIGURED, [[prefix]]);
  }
  const tree = optionValue(read, "-B", "--build");
  // What stands behind `--` goes to the tool that builds.
  const dashes = args.indexOf("--");
  const handed = dashes === -1 ? [] : args.slice(dashes + 1);
  if (handed.includes("-n")) return UNKNOWN_STREAM;
  const staged = handed.find((arg) => arg.startsWith("DESTDIR="));
  writes(call, tree ?? ".");
  if (
    optionValue(read, "--target") === "install" ||
    read.operands.includes("install")
  ) {
    writes(
      call,
      staged?.slice("DESTDIR=".length) ??
        readVariable("DESTDIR", call.state, call.context)?.[0] ??
        configuredPrefix(call) ?? "/usr/local",
    );
  }
  return UNKNOWN_STREAM;
};

const make: CallReader = (call) => {
  const read = readOptions(call.args, {
    takes:
      "-f -o -W -I -E --file --makefile --include-dir --old-file --what-if --eval --assume-new",
    writes: "-C --directory",
  });
  if (
    hasOption(
      read,
      "-n",
      "-q",
      "-p",
      "-v",
      "-h",
      "--dry-run",
      "--just-print",
      "--recon",
      "--question",
      "--version",
      "--help",
      "--print-data-base",
    )
  ) {
    return UNKNOWN_STREAM;
  }
  const state = call.state.fork();
  for (const [name, value] of read.options) {
    if ((name === "-C" || name === "--directory") && value !== undefined) {
      state.cwd = state.cwd.map((cwd) => joinPath(cwd, value));
    }
  }
  const inner: Call = { ...call, state };
  writes(inner, ".");
  const variables = new Map(
    read.operands.flatMap((arg) => {
      const at = arg.indexOf("=");
      return at > 0
        ? [[arg.slice(0, at).replace(/[:?+]$/, ""), arg.slice(at + 1)] as const]
        : [];
    }),
  );
  const place = variables.get("DESTDIR") ??
    readVariable("DESTDIR", state, call.context)?.[0];
  const prefix = variables.get("PREFIX") ?? variables.get("prefix") ??
    readVariable("PREFIX", state, call.context)?.[0];
  if (
    read.operands.some((arg) =>
      /^(?:un)?install(?:-(?:bin|data|exec|lib|man|strip))?$/.test(arg)
    )
  ) {
    writes(inner, place ?? prefix ?? configuredPrefix(call) ?? "/usr/local");
  }
  const text = makefileText(inner, read);
  const targets = read.operands.filter((arg) => !arg.includes("="));
  const lines = [text ?? "", ...variables.values()].flatMap(askedOfShell);
  if (text !== undefined) lines.push(...recipesOf(text, targets, variables));
  const shell = variables.get("SHELL");
  if (shell !== undefined) lines.push(shell);
  for (const line of lines) {
    call.context.nested(() => call.context.run.text(line, state.fork(), {}));
  }
  for (const [name, value] of variables) {
    if (
      /^(?:BUILDDIR|BUILD_DIR|O|OUT|OUTDIR|OUT_DIR|OUTPUT|OUTPUT_DIR|DEST|DESTINATION|TARGET_DIR|OBJDIR|DISTDIR|DIST)$/
        .test(name)
    ) {
      writes(inner, value);
    }
  }
  return UNKNOWN_STREAM;
};

/** The command lines of `$(shell …)`, which make runs while it reads. */
function askedOfShell(text: string): string[] {
  const asked = /\$\(shell\s+([^()]*(?:\([^()]*\)[^()]*)*)\)/g;
  return [...text.matchAll(asked)].map((match) => match[1] ?? "");
}

/** What the command itself holds of the makefiles: files it has written, its input, `--eval`. */
function makefileText(call: Call, read: Options): string | undefined {
  const values = (names: string[]): string[] =>
    read.options.flatMap(([name, value]) =>
      names.includes(name) && value !== undefined ? [value] : []
    );
  const files = values(["-f", "--file", "--makefile"]);
  if (files.length === 0) files.push("GNUmakefile", "makefile", "Makefile");
  const texts = values(["--eval", "-E"]);
  for (const file of files) {
    const { text } = /^(?:-|\/dev\/(?:stdin|fd\/0))$/.test(file)
      ? call.stdin
      : call.context.readFile(file, call.state);
    if (text !== undefined) texts.push(text);
  }
  const flags = readVariable("MAKEFLAGS", call.state, call.context)?.[0];
  const evaluated = /(?:^|\s)--eval=(.+)/.exec(flags ?? "")?.[1];
  if (evaluated !== undefined) texts.push(evaluated);
  return texts.length === 0 ? undefined : texts.join("\n");
}

const ninja: CallReader = (call) => {
  applyTable(call);
  const read = readOptions(call.args, { takes: "-C -f -j -k -l -d -t" });
  if (read.operands.includes("install") && !hasOption(read, "-n")) {
    writes(
      call,
      readVariable("DESTDIR", call.state, call.context)?.[0] ??
        configuredPrefix(call) ?? "/usr/local",
    );
  }
  return UNKNOWN_STREAM;
};

const meson: CallReader = (call) => {
  applyTable(call);
  const read = readOptions(call.args, { takes: "-C -D --prefix --destdir" });
  const prefix = optionValue(read, "--prefix");
  if (prefix !== undefined) call.state.set(CONFIGURED, [[prefix]]);
  if (read.operands[0] === "install" && !hasOption(read, "-n", "--dry-run")) {
    writes(
      call,
      optionValue(read, "--destdir") ??
        readVariable("DESTDIR", call.state, call.context)?.[0] ??
        configuredPrefix(call) ?? "/usr/local",
    );
  }
  return UNKNOWN_STREAM;
};

/** Compilers hand `-Wl,…` to the linker, and their dumps name files of their own. */
const compiler: CallReader = (call) => {
  const linker = call.args.flatMap((arg, i) =>
    /^-W[lpa],/.test(arg)
      ? arg.split(",").slice(1)
      : call.args[i - 1] === "-Xlinker"
      ? [arg]
      : []
  );
  for (const path of writtenValues(readOptions(linker, LINKER), LINKER)) {
    writes(call, path);
  }
  for (const arg of call.args) {
    const path =
      /^-(?:f(?:dump-[\w-]+|profile-(?:dir|generate|update-path)|opt-info[\w-]*|time-trace|save-optimization-record|crash-diagnostics-dir|diagnostics-add-output)|save-temps|aux-info)=(\.?\.?\/.*|\.\.)$/
        .exec(arg)?.[1];
    if (path !== undefined) writes(call, path);
  }
  applyTable(call);
  return UNKNOWN_STREAM;
};

/** What a linker, assembler or preprocessor writes. */
const LINKER: OptionGrammar = {
  writes:
    "-Map --Map -o --output -MD -MMD -MF --out-implib --dependency-file --print-map-file -map",
  singleDash: true,
  exact: true,
};

/** `rustc --emit=asm=x`: each kind of output may name its file. */
const rustc: CallReader = (call) => {
  applyTable(call);
  for (const [i, arg] of call.args.entries()) {
    const kinds = arg === "--emit"
      ? call.args[i + 1]
      : /^--emit=(.+)/.exec(arg)?.[1];
    for (const kind of kinds?.split(",") ?? []) {
      const at = kind.indexOf("=");
      if (at !== -1) writes(call, kind.slice(at + 1));
    }
  }
  return UNKNOWN_STREAM;
};

/** `objcopy --dump-section .text=x`, `--split-dwo=x`. */
const objcopy: CallReader = (call) => {
  applyTable(call);
  for (const [i, arg] of call.args.entries()) {
    const dumped = arg === "--dump-section"
      ? call.args[i + 1]
      : /^--dump-section=(.+)/.exec(arg)?.[1];
    const path = dumped?.slice(dumped.indexOf("=") + 1) ??
      /^--(?:split|extract)-dwo=(.+)/.exec(arg)?.[1];
    if (path !== undefined) writes(call, path);
  }
  return UNKNOWN_STREAM;
};

/** The programs by name. */
export const BUILDS: Readonly<Record<string, CallReader>> = {
  cmake,
  configure,
  meson,
  ninja,
  make,
  gcc: compiler,
  "g++": compiler,
  cc: compiler,
  "c++": compiler,
  clang: compiler,
  "clang++": compiler,
  gmake: make,
  bmake: make,
  rustc,
  objcopy,
  "llvm-objcopy": objcopy,
};
