/**
 * Languages' own toolchains: Rust, Go, Maven and Gradle, Ruby, .NET.
 *
 * @module
 */
import { type Call, type CallReader, refuses, writes } from "./call.ts";
import { INSTALL, runs } from "./installs.ts";
import { hasOption, optionValue, readOptions } from "./options.ts";
import { readVariable } from "./parameters.ts";
import { UNKNOWN_STREAM } from "./state.ts";
import { applyGuess } from "./guess.ts";
import { applyTable } from "./verbs.ts";
import { joinPath } from "./places.ts";

export const cargo: CallReader = (call) => {
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
  applyGuess({ ...call, args: rest });
  return UNKNOWN_STREAM;
};

export const go: CallReader = (outer) => {
  // `go build -C dir`: a change of directory, wherever it stands before the operands.
  const [name = "", flag, place] = outer.args;
  const moved = flag === "-C" && place !== undefined;
  const state = moved ? outer.state.fork() : outer.state;
  if (moved) state.cwd = state.cwd.map((cwd) => joinPath(cwd, place));
  const call = moved
    ? { ...outer, state, args: [name, ...outer.args.slice(3)] }
    : outer;
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

/** Maven's and Gradle's goals that copy what was built into the account's repository. */
export const publishes = (goals: RegExp): CallReader => (call) => {
  const goal = call.args.find((arg) => goals.test(arg));
  const place = call.args.map((arg) =>
    /^-Dmaven\.repo\.local=(.+)$/.exec(arg)?.[1]
  )
    .find((one) => one !== undefined);
  for (const arg of call.args) {
    const output =
      /^-[DP](?:output\w*|\w*(?:[bB]uild|[sS]taging|[rR]eports?|[tT]arget|[oO]ut(?:put)?)Dir(?:ectory)?|(?:build|dist|output)\.dir|project\.build\.directory|altDeploymentRepository=\w*::file:|java\.io\.tmpdir)=?(.+)$/
        .exec(arg)?.[1];
    if (output !== undefined) writes(call, output);
  }
  if (goal === undefined && place !== undefined) writes(call, place);
  if (goal !== undefined) {
    if (place !== undefined) writes(call, place);
    else {
      refuses(call, {
        rule: "package",
        label: "artifact install into the account's repository",
        verb: `${call.name} ${goal}`,
      });
    }
  }
  applyTable(call);
  return UNKNOWN_STREAM;
};

export const gem: CallReader = (call) => {
  const read = readOptions(call.args, {
    takes: "-i --install-dir -n --bindir -v --version -s --source",
  });
  const [sub = ""] = read.operands;
  if (/^(?:install|uninstall|update|cleanup|pristine)$/.test(sub)) {
    const place = optionValue(read, "-i", "--install-dir");
    if (place === undefined) refuses(call, { ...INSTALL, verb: `gem ${sub}` });
    else writes({ ...call, name: `gem ${sub}` }, place);
  } else if (/^(?:fetch|unpack|build)$/.test(sub)) {
    const place = optionValue(
      readOptions(call.args, { takes: "-o --output --target -C" }),
      "-o",
      "--output",
      "--target",
      "-C",
    );
    writes({ ...call, name: `gem ${sub}` }, place ?? ".");
  }
  return UNKNOWN_STREAM;
};

export const bundle: CallReader = (call) => {
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
  } else if (/^(?:package|pack|cache|gem|init)$/.test(sub)) {
    const options = readOptions(rest, {
      takes: "--path --cache-path --gemspec",
    });
    const place = sub === "gem"
      ? options.operands[0]
      : optionValue(options, "--path", "--cache-path");
    writes({ ...call, name: `bundle ${sub}` }, place ?? ".");
  }
  return UNKNOWN_STREAM;
};

/** `-p:OutputPath=x`, `/p:OutDir=x`, `-bl:x`, `-flp:logfile=x` of MSBuild. */
function buildProperties(call: Call): void {
  for (const arg of call.args) {
    const path =
      /^(?:--?|\/)(?:p|property)[:=](?:\w*(?:Path|Dir|Directory|Output|Location))=(.+)$/i
        .exec(arg)?.[1] ??
        /^(?:--?|\/)(?:bl|binaryLogger)[:=](?:LogFile=)?([^;]+)/i.exec(arg)
          ?.[1] ??
        /(?:^|;)LogFileName=([^;]+)/i.exec(arg)?.[1] ??
        /^--diag[:=]([^;]+)/i.exec(arg)?.[1] ??
        /^(?:--?|\/)(?:flp\d?|fileLoggerParameters)[:=].*?logfile=([^;]+)/i
          .exec(arg)?.[1];
    if (path !== undefined) writes(call, path.replaceAll("\\", "/"));
  }
}

export const msbuild: CallReader = (call) => {
  buildProperties(call);
  applyTable(call);
  return UNKNOWN_STREAM;
};

export const dotnet: CallReader = (call) => {
  buildProperties(call);
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
