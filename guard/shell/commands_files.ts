/**
 * Programs that work on files. Data only.
 *
 * @module
 */
import { ALL, each, READS, type VerbTable, verbTable } from "./verb_spec.ts";

/** The rows by program. */
export const fileCommands: VerbTable = verbTable(() => ({
  // Files and directories
  rm: { operands: "all", mode: "tree" },
  rmdir: { operands: "all", mode: "tree" },
  unlink: { operands: "all", mode: "tree" },
  trash: { operands: "all", mode: "tree" },
  "trash-put": { operands: "all", mode: "tree" },
  srm: { operands: "all", mode: "tree" },
  shred: {
    operands: "all",
    takes: "-n -s --iterations --size --random-source",
  },
  wipe: ALL,
  rimraf: { operands: "all", mode: "tree" },
  "del-cli": { operands: "all", mode: "tree" },
  "trash-cli": { operands: "all", mode: "tree" },
  mkdirp: ALL,
  "make-dir": ALL,
  cpx: { operands: "last" },
  cpy: { operands: "last" },
  "cpy-cli": { operands: "last" },
  ncp: { operands: "last" },
  copyfiles: { operands: "last", takes: "-u -e" },
  touch: {
    operands: "all",
    takes: "-d -r -t --date --reference --time",
    entry: "-h --no-dereference",
  },
  mkdir: { operands: "all", takes: "-m --mode" },
  mkfifo: { operands: "all", takes: "-m --mode" },
  mknod: { operands: "first", takes: "-m --mode" },
  truncate: { operands: "all", takes: "-s -r --size --reference" },
  fallocate: { operands: "all", takes: "-l -o --length --offset" },
  chgrp: { operands: "rest", takes: "--from" },
  chattr: { operands: "rest", takes: "-v -p" },
  chcon: {
    operands: "final",
    takes: "-u -r -t -l --user --role --type --range --reference",
  },
  setfacl: { operands: "all", takes: "-m -x -M -X --set --set-file --restore" },
  setfattr: { operands: "all", takes: "-n -v -x --restore" },
  setcap: { operands: "rest" },
  ...each("rename rename.ul file-rename", {
    operands: "rest",
    unless: "-n --nono --no-act --just-print",
  }),
  detox: { operands: "all", unless: "-n --dry-run -L" },
  symlinks: { operands: "all", onlyWith: "-c -d -s" },
  prename: {
    operands: "rest",
    takes: "-e",
    unless: "-n --nono --no-act",
  },
  tee: { operands: "all" },
  sponge: { operands: "all" },
  rsync: {
    operands: "last",
    unless: "-n --dry-run --list-only",
    takes:
      "-e -f -B -M --rsh --exclude --include --filter --exclude-from --include-from --files-from --bwlimit --timeout --chmod --chown --link-dest --compare-dest --copy-dest --port --out-format --max-size --min-size --rsync-path --suffix --info --debug",
    writes:
      "--log-file --backup-dir --partial-dir -T --temp-dir --write-batch --only-write-batch",
  },
  split: {
    takes:
      "-a -b -C -l -n -t --suffix-length --bytes --line-bytes --lines --number --separator --additional-suffix --filter",
    operands: "second",
  },
  csplit: {
    takes: "-b -n --suffix-format --digits",
    writes: "-f --prefix",
    here: true,
  },
  sort: {
    takes:
      "-k -t -S --key --field-separator --buffer-size --parallel --compress-program",
    writes: "-o --output -T --temporary-directory",
  },
  uniq: {
    operands: "second",
    takes: "-f -s -w --skip-fields --skip-chars --check-chars",
  },
  shuf: {
    takes: "-n -i --head-count --input-range --random-source",
    writes: "-o --output",
  },
  iconv: { takes: "-f -t --from-code --to-code", writes: "-o --output" },
  xxd: { operands: "second", takes: "-c -g -l -o -s -n" },
  less: {
    takes: "-b -h -j -p -t -T -x -y -z",
    writes: "-o -O --log-file --LOG-FILE",
  },
  ...each("dos2unix unix2dos mac2unix", {
    operands: "all",
    unless: "-i --info -O --to-stdout -h -V",
  }),
  base64: { takes: "-w --wrap -b -i", writes: "-o --output" },
  tree: { takes: "-L -P -I -H -T", writes: "-o" },
  tac: READS,
  ptx: {
    operands: "second",
    onlyWith: "-G --traditional",
    takes: "-b -F -g -i -M -o -S -w -W",
  },
  sync: READS,
  script: {
    operands: "first",
    takes: "-c -E -m -I -B -T --command",
    writes: "-O -T -I -B --log-out",
  },
  scriptreplay: READS,
  logrotate: { writes: "-s --state -l --log" },
  mktorrent: { writes: "-o" },
  pv: { writes: "-o --output -P" },
  buffer: { writes: "-o" },
  ts: READS,
}));
