/**
 * Finds writes with literal targets in code that an interpreter is given on its command line.
 * Computed targets are left alone: such code is opaque, and most of it is harmless.
 *
 * @module
 */
import { isKnown, SEG } from "../holes.ts";
import type { Call } from "./call.ts";
import { type Lexicon, type Token, tokenize } from "./tokens.ts";
import { CodeModules } from "./code_modules.ts";
import { CodeArguments } from "./code_arguments.ts";
import { CodeBindings } from "./code_bindings.ts";
import { CodeEffects } from "./code_effects.ts";
import {
  CALLED_MODULES,
  EXECS,
  FIRST,
  MOVES,
  PATH_METHODS,
  PATH_TINY,
  REMOVES,
  RUNS,
  SECOND,
  STATEMENT,
  TEMPORARY,
} from "./code_names.ts";
import { CodeValues, type Valued } from "./code_values.ts";
import { replacesLink } from "./links.ts";
import { recordDisarming } from "./own_files.ts";
import { readVariable } from "./parameters.ts";

/**
 * Records the writes that a piece of code names.
 *
 * @param call The interpreter's call.
 * @param source The code.
 * @param language Its language.
 * @param argv What the code sees as its arguments.
 */
export function scanCode(
  call: Call,
  source: string,
  language: Lexicon,
  argv: readonly string[] = [],
): void {
  new Scanner(call, tokenize(source, language), language, argv).scan();
}

/** Bulkhead's own functions that arm and disarm, by the sub-command that calls them. */
const DISARMING_CALLS: ReadonlyMap<string, string> = new Map([
  ["armGuard", "install"],
  ["teardownGuard", "teardown"],
]);

class Scanner {
  readonly #call: Call;
  readonly #tokens: readonly Token[];
  readonly #language: Lexicon;
  readonly #values: CodeValues;
  readonly #bindings: CodeBindings;
  readonly #arguments: CodeArguments;
  readonly #modules: CodeModules;
  /** `const { writeFileSync: w } = require("fs")`. */
  readonly #renamed = new Map<string, string>();
  readonly #effects: CodeEffects;

