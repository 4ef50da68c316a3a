/**
 * `plugins install`, `update`, `remove` and `new`.
 *
 * @module
 */
import {
  type Failure,
  printResult,
  UsageError,
} from "@bulkhead/sandbox/command";
import { failureOf, unknownWord } from "./_cli_errors.ts";
import { absolute } from "./_cli_input.ts";
import type { Command, Verb } from "./_cli_shared.ts";
import { printable, quote } from "./_text.ts";
import {
  InstallError,
  type InstallOptions,
  installPlugin,
  type InstallResult,
  updatePlugin,
} from "./install.ts";
import { installedPlugins } from "./installed.ts";
import { removePlugin } from "./remove.ts";
import { SCAFFOLD_LANGUAGES, scaffoldPlugin } from "./scaffold.ts";

const SOURCES =
  `SOURCE is a directory, an archive (tar, tar.gz or zip, best with --sha256), or git+https://…#COMMIT with the full
commit (also git+ssh:// and git+file://). Nothing of it is run; its content is shown and put to you.`;

/** `plugins install`. */
export const install: Verb = {
  summary: "bring a plugin in from a directory, an archive or a git commit",
  help: `Install a plugin

Usage: plugins install SOURCE [--sha256 HEX] [--trust-plugin NAME=sha256:…] [--json]

${SOURCES}
Without a terminal, --trust-plugin names the content that may come in.

Examples:
  bulkhead plugins install ./weather
  bulkhead plugins install weather-1.2.0.tar.gz --sha256 9f86d081…
  bulkhead plugins install git+https://example.org/weather.git#0123456789abcdef0123456789abcdef01234567
`,
  flags: { string: ["sha256"] },
  operands: [1, 1],
  takesPins: true,
  async run(command) {
    const source = command.operand();
    const options = await installOptions(command);
    const result = await command.interruptible((signal) =>
      installPlugin(localSource(source), { ...options, signal }).finally(() =>
        command.clearProgress()
      )
    );
    return await report(
      command,
      result,
      result.changed ? "installed" : "was there already",
    );
  },
};

/** `plugins update`. */
export const update: Verb = {
  summary:
    "bring installed plugins up to date, after their difference was shown",
  help: `Update a plugin from its source, or from a new one

Usage: plugins update NAME [--source SOURCE] [--commit COMMIT] [--sha256 HEX] [--trust-plugin NAME=sha256:…] [--json]
       plugins update --all [--json]

${SOURCES}
The difference is shown first: files, commands, hooks, permissions. A "no" keeps the old version, and so does an
error. The plugin's data stays.

Examples:
  bulkhead plugins update weather
  bulkhead plugins update weather --commit 0123456789abcdef0123456789abcdef01234567
  bulkhead plugins update --all
`,
  flags: { boolean: ["all"], string: ["source", "commit", "sha256"] },
  operands: [0, 1],
  takesPins: true,
  run: runUpdate,
};

async function runUpdate(command: Command): Promise<number> {
  const all = command.flags.on("all");
  const [name] = command.flags.operands;
  if (all === (name !== undefined)) {
    throw new UsageError(
      "Cannot read the command line: update takes one NAME, or --all",
      "bulkhead plugins update NAME",
    );
  }
  const options = await installOptions(command);
  if (name !== undefined) {
    const result = await updateOne(command, name, options);
    return await report(
      command,
      result,
      result.changed ? "updated" : "is up to date",
    );
  }
  const { plugins } = await installedPlugins({ home: command.home });
  const pins = command.pins;
  const stray = pins.find((pin) =>
    plugins.every((plugin) => plugin.name !== pin.name)
  );
  if (stray !== undefined) {
    throw new InstallError(
      "refused",
      `Cannot update: --trust-plugin names ${
        quote(stray.name)
      }, which is not installed`,
      { fix: "bulkhead plugins list" },
    );
  }
  const done: (InstallResult | { name: string; error: Failure })[] = [];
  for (const plugin of plugins) {
    try {
      done.push(
        await updateOne(command, plugin.name, {
          ...options,
          pins: pins.filter((pin) => pin.name === plugin.name),
        }),
      );
    } catch (error) {
      // One that fails does not cost the others; an interruption costs them all.
      if (!(error instanceof InstallError)) throw error;
      done.push({ name: plugin.name, error: failureOf(error) });
    }
  }
  const failed = done.filter((each) => "error" in each).length;
  for (const each of done) {
    if ("error" in each) {
      command.note(`error: ${each.name}: ${each.error.message}`);
    } else {
      command.say(
        `${each.name}: ${
          each.changed
            ? `updated to ${printable(each.version)}`
            : "is up to date"
        }`,
      );
    }
  }
  return command.finish(
    { plugins: done },
    failed === 0 ? undefined : {
      code: "update_failed",
      message: `${failed} of ${done.length} plugins were not updated`,
    },
  );
}

