/**
 * Package managers: installs that write outside, and the installs that are denied wherever
 * they would write.
 *
 * @module
 */
import { type Call, type CallReader, refuses, writes } from "./call.ts";
import { hasOption, optionValue, readOptions } from "./options.ts";
import { readVariable } from "./parameters.ts";
import { type Stream, UNKNOWN_STREAM } from "./state.ts";
import { applyGuess, applyTable } from "./verbs.ts";
import { unwrap } from "./wrappers.ts";

const INSTALL = { rule: "package", label: "package install/add" } as const;
const PIP = { rule: "package", label: "pip install" } as const;

/** Runs a program that a package manager starts. */
function runs(call: Call, argv: readonly string[]): Stream {
  if (argv.length === 0) return UNKNOWN_STREAM;
  return call.context.nested(() =>
    call.context.run.argv(argv, call.state.fork(), call.stdin)
  );
}

const NODE_TAKES =
  "-C --dir --cwd --prefix -w --workspace --filter -F --registry --loglevel --userconfig --cache --tag --access --pack-destination --reporter";

const nodePackages: CallReader = (call) => {
  const read = readOptions(call.args, {
    takes: NODE_TAKES,
    stopsAtOperand: true,
  });
  let [sub = "", ...rest] = read.operands;
  if (call.name === "yarn" && (sub === "workspace" || sub === "workspaces")) {
    const at = rest.findIndex((arg) => /^(?:add|install|run|exec)$/.test(arg));
    if (at !== -1) [sub = "", ...rest] = rest.slice(at);
  }
  const verb = `${call.name} ${sub}`;
  if (
    /^(?:install|add|ci|i|in|ins|inst|isntall|install-test|it|cit|clean-install|install-clean|install-ci-test)$/
      .test(sub) || (call.name === "bun" && sub === "a")
  ) {
    if (
      !hasOption(
        readOptions(rest, { takes: NODE_TAKES }),
        "--dry-run",
        "--help",
        "-h",
      )
    ) {
      refuses(call, { ...INSTALL, verb });
    }
    return UNKNOWN_STREAM;
  }
  const all = readOptions([...call.args], { takes: NODE_TAKES });
  const global = hasOption(all, "-g", "--global", "--location=global") ||
    sub === "global";
  if (
    global &&
    /^(?:uninstall|remove|rm|un|r|update|up|upgrade|link|unlink|global)$/.test(
      sub,
    )
  ) {
    if (!/^(?:list|ls|bin|dir)$/.test(rest[0] ?? "")) {
      refuses(call, { ...INSTALL, verb: `${verb} -g` });
    }
    return UNKNOWN_STREAM;
  }
  if (sub === "link" && read.operands.length === 1 && call.name !== "bun") {
    refuses(call, {
      rule: "package",
      label: "package link into the global directory",
      verb,
    });
    return UNKNOWN_STREAM;
  }
  if (sub === "config" || sub === "set" || sub === "c") {
    const action = sub === "set" ? "set" : rest[0];
    if (
      /^(?:set|delete|edit|fix)$/.test(action ?? "") &&
      !/project/.test(optionValue(all, "--location") ?? "")
    ) {
      refuses(call, {
        rule: "system",
        label: `${verb} changes the account's configuration`,
        verb,
      });
    }
    return UNKNOWN_STREAM;
  }
  if (/^(?:login|adduser|logout|completion-install)$/.test(sub)) {
    refuses(call, {
      rule: "system",
      label: `${verb} changes the account's configuration`,
      verb,
    });
  }
  if (sub === "cache" && /^(?:clean|clear|rm|add)$/.test(rest[0] ?? "")) {
    refuses(call, {
      rule: "system",
      label: `${verb} changes the package cache`,
      verb,
    });
  }
  const prefix = optionValue(all, "-C", "--dir", "--cwd", "--prefix");
  if (sub === "pack") {
    const place = optionValue(all, "--pack-destination");
    writes(call, place ?? prefix ?? ".");
  } else if (
    /^(?:init|create|uninstall|remove|rm|un|unlink|update|up|upgrade|version|dedupe|prune|audit|rebuild|shrinkwrap|import|patch|patch-commit|pkg)$/
      .test(sub)
  ) {
    const reads = sub === "audit" && rest[0] !== "fix" ||
      sub === "version" && rest.length === 0 ||
      sub === "pkg" && rest[0] === "get" || hasOption(all, "--dry-run");
    if (!reads) writes({ ...call, name: verb }, prefix ?? ".");
    if (/^(?:init|create)$/.test(sub)) {
      const operands = readOptions(rest, { takes: "--template -t" }).operands;
      const place = operands[1] ?? "";
      if (/^(?:\/|\.\.?(?:\/|$)|~)/.test(place)) {
        writes({ ...call, name: verb }, place);
      }
    }
  } else if (/^(?:exec|dlx|x)$/.test(sub)) {
    const inner = unwrap({
      ...call,
      name: "npx",
      args: rest[0] === "--" ? rest.slice(1) : rest,
    });
    return inner === undefined ? UNKNOWN_STREAM : runs(call, inner.argv);
  } else if (
    call.name !== "npm" &&
    !/^(?:run|test|t|start|build|why|list|ls|info|view|outdated|node|bin|store|licenses|help|)$/
      .test(sub)
  ) {
    // `yarn tsc …` and `pnpm prettier …` run a local program.
    if (/^[a-z][\w-]*$/.test(sub)) return runs(call, [sub, ...rest]);
  }
  if (prefix !== undefined && sub === "run" && rest[0] === "build") {
    writes({ ...call, name: verb }, prefix);
  }
  return UNKNOWN_STREAM;
};

