// deno-lint-ignore-file camelcase -- names of programs
/**
 * Which operands and option values each program writes. Data only.
 *
 * @module
 */
import type { EffectMode } from "../effect.ts";
import type { OptionGrammar } from "./options.ts";

/** What one program writes. */
export interface VerbSpec extends OptionGrammar {
  /**
   * Which operands it writes: all; the last of several; the last even when it is the only one;
   * all but the first; only the first; only the second.
   */
  operands?: "all" | "last" | "final" | "rest" | "first" | "second";
  /** How it touches them. */
  mode?: EffectMode;
  /** Operands are written only when one of these options is given. */
  onlyWith?: string;
  /** Nothing is written when one of these options is given. */
  unless?: string;
  /** It writes below the directory it runs in. */
  here?: boolean;
  /** Specs of its sub-commands; options of the spec itself stand before them. */
  subs?: Readonly<Record<string, VerbSpec>>;
}

const ALL: VerbSpec = { operands: "all" };
const HERE: VerbSpec = { here: true };
const READS: VerbSpec = {};
const BUILD_DIR = "-C --directory";

/** Programs that only read, so that no guess about their options is made. */
const READERS =
  "cat tac head tail more wc nl od hexdump strings file stat ls dir vdir tree du df lsof ps pgrep pstree " +
  "top htop free uptime uname arch nproc lscpu id whoami who w groups hostname date cal locale tty " +
  "echo printf true false yes seq factor expr bc dc test [ basename dirname realpath readlink pwd which " +
  "whereis type man info help apropos whatis grep egrep fgrep zgrep rg ag ack cut tr fold fmt " +
  "pr column paste join comm cmp diff diff3 sdiff colordiff md5sum sha1sum sha224sum sha256sum " +
  "sha384sum sha512sum b2sum cksum sum base32 basenc rev expand unexpand tsort numfmt jq xq gron " +
  "zcat bzcat xzcat zstdcat zless zmore ldd nm objdump readelf size addr2line c++filt env printenv " +
  "dig nslookup host ping traceroute netstat ss ip ifconfig nc ncat telnet kill pkill killall sleep " +
  "wait jobs fg bg clear reset tput stty dmesg journalctl getent getconf ulimit psql mysql mongosh redis-cli " +
  "tokei cloc scc shellcheck hadolint yamllint jsonlint pylint flake8 mypy pyright tflint actionlint " +
  "ssh mosh lsblk blkid findmnt vmstat iostat sar acpi sensors fc-list codesign spctl otool lipo " +
  "look spell aspell units ag bat batcat delta difft fzf tldr nvidia-smi";

