/**
 * Compilers, build tools, formatters and scaffolding. Data only.
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
  // Compilers, linkers and code generators
  ...each("gcc g++ cc c++ clang clang++ tcc", {
    takes:
      "-I -L -D -U -include -isystem -x -T -Xlinker -Xclang -arch -target -framework -l",
    writes: "-o -MF -dumpdir",
    singleDash: true,
    here: true,
    hereUnless:
      "-E -M -MM -fsyntax-only -v --version --help -dumpversion -dumpmachine -print-search-dirs -print-file-name",
  }),
  ld: { takes: "-T -L -l -rpath -soname", writes: "-o -Map", singleDash: true },
  as: { takes: "-I", writes: "-o" },
  rustc: {
    takes:
      "-L -l -C -A -W -D -F --crate-name --crate-type --edition --emit --target --cfg --extern",
    writes: "-o --out-dir",
    here: true,
    hereUnless: "-V -vV --version --help -h --print --explain",
  },
  javac: {
    takes: "-cp -classpath -source -target --release -sourcepath --module-path",
    writes: "-d -s -h",
    singleDash: true,
    here: true,
    hereUnless: "-version --version -help --help",
  },
  jar: READS,
  kotlinc: { takes: "-cp", writes: "-d", singleDash: true },
  scalac: { takes: "-cp", writes: "-d", singleDash: true },
  ghc: { writes: "-o -outputdir -odir -hidir", singleDash: true },
  nasm: { takes: "-f -I", writes: "-o -l" },
  protoc: {
    takes: "-I --proto_path",
    writes: "-o --descriptor_set_out",
    guess: true,
  },
  flex: { writes: "-o" },
  bison: { writes: "-o -d" },
  swig: { writes: "-o -outdir -oh", singleDash: true },
  tsc: {
    takes: "-t -m --target --module --lib --jsx",
    writes:
      "--outDir --outFile --declarationDir --tsBuildInfoFile --generateTrace --generateCpuProfile -p --project",
    here: true,
    unless:
      "--noEmit --showConfig --listFilesOnly -v --version -h --help --all",
  },
  esbuild: { writes: "--outfile --outdir --metafile" },
  swc: { takes: "--config-file", writes: "-o -d --out-file --out-dir" },
  babel: {
    takes: "--presets --plugins --config-file --extensions",
    writes: "-o -d --out-file --out-dir",
  },
  rollup: {
    takes: "-f -i --format --input --plugin",
    writes: "-o -d --file --dir",
  },
  webpack: { takes: "-c --config --mode --env", writes: "-o --output-path" },
  vite: { writes: "--outDir" },
  sass: { operands: "second" },
  lessc: { operands: "second" },
  terser: { takes: "-c -m", writes: "-o --output" },
  uglifyjs: { writes: "-o --output" },
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
        here: true,
        // With a pattern of several packages nothing is kept.
        hereUnless: "./... all",
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
        here: true,
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
    here: true,
    hereUnless: "-v --version -h --help help:help validate",
  },
  mvnw: {
    takes: "-P -D -pl",
    writes: "-f --file",
    singleDash: true,
    here: true,
    hereUnless: "-v --version -h --help",
  },
  dotnet: {
    subs: {
      ...each("build publish pack test", {
        takes:
          "-c -f -r -v --configuration --framework --runtime --filter --logger",
        writes: "-o --output --results-directory",
        here: true,
      }),
      new: { takes: "-n --name -lang", writes: "-o --output" },
      clean: { writes: "-o --output" },
    },
  },
  pytest: {
    takes:
      "-k -m -p -c -n -o -W --ignore --deselect --maxfail --tb --cov-config --durations --color --confcutdir --override-ini --rootdir --cov-report",
    writes:
      "--basetemp --junitxml --junit-xml --html --result-log --log-file --report-log",
    named: "-o --override-ini --cov-report",
    exact: true,
  },
  mypy: {
    takes: "-p -m -c --config-file --python-version --python-executable",
    writes:
      "--cache-dir --junit-xml --html-report --txt-report --xml-report --linecount-report --any-exprs-report --cobertura-xml-report",
  },
  flake8: { takes: "--config --select --ignore", writes: "--output-file" },
  pylint: { takes: "-d -e -f -j --rcfile", writes: "--output", guess: true },
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
      run: { here: true },
      html: { writes: "-d --directory", here: true },
      xml: { writes: "-o", here: true },
      json: { writes: "-o", here: true },
      lcov: { writes: "-o", here: true },
      erase: HERE,
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
      build: {
        takes: "-f --config-file -t",
        writes: "-d --site-dir",
        here: true,
      },
      new: ALL,
    },
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
  jupyter: {
    writes: "--output-dir",
    subs: {
      nbconvert: {
        takes: "--to --template --ExecutePreprocessor.timeout",
        writes: "--output-dir",
        operands: "all",
        onlyWith: "--inplace",
        here: true,
        hereUnless: "--stdout",
      },
    },
  },
  papermill: { operands: "second", takes: "-p -r -f -y -k --kernel --cwd" },
  doxygen: { operands: "all", onlyWith: "-g -u -w" },
  virtualenv: { operands: "all", takes: "-p --python --prompt" },
}));