const pip: CallReader = (call) => {
  const read = readOptions(call.args, {
    takes:
      "--python --log --proxy --cache-dir --cert -r -c -t -d -w -e -i -f --requirement --constraint --target --dest --wheel-dir --root --prefix --index-url --extra-index-url --find-links",
  });
  const [sub = ""] = read.operands;
  if (hasOption(read, "--dry-run", "--help", "-h")) return UNKNOWN_STREAM;
  if (sub === "install") {
    refuses(call, { ...PIP, verb: `${call.name} install` });
  } else if (sub === "uninstall") {
    refuses(call, {
      rule: "package",
      label: "pip uninstall",
      verb: `${call.name} uninstall`,
    });
  } else if (sub === "download") {
    writes(call, optionValue(read, "-d", "--dest") ?? ".");
  } else if (sub === "wheel") {
    writes(call, optionValue(read, "-w", "--wheel-dir") ?? ".");
  } else if (
    sub === "config" && /^(?:set|unset|edit)$/.test(read.operands[1] ?? "")
  ) {
    refuses(call, {
      rule: "system",
      label: "pip config changes the account's configuration",
    });
  } else if (
    sub === "cache" && /^(?:purge|remove)$/.test(read.operands[1] ?? "")
  ) {
    refuses(call, {
      rule: "system",
      label: "pip cache changes the package cache",
    });
  }
  const log = optionValue(read, "--log");
  if (log !== undefined) writes(call, log);
  return UNKNOWN_STREAM;
};

const uv: CallReader = (call) => {
  const read = readOptions(call.args, {
    takes: "--directory --project --cache-dir --config-file --color",
    stopsAtOperand: true,
  });
  const [sub = "", ...rest] = read.operands;
  const place = optionValue(read, "--directory", "--project");
  if (sub === "pip") return pip({ ...call, name: "uv pip", args: rest });
  if (
    sub === "tool" && /^(?:install|uninstall|upgrade)$/.test(rest[0] ?? "") ||
    sub === "python" && /^(?:install|uninstall)$/.test(rest[0] ?? "") ||
    sub === "self"
  ) {
    refuses(call, { ...INSTALL, verb: `uv ${sub} ${rest[0] ?? ""}` });
  } else if (sub === "tool" && rest[0] === "run") {
    return runs(call, ["uvx", ...rest.slice(1)]);
  } else if (sub === "run") {
    const inner = unwrap(call);
    return inner === undefined ? UNKNOWN_STREAM : runs(call, inner.argv);
  } else if (/^(?:venv|init)$/.test(sub)) {
    const named =
      readOptions(rest, { takes: "-p --python --prompt --name --seed-from" })
        .operands[0];
    writes({ ...call, name: `uv ${sub}` }, named ?? place ?? ".");
  } else if (/^(?:add|remove|sync|lock|build|export)$/.test(sub)) {
    const output = optionValue(
      readOptions(rest, { takes: "-o --output-file --out-dir" }),
      "-o",
      "--output-file",
      "--out-dir",
    );
    writes({ ...call, name: `uv ${sub}` }, output ?? place ?? ".");
  } else if (sub === "cache" && /^(?:clean|prune)$/.test(rest[0] ?? "")) {
    refuses(call, {
      rule: "system",
      label: "uv cache changes the package cache",
    });
  }
  return UNKNOWN_STREAM;
};

