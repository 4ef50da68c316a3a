/**
 * Bundlers, test runners and other tools of JavaScript. Data only.
 *
 * @module
 */
import { each, HERE, READS, type VerbTable, verbTable } from "./verb_spec.ts";

/** The rows by program. */
export const javascriptCommands: VerbTable = verbTable(() => ({
  tsc: {
    operands: "all",
    onlyWith: "-b --build",
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
  sass: { operands: "second", pairs: true, takes: "-I -s --load-path --style" },
  lessc: { operands: "second" },
  terser: { takes: "-c -m", writes: "-o --output" },
  uglifyjs: { writes: "-o --output" },
  jest: {
    takes: "-t -c --config --testPathPattern --maxWorkers",
    writes: "--coverageDirectory --outputFile --cacheDirectory",
  },
  vitest: {
    takes: "-t -c --config --reporter",
    writes: "--outputFile --coverage.reportsDirectory",
  },

  postcss: {
    operands: "all",
    onlyWith: "-r --replace",
    takes: "-u --use -c --config --parser --syntax --base --ext",
    writes: "-o -d --output --dir",
  },
  tailwindcss: { takes: "-i -c --input --config", writes: "-o --output" },
  parcel: {
    subs: each("build watch serve", {
      writes: "-d --dist-dir --cache-dir",
      here: true,
    }),
  },
  ...each("tsup microbundle", {
    takes: "--format --target --entry",
    writes: "-d -o --out-dir --output",
    here: true,
  }),
  unbuild: { operands: "first", here: true },
  jsdoc: {
    takes: "-c --configure -t --template -R --readme",
    writes: "-d --destination",
    here: true,
    hereUnless: "-X --explain -v --version -h --help",
  },
  typedoc: {
    takes: "--entryPoints --options --tsconfig",
    writes: "--out --json",
  },
  ...each("documentation esdoc", { writes: "-o --output" }),
  svgo: {
    operands: "all",
    takes: "-s --string -p --precision --config -i --input",
    tree: "-f --folder",
    here: true,
    hereUnless: "-s --string -i --input -h --help -v --version --show-plugins",
    writes: "-o --output",
    instead: "-o --output -s --string",
  },
  mocha: {
    takes:
      "-r -g -R -O --require --grep --reporter --config --reporter-option --reporter-options",
    named: "-O --reporter-option --reporter-options",
  },
  next: {
    subs: {
      build: { operands: "first", here: true },
      export: { writes: "-o --outdir" },
    },
  },
  husky: { operands: "final", here: true },
  ...each("xo semistandard ts-standard", {
    operands: "all",
    onlyWith: "--fix",
  }),
  "replace-in-file": { operands: "rest", unless: "--dry" },
  json: { takes: "-e -c -a", writes: "-f", onlyWith: "-I --in-place" },
  ...each("tiged giget", { operands: "second", takes: "--registry --auth" }),
  madge: {
    takes: "--exclude --ts-config --layout",
    writes: "-i --image --dot-file",
  },
  ...each("depcruise dependency-cruiser", {
    takes: "-T --output-type --config -v --validate -x --exclude",
    writes: "-f --output-to",
  }),
  typeorm: {
    subs: each(
      "migration:create migration:generate entity:create subscriber:create init",
      { operands: "first", takes: "-d -n" },
    ),
  },
  "sequelize-cli": {
    takes: "--name --env",
    writes: "--migrations-path --models-path --seeders-path --config",
  },
  cleancss: { operands: "all", onlyWith: "-b --batch", writes: "-o --output" },
  ...each("gitbook honkit", {
    subs: {
      ...each("build pdf epub mobi", { operands: "second", here: true }),
      init: { operands: "first", here: true },
    },
  }),
  renamer: {
    operands: "all",
    takes: "-f --find -r --replace",
    unless: "-d --dry-run",
  },
  ...each("sort-package-json make-dir-cli touch-cli", {
    operands: "all",
    unless: "--check -c",
  }),
  ...each("npm-check-updates ncu", {
    takes: "-t --target -f --filter",
    writes: "--packageFile --cwd",
    onlyWith: "-u --upgrade",
  }),
  "http-server": READS,
  "electron-builder": {
    takes: "--config",
    writes: "-c.directories.output --config.directories.output",
    singleDash: true,
    here: true,
  },
  ...each("c8 nyc", {
    subs: {
      report: {
        writes: "-o --report-dir --reports-dir --temp-dir --temp-directory",
        takes: "-r --reporter",
      },
    },
    takes: "-r -x -n --reporter --exclude --include --extension",
    writes: "-o --report-dir --reports-dir --temp-dir --temp-directory",
    stopsAtOperand: true,
  }),
  cypress: {
    subs: {
      run: {
        takes:
          "-s -b -r -o --spec --browser --reporter --reporter-options --config",
        named: "-o --reporter-options --config",
      },
    },
  },
  "single-file": { operands: "second", takes: "--browser-executable-path" },
  storybook: { subs: { build: { writes: "-o --output-dir", here: true } } },
  "prettier-eslint": { operands: "all", onlyWith: "--write" },
  marked: { takes: "-i --input -s -c", writes: "-o --output" },
  lerna: { subs: each("init version publish", HERE) },
}));
