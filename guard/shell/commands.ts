/**
 * Which operands and option values each program writes. Data only.
 *
 * @module
 */
import { fileCommands } from "./commands_files.ts";
import { READS, type VerbSpec, type VerbTable } from "./verb_spec.ts";

/** Programs that only read, unless an option names an output; each between blanks. */
const READERS =
  " cat head tail more wc nl od hexdump strings file stat ls dir vdir du df lsof ps pgrep pstree " +
  "top htop free uptime uname arch nproc lscpu id whoami who w groups hostname date cal locale tty " +
  "basename dirname realpath readlink pwd which " +
  "whereis type grep egrep fgrep zgrep rg ag ack cut tr fold fmt " +
  "pr column paste join comm cmp diff diff3 sdiff colordiff md5sum sha1sum sha224sum sha256sum " +
  "sha384sum sha512sum b2sum cksum sum base32 basenc rev expand unexpand tsort numfmt jq xq gron " +
  "zcat bzcat xzcat zstdcat zless zmore ldd nm objdump readelf size addr2line c++filt env printenv " +
  "dig nslookup host ping traceroute netstat ip ifconfig nc telnet kill pkill killall sleep " +
  "wait jobs fg bg clear reset tput stty dmesg getent getconf ulimit mongosh " +
  "tokei cloc shellcheck hadolint yamllint jsonlint pyright actionlint " +
  "lsblk blkid vmstat iostat sar acpi sensors fc-list spctl otool lipo " +
  "look spell aspell units bat batcat delta difft fzf tldr nvidia-smi ";

/** Programs whose arguments are text, or run elsewhere: what looks like an option is none. */
const TEXT =
  " echo printf true false yes seq factor expr bc dc test [ man info help apropos whatis mosh findmnt ";

/** A program that only reads, unless an option names an output. */
const GUESSED: VerbSpec = { guess: true };

/** What most commands are made of; no program is in two tables. */
export const EVERYDAY: readonly VerbTable[] = [
  fileCommands,
];

/** Tables beside the everyday ones, once they are loaded. */
let more: readonly VerbTable[] | undefined;
/** Whether a program was looked for that the everyday tables do not know. */
let missed = false;

/**
 * Adds the tables of programs that are seldom met.
 *
 * @param tables Them.
 */
export function addTables(tables: readonly VerbTable[]): void {
  more = tables;
}

/**
 * Whether a program was met, since this was last asked, that may stand in a table not loaded.
 *
 * @returns `true` when one was.
 */
export function missedProgram(): boolean {
  const before = missed;
  missed = false;
  return before && more === undefined;
}

/**
 * A program's row. A program without one is judged by its options alone, see `guess.ts`.
 *
 * @param name The program's base name.
 * @returns The row.
 */
export function specOf(name: string): VerbSpec | undefined {
  if (isListed(READERS, name)) return GUESSED;
  if (isListed(TEXT, name)) return READS;
  const row = rowIn(EVERYDAY, name);
  if (row !== undefined) return row;
  if (more === undefined) missed = true;
  return more === undefined ? undefined : rowIn(more, name);
}

/**
 * Whether a name is a program's own, not one with a version behind it.
 *
 * @param name The name.
 * @returns `true` when a table that is loaded has it.
 */
export function hasRow(name: string): boolean {
  return rowIn(EVERYDAY, name) !== undefined ||
    more !== undefined && rowIn(more, name) !== undefined;
}

function rowIn(
  tables: readonly VerbTable[],
  name: string,
): VerbSpec | undefined {
  for (const table of tables) {
    const rows = table();
    if (Object.hasOwn(rows, name)) return rows[name];
  }
  return undefined;
}

/**
 * Whether a program only reads, unless an option names an output.
 *
 * @param name Its base name.
 * @returns `true` for one of the readers.
 */
export function onlyReads(name: string): boolean {
  return isListed(READERS, name) || isListed(TEXT, name);
}

function isListed(list: string, name: string): boolean {
  return list.includes(` ${name} `) && !name.includes(" ");
}

