/**
 * What the names in scripting code stand for: by assignments, imports, loops, and by the calls of
 * a function for its parameters.
 *
 * @module
 */
import { isKnown, SEG } from "../holes.ts";
import { argumentNames, mostTelling } from "./code_given.ts";
import { moduleName } from "./code_tokens.ts";
import type { CodeValues, Valued } from "./code_values.ts";
import type { Lexicon, Token } from "./tokens.ts";

/** Most elements of a list that are looked at. */
const MAX_ELEMENTS = 50;

/** Most calls of one function that are looked at. */
const MAX_CALLS = 12;

/** Words that begin the definition of a function. */
const DEFINES = /^(?:def|function|fn|sub)$/;

/** Calls that hand on the elements of what they are given. */
const HANDS_ON =
  /^(?:sorted|list|reversed|set|tuple|enumerate|iter|Array\.from|Object\.(?:keys|entries))$/;

/** Carries out what gives names their values. */
export class CodeBindings {
  readonly #tokens: readonly Token[];
  readonly #language: Lexicon;
  readonly #values: CodeValues;
  readonly #argv: readonly string[];
  /** Where lists that names stand for begin. */
  readonly #lists = new Map<string, number>();
  #calls: Map<string, number[]> | undefined;

  /**
   * Prepares binding.
   *
   * @param tokens The code.
   * @param language Its language.
   * @param values Reads values, and keeps those of names.
   * @param argv The arguments of the program.
   */
  constructor(
    tokens: readonly Token[],
    language: Lexicon,
    values: CodeValues,
    argv: readonly string[],
  ) {
    this.#tokens = tokens;
    this.#language = language;
    this.#values = values;
    this.#argv = argv;
  }

