/**
 * Programs whose operands, options or input are command lines.
 *
 * @module
 */
import { type Call, type CallReader, writes } from "./call.ts";
import { scanCode } from "./code.ts";
import { hasOption, optionValue, readOptions } from "./options.ts";
import { applyGuess } from "./guess.ts";
import { joinDirectory, joinPath } from "./places.ts";
import { type Stream, UNKNOWN_STREAM } from "./state.ts";
import { applyTable } from "./verbs.ts";

/** A debugger: its commands run a command line, code or a program, and save files. */
function debuggers(call: Call): Stream {
  const read = readOptions(call.args, {
    takes: "-ex -eval-command -x -p -iex -o -O -s -k --eval-command --one-line",
    singleDash: true,
    stopsAtOperand: true,
  });
  for (const [name, value] of read.options) {
    if (/^-?-(?:i?ex|eval-command|o|O|k|one-line)$/.test(name)) {
      debuggerCommand(call, value ?? "");
    } else if (/^-?-[xs]$/.test(name) && value !== undefined) {
      const { text } = call.context.readFile(value, call.state);
      for (const line of text?.split("\n") ?? []) debuggerCommand(call, line);
    }
  }
  for (const line of call.stdin.text?.split("\n") ?? []) {
    debuggerCommand(call, line);
  }
  return UNKNOWN_STREAM;
}

/** One command of a debugger. */
function debuggerCommand(call: Call, text: string): void {
  const { context, state } = call;
  const line = /^\s*(?:(?:platform\s+)?shell\s+|!\s*)(.+)/.exec(text)?.[1] ??
    /^\s*(?:pipe\s|\|)[^|]*\|\s*(.+)/.exec(text)?.[1] ??
    /\bsystem\s*\(\s*"((?:[^"\\]|\\.)*)"/.exec(text)?.[1];
  if (line !== undefined) context.run.text(line, state.fork(), {});
  const code = /^\s*(?:python|pi|py|script)\b\s*([^]+)/.exec(text)?.[1];
  if (code !== undefined) scanCode(call, code, "python");
  const saved = SAVES.exec(text)?.[1];
  if (saved !== undefined) writes(call, saved);
}

/** A debugger's commands that write a file. */
const SAVES =
  /^\s*(?:(?:dump|append)\s+(?:\w+\s+)?(?:memory|value)|set\s+logging\s+file|save\s+\w+|generate-core-file|gcore)\s+(\S+)/;

/** `lftp -c`: what it gets, and where to. */
function lftp(call: Call): Stream {
  const read = readOptions(call.args, { takes: "-c -e -f -u -p" });
  const texts = [...read.options.map(([, value]) => value ?? "")];
  if (call.stdin.text !== undefined) texts.push(call.stdin.text);
  for (const value of texts) {
    for (const command of value.split(/[;\n]/)) {
      const words = command.trim().split(/\s+/);
      if (words[0] === "lcd") writes(call, words[1] ?? "");
      const at = words.findIndex((word) => /^-[oO]$/.test(word));
      if (/^(?:get|pget|mget|mirror)$/.test(words[0] ?? "") && at !== -1) {
        writes(call, words[at + 1] ?? "");
      } else if (words[0] === "mirror" && !words.includes("-R")) {
        writes(
          call,
          words.slice(1).filter((word) => !word.startsWith("-"))[1] ?? ".",
        );
      }
    }
  }
  return UNKNOWN_STREAM;
}

