// deno-lint-ignore-file camelcase -- name of a program
/**
 * Patches and scripted editors.
 *
 * @module
 */
import { patchBodyTargets, unifiedDiffTargets } from "../targets.ts";
import { type CallReader, writes } from "./call.ts";
import { scanCode } from "./code.ts";
import { hasOption, optionValue, readOptions } from "./options.ts";
import { UNKNOWN_STREAM } from "./state.ts";
import { applyTable } from "./verbs.ts";
import { joinPath } from "./places.ts";

const patch: CallReader = (call) => {
  const read = readOptions(call.args, {
    takes:
      "-p -i -F -D -B -V -Y -z -g --strip --input --fuzz --prefix --suffix --version-control",
    writes: "-d -o -r --directory --output --reject-file",
  });
  if (hasOption(read, "--dry-run", "-C", "--check")) return UNKNOWN_STREAM;
  const directory = optionValue(read, "-d", "--directory");
  const state = call.state.fork();
  if (directory !== undefined) {
    writes(call, directory);
    state.cwd = state.cwd.map((cwd) => joinPath(cwd, directory));
  }
  const inner = { ...call, state };
  const output = optionValue(read, "-o", "--output");
  if (output !== undefined && output !== "-") writes(inner, output);
  const reject = optionValue(read, "-r", "--reject-file");
  if (reject !== undefined && reject !== "-") writes(inner, reject);
  if (read.operands[0] !== undefined && output === undefined) {
    writes(inner, read.operands[0]);
  } else if (output === undefined) {
    writes(inner, ".");
    const input = optionValue(read, "-i", "--input") ?? read.operands[1];
    const body = input === undefined
      ? call.stdin
      : call.context.readFile(input, state);
    const strip = Number(optionValue(read, "-p", "--strip") ?? NaN);
    if (body.text !== undefined) {
      for (
        const path of unifiedDiffTargets(
          body.text,
          Number.isNaN(strip) ? 99 : strip,
        )
      ) {
        writes(inner, path);
      }
    }
  }
  return UNKNOWN_STREAM;
};

const applyPatch: CallReader = (call) => {
  const body = call.args[0] ?? call.stdin.text;
  if (body === undefined) return UNKNOWN_STREAM;
  for (const path of patchBodyTargets(body)) {
    writes(call, path, "content", {
      rule: "patch",
      label: "patch target outside the allowed roots",
    });
  }
  return UNKNOWN_STREAM;
};