/** Programs that keep settings or credentials of the account, by the arguments that change them. */
export const ACCOUNT: Readonly<Record<string, RegExp>> = {
  aws: /^(?:configure(?: set | import |$)|sso login)/,
  az:
    /^(?:login|logout|configure|config set|account set|extension (?:add|remove))/,
  gcloud:
    /^(?:init|config set|config configurations (?:create|activate|delete)|auth (?:login|revoke|activate-service-account)|components (?:install|update|remove))/,
  gh:
    /^(?:auth (?:login|logout|refresh|setup-git|switch)|config set|extension (?:install|remove|upgrade)|alias (?:set|delete|import))/,
  docker:
    /^(?:login|logout|context (?:use|create|rm|update)|plugin (?:install|rm|remove))/,
  kubectl:
    /^config (?:use-context|set|unset|delete-|rename-)(?!.*--kubeconfig)|^krew (?:install|uninstall|upgrade|update)/,
  vagrant:
    /^plugin (?:install|uninstall|update)|^box (?:add|remove|update|prune)/,
  // A key ring of its own is named by a directory.
  gpg:
    /^(?!.*--homedir).*(?:^| )--(?:import|(?:quick-|full-)?gen(?:erate)?-key|delete-(?:secret-)?keys?|edit-key|recv-keys|receive-keys|refresh-keys)(?: |$)/,
  kind: /^(?:create|delete|export kubeconfig)/,
  minikube: /^(?:start|delete|config (?:set|unset)|addons (?:enable|disable))/,
  k3d: /^(?:cluster (?:create|delete)|kubeconfig (?:merge|write))/,
  pass: /^(?:generate|insert|edit|rm|mv|cp|init|git)\b/,
  "fc-cache": /^(?!.*(?:--help|--version|-V))/,
  doctl:
    /^(?:auth (?:init|remove|switch)|kubernetes cluster kubeconfig (?:save|remove))/,
  rclone:
    /^(?!.*--config[ =]).*config (?:create|update|delete|password|edit|copy)|^config$/,
  helm: /^(?:repo (?:add|remove|update)|plugin (?:install|uninstall|update))/,
  bundle: /^config (?:(?:set|unset) )?--global/,
  claude:
    /^(?:config (?:set|add|remove)|mcp (?:add|remove)(?!.*(?:-s|--scope)[ =]project)|plugin (?:install|uninstall|enable|disable)|setup-token|install|update)\b/,
  codex: /^(?:login|logout|mcp (?:add|remove|login|logout))\b/,
  opencode: /^(?:auth log(?:in|out)|upgrade|uninstall)\b/,
  code: /(?:^| )--(?:un)?install-extension/,
  "huggingface-cli": /^log(?:in|out)/,
  hf: /^auth log(?:in|out)/,
  vercel: /^log(?:in|out)/,
  netlify: /^log(?:in|out)/,
  wrangler: /^log(?:in|out)/,
  firebase: /^log(?:in|out)/,
  heroku: /^(?:login|logout|auth:log|plugins:install)/,
};

/** Programs that change the machine or the account, by sub-command or always. */
export const SYSTEM: Readonly<Record<string, RegExp | true>> = {
  useradd: true,
  userdel: true,
  usermod: true,
  groupadd: true,
  groupdel: true,
  adduser: true,
  deluser: true,
  addgroup: true,
  passwd: true,
  chpasswd: true,
  chsh: true,
  chfn: true,
  visudo: true,
  vipw: true,
  ldconfig: true,
  "locale-gen": true,
  "update-grub": true,
  "grub-install": true,
  "update-initramfs": true,
  modprobe: true,
  insmod: true,
  rmmod: true,
  swapon: true,
  umount: true,
  "pam-auth-update": true,
  "update-rc.d": true,
  "update-ca-certificates": true,
  "dpkg-reconfigure": true,
  systemctl:
    /^(?:enable|disable|mask|unmask|edit|link|set-default|preset|revert|set-property)$/,
  launchctl: /^(?:load|unload|bootstrap|bootout|enable|disable|submit)$/,
  "update-alternatives": /^--(?:install|set|remove|remove-all|auto|config)$/,
  hostnamectl: /^(?:set-.*|hostname)$/,
  timedatectl: /^set-/,
  localectl: /^set-/,
  sysctl: /^(?:-w|--write|-p|--load|[\w.]+=.*)$/,
  defaults: /^(?:write|delete|import|rename)$/,
  dconf: /^(?:write|reset|load)$/,
  gsettings: /^(?:set|reset)$/,
  crontab: /^(?!-l$|-u$)/,
  networksetup: /^-set/,
  scutil: /^--set$/,
  ufw: /^(?:allow|deny|enable|disable|delete|reset)$/,
  loginctl: /^enable-linger$/,
  a2ensite: true,
  a2dissite: true,
  a2enmod: true,
  a2dismod: true,
  "debconf-set-selections": true,
  incrontab: /^(?!-l$|-u$|--list$)/,
  journalctl: /^--(?:vacuum-\w+|rotate|flush|sync)(?:=|$)/,
  "xdg-desktop-menu": /^(?:install|uninstall|forceupdate)$/,
  "xdg-icon-resource": /^(?:install|uninstall|forceupdate)$/,
  "xdg-settings": /^set$/,
  "xdg-mime": /^(?:default|install|uninstall)$/,
};
