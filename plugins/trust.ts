/**
 * Who may run: a decision about a content hash, remembered by real path, and the question that leads to it.
 *
 * @module
 */

import {
  ensurePrivateDir,
  readJsonFile,
  withFileLock,
  writeFileAtomic,
} from "@bulkhead/sandbox";
import { isRecord, messageOf, quote, quoteWhole } from "./_text.ts";

export {
  questionText,
  type TrustChange,
  type TrustQuestion,
} from "./_question.ts";
import type { TrustQuestion } from "./_question.ts";

/** The name of the trust store in the Bulkhead home. */
export const TRUST_NAME = "trust.json";

/** What a person can answer: for this run only, for this content, not now, or never for this content. */
export type TrustAnswer = "once" | "always" | "no" | "never";

/**
 * Puts the question to a person. Everything but the four answers counts as `no`, and so does an exception.
 *
 * @param question What is asked.
 * @returns The answer.
 */
export type TrustHandler = (
  question: TrustQuestion,
) => Promise<TrustAnswer> | TrustAnswer;

const CHOICES: Readonly<Record<TrustAnswer, string>> = {
  always: "[a]lways for this content",
  once: "[o]nce",
  never: "ne[v]er",
  no: "[N]o",
};

/**
 * The answers that {@linkcode parseTrustAnswer} knows, for a prompt.
 *
 * @param without Those that are not offered.
 * @returns The answers with the letter that is enough for each.
 *
 * @example The answers of an install
 * ```ts
 * import { trustChoices } from "@bulkhead/plugins";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(trustChoices(["once", "never"]), "[a]lways for this content, [N]o");
 * ```
 */
export function trustChoices(without: readonly TrustAnswer[] = []): string {
  return (["always", "once", "never", "no"] as const)
    .filter((answer) => !without.includes(answer))
    .map((answer) => CHOICES[answer]).join(", ");
}

const ANSWERS: ReadonlyMap<string, TrustAnswer> = new Map([
  ["a", "always"],
  ["always", "always"],
  ["o", "once"],
  ["once", "once"],
  ["v", "never"],
  ["never", "never"],
  ["", "no"],
  ["n", "no"],
  ["no", "no"],
]);

/**
 * Reads what a person has typed at the question of trust; just Enter is a no.
 *
 * @param text What was typed.
 * @returns The answer, or `undefined` for a word that is none, a "yes" too: it does not say for how long.
 *
 * @example There is no plain yes
 * ```ts
 * import { parseTrustAnswer } from "@bulkhead/plugins";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(parseTrustAnswer("A"), "always");
 * assertEquals(parseTrustAnswer(""), "no");
 * assertEquals(parseTrustAnswer("y"), undefined);
 * ```
 */
export function parseTrustAnswer(text: string): TrustAnswer | undefined {
  return ANSWERS.get(text.trim().toLowerCase());
}

/** A remembered decision. */
export interface TrustRecord {
  /** The declared name of the plugin when it was decided. */
  name: string;
  /** The content that was decided about. */
  hash: string;
  /** What was decided. */
  decision: "always" | "never";
  /** When, in ISO 8601. */
  time: string;
  /** The fingerprint of every file, for the difference that is shown when the content changes. */
  files: Record<string, string>;
  /** What could run, one line each, for the same difference. */
  lines: string[];
}

const SCHEMA = 1;
const MAX_BYTES = 64 * 1024 * 1024;

/**
 * The decisions of one user, in `trust.json` of the Bulkhead home.
 *
 * Writes are atomic and locked, unknown fields are kept, a newer or damaged file is never overwritten.
 *
 * @example Remember and forget
 * ```ts
 * import { TrustStore } from "@bulkhead/plugins";
 * import { assertEquals } from "@std/assert";
 *
 * const home = await Deno.makeTempDir();
 * const store = new TrustStore(home);
 * await store.set("/plugins/demo", {
 *   name: "demo",
 *   hash: "sha256:00",
 *   decision: "always",
 *   time: new Date().toISOString(),
 *   files: {},
 *   lines: [],
 * });
 * assertEquals((await store.get("/plugins/demo"))?.decision, "always");
 * assertEquals(await store.remove("/plugins/demo"), true);
 * assertEquals(await store.get("/plugins/demo"), undefined);
 * await Deno.remove(home, { recursive: true });
 * ```
 */
export class TrustStore {
  readonly #home: string;

  /**
   * Creates a store; nothing is read or written yet.
   *
   * @param home The Bulkhead home.
   */
  constructor(home: string) {
    this.#home = home;
  }

  /** The path of the file. */
  get path(): string {
    return `${this.#home}/${TRUST_NAME}`;
  }

  /**
   * Reads all decisions.
   *
   * @returns The decisions by real path, and what is wrong with the file, if anything is.
   */
  async read(): Promise<
    { records: Map<string, TrustRecord>; problem?: string }
  > {
    const records = new Map<string, TrustRecord>();
    let document: unknown;
    try {
      document = await readJsonFile(this.path, { maxBytes: MAX_BYTES });
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return { records };
      if (error instanceof Deno.errors.NotCapable) throw error;
      return { records, problem: this.#problem(reasonOf(error)) };
    }
    if (!isRecord(document) || typeof document.schema !== "number") {
      return { records, problem: this.#problem("it is not a trust store") };
    }
    if (document.schema > SCHEMA) {
      return {
        records,
        problem: this.#problem(
          `its schema ${document.schema} is newer than ${SCHEMA}`,
        ),
      };
    }
    if (!isRecord(document.plugins)) {
      return { records, problem: this.#problem('"plugins" is not a table') };
    }
    for (const [path, value] of Object.entries(document.plugins)) {
      const record = trustRecord(value);
      if (record !== undefined) records.set(path, record);
    }
    return { records };
  }

  /**
   * The decision about a plugin.
   *
   * @param path The real path of the plugin's directory.
   * @returns The decision, or `undefined`.
   */
  async get(path: string): Promise<TrustRecord | undefined> {
    return (await this.read()).records.get(path);
  }

  /**
   * Remembers a decision.
   *
   * @param path The real path of the plugin's directory.
   * @param record The decision.
   * @throws {TypeError} If the file is damaged or newer than this version.
   */
  async set(path: string, record: TrustRecord): Promise<void> {
    await this.#change((plugins) => {
      const old = plugins[path];
      plugins[path] = { ...(isRecord(old) ? old : {}), ...record };
      return true;
    });
  }

