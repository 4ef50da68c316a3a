/**
 * Programs that make projects, check out other version control, and copy from clouds. Data only.
 *
 * @module
 */
import { ALL, each, HERE, type VerbTable, verbTable } from "./verb_spec.ts";

/** The rows by program. */
export const projectCommands: VerbTable = verbTable(() => ({
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
  flutter: {
    subs: { create: { operands: "final", takes: "--org -t --platforms" } },
  },
  "cargo-generate": { writes: "--destination" },
  cookiecutter: { writes: "-o --output-dir" },
  degit: { operands: "second" },
  ...each("sv nest nuxi expo vue gatsby hexo astro remix", {
    subs: each("create new init", {
      operands: "first",
      takes: "-t -p --template --package-manager",
    }),
  }),
  gio: {
    subs: {
      ...each("trash remove mkdir set save", { operands: "all" }),
      copy: { operands: "last" },
      move: { operands: "all" },
    },
  },
  ng: { takes: "--style", writes: "--directory --output-path" },
  // Cloud tools and forges
  gh: {
    takes: "-R --repo",
    subs: {
      release: { writes: "-D -O --dir --output", takes: "-p -R --pattern" },
      run: { writes: "-D --dir", takes: "-n -R" },
      repo: { subs: { clone: { operands: "second" } } },
      gist: { subs: { clone: { operands: "second" } } },
    },
  },
  glab: {
    takes: "-R --repo",
    subs: {
      repo: { subs: { clone: { operands: "second" } } },
      release: { writes: "-D --dir" },
    },
  },
  "ansible-galaxy": {
    takes: "-s --server -r --role-file",
    writes: "-p --roles-path --collections-path --init-path",
  },
  pulumi: {
    subs: each("up update destroy refresh import config stack new", {
      takes: "-s --stack",
      writes: "-C --cwd --dir",
    }),
  },
  nuget: { writes: "-OutputDirectory -o", singleDash: true },
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
      fmt: {
        operands: "all",
        unless: "-check -diff",
        singleDash: true,
        here: true,
      },
      ...each("init get apply destroy import", HERE),
    },
  },
  helm: {
    takes: "-n --namespace --kube-context",
    subs: {
      package: { writes: "-d --destination", here: true },
      // `--untar` is an option of its own.
      pull: {
        writes: "-d --destination --untardir",
        exact: true,
        here: true,
      },
      create: ALL,
      template: { writes: "--output-dir" },
    },
  },
  tofu: { writes: "-out -state -state-out -chdir", singleDash: true },
}));
