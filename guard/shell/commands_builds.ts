/**
 * Build tools, and checks of what they build. Data only.
 *
 * @module
 */
import {
  ALL,
  BUILD_DIR,
  each,
  HERE,
  READS,
  type VerbTable,
  verbTable,
} from "./verb_spec.ts";

/** The rows by program. */
export const buildCommands: VerbTable = verbTable(() => ({
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
  scons: {
    takes: "-f -j",
    writes: `${BUILD_DIR} --install-sandbox`,
    here: true,
  },
  waf: { takes: "--prefix", writes: "-o --out --destdir", here: true },
  meson: {
    subs: {
      setup: {
        operands: "first",
        takes: "-D --prefix --buildtype --native-file --cross-file",
      },
      compile: { writes: "-C", here: true },
      configure: { operands: "first" },
      ...each("test dist", { writes: "-C" }),
      install: READS,
      init: HERE,
    },
  },
  cmake: {
    takes: "-D -U -G -T -A -C -S -H --target --config --parallel -j --preset",
    writes: "-B --build",
    unless: "-E --version --help",
  },
  ctest: {
    takes: "-R -E -L -C -j",
    writes: "--test-dir -O --output-log --output-junit",
  },
  hugo: {
    takes: "-b -c -e --baseURL --environment",
    writes: "-d -s --destination --source",
    here: true,
    hereUnless: "server serve list version env config help",
    subs: { new: { operands: "rest" } },
  },
  jekyll: {
    subs: {
      build: { takes: "--config", writes: "-d --destination", here: true },
      new: ALL,
    },
  },
  doxygen: { operands: "all", onlyWith: "-g -u -w" },

  ...each("just", {
    takes: "-f --justfile --set",
    writes: "-d --working-directory",
    unless: "-l --list --dry-run -n --summary",
  }),
  ...each("task go-task", {
    takes: "-t --taskfile -C",
    writes: "-d --dir",
    unless: "-l --list -n --dry --summary",
  }),
  ...each("invoke inv fab", { takes: "-c", writes: "-r --search-root" }),
  doit: { writes: "-d --dir", takes: "-f" },
  cpack: {
    takes: "-G -C -D --config",
    writes: "-B",
    here: true,
    hereUnless: "--version --help",
  },
  autoreconf: {
    operands: "all",
    takes: "-I -W",
    here: true,
    hereUnless: "--version --help",
  },
  ...each("autoconf aclocal", {
    takes: "-I",
    writes: "-o --output",
    here: true,
    hereUnless: "--version --help",
  }),
  premake5: { writes: "--to" },
  xmake: {
    writes: "-o -P --project --buildir",
    here: true,
    hereUnless: "--version --help show",
  },
  gn: {
    subs: {
      gen: { operands: "first", takes: "--args" },
      clean: { operands: "first" },
    },
  },
  tup: { subs: { init: { operands: "first", here: true } } },
  conan: {
    subs: {
      ...each("install build create", {
        writes: "-of -if --output-folder --install-folder --build-folder",
        here: true,
        singleDash: true,
      }),
    },
  },
  // Formatters and checks of C
  cppcheck: {
    takes: "-I -D -j --enable --std",
    writes: "--output-file --plist-output --cppcheck-build-dir --dump-dir",
  },
  ...each("uncrustify", {
    operands: "all",
    onlyWith: "--replace --no-backup",
    takes: "-c -f -l",
    writes: "-o --prefix",
  }),
  astyle: { operands: "all", unless: "--dry-run", takes: "--style" },
  indent: { operands: "first", writes: "-o", instead: "-o -st" },
  // Coverage
  gcovr: {
    takes: "-r --root -e -f",
    writes:
      "-o --output --html --html-details --xml --json --cobertura --sonarqube --csv",
  },
  lcov: {
    takes: "-d -b -a -e -r --directory --base-directory",
    writes: "-o --output-file",
  },
  genhtml: {
    takes: "-p -t --prefix --title",
    writes: "-o --output-directory",
    here: true,
    hereUnless: "--version --help",
  },
}));