async function updateOne(
  command: Command,
  name: string,
  options: InstallOptions,
): Promise<InstallResult> {
  const commit = command.flags.text("commit");
  const given = command.flags.text("source");
  let source = given === undefined ? undefined : localSource(given);
  if (commit !== undefined) {
    const { plugins } = await installedPlugins({ home: command.home });
    const base = source ?? plugins.find((plugin) =>
      plugin.name === name
    )?.entry.source ?? "";
    if (!base.startsWith("git+")) {
      throw new UsageError(
        `Cannot read the command line: --commit is for git sources, "${name}" has none`,
        "--source git+https://…#COMMIT",
      );
    }
    source = `${base.split("#", 1)[0]}#${commit}`;
  }
  return await command.interruptible((signal) =>
    updatePlugin(name, {
      ...options,
      signal,
      ...(source === undefined ? {} : { source }),
    }).finally(() => command.clearProgress())
  );
}

async function installOptions(command: Command): Promise<InstallOptions> {
  const config = await command.config();
  const ask = command.asker({ without: ["once", "never"] });
  const sha256 = command.flags.text("sha256");
  return {
    home: command.home,
    pins: command.pins,
    sandbox: config.sandbox,
    trust: config.trust,
    ...(ask === undefined ? {} : { ask }),
    ...(sha256 === undefined ? {} : { sha256 }),
    onProgress: (line) => command.progress(line),
  };
}

async function report(
  command: Command,
  result: InstallResult,
  what: string,
): Promise<number> {
  for (const notice of result.notices) command.note(`note: ${notice}`);
  if (command.json) printResult(command.io, { ...result });
  command.say(
    `${result.name} ${printable(result.version)} ${what}${
      result.trusted ? ", its content is trusted" : ""
    }`,
  );
  command.say(`  ${printable(result.dir)}`);
  command.say(`  ${result.hash}`);
  const { enabled, trust } = await command.config();
  if (!enabled) {
    command.say(
      `Plugins are off: write [capabilities.plugins] enabled = true and [capabilities.trust] enabled = true into ${
        printable(command.home)
      }/config.toml`,
    );
  } else if (!result.trusted && trust.default !== "always") {
    command.say(`Not trusted yet: bulkhead plugins trust ${result.name}`);
  }
  return 0;
}

/** Paths are relative to where the command was typed, wherever it is read again later. */
function localSource(source: string): string {
  return source.startsWith("git+") || /^[a-z][a-z0-9+.-]+:\/\//i.test(source) ||
      source === ""
    ? source
    : absolute(source);
}

/** `plugins remove`. */
export const remove: Verb = {
  summary: "take a plugin out, with its trust and, asked, its data",
  help:
    `Remove a plugin: its directory, its entry in the lock file and the decision about it

Usage: plugins remove NAME [--data | --no-data] [--force] [--json]

Its data is asked about on a terminal and kept otherwise; --data takes it along. --force also removes a directory that
no install made.

Examples:
  bulkhead plugins remove weather
  bulkhead plugins remove weather --data
`,
  flags: { boolean: ["data", "force"] },
  operands: [1, 1],
  async run(command) {
    const result = await removePlugin(command.operand(), {
      home: command.home,
      force: command.flags.on("force"),
      data: command.flags.on("data") ||
        (!command.flags.off("data") && command.io.canAsk &&
          (async (dir: string) =>
            /^y(es)?$/i.test(
              await command.ask(
                `Remove its data in ${printable(dir)} too? [y/N]: `,
              ),
            ))),
    });
    for (const notice of result.notices) command.note(`note: ${notice}`);
    if (command.json) printResult(command.io, { ...result });
    command.say(
      `${printable(result.name)} removed${
        result.untrusted ? ", its trust is forgotten" : ""
      }`,
    );
    if (result.keptData !== undefined) {
      command.say(`  its data stays in ${printable(result.keptData)}`);
    }
    return 0;
  },
};

/** `plugins new`. */
export const create: Verb = {
  summary: "make a working plugin to start from",
  help: `Make a plugin with one working tool

Usage: plugins new DIR [--language python|shell|deno] [--name NAME] [--json]

Examples:
  bulkhead plugins new weather
  bulkhead plugins new weather --language deno
`,
  flags: { string: ["language", "name"], alias: { lang: "language" } },
  operands: [1, 1],
  usesHome: false,
  async run(command) {
    const wanted = command.flags.text("language") ?? "python";
    const language = SCAFFOLD_LANGUAGES.find((each) => each === wanted);
    if (language === undefined) {
      throw unknownWord("language", wanted, SCAFFOLD_LANGUAGES);
    }
    const name = command.flags.text("name");
    const made = await scaffoldPlugin(absolute(command.operand()), {
      language,
      ...(name === undefined ? {} : { name }),
    });
    if (command.json) printResult(command.io, { ...made });
    command.say(
      `Made ${
        made.files.map((file) => printable(`${command.operand()}/${file}`))
          .join(" and ")
      }`,
    );
    command.say("Next:");
    command.say(`  bulkhead plugins check ${printable(command.operand())}`);
    command.say(`  bulkhead plugins install ${printable(command.operand())}`);
    command.say(
      `  bulkhead plugins call ${made.name}/${made.tool} --args '{"name":"Ada"}'`,
    );
    return 0;
  },
};
