/**
 * Package managers of JavaScript.
 *
 * @module
 */
import { fieldsOf } from "../targets.ts";
import { type Call, type CallReader, refuses, writes } from "./call.ts";
import { INSTALL, runs } from "./installs.ts";
import { hasOption, optionValue, readOptions } from "./options.ts";
import { UNKNOWN_STREAM } from "./state.ts";
import { unwrap } from "./unwrap.ts";

const NODE_TAKES =
  "-C --dir --cwd --prefix -w --workspace --filter -F --registry --loglevel --userconfig --cache --tag --access --pack-destination --reporter";

/** npm, pnpm, yarn and bun. */
export const nodePackages: CallReader = (call) => {
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
    call.name === "yarn" && sub === "" &&
    !call.args.some((arg) => /^(?:-v|-h|--version|--help)$/.test(arg))
  ) {
    refuses(call, { ...INSTALL, verb: "yarn" });
    return UNKNOWN_STREAM;
  }
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
  if (
    /^(?:link|ln)$/.test(sub) &&
    (read.operands.length === 1 || /^[./~]/.test(read.operands[1] ?? ""))
  ) {
    refuses(call, {
      rule: "package",
      label: "package link into the global directory",
      verb,
    });
    return UNKNOWN_STREAM;
  }
  if (sub === "config" || sub === "set" || sub === "c") {
    const action = sub === "set" ? "set" : rest[0];
    const config = readOptions(call.args, {
      takes: `${NODE_TAKES} --location -L`,
    });
    if (
      /^(?:set|delete|edit|fix)$/.test(action ?? "") &&
      !/project/.test(optionValue(config, "--location", "-L") ?? "")
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
  if (
    call.name === "pnpm" &&
    (/^(?:setup|self-update|env)$/.test(sub) ||
      sub === "store" && /^(?:prune|add)$/.test(rest[0] ?? ""))
  ) refuses(call, { ...INSTALL, verb });
  if (sub === "cache" && /^(?:clean|clear|rm|add)$/.test(rest[0] ?? "")) {
    refuses(call, {
      rule: "system",
      label: `${verb} changes the package cache`,
      verb,
    });
  }
  const prefix = optionValue(all, "-C", "--dir", "--cwd", "--prefix");
  if (sub === "pack") {
    const place = optionValue(
      readOptions(call.args, {
        takes: "--pack-destination --filename -o --out -f --destination",
      }),
      "--pack-destination",
      "--filename",
      "--out",
      "-o",
      "-f",
      "--destination",
    );
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
      const place = operands[call.name === "bun" && sub === "init" ? 0 : 1] ??
        "";
      if (/^(?:\/|\.\.?(?:\/|$)|~)/.test(place)) {
        writes({ ...call, name: verb }, place);
      }
    }
  } else if (sub === "deploy" && call.name === "pnpm") {
    const place = readOptions(rest, { takes: NODE_TAKES }).operands[0];
    if (place !== undefined) writes({ ...call, name: verb }, place);
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
  const script = /^run(?:-script)?$/.test(sub)
    ? readOptions(rest, { takes: NODE_TAKES }).operands[0]
    : sub;
  const written = call.context.readFile(
    prefix === undefined ? "package.json" : `${prefix}/package.json`,
    call.state,
  );
  if (written.text !== undefined && script !== undefined) {
    runScripts(call, written.text, script);
  }
  // A build says that it writes its project; a test or a start does not.
  if (call.name === "npm" && script === sub) return UNKNOWN_STREAM;
  if (/^(?:build|compile|bundle|format|codegen)(?::|$)/.test(script ?? "")) {
    writes({ ...call, name: verb }, prefix ?? ".");
  }
  return UNKNOWN_STREAM;
};

/** Follows a script of a `package.json` that the command itself has written. */
function runScripts(call: Call, text: string, script: string): void {
  let scripts: Map<string, unknown>;
  try {
    scripts = fieldsOf(fieldsOf(JSON.parse(text)).get("scripts"));
  } catch {
    return;
  }
  for (const name of [`pre${script}`, script, `post${script}`]) {
    const line = scripts.get(name);
    if (typeof line !== "string") continue;
    call.context.nested(() =>
      call.context.run.text(line, call.state.fork(), {})
    );
  }
}

/** Deno's own installs; nothing for its other sub-commands. */
export const denoPackages: CallReader = (call) => {
  const [sub, ...rest] = call.args;
  const global = rest.some((arg) =>
    arg === "-g" || arg === "--global" || /^-[A-Za-z]*g[A-Za-z]*$/.test(arg)
  );
  if (
    /^(?:install|i|uninstall)$/.test(sub ?? "") &&
      (global || rest.some((arg) => /^--root(?:=|$)/.test(arg))) ||
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
