/**
 * Package managers of Python.
 *
 * @module
 */
import { type CallReader, refuses, writes } from "./call.ts";
import { INSTALL, PIP, runs } from "./installs.ts";
import { hasOption, optionValue, readOptions } from "./options.ts";
import { UNKNOWN_STREAM } from "./state.ts";
import { applyGuess } from "./guess.ts";
import { applyTable } from "./verbs.ts";
import { unwrap } from "./unwrap.ts";

/** `pip` and its like. */
export const pip: CallReader = (call) => {
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
  } else applyGuess(call);
  const log = optionValue(read, "--log");
  if (log !== undefined) writes(call, log);
  return UNKNOWN_STREAM;
};

/** `uv` and its like. */
export const uv: CallReader = (call) => {
  const read = readOptions(call.args, {
    takes: "--directory --project --cache-dir --config-file --color",
    stopsAtOperand: true,
  });
  const [sub = "", ...rest] = read.operands;
  const place = optionValue(
    readOptions(call.args, { takes: "--directory --project" }),
    "--directory",
    "--project",
  );
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

/** `poetry` and its like. */
export const poetry: CallReader = (call) => {
  const read = readOptions(call.args, {
    takes: "-C --directory -P --project",
    stopsAtOperand: true,
  });
  const [sub = "", ...rest] = read.operands;
  if (sub === "run") return runs(call, rest);
  const place = optionValue(
    readOptions(call.args, { takes: "-C --directory -P --project" }),
    "-C",
    "--directory",
    "-P",
    "--project",
  );
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
  else applyGuess(call);
  return UNKNOWN_STREAM;
};

/** `conda` and its like. */
export const conda: CallReader = (call) => {
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
      const file = optionValue(
        readOptions(rest, { takes: "-n -p -f --file --name --prefix" }),
        "-f",
        "--file",
      );
      if (rest[0] === "export" && file !== undefined) writes(call, file);
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
  } else if (
    sub === "config" &&
    rest.some((arg) => /^--(?:set|add|append|prepend|remove)/.test(arg))
  ) {
    refuses(call, {
      rule: "system",
      label: "conda config changes the account's configuration",
    });
  } else applyGuess(call);
  return UNKNOWN_STREAM;
};
