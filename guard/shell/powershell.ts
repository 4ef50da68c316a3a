/**
 * PowerShell, as far as its everyday cmdlets write files.
 *
 * @module
 */
import { ANY, isKnown, SEG, SUB } from "../holes.ts";
import type { EffectMode } from "../effect.ts";
import { hasWriteSign } from "../write_sign.ts";
import type { Context } from "./context.ts";
import {
  CMDLETS,
  isSwitch,
  NATIVE,
  OWN_COMMAND,
} from "./powershell_cmdlets.ts";
import { EACH, joinedPath, statements, type Word } from "./powershell_words.ts";
import { dotNetWrites } from "./powershell_dotnet.ts";
import { INSTALL } from "./installs.ts";
import type { State } from "./state.ts";
import { bindParameters, takeFunctions } from "./powershell_functions.ts";
import { joinPath } from "./places.ts";

/**
 * Reads PowerShell text.
 *
 * @param text The command.
 * @param state The shell.
 * @param context The reading.
 */
export function readPowerShell(
  text: string,
  state: State,
  context: Context,
): void {
  if (text.length > 262_144) {
    if (hasWriteSign(text)) context.incomplete = true;
    return;
  }
  const { rest, functions } = takeFunctions(text);
  let handed: readonly string[] | undefined;
  for (const { words, piped, pipes } of statements(rest, state, context)) {
    const given = piped ? handed : undefined;
    const listed = listing(words, pipes);
    handed = listed === undefined
      ? literals(words, pipes) ?? given
      : [`${listed}/${SUB}`];
    if (pipes && words.every(isPlainName)) state.set("_", [[SEG]]);
    else if (handed !== undefined) {
      // Of several, one that leaves the directory says more.
      const far = handed.find((path) => /^[/~]|\.\./.test(path));
      state.set("_", [[far ?? handed[0] ?? ANY]]);
    }
    const called = functions.get((words[0]?.text ?? "").toLowerCase());
    if (called === undefined) statement(words, state, context, given);
    else {
      const inner = bindParameters(called, words.slice(1), state);
      context.nested(() => {
        readPowerShell(called.body, inner, context);
        return {};
      });
    }
  }
  if (text.includes("[") || text.includes(".")) {
    for (const { verb, path, mode } of dotNetWrites(text, state, context)) {
      write(context, state, verb, path, mode);
    }
  }
}

/** A literal that stays in its directory: `"a","b"`, `1..3`. */
function isPlainName(word: Word): boolean {
  if (/^(?:\d+\.\.\d+|@)$/.test(word.text)) return true;
  return word.quoted && isKnown(word.text) && !/[\\/]|\.\./.test(word.text);
}

/** The paths that a list of strings hands to the next statement. */
function literals(
  words: readonly Word[],
  pipes: boolean,
): string[] | undefined {
  const plain = pipes && words.length > 0 &&
    words.every((word) => word.quoted && isKnown(word.text));
  return plain ? words.flatMap((word) => word.text.split(",")) : undefined;
}

/** The directory whose entries a statement hands to the next one. */
function listing(words: readonly Word[], pipes: boolean): string | undefined {
  const name = words[0]?.text.toLowerCase() ?? "";
  // A variable that holds a listing.
  if (pipes && words.length === 1 && name.endsWith(`/${SUB}`)) {
    return words[0]?.text.slice(0, -2);
  }
  if (!pipes || !/^(?:get-childitem|get-item|gci|gi|ls|dir)$/.test(name)) {
    return undefined;
  }
  const at = words.findIndex((word) =>
    /^-(?:path|literalpath)$/i.test(word.text)
  );
  if (at !== -1) return words[at + 1]?.text ?? ".";
  const operand = words.slice(1).find((word, i) =>
    word.quoted || !word.text.startsWith("-") &&
      !/^-(?:filter|include|exclude|depth)$/i.test(words[i]?.text ?? "")
  );
  return operand?.text ?? ".";
}

