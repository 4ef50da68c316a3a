/**
 * What a project's own settings say about tools, and whether the person trusts the project.
 *
 * @module
 */

import { namedPermissions } from "@bulkhead/sandbox";

/** The project's rules with every list present. */
export interface ProjectRules {
  /** What is allowed. */
  readonly allow: readonly string[];
  /** What is denied. */
  readonly deny: readonly string[];
  /** What a person must be asked. */
  readonly ask: readonly string[];
}

/** The rules of a project that has none. */
export const NO_RULES: ProjectRules = { allow: [], deny: [], ask: [] };

/**
 * Tells whether Claude Code's own trust question was answered with yes for a directory.
 *
 * @param cwd The directory.
 * @param home The home directory that holds `.claude.json`.
 * @returns True when the project is trusted.
 */
export async function isTrustedProject(
  cwd: string,
  home: string,
): Promise<boolean> {
  return await namedPermissions(`Reading "${home}/.claude.json"`, async () => {
    try {
      const real = await Deno.realPath(cwd);
      const config: unknown = JSON.parse(
        await Deno.readTextFile(`${home}/.claude.json`),
      );
      return field(
        field(field(config, "projects"), real),
        "hasTrustDialogAccepted",
      ) === true;
    } catch (error) {
      if (error instanceof Deno.errors.NotCapable) throw error;
      return false;
    }
  });
}

/** Reads the settings files again when one of them has changed. */
export class ProjectReader {
  readonly #files: readonly string[];
  readonly #trusted: boolean;
  #seen: string | undefined;

  constructor(files: readonly string[], trusted: boolean) {
    this.#files = files;
    this.#trusted = trusted;
  }

  read(): ProjectRules | undefined {
    const now = this.#files.map(fingerprint).join("|");
    if (now === this.#seen) return undefined;
    this.#seen = now;
    const rules = {
      allow: new Array<string>(),
      deny: new Array<string>(),
      ask: new Array<string>(),
    };
    for (const file of this.#files) {
      const permissions = field(readJson(file), "permissions");
      const allow = strings(field(permissions, "allow"));
      rules.allow.push(
        ...(this.#trusted ? allow : allow.filter((rule) => rule.includes("("))),
      );
      rules.deny.push(...strings(field(permissions, "deny")));
      rules.ask.push(...strings(field(permissions, "ask")));
    }
    return rules;
  }
}

function fingerprint(file: string): string {
  try {
    const info = Deno.statSync(file);
    return `${info.mtime?.getTime()}:${info.size}:${info.ino}`;
  } catch {
    return "-";
  }
}

function readJson(file: string): unknown {
  try {
    const info = Deno.statSync(file);
    if (!info.isFile || info.size > 1_048_576) return undefined;
    return JSON.parse(Deno.readTextFileSync(file));
  } catch {
    return undefined;
  }
}

function field(value: unknown, name: string): unknown {
  if (
    typeof value !== "object" || value === null || !Object.hasOwn(value, name)
  ) return undefined;
  return Object.entries(value).find(([key]) => key === name)?.[1];
}

function strings(value: unknown): string[] {
  return Array.isArray(value)
    ? value.filter((item) => typeof item === "string")
    : [];
}
