import { judgesAs } from "../../tests/support/verdicts.ts";

Deno.test("a program named by a pattern is read as the programs it may mean", () => {
  judgesAs({
    deny: [
      "/usr/bin/t[o]uch ../g",
      "/???/???/tou?? ../g",
      "/bin/r? -rf ../g",
      "sudo /bin/tou* ../g",
      "/???/bin/touch ../g",
      "t*uch ../g",
    ],
    allow: [
      "/usr/bin/t[o]uch g",
      "/???/???/ca? ../g",
      "./build/t* ../g",
      "./scripts/*.sh ../g",
      "node_modules/.bin/es* ../g",
      "./dist/app-* --config ../c",
    ],
  });
});

Deno.test("text that the shell expands again: subscripts, prompts, completions", () => {
  judgesAs({
    deny: [
      "let 'a[$(touch ../f)]=1'",
      "[[ 'a[$(touch ../f)]' -eq 0 ]]",
      "[[ x = x && ! ( -v 'a[$(touch ../f)]' ) ]]",
      "test -v 'a[$(touch ../f)]'",
      "[ -v 'a[`touch ../f`]' ]",
      "declare -i x='a[$(touch ../f)]'",
      "x='a[$(touch ../f)]'; (( x ))",
      "x='a[$(touch ../f)]'; [[ x -eq 0 ]]",
      "unset 'a[$(touch ../f)]'",
      "read 'a[$(touch ../f)]' <<< x",
      "x='$(touch ../f)'; echo \"${x@P}\"",
      "compgen -C 'touch ../f' x",
      "compgen -W '$(touch ../f)'",
      "PS1='$(touch ../f)' bash -i",
      "x='a[$(touch ../f)]'; echo $((x + 1))",
      "x='a[$(touch ../f)]'; echo ${y[x]}",
      "printf -v 'a[$(touch ../f)]' x",
    ],
    allow: [
      "let 'a[$(date +%s)]=1'",
      "[[ 'a[$(touch f)]' -eq 0 ]]",
      "[[ 'a[$(touch ../f)]' == b ]]",
      "test -v 'a[0]'",
      "test 'a[$(touch ../f)]' = b",
      "declare -i x=3",
      "x='$(touch ../f)'; echo \"${x@Q}\"",
      "compgen -c | sort",
    ],
  });
});

Deno.test("what a program runs for a tool: git's pagers and settings, debuggers, make", () => {
  judgesAs({
    deny: [
      "git grep -O'touch ../f; true' x",
      "git grep --open-files-in-pager='touch ../f' x",
      "git config alias.z '!touch ../f' && git z",
      "git config core.pager 'tee ../f' && git log",
      "git pack-objects ../f </dev/null",
      "git fetch --upload-pack='touch ../f; x' .",
      "git clone -u 'touch ../f; x' . y",
      "git instaweb --browser='touch ../f'",
      "make SHELL='touch ../f; sh'",
      'gdb -batch -ex \'python open("../f","w")\'',
      "gdb -batch -ex 'call (int)system(\"touch ../f\")'",
      "gdb -batch -ex 'pipe info files | tee ../f'",
      "gdb a <<< 'shell touch ../f'",
      "make --eval='all:;touch ../f' all",
      "make -f /dev/stdin <<'E'\nall:\n\ttouch ../f\nE",
      "make -f - <<'E'\nall:\n\ttouch ../f\nE",
      "make -f - all <<'E'\nX := $(shell touch ../f)\nall:\n\techo\nE",
      "printf 'all:\\n\\ttouch ../f\\n' > makefile; make",
      "MAKEFLAGS=--eval='all:;touch ../f' make",
      "make 'X=$(shell touch ../f)'",
    ],
    allow: [
      "git grep -O'less -R' x",
      "git grep -n x",
      "git fetch -u origin main",
      "git clone --upload-pack=/usr/bin/git-upload-pack h:r y",
      "make SHELL=/bin/bash",
      "git config alias.st status && git st",
      "git config alias.p '!git push'",
      "git pack-objects --stdout < list > p.pack",
      "gdb -batch -ex bt ./a.out",
      "make --eval='all:;touch f' all",
      "make -f - <<'E'\nall:\n\ttouch f\nE",
      "make -f build/Makefile test",
    ],
  });
});