/** `sftp`: its commands come from a file or its input, and `get` saves below `lcd`. */
function sftp(call: Call): Stream {
  if (!applyTable(call)) applyGuess(call);
  const read = readOptions(call.args, {
    takes: "-b -B -c -D -F -i -J -l -o -P -R -S -s -X",
  });
  const batch = read.options.findLast(([name]) => name === "-b")?.[1];
  const { text } = batch === undefined || batch === "-"
    ? call.stdin
    : call.context.readFile(batch, call.state);
  // `smbclient //h/s -c 'get x y; lcd z'`
  const given = call.name === "smbclient"
    ? optionValue(
      readOptions(call.args, { takes: "-c --command -U -p" }),
      "-c",
      "--command",
    )
      ?.replaceAll(";", "\n")
    : undefined;
  let here = ".";
  for (const line of (given ?? text)?.split("\n") ?? []) {
    const [command = "", ...words] = line.trim().replace(/^[-@]+/, "").split(
      /\s+/,
    );
    const operands = words.filter((word) => !word.startsWith("-"));
    if (command === "lcd") {
      here = joinDirectory(here, operands[0] ?? ".");
    } else if (/^(?:get|mget|reget)$/.test(command)) {
      const target = command === "mget" ? undefined : operands[1];
      writes(call, joinPath(here, target ?? "."));
    } else if (command === "lmkdir") {
      writes(call, joinPath(here, operands[0] ?? "."));
    } else if (line.trim().startsWith("!")) {
      call.context.run.text(line.trim().slice(1), call.state.fork(), {});
    }
  }
  return UNKNOWN_STREAM;
}

/** `socat`: addresses that open a file to write it, or run a command. */
function socat(call: Call): Stream {
  for (const address of call.args) {
    const [, kind = "", rest = ""] = /^!*(\w+):(.*)$/.exec(address) ?? [];
    const [place = ""] = rest.split(",");
    if (/^(?:create|gopen|file|open)$/i.test(kind)) {
      const reads = /^(?:file|open)$/i.test(kind) &&
        !/,(?:creat|create|append|trunc|wronly|rdwr)/.test(rest);
      if (!reads) writes(call, place);
    } else if (/^(?:exec|system|shell)$/i.test(kind)) {
      call.context.run.text(place, call.state.fork(), {});
    }
  }
  return UNKNOWN_STREAM;
}

/** `tmux send-keys`, `pipe-pane`, `save-buffer`; what starts a command is a wrapper. */
function tmux(call: Call): Stream {
  const read = readOptions(call.args, {
    takes: "-L -f -T",
    writes: "-S",
    stopsAtOperand: true,
  });
  const [sub = "", ...rest] = read.operands;
  const inner = readOptions(rest, { takes: "-t -b -c -F -N -s -n -x -y" });
  const { context, state } = call;
  if (/^send(?:-keys)?$/.test(sub)) {
    // Names of keys are no part of the line.
    const typed = inner.operands.map((key) =>
      /^(?:Enter|C-[mj]|KPEnter)$/.test(key)
        ? "\n"
        : /^(?:C-\w|M-\w|Escape|Tab|Up|Down)$/.test(key)
        ? ""
        : key
    ).join(/-\w*l/.test(rest.join(" ")) ? "" : " ");
    context.nested(() => context.run.text(typed, state.fork(), {}));
  } else if (/^(?:pipe-pane|pipep|if-shell|if)$/.test(sub)) {
    for (const text of inner.operands) {
      context.nested(() => context.run.text(text, state.fork(), {}));
    }
  } else if (/^(?:save-buffer|saveb)$/.test(sub)) {
    for (const path of inner.operands) writes(call, path);
  }
  for (const [name, path] of read.options) {
    if (name === "-S" && path !== undefined) writes(call, path);
  }
  return UNKNOWN_STREAM;
}

/** Modules of Ansible and the arguments that name what they write. */
const ANSIBLE_WRITES: Readonly<Record<string, RegExp>> = {
  copy: /^dest$/,
  template: /^dest$/,
  file: /^(?:path|dest|name)$/,
  lineinfile: /^(?:path|dest)$/,
  blockinfile: /^(?:path|dest)$/,
  replace: /^(?:path|dest)$/,
  "ini_file": /^(?:path|dest)$/,
  "get_url": /^dest$/,
  unarchive: /^dest$/,
  archive: /^dest$/,
  assemble: /^dest$/,
  fetch: /^dest$/,
  git: /^dest$/,
  synchronize: /^dest$/,
  tempfile: /^path$/,
};