/** The table. A program that is not in it is judged by its options alone, see `verbs.ts`. */
export const COMMANDS: Readonly<Record<string, VerbSpec>> = {
  ...Object.fromEntries(READERS.split(" ").map((name) => [name, READS])),
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
  csplit: { takes: "-b -n --suffix-format --digits", writes: "-f --prefix" },
  sort: {
    takes:
      "-k -t -S -T --key --field-separator --buffer-size --temporary-directory --parallel",
    writes: "-o --output",
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
  lz4: { operands: "second", unless: "-c -t" },
  ar: { operands: "second" },
  ranlib: ALL,
  strip: { operands: "all", writes: "-o" },
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
  zstd: {
    operands: "all",
    unless: "-c -l -t --stdout --list --test",
    takes: "-T -D -M",
    writes: "-o --output-dir-flat",
  },
  unzstd: { operands: "all", unless: "-c -l -t --stdout", writes: "-o" },
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
  // Compilers, linkers and code generators
  ...each("gcc g++ cc c++ clang clang++ tcc", {
    takes:
      "-I -L -D -U -include -isystem -x -T -Xlinker -Xclang -arch -target -framework -l",
    writes: "-o -MF -dumpdir",
    singleDash: true,
  }),
  ld: { takes: "-T -L -l -rpath -soname", writes: "-o -Map", singleDash: true },
  as: { takes: "-I", writes: "-o" },
  rustc: {
    takes:
      "-L -l -C -A -W -D -F --crate-name --crate-type --edition --emit --target --cfg --extern",
    writes: "-o --out-dir",
  },
  javac: {
    takes: "-cp -classpath -source -target --release -sourcepath --module-path",
    writes: "-d -s -h",
    singleDash: true,
  },
  jar: READS,
  kotlinc: { takes: "-cp", writes: "-d", singleDash: true },
  scalac: { takes: "-cp", writes: "-d", singleDash: true },
  ghc: { writes: "-o -outputdir -odir -hidir", singleDash: true },
  nasm: { takes: "-f -I", writes: "-o -l" },
  protoc: { takes: "-I --proto_path", writes: "-o --descriptor_set_out" },
  flex: { writes: "-o" },
  bison: { writes: "-o -d" },
  swig: { writes: "-o -outdir -oh", singleDash: true },
  tsc: {
    takes: "-t -m --target --module --lib --jsx",
    writes:
      " --outDir --outFile --declarationDir --tsBuildInfoFile --generateTrace --generateCpuProfile",
  },
  esbuild: { writes: "--outfile --outdir --metafile" },
  swc: { takes: "--config-file", writes: "-o -d --out-file --out-dir" },
  babel: {
    takes: "--presets --plugins --config-file --extensions",
    writes: "-o -d --out-file --out-dir",
  },
  rollup: {
    takes: "-c -f -i --config --format --input --plugin",
    writes: "-o -d --file --dir",
  },
  webpack: { takes: "-c --config --mode --env", writes: "-o --output-path" },
  vite: { writes: "--outDir" },
  sass: { operands: "second" },
  lessc: { operands: "second" },
  terser: { takes: "-c -m", writes: "-o --output" },
  uglifyjs: { writes: "-o --output" },
  // Documents, pictures, sound
  pandoc: {
    takes:
      "-f -t -r -w -V -M -H -B -A -c --from --to --template --metadata --variable --filter --css",
    writes: "-o --output --extract-media --log",
  },
  dot: { takes: "-T -K -G -N -E", writes: "-o" },
  neato: { takes: "-T -K", writes: "-o" },
  plantuml: { writes: "-o" },
  mmdc: { takes: "-i -t -c", writes: "-o" },
  ffmpeg: {
    operands: "final",
    takes:
      "-i -f -c -vf -af -ss -t -to -r -s -b -codec -vcodec -acodec -map -loglevel -v -crf -preset -filter_complex -frames:v -c:v -c:a -b:v -b:a -pix_fmt -vframes -q:v -ar -ac",
    singleDash: true,
  },
  convert: { operands: "last", singleDash: true },
  magick: { operands: "last", singleDash: true },
  mogrify: {
    operands: "all",
    takes: "-resize -format -quality -crop -rotate",
    writes: "-path",
    singleDash: true,
  },
  sox: { operands: "last", takes: "-r -b -c -e -t" },
  inkscape: {
    takes: "-w -h -d",
    writes: "-o --export-filename --export-png --export-pdf",
  },
  wkhtmltopdf: { operands: "last" },
  wkhtmltoimage: { operands: "last" },
  pdftotext: {
    operands: "second",
    takes: "-f -l -r -x -y -W -H -enc",
    singleDash: true,
  },
  pdftoppm: {
    operands: "second",
    takes: "-f -l -r -x -y -W -H -scale-to",
    singleDash: true,
  },
  pdfunite: { operands: "last" },
  qpdf: { operands: "last" },
  gs: { takes: "-I", singleDash: true },
  libreoffice: { takes: "--convert-to --infilter", writes: "--outdir" },
  soffice: { takes: "--convert-to --infilter", writes: "--outdir" },
  exiftool: { takes: "-if", writes: "-o", singleDash: true },
  rsvg: READS,
  "rsvg-convert": { takes: "-w -h -f -d -p", writes: "-o --output" },
  scrot: { operands: "all", takes: "-d -q" },
  screencapture: { operands: "all" },
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
    singleDash: true,
  },
  mkcert: { writes: "-cert-file -key-file -p12-file", singleDash: true },
  "qemu-img": {
    subs: {
      create: { takes: "-f -o -b -F", operands: "first" },
      convert: { takes: "-f -O -o", operands: "last" },
      resize: { operands: "first" },
      snapshot: { operands: "all" },
    },
  },
  pg_dump: { takes: "-h -p -U -d -n -t -F -T -Z", writes: "-f --file" },
  pg_dumpall: { takes: "-h -p -U", writes: "-f --file" },
  pg_basebackup: { takes: "-h -p -U", writes: "-D --pgdata" },
  initdb: { operands: "all", takes: "-U -E -A", writes: "-D --pgdata" },
  mysqldump: { takes: "-h -P -u", writes: "-r --result-file -T --tab" },
  mongodump: { takes: "-h -d -c -u", writes: "-o --out --archive" },
  // In-place formatters and fixers
  prettier: {
    operands: "all",
    onlyWith: "-w --write",
    takes: "--config --parser --ignore-path --plugin --tab-width --print-width",
  },
  eslint: {
    operands: "all",
    onlyWith: "--fix",
    takes:
      "-c -f --config --ext --format --rule --parser --ignore-path --max-warnings",
    writes: "-o --output-file --cache-location",
  },
  stylelint: {
    operands: "all",
    onlyWith: "--fix",
    takes: "--config",
    writes: "-o --output-file",
  },
  biome: {
    subs: {
      format: { operands: "all", onlyWith: "--write" },
      check: { operands: "all", onlyWith: "--write --apply" },
      lint: { operands: "all", onlyWith: "--write" },
    },
  },
  black: {
    operands: "all",
    unless: "--check --diff",
    takes:
      "-l -t -c --line-length --target-version --config --exclude --include",
  },
  isort: {
    operands: "all",
    unless: "--check --check-only -c --diff",
    takes: "-l --profile --settings-path",
  },
  autopep8: { operands: "all", onlyWith: "-i --in-place" },
  yapf: { operands: "all", onlyWith: "-i --in-place" },
  ruff: {
    subs: {
      format: {
        operands: "all",
        unless: "--check --diff",
        takes: "--config --line-length",
      },
      check: {
        operands: "all",
        onlyWith: "--fix --fix-only",
        takes: "--config --select --ignore --output-format",
        writes: "-o --output-file",
      },
    },
  },
  gofmt: { operands: "all", onlyWith: "-w", takes: "-r" },
  goimports: { operands: "all", onlyWith: "-w", takes: "-local" },
  rustfmt: {
    operands: "all",
    unless: "--check",
    takes: "--edition --config --config-path",
  },
  "clang-format": {
    operands: "all",
    onlyWith: "-i",
    takes: "--style --assume-filename",
  },
  shfmt: { operands: "all", onlyWith: "-w --write", takes: "-i -ln" },
  yq: {
    operands: "rest",
    onlyWith: "-i --inplace",
    takes: "-o -p --output-format --input-format",
  },
  dasel: { takes: "-f -r -w -v -t", writes: "-o" },
  nbstripout: ALL,
  // Builds
  ...each("make gmake bmake", {
    takes: "-f -j -I -o -W -l --file --makefile --jobs --include-dir --eval",
    writes: BUILD_DIR,
    here: true,
    unless: "-n -q -p -v -h --dry-run --just-print --question --version --help",
  }),
  ninja: {
    takes: "-f -j -k -l -d -t",
    writes: "-C",
    here: true,
    unless: "-n --version -t",
  },
  scons: { takes: "-f -j", writes: BUILD_DIR, here: true },
  waf: HERE,
  meson: {
    subs: {
      setup: {
        operands: "first",
        takes: "-D --prefix --buildtype --native-file --cross-file",
      },
      compile: { writes: "-C", here: true },
      configure: { operands: "first" },
      test: { writes: "-C" },
      install: READS,
      init: HERE,
    },
  },
  bazel: READS,
  gradle: {
    takes: "-b -c -g -x -P -D --console",
    writes: "-p --project-dir --build-cache-dir",
    here: true,
    unless: "-m --dry-run tasks help -v --version",
  },
  gradlew: {
    takes: "-b -c -x -P -D --console",
    writes: "-p --project-dir",
    here: true,
  },
  cargo: {
    takes: "--config --color -Z",
    writes: BUILD_DIR,
    subs: {
      ...each(
        "build b check c test t run r bench doc clippy rustc package fix",
        {
          takes:
            "-p -F -j --package --features --bin --example --test --bench --profile --target --message-format --color --config --jobs",
          writes: "--target-dir --manifest-path --out-dir --artifact-dir",
          here: true,
        },
      ),
      ...each("new init", {
        operands: "all",
        takes: "--name --edition --vcs --registry --color",
      }),
      ...each("add remove rm update generate-lockfile", {
        writes: "--manifest-path",
        here: true,
      }),
      clean: { writes: "--target-dir --manifest-path", here: true },
      fmt: { writes: "--manifest-path", here: true, unless: "--check" },
      vendor: { operands: "all" },
    },
  },
  go: {
    writes: "-C",
    subs: {
      build: {
        takes: "-p -mod -tags -ldflags -gcflags -asmflags -buildmode -toolexec",
        writes: "-o",
        singleDash: true,
      },
      test: {
        takes: "-run -bench -count -timeout -tags -p -parallel -mod",
        writes:
          "-o -coverprofile -cpuprofile -memprofile -blockprofile -mutexprofile -trace -outputdir",
        singleDash: true,
      },
      mod: HERE,
      get: HERE,
      fmt: { operands: "all" },
      generate: HERE,
      vet: READS,
      work: HERE,
      run: READS,
      doc: READS,
      list: READS,
      version: READS,
    },
  },
  deno: {
    subs: {
      fmt: {
        operands: "all",
        unless: "--check",
        takes: "-c --config --ext --ignore",
      },
      lint: {
        operands: "all",
        onlyWith: "--fix",
        takes: "-c --config --rules-include",
      },
      compile: {
        takes: "-c --config --target --icon --include",
        writes: "-o --output",
        stopsAtOperand: true,
      },
      bundle: { writes: "-o --output --outdir", operands: "second" },
      coverage: { writes: "--output" },
      doc: { writes: "--output" },
      init: { operands: "all" },
      test: {
        takes: "-c --config --filter",
        writes: "--coverage --junit-path",
      },
      vendor: { writes: "--output" },
      completions: READS,
      check: READS,
      info: READS,
      add: HERE,
      remove: HERE,
      outdated: READS,
      types: READS,
    },
  },
  cmake: {
    takes: "-D -U -G -T -A -C -S -H --target --config --parallel -j --preset",
    writes: "-B --build",
    unless: "-E --version --help",
  },
  ctest: { takes: "-R -E -L -C -j", writes: "--test-dir -O --output-log" },
  mvn: {
    takes: "-P -D -pl -s -gs -T",
    writes: "-f --file -l --log-file",
    singleDash: true,
  },
  mvnw: { takes: "-P -D -pl", writes: "-f --file", singleDash: true },
  dotnet: {
    subs: {
      ...each("build publish pack test", {
        takes:
          "-c -f -r -v --configuration --framework --runtime --filter --logger",
        writes: "-o --output --results-directory",
      }),
      new: { takes: "-n --name -lang", writes: "-o --output" },
      clean: { writes: "-o --output" },
    },
  },
  pytest: {
    takes:
      "-k -m -p -c -n -o -W --ignore --deselect --maxfail --tb --cov --cov-config --durations --color --confcutdir",
    writes:
      "--basetemp --junitxml --junit-xml --html --result-log --log-file --report-log",
  },
  jest: {
    takes: "-t -c --config --testPathPattern --maxWorkers",
    writes: "--coverageDirectory --outputFile --cacheDirectory",
  },
  vitest: {
    takes: "-t -c --config --reporter",
    writes: "--outputFile --coverage.reportsDirectory",
  },
  coverage: {
    subs: {
      run: READS,
      html: { writes: "-d --directory" },
      xml: { writes: "-o" },
      json: { writes: "-o" },
      lcov: { writes: "-o" },
    },
  },
  tox: { takes: "-e -c", writes: "--workdir --result-json" },
  "sphinx-build": {
    operands: "second",
    takes: "-b -c -D -A -j",
    writes: "-d -w",
  },
  mkdocs: {
    subs: {
      build: { takes: "-f --config-file -t", writes: "-d --site-dir" },
      new: ALL,
    },
  },
  hugo: {
    takes: "-b -c -e --baseURL --environment",
    writes: "-d -s --destination --source",
    subs: { new: { operands: "rest" } },
  },
  jekyll: {
    subs: {
      build: { takes: "--config", writes: "-d --destination" },
      new: ALL,
    },
  },
  jupyter: { takes: "--to", writes: "--output-dir" },
  doxygen: { operands: "all", onlyWith: "-g -u -w" },
  virtualenv: { operands: "all", takes: "-p --python --prompt" },
  // Version control beside git, cloud tools that copy to local files
  hg: {
    subs: {
      clone: { operands: "second", takes: "-b -r -u" },
      archive: { operands: "all", takes: "-r -t -p" },
      init: ALL,
    },
  },
  svn: {
    takes: "-r --username --password",
    subs: {
      ...each("checkout co export", { operands: "second", takes: "-r" }),
      ...each("rm delete del add mkdir revert", {
        operands: "all",
        takes: "-m",
      }),
      ...each("update up cleanup", { operands: "all", takes: "-r" }),
    },
  },
  gh: {
    takes: "-R --repo",
    subs: {
      release: { writes: "-D -O --dir --output", takes: "-p -R --pattern" },
      run: { writes: "-D --dir", takes: "-n -R" },
      repo: { subs: { clone: { operands: "second" } } },
      gist: READS,
    },
  },
  kaggle: { writes: "-p --path" },
  "huggingface-cli": {
    takes: "--revision --repo-type --include --exclude",
    writes: "--local-dir --cache-dir",
  },
  hf: {
    takes: "--revision --repo-type --include --exclude",
    writes: "--local-dir --cache-dir",
  },
  terraform: {
    writes: "-out -state -state-out -backup -chdir",
    singleDash: true,
    subs: {
      fmt: { operands: "all", unless: "-check -diff", singleDash: true },
    },
  },
  tofu: { writes: "-out -state -state-out -chdir", singleDash: true },
  // Scaffolding
  rails: { subs: { new: { operands: "first", takes: "-d" } } },
  "django-admin": {
    subs: {
      startproject: { operands: "second" },
      startapp: { operands: "second" },
    },
  },
  poetry: {
    takes: "-C --directory",
    subs: {
      new: { operands: "all", takes: "--name" },
      build: { writes: "-o --output" },
      export: { writes: "-o --output" },
    },
  },
  mix: { subs: { new: { operands: "first" } } },
  flutter: {
    subs: { create: { operands: "final", takes: "--org -t --platforms" } },
  },
  "cargo-generate": { writes: "--destination" },
  cookiecutter: { writes: "-o --output-dir" },
  degit: { operands: "second" },
  ng: { takes: "--style", writes: "--directory --output-path" },
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
};

function each(names: string, spec: VerbSpec): Record<string, VerbSpec> {
  return Object.fromEntries(names.split(" ").map((name) => [name, spec]));
}

/** Long options that name an output in programs the table does not know. */
export const OUTPUT_OPTION =
  /^--(?:out(?:put)?(?:[-_]?(?:file|dir|directory|path|document|folder|filename))?|(?:dest|destination|target)(?:[-_]?(?:dir|directory|path))?|.*[-_]out|log[-_]?file|logfile|report[-_]?file|save[-_]?(?:to|dir|path)|export[-_]?(?:to|file|dir|path)|write[-_]?to|build[-_]?dir|dist[-_]?dir|download[-_]?dir|cache[-_]?(?:dir|location)|junit[-_]?xml|install[-_]?dir)$/i;

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
  "xdg-settings": /^set$/,
  "xdg-mime": /^(?:default|install|uninstall)$/,
};