/** Editors that are told on the command line or by their input what to save. */
const editor: CallReader = (call) => {
  const read = readOptions(call.args, {
    takes: "-c -S -u -U -i -T -t --cmd",
  });
  const scripts = [
    ...read.options.filter(([name]) => name === "-c" || name === "--cmd").map((
      [, value],
    ) => value ?? ""),
    ...call.args.filter((arg) => arg.startsWith("+")).map((arg) =>
      arg.slice(1)
    ),
    call.stdin.text ?? "",
  ];
  const record = optionValue(
    readOptions(call.args, { takes: "-c -S -u -U -i -T -t -w -W --cmd" }),
    "-w",
    "-W",
  );
  if (record !== undefined && call.name !== "ed") writes(call, record);
  const commands = scripts.flatMap((text) => text.split(/[|\n]/)).map((text) =>
    text.replace(/^[\s:]*exe(?:cute)?!?\s+(["'])(.*)\1\s*$/, "$2")
  );
  for (const text of scripts) {
    const lua = /^[\s:]*lua\s+([^]+)$/.exec(text)?.[1];
    if (lua === undefined) continue;
    scanCode(call, lua, "lua");
    for (
      const match of lua.matchAll(
        /vim\.fn\.(?:writefile\s*\([^()]*,|delete\(|mkdir\()\s*["']([^"']+)/g,
      )
    ) {
      writes(call, match[1] ?? "");
    }
  }
  let files = read.operands;
  for (const command of commands) {
    const opened = /^[\s:]*(?:e|E|edit|f|file)!?\s+(\S+)\s*$/.exec(command)
      ?.[1];
    if (opened !== undefined && !opened.startsWith("!")) files = [opened];
    const written =
      /^[\s:]*(?:redir!?\s*>+\s*(\S+)|call\s+(?:writefile\([^()]*,|delete\(|mkdir\(|rename\([^()]*,)\s*['"]([^'"]+)['"])/
        .exec(command);
    const named = written?.[1] ?? written?.[2];
    if (named !== undefined) writes(call, named);
    const saved =
      /^[\s:]*(?:silent!?\s+|%|\d*,?\$?)*(?:w|wq|x|write|saveas|sav|up|update|wa|wqa|xa|wall)!?(?:\s+(>>\s*)?(\S.*))?$/
        .exec(command.trim());
    const shell = /^[\s:]*(?:silent!?\s+)?(?:[rw]\s+|%|r)?!(.+)$/
      .exec(
        command.trim(),
      );
    if (shell?.[1] !== undefined) {
      call.context.run.text(shell[1], call.state.fork(), {});
    } else if (saved !== null) {
      const path = saved[2]?.trim();
      for (const file of path === undefined ? files : [path]) {
        writes(call, file);
      }
    }
  }
  return UNKNOWN_STREAM;
};

/** Emacs without its window: the file functions of the Lisp that it is given. */
const emacs: CallReader = (call) => {
  const read = readOptions(call.args, {
    takes: "-eval --eval --execute -l --load -f --funcall",
    singleDash: true,
  });
  for (const [name, value = ""] of read.options) {
    if (!/^-?-(?:eval|execute)$/.test(name)) continue;
    const uses = value.matchAll(
      /\((?:write-region|write-file|append-to-file|delete-file|delete-directory|make-directory|copy-file|rename-file|with-temp-file|set-visited-file-name|make-symbolic-link)\s([^()]*)/g,
    );
    for (const [, operands = ""] of uses) {
      const path = [...operands.matchAll(/"([^"]*)"/g)].at(-1)?.[1];
      if (path !== undefined) writes(call, path);
    }
    const command = /\(shell-command(?:-to-string)?\s+"([^"]*)"/.exec(value)
      ?.[1];
    if (command !== undefined) {
      call.context.run.text(command, call.state.fork(), {});
    }
  }
  for (
    const [, path] of call.args.join("\n").matchAll(/\(find-file\s+"([^"]+)"/g)
  ) {
    if (path !== undefined && /save-buffer/.test(call.args.join("\n"))) {
      writes(call, path);
    }
  }
  if (call.args.some((arg) => /\bsave-(?:some-)?buffers?\b/.test(arg))) {
    for (const path of read.operands) writes(call, path);
  }
  return UNKNOWN_STREAM;
};

/** `sd before after file…`. */
const sd: CallReader = (call) => {
  const read = readOptions(call.args, {
    takes: "-f --flags -n --max-replacements",
  });
  if (hasOption(read, "-p", "--preview")) return UNKNOWN_STREAM;
  for (const path of read.operands.slice(2)) writes(call, path);
  return UNKNOWN_STREAM;
};

/** `exiftool -Artist=x a.jpg`: an assignment among its arguments changes the files. */
const exiftool: CallReader = (call) => {
  applyTable(call);
  const read = readOptions(call.args, { takes: "-if -o", singleDash: true });
  const changes = call.args.some((arg) => /^-[\w:]+[-+<]?=/.test(arg));
  if (changes && optionValue(read, "-o") === undefined) {
    for (const path of read.operands) writes(call, path);
  }
  return UNKNOWN_STREAM;
};

/** The programs by name. */
export const EDITS: Readonly<Record<string, CallReader>> = {
  patch,
  apply_patch: applyPatch,
  applypatch: applyPatch,
  emacs,
  emacsclient: emacs,
  sd,
  exiftool,
  vim: editor,
  vi: editor,
  nvim: editor,
  ex: editor,
  ed: editor,
  view: editor,
};