/** Managers whose listed sub-commands change the machine or the account. */
function systemManager(changes: RegExp, takes = ""): CallReader {
  return (call) => {
    const read = readOptions(call.args, { takes });
    if (
      hasOption(
        read,
        "-s",
        "--simulate",
        "--dry-run",
        "--just-print",
        "--help",
        "-h",
        "--version",
      )
    ) {
      return UNKNOWN_STREAM;
    }
    const sub = read.operands[0] ?? "";
    if (changes.test(sub)) {
      refuses(call, { ...INSTALL, verb: `${call.name} ${sub}` });
    } else applyGuess(call);
    return UNKNOWN_STREAM;
  };
}

const dpkg: CallReader = (call) => {
  if (
    call.args.some((arg) =>
      /^(?:-i|-r|-P|--install|--remove|--purge|--configure|--unpack|--set-selections|--add-architecture|--remove-architecture)$/
        .test(arg)
    )
  ) {
    refuses(call, { ...INSTALL, verb: "dpkg" });
  }
  const at = call.args.findIndex((arg) =>
    /^(?:-x|-X|--extract|--vextract|-e|--control)$/.test(arg)
  );
  if (at !== -1) writes(call, call.args[at + 2] ?? ".");
  return UNKNOWN_STREAM;
};

const rpm: CallReader = (call) => {
  if (
    call.args.some((arg) =>
      /^(?:-[ivhFUe]*[iUFe][vh]*|--install|--upgrade|--erase|--freshen|--import)$/
        .test(arg)
    ) && !call.args.some((arg) => /^-q/.test(arg))
  ) {
    refuses(call, { ...INSTALL, verb: "rpm" });
  }
  return UNKNOWN_STREAM;
};

const pacman: CallReader = (call) => {
  if (
    call.args.some((arg) =>
      /^-(?:[SRU])(?![a-z]*[silgp])|^--(?:sync|remove|upgrade)$/.test(arg)
    )
  ) {
    refuses(call, { ...INSTALL, verb: "pacman" });
  }
  return UNKNOWN_STREAM;
};

const cargo: CallReader = (call) => {
  const args = call.args.filter((arg) => !arg.startsWith("+"));
  const read = readOptions(args, {
    takes: "--config --color -Z -C",
    stopsAtOperand: true,
  });
  const [sub = "", ...rest] = read.operands;
  if (sub === "install" || sub === "uninstall" || sub === "binstall") {
    const options = readOptions(rest, {
      takes:
        "--root --path --git --branch --tag --rev --version --registry -F --features --bin --target-dir --profile -j --jobs",
    });
    if (hasOption(options, "--list", "--dry-run")) return UNKNOWN_STREAM;
    const root = optionValue(options, "--root") ??
      readVariable("CARGO_INSTALL_ROOT", call.state, call.context)?.[0];
    if (root === undefined) refuses(call, { ...INSTALL, verb: `cargo ${sub}` });
    else writes({ ...call, name: `cargo ${sub}` }, root);
    return UNKNOWN_STREAM;
  }
  const target = readVariable("CARGO_TARGET_DIR", call.state, call.context)
    ?.[0];
  if (
    target !== undefined &&
    /^(?:b|build|t|test|r|run|check|c|clippy|bench|doc|rustc)$/.test(sub)
  ) {
    writes({ ...call, name: `cargo ${sub}` }, target);
  }
  if (sub === "login" || sub === "logout") {
    refuses(call, {
      rule: "system",
      label: `cargo ${sub} changes stored credentials`,
    });
  }
  applyTable({ ...call, args });
  return UNKNOWN_STREAM;
};