  /**
   * Carries out `name = value` and the renaming of modules.
   *
   * @param i Index of the name.
   */
  assign(i: number): void {
    const name = this.#at(i);
    // import x as y
    if (name === "as" && this.#tokens[i + 1]?.kind === "name") {
      this.#values.modules.set(this.#at(i + 1), this.#at(i - 1));
      return;
    }
    // import("fs").then((fs) => …)
    if (
      name === "then" && this.#at(i - 5) === "import" &&
      this.#tokens[i - 3]?.kind === "text"
    ) {
      const local = this.#isMark(i + 2, "(") ? i + 3 : i + 2;
      this.#values.modules.set(this.#at(local), moduleName(this.#at(i - 3)));
      return;
    }
    // os.environ["X"] = "/y"
    if (/^(?:environ|ENV)$/.test(name) && this.#isMark(i + 4, "=")) {
      const value = this.#values.value(i + 5)?.text;
      if (this.#tokens[i + 2]?.kind === "text" && value !== undefined) {
        this.#values.inputs.environment.set(this.#at(i + 2), value);
      }
      return;
    }
    // import * as fs from "fs"; import fs from "node:fs"
    if (
      name === "from" && this.#language === "javascript" &&
      this.#tokens[i + 1]?.kind === "text"
    ) {
      const local = this.#tokens[i - 1];
      if (local?.kind === "name") {
        this.#values.modules.set(local.value, moduleName(this.#at(i + 1)));
      }
      return;
    }
    if (
      !this.#isMark(i + 1, "=") || this.#isMark(i + 2, "=") ||
      this.#isMark(i + 2, ">")
    ) return;
    const required = this.#at(i + 2) === "require" ||
      this.#at(i + 2) === "__import__";
    if (required && this.#tokens[i + 4]?.kind === "text") {
      this.#values.modules.set(name, moduleName(this.#at(i + 4)));
      return;
    }
    if (this.#at(i - 2) === "env" && this.#isMark(i - 1, ".")) {
      const value = this.#values.value(i + 2)?.text;
      if (value !== undefined) this.#values.inputs.environment.set(name, value);
    }
    if (this.#tuple(i)) return;
    if (/^[[({]$/.test(this.#at(i + 2))) this.#lists.set(name, i + 2);
    else this.#lists.delete(name);
    this.#bindTo(name, i + 2);
  }

  #bindTo(name: string, i: number): void {
    const value = this.#values.value(i) ?? this.#values.partial(i);
    // What a method gives is something else than the path it is called on.
    const called = value?.isPath === true && this.#isMark(value.end, ".");
    this.#values.bind(name, called ? undefined : value);
  }

  /** `a, b = "x", "y"`: each name its own. */
  #tuple(i: number): boolean {
    if (!/^(?:python|ruby|lua)$/.test(this.#language)) return false;
    const names = [this.#at(i)];
    for (let k = i - 1; this.#isMark(k, ",") && names.length < 10; k -= 2) {
      if (this.#tokens[k - 1]?.kind !== "name") break;
      names.unshift(this.#at(k - 1));
    }
    const before = this.#tokens[i - 2 * names.length + 1];
    const inCall = before?.kind === "mark" && /^[([{,.=*]$/.test(before.value);
    if (names.length < 2 || inCall) return false;
    const given = this.#values.inputs.listed(i + 2);
    if (given.length > 0) {
      // `_, a, b = sys.argv`, or without the script's own name.
      const sliced = /^(?:1)$/.test(this.#at(i + 6)) ||
        this.#language === "ruby";
      for (const [n, name] of names.entries()) {
        const text = given[sliced ? n : n - 1];
        this.#values.bind(
          name,
          text === undefined ? undefined : { text, end: i },
        );
      }
      return true;
    }
    let k = i + 2;
    for (const name of names) {
      const value = this.#values.value(k) ?? this.#values.partial(k);
      this.#values.bind(name, value);
      if (value === undefined) {
        k = this.#behindComma(k);
        continue;
      }
      k = this.#isMark(value.end, ",") ? value.end + 1 : value.end;
    }
    return true;
  }

  /** The element behind one that is not known. */
  #behindComma(i: number): number {
    for (let k = i; k < this.#tokens.length && k < i + 40; k++) {
      if (/^[([{]$/.test(this.#at(k)) && this.#tokens[k]?.kind === "mark") {
        k = this.#values.closing(k);
      } else if (this.#isMark(k, ",")) return k + 1;
    }
    return this.#tokens.length;
  }

  /**
   * Carries out `for name in …` and `for (const name of …)`.
   *
   * @param i Index of the word between name and list.
   */
  walks(i: number): void {
    const given = this.#tokens[i]?.kind === "name"
      ? mostTelling(this.#values.inputs.listed(i))
      : undefined;
    if (given !== undefined) {
      const names = argumentNames(this.#tokens, i, this.#language);
      for (const [n, name] of names.entries()) {
        const text = names.length > 1 ? this.#argv[n] : given;
        if (text !== undefined) this.#values.bind(name, { text, end: i });
      }
    }
    const word = this.#tokens[i];
    if (word?.kind !== "name" || !/^(?:in|of)$/.test(word.value)) return;
    const names: string[] = [];
    for (let k = i - 1; this.#tokens[k]?.kind === "name"; k -= 2) {
      names.unshift(this.#at(k));
      if (!this.#isMark(k - 1, ",") || names.length > 5) break;
    }
    for (const [n, name] of names.entries()) {
      const one = this.#member(i + 1, names.length > 1 ? n : undefined);
      if (one !== undefined) this.#values.bind(name, one);
    }
  }

  /** What one of a list may be: literals, matches of a pattern, entries of a directory. */
  #member(i: number, n: number | undefined): Valued | undefined {
    if (/^[[({]$/.test(this.#at(i)) && this.#tokens[i]?.kind === "mark") {
      return this.#element(i, n);
    }
    const { words, end } = this.#values.qualified(i);
    const called = words.join(".");
    if (this.#isMark(end, "(")) {
      if (HANDS_ON.test(called)) {
        const counted = called === "enumerate" && n !== undefined;
        return this.#member(
          end + 1,
          counted ? n === 1 ? undefined : n : n,
        );
      }
      const last = words.at(-1) ?? "";
      if (/^i?glob(?:Sync)?$/.test(last)) {
        const pattern = this.#values.value(end + 1);
        return pattern === undefined
          ? undefined
          : { ...pattern, text: pattern.text.replace(/[*?]+/g, SEG) };
      }
      if (last === "walk" && (n ?? 0) === 0) return this.#values.value(end + 1);
      // `pairs.items()` of a dictionary
      const list = this.#lists.get(words[0] ?? "");
      if (list !== undefined && /^(?:items|keys|entries)$/.test(last)) {
        return this.#element(list, n);
      }
    }
    const list = this.#lists.get(called);
    if (list !== undefined) return this.#element(list, n);
    const value = this.#values.value(i);
    return value?.isPath === true && !isKnown(value.text) ? value : undefined;
  }

  /** The most telling of the elements of a literal list, or of their n-th parts. */
  #element(open: number, n: number | undefined): Valued | undefined {
    const close = this.#values.closing(open);
    const pairs = this.#isMark(open, "{");
    const found: Valued[] = [];
    for (let k = open + 1; k < close && found.length < MAX_ELEMENTS;) {
      const nested = /^[[(]$/.test(this.#at(k)) &&
        this.#tokens[k]?.kind === "mark" && n !== undefined;
      let at = nested ? k + 1 : k;
      for (let part = 0; nested && part < (n ?? 0); part++) {
        at = this.#behindComma(at);
      }
      if (pairs && n === 1) {
        const key = this.#values.value(k);
        at = key !== undefined && this.#isMark(key.end, ":") ? key.end + 1 : k;
      }
      const value = this.#values.value(at);
      if (value !== undefined) found.push(value);
      const next = nested
        ? this.#values.closing(k) + 1
        : this.#behindComma(value?.end ?? k) - 1;
      if (next <= k) break;
      k = this.#isMark(next, ",") ? next + 1 : this.#behindComma(next);
      if (k >= close) break;
    }
    // One that leaves the directory says more than the others.
    return found.find(({ text }) => /^[/~]|^\.\./.test(text)) ?? found[0];
  }

  /**
   * The literals of a list that a name stands for.
   *
   * @param name The name.
   * @returns Where the list begins; `undefined` for another name.
   */
  listOf(name: string): number | undefined {
    return this.#lists.get(name);
  }

  /**
   * Binds the parameters of a function to what it is called with: where some call hands in a
   * place that leaves the directory, to that.
   *
   * @param i Index of the word that begins a definition: `def`, `function`.
   */
  defines(i: number): void {
    if (this.#language === "javascript") {
      if (this.#isMark(i + 1, "=")) return this.#arrow(i);
      if (/^(?:forEach|map|filter|flatMap)$/.test(this.#at(i))) {
        return this.#callback(i);
      }
    }
    if (
      DEFINES.test(this.#at(i)) &&
      this.#tokens[i + 1]?.kind === "name" && this.#isMark(i + 2, "(")
    ) this.#parameters(this.#at(i + 1), i + 2);
  }

  /** `const write = (p, s) => …`, `const write = async p => …` */
  #arrow(i: number): void {
    const start = this.#at(i + 2) === "async" ? i + 3 : i + 2;
    const bracket = this.#isMark(start, "(");
    const end = bracket ? this.#values.closing(start) + 1 : start + 1;
    if (!this.#isMark(end, "=") || !this.#isMark(end + 1, ">")) return;
    if (bracket) this.#parameters(this.#at(i), start);
    else if (this.#tokens[start]?.kind === "name") {
      const parameter = this.#at(start);
      this.#values.bind(
        parameter,
        this.#handedIn(this.#at(i), 0, parameter, start - 1),
      );
    }
  }

  /** `["/x"].forEach((p) => …)`, `files.map(p => …)` */
  #callback(i: number): void {
    if (!this.#isMark(i - 1, ".") || !this.#isMark(i + 1, "(")) return;
    const start = this.#at(i + 2) === "async" ? i + 3 : i + 2;
    const name = this.#at(this.#isMark(start, "(") ? start + 1 : start);
    let list = this.#lists.get(this.#at(i - 2));
    let depth = 0;
    for (
      let k = i - 2;
      this.#isMark(i - 2, "]") && list === undefined && k >= 0 && k > i - 200;
      k--
    ) {
      if (this.#isMark(k, "]")) depth++;
      else if (this.#isMark(k, "[") && --depth === 0) list = k;
    }
    const one = list === undefined ? undefined : this.#element(list, undefined);
    if (one !== undefined) this.#values.bind(name, one);
  }

  #parameters(name: string, open: number): void {
    const close = this.#values.closing(open);
    const names: string[] = [];
    for (let k = open + 1; k < close; k = this.#behindComma(k)) {
      if (this.#tokens[k]?.kind === "name") names.push(this.#at(k));
      if (names.length > 10) break;
    }
    for (const [n, parameter] of names.entries()) {
      this.#values.bind(parameter, this.#handedIn(name, n, parameter, open));
    }
  }

  #handedIn(
    name: string,
    n: number,
    parameter: string,
    definition: number,
  ): Valued | undefined {
    let any: Valued | undefined;
    for (const k of this.#callsOf(name)) {
      if (k + 1 === definition) continue;
      const close = this.#values.closing(k + 1);
      let at = k + 2;
      let value: Valued | undefined;
      for (let part = 0; at < close; part++) {
        const named = this.#at(at) === parameter && this.#isMark(at + 1, "=");
        if (named || part === n) {
          value = this.#values.value(named ? at + 2 : at);
          if (named) break;
        }
        at = this.#behindComma(at);
      }
      if (value === undefined) continue;
      if (/^[/~]|^\.\./.test(value.text)) return value;
      any ??= value;
    }
    return any;
  }

  /** Where a function is called, some of the places at least. */
  #callsOf(name: string): readonly number[] {
    if (this.#calls === undefined) {
      this.#calls = new Map();
      for (const [k, token] of this.#tokens.entries()) {
        if (
          token.kind !== "name" || !this.#isMark(k + 1, "(") ||
          this.#isMark(k - 1, ".") || DEFINES.test(this.#at(k - 1))
        ) continue;
        const places = this.#calls.get(token.value);
        if (places === undefined) this.#calls.set(token.value, [k]);
        else if (places.length < MAX_CALLS) places.push(k);
      }
    }
    return this.#calls.get(name) ?? [];
  }

  #at(i: number): string {
    return this.#tokens[i]?.value ?? "";
  }

  #isMark(i: number, value: string): boolean {
    return this.#values.isMark(i, value);
  }
}
