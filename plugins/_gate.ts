import { messageOf, printable, quote, quoteWhole } from "./_text.ts";
import type { LoadOptions, RefusedPlugin } from "./load.ts";
import { type PluginOnDisk, questionFor, recordFor } from "./read.ts";
import { type TrustRecord, TrustStore } from "./trust.ts";

/** Why one plugin is not trusted. */
export type Refusal = Pick<RefusedPlugin, "reason" | "cause">;

/** Decides about one plugin after the other: pins, remembered decisions, and the question. */
export class Gate {
  readonly #options: LoadOptions;
  readonly #warnings: string[];
  readonly #store: TrustStore;
  readonly #answers = new Map<string, Promise<boolean>>();
  #records: Map<string, TrustRecord> | undefined;
  #storeProblem: string | undefined;

  constructor(options: LoadOptions, warnings: string[]) {
    this.#options = options;
    this.#warnings = warnings;
    this.#store = new TrustStore(options.home);
  }

  /** Why the plugin is not trusted; undefined when it is. */
  async refusal(plugin: PluginOnDisk): Promise<Refusal | undefined> {
    const reason = await this.#reason(plugin);
    if (reason === undefined) return undefined;
    const record = (await this.records()).get(plugin.dir);
    const cause = record === undefined
      ? "undecided"
      : record.hash !== plugin.digest.hash
      ? "changed"
      : record.decision === "never"
      ? "refused"
      : "undecided";
    return { reason, cause };
  }

  async #reason(plugin: PluginOnDisk): Promise<string | undefined> {
    const { manifest, digest, dir } = plugin;
    const record = (await this.records()).get(dir);
    const known = record?.hash === digest.hash ? record.decision : undefined;
    if (known === "never") {
      return 'it was refused for good; "bulkhead plugins trust" decides anew';
    }
    if (this.#options.config.trust.default === "always") return undefined;
    const pins = (this.#options.pins ?? []).filter((pin) =>
      pin.name === manifest.name
    );
    if (pins.some((pin) => pin.hash === digest.hash)) return undefined;
    if (pins.length > 0) {
      return `its content is ${digest.hash}, not the ${
        pins.map((pin) => pin.hash).join(" or ")
      } of --trust-plugin`;
    }
    if (known === "always") return undefined;
    const what = record === undefined
      ? `its content ${digest.hash} is not trusted`
      : `its content changed to ${digest.hash} since it was decided about`;
    if (this.#options.trust === undefined) {
      return `${what} and nobody can be asked; run "bulkhead plugins trust ${
        printable(manifest.name)
      }" or pass --trust-plugin ${
        quoteWhole(`${manifest.name}=${digest.hash}`)
      }`;
    }
    // Two links to one directory are one question.
    const key = `${digest.hash}\0${dir}`;
    const answer = this.#answers.get(key) ?? this.#ask(plugin, record);
    this.#answers.set(key, answer);
    return await answer ? undefined : what;
  }

  /** Why the remembered decisions cannot be known; undefined when they can, or were not needed yet. */
  get storeProblem(): string | undefined {
    return this.#storeProblem;
  }

  /** The decisions as they are now, those of this gate included. */
  async records(): Promise<ReadonlyMap<string, TrustRecord>> {
    if (this.#records === undefined) {
      const { records, problem } = await this.#store.read();
      if (problem !== undefined) this.#warnings.push(problem);
      this.#storeProblem = problem;
      this.#records = records;
    }
    return this.#records;
  }

  /** Only the exact words open the gate; anything else, an exception too, is a no. */
  async #ask(
    plugin: PluginOnDisk,
    record: TrustRecord | undefined,
  ): Promise<boolean> {
    const { sandbox } = this.#options.config;
    const question = await questionFor(plugin, {
      sandbox,
      ...(record === undefined ? {} : { record }),
    });
    let answer: unknown;
    try {
      answer = await this.#options.trust?.(question);
    } catch (error) {
      this.#warnings.push(
        `plugin ${quote(plugin.manifest.name)}: the question failed: ${
          messageOf(error)
        }`,
      );
      return false;
    }
    if (answer === "always" || answer === "never") {
      const decided = recordFor(plugin, answer);
      this.#records?.set(plugin.dir, decided);
      try {
        await this.#store.set(plugin.dir, decided);
      } catch (error) {
        if (error instanceof Deno.errors.NotCapable) throw error;
        this.#warnings.push(
          `plugin ${
            quote(plugin.manifest.name)
          }: the answer is not remembered: ${messageOf(error)}`,
        );
      }
    }
    return answer === "always" || answer === "once";
  }
}
