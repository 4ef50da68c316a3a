/**
 * Code of languages that are seldom given on a command line: only calls whose name says that they
 * write, with a literal path that leaves the directory.
 *
 * @module
 */
import { type Call, type CallReader, refuses, writes } from "./call.ts";
import { INSTALL } from "./installs.ts";
import { hasOption, readOptions, writtenValues } from "./options.ts";
import { UNKNOWN_STREAM } from "./state.ts";
import { applyGuess } from "./guess.ts";
import { applyTable } from "./verbs.ts";

const LABEL = {
  rule: "interpreter",
  label: "file write inside interpreter code",
} as const;

/** The start of a literal path that is no name of this directory. */
const PATH = String.raw`["']((?:/|~/|\.\./)[^"'\n]*)["']`;
/** `Path.of(`, `new java.io.File(` and other ways to say that a text is a path. */
const MADE = String
  .raw`(?:(?:new\s+)?(?:[\w.]+\.)?(?:Paths?|File|URL|URI|io\/file)(?:\.(?:of|get|create|new))?\s*\(\s*(?:fileURLWithPath:\s*)?)?`;
const MAKES =
  "write\\w*|append\\w*|spit|spurt|touch|rm|rm_rf|remove\\w*|delete\\w*|unlink|mkdir\\w*|mkpath|makedirs|" +
  "createFile|createDirector(?:y|ies)|createTempFile|make-directory|delete-file|FileWriter|FileOutputStream|" +
  "PrintWriter|RandomAccessFile|open-output-file|with-output-to-file|call-with-output-file|csvwrite|dlmwrite|" +
  "open_out\\w*|save|saveas|savefig|csvwrite|writetable|writematrix|writecell|imwrite|audiowrite|write-region|make-parents|truncate|chmod|set_permissions";
const COPIES = "cp|cp_r|mv|copy\\w*|move\\w*|rename\\w*|ln_s\\w*|symlink|link";

/** Patterns that are built when the first such program is met; their first group is the path. */
let built: readonly RegExp[] | undefined;

function patterns(): readonly RegExp[] {
  return built ??= [
    // Calls whose first literal is written.
    String.raw`(?<![\w$-])(?:${MAKES})[!?]?(?:\s+|\s*\(\s*)[:(]?${MADE}${PATH}`,
    // Calls whose second literal is written.
    String
      .raw`(?<![\w$-])(?:${COPIES})[!?]?(?:\s+|\s*\(\s*)${MADE}["'][^"'\n]*["']\)?[\s,]+(?:to:\s*)?${MADE}${PATH}`,
    // `open("/x", "w")`, and Tcl's `open /x w`.
    String
      .raw`\b(?:f?open|File)(?:\s+|\s*\(\s*)(?:${PATH}|((?:/|\.\./|~/)[^\s)\]]+))[\s,]+:?["'\[]*(?:[wa]\+?|[rb]\+|write|append)\b`,
    // Lisp's `(with-open-file (s "/x" :direction :output)`
    String
      .raw`\bopen(?:-file)?\s+(?:\(\s*\S+\s+)?${PATH}[^()]*:(?:output|append|io)\b`,
    // Swift's `write(toFile: "/x"`
    String.raw`\b(?:toFile|to|atPath|filename|into)\s*:\s*${MADE}${PATH}`,
    // A method behind a path: `new File("/x").text = …`, `"/x".IO.spurt`.
    String
      .raw`${PATH}\s*\)?(?:\.IO)?\s*\.\s*(?:text\s*=|bytes\s*=|write\w*|append\w*|delete\w*|mkdirs?|createNewFile|with(?:Writer|PrintWriter|OutputStream)|spurt|unlink|touch|leftShift|renameTo)`,
  ].map((source) => new RegExp(source, "g"));
}

/** Tcl's `file delete /x`. */
const TCL =
  /\bfile\s+(?:delete|mkdir|copy|rename)\s+(?:-\w+\s+)*(?:\S+\s+)?((?:\/|\.\.\/|~\/)[^\s\]}]+)/g;
