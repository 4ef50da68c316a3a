/**
 * Command-line options by a small grammar, so that option values are not taken for operands.
 *
 * @module
 */

/** How a program reads its options. */
export interface OptionGrammar {
  /** Options that take the next argument as their value: `-d --date`. */
  takes?: string;
  /** Options whose value names something that is written; they take a value too. */
  writes?: string;
  /** Short options whose value, if they have one, is attached and names what is written: `-w/x`. */
  attached?: string;
  /** Options that name the directory it works in: relative outputs start there. */
  cwd?: string;
  /** Options that name the tree it changes in place of the one it runs in. */
  tree?: string;
  /** Long options start with one dash (`-out`), and short ones do not cluster. */
  singleDash?: boolean;
  /** Long options are not abbreviated. */
  exact?: boolean;
  /** Options end at the first operand, as for programs that run another. */
  stopsAtOperand?: boolean;
}

/** What an argument list holds. */
export interface Options {
  /** Options in order, spelt as in the grammar, with their values. */
  options: [name: string, value: string | undefined][];
  /** Everything else. */
  operands: string[];
}

interface Lists {
  takes: Set<string>;
  writes: Set<string>;
  attached: Set<string>;
  long: string[];
}

const cache = new WeakMap<OptionGrammar, Lists>();
/** Readers write their grammar where they use it: a new object each time, of the same texts. */
const byTexts = new Map<string, Map<string, Lists>>();

function listsOf(grammar: OptionGrammar): Lists {
  const known = cache.get(grammar);
  if (known !== undefined) return known;
  const { takes = "", writes = "", attached, cwd, tree } = grammar;
  const plain = attached === undefined && cwd === undefined &&
    tree === undefined;
  let lists = plain ? byTexts.get(takes)?.get(writes) : undefined;
  if (lists === undefined) {
    lists = makeLists(grammar);
    if (plain) {
      const same = byTexts.get(takes) ?? new Map<string, Lists>();
      same.set(writes, lists);
      byTexts.set(takes, same);
    }
  }
  cache.set(grammar, lists);
  return lists;
}

function makeLists(grammar: OptionGrammar): Lists {
  const writes = words(grammar.writes);
  const attached = words(grammar.attached);
  const takes = [
    ...words(grammar.takes),
    ...words(grammar.cwd),
    ...words(grammar.tree),
    ...writes,
  ];
  return {
    takes: new Set(takes),
    writes: new Set([...writes, ...attached]),
    attached: new Set(attached),
    long: takes.filter((name) => name.startsWith("--")),
  };
}

function words(text: string | undefined): string[] {
  return text === undefined
    ? []
    : text.split(" ").filter((word) => word !== "");
}

/**
 * Reads an argument list.
 *
 * @param args The arguments after the program's name.
 * @param grammar The program's options.
 * @returns Options and operands.
 */
export function readOptions(
  args: readonly string[],
  grammar: OptionGrammar,
): Options {
  const { takes, long, attached } = listsOf(grammar);
  const options: Options["options"] = [];
  const operands: string[] = [];
  for (let i = 0; i < args.length; i++) {
    const arg = args[i] ?? "";
    if (arg === "--") {
      operands.push(...args.slice(i + 1));
      break;
    }
    const slashed = grammar.singleDash && arg.startsWith("/")
      ? /^(\/\w+):(.+)/.exec(arg)
      : null;
    if (slashed?.[1] !== undefined && takes.has(slashed[1])) {
      options.push([slashed[1], slashed[2]]);
      continue;
    }
    if (!arg.startsWith("-") || arg === "-") {
      if (grammar.stopsAtOperand) {
        operands.push(...args.slice(i));
        break;
      }
      operands.push(arg);
      continue;
    }
    if (arg.startsWith("--") || grammar.singleDash) {
      const equals = arg.indexOf("=");
      const written = equals === -1 ? arg : arg.slice(0, equals);
      const name = takes.has(written) || grammar.exact ||
          !written.startsWith("--")
        ? written
        // GNU programs accept any unambiguous beginning.
        : long.find((option) =>
          // Not of names like `--outDir`: programs that have such take them whole.
          option.startsWith(written) &&
          !/[A-Z]/.test(option.slice(written.length, written.length + 1)) &&
          // `--backup` is an option of its own, not the beginning of `--backup-dir`.
          (equals !== -1 || option[written.length] !== "-")
        ) ?? written;
      const colon = arg.indexOf(":");
      const glued = grammar.attached === undefined
        ? undefined
        : [...attached].find((one) =>
          arg.startsWith(one) && arg.length > one.length && !takes.has(written)
        );
      if (glued !== undefined) options.push([glued, arg.slice(glued.length)]);
      else if (
        grammar.singleDash && colon > 0 && takes.has(arg.slice(0, colon)) &&
        !takes.has(name)
      ) options.push([arg.slice(0, colon), arg.slice(colon + 1)]);
      else if (equals !== -1) options.push([name, arg.slice(equals + 1)]);
      else if (takes.has(name)) options.push([name, args[++i]]);
      else if (takes.has("-o") && /^-o[./~]/.test(arg)) {
        options.push(["-o", arg.slice(2)]);
      } else options.push([name, undefined]);
      continue;
    }
    for (let j = 1; j < arg.length; j++) {
      const name = "-" + arg[j];
      const rest = arg.slice(j + 1);
      if (!takes.has(name)) {
        const value = attached.has(name) && rest !== "" ? rest : undefined;
        options.push([name, value]);
        if (value !== undefined) break;
        continue;
      }
      // `-o:x` and `-o=x`, as programs with parsers of their own take it.
      const value = /^[:=]./.test(rest) ? rest.slice(1) : rest;
      options.push([name, value === "" ? args[++i] : value]);
      break;
    }
  }
  return { options, operands };
}

/**
 * The values of options that name something written.
 *
 * @param options Options as read.
 * @param grammar The grammar they were read with.
 * @returns The values in order.
 */
export function writtenValues(
  options: Options,
  grammar: OptionGrammar,
): string[] {
  const { writes } = listsOf(grammar);
  return options.options.flatMap(([name, value]) =>
    writes.has(name) && value !== undefined ? [value] : []
  );
}

/**
 * Whether any of some options is given.
 *
 * @param options Options as read.
 * @param names Their names.
 * @returns `true` when one is.
 */
export function hasOption(options: Options, ...names: string[]): boolean {
  return options.options.some(([name]) => names.includes(name));
}

/**
 * The last value of any of some options.
 *
 * @param options Options as read.
 * @param names Their names.
 * @returns The value or `undefined`.
 */
export function optionValue(
  options: Options,
  ...names: string[]
): string | undefined {
  return options.options.findLast(([name, value]) =>
    names.includes(name) && value !== undefined
  )?.[1];
}