function write(
  context: Context,
  state: State,
  verb: string,
  path: string,
  mode: EffectMode,
): void {
  // A drive or another provider is no POSIX path.
  const drive = /^[A-Za-z]:[\\/]/.test(path);
  if (
    /^(?:env|variable|function|alias|hk\w+):/i.test(path) ||
    /^\$?null$/i.test(path)
  ) return;
  const plain = drive
    ? "/" + path.replaceAll("\\", "/")
    : path.replaceAll("\\", "/");
  context.write(
    { rule: "verb", verb, label: `${verb} outside the allowed roots` },
    plain,
    state,
    mode,
  );
}

function statement(
  words: Word[],
  state: State,
  context: Context,
  given?: readonly string[],
): void {
  const list = [...words];
  for (let i = 0; i < list.length; i++) {
    const word = list[i];
    if (word?.redirect !== true) continue;
    const target = list[i + 1];
    if (target !== undefined && !/^&\d$/.test(target.text)) {
      if (!/^\$?null$/i.test(target.text)) {
        context.write(
          {
            rule: "redirect",
            verb: ">",
            label: "output redirection to a file",
          },
          target.text.replaceAll("\\", "/"),
          state,
        );
      }
    }
    list.splice(i, 2);
    i--;
  }
  while (
    list[0] !== undefined &&
    /^(?:&|\.|\(|\{|[({]+|if|else|try|finally|do)$/.test(list[0].text) &&
    !list[0].quoted
  ) list.shift();
  if (list[0]?.text === EACH) {
    const [, variable, ...values] = list;
    const directory = listing(values, true);
    const value = directory !== undefined
      ? `${directory}/${SUB}`
      : values.length === 1
      ? values[0]?.text ?? ANY
      : ANY;
    state.set((variable?.text ?? "").toLowerCase(), [
      [values.every(isPlainName) ? SEG : value],
    ]);
    return;
  }
  const assigned = /^\$(\w+)$/.exec(list[0]?.text ?? "");
  if (assigned?.[1] !== undefined && list[1]?.text === "=") {
    const value = list[2];
    if (/^join-path$/i.test(value?.text ?? "")) {
      state.set(assigned[1].toLowerCase(), [[joinedPath(list.slice(3))]]);
    } else if (list.length === 3 && value !== undefined) {
      state.set(assigned[1].toLowerCase(), [[value.text]]);
    } else {
      const directory = listing(list.slice(2), true);
      state.set(assigned[1].toLowerCase(), [
        [directory === undefined ? ANY : `${directory}/${SUB}`],
      ]);
      statement(list.slice(2), state, context);
    }
    return;
  }
  const name = (list[0]?.text ?? "").toLowerCase();
  const args = list.slice(1);
  if (/^(?:set-location|cd|sl|chdir|push-location|pushd)$/.test(name)) {
    const target = args.find((arg) => !arg.text.startsWith("-"))?.text ?? "";
    if (/^push/.test(name)) state.stack = [state.cwd, ...state.stack];
    const plain = target.replaceAll("\\", "/");
    state.cwd = plain === ""
      ? state.cwd
      : state.cwd.map((cwd) =>
        plain.includes(ANY) ? ANY : joinPath(cwd, plain)
      );
    return;
  }
  if (/^(?:pop-location|popd)$/.test(name)) {
    const [top, ...rest] = state.stack;
    state.cwd = top ?? [ANY];
    state.stack = rest;
    return;
  }
  if (/^(?:install|update)-(?:module|script|package|psresource)$/.test(name)) {
    context.refuse({ ...INSTALL, verb: name });
    return;
  }
  if (/^cmd(?:\.exe)?$/.test(name)) {
    const at = args.findIndex((arg) => /^\/[ck]$/i.test(arg.text));
    const line = args.slice(at + 1).map((arg) => arg.text).join(" ");
    context.nested(() =>
      context.run.text(line.replaceAll("\\", "/"), state.fork(), {})
    );
    return;
  }
  if (/^(?:invoke-expression|iex)$/.test(name)) {
    if (args[0]?.quoted) readPowerShell(args[0].text, state, context);
    return;
  }
  if (/^(?:start-process|saps|start)$/.test(name)) {
    for (let i = 0; i < args.length; i++) {
      if (/^-redirectstandard(?:output|error)$/i.test(args[i]?.text ?? "")) {
        write(context, state, name, args[i + 1]?.text ?? ANY, "content");
      }
    }
    const line = args.filter((arg) =>
      !/^-(?:\w+)$/.test(arg.text) || arg.quoted
    )
      .flatMap((arg) => arg.text.split(","));
    context.nested(() => context.run.argv(line, state.fork(), {}));
    return;
  }
  // In Windows PowerShell, two well-known programs are its own command.
  const alias = /^(?:wget|curl)$/.test(name) &&
      args.some((arg) => /^-(?:outfile|uri)\b/i.test(arg.text))
    ? "invoke-webrequest"
    : name;
  const cmdlet = Object.hasOwn(CMDLETS, alias) ? CMDLETS[alias] : undefined;
  if (cmdlet === undefined) {
    const program = name.replace(/\.(?:exe|cmd|bat)$/, "");
    if (NATIVE.test(program) || !OWN_COMMAND.test(program)) {
      const argv = [program, ...args.map((word) => word.text)];
      context.nested(() => context.run.argv(argv, state.fork(), {}));
    }
    return;
  }
  const written = cmdlet.writes.split(" ");
  const removed = (cmdlet.removes ?? "").split(" ");
  const operands: string[] = [];
  let named = false;
  for (let i = 0; i < args.length; i++) {
    const arg = args[i];
    if (arg === undefined) break;
    const parameter = !arg.quoted
      ? /^-([A-Za-z]+)(?::(.*))?$/.exec(arg.text)
      : null;
    if (parameter === null) {
      operands.push(
        ...arg.quoted
          ? [arg.text]
          : arg.text.split(",").filter((item) => item !== ""),
      );
      continue;
    }
    const key = (parameter[1] ?? "").toLowerCase();
    if (isSwitch(key)) continue;
    const value = parameter[2] ?? args[++i]?.text ?? "";
    const matches = (names: string[]) =>
      key.length > 1 && names.some((one) => one !== "" && one.startsWith(key));
    if (matches(written)) {
      named = true;
      for (const path of value.split(",")) {
        write(context, state, name, path, cmdlet.mode ?? "content");
      }
    } else if (matches(removed)) {
      named = true;
      write(context, state, name, value, "tree");
    } else if (matches(["path", "literalpath"])) operands.unshift(value);
    else if (key === "name" && /^(?:new-item|ni)$/.test(name)) {
      operands.push(value);
    }
  }
  // `Get-ChildItem d | Remove-Item` works on what it is handed.
  if (
    given !== undefined && !named && operands.length === 0 &&
    /^(?:remove-item|ri|rm|rmdir|del|erase|rd|clear-content|clc|rename-item|ren|rni|move-item|move|mi|mv)$/
      .test(name)
  ) operands.push(...given);
  if (cmdlet.removes !== undefined) {
    if (operands[0] !== undefined && !named) {
      write(context, state, name, operands[0], "tree");
    }
    if (operands[1] !== undefined) {
      write(context, state, name, operands[1], "content");
    }
    return;
  }
  const chosen = cmdlet.at === "all"
    ? operands
    : cmdlet.at === "first"
    ? named ? [] : operands.slice(0, 1)
    : cmdlet.at === "second"
    ? named ? [] : operands.slice(1, 2)
    : [];
  const forced = args.some((arg) =>
    /^-f(?:o(?:r(?:c(?:e)?)?)?)?$/i.test(arg.text)
  );
  for (const path of chosen) {
    write(context, state, name, path, cmdlet.mode ?? "content");
    // By force a star matches dotfiles too.
    const last = path.slice(path.lastIndexOf("/") + 1);
    if (forced && last.startsWith(SEG)) {
      const hidden = `${path.slice(0, path.length - last.length)}.${last}`;
      write(context, state, name, hidden, cmdlet.mode ?? "content");
    }
  }
}
