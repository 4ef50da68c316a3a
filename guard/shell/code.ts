/**
 * Finds writes with literal targets in code that an interpreter is given on its command line.
 * Computed targets are left alone: such code is opaque, and most of it is harmless.
 *
 * @module
 */
import { joinPath } from "@bulkhead/sandbox/paths";
import { isKnown } from "../holes.ts";
import { type Call, writes } from "./call.ts";
import { type Lexicon, type Token, tokenize } from "./tokens.ts";
import type { EffectMode } from "../effect.ts";

const LABEL = {
  rule: "interpreter",
  label: "file write inside interpreter code",
} as const;

/** Calls whose first argument is written. */
const FIRST =
  /^(?:writeFile|writeFileSync|appendFile|appendFileSync|createWriteStream|mkdir|mkdirSync|mkdtemp|mkdtempSync|truncate|truncateSync|chmod|chmodSync|chown|chownSync|utimes|utimesSync|makedirs|mkdirs?|mkdir_p|mkpath|make_path|touch|writeTextFile|writeTextFileSync|ensureDir|ensureDirSync|ensureFile|outputFile|outputFileSync|outputJson|outputJsonSync|writeJson|writeJSON|writeJsonSync|file_put_contents|mkfifo|mknod|to_csv|to_json|to_parquet|to_excel|to_pickle|to_html|savefig|saveas|binwrite|writelines_to|atomic_write|setxattr|utime|lchmod|lchown|chflags)$/;
/** Calls whose first argument is removed. */
const REMOVES =
  /^(?:unlink|unlinkSync|rm|rmSync|rmdir|rmdirSync|remove|removeSync|removedirs|rmtree|rm_rf|rm_r|rm_f|remove_tree|emptyDir|emptyDirSync|del|deleteSync|rimraf|delete)$/;
/** Calls whose second argument is written. */
const SECOND =
  /^(?:copyFile|copyFileSync|copy|copy2|copyfile|copytree|cp|cpSync|cp_r|copySync|copy_file|copy_entry|symlink|symlinkSync|link|linkSync|ln_s|ln_sf|linkto|make_archive_to|extractall_to|urlretrieve|install|fcopy)$/;
