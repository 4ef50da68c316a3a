/**
 * Tools of further languages: what they build, format and test. Data only.
 *
 * @module
 */
import { each, HERE, type VerbTable, verbTable } from "./verb_spec.ts";

/** The rows by program. */
export const languageCommands: VerbTable = verbTable(() => ({
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
