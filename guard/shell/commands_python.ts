/**
 * Test runners, builders and other tools of Python. Data only.
 *
 * @module
 */
import { ALL, each, HERE, type VerbTable, verbTable } from "./verb_spec.ts";

/** The rows by program. */
export const pythonCommands: VerbTable = verbTable(() => ({
  pytest: {
    guess: true,
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
  coverage: {
    subs: {
      run: { here: true, writes: "--data-file", takes: "-m --source --rcfile" },
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
  virtualenv: { operands: "all", takes: "-p --python --prompt" },

  ...each("pdoc pdoc3", { writes: "-o --output-dir --output-directory" }),
  "sphinx-quickstart": { operands: "first", here: true, takes: "-p -a -v -l" },
  "sphinx-apidoc": { writes: "-o --output-dir", takes: "-H -A -V" },
  nbstripout: {
    operands: "all",
    unless: "-t --textconv --dry-run --is-installed --status",
  },
  jupytext: {
    operands: "all",
    takes: "--to --from --opt",
    writes: "-o --output",
    unless: "--test",
    instead: "-o --output",
  },
  ...each("pyinstaller nuitka", {
    takes: "-n --name --add-data --hidden-import --icon -i",
    writes: "--distpath --workpath --specpath --output-dir --output-filename",
    here: true,
    hereUnless: "--version -v --help -h",
  }),
  "pyi-makespec": { writes: "--specpath", here: true },
  cython: { writes: "-o --output-file --output-dir" },
  cythonize: { operands: "all", onlyWith: "-i --inplace -b --build" },
  ...each("shiv pex", {
    takes: "-c -e -r -m -p",
    writes: "-o --output-file --pex-root --cache-dir",
  }),
  maturin: {
    subs: {
      ...each("build sdist develop", {
        takes: "-m -i --target -F",
        writes: "-o --out --target-dir -m --manifest-path",
        here: true,
      }),
      ...each("new init generate-ci", {
        operands: "first",
        takes: "-b --bindings --name",
        writes: "-o --output",
        here: true,
      }),
    },
  },
  hatch: {
    subs: {
      build: { operands: "first", takes: "-t --target", here: true },
      ...each("version fmt", HERE),
    },
  },
  pdm: {
    tree: "-p --project",
    subs: {
      ...each("add remove update install lock init sync fix", {
        here: true,
        takes: "-G -d --group",
      }),
      build: { writes: "-d --dest", here: true },
      export: { writes: "-o --output", takes: "-f -G" },
    },
  },
  "pip-compile": {
    takes: "--extra -c -P",
    writes: "-o --output-file --cache-dir",
    here: true,
    hereUnless: "--dry-run -n",
  },
  ...each(
    "autoflake docformatter pycln unify add-trailing-comma reorder-python-imports",
    {
      operands: "all",
      onlyWith: "-i --in-place",
    },
  ),
  twine: { subs: { check: {} } },
  ...each("scalene py-spy memray pyinstrument viztracer austin", {
    takes: "-p -d -r -f --pid --rate --format",
    writes: "-o --output --outfile --output_file --output-file",
    stopsAtOperand: true,
    subs: {
      ...each("record run flamegraph", {
        takes: "-p -d -r -f --pid --rate --format",
        writes: "-o --output",
        stopsAtOperand: true,
      }),
    },
  }),
  pyreverse: { takes: "-o -p -c", writes: "-d --output-directory" },
  "pip-audit": { takes: "-r -f", writes: "-o --output --cache-dir" },
  bandit: { takes: "-f -c -ll", writes: "-o --output" },
}));