/** `ansible localhost -m copy -a 'dest=/x'`: on this machine a module writes here. */
function ansible(call: Call): Stream {
  const read = readOptions(call.args, {
    takes:
      "-m -a -i -c -u -e -f -l -M -t --module-name --args --inventory --connection --user --extra-vars --tree --limit",
  });
  const value = (...names: string[]) =>
    read.options.findLast(([name]) => names.includes(name))?.[1];
  const tree = value("-t", "--tree");
  if (tree !== undefined) writes(call, tree);
  const here = value("-c", "--connection") === "local" ||
    /^(?:localhost|127\.0\.0\.1|::1)$/.test(read.operands[0] ?? "");
  const module = (value("-m", "--module-name") ?? "command").replace(
    /^ansible\.(?:builtin|posix|legacy)\./,
    "",
  );
  const args = value("-a", "--args") ?? "";
  if (
    !here && module !== "fetch" ||
    call.args.some((arg) => arg === "-C" || arg === "--check")
  ) return UNKNOWN_STREAM;
  if (/^(?:shell|command|raw|script)$/.test(module)) {
    const place = /\bchdir=(\S+)/.exec(args)?.[1];
    const line = args.replace(
      /\b(?:chdir|creates|removes|executable)=\S+\s*/g,
      "",
    );
    call.context.nested(() =>
      call.context.run.argv(
        place === undefined
          ? ["sh", "-c", line]
          : ["env", "-C", place, "sh", "-c", line],
        call.state.fork(),
        {},
      )
    );
    return UNKNOWN_STREAM;
  }
  const names = Object.hasOwn(ANSIBLE_WRITES, module)
    ? ANSIBLE_WRITES[module]
    : undefined;
  for (
    const [, name = "", quoted, bare] of args.matchAll(
      /(\w+)=(?:"([^"]*)"|(\S+))/g,
    )
  ) {
    if (names?.test(name)) writes(call, quoted ?? bare ?? "");
  }
  return UNKNOWN_STREAM;
}

/** Programs whose operands or option values are command lines. */
export const SHELL_STRINGS: Readonly<Record<string, CallReader>> = {
  hyperfine: (call) =>
    texts(
      call,
      readOptions(call.args, {
        takes:
          "-w -m -M -r -s -p -c -L -P -D --warmup --runs --setup --prepare --cleanup --parameter-list --shell",
        writes: "--export-json --export-csv --export-markdown",
      }),
    ),
  concurrently: (call) =>
    texts(
      call,
      readOptions(call.args, {
        takes: "-n -c -m -s -p --names --prefix-colors",
      }),
    ),
  "npm-run-all": () => UNKNOWN_STREAM,
  ansible,
  ftp: sftp,
  smbclient: sftp,
  tmux,
  lftp,
  sftp,
  socat,
  gdb: debuggers,
  lldb: debuggers,
  at: (call) => {
    const text = call.stdin.text;
    if (
      text !== undefined &&
      !hasOption(
        readOptions(call.args, { takes: "-f -q -t" }),
        "-l",
        "-d",
        "-c",
      )
    ) {
      call.context.run.text(text, call.state.fork(), {});
    }
    return UNKNOWN_STREAM;
  },
  batch: (call) => {
    if (call.stdin.text !== undefined) {
      call.context.run.text(call.stdin.text, call.state.fork(), {});
    }
    return UNKNOWN_STREAM;
  },
  rpm2cpio: () => UNKNOWN_STREAM,
};

function texts(call: Call, read: ReturnType<typeof readOptions>): Stream {
  for (const [name, value] of read.options) {
    if (value === undefined) continue;
    if (
      /^--?(?:prepare|setup|cleanup|p|s|c)$/.test(name) &&
      call.name === "hyperfine"
    ) {
      call.context.run.text(value, call.state.fork(), {});
    }
    if (name.startsWith("--export-")) writes(call, value);
  }
  for (const text of read.operands) {
    call.context.nested(() =>
      call.context.run.text(text, call.state.fork(), {})
    );
  }
  return UNKNOWN_STREAM;
}
