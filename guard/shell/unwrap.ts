/**
 * Finds the command that a wrapper is given among its arguments.
 *
 * @module
 */
import { ANY } from "../holes.ts";
import { type Call, writes } from "./call.ts";
import {
  type OptionGrammar,
  type Options,
  optionValue,
  readOptions,
  writtenValues,
} from "./options.ts";
import type { Stream } from "./state.ts";
import { WRAPPERS } from "./wrappers.ts";

/** Wrappers that, without a command, start a shell. */
const STARTS_SHELL =
  /^(?:su|newgrp|chroot|unshare|nsenter|fakeroot|proot|setpriv|runuser|linux32|linux64|setarch)$/;

/** What a wrapper runs. */
export interface Unwrapped {
  /** The command. */
  argv: readonly string[];
  /** The directory it runs in, when the wrapper names one. */
  cwd?: string;
  /** Variables that the wrapper sets. */
  env: [name: string, value: string][];
  /** Whether it runs in the shell itself. */
  own: boolean;
  /** Its input, when it is not the wrapper's. */
  stdin?: Stream;
}

/**
 * Reads a wrapper's options and gives the command behind them.
 *
 * @param call The wrapper's call.
 * @returns The command, or `undefined` when nothing is run.
 */
export function unwrap(call: Call): Unwrapped | undefined {
  const spec = WRAPPERS[call.name];
  if (spec === undefined) return undefined;
  let args = call.name === "screen"
    ? call.args.filter((arg, i, all) =>
      arg !== "-Logfile" && all[i - 1] !== "-Logfile"
    )
    : call.args;
  if (call.name === "busybox" || call.name === "toybox") {
    return { argv: args, env: [], own: false };
  }
  const grammar: OptionGrammar = {
    takes: [spec.takes, spec.directory, spec.text].filter(Boolean).join(" "),
    writes: spec.writes,
    singleDash: spec.singleDash,
    stopsAtOperand: true,
  };
  let subOptions: ReturnType<typeof readOptions> | undefined;
  if (spec.sub !== undefined) {
    subOptions = readOptions(args, grammar);
    const [sub = "", ...rest] = subOptions.operands;
    if (!spec.sub.split(" ").includes(sub)) return undefined;
    args = rest;
  }
  // nix-shell, script and su take options behind their operands too.
  const loose = spec.text !== undefined && (spec.skip ?? 0) > 1 ||
    call.name === "script";
  const read = readOptions(args, { ...grammar, stopsAtOperand: !loose });
  if (subOptions !== undefined) read.options.unshift(...subOptions.options);
  for (const path of writtenValues(read, grammar)) writes(call, path);
  if (call.name === "screen") {
    const at = call.args.indexOf("-Logfile");
    if (at !== -1) writes(call, call.args[at + 1] ?? ".");
  }
  if (call.name === "systemd-run") {
    for (const [, value] of read.options) {
      const path = /^Standard(?:Output|Error)=(?:file|append|truncate):(.+)$/
        .exec(value ?? "")?.[1];
      if (path !== undefined) writes(call, path);
    }
  }
  const env: [string, string][] = [];
  let operands = [...read.operands];
  const takeAssignments = () => {
    while (spec.assigns && /^[A-Za-z_]\w*=/.test(operands[0] ?? "")) {
      const item = operands.shift() ?? "";
      const at = item.indexOf("=");
      env.push([item.slice(0, at), item.slice(at + 1)]);
    }
  };
  takeAssignments();
  const own = operands.slice(0, spec.skip ?? 0);
  if (spec.writesOperand !== undefined) {
    for (const path of own.slice(0, spec.writesOperand)) {
      // A bare number is an open descriptor.
      if (!/^\d+$/.test(path)) writes(call, path);
    }
  }
  operands = operands.slice(spec.skip ?? 0);
  const directory = spec.directory === undefined
    ? undefined
    : optionValue(read, ...spec.directory.split(" "));
  const text = spec.text === undefined
    ? undefined
    : optionValue(read, ...spec.text.split(" "));
  const place = {
    env,
    own: spec.own ?? false,
    ...directory === undefined ? {} : { cwd: directory },
  };
  if (text !== undefined) {
    const line = call.name === "env" ? [text, ...operands].join(" ") : text;
    return { ...place, argv: ["sh", "-c", line] };
  }
  // flock FILE -c 'command'
  if (/^(?:flock|sg|capsh)$/.test(call.name)) {
    const at = operands.findIndex((arg) => arg === "-c" || arg === "--command");
    if (at === 0) {
      return { ...place, argv: ["sh", "-c", operands.slice(1).join(" ")] };
    }
  }
  if (call.name === "nix") {
    const at = call.args.findIndex((arg) =>
      arg === "-c" || arg === "--command"
    );
    return at === -1 ? undefined : { ...place, argv: call.args.slice(at + 1) };
  }
  if (call.name === "parallel" || call.name === "sem") {
    return parallel(call, operands, place, read);
  }
  takeAssignments();
  if (spec.sub !== undefined && operands[0] === "--") operands.shift();
  if (operands.length === 0) {
    // Without a command it is a shell, which reads its input.
    return STARTS_SHELL.test(call.name) ||
        call.name === "sudo" &&
          read.options.some(([name]) => /^-(?:s|i|-shell|-login)$/.test(name))
      ? { ...place, argv: ["sh", "-s"] }
      : undefined;
  }
  // `entr -s 'command line'`
  if (
    spec.joins ||
    call.name === "entr" && read.options.some(([name]) => name === "-s")
  ) return { ...place, argv: ["sh", "-c", operands.join(" ")] };
  if (call.name === "npx" && operands[0] !== undefined) {
    // A version may be pinned to the name: `prettier@3`.
    operands[0] = operands[0].replace(/^(@?[^@]+)@.*$/, "$1").replace(
      /^@[^/]+\//,
      "",
    );
  }
  return { ...place, argv: operands };
}

/** `parallel cmd {} ::: a b`, or with its values on standard input. */
function parallel(
  call: Call,
  operands: string[],
  place: { env: [string, string][]; own: boolean; cwd?: string },
  read: Options,
): Unwrapped | undefined {
  if (
    read.options.some(([name]) => name === "--dry-run" || name === "--dryrun")
  ) {
    return undefined;
  }
  const at = operands.findIndex((arg) => /^:::[:+]*$/.test(arg));
  const command = at === -1 ? operands : operands.slice(0, at);
  const file = optionValue(read, "-a", "--arg-file");
  const values = file !== undefined
    ? call.context.readFile(file, call.state).text?.split("\n").filter((line) =>
      line !== ""
    ) ?? [ANY]
    : at === -1
    ? call.stdin.items ?? call.stdin.text?.split("\n").filter((line) =>
      line !== ""
    ) ?? [ANY]
    : operands.slice(at + 1).filter((arg) => !/^:::/.test(arg));
  if (command.length === 0) {
    const text = values.join("\n");
    return { ...place, argv: ["sh", "-c", text] };
  }
  const template = command.join(" ");
  const lines = values.slice(0, 50).map((value) =>
    /\{[^}]*\}/.test(template)
      ? template.replace(/\{[^}]*\}/g, () => value)
      : `${template} ${value}`
  );
  return { ...place, argv: ["sh", "-c", lines.join("\n")] };
}