/** A command line as one literal. */
const LINES =
  /(?:\b(?:run|system|shell|os\.cmd|sh|exec\w*|command|popen)!?\s*\(?\s*(?:`([^`]+)`|["']([^"'\n]+)["'])\s*\)?(?!\s*,)|["']([^"'\n]+)["']\.execute\(\))/g;
/** A program and its arguments, one literal each. */
const WORDS =
  /(?:System\.cmd|\bsh|\bshell\/sh|\bexec|\brun|\bsystem\*?|ProcessBuilder|Process\.run)\s*\(?\s*((?:["'][^"'\n]*["'][\s,[\]]*){2,})/g;
/** Tcl's `exec touch /x`. */
const BARE = /(?:^|[;{\n[])\s*exec\s+([^\n;\]}"'[]+)/g;

/**
 * Records the writes that a text names.
 *
 * @param call The call of the program that runs the text.
 * @param text The code.
 */
function scan(call: Call, text: string): void {
  if (text.length > 65_536) return;
  for (const pattern of [...patterns(), TCL]) {
    for (const match of text.matchAll(pattern)) {
      const path = match[1] ?? match[2];
      if (path !== undefined) writes(call, path, "content", LABEL);
    }
  }
  const { context, state } = call;
  for (const pattern of [LINES, BARE]) {
    for (const match of text.matchAll(pattern)) {
      const line = match[1] ?? match[2] ?? match[3] ?? "";
      context.nested(() => context.run.text(line, state.fork(), {}));
    }
  }
  for (const match of text.matchAll(WORDS)) {
    const words = [...(match[1] ?? "").matchAll(/["']([^"'\n]*)["']/g)].map(
      (word) => word[1] ?? "",
    );
    context.nested(() => context.run.argv(words, state.fork(), {}));
  }
}

/** A program that takes code by options, as a script that the command has written, or as input. */
function coded(options: string, sub?: string): CallReader {
  const names = options.split(" ").filter((name) => name !== "");
  return (call) => {
    const args = sub !== undefined && call.args[0] === sub
      ? ["-e", ...call.args.slice(1)]
      : call.args;
    const read = readOptions(args, {
      takes: `${options} -e`,
      stopsAtOperand: true,
      singleDash: true,
    });
    const codes = read.options.filter(([name, value]) =>
      value !== undefined && (names.includes(name) || name === "-e")
    );
    for (const [, code] of codes) scan(call, code ?? "");
    const [file] = read.operands;
    if (codes.length > 0) return UNKNOWN_STREAM;
    if (file !== undefined && file !== "-" && !applyTable(call)) {
      applyGuess(call);
    }
    const content = file === undefined || file === "-" || file === "/dev/stdin"
      ? hasOption(read, "--version", "-v", "--help", "-h") ? {} : call.stdin
      : call.context.readFile(file, call.state);
    if (content.text !== undefined) scan(call, content.text);
    return UNKNOWN_STREAM;
  };
}

const M4 = { writes: "-F --freeze-state -o --error-output --debugfile" };

/** The programs by name. */
export const OTHER_LANGUAGES: Readonly<Record<string, CallReader>> = {
  julia: (call) => {
    if (/\bPkg\.(?:add|rm|update|develop)\b/.test(call.args.join(" "))) {
      refuses(call, { ...INSTALL, verb: "julia" });
    }
    return coded("-e --eval -E --print")(call);
  },
  elixir: coded("-e --eval"),
  iex: coded("-e --eval"),
  erl: coded("-eval"),
  groovy: coded("-e"),
  groovysh: coded("-e"),
  jshell: coded(""),
  java: coded(""),
  scala: coded("-e"),
  kotlin: coded("-e -expression"),
  clojure: coded("-e --eval"),
  clj: coded("-e --eval"),
  bb: coded("-e --eval"),
  tclsh: coded(""),
  wish: coded(""),
  raku: coded("-e"),
  perl6: coded("-e"),
  racket: coded("-e --eval"),
  guile: coded("-c"),
  sbcl: coded("--eval"),
  ocaml: coded("-e"),
  ghc: coded("-e"),
  runghc: coded(""),
  octave: coded("--eval"),
  matlab: coded("-batch -r"),
  crystal: coded("", "eval"),
  swift: (call) => {
    if (call.args[0] !== "-e") {
      if (!applyTable(call)) applyGuess(call);
      return UNKNOWN_STREAM;
    }
    return coded("-e")(call);
  },
  maxima: coded("-r --run-string --batch-string"),
  gnuplot: (call) => {
    const text = [...call.args, call.stdin.text ?? ""].join("\n");
    for (
      const match of text.matchAll(
        /\bset\s+(?:out(?:put)?|print|table)\s+["']([^"']+)["']/g,
      )
    ) {
      writes(call, match[1] ?? "", "content", LABEL);
    }
    for (
      const match of text.matchAll(/\bsave\s+(?:\w+\s+)?["']([^"']+)["']/g)
    ) {
      writes(call, match[1] ?? "", "content", LABEL);
    }
    return coded("-e")(call);
  },
  m4: (call) => {
    const read = readOptions(call.args, {
      takes: "-D -U -I -B -E -H -L -t -l",
      writes: "-F --freeze-state -o --error-output --debugfile",
    });
    for (const path of writtenValues(read, M4)) writes(call, path);
    const texts = [
      call.stdin.text ?? "",
      ...call.args,
      ...read.operands.map((file) =>
        call.context.readFile(file, call.state).text ?? ""
      ),
    ];
    for (
      const match of texts.join("\n").matchAll(/\be?syscmd\(\s*[`"]?([^)'"]+)/g)
    ) {
      call.context.run.text(match[1] ?? "", call.state.fork(), {});
    }
    return UNKNOWN_STREAM;
  },
  mlr: (call) => {
    const read = readOptions(call.args, {
      takes: "--from -n --ifs --ofs --c2p",
      stopsAtOperand: true,
    });
    if (hasOption(read, "-I")) {
      for (const path of read.operands.slice(1)) {
        if (/[./]/.test(path)) writes(call, path);
      }
    }
    for (const arg of call.args) {
      for (
        const match of arg.matchAll(
          /\b(?:tee|print\w*|emit\w*|dump|put)\s*>{1,2}\s*"([^"]+)"/g,
        )
      ) {
        writes(call, match[1] ?? "", "content", LABEL);
      }
    }
    const at = call.args.findIndex((arg) => arg === "tee" || arg === "split");
    const prefix = call.args.indexOf("--prefix");
    if (at !== -1 && call.args[at] === "split") {
      writes(call, call.args[prefix === -1 ? -1 : prefix + 1] ?? "split");
    } else if (at !== -1) {
      const target = call.args.slice(at + 1).find((arg) =>
        !arg.startsWith("-")
      );
      if (target !== undefined) writes(call, target);
    }
    return UNKNOWN_STREAM;
  },
  nim: coded("--eval"),
};