/** Calls that remove the first argument and write the second. */
const MOVES = /^(?:rename|renameSync|renames|replace_file|move|moveSync|mv)$/;
/** Calls that run a command line. */
const RUNS =
  /^(?:system|popen|exec|execSync|getoutput|getstatusoutput|check_output|check_call|run|call|Popen|spawn|spawnSync|execFile|execFileSync|shell_exec|passthru|proc_open|qx|`|sh|execa|execaSync|execaCommand|backticks|capture2|capture3|capture2e)$/;
/** Methods of a path object that write it. */
const PATH_METHODS =
  /^(?:write_text|write_bytes|touch|mkdir|unlink|rmdir|chmod|symlink_to|hardlink_to|rename|replace|open|write|rmtree|delete|mkpath|binwrite)$/;
/** Words that make a path object of a literal. */
const PATH_MAKERS = /^(?:Path|PosixPath|PurePath|Pathname|File|open|Dir)$/;
/** Names that are only dangerous on a file module. */
const NEEDS_MODULE =
  /^(?:remove|copy|move|replace|rename|delete|link|run|call|exec|touch|mkdir|rm|cp|mv|install|del|sh|truncate|spawn)$/;
/** Those modules. */
const MODULES =
  /^(?:os|shutil|fs|fsp|fse|promises|path|pathlib|File|FileUtils|Dir|Deno|Bun|subprocess|child_process|cp|IO|Kernel|unlink|shelljs|shell|Path|sh|fsPromises|process|Process)$/;

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

class Scanner {
  readonly #call: Call;
  readonly #tokens: readonly Token[];
  readonly #language: Lexicon;
  readonly #argv: readonly string[];
  readonly #known = new Map<string, string>();
  #cwd: string | undefined;

  constructor(
    call: Call,
    tokens: Token[],
    language: Lexicon,
    argv: readonly string[],
  ) {
    this.#call = call;
    this.#tokens = tokens;
    this.#language = language;
    this.#argv = argv;
  }

  scan(): void {
    for (let i = 0; i < this.#tokens.length; i++) {
      const token = this.#tokens[i];
      if (token?.kind !== "name") continue;
      this.#assignment(i, token.value);
      this.#callAt(i, token.value);
    }
  }

  /** `name = "literal"`. */
  #assignment(i: number, name: string): void {
    if (
      !this.#isMark(i + 1, "=") || this.#isMark(i + 2, "=") ||
      this.#isMark(i + 2, ">")
    ) return;
    const value = this.#value(i + 2);
    if (value === undefined) this.#known.delete(name);
    else this.#known.set(name, value.text);
  }

  #callAt(i: number, name: string): void {
    // `name(` or, in Ruby and Perl, `name "literal"`.
    const bracket = this.#isMark(i + 1, "(");
    const bare = !bracket &&
      (this.#language === "ruby" || this.#language === "perl") &&
      (this.#tokens[i + 1]?.kind === "text" || name === "open");
    if (!bracket && !bare && name !== "`") return;
    const start = bracket ? i + 2 : i + 1;
    if (this.#isMark(i - 1, ".") || this.#isMark(i - 1, ":")) {
      if (this.#onPath(i, name)) return;
    }
    if (!this.#trusted(i, name)) return;
    const first = this.#value(start);
    if (
      name === "open" || name === "fopen" || name === "openSync" ||
      name === "createFile" || name === "file"
    ) {
      return this.#open(i, name, start, first);
    }
    if (name === "chdir" || name === "setwd") {
      if (first !== undefined) this.#cwd = first.text;
      return;
    }
    if (RUNS.test(name)) return this.#runs(start, first);
    if (first === undefined) {
      if (SECOND.test(name) || MOVES.test(name)) {
        const second = this.#argument(start, 1);
        if (second !== undefined) this.#write(second, "content");
      }
      if (name === "extractall" || name === "save") this.#keyword(start);
      return;
    }
    if (MOVES.test(name)) {
      this.#write(first.text, "tree");
      const second = this.#argument(start, 1);
      if (second !== undefined) this.#write(second, "content");
    } else if (SECOND.test(name)) {
      const second = this.#argument(start, 1);
      if (second !== undefined) {
        this.#write(
          second,
          /^(?:sym)?link|^ln_/.test(name) ? "entry" : "content",
        );
      }
    } else if (REMOVES.test(name)) this.#write(first.text, "tree");
    else if (FIRST.test(name)) this.#write(first.text, "content");
    else if (name === "write" && this.#follows(i, /^(?:File|Bun|IO)$/)) {
      this.#write(first.text, "content");
    } else if (
      name === "extractall" || name === "extract" || name === "unpack_archive"
    ) {
      const path = name === "unpack_archive" || name === "extract"
        ? this.#argument(start, 1)
        : first.text;
      if (path !== undefined) this.#write(path, "content");
    } else if (name === "save" && /[/.]/.test(first.text)) {
      this.#write(first.text, "content");
    }
  }

  /** `Path("x").write_text(…)`, `open("x").write`, `Pathname.new("x").delete`. */
  #onPath(i: number, name: string): boolean {
    if (!PATH_METHODS.test(name)) return false;
    let j = i - 2;
    if (!this.#isMark(j, ")")) {
      const owner = this.#tokens[j];
      const known = owner?.kind === "name"
        ? this.#known.get(`path:${owner.value}`)
        : undefined;
      if (known === undefined) return false;
      return this.#pathMethod(name, i, known);
    }
    let depth = 0;
    for (; j >= 0; j--) {
      if (this.#isMark(j, ")")) depth++;
      else if (this.#isMark(j, "(") && --depth === 0) break;
    }
    const maker = this.#tokens[j - 1];
    if (maker?.kind !== "name") return false;
    const isMaker = PATH_MAKERS.test(maker.value) ||
      (maker.value === "new" &&
        this.#follows(j - 1, /^(?:Pathname|File|Dir)$/));
    // `(Path("/srv") / "x").touch()`
    const value = isMaker ? this.#value(j + 1) : undefined;
    return value !== undefined && maker.value !== "open" &&
      this.#pathMethod(name, i, value.text);
  }

  #pathMethod(name: string, i: number, path: string): boolean {
    if (name === "open" || name === "write") {
      const mode = this.#value(i + 2)?.text;
      if (name === "open" && (mode === undefined || !/[wax+]/.test(mode))) {
        return true;
      }
    }
    if (
      (name === "rename" || name === "replace") &&
      this.#value(i + 2) !== undefined
    ) {
      this.#write(this.#value(i + 2)?.text ?? "", "content");
    }
    this.#write(
      path,
      /^(?:unlink|rmdir|rename|replace|rmtree|delete)$/.test(name)
        ? "tree"
        : "content",
    );
    return true;
  }

  #open(
    i: number,
    name: string,
    start: number,
    first: { text: string; end: number } | undefined,
  ): void {
    if (this.#language === "perl") {
      // open(my $f, ">", "/srv/x") or open(F, ">/srv/x")
      const literals: string[] = [];
      for (let j = start; j < start + 14 && j < this.#tokens.length; j++) {
        const token = this.#tokens[j];
        if (
          token?.kind === "mark" && (token.value === ";" || token.value === ")")
        ) break;
        if (token?.kind === "text") literals.push(token.value);
        else if (token?.kind === "name" && this.#known.has(token.value)) {
          literals.push(this.#known.get(token.value) ?? "");
        }
      }
      const [mode = "", path] = literals;
      const match = /^\s*(\+?[>]{1,2}|\+<|\|)\s*(.*)$/.exec(mode);
      if (match === null) return;
      const target = match[2] || path;
      if (match[1] === "|" && target !== undefined) this.#shell(target);
      else if (target !== undefined && !target.startsWith("&")) {
        this.#write(target, "content");
      }
      return;
    }
    if (first === undefined) return;
    const mode = this.#argument(start, 1) ??
      this.#namedArgument(start, "mode") ??
      this.#namedArgument(start, "flags");
    const isDeno = this.#follows(i, /^Deno$/);
    if (isDeno) {
      const text = this.#callText(start);
      if (/(?:write|create|append|truncate|createNew)/.test(text)) {
        this.#write(first.text, "content");
      }
      return;
    }
    if (mode !== undefined && /^[rbtU]*$/.test(mode)) return;
    if (mode === undefined) {
      if (
        !/O_(?:WRONLY|RDWR|CREAT|APPEND|TRUNC)/.test(this.#callText(start)) &&
        name !== "createFile"
      ) return;
    }
    if (mode !== undefined && !/[waxc+]/.test(mode)) return;
    if (first.text.startsWith("|")) this.#shell(first.text.slice(1));
    else this.#write(first.text, "content");
  }

  #runs(start: number, first: { text: string; end: number } | undefined): void {
    if (first !== undefined) {
      // spawn("rm", ["-rf", "/srv"]) and system("rm", "-rf", "/srv")
      const rest: string[] = [];
      let j = first.end;
      for (let depth = 0; j < this.#tokens.length && j < first.end + 80; j++) {
        const token = this.#tokens[j];
        if (
          token === undefined ||
          (token.kind === "mark" && /[);{]/.test(token.value) && depth === 0)
        ) break;
        if (token.kind === "mark" && token.value === "[") depth++;
        else if (token.kind === "mark" && token.value === "]") depth--;
        else if (token.kind === "text") rest.push(token.value);
        else if (
          token.kind === "name" &&
          !/^(?:shell|True|true|check|cwd)$/.test(token.value) &&
          !this.#known.has(token.value)
        ) {
          if (depth === 0) break;
        }
      }
      if (rest.length > 0 && !/\s/.test(first.text)) {
        this.#argvOf([first.text, ...rest]);
      } else this.#shell(first.text);
      return;
    }
    if (this.#isMark(start, "[")) {
      const argv: string[] = [];
      for (
        let j = start + 1;
        j < this.#tokens.length && !this.#isMark(j, "]");
        j++
      ) {
        const token = this.#tokens[j];
        if (token?.kind === "text") argv.push(token.value);
        else if (token?.kind === "name") {
          argv.push(this.#known.get(token.value) ?? "\uE000");
        }
      }
      if (argv.length > 0) this.#argvOf(argv);
    }
  }

  #shell(text: string): void {
    const { context, state } = this.#call;
    context.nested(() => context.run.text(text, this.#place(state), {}));
  }

  #argvOf(argv: string[]): void {
    const { context, state } = this.#call;
    context.nested(() => context.run.argv(argv, this.#place(state), {}));
  }

  #place(state: Call["state"]): Call["state"] {
    const place = state.fork();
    const here = this.#cwd;
    if (here !== undefined) {
      place.cwd = place.cwd.map((cwd) => joinPath(cwd, here));
    }
    return place;
  }

  #write(path: string, mode: EffectMode): void {
    if (
      path === "" || !isKnown(path) ||
      /^[a-z][a-z\d+.-]+:\/\//i.test(path) && !path.startsWith("file://")
    ) return;
    const state = this.#place(this.#call.state);
    writes(
      { ...this.#call, state },
      path.replace(/^file:\/\//, ""),
      mode,
      LABEL,
    );
  }

  /** Whether a call of this name may be one of a file module. */
  #trusted(i: number, name: string): boolean {
    if (name === "open" && this.#isMark(i - 1, ".")) {
      return this.#follows(
        i,
        /^(?:os|io|codecs|gzip|bz2|lzma|fs|fsp|promises|File|Deno|Pathname|aiofiles|tarfile|zipfile|ZipFile|shelve|dbm|builtins)$/,
      );
    }
    if (name === "exec") {
      return !this.#isMark(i - 1, ".")
        ? this.#language !== "python"
        : this.#follows(i, MODULES);
    }
    if (!NEEDS_MODULE.test(name)) return true;
    if (this.#isMark(i - 1, ".") || this.#isMark(i - 1, ":")) {
      return this.#follows(i, MODULES);
    }
    // A bare call: a builtin of Perl or Ruby, or a name that was imported.
    return this.#language !== "javascript" && this.#language !== "python"
      ? true
      : this.#tokens.some((token, j) =>
        token.value === name && j !== i && j < i &&
        this.#tokens.slice(Math.max(0, j - 12), j).some((before) =>
          /^(?:import|from|require|const)$/.test(before.value)
        )
      );
  }

  /** The word before the dot is one of some. */
  #follows(i: number, owner: RegExp): boolean {
    let j = i - 1;
    while (this.#isMark(j, ".") || this.#isMark(j, ":")) j--;
    const token = this.#tokens[j];
    if (token?.kind === "name") return owner.test(token.value);
    // require("fs").x and require("node:fs/promises").x
    if (this.#isMark(j, ")")) {
      const inner = this.#tokens[j - 1];
      return inner?.kind === "text" &&
        inner.value.replace(/^node:/, "").split("/").some((part) =>
          owner.test(part) || owner.test(part.replace("-extra", ""))
        );
    }
    return false;
  }

  /** The literal value of an expression: strings, known names, `+`, `/`, `join`. */
  #value(i: number): { text: string; end: number } | undefined {
    const token = this.#tokens[i];
    if (token === undefined) return undefined;
    let text: string | undefined;
    let end = i + 1;
    if (token.kind === "text") text = token.open ? undefined : token.value;
    else if (token.kind === "name") {
      if (/^(?:my|const|let|var|await|new|local|our)$/.test(token.value)) {
        return this.#value(i + 1);
      }
      const joined = this.#joined(i);
      if (joined !== undefined) ({ text, end } = joined);
      else if (this.#isArgv(i)) ({ text, end } = this.#argvValue(i));
      else {
        text = this.#known.get(token.value);
        if (
          text !== undefined &&
          (this.#isMark(end, "(") ||
            this.#isMark(end, ".") && this.#language !== "perl" &&
              this.#language !== "php")
        ) return undefined;
      }
    } else if (token.value === "(") {
      const inner = this.#value(i + 1);
      if (inner === undefined || !this.#isMark(inner.end, ")")) {
        return undefined;
      }
      text = inner.text;
      end = inner.end + 1;
    }
    if (text === undefined) return undefined;
    const operator = this.#tokens[end];
    const joins = operator?.kind === "mark" &&
      (operator.value === "+" || operator.value === "/" ||
        (operator.value === "." &&
          (this.#language === "perl" || this.#language === "php")));
    if (joins) {
      const next = this.#value(end + 1);
      if (next === undefined) return undefined;
      return {
        text: operator.value === "/"
          ? joinPath(text, next.text)
          : text + next.text,
        end: next.end,
      };
    }
    return { text, end };
  }

  /** `os.path.join("a", "b")`, `path.join(…)`, `Path("a")`, `File.join(…)`, `Pathname.new("a")`. */
  #joined(i: number): { text: string; end: number } | undefined {
    let j = i;
    const names: string[] = [];
    while (this.#tokens[j]?.kind === "name") {
      names.push(this.#tokens[j]?.value ?? "");
      if (!this.#isMark(j + 1, ".")) break;
      j += 2;
    }
    const last = names.at(-1) ?? "";
    const isJoin = /^(?:join|resolve)$/.test(last) && names.length > 1 ||
      /^(?:Path|PosixPath|expanduser|URL)$/.test(last) ||
      (last === "new" && /^(?:Pathname)$/.test(names[0] ?? ""));
    if (!isJoin || !this.#isMark(j + 1, "(")) return undefined;
    const parts: string[] = [];
    for (let k = j + 2; k < this.#tokens.length;) {
      if (this.#isMark(k, ")")) {
        let text = parts.reduce(
          (base, next) => joinPath(base, next),
          parts.shift() ?? ".",
        );
        if (last === "expanduser") {
          const home = this.#call.context.home;
          text = home === undefined ? text : text.replace(/^~(?=\/|$)/, home);
        }
        return { text, end: k + 1 };
      }
      const value = this.#value(k);
      if (value === undefined) return undefined;
      parts.push(value.text);
      k = this.#isMark(value.end, ",") ? value.end + 1 : value.end;
    }
    return undefined;
  }

  #isArgv(i: number): boolean {
    const name = this.#tokens[i]?.value;
    if (name === "sys" || name === "process") {
      return this.#isMark(i + 1, ".") &&
        this.#tokens[i + 2]?.value === "argv" && this.#isMark(i + 3, "[");
    }
    return (name === "ARGV" || name === "$ARGV") && this.#isMark(i + 1, "[");
  }

  #argvValue(i: number): { text: string | undefined; end: number } {
    const plain = this.#tokens[i]?.value.includes("ARGV") ?? false;
    const at = i + (plain ? 2 : 4);
    const index = Number(this.#tokens[at]?.value);
    const base = plain ? 0 : 1;
    return { text: this.#argv[index - base], end: at + 2 };
  }

  /** The literal value of the n-th argument of a call. */
  #argument(start: number, n: number): string | undefined {
    let depth = 0;
    let count = 0;
    for (let j = start; j < this.#tokens.length && j < start + 400; j++) {
      const token = this.#tokens[j];
      if (token?.kind !== "mark") continue;
      if (/[([{]/.test(token.value)) depth++;
      else if (/[)\]}]/.test(token.value)) {
        if (depth-- === 0) return undefined;
      } else if (token.value === ";" && depth === 0) return undefined;
      else if (token.value === "," && depth === 0 && ++count === n) {
        return this.#value(j + 1)?.text;
      }
    }
    return undefined;
  }

  #namedArgument(start: number, name: string): string | undefined {
    for (let j = start; j < this.#tokens.length && j < start + 60; j++) {
      if (this.#isMark(j, ")")) return undefined;
      if (
        this.#tokens[j]?.value === name &&
        (this.#isMark(j + 1, "=") || this.#isMark(j + 1, ":"))
      ) {
        return this.#value(j + 2)?.text;
      }
    }
    return undefined;
  }

  #keyword(start: number): void {
    const path = this.#namedArgument(start, "path");
    if (path !== undefined) this.#write(path, "content");
  }

  #callText(start: number): string {
    const words: string[] = [];
    for (
      let j = start;
      j < this.#tokens.length && j < start + 40 && !this.#isMark(j, ")");
      j++
    ) {
      words.push(this.#tokens[j]?.value ?? "");
    }
    return words.slice(1).join(" ");
  }

  #isMark(i: number, value: string): boolean {
    const token = this.#tokens[i];
    return token?.kind === "mark" && token.value === value;
  }
}