const go: CallReader = (call) => {
  const read = readOptions(call.args, {
    takes: "-C",
    stopsAtOperand: true,
    singleDash: true,
  });
  const [sub = "", ...rest] = read.operands;
  if (sub === "install") {
    const bin = readVariable("GOBIN", call.state, call.context)?.[0];
    if (bin !== undefined && bin !== "") {
      writes({ ...call, name: "go install" }, bin);
    } else refuses(call, { ...INSTALL, verb: "go install" });
  } else if (
    sub === "env" && rest.some((arg) => arg === "-w" || arg === "-u")
  ) {
    refuses(call, {
      rule: "system",
      label: "go env -w changes the account's configuration",
    });
  } else if (
    sub === "clean" &&
    rest.some((arg) => /^-(?:modcache|cache|testcache|fuzzcache)$/.test(arg))
  ) {
    refuses(call, {
      rule: "system",
      label: "go clean changes the package cache",
    });
  } else applyTable(call);
  return UNKNOWN_STREAM;
};

const deno: CallReader = (call) => {
  const [sub, ...rest] = call.args;
  const global = rest.some((arg) =>
    arg === "-g" || arg === "--global" || /^-[A-Za-z]*g[A-Za-z]*$/.test(arg)
  );
  if (
    /^(?:install|i|uninstall)$/.test(sub ?? "") && global ||
    sub === "upgrade" || sub === "jupyter"
  ) {
    if (sub === "jupyter" && !rest.includes("--install")) return undefined;
    const root = optionValue(
      readOptions(rest, {
        takes: "--root -n --name -c --config --import-map",
        stopsAtOperand: true,
      }),
      "--root",
    );
    if (root !== undefined) writes({ ...call, name: `deno ${sub}` }, root);
    else refuses(call, { ...INSTALL, verb: `deno ${sub}` });
    return UNKNOWN_STREAM;
  }
  return undefined;
};

const poetry: CallReader = (call) => {
  const read = readOptions(call.args, {
    takes: "-C --directory -P --project",
    stopsAtOperand: true,
  });
  const [sub = "", ...rest] = read.operands;
  if (sub === "run") return runs(call, rest);
  const place = optionValue(read, "-C", "--directory", "-P", "--project");
  if (
    sub === "config" && !rest.includes("--local") && !rest.includes("--list") &&
    rest.filter((arg) => !arg.startsWith("-")).length > 1
  ) {
    refuses(call, {
      rule: "system",
      label: "poetry config changes the account's configuration",
    });
  } else if (sub === "self") refuses(call, { ...INSTALL, verb: "poetry self" });
  else if (/^(?:add|remove|update|lock|init|build|version)$/.test(sub)) {
    writes({ ...call, name: `poetry ${sub}` }, place ?? ".");
  }
  if (sub === "new") applyTable(call);
  return UNKNOWN_STREAM;
};

const gem: CallReader = (call) => {
  const read = readOptions(call.args, {
    takes: "-i --install-dir -n --bindir -v --version -s --source",
  });
  const [sub = ""] = read.operands;
  if (/^(?:install|uninstall|update|cleanup|pristine)$/.test(sub)) {
    const place = optionValue(read, "-i", "--install-dir");
    if (place === undefined) refuses(call, { ...INSTALL, verb: `gem ${sub}` });
    else writes({ ...call, name: `gem ${sub}` }, place);
  } else if (/^(?:fetch|unpack|build)$/.test(sub)) {
    writes({ ...call, name: `gem ${sub}` }, ".");
  }
  return UNKNOWN_STREAM;
};

const bundle: CallReader = (call) => {
  const read = readOptions(call.args, {
    takes: "--path --gemfile --jobs",
    stopsAtOperand: true,
  });
  const [sub = "install", ...rest] = read.operands;
  if (sub === "exec") return runs(call, rest);
  if (sub === "install" || sub === "update") {
    const place = optionValue(
      readOptions(rest, { takes: "--path --gemfile --jobs -j" }),
      "--path",
    ) ??
      readVariable("BUNDLE_PATH", call.state, call.context)?.[0] ??
      (rest.includes("--deployment") ? "vendor/bundle" : undefined);
    if (place === undefined) {
      refuses(call, { ...INSTALL, verb: `bundle ${sub}` });
    } else writes({ ...call, name: `bundle ${sub}` }, place);
  }
  return UNKNOWN_STREAM;
};

