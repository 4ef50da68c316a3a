/**
 * Package managers: installs that write outside, and the installs that are denied wherever
 * they would write.
 *
 * @module
 */

import { type Call, type CallReader, refuses, writes } from "./call.ts";
import { INSTALL, PIP, runs } from "./installs.ts";
import { hasOption, optionValue, readOptions } from "./options.ts";
import { nodePackages } from "./packages_node.ts";
import { conda, pip, poetry, uv } from "./packages_python.ts";
import { readVariable } from "./parameters.ts";
import { UNKNOWN_STREAM } from "./state.ts";
import { applyGuess } from "./guess.ts";
import { applyTable } from "./verbs.ts";
import { unwrap } from "./unwrap.ts";
import {
  bundle,
  cargo,
  dotnet,
  gem,
  go,
  msbuild,
  publishes,
} from "./packages_toolchains.ts";

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
    } else if (!applyTable(call)) applyGuess(call);
    return UNKNOWN_STREAM;
  };
}

/** Managers whose changes take more than one word to tell. */
function managerByLine(changes: RegExp): CallReader {
  return (call) => {
    if (changes.test(call.args.join(" ")) && !call.args.includes("--help")) {
      refuses(call, { ...INSTALL, verb: call.name });
    } else if (!applyTable(call)) applyGuess(call);
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

/** Tools that install or change versions of themselves, by sub-command. */
const TOOL_CHANGES =
  /^(?:install|uninstall|update|upgrade|add|remove|default|use|global|toolchain|component|target|plugin|self|link|unlink|enable|disable|tap|untap|reinstall|cleanup|pin|prepare|bundle)$/;

const tool: CallReader = (call) => {
  const read = readOptions(call.args, { takes: "--toolchain -C --cd --tree" });
  const [sub = "", second = ""] = read.operands;
  if (/^(?:exec|run|x)$/.test(sub)) {
    const inner = unwrap(call);
    return inner === undefined ? UNKNOWN_STREAM : runs(call, inner.argv);
  }
  // These change no more than the shell they are called in.
  if (sub === "use" && /^(?:nvm|fnm)$/.test(call.name)) return UNKNOWN_STREAM;
  const lists = /^(?:list|show|ls|search|info|which|current|dir)$/;
  if (
    TOOL_CHANGES.test(sub) && !lists.test(second) &&
    !hasOption(read, "--help", "-h", "--dry-run", "-n")
  ) {
    const tree = optionValue(read, "--tree");
    if (tree !== undefined) writes(call, tree);
    else refuses(call, { ...INSTALL, verb: `${call.name} ${sub}` });
  } else applyGuess(call);
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
  } else if (/^(?:screenshot|pdf)$/.test(call.args[0] ?? "")) {
    const read = readOptions(call.args.slice(1), {
      takes:
        "-b --browser --device --color-scheme --geolocation --lang --timeout --timezone --user-agent --viewport-size --wait-for-selector --wait-for-timeout --load-storage --proxy-server --paper-format",
      writes: "--save-har --save-storage --user-data-dir",
    });
    const file = read.operands[1];
    if (file !== undefined) writes(call, file);
    applyGuess(call);
  } else applyGuess(call);
  return UNKNOWN_STREAM;
};

const APT =
  /^(?:install|remove|purge|autoremove|autopurge|update|upgrade|dist-upgrade|full-upgrade|build-dep|clean|autoclean|reinstall|satisfy|edit-sources|add|del|fix)$/;
const changeApt = systemManager(APT, "-o -c -t --target-release");
const apt: CallReader = (call) =>
  call.args.includes("--print-uris") ? UNKNOWN_STREAM : changeApt(call);
const dnf = systemManager(
  /^(?:install|remove|erase|update|upgrade|downgrade|reinstall|autoremove|clean|makecache|groupinstall|localinstall|swap|distro-sync|module)$/,
  "-c --repo --enablerepo --disablerepo",
);

/** Composer in a project, which `-d` names. */
function composerProject(call: Call): void {
  const read = readOptions(call.args, {
    takes: "-d --working-dir --dir -f --format --file",
  });
  const [sub = ""] = read.operands;
  const place = optionValue(read, "-d", "--working-dir") ?? ".";
  if (sub === "config" && hasOption(read, "-g", "--global")) {
    refuses(call, {
      rule: "system",
      label: "composer config changes the account's configuration",
    });
  } else if (
    /^(?:install|i|update|u|require|r|remove|rm|dump-autoload|dumpautoload|init|config|archive|bump|reinstall|upgrade)$/
      .test(sub) && !hasOption(read, "--dry-run")
  ) {
    writes(
      { ...call, name: `composer ${sub}` },
      sub === "archive" ? optionValue(read, "--dir") ?? place : place,
    );
  } else applyGuess(call);
}

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
  msbuild,
  xbuild: msbuild,
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
  cpan: managerByLine(/^(?!-[lvhOJ])\S/),
  nimble: systemManager(/^(?:install|uninstall)$/),
  spack: systemManager(/^(?:install|uninstall)$/),
  guix: systemManager(/^(?:install|remove|upgrade|pull)$/),
  choco: systemManager(/^(?:install|uninstall|upgrade)$/),
  winget: systemManager(/^(?:install|uninstall|upgrade)$/),
  scoop: systemManager(/^(?:install|uninstall|update)$/),
  flit: systemManager(/^install$/),
  mix: systemManager(
    /^(?:archive\.install|archive\.uninstall|escript\.install|local\.(?:hex|rebar))$/,
  ),
  tfenv: tool,
  jenv: tool,
  nix: (call) => {
    const [sub, action, ...rest] = call.args;
    if (
      sub === "flake" && /^(?:init|new|update|lock|clone)$/.test(action ?? "")
    ) {
      const read = readOptions(rest, {
        takes: "-t --template",
        writes: "--dest",
      });
      for (const path of read.operands) writes(call, path);
      return UNKNOWN_STREAM;
    }
    return managerByLine(/^profile (?:install|add|remove|upgrade)\b/)(call);
  },
  dart: managerByLine(/^pub global (?:de)?activate\b/),
  pub: managerByLine(/^global (?:de)?activate\b/),
  flutter: managerByLine(
    /^(?:upgrade|downgrade|channel \w|precache|pub global (?:de)?activate)\b/,
  ),
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
  mvn: publishes(/^(?:install|install:install-file|dependency:get)$/),
  mvnw: publishes(/^(?:install|install:install-file)$/),
  gradle: publishes(/^(?:\S*:)?publishToMavenLocal$/),
  sbt: publishes(/^(?:\S*\/)?publish(?:Local|M2)$/),
  lein: publishes(/^install$/),
  mill: publishes(/publishLocal$/),
  rye: managerByLine(
    /^(?:install|uninstall|tools (?:install|uninstall)|self (?:update|uninstall)|toolchain (?:fetch|register|remove))\b/,
  ),
  opkg: systemManager(/^(?:install|remove|update|upgrade)$/),
  "xbps-install": managerByLine(/^(?!-\w*n)/),
  vcpkg: systemManager(/^(?:install|remove|upgrade|integrate)$/),
  gradlew: publishes(/^(?:\S*:)?publishToMavenLocal$/),
  composer: (call) => {
    const [scope, action = ""] = call.args;
    if (
      scope === "global" && /^(?:require|install|update|remove)$/.test(action)
    ) {
      refuses(call, { ...INSTALL, verb: "composer global" });
    } else if (scope === "create-project") {
      const read = readOptions(call.args.slice(1), {
        takes: "-s --stability --repository --repository-url -d --working-dir",
      });
      const [project = "", place] = read.operands;
      writes(call, place ?? project.split("/").at(-1) ?? ".");
    } else composerProject(call);
    return UNKNOWN_STREAM;
  },
  "easy_install": (call) => {
    refuses(call, { ...PIP, verb: "easy_install" });
    return UNKNOWN_STREAM;
  },
  playwright,
  puppeteer: playwright,
};
