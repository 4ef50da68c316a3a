/**
 * The expression of `find` against paths that are known: would it act on them?
 *
 * @module
 */
import { isKnown } from "../holes.ts";
import { matchesGlob } from "./glob.ts";

/** One thing that `find` may meet. */
export interface FoundEntry {
  /** The start, and what follows it: `./.claude`. */
  path: string;
  /** Directories between the start and this. */
  depth: number;
  /** Whether it is a directory. */
  directory: boolean;
}

/** What an expression makes of an entry. */
export interface Findings {
  /** The expression ends true, so that an implied `-print` prints it. */
  matched: boolean;
  /** Actions it reaches, by the place of their word. */
  actions: ReadonlySet<number>;
  /** It is, or may be, kept from looking below. */
  pruned: boolean;
  /** A pattern of the expression was meant for names like this one. */
  named: boolean;
}

/** True, false, or not to be told from a name: a size, a time, an owner. */
type Truth = boolean | undefined;

interface Visit {
  entry: FoundEntry;
  certain: boolean;
  actions: Set<number>;
  pruned: boolean;
  named: boolean;
}

type Test = (visit: Visit) => Truth;

/** Tests and options without a value. */
const BARE =
  /^-(?:d|depth|mount|xdev|follow|noleaf|daystart|warn|nowarn|(?:no)?ignore_readdir_race|print|print0|ls|quit|true|nouser|nogroup|readable|writable|executable)$/;

/** Patterns that sweep rather than name: `*`, `*.json`, `.*`. */
const SWEEPING = /^(?:[*?]*(?:\.\w*[*?]*)?|\.\*)$/;

/**
 * Tests one after the other until one settles the result: `or` ends at the first that
 * is true, `and` at the first that is false. What follows one that cannot be told is
 * not certain.
 */
function until(settled: boolean, tests: readonly Test[]): Test {
  return (visit) => {
    const { certain } = visit;
    let result: Truth = !settled;
    for (const test of tests) {
      const value = test(visit);
      if (value === settled) {
        result = settled;
        break;
      }
      if (value === undefined) {
        result = undefined;
        visit.certain = false;
      }
    }
    visit.certain = certain;
    return result;
  };
}

/** An expression of `find`, read once. */
export class FindExpression {
  readonly #words: readonly string[];
  readonly #test: Test;
  #at = 0;
  #maxDepth = Infinity;
  #minDepth = 0;

  /**
   * Reads an expression.
   *
   * @param words The arguments after the starting points.
   */
  constructor(words: readonly string[]) {
    this.#words = words;
    this.#test = words.length === 0 ? () => true : this.#list();
  }

  /**
   * Evaluates it on one entry.
   *
   * @param entry What is met.
   * @returns What becomes of it.
   */
  meet(entry: FoundEntry): Findings {
    if (entry.depth > this.#maxDepth || entry.depth < this.#minDepth) {
      return {
        matched: false,
        actions: new Set(),
        pruned: entry.depth >= this.#maxDepth,
        named: false,
      };
    }
    const visit: Visit = {
      entry,
      certain: true,
      actions: new Set(),
      pruned: false,
      named: false,
    };
    const matched = this.#test(visit) === true;
    return { ...visit, matched };
  }

  #list(): Test {
    let left = this.#or();
    while (this.#words[this.#at] === ",") {
      this.#at++;
      const [first, second] = [left, this.#or()];
      left = (visit) => {
        first(visit);
        return second(visit);
      };
    }
    return left;
  }

  #or(): Test {
    const tests = [this.#and()];
    while (/^-(?:o|or)$/.test(this.#words[this.#at] ?? "")) {
      this.#at++;
      tests.push(this.#and());
    }
    if (tests.length === 1) return tests[0] ?? (() => true);
    return until(true, tests);
  }

  #and(): Test {
    const tests: Test[] = [];
    while (this.#at < this.#words.length) {
      const word = this.#words[this.#at] ?? "";
      if (/^(?:\)|,|-o|-or)$/.test(word)) break;
      if (/^-(?:a|and)$/.test(word)) this.#at++;
      else tests.push(this.#primary());
    }
    return until(false, tests);
  }

  #primary(): Test {
    const at = this.#at++;
    const word = this.#words[at] ?? "";
    if (word === "(") {
      const inner = this.#list();
      if (this.#words[this.#at] === ")") this.#at++;
      return inner;
    }
    if (word === "!" || word === "-not") {
      const inner = this.#primary();
      return (visit) => {
        const { named } = visit;
        const value = inner(visit);
        visit.named = named;
        return value === undefined ? undefined : !value;
      };
    }
    return this.#leaf(word, at);
  }

  #leaf(word: string, at: number): Test {
    if (word === "-false") return () => false;
    if (word === "-empty") return () => false;
    if (BARE.test(word)) return () => true;
    if (word === "-prune") {
      return (visit) => {
        visit.pruned = true;
        return true;
      };
    }
    if (word === "-delete") return action(at);
    if (/^-(?:exec|execdir|ok|okdir)$/.test(word)) {
      while (this.#at < this.#words.length) {
        const end = this.#words[this.#at++];
        if (end === ";" || end === "+" && this.#words[this.#at - 2] === "{}") {
          break;
        }
      }
      return action(at);
    }
    const value = this.#words[this.#at++] ?? "";
    const fold = /^-i/.test(word);
    switch (word) {
      case "-name":
      case "-iname":
        return pattern(
          value,
          fold,
          (entry) => entry.path.slice(entry.path.lastIndexOf("/") + 1),
        );
      case "-path":
      case "-ipath":
      case "-wholename":
      case "-iwholename":
        return pattern(value, fold, (entry) => entry.path);
      case "-type":
        return ({ entry }) =>
          value.split(",").includes(entry.directory ? "d" : "f");
      case "-maxdepth":
        this.#maxDepth = Number(value);
        return () => true;
      case "-mindepth":
        this.#minDepth = Number(value);
        return () => true;
      case "-fprint":
      case "-fprint0":
      case "-fls":
      case "-printf":
        return () => true;
      case "-fprintf":
        this.#at++;
        return () => true;
      default:
        return () => undefined;
    }
  }
}

/** An action: reached for certain, or perhaps by what a pattern names. */
function action(at: number): Test {
  return (visit) => {
    if (visit.certain || visit.named) visit.actions.add(at);
    return true;
  };
}

function pattern(
  text: string,
  fold: boolean,
  subject: (entry: FoundEntry) => string,
): Test {
  if (!isKnown(text)) return () => undefined;
  const wanted = fold ? text.toLowerCase() : text;
  const sweeping = SWEEPING.test(text);
  return (visit) => {
    const name = subject(visit.entry);
    const matches = matchesGlob(wanted, fold ? name.toLowerCase() : name);
    if (matches && !sweeping) visit.named = true;
    return matches;
  };
}
