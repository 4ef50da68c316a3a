/**
 * Which names in scripting code stand for the arguments it was given: `for f in sys.argv[1:]`,
 * `ARGV.each { |f| … }`, `for (@ARGV)`, `my ($f) = @ARGV`.
 *
 * @module
 */
import type { Lexicon, Token } from "./tokens.ts";

/** The names of the whole list, by language. */
const LISTS: Readonly<Record<string, RegExp>> = {
  python: /^(?:sys\.)?argv$/,
  javascript: /^(?:process\.argv|Deno\.args|Bun\.argv)$/,
  ruby: /^\*?ARGV$/,
  perl: /^@ARGV$/,
  php: /^\$argv$/,
};

/**
 * Whether a name is the list of a program's arguments.
 *
 * @param name The name, with its dots.
 * @param language The language.
 * @returns `true` when it is.
 */
export function isArgumentList(name: string, language: Lexicon): boolean {
  return LISTS[language]?.test(name) === true;
}

/**
 * The names that a statement gives to the arguments, one after the other.
 *
 * @param tokens The code.
 * @param i Index of the first token of the list.
 * @param language The language.
 * @returns The names; none where the list is used in another way.
 */
export function argumentNames(
  tokens: readonly Token[],
  i: number,
  language: Lexicon,
): string[] {
  const at = (k: number): string => tokens[k]?.value ?? "";
  const before = at(i - 1);
  // for f in sys.argv[1:]; for (const f of process.argv.slice(2))
  if (before === "in" || before === "of") {
    return tokens[i - 2]?.kind === "name" ? [at(i - 2)] : [];
  }
  // for my $f (@ARGV); for (@ARGV)
  if (language === "perl" && before === "(") {
    const name = at(i - 2);
    return /^(?:for|foreach)$/.test(name)
      ? ["$_"]
      : name.startsWith("$")
      ? [name]
      : [];
  }
  // unlink for @ARGV
  if (language === "perl" && /^(?:for|foreach)$/.test(before)) return ["$_"];
  // my ($f, $g) = @ARGV
  if (language === "perl" && before === "=" && at(i - 2) === ")") {
    const names: string[] = [];
    for (let k = i - 3; k > i - 20 && at(k) !== "("; k--) {
      if (at(k).startsWith("$")) names.unshift(at(k));
    }
    return names;
  }
  // ARGV.each { |f| … }
  if (language === "ruby" && at(i + 1) === "." && /^each/.test(at(i + 2))) {
    const bar = tokens.findIndex((token, k) => k > i && token.value === "|");
    return bar !== -1 && bar < i + 8 ? [at(bar + 1)] : [];
  }
  // process.argv.slice(2).forEach((f) => …) names its argument in the callback.
  return [];
}

/**
 * The argument that stands for all of a list that a loop walks: one that leads away, if any.
 *
 * @param argv The arguments.
 * @returns It, or `undefined` when there is none.
 */
export function mostTelling(argv: readonly string[]): string | undefined {
  return argv.find((arg) => /^(?:\/|~|\.\.(?:\/|$))/.test(arg)) ?? argv[0];
}
