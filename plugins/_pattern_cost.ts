/**
 * How many steps a backtracking matcher may take for a pattern, as an upper bound that is cheap to compute. Patterns
 * come from manifests and texts from a model: `^(a+)+$` doubles with every character.
 */

/** Longer patterns are not matched in this process. */
const MAX_PATTERN = 2000;
const MAX_NESTING = 50;

type Node =
  /** One character, or a class of them; `literal` when it is one known character. */
  | { kind: "one"; literal?: string }
  | { kind: "zero" }
  | { kind: "sequence"; parts: Node[] }
  | { kind: "choice"; options: Node[] }
  | { kind: "repeat"; body: Node; min: number; max: number }
  /** Something whose cost is unknown. */
  | { kind: "risky" };

/** A pattern that is matched only when its cost is bearable. */
export class BoundedPattern {
  readonly #regExp: RegExp;
  readonly #tree: Node;
  readonly #anchored: boolean;
  readonly #costs = new Map<number, number>();

  /** Compiles the pattern; throws a `SyntaxError` when it is none. */
  constructor(pattern: string) {
    this.#regExp = compile(pattern);
    this.#tree = pattern.length > MAX_PATTERN
      ? { kind: "risky" }
      : new Parser(pattern).parse();
    this.#anchored = pattern.startsWith("^") && this.#tree.kind !== "choice";
  }

  /** True for a pattern that is never matched in this process. */
  get isRisky(): boolean {
    return this.cost(32) > 1e7;
  }

  /** The bound for texts of this length. */
  cost(length: number): number {
    // By powers of two, so that few are ever computed.
    const rounded = length < 2 ? length : 2 ** Math.ceil(Math.log2(length));
    let found = this.#costs.get(rounded);
    if (found === undefined) {
      found = costOf(this.#tree, rounded) *
        (this.#anchored ? 1 : rounded + 1);
      this.#costs.set(rounded, found);
    }
    return found + length;
  }

  /** Whether the text matches; call it only after a look at the cost. */
  test(text: string): boolean {
    return this.#regExp.test(text);
  }
}

/** JSON Schema means Unicode patterns; many are written without that in mind. */
function compile(pattern: string): RegExp {
  try {
    return new RegExp(pattern, "u");
  } catch {
    return new RegExp(pattern);
  }
}

function costOf(node: Node, length: number): number {
  switch (node.kind) {
    case "one":
    case "zero":
      return 1;
    case "risky":
      return Infinity;
    case "sequence":
      return node.parts.reduce(
        (product, part) => product * costOf(part, length),
        1,
      );
    case "choice": {
      const costs = node.options.map((option) => costOf(option, length));
      return startsDiffer(node.options)
        ? Math.max(...costs)
        : costs.reduce((sum, cost) => sum + cost, 0);
    }
    case "repeat": {
      const inner = costOf(node.body, length);
      const choices = Math.min(node.max, length) - Math.min(node.min, length) +
        1;
      if (inner === 1) return choices;
      return inner ** Math.min(node.max, length) * choices;
    }
  }
}

/** True when one look at the next character decides between the options. */
function startsDiffer(options: readonly Node[]): boolean {
  const seen = new Set<string>();
  for (const option of options) {
    const first = option.kind === "sequence" ? option.parts[0] : option;
    if (first?.kind !== "one" || first.literal === undefined) return false;
    if (seen.has(first.literal)) return false;
    seen.add(first.literal);
  }
  return true;
}

/** Reads just as much of a valid pattern as its cost depends on. */
class Parser {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  parse(): Node {
    const node = this.#choice(0);
    return this.#at < this.#text.length ? { kind: "risky" } : node;
  }

  #choice(depth: number): Node {
    const options: Node[] = [this.#sequence(depth)];
    while (this.#text[this.#at] === "|") {
      this.#at++;
      options.push(this.#sequence(depth));
    }
    const [only] = options;
    return options.length === 1 && only !== undefined
      ? only
      : { kind: "choice", options };
  }

  #sequence(depth: number): Node {
    const parts: Node[] = [];
    while (this.#at < this.#text.length) {
      const next = this.#text[this.#at];
      if (next === "|" || next === ")") break;
      parts.push(this.#quantified(this.#atom(depth)));
    }
    return { kind: "sequence", parts };
  }

  #atom(depth: number): Node {
    const character = this.#text[this.#at++] ?? "";
    switch (character) {
      case "^":
      case "$":
        return { kind: "zero" };
      case ".":
        return { kind: "one" };
      case "[":
        this.#class();
        return { kind: "one" };
      case "\\":
        return this.#escape();
      case "(": {
        if (depth >= MAX_NESTING) return this.#give();
        const isLook = /^\?(?:[=!]|<[=!])/.test(
          this.#text.slice(this.#at, this.#at + 3),
        );
        if (this.#text[this.#at] === "?") {
          const head = /^\?(?::|[=!]|<[=!]|<[^>]*>|[a-z-]*:)/.exec(
            this.#text.slice(this.#at),
          );
          if (head === null) return this.#give();
          this.#at += head[0].length;
        }
        const body = this.#choice(depth + 1);
        if (this.#text[this.#at] !== ")") return this.#give();
        this.#at++;
        // A look-around is a factor of its own, whatever repeats it.
        return isLook ? { kind: "sequence", parts: [body] } : body;
      }
      default:
        return { kind: "one", literal: character };
    }
  }

  #escape(): Node {
    const next = this.#text[this.#at++] ?? "";
    if (/[1-9k]/.test(next)) return this.#give();
    if (next === "b" || next === "B") return { kind: "zero" };
    const rest = this.#text.slice(this.#at, this.#at + 12);
    const tail = next === "x"
      ? /^[0-9a-fA-F]{2}/.exec(rest)
      : next === "u"
      ? /^(?:[0-9a-fA-F]{4}|\{[0-9a-fA-F]+\})/.exec(rest)
      : next === "p" || next === "P"
      ? /^\{[^}]*\}/.exec(this.#text.slice(this.#at))
      : next === "c"
      ? /^[A-Za-z]/.exec(rest)
      : null;
    this.#at += tail?.[0].length ?? 0;
    return /[^\w]/.test(next)
      ? { kind: "one", literal: next }
      : { kind: "one" };
  }

  #class(): void {
    while (this.#at < this.#text.length) {
      const next = this.#text[this.#at++];
      if (next === "\\") this.#at++;
      else if (next === "]") return;
    }
  }

  #quantified(body: Node): Node {
    const rest = this.#text.slice(this.#at, this.#at + 40);
    const match = /^(?:([*+?])|\{(\d+)(?:(,)(\d*))?\})\??/.exec(rest);
    if (match === null) return body;
    this.#at += match[0].length;
    const [, sign, from, comma, to] = match;
    let min = 0;
    let max = Infinity;
    if (sign === "+") min = 1;
    else if (sign === "?") max = 1;
    else if (from !== undefined) {
      min = Number(from);
      max = comma === undefined
        ? min
        : to === "" || to === undefined
        ? Infinity
        : Number(to);
    }
    return { kind: "repeat", body, min, max };
  }

  #give(): Node {
    this.#at = this.#text.length;
    return { kind: "risky" };
  }
}
