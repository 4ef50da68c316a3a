/**
 * Options whose value is a command line that the program runs.
 *
 * @module
 */
import { type Call, writes } from "./call.ts";
import { EMPTY_STREAM } from "./state.ts";

/** Programs and those of their options, as they are written. */
const COMMAND_OPTIONS: Readonly<Record<string, string>> = {
  rsync: "-e --rsh",
  zip: "-TT --unzip-command",
  sort: "--compress-program",
  man: "-P --pager",
  rg: "--pre",
  go: "-exec -toolexec",
  wget: "--use-askpass",
  nc: "-c -e --exec --sh-exec",
  ncat: "-c -e --exec --sh-exec",
  fzf: "--preview --execute",
  "cargo-watch": "-x -s --shell --exec",
  watchexec: "-s --shell",
  chokidar: "-c --command",
  onchange: "-c",
  "tsc-watch":
    "--onSuccess --onFailure --onFirstSuccess --onCompilationStarted",
  tsup: "--onSuccess",
  "git-upload-pack": "--exec",
  mysql: "--pager",
  logrotate: "-m --mail",
  scp: "-S",
  sftp: "-S",
  "yt-dlp": "--exec",
  "youtube-dl": "--exec",
};
/** Settings of OpenSSH that name a local command line. */
const SSH = /^(?:proxycommand|localcommand|knownhostscommand)[= ]\s*(.+)$/i;

/** The file in which OpenSSH remembers the machines it meets. */
const KNOWN_HOSTS = /^userknownhostsfile[= ]\s*(\S+)/i;

/**
 * Follows the command lines among a program's options.
 *
 * @param call The call.
 */
export function runOptionCommands(call: Call): void {
  const { args, name } = call;
  if (/^(?:ssh|scp|sftp)$/.test(name)) {
    for (let i = 0; i < args.length; i++) {
      const arg = args[i] ?? "";
      if (!arg.startsWith("-o")) continue;
      const text = SSH.exec(arg === "-o" ? args[i + 1] ?? "" : arg.slice(2));
      if (text?.[1] !== undefined) run(call, text[1]);
      const known = KNOWN_HOSTS.exec(
        arg === "-o" ? args[i + 1] ?? "" : arg.slice(2),
      )?.[1];
      if (known !== undefined && known !== "none") writes(call, known);
    }
  }
  if (!Object.hasOwn(COMMAND_OPTIONS, name)) return;
  const names = (COMMAND_OPTIONS[name] ?? "").split(" ");
  for (let i = 0; i < args.length; i++) {
    const arg = args[i] ?? "";
    const equals = arg.indexOf("=");
    const written = equals === -1 ? arg : arg.slice(0, equals);
    if (!names.includes(written)) continue;
    const text = equals === -1 ? args[i + 1] : arg.slice(equals + 1);
    if (text !== undefined) run(call, text);
  }
}

function run(call: Call, text: string): void {
  call.context.nested(() =>
    call.context.run.text(text, call.state.fork(), EMPTY_STREAM)
  );
}
