/**
 * `plugins trust` and `untrust`.
 *
 * @module
 */
import { printResult } from "@bulkhead/sandbox/command";
import { NotLoadedError, unknownWord } from "./_cli_errors.ts";
import type { Command, Verb } from "./_cli_shared.ts";
import { messageOf, printable, quote, quoteWhole } from "./_text.ts";
import { unmetPins } from "./_unmet.ts";
import { discoverPlugins } from "./discover.ts";
import { UnmetTrustError } from "./errors.ts";
import {
  type PluginOnDisk,
  questionFor,
  readPlugin,
  recordFor,
} from "./read.ts";
import { TrustStore } from "./trust.ts";

/** `plugins trust`. */
export const trust: Verb = {
  summary: "decide about a plugin's present content",
  help: `Decide about the content of plugins that wait for it

Usage: plugins trust [NAME…] [--trust-plugin NAME=sha256:…] [--json]

Shows everything the plugin could run or reach, and what has changed since it was trusted. The decision is about this
very content: any change asks again. Without a terminal only --trust-plugin decides.

Examples:
  bulkhead plugins trust                 every plugin that waits
  bulkhead plugins trust weather
  bulkhead plugins trust weather --trust-plugin weather=sha256:…
`,
  operands: [0, Infinity],
  takesPins: true,
  run: (command) => command.interruptible(() => runTrust(command)),
};

async function runTrust(command: Command): Promise<number> {
  const store = new TrustStore(command.home);
  const { records, problem } = await store.read();
  if (problem !== undefined) {
    throw new NotLoadedError(
      problem,
      'repair it, or remove it and decide anew with "bulkhead plugins trust"',
    );
  }
  const plugins = await chosenPlugins(command);
  const pins = command.pins;
  const unmet = unmetPins(
    pins,
    plugins,
    plugins,
    quoteWhole(`${command.home}/plugins`),
  );
  if (unmet.length > 0) throw new UnmetTrustError(unmet);
  const handler = command.asker({ without: ["once"] });
  const decided: {
    name: string;
    dir: string;
    hash: string;
    decision: string;
  }[] = [];
  const waiting: PluginOnDisk[] = [];
  for (const plugin of plugins) {
    const { manifest, digest, dir } = plugin;
    const record = records.get(dir);
    const tell = (decision: string) =>
      decided.push({ name: manifest.name, dir, hash: digest.hash, decision });
    if (record?.hash === digest.hash && record.decision === "always") {
      tell("always");
      continue;
    }
    const pinned = pins.some((pin) =>
      pin.name === manifest.name && pin.hash === digest.hash
    );
    if (!pinned && handler === undefined) {
      waiting.push(plugin);
      continue;
    }
    const { sandbox } = await command.config();
    const answer = pinned ? "always" : await handler?.(
      await questionFor(plugin, {
        sandbox,
        ...(record === undefined ? {} : { record }),
      }),
    );
    if (answer === "always" || answer === "never") {
      await store.set(dir, recordFor(plugin, answer));
      tell(answer);
    } else tell("no");
  }
  const [first] = waiting;
  if (first !== undefined) {
    throw new NotLoadedError(
      `Cannot trust ${
        waiting.map((plugin) => quote(plugin.manifest.name)).join(", ")
      }: nobody is there to be asked`,
      `run it on a terminal, or add --trust-plugin ${first.manifest.name}=${first.digest.hash}`,
    );
  }
  if (command.json) printResult(command.io, { decided });
  for (const { name, decision } of decided) {
    command.say(
      `${printable(name)}: ${decision === "no" ? "not trusted" : decision}`,
    );
  }
  if (decided.length === 0) command.say("No plugin waits for a decision");
  return 0;
}

async function chosenPlugins(command: Command): Promise<PluginOnDisk[]> {
  const config = await command.config();
  const plugins: PluginOnDisk[] = [];
  for (
    const found of await discoverPlugins([
      `${command.home}/plugins`,
      ...config.dirs,
    ])
  ) {
    try {
      plugins.push(await readPlugin(found.dir, { directory: found.name }));
    } catch (error) {
      if (error instanceof Deno.errors.NotCapable) throw error;
      command.note(
        `warning: plugin ${quote(found.name)} cannot be read: ${
          messageOf(error)
        }`,
      );
    }
  }
  const names = command.flags.operands;
  const known = plugins.map((plugin) => plugin.manifest.name);
  for (const name of names) {
    if (!known.includes(name)) throw unknownWord("plugin here", name, known);
  }
  return names.length === 0
    ? plugins
    : plugins.filter((plugin) => names.includes(plugin.manifest.name));
}

/** `plugins untrust`. */
export const untrust: Verb = {
  summary: "forget what was decided about a plugin",
  help: `Forget what was decided about plugins, also a "never"

Usage: plugins untrust NAME… [--json]
       plugins untrust --all [--json]

Examples:
  bulkhead plugins untrust weather
  bulkhead plugins untrust --all
`,
  flags: { boolean: ["all"] },
  operands: [0, Infinity],
  async run(command) {
    const store = new TrustStore(command.home);
    const names = command.flags.operands;
    const { records, problem } = await store.read();
    if (problem !== undefined) {
      throw new NotLoadedError(
        problem,
        'repair it, or remove it and decide anew with "bulkhead plugins trust"',
      );
    }
    const known = [
      ...new Set([...records.values()].map((record) => record.name)),
    ];
    if (names.length === 0 && !command.flags.on("all")) {
      throw unknownWord("plugin with a decision", "", known);
    }
    for (const name of names) {
      if (!known.includes(name)) {
        throw unknownWord("plugin with a decision", name, known);
      }
    }
    const forgotten: string[] = [];
    for (const [path, record] of records) {
      if (!command.flags.on("all") && !names.includes(record.name)) continue;
      if (await store.remove(path)) forgotten.push(record.name);
    }
    if (command.json) printResult(command.io, { forgotten });
    command.say(
      forgotten.length === 0
        ? "There was no decision"
        : `Forgotten: ${forgotten.map(printable).join(", ")}`,
    );
    return 0;
  },
};