  constructor(
    call: Call,
    tokens: Token[],
    language: Lexicon,
    argv: readonly string[],
  ) {
    this.#call = call;
    this.#effects = new CodeEffects(call);
    this.#tokens = tokens;
    this.#language = language;
    const { context, state } = call;
    this.#values = new CodeValues(tokens, language, {
      argv,
      // Wherever it is, it is a directory of its own.
      home: context.home ?? `/${SEG}`,
      variable: (name) => readVariable(name, state, context)?.[0],
    });
    this.#bindings = new CodeBindings(tokens, language, this.#values, argv);
    this.#arguments = new CodeArguments(tokens, this.#values, this.#bindings);
    this.#modules = new CodeModules(tokens, language, this.#values);
  }

  scan(): void {
    // In a comprehension, a name is used before the list it comes from.
    for (let i = 0; i < this.#tokens.length; i++) {
      if (this.#tokens[i]?.kind === "name") this.#bindings.assign(i);
      this.#bindings.walks(i);
      this.#bindings.defines(i);
    }
    for (let i = 0; i < this.#tokens.length; i++) {
      const token = this.#tokens[i];
      if (token?.kind === "name") {
        this.#bindings.assign(i);
        this.#bindings.walks(i);
        this.#bindings.defines(i);
        this.#rename(i, token.value);
        this.#callAt(
          i,
          this.#renamed.get(token.value) ?? this.#imported(i, token.value),
        );
      }
      if (token?.kind === "name" || token?.value === "(") this.#pathAt(i);
    }
  }

  /** `from os import remove as r`: what a bare call is of. */
  #imported(i: number, name: string): string {
    return this.#isMark(i - 1, ".")
      ? name
      : this.#values.modules.get(name) ?? name;
  }

  #rename(i: number, name: string): void {
    const local = this.#tokens[i + 2];
    const destructures = this.#language === "javascript" &&
      this.#isMark(i + 1, ":") && local?.kind === "name" &&
      (this.#isMark(i - 1, "{") || this.#isMark(i - 1, ","));
    if (!destructures || !/^[,}]$/.test(this.#tokens[i + 3]?.value ?? "")) {
      return;
    }
    if ([FIRST, REMOVES, SECOND, MOVES, RUNS].some((one) => one.test(name))) {
      this.#renamed.set(local.value, name);
    }
  }

  /** `Path("x").write_text(…)`, `(base / "x").touch()`, `p.unlink()`. */
  #pathAt(i: number): void {
    if (this.#isMark(i - 1, ".")) return;
    const name = this.#tokens[i]?.value ?? "";
    const mayBe = /^(?:Path|PosixPath|Pathname|pathlib)$/.test(name) ||
      this.#values.knows(name);
    const value = this.#values.value(i) ??
      (mayBe ? this.#values.partial(i) : undefined);
    if (value?.isPath !== true || !this.#isMark(value.end, ".")) return;
    const method = this.#tokens[value.end + 1]?.value ?? "";
    if (!PATH_METHODS.test(method)) return;
    this.#pathMethod(method, value.end + 1, value.text);
  }

  #callAt(i: number, name: string): void {
    // `name(` or, in Ruby and Perl, `name "literal"`.
    const bracket = this.#isMark(i + 1, "(");
    const bare = !bracket &&
      (this.#language === "ruby" || this.#language === "perl") &&
      (this.#tokens[i + 1]?.kind === "text" || name === "open" ||
        /^(?:chmod|unlink|utime|sysopen)$/.test(name));
    // Bun's and zx' own shell: $`touch x`.
    const template = this.#tokens[i + 1];
    if (
      name === "$" && this.#language === "javascript" &&
      template?.kind === "text" && template.open !== true
    ) return this.#effects.shell(template.value);
    if (!bracket && !bare && name !== "`") return;
    const start = bracket ? i + 2 : i + 1;
    if (bracket && this.#language === "javascript") {
      // Bulkhead as a library does what its command line does.
      const verb = DISARMING_CALLS.get(name);
      if (verb !== undefined) recordDisarming(this.#call.context, verb);
    }
    if (this.#language === "r") {
      const target = this.#arguments.writtenByR(i, start);
      if (target !== undefined) this.#effects.write(target, "content");
    }
    if (
      (name === "sync" || name === ")") &&
      this.#modules.follows(i, CALLED_MODULES)
    ) return this.#firstOf(start);
    if (!this.#modules.trusted(i, name)) return;
    if (name === "sysopen") {
      const path = this.#arguments.at(start, 1);
      const flags = this.#arguments.words(start);
      if (
        path !== undefined && /O_(?:WRONLY|RDWR|CREAT|TRUNC|APPEND)/.test(flags)
      ) {
        this.#effects.write(path, "content");
      }
      return;
    }
    if (name === "error_log" && this.#language === "php") {
      const path = this.#arguments.at(start, 2);
      if (path !== undefined) this.#effects.write(path, "content");
      return;
    }
    if (name === "screenshot" || name === "pdf") {
      const path = this.#arguments.named(start, "path");
      if (path !== undefined) this.#effects.write(path, "content");
    }
    const exact = this.#values.value(start) ??
      this.#arguments.leading(start, "file");
    const first = exact ?? this.#values.partial(start);
    if (
      name === "open" || name === "fopen" || name === "openSync" ||
      name === "createFile" || name === "file" || name === "ZipFile" ||
      name === "SplFileObject" ||
      name === "File" && this.#modules.follows(i, /^h5py$/) ||
      name === "Dataset" && this.#modules.follows(i, /^netCDF4$/)
    ) {
      return this.#open(i, name, start, first);
    }
    if (
      this.#language === "perl" && exact !== undefined &&
      /^(?:path|io|dir|file)$/.test(name) && this.#isMark(exact.end, ")") &&
      this.#isMark(exact.end + 1, "-") && this.#isMark(exact.end + 2, ">") &&
      PATH_TINY.test(this.#tokens[exact.end + 3]?.value ?? "")
    ) return this.#effects.write(exact.text, "content");
    if (name === "chdir" || name === "setwd") {
      if (exact !== undefined) this.#effects.cwd = exact.text;
      return;
    }
    if (
      (name === "exec" || name === "eval") &&
      (name === "eval" || this.#language === "python")
    ) {
      if (exact !== undefined && !this.#isMark(i - 1, ".")) {
        this.#call.context.nested(() => {
          scanCode(this.#call, exact.text, this.#language);
          return {};
        });
      }
      return;
    }
    if (name === "execute" && this.#modules.follows(i, /^os$/)) {
      return this.#inDirectory(start, () => this.#runs(start, exact));
    }
    if (
      EXECS.test(name) && this.#modules.follows(i, /^os$/) ||
      name === "Command" && this.#modules.follows(i, /^Deno$/)
    ) {
      const words = this.#arguments.texts(start);
      const argv = name === "Command" ? words : words.slice(1);
      return this.#inDirectory(start, () => this.#effects.argv(argv));
    }
    if (name === "output" && this.#modules.follows(i, /^io$/)) {
      if (exact !== undefined) this.#effects.write(exact.text, "content");
      return;
    }
    if (
      /^(?:save|dump|save_file)$/.test(name) &&
      (name === "save_file" ||
        this.#modules.follows(i, /^(?:torch|joblib|nib|nibabel|mx|paddle)$/))
    ) {
      const target = this.#arguments.at(start, 1) ??
        this.#arguments.named(start, "f") ??
        this.#arguments.named(start, "filename");
      if (target !== undefined) this.#effects.write(target, "content");
      return;
    }
    if (RUNS.test(name)) {
      return this.#inDirectory(start, () => this.#runs(start, exact));
    }
    if (
      TEMPORARY.test(name) &&
      this.#modules.follows(i, /^(?:tempfile|Dir|Tempfile)$/)
    ) {
      const { state, context } = this.#call;
      const given = this.#arguments.given(start, "dir");
      const place = given ? this.#arguments.named(start, "dir") : undefined;
      const usual = readVariable("TMPDIR", state, context)?.[0] || "/tmp";
      if (given && place === undefined) return;
      return this.#effects.write(`${place ?? usual}/tmp`, "content");
    }
    if (
      /^(?:input|FileInput)$/.test(name) &&
      this.#modules.follows(i, /^fileinput$/) &&
      this.#arguments.given(start, "inplace")
    ) {
      for (const path of this.#arguments.texts(start)) {
        this.#effects.write(path, "content");
      }
      return;
    }
    const lists = this.#language === "perl" || this.#language === "ruby";
    if (lists && /^(?:chmod|chown|utime|unlink|delete|rm|rm_f)$/.test(name)) {
      const blinds = name === "chmod" && this.#arguments.blinds(start);
      const mode = /^(?:chmod|chown|utime)$/.test(name) && !blinds
        ? "content"
        : "tree";
      for (const path of this.#arguments.texts(start)) {
        this.#effects.write(path, mode);
      }
      return;
    }
    if (
      first !== undefined && /^l?chmod(?:Sync)?$/.test(name) &&
      this.#arguments.blinds(start)
    ) this.#effects.write(first.text, "tree");
    if (name === "basicConfig") {
      const path = this.#arguments.named(start, "filename");
      if (path !== undefined) this.#effects.write(path, "content");
    }
    if (first === undefined) {
      if (SECOND.test(name) || MOVES.test(name)) {
        const second = this.#arguments.at(start, 1);
        if (second !== undefined) this.#effects.write(second, "content");
      }
      if (name === "extractall" || name === "save") this.#keyword(start);
      return;
    }
    if (name === "connect" && this.#modules.follows(i, /^sqlite3$/)) {
      const changes = this.#tokens.some((token) =>
        token.kind === "text" && STATEMENT.test(token.value)
      );
      if (changes) this.#effects.write(first.text, "content");
    } else if (
      MOVES.test(name) || name === "replace" && this.#modules.follows(i, /^os$/)
    ) {
      this.#effects.write(first.text, "tree");
      const second = this.#arguments.at(start, 1);
      if (second !== undefined) {
        const call = this.#effects.call();
        this.#effects.write(
          second,
          isKnown(second) && replacesLink(call, second) ? "entry" : "content",
        );
      }
    } else if (SECOND.test(name)) {
      const second = this.#arguments.at(start, 1) ??
        this.#arguments.named(start, "filename");
      if (second !== undefined) {
        this.#effects.write(
          second,
          /^(?:sym)?link|^ln_/.test(name) ? "entry" : "content",
        );
      }
    } else if (REMOVES.test(name)) this.#effects.write(first.text, "tree");
    else if (FIRST.test(name)) this.#effects.write(first.text, "content");
    else if (
      name === "write" &&
      (this.#modules.follows(
        i,
        /^(?:File|Bun|IO|sf|soundfile|wavfile|tree|ElementTree|etree)$/,
      ) || this.#afterCall(i, "ElementTree"))
    ) {
      this.#effects.write(first.text, "content");
    } else if (
      name === "extractall" || name === "extract" || name === "unpack_archive"
    ) {
      const path = name === "unpack_archive" || name === "extract"
        ? this.#arguments.at(start, 1)
        : first.text;
      if (path !== undefined) this.#effects.write(path, "content");
    } else if (name === "save" && /[/.]/.test(first.text)) {
      this.#effects.write(first.text, "content");
    }
  }

  #pathMethod(name: string, i: number, path: string): void {
    if (name === "open" || name === "write") {
      const mode = this.#values.value(i + 2)?.text;
      if (name === "open" && (mode === undefined || !/[wax+]/.test(mode))) {
        return;
      }
    }
    if (
      (name === "rename" || name === "replace") &&
      this.#values.value(i + 2) !== undefined
    ) {
      this.#effects.write(this.#values.value(i + 2)?.text ?? "", "content");
    }
    this.#effects.write(
      path,
      /^(?:unlink|rmdir|rename|replace|rmtree|delete)$/.test(name)
        ? "tree"
        : "content",
    );
  }

  #open(
    i: number,
    name: string,
    start: number,
    first: { text: string; end: number } | undefined,
  ): void {
    if (this.#language === "perl") {
      const opened = this.#arguments.openedByPerl(start);
      if (opened === undefined) return;
      if (!opened.runs) this.#effects.write(opened.target, "content");
      else if (isKnown(opened.target)) this.#effects.shell(opened.target);
      return;
    }
    if (first === undefined) return;
    const mode = this.#arguments.at(start, 1) ??
      this.#arguments.named(start, "mode") ??
      this.#arguments.named(start, "flags");
    const isDeno = this.#modules.follows(i, /^Deno$/);
    if (isDeno) {
      const text = this.#arguments.words(start);
      if (/(?:write|create|append|truncate|createNew)/.test(text)) {
        this.#effects.write(first.text, "content");
      }
      return;
    }
    if (mode !== undefined && /^[rbtU]*$/.test(mode)) return;
    if (mode === undefined) {
      // It makes the file when there is none.
      if (this.#modules.follows(i, /^shelve$/)) {
        this.#effects.write(first.text, "content");
      }
      if (
        !/O_(?:WRONLY|RDWR|CREAT|APPEND|TRUNC)/.test(
          this.#arguments.words(start),
        ) &&
        name !== "createFile"
      ) return;
    }
    if (mode !== undefined && !/[waxc+]/.test(mode)) return;
    if (first.text.startsWith("|") && isKnown(first.text)) {
      this.#effects.shell(first.text.slice(1));
    } else this.#effects.write(first.text, "content");
  }

  /** Where a started program runs, when the call says so. */
  #inDirectory(start: number, run: () => void): void {
    const before = this.#effects.cwd;
    this.#effects.cwd = this.#arguments.named(start, "cwd") ?? before;
    run();
    this.#effects.cwd = before;
  }

  #runs(start: number, first: Valued | undefined): void {
    const command = this.#arguments.command(start, first);
    if (typeof command === "string") this.#effects.shell(command);
    else if (command !== undefined) this.#effects.argv(command);
  }

  /** Whether a method is one of what a call just made: `ElementTree(x).write(…)`. */
  #afterCall(i: number, made: string): boolean {
    if (!this.#isMark(i - 1, ".") || !this.#isMark(i - 2, ")")) return false;
    let depth = 0;
    for (let j = i - 2; j > 0 && j > i - 60; j--) {
      if (this.#isMark(j, ")")) depth++;
      else if (this.#isMark(j, "(") && --depth === 0) {
        return this.#tokens[j - 1]?.value === made;
      }
    }
    return false;
  }

  #firstOf(start: number): void {
    const path = this.#values.value(start)?.text;
    if (path !== undefined) this.#effects.write(path, "tree");
  }

  #keyword(start: number): void {
    const path = this.#arguments.named(start, "path");
    if (path !== undefined) this.#effects.write(path, "content");
  }

  #isMark(i: number, value: string): boolean {
    return this.#values.isMark(i, value);
  }
}
