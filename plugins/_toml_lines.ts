/** Where a key of a TOML text stands: its line and what lies below it. */
interface Place {
  line: number;
  below: Map<string, Place>;
  items: number;
}

/** Deeper keys than any that is reported are not recorded. */
const MAX_DEPTH = 12;

/**
 * Finds the line of a key in a TOML text that the real parser has accepted.
 *
 * The scan is linear and total: on text it does not understand it stops early and answers with the nearest line
 * it knows.
 */
export class TomlLines {
  readonly #root: Place = place(1);
  readonly #text: string;
  #at = 0;
  #line = 1;

  /** Scans the text. */
  constructor(text: string) {
    this.#text = text;
    this.#scan();
  }

  /** The line of the key, or of its nearest known parent; `1` when nothing is known. */
  lineOf(path: readonly (string | number)[]): number {
    let current = this.#root;
    for (const part of path) {
      const next = current.below.get(String(part));
      if (next === undefined) break;
      current = next;
    }
    return current.line;
  }

  #scan(): void {
    let table: Place | undefined = this.#root;
    while (this.#skipBlank(true)) {
      if (this.#text[this.#at] === "[") {
        const isArray = this.#text[this.#at + 1] === "[";
        this.#at += isArray ? 2 : 1;
        const line = this.#line;
        const key = this.#key();
        table = this.#open(key, isArray, line);
        this.#skipTo("\n");
      } else if (!this.#pair(table, 1)) {
        return;
      }
    }
  }

  /** Walks a header's path; a table array in the path means its latest item. */
  #open(
    key: readonly string[],
    isArray: boolean,
    line: number,
  ): Place | undefined {
    if (key.length > MAX_DEPTH) return undefined;
    let current = this.#root;
    key.forEach((part, index) => {
      current = child(current, part, line);
      const last = index === key.length - 1;
      if (isArray && last) {
        current = child(current, String(current.items++), line);
      } else if (current.items > 0) {
        current = child(current, String(current.items - 1), line);
      }
    });
    return current;
  }

  /** `key = value`; false when there is none. */
  #pair(table: Place | undefined, depth: number): boolean {
    const line = this.#line;
    const key = this.#key();
    if (key.length === 0 || this.#text[this.#at] !== "=") return false;
    this.#at++;
    let target = table;
    if (depth + key.length > MAX_DEPTH) target = undefined;
    for (const part of key) {
      if (target !== undefined) target = child(target, part, line);
    }
    this.#value(target, depth + key.length);
    return true;
  }

  #value(target: Place | undefined, depth: number): void {
    this.#skipBlank(true);
    const first = this.#text[this.#at];
    if (first === '"' || first === "'") {
      this.#string(first);
    } else if ((first === "[" || first === "{") && depth > 900) {
      this.#at = this.#text.length;
    } else if (first === "[") {
      this.#at++;
      for (let index = 0; this.#skipBlank(true); index++) {
        if (this.#text[this.#at] === "]") break;
        const item = target && depth < MAX_DEPTH
          ? child(target, String(index), this.#line)
          : undefined;
        const before = this.#at;
        this.#value(item, depth + 1);
        this.#skipBlank(true);
        if (this.#text[this.#at] === ",") this.#at++;
        if (this.#at === before) return;
      }
      this.#at++;
    } else if (first === "{") {
      this.#at++;
      while (this.#skipBlank(true) && this.#text[this.#at] !== "}") {
        const before = this.#at;
        if (!this.#pair(target, depth)) return;
        this.#skipBlank(true);
        if (this.#text[this.#at] === ",") this.#at++;
        if (this.#at === before) return;
      }
      this.#at++;
    } else {
      while (
        this.#at < this.#text.length && !",]}#\n".includes(this.#here())
      ) {
        this.#at++;
      }
    }
  }

  #key(): string[] {
    const parts: string[] = [];
    for (;;) {
      this.#skipBlank(false);
      const first = this.#text[this.#at];
      if (first === '"' || first === "'") {
        parts.push(this.#string(first));
      } else {
        const start = this.#at;
        while (/[\w-]/.test(this.#here())) this.#at++;
        if (this.#at === start) return parts;
        parts.push(this.#text.slice(start, this.#at));
      }
      this.#skipBlank(false);
      if (this.#text[this.#at] !== ".") return parts;
      this.#at++;
    }
  }

  #string(quote: string): string {
    const triple = quote.repeat(3);
    const isLong = this.#text.startsWith(triple, this.#at);
    const start = this.#at + (isLong ? 3 : 1);
    let at = start;
    while (at < this.#text.length) {
      const character = this.#text[at];
      if (character === "\\" && quote === '"') at++;
      else if (character === quote) {
        if (!isLong) break;
        if (this.#text.startsWith(triple, at)) {
          while (this.#text[at + 3] === quote) at++;
          break;
        }
      }
      at++;
    }
    const raw = this.#text.slice(start, at);
    this.#line += count(raw, "\n");
    this.#at = at + (isLong ? 3 : 1);
    return raw.slice(0, 200);
  }

  /** Skips blanks and, when told, line ends and comments; false at the end of the text. */
  #skipBlank(overLines: boolean): boolean {
    for (; this.#at < this.#text.length; this.#at++) {
      const character = this.#here();
      if (character === "\n" && overLines) this.#line++;
      else if (character === "#" && overLines) {
        this.#skipTo("\n");
        if (this.#at >= this.#text.length) return false;
        this.#line++;
      } else if (!" \t\r\ufeff".includes(character)) return true;
    }
    return false;
  }

  #skipTo(character: string): void {
    const end = this.#text.indexOf(character, this.#at);
    this.#at = end < 0 ? this.#text.length : end;
  }

  #here(): string {
    return this.#text[this.#at] ?? "\0";
  }
}

function place(line: number): Place {
  return { line, below: new Map(), items: 0 };
}

function child(parent: Place, key: string, line: number): Place {
  let found = parent.below.get(key);
  if (found === undefined) {
    found = place(line);
    parent.below.set(key, found);
  }
  return found;
}

function count(text: string, character: string): number {
  let found = 0;
  for (
    let at = text.indexOf(character);
    at >= 0;
    at = text.indexOf(character, at + 1)
  ) found++;
  return found;
}
