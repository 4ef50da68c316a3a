/**
 * Toolchains of languages: what they build, format and test. Data only.
 *
 * @module
 */
import { each, HERE, READS, type VerbTable, verbTable } from "./verb_spec.ts";

/** The rows by program. */
export const toolchainCommands: VerbTable = verbTable(() => ({
  gradle: {
    takes: "-b -c -x -P -D --console",
    tree: "-p --project-dir",
    writes: "-g --gradle-user-home --project-cache-dir --build-cache-dir",
    here: true,
    unless:
      "-m --dry-run tasks help -v --version projects dependencies properties",
  },
  gradlew: {
    takes: "-b -c -x -P -D --console",
    tree: "-p --project-dir",
    writes: "-g --gradle-user-home --project-cache-dir --build-cache-dir",
    here: true,
    unless:
      "-m --dry-run tasks help -v --version projects dependencies properties",
  },
  cargo: {
    takes: "--config --color -Z",
    cwd: "-C",
    subs: {
      ...each(
        "build b check c test t run r bench doc clippy package fix publish llvm-cov tarpaulin nextest",
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
      rustc: {
        writes: "--target-dir --manifest-path -o --out-dir",
        here: true,
      },
      lambda: { writes: "--lambda-dir --target-dir -o --output", here: true },
      criterion: {
        writes: "--criterion-manifest-path --target-dir",
        here: true,
      },
    },
  },
  go: {
    cwd: "-C",
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
      mod: {
        subs: {
          vendor: { writes: "-o", here: true },
          ...each("init tidy edit download", HERE),
        },
      },
      get: HERE,
      fmt: { operands: "all" },
      generate: { operands: "all", here: true },
      vet: READS,
      tool: {
        subs: {
          cover: { takes: "-func -mode", writes: "-o", singleDash: true },
          ...each("compile asm link pprof cgo", {
            writes: "-o -output -outfile",
            singleDash: true,
          }),
        },
      },
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
  mvn: {
    takes: "-P -D -pl -s -gs -T",
    writes: "-l --log-file",
    tree: "-f --file",
    singleDash: true,
    here: true,
    hereUnless:
      "-v --version -h --help help:help help:evaluate validate dependency:tree dependency:list dependency:analyze help:effective-pom help:active-profiles help:describe versions:display-dependency-updates versions:display-plugin-updates",
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
        writes: "-o --output --results-directory --artifacts-path",
        operands: "all",
        here: true,
      }),
      new: { takes: "-n --name -lang", writes: "-o --output" },
      restore: { writes: "--packages", operands: "all", here: true },
      ...each("add remove sln", { operands: "first" }),
      format: { operands: "all", unless: "--verify-no-changes", here: true },
      ef: { writes: "-o --output-dir --output", here: true },
      clean: { writes: "-o --output" },
    },
  },

  gotestsum: {
    takes: "-f --format",
    writes: "--junitfile --jsonfile --jsonfile-timing-events",
    stopsAtOperand: true,
  },
  javah: { takes: "-cp -classpath", writes: "-d -o", singleDash: true },
  jdeps: {
    takes: "-cp -classpath --module-path -m",
    writes: "-dotoutput --dot-output --generate-module-info",
    singleDash: true,
  },
  ...each("async-profiler asprof profiler.sh", {
    takes: "-d -e -i -o",
    writes: "-f",
  }),
  trunk: {
    subs: each("build serve", { writes: "-d --dist", here: true }),
    writes: "-d --dist",
  },
  mdbook: {
    subs: {
      ...each("build clean test", {
        writes: "-d --dest-dir",
        operands: "first",
        here: true,
      }),
      init: { operands: "first", here: true },
    },
  },
  "golangci-lint": {
    subs: {
      run: {
        operands: "all",
        onlyWith: "--fix",
        takes: "-c -E -D --config --out-format",
        writes: "--output-file",
      },
    },
  },
  wire: { subs: { gen: { operands: "all" } } },
  goreleaser: { writes: "--dist -o --output" },
  ko: {
    subs: each("build resolve publish", {
      writes: "--tarball --image-refs --oci-layout-path",
    }),
  },
  templ: {
    subs: each("generate fmt", {
      writes: "-path -f",
      singleDash: true,
      here: true,
    }),
  },
  // Ruby
  ...each("standardrb", {
    operands: "all",
    onlyWith:
      "-a -A -x --auto-correct --autocorrect --autocorrect-all --fix --auto-gen-config",
    takes: "-c -f --config --format --only --except",
    writes: "-o --out --cache-root",
  }),
  rspec: { takes: "-f -t -e -r -I --format --tag", writes: "-o --out" },
  rake: { takes: "-I -r -j", writes: "-C --directory -f --rakefile" },
  rdoc: { writes: "-o --op --output" },
  yard: {
    subs: { ...each("doc", { writes: "-o --output-dir -b --db", here: true }) },
  },
  // PHP
  phpunit: {
    takes: "-c --filter --testsuite --bootstrap",
    writes:
      "--log-junit --log-teamcity --testdox-html --testdox-text --coverage-html --coverage-clover --coverage-php --coverage-text --coverage-xml --coverage-cobertura --cache-directory --cache-result-file",
  },
  phpcbf: { operands: "all", takes: "--standard --extensions --ignore" },
  "php-cs-fixer": {
    subs: {
      fix: {
        operands: "all",
        unless: "--dry-run",
        takes: "--rules --config",
        here: true,
      },
    },
  },
  phpdoc: {
    writes: "-t --target --cache-folder",
    takes: "-d -f",
    subs: { run: { writes: "-t --target", takes: "-d -f", here: true } },
  },
  rector: {
    subs: { process: { operands: "all", unless: "-n --dry-run", here: true } },
  },
  wp: { takes: "--url", writes: "--path" },
  drush: { writes: "--result-file" },
  // Java and its kin
  ...each("ktlint", {
    operands: "all",
    onlyWith: "-F --format",
    takes: "--reporter",
  }),
  ...each("google-java-format palantir-java-format scalafmt", {
    operands: "all",
    onlyWith: "-i -r --replace",
  }),
  ant: {
    takes: "-lib",
    writes: "-f -buildfile -file -l -logfile -logger-file",
    sets: "-Ddist.dir -Dbuild.dir -Ddist -Dbuild -Doutput.dir",
    singleDash: true,
  },
  bazel: {
    writes:
      "--output_base --output_user_root --symlink_prefix --profile --build_event_json_file --build_event_text_file --build_event_binary_file --explain --execution_log_json_file --disk_cache --repository_cache --sandbox_base",
    exact: true,
  },
  bazelisk: {
    writes:
      "--output_base --output_user_root --symlink_prefix --profile --disk_cache",
    exact: true,
  },
  pants: { writes: "--pants-distdir --pants-workdir --print-stacktrace-to" },
  ...each("lein", {
    subs: { new: { operands: "second", writes: "--to-dir" } },
  }),
  mill: { writes: "--home" },
  // .NET
  ...each("msbuild xbuild", {
    takes: "-t -v -m -c -r",
    here: true,
    hereUnless: "-version -help -h",
    singleDash: true,
  }),
  // More languages
  stack: {
    writes: "--local-bin-path --work-dir --stack-root",
    takes: "--resolver",
    subs: { new: { operands: "first" } },
  },
  cabal: {
    writes: "--builddir --installdir --store-dir",
    subs: {
      ...each("build test run bench repl v2-build haddock", {
        writes: "--builddir --haddock-output-dir",
        here: true,
      }),
      init: { writes: "-p --package-dir", here: true },
      sdist: { writes: "-o --output-directory --output-dir", here: true },
      install: { writes: "--installdir" },
    },
  },
  dune: {
    writes: "--build-dir --root",
    subs: {
      ...each("build test runtest clean", {
        writes: "--build-dir --root",
        here: true,
      }),
      install: { writes: "--prefix --destdir --libdir" },
      init: { operands: "final", here: true },
    },
  },
  mix: {
    subs: {
      ...each("new phx.new nerves.new", {
        operands: "first",
        takes: "--app --module",
      }),
      release: { writes: "--path", here: true },
      docs: { writes: "-o --output" },
      format: { operands: "all", unless: "--check-formatted", here: true },
    },
  },
  crystal: {
    subs: {
      build: { writes: "-o", takes: "-D" },
      init: { operands: "final" },
      tool: { subs: { format: { operands: "all", unless: "--check" } } },
      docs: { writes: "-o --output" },
    },
  },
  shards: { subs: each("install update build", HERE) },
  ...each("swift-format swiftlint swiftformat", {
    operands: "all",
    onlyWith: "-i --in-place --fix --autocorrect",
    takes: "--config --configuration",
  }),
  ...each("pod carthage", {
    writes: "--project-directory",
    subs: each("install update init bootstrap", {
      writes: "--project-directory",
      here: true,
    }),
  }),
  dart: {
    subs: {
      create: { operands: "final", takes: "-t --template" },
      compile: { writes: "-o --output" },
      format: {
        operands: "all",
        unless: "--output=none --set-exit-if-changed",
        takes: "-o --output -l --line-length",
      },
      fix: {
        operands: "all",
        onlyWith: "--apply",
        here: true,
        hereUnless: "-n --dry-run",
      },
      doc: { writes: "-o --output", here: true },
      pub: {
        cwd: "-C --directory",
        subs: each("get add remove upgrade downgrade", {
          here: true,
          cwd: "-C --directory",
        }),
      },
    },
  },
  "elm-format": {
    operands: "all",
    writes: "--output",
    unless: "--validate --stdin",
  },
  raco: {
    subs: {
      exe: { writes: "-o" },
      distribute: { operands: "first" },
      make: { operands: "all" },
    },
  },
  spago: {
    writes: "--output",
    subs: each("build init install", { here: true, writes: "--output" }),
  },
}));
