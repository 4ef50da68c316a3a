/**
 * Toolchains of Rust, Go, Deno, the JVM and .NET: what they build, format and test. Data only.
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
}));
