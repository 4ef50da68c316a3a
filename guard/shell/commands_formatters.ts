/**
 * Formatters and fixers of source text. Data only.
 *
 * @module
 */
import { ALL, each, type VerbTable, verbTable } from "./verb_spec.ts";

/** The rows by program. */
export const formatterCommands: VerbTable = verbTable(() => ({
  codesign: {
    operands: "all",
    onlyWith: "-s --sign --remove-signature",
    takes: "--entitlements -i -o --options --timestamp",
  },
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
  pyupgrade: ALL,
  "2to3": {
    operands: "all",
    onlyWith: "-w --write",
    takes: "-f -x",
    writes: "-o --output-dir",
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
    unless: "--check --emit",
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
  rubocop: {
    operands: "all",
    onlyWith: "-a -A --autocorrect --autocorrect-all --auto-correct",
    takes: "-c -f --only --except --format",
    writes: "-o --out",
  },
  standard: { operands: "all", onlyWith: "--fix" },
  "clang-tidy": {
    operands: "all",
    onlyWith: "-fix -fix-errors --fix --fix-errors",
    takes: "-p -checks",
    writes: "-export-fixes --export-fixes",
    singleDash: true,
  },
  sqlfluff: { subs: { fix: ALL, format: ALL } },
  markdownlint: { operands: "all", onlyWith: "--fix -f", writes: "-o" },
  tidy: {
    operands: "all",
    onlyWith: "-m -modify",
    takes: "-config -wrap -f -file",
    writes: "-o -output -f",
    singleDash: true,
  },
  xmlstarlet: {
    subs: {
      ed: {
        operands: "final",
        onlyWith: "-L --inplace",
        takes: "-u -v -d -x -i -a -s -t -n -r -N",
      },
    },
  },
  crudini: { operands: "first", onlyWith: "--set --del --merge" },
  typos: {
    operands: "all",
    onlyWith: "-w --write-changes",
    takes: "--config --exclude",
  },
  dprint: {
    subs: { fmt: { operands: "all", takes: "-c --config", unless: "--diff" } },
  },
  taplo: {
    subs: each("fmt format", {
      operands: "all",
      unless: "--check --diff",
      takes: "-c -o",
    }),
  },
  stylua: {
    operands: "all",
    unless: "-c --check",
    takes: "-f --config-path -g",
  },
  buildifier: {
    singleDash: true,
    operands: "all",
    unless: "-mode --mode",
    takes: "-type",
  },
  nixfmt: { operands: "all", unless: "-c --check" },
  shellharden: { operands: "all", onlyWith: "--replace" },
  beautysh: {
    operands: "all",
    takes: "-i --indent-size",
    unless: "-c --check",
  },
  semgrep: {
    takes: "-c -f --config -e -l --lang --exclude --include",
    writes: "-o --output --json-output --sarif-output",
    operands: "all",
    onlyWith: "--autofix -a",
  },
  csharpier: { operands: "all", unless: "--check" },
}));
