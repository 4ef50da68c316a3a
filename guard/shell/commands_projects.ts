/**
 * Programs that make projects, check out other version control, and copy from clouds. Data only.
 *
 * @module
 */
import { ALL, each, HERE, type VerbTable, verbTable } from "./verb_spec.ts";

/** The rows by program. */
export const projectCommands: VerbTable = verbTable(() => ({
  // Clusters and their images
  ...each("singularity apptainer", {
    subs: {
      ...each("build", { operands: "first" }),
      pull: { operands: "first", writes: "--dir" },
      ...each("exec run shell", {
        writes: "-W --workdir",
        stopsAtOperand: true,
        named: "-B --bind",
        takes: "-B --bind -H --home",
      }),
    },
  }),
  ...each("lxc incus", {
    subs: {
      file: { subs: { pull: { operands: "last" } } },
      export: { operands: "second" },
      image: { subs: { export: { operands: "second" } } },
    },
  }),
  multipass: { subs: { transfer: { operands: "last" } } },
  kustomize: {
    subs: { build: { writes: "-o --output" }, ...each("edit create", HERE) },
  },
  terragrunt: {
    cwd: "--terragrunt-working-dir --working-dir",
    writes: "--terragrunt-download-dir --download-dir",
    subs: each("run-all apply init destroy", HERE),
  },
  sam: {
    takes: "-t",
    subs: {
      build: { writes: "-b --build-dir -s --cache-dir", here: true },
      package: { writes: "--output-template-file" },
      init: { writes: "-o --output-dir", here: true },
    },
  },
  ...each("serverless sls", {
    subs: {
      package: { writes: "-p --package", here: true },
      create: { writes: "-p --path", here: true, takes: "-t -n" },
    },
  }),
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
      ci: { subs: { artifact: { writes: "-p --path" } } },
    },
  },
  istioctl: { writes: "--dir -o --output", takes: "-f -n" },
  sonobuoy: { subs: { retrieve: { operands: "first", takes: "-n -f" } } },
  driftctl: { subs: { scan: { writes: "-o --output", named: "-o --output" } } },
  "ansible-galaxy": {
    takes: "-s --server -r --role-file",
    writes: "-p --roles-path --collections-path --init-path --output-path",
    subs: {
      ...each("init", {
        operands: "first",
        takes: "--type",
        writes: "--init-path",
      }),
      role: {
        subs: {
          init: { operands: "first", takes: "--type", writes: "--init-path" },
          install: { writes: "-p --roles-path", takes: "-r" },
        },
      },
      collection: {
        subs: {
          init: { writes: "--init-path" },
          build: { writes: "--output-path" },
          ...each("install download", {
            writes: "-p --collections-path --download-path",
            takes: "-r -s",
          }),
        },
      },
    },
  },
  pulumi: {
    cwd: "-C --cwd",
    subs: {
      ...each("up update destroy refresh import config new", {
        takes: "-s --stack",
        writes: "--dir",
        here: true,
      }),
      stack: {
        subs: { export: { writes: "--file" }, ...each("init rm select", HERE) },
      },
    },
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
  ...each("terraform tofu", {
    cwd: "-chdir",
    singleDash: true,
    subs: {
      fmt: {
        operands: "all",
        unless: "-check -diff",
        singleDash: true,
        here: true,
      },
      ...each("init get apply destroy import refresh taint untaint", {
        takes: "-var -var-file -target -backend-config -input -lock",
        writes: "-state -state-out -backup",
        singleDash: true,
        here: true,
      }),
      plan: {
        takes: "-var -var-file -target -state",
        writes: "-out -generate-config-out",
        singleDash: true,
      },
      providers: {
        subs: {
          mirror: { operands: "first", takes: "-platform", singleDash: true },
          lock: HERE,
        },
      },
      state: {
        subs: {
          ...each("mv rm push replace-provider", {
            writes: "-state -state-out -backup",
            here: true,
            singleDash: true,
          }),
          ...each("list show pull", {}),
        },
      },
      workspace: { subs: each("new select delete", HERE) },
    },
  }),
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
      dependency: { subs: each("update build", { operands: "first" }) },
      dep: { subs: each("update build up", { operands: "first" }) },
      template: { writes: "--output-dir" },
    },
  },
}));