const conda: CallReader = (call) => {
  const read = readOptions(call.args, {
    takes: "-n -p --name --prefix -c --channel -f --file --cwd",
    stopsAtOperand: true,
  });
  const [sub = "", ...rest] = read.operands;
  if (sub === "run") {
    const inner = unwrap(call);
    return inner === undefined ? UNKNOWN_STREAM : runs(call, inner.argv);
  }
  if (
    /^(?:install|create|update|upgrade|remove|uninstall|clean|env)$/.test(sub)
  ) {
    if (sub === "env" && !/^(?:create|update|remove)$/.test(rest[0] ?? "")) {
      return UNKNOWN_STREAM;
    }
    const place = optionValue(
      readOptions(rest, {
        takes: "-n -p --name --prefix -c --channel -f --file",
      }),
      "-p",
      "--prefix",
    );
    if (place === undefined) {
      refuses(call, { ...INSTALL, verb: `${call.name} ${sub}` });
    } else writes({ ...call, name: `${call.name} ${sub}` }, place);
  }
  return UNKNOWN_STREAM;
};

const dotnet: CallReader = (call) => {
  const read = readOptions(call.args, { takes: "--tool-path -v --version" });
  if (
    read.operands[0] === "tool" &&
    /^(?:install|uninstall|update)$/.test(read.operands[1] ?? "")
  ) {
    const place = optionValue(read, "--tool-path");
    if (place !== undefined) writes(call, place);
    else if (hasOption(read, "-g", "--global")) {
      refuses(call, { ...INSTALL, verb: "dotnet tool install" });
    }
    return UNKNOWN_STREAM;
  }
  applyTable(call);
  return UNKNOWN_STREAM;
};

/** Tools that install or change versions of themselves, by sub-command. */
const TOOL_CHANGES =
  /^(?:install|uninstall|update|upgrade|add|remove|default|use|global|toolchain|component|target|plugin|self|link|unlink|enable|disable|tap|untap|reinstall|cleanup|pin|prepare|bundle)$/;

const tool: CallReader = (call) => {
  const read = readOptions(call.args, { takes: "--toolchain -C --cd" });
  const [sub = "", second = ""] = read.operands;
  if (/^(?:exec|run|x)$/.test(sub)) {
    const inner = unwrap(call);
    return inner === undefined ? UNKNOWN_STREAM : runs(call, inner.argv);
  }
  const lists = /^(?:list|show|ls|search|info|which|current|dir)$/;
  if (
    TOOL_CHANGES.test(sub) && !lists.test(second) &&
    !hasOption(read, "--help", "-h", "--dry-run", "-n")
  ) {
    refuses(call, { ...INSTALL, verb: `${call.name} ${sub}` });
  }
  return UNKNOWN_STREAM;
};

/** Browsers and models that a tool downloads into the account's cache. */
const playwright: CallReader = (call) => {
  if (
    /^(?:install|install-deps|uninstall)$/.test(call.args[0] ?? "") &&
    !call.args.includes("--dry-run")
  ) {
    const place = readVariable(
      "PLAYWRIGHT_BROWSERS_PATH",
      call.state,
      call.context,
    )?.[0];
    if (place !== undefined && place !== "0") writes(call, place);
    else if (place === undefined) {
      refuses(call, { ...INSTALL, verb: "playwright install" });
    }
  } else applyGuess(call);
  return UNKNOWN_STREAM;
};

const APT =
  /^(?:install|remove|purge|autoremove|autopurge|update|upgrade|dist-upgrade|full-upgrade|build-dep|clean|autoclean|reinstall|satisfy|edit-sources|add|del|fix)$/;
const apt = systemManager(APT, "-o -c -t --target-release");
const dnf = systemManager(
  /^(?:install|remove|erase|update|upgrade|downgrade|reinstall|autoremove|clean|makecache|groupinstall|localinstall|swap|distro-sync|module)$/,
  "-c --repo --enablerepo --disablerepo",
);

