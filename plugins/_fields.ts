import { didYouMean } from "./_did_you_mean.ts";
import { ManifestError } from "./errors.ts";
import { isRecord, quote } from "./_text.ts";
import type { TomlLines } from "./_toml_lines.ts";

/** A path of keys in a manifest. */
export type KeyPath = readonly (string | number)[];

/** One thing that is wrong with a part of a manifest while the rest stands. */
export interface ManifestProblem {
  /** The file, as it was named by the caller. */
  path: string;
  /** The line, counted from one. */
  line: number;
  /** The key, such as `tools[0].args`. */
  key: string;
  /** What is wrong and what was done about it. */
  message: string;
}

/** Reads typed values out of a parsed table; a wrong type is an error and reads as absent, a bad value is noted. */
export class Fields {
  readonly problems: ManifestProblem[] = [];
  /** What costs the whole manifest, in its order. */
  readonly errors: ManifestError[] = [];
  readonly #path: string;
  readonly #lines: () => TomlLines;

  constructor(path: string, lines: () => TomlLines) {
    this.#path = path;
    this.#lines = lines;
  }

  /** Notes a problem that does not cost the rest. */
  note(key: KeyPath, message: string): void {
    if (this.problems.length === MAX_PROBLEMS) return;
    this.problems.push({
      path: this.#path,
      line: this.#lines().lineOf(key),
      key: keyName(key),
      message,
    });
  }

  #wrongType(key: KeyPath, wanted: string, found: unknown): undefined {
    if (this.errors.length === MAX_PROBLEMS) return;
    const name = keyName(key);
    this.errors.push(
      new ManifestError(
        `${quote(name)} must be ${wanted}, found ${typeName(found)}`,
        { path: this.#path, line: this.#lines().lineOf(key), key: name },
      ),
    );
  }

  /** Notes every key of the table that is not known. */
  unknownKeys(
    table: Record<string, unknown>,
    known: readonly string[],
    at: KeyPath,
  ): void {
    for (const key of Object.keys(table)) {
      if (!known.includes(key)) {
        this.note(
          [...at, key],
          `unknown key, ignored${didYouMean(key, known)}`,
        );
      }
    }
  }

  string(
    table: Record<string, unknown>,
    key: string,
    at: KeyPath,
  ): string | undefined {
    const value = table[key];
    if (value === undefined || typeof value === "string") return value;
    return this.#wrongType([...at, key], "a string", value);
  }

  boolean(
    table: Record<string, unknown>,
    key: string,
    at: KeyPath,
  ): boolean | undefined {
    const value = table[key];
    if (value === undefined || typeof value === "boolean") return value;
    return this.#wrongType([...at, key], "true or false", value);
  }

  integer(
    table: Record<string, unknown>,
    key: string,
    at: KeyPath,
  ): number | undefined {
    const value = table[key];
    if (value === undefined) return undefined;
    if (typeof value === "bigint") return Number(value);
    if (typeof value === "number" && Number.isInteger(value)) return value;
    return this.#wrongType([...at, key], "an integer", value);
  }

  strings(
    table: Record<string, unknown>,
    key: string,
    at: KeyPath,
  ): string[] | undefined {
    const value = table[key];
    if (value === undefined) return undefined;
    if (!Array.isArray(value)) {
      return this.#wrongType([...at, key], "a list of strings", value);
    }
    return value.flatMap((item: unknown, index) => {
      if (typeof item === "string") return [item];
      this.#wrongType([...at, key, index], "a string", item);
      return [];
    });
  }

  table(
    table: Record<string, unknown>,
    key: string,
    at: KeyPath,
  ): Record<string, unknown> | undefined {
    const value = table[key];
    if (value === undefined || isRecord(value)) return value;
    return this.#wrongType([...at, key], "a table", value);
  }

  tables(
    table: Record<string, unknown>,
    key: string,
  ): Record<string, unknown>[] {
    const value = table[key];
    if (value === undefined) return [];
    if (!Array.isArray(value)) {
      this.#wrongType([key], `a list of tables, [[${key}]]`, value);
      return [];
    }
    return value.flatMap((item: unknown, index) => {
      if (isRecord(item)) return [item];
      this.#wrongType([key, index], "a table", item);
      return [];
    });
  }
}

/** A manifest of 256 KiB can hold many bad entries; nobody reads more than this. */
const MAX_PROBLEMS = 200;

function keyName(key: KeyPath): string {
  let name = "";
  for (const part of key) {
    name += typeof part === "number"
      ? `[${part}]`
      : (name === "" ? part : `.${part}`);
  }
  return name;
}

function typeName(value: unknown): string {
  if (Array.isArray(value)) return "a list";
  if (value instanceof Date) return "a date";
  switch (typeof value) {
    case "string":
      return "a string";
    case "bigint":
      return "an integer";
    case "number":
      return Number.isInteger(value) ? "an integer" : "a float";
    case "boolean":
      return "a boolean";
    default:
      return "a table";
  }
}