  /**
   * Forgets the decision about a plugin.
   *
   * @param path The real path of the plugin's directory.
   * @returns Whether there was one.
   * @throws {TypeError} If the file is damaged or newer than this version.
   */
  async remove(path: string): Promise<boolean> {
    return await this.#change((plugins) => {
      const had = Object.hasOwn(plugins, path);
      delete plugins[path];
      return had;
    });
  }

  /**
   * Forgets all decisions.
   *
   * @returns How many there were.
   * @throws {TypeError} If the file is damaged or newer than this version.
   */
  async clear(): Promise<number> {
    let count = 0;
    await this.#change((plugins) => {
      for (const path of Object.keys(plugins)) {
        delete plugins[path];
        count++;
      }
      return count > 0;
    });
    return count;
  }

  async #change(
    edit: (plugins: Record<string, unknown>) => boolean,
  ): Promise<boolean> {
    await ensurePrivateDir(this.#home);
    return await withFileLock(`${this.path}.lock`, async () => {
      let document: Record<string, unknown> = { schema: SCHEMA };
      try {
        const found = await readJsonFile(this.path, { maxBytes: MAX_BYTES });
        if (!isRecord(found) || typeof found.schema !== "number") {
          throw new TypeError("it is not a trust store");
        }
        if (found.schema > SCHEMA) {
          throw new TypeError(
            `its schema ${found.schema} is newer than ${SCHEMA}`,
          );
        }
        if (found.plugins !== undefined && !isRecord(found.plugins)) {
          throw new TypeError('"plugins" is not a table');
        }
        document = found;
      } catch (error) {
        if (!(error instanceof Deno.errors.NotFound)) {
          throw new TypeError(this.#problem(reasonOf(error)), {
            cause: error,
          });
        }
      }
      // A null prototype: a path is a key of its own, whatever it is called.
      const plugins: Record<string, unknown> = Object.assign(
        Object.create(null),
        document.plugins,
      );
      const changed = edit(plugins);
      if (changed) {
        await writeFileAtomic(
          this.path,
          `${JSON.stringify({ ...document, plugins }, null, 1)}\n`,
        );
      }
      return changed;
    });
  }

  #problem(reason: string): string {
    return `Cannot use the trust store ${
      quoteWhole(this.path)
    }: ${reason}; nothing is trusted by it and it is left as it is: repair it, or remove it and decide anew with "bulkhead plugins trust"`;
  }
}

/** The reason without the path, which stands before it. */
function reasonOf(error: unknown): string {
  return messageOf(error).replace(
    /^Cannot (?:read|parse) "(?:[^"\\]|\\.)*"(?: as JSON)?: /,
    error instanceof SyntaxError ? "it is not JSON: " : "",
  );
}

function trustRecord(value: unknown): TrustRecord | undefined {
  if (!isRecord(value)) return undefined;
  const { name, hash, decision, time, files, lines } = value;
  if (typeof name !== "string" || typeof hash !== "string") return undefined;
  if (decision !== "always" && decision !== "never") return undefined;
  return {
    name,
    hash,
    decision,
    time: typeof time === "string" ? time : "",
    files: isRecord(files)
      ? Object.fromEntries(
        Object.entries(files).filter((entry): entry is [string, string] =>
          typeof entry[1] === "string"
        ),
      )
      : {},
    lines: Array.isArray(lines)
      ? lines.filter((line): line is string => typeof line === "string")
      : [],
  };
}

/** A plugin that the caller trusts by name and content, as `--trust-plugin name=sha256:…` says it. */
export interface TrustPin {
  /** The declared name. */
  name: string;
  /** The content hash, `sha256:` and 64 hex digits. */
  hash: string;
}

/**
 * Parses the value of `--trust-plugin`.
 *
 * @param text `name=sha256:…`.
 * @returns The pin.
 * @throws {TypeError} If the text has another form.
 *
 * @example A pin
 * ```ts
 * import { parseTrustPin } from "@bulkhead/plugins";
 * import { assertEquals, assertThrows } from "@std/assert";
 *
 * const hash = `sha256:${"0".repeat(64)}`;
 * assertEquals(parseTrustPin(`demo=${hash}`), { name: "demo", hash });
 * assertThrows(() => parseTrustPin("demo"), TypeError);
 * ```
 */
export function parseTrustPin(text: string): TrustPin {
  const match = /^(.+)=(sha256:[0-9a-f]{64})$/s.exec(text);
  if (match?.[1] === undefined || match[2] === undefined) {
    throw new TypeError(
      `Cannot trust ${
        quote(text)
      }: write name=sha256: followed by 64 hex digits, as "plugins list" shows it`,
    );
  }
  return { name: match[1], hash: match[2] };
}