/** The programs by name. */
export const PACKAGES: Readonly<Record<string, CallReader>> = {
  npm: nodePackages,
  pnpm: nodePackages,
  yarn: nodePackages,
  pip,
  pip3: pip,
  pip2: pip,
  uv,
  pipx: (call) =>
    call.args[0] === "run" ? runs(call, call.args.slice(1)) : tool(call),
  poetry,
  pdm: poetry,
  pipenv: (call) => {
    if (call.args[0] === "run") return runs(call, call.args.slice(1));
    if (
      /^(?:install|sync|update|uninstall|--rm|shell)$/.test(call.args[0] ?? "")
    ) {
      refuses(call, { ...INSTALL, verb: `pipenv ${call.args[0]}` });
    }
    return UNKNOWN_STREAM;
  },
  cargo,
  go,
  gem,
  bundle,
  bundler: bundle,
  conda,
  mamba: conda,
  micromamba: conda,
  dotnet,
  "apt-get": apt,
  apt,
  aptitude: apt,
  "apt-key": apt,
  "add-apt-repository": (call) => {
    refuses(call, { ...INSTALL, verb: call.name });
    return UNKNOWN_STREAM;
  },
  apk: systemManager(
    /^(?:add|del|update|upgrade|fix|cache)$/,
    "-X --repository",
  ),
  yum: dnf,
  dnf,
  microdnf: dnf,
  zypper: systemManager(
    /^(?:install|in|remove|rm|update|up|dup|refresh|ref|addrepo|ar|patch)$/,
  ),
  brew: tool,
  port: systemManager(
    /^(?:install|uninstall|upgrade|selfupdate|sync|activate|deactivate|clean)$/,
  ),
  snap: systemManager(/^(?:install|remove|refresh|enable|disable|revert|set)$/),
  flatpak: systemManager(
    /^(?:install|uninstall|update|remove|override|remote-add|remote-delete)$/,
  ),
  emerge: (call) => {
    if (
      !call.args.some((arg) =>
        /^(?:-s|-S|-p|--search|--pretend|--info)/.test(arg)
      )
    ) {
      refuses(call, { ...INSTALL, verb: "emerge" });
    }
    return UNKNOWN_STREAM;
  },
  "nix-env": (call) => {
    if (
      call.args.some((arg) =>
        /^(?:-i|-e|-u|-iA|--install|--uninstall|--upgrade|--set)/.test(arg)
      )
    ) {
      refuses(call, { ...INSTALL, verb: "nix-env" });
    }
    return UNKNOWN_STREAM;
  },
  pacman,
  yay: pacman,
  paru: pacman,
  dpkg,
  rpm,
  rustup: tool,
  nvm: tool,
  fnm: tool,
  volta: tool,
  pyenv: tool,
  rbenv: tool,
  nodenv: tool,
  asdf: tool,
  mise: tool,
  rtx: tool,
  sdk: tool,
  corepack: tool,
  ghcup: tool,
  juliaup: tool,
  luarocks: tool,
  opam: tool,
  cabal: systemManager(/^(?:install|update)$/),
  stack: systemManager(/^(?:install|upgrade|setup)$/),
  cpan: () => undefined,
  cpanm: (call) => {
    const read = readOptions(call.args, {
      takes: "-l -L --local-lib --local-lib-contained",
    });
    const place = optionValue(
      read,
      "-l",
      "-L",
      "--local-lib",
      "--local-lib-contained",
    );
    if (place !== undefined) writes(call, place);
    else if (read.operands.length > 0) {
      refuses(call, { ...INSTALL, verb: "cpanm" });
    }
    return UNKNOWN_STREAM;
  },
  composer: (call) => {
    const [scope, action = ""] = call.args;
    if (
      scope === "global" && /^(?:require|install|update|remove)$/.test(action)
    ) {
      refuses(call, { ...INSTALL, verb: "composer global" });
    } else applyGuess(call);
    return UNKNOWN_STREAM;
  },
  "easy_install": (call) => {
    refuses(call, { ...PIP, verb: "easy_install" });
    return UNKNOWN_STREAM;
  },
  playwright,
  puppeteer: playwright,
};

/** Deno's and Bun's installs, which their interpreters' reader does not know. */
export const readDenoPackages: CallReader = deno;

/** Bun is a Node package manager too. */
export const readBunPackages: CallReader = nodePackages;