Deno.test("outputs beside a program's own: the linker's, the runtime's, the environment's", () => {
  judgesAs({
    deny: [
      "gcc x.c -Wl,-Map,../f",
      "gcc x.c -Wl,-Map=../f",
      "g++ x.cc -Xlinker -Map=../f",
      "clang x.c -ftime-trace=../f",
      "gcc x.c -Wp,-MD,../f",
      "node --cpu-prof --cpu-prof-dir=../f -e 0",
      "node --redirect-warnings ../f x.js",
      "NODE_OPTIONS=--diagnostic-dir=../f node x.js",
      "deno test --coverage=../f",
      "java -Xlog:gc*:file=../f -jar a.jar",
      "java -XX:HeapDumpPath=../f A",
      "HISTFILE=../f bash -i",
      "NODE_V8_COVERAGE=../f node x.js",
      "NODE_V8_COVERAGE=../f npm test",
      "SSLKEYLOGFILE=../f curl https://x",
      "env GCOV_PREFIX=/srv ./a.out",
      "COVERAGE_FILE=../f python3 -m pytest",
      "export PYTHONPYCACHEPREFIX=/srv/c; python3 a.py",
      "GIT_TRACE=/srv/f git status",
      "python3 -X pycache_prefix=/srv/c a.py",
      "bsdtar -x -P -s ',^,../f,' -f t.tar",
      "tar -P -xf t.tar --transform 's,^,../f,'",
      "tar --absolute-names -xf t.tar --xform 's|^|/srv/|'",
      "find . -maxdepth 0 -exec touch {}/../f \\;",
    ],
    allow: [
      "gcc x.c -Wl,-Map,out.map -o a",
      "gcc x.c -Wl,-rpath,/usr/lib -o a",
      "node --cpu-prof --cpu-prof-dir=prof x.js",
      "deno test --coverage=cov",
      "java -Xlog:gc*:stdout -jar a.jar",
      "HISTFILE=../f bash -c 'echo x'",
      "HISTFILE=/dev/null bash -i",
      "NODE_V8_COVERAGE=cov node x.js",
      "COVERAGE_FILE=/srv/f ls",
      "GIT_TRACE=1 git status",
      "tar -xf t.tar --transform 's,^,../f,'",
      "tar -P -xf t.tar --transform 's,^a/,b/,'",
      "find . -maxdepth 1 -exec touch {}/f \\;",
    ],
  });
});

Deno.test("code that takes its target from its arguments", () => {
  judgesAs({
    deny: [
      "perl -e 'open F,\">\",$ARGV[0]' ../f",
      "perl -e 'my $f = shift; unlink $f' ../f",
      "perl -e 'my ($a, $b) = @ARGV; open(F, \">\", $b)' a ../f",
      "perl -e 'unlink @ARGV' a ../f",
      "perl -e 'for my $f (@ARGV) { unlink($f) }' a ../f",
      "perl -e 'unlink for @ARGV' ../f",
      "python3 -c 'import sys; open(sys.argv[1],\"w\")' ../f",
      "python3 -c 'from sys import argv; open(argv[1],\"w\")' ../f",
      "python3 -c 'import sys\nfor f in sys.argv[1:]: open(f,\"w\")' a ../f",
      "ruby -e 'File.delete(*ARGV)' ../f",
      "ruby -e 'ARGV.each { |f| File.delete(f) }' ../f",
      "ruby -e 'File.write(ARGV.shift, \"\")' ../f",
      "node -e 'for (const f of process.argv.slice(1)) fs.unlinkSync(f)' ../f",
      "deno eval 'Deno.removeSync(Deno.args[0])' ../f",
      "lua -e 'io.open(arg[1], \"w\")' ../f",
    ],
    allow: [
      "perl -e 'open F,\">\",$ARGV[0]' f",
      "perl -e 'open F,\"<\",$ARGV[0]; print <F>' ../f",
      "perl -e 'my ($a, $b) = @ARGV; open(F, \">\", $b)' ../a f",
      "perl -ne 'print if /x/' ../f",
      "python3 -c 'import sys\nfor f in sys.argv[1:]: print(open(f).read())' ../f",
      "ruby -e 'ARGV.each { |f| puts File.read(f) }' ../f",
      "node -e 'console.log(process.argv)' ../f",
    ],
  });
});
