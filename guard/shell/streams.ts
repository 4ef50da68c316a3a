/**
 * What well-known programs print, as far as it matters where a later command writes.
 *
 * @module
 */
import { ANY, isKnown, SEG, SUB } from "../holes.ts";
import { unescapeText } from "./builtins_text.ts";
import type { Call } from "./call.ts";
import { linkText } from "./links.ts";
import { hasOption, readOptions } from "./options.ts";
import { TEXT_FILTERS } from "./text_filters.ts";
import { linesOf, type Stream, UNKNOWN_STREAM } from "./state.ts";

const ONE_WORD: Stream = { items: [SEG] };

/** Programs that print one word or number. */
const WORDS = new Set(
  "uname hostname whoami id wc nproc arch expr bc seq tty date md5sum sha256sum sha1sum cksum uuidgen openssl jot"
    .split(" "),
);

/** Programs that print some of the lines they read, unchanged. */
const FILTERS = new Set(
  "sort uniq head tail grep egrep fgrep shuf tac".split(" "),
);

/**
 * What a program prints.
 *
 * @param call The call.
 * @returns What is known of its output, or `undefined`.
 */
export function outputOf(call: Call): Stream | undefined {
  const { name, args, context, state, stdin } = call;
  if (Object.hasOwn(TEXT_FILTERS, name)) {
    const output = TEXT_FILTERS[name]?.(call);
    if (output !== undefined) return output;
  }
  if (WORDS.has(name)) {
    // A format or an operand may bring in any path.
    const places = args.some((arg) => /^\+?\/|\.\./.test(arg));
    if (
      places && /^(?:date|expr|seq|jot)$/.test(name) ||
      /^(?:seq|jot)$/.test(name) && args.some((arg) => arg.includes("/")) ||
      name === "openssl" && !/^(?:rand|version)$/.test(args[0] ?? "")
    ) return undefined;
    if (name === "date" && args.some((arg) => /%[Dx]|\//.test(arg))) {
      return { items: [SUB] };
    }
    return ONE_WORD;
  }
  switch (name) {
    case "cat": {
      const files = args.filter((arg) => !arg.startsWith("-") || arg === "-");
      if (files.length === 0) return stdin;
      if (files.length > 1) return undefined;
      return files[0] === "-" ? stdin : context.readFile(files[0] ?? "", state);
    }
    case "comm":
    case "join":
    case "paste": {
      const parts = args.filter((arg) => !arg.startsWith("-")).map((file) =>
        linesOf(context.readFile(file, state))
      );
      const lines = parts.flatMap((part) => part ?? []);
      return parts.length === 0 || parts.includes(undefined)
        ? undefined
        : { items: lines };
    }
    case "which":
      return { text: args.map((arg) => `/usr/bin/${arg}\n`).join("") };
    case "dirname":
    case "basename":
    case "realpath":
    case "readlink": {
      const read = readOptions(args, {
        takes: "-s --suffix --relative-to --relative-base",
      });
      if (hasOption(read, "--relative-to", "--relative-base")) return undefined;
      const [path] = read.operands;
      if (path === undefined) return undefined;
      if (
        name === "readlink" &&
        !hasOption(read, "-f", "-e", "-m", "--canonicalize")
      ) {
        const text = linkText(call, path);
        return text === undefined ? undefined : { items: [text] };
      }
      if (name === "dirname") return { items: [directoryOf(path)] };
      if (name === "basename") return { items: [basenameOf(path)] };
      const [cwd = "/"] = state.cwd;
      const resolved = context.boundary.resolve(path, cwd, true);
      return resolved === undefined ? undefined : { items: [resolved] };
    }
    case "ls": {
      const read = readOptions(args, {
        takes: "-I -w -T --ignore --color --sort --time",
      });
      if (hasOption(read, "-l", "-R", "-g", "-o")) return undefined;
      const paths = read.operands;
      const all = hasOption(read, "-a", "-A", "--all", "--almost-all");
      if (paths.length === 0) {
        return all ? { items: [SEG, `.${SEG}`] } : ONE_WORD;
      }
      // A file is printed as named, a directory's entries by their names alone.
      const files = hasOption(read, "-d", "--directory")
        ? paths
        : paths.filter((path) => !/(?:^|\/)[^./\uE000-\uE002]*\/?$/.test(path));
      return { items: [...files, SEG] };
    }
    case "rg":
    case "grep":
    case "egrep":
    case "fgrep":
    case "ag":
    case "ack": {
      const read = readOptions(args, {
        takes:
          "-e -f -m -A -B -C -g -t -T --include --exclude --exclude-dir --glob --type --max-count --regexp",
      });
      const names = hasOption(
        read,
        "-l",
        "-L",
        "--files-with-matches",
        "--files-without-match",
        "--files",
        "-g",
      ) &&
        !hasOption(read, "-c");
      const listed = hasOption(read, "--files", "-e", "-f", "--regexp")
        ? read.operands
        : read.operands.slice(1);
      if (names) {
        return {
          items: listed.length === 0
            ? [SUB]
            : listed.map((path) => `${path.replace(/\/$/, "")}/${SUB}`).concat(
              // What is plainly a directory is no name of a match.
              listed.filter((path) => !/(?:^|\/)\.{0,2}$/.test(path)),
            ),
        };
      }
      // A part of a line may be a path where the line is none.
      const parts = hasOption(read, "-o", "--only-matching") &&
        linesOf(stdin)?.some((line) => /\/|\.\./.test(line)) !== false;
      return listed.length === 0 && name !== "rg" && !parts
        ? filtered(stdin)
        : undefined;
    }
  }
  if (FILTERS.has(name)) {
    const files =
      readOptions(args, { takes: "-n -c -k -t -o -S -T -f -s -w" }).operands;
    if (files.length === 0) return filtered(stdin);
    return undefined;
  }
  if (name === "base64" || name === "xxd") {
    const decodes = args.some((arg) =>
      /^(?:-[a-z]*[dD]|--decode|-r)$/.test(arg)
    );
    if (
      name === "base64" && decodes && stdin.text !== undefined &&
      isKnown(stdin.text)
    ) {
      try {
        return { text: atob(stdin.text.replace(/\s+/g, "")) };
      } catch {
        return undefined;
      }
    }
    return name === "base64" && !decodes ? ONE_WORD : undefined;
  }
  // `jq -r .version package.json`: a name, which may hold a scope's slash.
  if (
    name === "jq" &&
    args.some((arg) =>
      /\.\w*(?:version|name|id|sha|tag|number|count|length)$/i.test(arg)
    )
  ) return { items: [SUB] };
  if (name === "tr") return translated(args, stdin);
  if (name === "rev" && stdin.text !== undefined) {
    return {
      text: stdin.text.split("\n").map((line) => [...line].reverse().join(""))
        .join("\n"),
    };
  }
  return undefined;
}

function filtered(stdin: Stream): Stream {
  const lines = linesOf(stdin);
  return lines === undefined
    ? UNKNOWN_STREAM
    : lines.length === 1 && stdin.text !== undefined
    ? stdin
    : { items: lines };
}

function directoryOf(path: string): string {
  if (path.includes(ANY)) return ANY;
  const trimmed = path.replace(/\/+$/, "");
  const cut = trimmed.lastIndexOf("/");
  // Below an unknown sub path lies another one.
  if (trimmed.slice(cut + 1).includes(SUB)) return trimmed;
  return cut === -1 ? "." : cut === 0 ? "/" : trimmed.slice(0, cut);
}

function basenameOf(path: string): string {
  const last = path.replace(/\/+$/, "").split("/").at(-1) ?? "";
  return last.includes(ANY) || last.includes(SUB) ? SEG : last;
}

/** `tr`: exact for known text and plain sets, otherwise whether the result may hold a slash. */
function translated(
  args: readonly string[],
  stdin: Stream,
): Stream | undefined {
  const sets = args.filter((arg) => !/^-[a-zA-Z]+$/.test(arg)).map((arg) =>
    spelledOut(unescapeText(arg))
  );
  const [from = "", to = ""] = sets;
  const deletes = args.some((arg) => /^-[cCst]*d/.test(arg));
  if (
    stdin.text !== undefined && isKnown(stdin.text) && deletes &&
    !args.some((arg) => /^-\w*[cC]/.test(arg))
  ) {
    const gone = new Set(from);
    return { text: [...stdin.text].filter((char) => !gone.has(char)).join("") };
  }
  const plain = !/[-[\\]/.test(from + to.slice(0, -1)) &&
    !args.some((arg) => /^-/.test(arg));
  if (stdin.text !== undefined && plain && to !== "") {
    const text = [...stdin.text].map((char) => {
      const at = from.indexOf(char);
      return at === -1 ? char : to[Math.min(at, to.length - 1)] ?? char;
    }).join("");
    return isKnown(text) ? { text } : tamed(text, from, to);
  }
  const lines = linesOf(stdin);
  return lines === undefined ? undefined : tamed(lines.join(""), from, to);
}

/** Unknown parts keep their nature unless the sets bring in a slash or dots. */
function tamed(text: string, from: string, to: string): Stream | undefined {
  if (/^\/|\.\./.test(text) || text.includes(ANY) || /[/.]/.test(to)) {
    return undefined;
  }
  return from.includes("/")
    ? { items: [SEG] }
    : { items: [text.includes(SUB) ? SUB : SEG] };
}

/** `a-z` as its letters. */
function spelledOut(set: string): string {
  return set.replace(
    /([a-zA-Z\d])-([a-zA-Z\d])/g,
    (whole, from: string, to: string) => {
      const [first, last] = [from.charCodeAt(0), to.charCodeAt(0)];
      if (last < first) return whole;
      return String.fromCharCode(
        ...Array.from({ length: last - first + 1 }, (_, i) => first + i),
      );
    },
  );
}
