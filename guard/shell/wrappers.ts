/**
 * Programs that run another program given as their operands, with the grammar of their own
 * options. Data only; `unwrap.ts` reads it.
 *
 * @module
 */
import type { OptionGrammar } from "./options.ts";

/** How a program runs another. */
export interface WrapperSpec extends OptionGrammar {
  /** Operands of its own before the command. */
  skip?: number;
  /** The skipped operands that it writes. */
  writesOperand?: number;
  /** `NAME=value` operands stand before the command. */
  assigns?: boolean;
  /** The option that names the directory the command runs in. */
  directory?: string;
  /** The option whose value is a command line. */
  text?: string;
  /** A sub-command that must stand before the command: `exec`, `run`. */
  sub?: string;
  /** The command runs in the shell itself. */
  own?: boolean;
  /** Nothing runs when one of these is given. */
  unless?: string;
  /** Operands are joined and read as a command line. */
  joins?: boolean;
}

/** The table. */
export const WRAPPERS: Readonly<Record<string, WrapperSpec>> = {
  sudo: {
    takes:
      "-u -g -h -p -C -r -t -T -U -R --user --group --host --prompt --close-from --role --type",
    directory: "-D --chdir",
    assigns: true,
  },
  doas: { takes: "-u -C", assigns: true },
  pkexec: { takes: "--user" },
  env: {
    takes: "-u --unset",
    directory: "-C --chdir",
    text: "-S --split-string",
    assigns: true,
  },
  nice: { takes: "-n --adjustment" },
  nohup: {},
  timeout: { takes: "-k -s --kill-after --signal", skip: 1 },
  gtimeout: { takes: "-k -s --kill-after --signal", skip: 1 },
  time: { takes: "-f --format", writes: "-o --output" },
  stdbuf: { takes: "-i -o -e --input --output --error" },
  unbuffer: {},
  setsid: {},
  ip: { sub: "netns", skip: 2 },
  ionice: { takes: "-c -n -p -P -u --class --classdata --pid" },
  chrt: { takes: "-T -P -D -p", skip: 1 },
  taskset: { takes: "-p", skip: 1 },
  numactl: { takes: "-C -N -m -i -p --cpunodebind --membind --physcpubind" },
  prlimit: { takes: "-p --pid" },
  cpulimit: { takes: "-l -p -e --limit" },
  cgexec: { takes: "-g" },
  setarch: { skip: 1 },
  linux32: {},
  linux64: {},
  setpriv: {
    takes:
      "--reuid --regid --groups --inh-caps --ambient-caps --bounding-set --pdeathsig --securebits",
  },
  capsh: { takes: "--user", text: "-c" },
  strace: {
    takes: "-e -E -p -s -u -O -S -P -a -I -b -X",
    writes: "-o --output",
  },
  ltrace: { takes: "-e -p -s -u -n -a -l", writes: "-o --output" },
  perf: {
    sub: "stat record",
    takes: "-e -p -C -F -r -I --event",
    writes: "-o --output",
  },
  valgrind: {
    takes: "",
    writes:
      "--log-file --xml-file --massif-out-file --callgrind-out-file --cachegrind-out-file --dhat-out-file",
  },
  watch: { takes: "-n -q --interval", joins: true },
  flock: {
    takes: "-w -E --timeout --wait --conflict-exit-code",
    text: "-c --command",
    skip: 1,
    writesOperand: 1,
  },
  chroot: { takes: "--userspec --groups", skip: 1 },
  unshare: {
    takes:
      "-R -w --root --wd --map-user --map-group --setuid --setgid --propagation --setgroups",
  },
  nsenter: { takes: "-t -S -G --target --setuid --setgid" },
  fakeroot: { takes: "-l -i -s -b" },
  fakechroot: { takes: "-e -c -d" },
  proot: { takes: "-r -b -w -q -R -S" },
  firejail: { takes: "" },
  runuser: { takes: "-u -g -G -w", text: "-c --command", skip: 0 },
  su: {
    takes: "-s -g -G -w --shell",
    text: "-c --command --session-command",
    skip: 9,
  },
  sg: { text: "-c", skip: 1, joins: true },
  newgrp: { skip: 9 },
  gosu: { skip: 1 },
  "su-exec": { skip: 1 },
  setuidgid: { skip: 1 },
  "s6-setuidgid": { skip: 1 },
  chpst: {
    takes: "-u -U -b -n -l -L -m -d -o -p -f -c -P -0 -1 -2",
    directory: "-/ -C",
  },
  tini: { takes: "-p -e" },
  "dumb-init": {},
  catchsegv: {},
  eatmydata: {},
  torsocks: {},
  torify: {},
  proxychains: { takes: "-f" },
  proxychains4: { takes: "-f" },
  "dbus-run-session": { takes: "--config-file --dbus-daemon" },
  "dbus-launch": {},
  "xvfb-run": {
    takes: "-n -s -p -f -e --server-num --server-args --error-file --auth-file",
  },
  "systemd-run": {
    takes:
      "-p -u -E -t --unit --property --slice --description --uid --gid --setenv",
    directory: "--working-directory",
  },
  "systemd-inhibit": { takes: "--what --who --why --mode" },
  "start-stop-daemon": { takes: "-p -u -g -n -d -N", text: "" },
  caffeinate: { takes: "-t -w" },
  arch: {},
  rlwrap: {
    takes: "-a -b -c -f -s -t",
    writes: "-H --history-filename -l --logfile",
  },
  ccache: {},
  distcc: {},
  sccache: {},
  busybox: {},
  toybox: {},
  "ssh-agent": { takes: "-a -t" },
  direnv: { sub: "exec", skip: 1 },
  npx: { takes: "-p --package --cache", text: "-c --call" },
  pnpx: { takes: "-p --package" },
  bunx: { takes: "-p --package" },
  dotenv: { takes: "-e -f -v" },
  "dotenvx": { sub: "run", takes: "-f -fk -e" },
  "cross-env": { assigns: true },
  "cross-env-shell": { assigns: true, joins: true },
  "env-cmd": { takes: "-f -e -r" },
  uvx: { takes: "--from --with --python -p" },
  pipx: { sub: "run", takes: "--spec" },
  bundle: { sub: "exec" },
  rbenv: { sub: "exec" },
  pyenv: { sub: "exec" },
  nodenv: { sub: "exec" },
  asdf: { sub: "exec" },
  mise: { sub: "exec x", takes: "-C -j --cd" },
  rtx: { sub: "exec x" },
  nvm: { sub: "exec run", skip: 1 },
  volta: { sub: "run", takes: "--node --npm --yarn" },
  fnm: { sub: "exec", takes: "--using" },
  poetry: { sub: "run" },
  pipenv: { sub: "run" },
  pdm: { sub: "run", takes: "-p" },
  hatch: { sub: "run", joins: true },
  rye: { sub: "run" },
  pixi: { sub: "run", takes: "-e --environment --manifest-path" },
  uv: {
    sub: "run",
    takes:
      "--with --python -p --extra --group --env-file --project --with-requirements",
    directory: "--directory",
  },
  conda: { sub: "run", takes: "-n -p --name --prefix", directory: "--cwd" },
  mamba: { sub: "run", takes: "-n -p --name --prefix", directory: "--cwd" },
  micromamba: { sub: "run", takes: "-n -p --name --prefix" },
  doppler: {
    sub: "run",
    takes: "-p -c -t --project --config --token",
    text: "--command",
  },
  op: { sub: "run", takes: "--env-file" },
  "aws-vault": { sub: "exec", takes: "-d", skip: 1 },
  chamber: { sub: "exec", skip: 1 },
  infisical: { sub: "run", takes: "--env --path" },
  "nix-shell": { text: "--run --command", takes: "-p -A -E -I", skip: 99 },
  nix: { sub: "develop shell", text: "", takes: "-f -I", singleDash: true },
  script: {
    text: "-c --command",
    takes: "-E -m -I -B -T --log-in",
    writes: "-O --log-out --log-timing",
    skip: 1,
    writesOperand: 1,
  },
  entr: {},
  memusage: { takes: "-n -b", writes: "-p --png -d --data" },
  nodemon: {
    text: "-x --exec",
    takes: "-w -e -i -d --watch --ext --ignore --delay",
    skip: 99,
  },
  screen: { takes: "-S -c -e -h -s -t -T -p -Logfile" },
  tmux: {
    sub:
      "new-session new new-window neww split-window splitw run-shell run respawn-pane",
    takes: "-s -n -t -x -y -F -e -L -f",
    directory: "-c",
    joins: true,
  },
  xterm: { takes: "-T -title -geometry", singleDash: true },
  parallel: {
    takes:
      "-j -S -a -n -N -L -d -I -P --jobs --arg-file --delay --timeout --colsep --max-args",
    writes: "--results --joblog --tmpdir --tempdir",
  },
  sem: { takes: "-j --id" },
  batch: {},
  "run-one": {},
  chronic: {},
  ifne: { takes: "" },
  errno: { skip: 99 },
  setlock: { skip: 1, writesOperand: 1 },
  lockrun: { takes: "", writes: "--lockfile" },
  softlimit: { takes: "-a -c -d -f -l -m -o -p -r -s -t" },
  qemu: {},
  winpty: {},
  noglob: { own: true },
  nocorrect: { own: true },
  "-": { own: true },
};
