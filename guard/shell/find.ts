/**
 * `find`, `fd` and `xargs`: programs that act on the paths they meet.
 *
 * @module
 */
import { ANY, SEG, SUB } from "../holes.ts";
import { type Call, type CallReader, writes } from "./call.ts";
import { FindExpression } from "./find_expression.ts";
import { forgetLink, linkText } from "./links.ts";
import { hasOption, optionValue, readOptions } from "./options.ts";
import { unescapeText } from "./builtins_text.ts";
import { ownBelow } from "./own_files.ts";
import {
  EMPTY_STREAM,
  joinStreams,
  linesOf,
  type Stream,
  UNKNOWN_STREAM,
  type Values,
} from "./state.ts";

const WRITING_ACTIONS = new Set(["-fprint", "-fprint0", "-fls", "-fprintf"]);

const find: CallReader = (call) => {
  const { args } = call;
  let i = 0;
  while (/^-(?:[HLP]|D|O\d?)$/.test(args[i] ?? "")) {
    i += args[i] === "-D" ? 2 : 1;
  }
  const starts: string[] = [];
  for (; i < args.length && !/^[-(!]/.test(args[i] ?? ""); i++) {
    starts.push(args[i] ?? "");
  }
  if (starts.length === 0) starts.push(".");
  const expression = args.slice(i);
  const follows = args.slice(0, i).some((arg) => /^-[HL]$/.test(arg)) ||
    expression.includes("-follow");
  const found: string[] = starts.flatMap((start) =>
    // A link is not entered, unless it is told to.
    !follows && linkText(call, start) !== undefined ? [] : [below(start)]
  );
  found.push(...linksMet(call, starts, expression, follows));
  const topIncluded =
    !expression.some((arg) =>
      /^-(?:mindepth|name|iname|path|ipath|wholename|regex|iregex|newer|empty|size|mtime|mmin)$/
        .test(arg)
    ) && !typeExcludesTop(expression);
  const own = meetsOwn(call, starts, expression);
  for (let at = 0; at < expression.length; at++) {
    const action = expression[at] ?? "";
    if (WRITING_ACTIONS.has(action)) writes(call, expression[at + 1] ?? "");
    else if (action === "-delete") {
      for (const path of found) {
        writes({ ...call, name: "find -delete" }, path, "entry");
      }
      for (const { path, directory } of own.reached(at)) {
        // A directory goes when it is empty, which the files below decide.
        if (!directory) {
          writes({ ...call, name: "find -delete" }, path, "entry");
        }
      }
      for (const path of linksMet(call, starts, expression, false)) {
        forgetLink(call, path);
      }
      if (topIncluded) {
        for (const start of starts) {
          if (start !== ".") {
            writes({ ...call, name: "find -delete" }, start, "tree");
          }
        }
      }
    } else if (/^-(?:exec|execdir|ok|okdir)$/.test(action)) {
      const end = expression.findIndex((arg, j) =>
        j > at && (arg === ";" || (arg === "+" && expression[j - 1] === "{}"))
      );
      const command = expression.slice(at + 1, end === -1 ? undefined : end);
      const removes = command.some((arg) => REMOVES.test(arg));
      // Behind the starting point itself, `{}/..` is outside of it.
      const climbs = command.some((arg) => /\{\}\S*\/\.\.(?:\/|$)/.test(arg));
      for (
        const path of [
          ...found,
          ...topIncluded
            ? starts.filter((start) => start !== "." || climbs)
            : [],
          ...own.reached(at).flatMap((one) =>
            one.named || removes ? [one.path] : []
          ),
        ]
      ) {
        const state = call.state.fork();
        const inPlace = action.endsWith("dir");
        if (inPlace) {
          const place = path.slice(0, path.lastIndexOf("/")) || "/";
          state.cwd = state.cwd.map((cwd) =>
            place.startsWith("/") ? place : `${cwd}/${place}`
          );
        }
        const name = inPlace
          ? `./${path.slice(path.lastIndexOf("/") + 1)}`
          : path;
        const argv = command.map((arg) => arg.replaceAll("{}", () => name));
        call.context.nested(() => call.context.run.argv(argv, state, {}));
      }
      if (end !== -1) at = end;
    }
  }
  const { named, swept } = own.printed();
  return {
    items: [...found, ...named],
    ...swept.length === 0 ? {} : { swept },
  };
};

/** Links on disk that an expression names, and what a named path leads to through one. */
function linksMet(
  call: Call,
  starts: readonly string[],
  expression: readonly string[],
  follows: boolean,
): string[] {
  return expression.flatMap((arg, i) => {
    const value = expression[i + 1] ?? "";
    if (arg === "-name" && !/[*?[\\]/.test(value)) {
      return starts.map((start) => `${start.replace(/\/$/, "")}/${value}`)
        .filter((path) => linkText(call, path) !== undefined);
    }
    const directory = follows && /^-(?:path|wholename)$/.test(arg)
      ? /^([^*?[\\]+\/)/.exec(value)?.[1]
      : undefined;
    return directory === undefined ? [] : [directory + SEG];
  });
}

/** Programs that take away what they are handed, as a word or within a script. */
const REMOVES =
  /(?:^|[\s;&|/"'`(])(?:rm|rmdir|unlink|shred|mv|truncate|trash|trash-put|srm|wipe|rimraf|chmod)(?:\s|$)/;

/** One of the guard's own files, or a directory above it, as `find` meets it. */
interface Met {
  path: string;
  directory: boolean;
  named: boolean;
  matched: boolean;
  actions: ReadonlySet<number>;
}

/** What an expression does with the guard's own files below its starting points. */
function meetsOwn(
  call: Call,
  starts: readonly string[],
  expression: readonly string[],
): {
  reached(at: number): Met[];
  printed(): { named: string[]; swept: string[] };
} {
  const met: Met[] = [];
  const seen = new Set<string>();
  let parsed: FindExpression | undefined;
  for (const start of starts) {
    const own = ownBelow(start, call.state, call.context);
    if (own.length === 0) continue;
    parsed ??= new FindExpression(expression);
    // A start inside of what arming laid out is aimed at it.
    const aimed = !call.context.boundary.roots.some((root) =>
      own.some(({ path, below }) => path === `${root}/${below}`)
    );
    for (const { below } of own) {
      const names = below.split("/");
      let path = start.replace(/\/$/, "");
      for (let depth = 1; depth <= names.length; depth++) {
        path += `/${names[depth - 1]}`;
        const directory = depth < names.length;
        const { pruned, ...found } = parsed.meet({ path, depth, directory });
        if (!seen.has(path)) {
          seen.add(path);
          met.push({
            path,
            directory,
            ...found,
            named: found.named || aimed,
          });
        }
        if (pruned) break;
      }
    }
  }
  return {
    reached: (at) => met.filter(({ actions }) => actions.has(at)),
    printed: () => {
      const printed = met.filter(({ matched }) => matched);
      return {
        named: printed.flatMap((one) => one.named ? [one.path] : []),
        swept: printed.flatMap((one) => one.named ? [] : [one.path]),
      };
    },
  };
}

function below(start: string): string {
  return start.endsWith("/") ? start + SUB : `${start}/${SUB}`;
}

function typeExcludesTop(expression: readonly string[]): boolean {
  const at = expression.indexOf("-type");
  return at !== -1 && expression[at + 1] !== "d" && expression[at + 1] !== "l";
}

const fd: CallReader = (call) => {
  const at = call.args.findIndex((arg) =>
    /^(?:-x|-X|--exec|--exec-batch)$/.test(arg)
  );
  const own = at === -1 ? call.args : call.args.slice(0, at);
  const read = readOptions(own, {
    takes:
      "-t -e -E -d -S -o -c -j --type --extension --exclude --max-depth --min-depth --exact-depth --size --changed-within --changed-before --owner --color --threads --base-directory --search-path --ignore-file --and --max-results --format",
  });
  const base = optionValue(read, "--base-directory", "--search-path");
  const starts = base === undefined ? read.operands.slice(1) : [base];
  const found: string[] = starts.length === 0 ? [SUB] : starts.map(below);
  if (at === -1) return { items: found };
  const command = call.args.slice(at + 1).filter((arg) =>
    arg !== ";" && arg !== "\\;"
  );
  const hidden = hasOption(read, "-H", "-u", "--hidden", "--unrestricted");
  if (hidden && command.some((arg) => REMOVES.test(arg))) {
    const pattern = read.operands[0] ?? "";
    const extension = optionValue(read, "-e", "--extension");
    const places = starts.length === 0 ? ["."] : starts;
    found.push(
      ...places.flatMap((place) => ownBelow(place, call.state, call.context))
        .map(({ path }) => path)
        .filter((path) =>
          (/^[.*^$]*$/.test(pattern) || path.includes(pattern)) &&
          (extension === undefined || path.endsWith(`.${extension}`))
        ),
    );
  }
  for (const path of found) {
    const holds = command.some((arg) => /\{[./]*\}/.test(arg));
    const argv = command.map((arg) => arg.replace(/\{[./]*\}/g, () => path));
    call.context.nested(() =>
      call.context.run.argv(
        holds ? argv : [...argv, path],
        call.state.fork(),
        {},
      )
    );
  }
  return UNKNOWN_STREAM;
};

const xargs: CallReader = (call) => {
  const { args } = call;
  const read = readOptions(args, {
    takes:
      "-I -L -n -P -s -a -d -E -J -R -S --max-args --max-procs --max-chars --arg-file --delimiter --process-slot-var",
    stopsAtOperand: true,
  });
  const file = optionValue(read, "-a", "--arg-file");
  const input = file === undefined
    ? call.stdin
    : call.context.readFile(file, call.state);
  const replaces = optionValue(read, "-I", "-J", "--replace") ??
    (read.options.some(([name]) => name === "-i" || name === "--replace")
      ? "{}"
      : undefined);
  const command = read.operands;
  if (command.length === 0) return input;
  if (input.swept !== undefined && command.some((arg) => REMOVES.test(arg))) {
    return xargs({
      ...call,
      stdin: { items: [...linesOf(input) ?? [], ...input.swept] },
    });
  }
  const mark = optionValue(read, "-d", "--delimiter");
  const lines = mark === undefined || input.text === undefined
    ? linesOf(input)
    : input.text.split(unescapeText(mark)).map((line) => line.trimEnd()).filter(
      (line) => line !== "",
    );
  // Nothing is handed to it: the command still runs once, without more operands.
  const nothing = lines !== undefined && lines.length === 0;
  if (nothing && replaces === undefined) {
    return call.context.nested(() =>
      call.context.run.argv(command, call.state.fork(), {})
    );
  }
  const words = lines === undefined || nothing
    ? undefined
    : replaces !== undefined ||
        hasOption(read, "-0", "--null", "-d", "--delimiter")
    ? lines
    : lines.flatMap((line) => line.split(/[ \t]+/)).filter((word) =>
      word !== ""
    );
  if (replaces !== undefined) {
    // Behind the directory that was listed itself, `{}/..` is outside of it.
    const climbs = command.some((arg) =>
      arg.includes(replaces) && /\/\.\.(?:\/|$)/.test(arg)
    );
    const values = (words ?? [ANY]).flatMap((word) =>
      climbs && word.endsWith(`/${SUB}`) ? [word, word.slice(0, -2)] : [word]
    );
    return all(values.slice(0, 40), (value) => {
      const argv = command.map((arg) => arg.replaceAll(replaces, () => value));
      return call.context.nested(() =>
        call.context.run.argv(argv, call.state.fork(), {})
      );
    });
  }
  const extra = words === undefined ? [ANY] : words.slice(0, 200);
  // One by one, so that `xargs cp -t dir` and `xargs mv x` read the same.
  if (input.text !== undefined) {
    return call.context.nested(() =>
      call.context.run.argv([...command, ...extra], call.state.fork(), {})
    );
  }
  return all(
    extra.slice(0, 40),
    (value) =>
      call.context.nested(() =>
        call.context.run.argv([...command, value], call.state.fork(), {})
      ),
  );
};

/** Runs a command for each of some values; gives what any of them may print. */
function all(values: Values, run: (value: string) => Stream): Stream {
  let output: Stream = EMPTY_STREAM;
  for (const value of values) output = joinStreams(output, run(value));
  return output;
}

/** The programs by name. */
export const FIND: Readonly<Record<string, CallReader>> = {
  find,
  fd,
  fdfind: fd,
  xargs,
};
