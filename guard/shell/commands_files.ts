/**
 * Programs that work on files, archives and transfers. Data only.
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
  touch: { operands: "all", takes: "-d -r -t --date --reference --time" },
  mkdir: { operands: "all", takes: "-m --mode" },
  mkfifo: { operands: "all", takes: "-m --mode" },
  mknod: { operands: "first", takes: "-m --mode" },
  truncate: { operands: "all", takes: "-s -r --size --reference" },
  fallocate: { operands: "all", takes: "-l -o --length --offset" },
  chgrp: { operands: "rest", takes: "--from" },
  chattr: { operands: "rest", takes: "-v -p" },
  chcon: { operands: "rest", takes: "-u -r -t -l --reference" },
  setfacl: { operands: "all", takes: "-m -x -M -X --set --set-file --restore" },
  setfattr: { operands: "all", takes: "-n -v -x --restore" },
  setcap: { operands: "rest" },
  rename: { operands: "rest" },
  "rename.ul": { operands: "rest" },
  detox: ALL,
  symlinks: { operands: "all", onlyWith: "-c -d -s" },
  prename: { operands: "rest", takes: "-e" },
  tee: { operands: "all" },
  sponge: { operands: "all" },
  rsync: {
    operands: "last",
    unless: "-n --dry-run --list-only",
    takes:
      "-e -f -T -B -M --rsh --exclude --include --filter --exclude-from --include-from --files-from --bwlimit --timeout --chmod --chown --link-dest --compare-dest --copy-dest --port --out-format --max-size --min-size --rsync-path --suffix --info --debug",
    writes: "--log-file --backup-dir --partial-dir --temp-dir --write-batch",
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
  dos2unix: ALL,
  unix2dos: ALL,
  mac2unix: ALL,
  base64: { takes: "-w --wrap -b -i", writes: "-o --output" },
  tree: { takes: "-L -P -I -H -T", writes: "-o" },
  tac: READS,
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
  // Archives
  zip: {
    operands: "first",
    takes: "-b -i -n -t -tt -x -P -s -sp",
    writes: "-O --out",
  },
  unzip: { takes: "-x -P -I -O", writes: "-d", unless: "-l -t -v -p -Z -z" },
  unrar: { operands: "last", unless: "l v t" },
  gzip: {
    operands: "all",
    unless: "-c -l -t --stdout --to-stdout --list --test",
    takes: "-S --suffix",
  },
  gunzip: {
    operands: "all",
    unless: "-c -l -t --stdout --list --test",
    takes: "-S --suffix",
  },
  bzip2: { operands: "all", unless: "-c -t --stdout --test" },
  bunzip2: { operands: "all", unless: "-c -t --stdout --test" },
  xz: {
    operands: "all",
    unless: "-c -l -t --stdout --list --test",
    takes: "-T -S --suffix --threads",
  },
  unxz: { operands: "all", unless: "-c -l -t --stdout --list --test" },
  lzma: { operands: "all", unless: "-c -l -t --stdout" },
  compress: { operands: "all", unless: "-c" },
  uncompress: { operands: "all", unless: "-c" },
  ...each("pigz unpigz pbzip2 lzip lbzip2 pxz zopfli", {
    operands: "all",
    unless: "-c -l -t --stdout --to-stdout --list --test",
    takes: "-p -S -b --processes --suffix",
  }),
  lz4: { operands: "second", unless: "-c -t" },
  ranlib: ALL,
  objcopy: {
    operands: "final",
    takes: "-I -O -B -j -R -N -K -L -G -W --add-section",
  },
  patchelf: {
    operands: "final",
    takes:
      "--set-interpreter --set-rpath --add-needed --remove-needed --replace-needed --set-soname",
    writes: "--output",
  },
  mkisofs: { writes: "-o" },
  genisoimage: { writes: "-o" },
  pax: { operands: "last", takes: "-f -s -b -x -o", writes: "-f" },
  // Transfers
  curl: {
    takes:
      "-A -b -C -d -e -E -F -H -K -m -P -Q -r -t -T -u -U -w -x -X -y -Y -z --data --data-raw --data-binary --data-urlencode --json --header --user --user-agent --cookie --form --request --url --max-time --connect-timeout --retry --retry-delay --retry-max-time --proxy --cacert --cert --key --range --referer --resolve --upload-file --write-out --limit-rate --interface --max-redirs --config --continue-at --ciphers --capath --unix-socket --max-filesize --speed-limit --speed-time --oauth2-bearer --connect-to --noproxy --stderr-fd",
    writes:
      "-o -D -c --output --output-dir --dump-header --cookie-jar --trace --trace-ascii --stderr --libcurl --hsts --alt-svc --etag-save",
  },
  wget: {
    takes:
      "-e -i -t -T -w -Q -U -D -R -A -l -B -X -I --execute --input-file --tries --timeout --wait --quota --user-agent --header --post-data --post-file --user --password --level --domains --accept --reject --base --referer --limit-rate --method --body-data --load-cookies --max-redirect --cut-dirs --waitretry --bind-address --ca-certificate --certificate --exclude-directories --include-directories",
    writes:
      "-O -o -a -P --output-document --output-file --append-output --directory-prefix --save-cookies --warc-file --hsts-file",
  },
  wget2: { writes: "-O -o -a -P --output-document --directory-prefix" },
  aria2c: {
    takes: "-x -s -j -k -i --header",
    writes: "-d -o -l --dir --out --log",
  },
  axel: { takes: "-n -s -H", writes: "-o --output" },
  http: { takes: "-a --auth --session", writes: "-o --output" },
  https: { takes: "-a --auth --session", writes: "-o --output" },
  xh: { takes: "-a --auth", writes: "-o --output" },
  lftp: READS,
  "yt-dlp": { takes: "-f --format", writes: "-o -P --output --paths" },
  "youtube-dl": { takes: "-f", writes: "-o --output" },
  "ssh-keyscan": READS,
  "ssh-copy-id": READS,
  sftp: { operands: "second", takes: "-b -B -c -F -i -J -l -o -P -R -S" },
  tcpdump: {
    takes: "-i -c -s -r -C -G -W -z -Z -B -y -E -T",
    writes: "-w",
  },
  tshark: { takes: "-i -c -f -Y -r -a -b -T -e -d -o", writes: "-w" },
  dumpcap: { takes: "-i -c -f -a -b", writes: "-w" },
  // Keys, images, databases
  openssl: {
    takes:
      "-in -key -CA -CAkey -config -subj -days -newkey -passin -passout -inkey -certfile -name -extfile",
    writes: "-out -keyout -CAserial -writerand -signature-out",
    singleDash: true,
  },
  gpg: {
    takes:
      "-r -u --recipient --local-user --passphrase --homedir-read --batch-file",
    writes: "-o --output --log-file",
  },
  gpg2: { takes: "-r -u --recipient --local-user", writes: "-o --output" },
  age: { takes: "-r -R -i", writes: "-o --output" },
  "age-keygen": { writes: "-o --output" },
  keytool: {
    takes: "-alias -storepass -keypass -dname -validity -keyalg -keysize",
    writes: "-keystore -destkeystore -file",
    unless: "-list -printcert -help",
    singleDash: true,
  },
  mmv: { operands: "final" },
  mksquashfs: { operands: "second", singleDash: true },
  xorriso: {
    takes: "-indev -map -volid -as",
    writes: "-outdev -dev",
    singleDash: true,
  },
  certbot: { writes: "--config-dir --work-dir --logs-dir" },
  htpasswd: { operands: "first", takes: "-C -r", unless: "-n -v" },
  mkcert: { writes: "-cert-file -key-file -p12-file", singleDash: true },
  "qemu-img": {
    subs: {
      create: { takes: "-f -o -b -F", operands: "first" },
      convert: { takes: "-f -O -o", operands: "last" },
      resize: { operands: "first" },
      snapshot: { operands: "all" },
    },
  },
  psql: {
    takes:
      "-c -d -f -F -h -p -P -R -T -U -v --command --dbname --file --host --port --username --set --variable --pset",
    writes: "-o -L --output --log-file",
  },
  mysql: {
    takes: "-u -h -P -D -e --user --host --port --database --execute",
    writes: "--tee",
  },
  "redis-cli": {
    takes: "-h -p -a -n -u -r -i -x",
    writes: "--rdb --functions-rdb",
  },
  pg_dump: { takes: "-h -p -U -d -n -t -F -T -Z", writes: "-f --file" },
  pg_dumpall: { takes: "-h -p -U", writes: "-f --file" },
  pg_basebackup: { takes: "-h -p -U", writes: "-D --pgdata" },
  initdb: { operands: "all", takes: "-U -E -A", writes: "-D --pgdata" },
  mysqldump: { takes: "-h -P -u", writes: "-r --result-file -T --tab" },
  mongodump: { takes: "-h -d -c -u", writes: "-o --out --archive" },
  // Devices and the system
  ...each(
    "mkfs mke2fs mkswap fdisk sfdisk parted wipefs losetup cryptsetup tune2fs fsck",
    { operands: "all" },
  ),
  "mkfs.ext4": ALL,
  "mkfs.xfs": ALL,
  "mkfs.vfat": ALL,
  hdparm: READS,
  code: READS,
}));
