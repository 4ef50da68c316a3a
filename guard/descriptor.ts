import { namedPermissions, readTextCapped, reasonOf } from "@bulkhead/sandbox";
import { parse as parseToml } from "@std/toml";
import { HARNESSES } from "./harnesses/mod.ts";
import type {
  GuardSection,
  HarnessDescriptor,
  JsonHooksGuard,
  ToolNames,
} from "./harnesses/types.ts";
import { anyStringValueContains, parseOrdered } from "./ordered_json.ts";

/** Most bytes of one user layer. */
const MAX_LAYER_BYTES = 65_536;

/** The roles a tool name can have. */
const ROLES = ["write", "patch", "shell", "read"] as const;

/**
 * Checks what the types cannot say about a descriptor.
 *
 * @param descriptor The harness.
 * @param source Where it comes from, for the message.
 * @throws {TypeError} Naming the first rule that is broken.
 *
 * @example The built-in ones hold
 * ```ts
 * import { HARNESSES, validateDescriptor } from "@bulkhead/guard";
 *
 * for (const harness of HARNESSES) validateDescriptor(harness, "built in");
 * ```
 */
export function validateDescriptor(
  descriptor: HarnessDescriptor,
  source: string,
): void {
  const problem = checkTools(descriptor.tools) ?? checkPlaces(descriptor) ??
    (descriptor.guard && checkGuard(descriptor, descriptor.guard));
  if (problem !== undefined) {
    throw new TypeError(
      `Cannot use harness "${descriptor.label}" from "${source}": ${problem}`,
    );
  }
}

/** One name in two roles would be judged twice. */
function checkTools(tools: ToolNames): string | undefined {
  const seen = new Map<string, string>();
  for (const role of ROLES) {
    for (const name of tools[role]) {
      const other = seen.get(name);
      if (other !== undefined && other !== role) {
        return `tool "${name}" is both "${other}" and "${role}"`;
      }
      seen.set(name, role);
    }
  }
  return undefined;
}

/** Marker and manifest need a home that counts as configuration. */
function checkPlaces(descriptor: HarnessDescriptor): string | undefined {
  if (descriptor.speech === undefined) {
    return descriptor.guard === undefined
      ? undefined
      : "a guard needs a verdict, and a skillsDir where marker and manifest lie";
  }
  const { skillsDir, verdictTemplate } = descriptor.speech;
  if (!holds(verdictTemplate, "{reason}")) {
    return "verdictTemplate must be JSON with {reason} in a string value";
  }
  const [top, ...rest] = skillsDir.split("/");
  if (rest.length !== 1) {
    // The shim finds the root, and the denial log in it, three directories above the marker.
    return `skillsDir "${skillsDir}" must have two segments`;
  }
  return descriptor.configDirs.some((dir) => dir === top)
    ? undefined
    : `configDirs misses "${top}", the parent of skillsDir`;
}

/** A guard's templates must render a hook that works. */
function checkGuard(
  descriptor: HarnessDescriptor,
  guard: GuardSection,
): string | undefined {
  const place = guard.engine === "json-hooks"
    ? guard.hooksFile
    : guard.pluginFile;
  if (!isPlainRelative(place)) {
    return `"${place}" must be a relative path without "." and ".." segments`;
  }
  if (guard.engine === "json-hooks") return checkForms(descriptor, guard);
  const plugins = [guard.plugin, guard.compatPlugin ?? guard.plugin];
  return plugins.every((text) =>
      text.includes("{exe}") && text.includes("{marker}")
    )
    ? undefined
    : "the plugin text must hold {exe} and {marker}";
}

/** Every form needs its placeholders, and pinned matchers only name known tools. */
function checkForms(
  descriptor: HarnessDescriptor,
  guard: JsonHooksGuard,
): string | undefined {
  const { write, patch, shell } = descriptor.tools;
  const known = new Set([...write, ...patch, ...shell]);
  for (const form of guard.forms) {
    const placeholders = form.commandTemplate === undefined
      ? ["{exe}", "{marker}"]
      : ["{command}"];
    for (const placeholder of placeholders) {
      if (!holds(form.hookEntry, placeholder)) {
        return `hookEntry must be JSON with ${placeholder} in a string value`;
      }
    }
    const command = form.commandTemplate ?? "{exe}{marker}";
    if (!command.includes("{exe}") || !command.includes("{marker}")) {
      return "commandTemplate must hold {exe} and {marker}";
    }
    if (form.mode !== "compat") continue;
    for (const token of form.matcher.split("|")) {
      const name = token.replace(/^\^|\$$/g, "");
      if (!known.has(name)) {
        return `the matcher names the unknown tool "${name}"`;
      }
    }
  }
  return undefined;
}

/** Says whether JSON text has `token` in a string value. */
function holds(template: string, token: string): boolean {
  try {
    return anyStringValueContains(parseOrdered(template), token);
  } catch {
    return false;
  }
}

/** A path that cannot leave the root it is joined to. */
function isPlainRelative(path: string): boolean {
  return !path.split("/").some((part) =>
    part === "" || part === "." || part === ".."
  );
}

/**
 * Reads a user layer: TOML that adds tool names to a harness, or names a new one. It may not
 * declare a guard, because a guard fails open and installs itself into other programs.
 *
 * @param text The TOML text.
 * @param source Where it comes from, for messages.
 * @returns The label and what the layer adds.
 * @throws {SyntaxError} When it is not TOML.
 * @throws {TypeError} When a field has the wrong type or may not be set.
 *
 * @example
 * ```ts
 * import { parseUserLayer } from "@bulkhead/guard";
 * import { assertEquals, assertThrows } from "@std/assert";
 *
 * const layer = parseUserLayer('label = "codex"\n[tools]\nshell = ["run"]', "a.toml");
 * assertEquals(layer.tools.shell, ["run"]);
 * assertThrows(() => parseUserLayer('label = "codex"\n[guard]', "b.toml"), TypeError);
 * ```
 */
export function parseUserLayer(text: string, source: string): UserLayer {
  let values: Map<string, unknown>;
  try {
    values = new Map(Object.entries(parseToml(text)));
  } catch (cause) {
    const detail = reasonOf(cause);
    throw new SyntaxError(`Cannot read "${source}" as TOML: ${detail}`, {
      cause,
    });
  }
  const refuse = (problem: string) =>
    new TypeError(`Cannot use harness layer "${source}": ${problem}`);
  const run = asTable(values.get("run"));
  if (values.has("guard") || run?.get("supports_guard") === true) {
    throw refuse(
      "user layers may not declare [guard] or set run.supports_guard = true; remove it, only built-in harnesses have a guard",
    );
  }
  const label = values.get("label");
  if (typeof label !== "string" || label === "") {
    throw refuse("label must be a text that names the harness");
  }
  const table = asTable(values.get("tools") ?? {});
  if (table === undefined) throw refuse("[tools] must be a table");
  const tools: Record<typeof ROLES[number], readonly string[]> = {
    write: [],
    patch: [],
    shell: [],
    read: [],
  };
  for (const role of ROLES) {
    const list = table.get(role) ?? [];
    if (!isTextList(list)) {
      throw refuse(`tools.${role} must be a list of texts`);
    }
    tools[role] = list;
  }
  const problem = checkTools(tools);
  if (problem !== undefined) throw refuse(problem);
  return { label, tools, source };
}

/** What a user's TOML file adds. */
export interface UserLayer {
  /** The harness it speaks about. */
  readonly label: string;
  /** Names to add. */
  readonly tools: ToolNames;
  /** The file it comes from. */
  readonly source: string;
}

/** The built-in harnesses with the user's layers on top. */
export interface LayeredHarnesses {
  /** Every harness, guarded or not. */
  readonly harnesses: readonly HarnessDescriptor[];
  /** The names that the layers add, over all harnesses, for the marker. */
  readonly added: ToolNames;
}

/**
 * Joins the built-in harnesses with the layers in `HOME/harnesses/*.toml`.
 *
 * Needs `--allow-read` of that directory.
 *
 * @param home The Bulkhead home.
 * @returns The harnesses, and the names added.
 * @throws {SyntaxError} When a layer is not TOML.
 * @throws {TypeError} When a layer breaks a rule.
 *
 * @example
 * ```ts
 * import { loadHarnesses } from "@bulkhead/guard";
 * import { assertEquals } from "@std/assert";
 *
 * const { harnesses, added } = await loadHarnesses("/nonexistent");
 * assertEquals(harnesses[0]?.label, "claude-code");
 * assertEquals(added.write, []);
 * ```
 */
export async function loadHarnesses(home: string): Promise<LayeredHarnesses> {
  return await namedPermissions(
    "Reading the harness layers",
    () => joinLayers(home),
  );
}

/** Joins built-in harnesses and layers. */
async function joinLayers(home: string): Promise<LayeredHarnesses> {
  const directory = `${home}/harnesses`;
  const names: string[] = [];
  try {
    for await (const entry of Deno.readDir(directory)) {
      if (entry.name.endsWith(".toml")) names.push(entry.name);
    }
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  const harnesses = [...HARNESSES];
  const added = {
    write: new Set<string>(),
    patch: new Set<string>(),
    shell: new Set<string>(),
    read: new Set<string>(),
  };
  for (const name of names.sort()) {
    const source = `${directory}/${name}`;
    const layer = parseUserLayer(
      await readTextCapped(source, MAX_LAYER_BYTES),
      source,
    );
    const at = harnesses.findIndex((harness) => harness.label === layer.label);
    const base: HarnessDescriptor = harnesses[at] ?? {
      label: layer.label,
      title: layer.label,
      program: layer.label,
      configDirs: [],
      tools: { write: [], patch: [], shell: [], read: [] },
      proof: "contract",
      notes: [],
    };
    const merged = { ...base, tools: mergeTools(base.tools, layer.tools) };
    validateDescriptor(merged, source);
    if (at < 0) harnesses.push(merged);
    else harnesses[at] = merged;
    for (const role of ROLES) {
      for (const tool of layer.tools[role]) added[role].add(tool);
    }
  }
  return {
    harnesses,
    added: {
      write: [...added.write],
      patch: [...added.patch],
      shell: [...added.shell],
      read: [...added.read],
    },
  };
}

/** Adds names, each once. */
function mergeTools(base: ToolNames, more: ToolNames): ToolNames {
  const join = (role: typeof ROLES[number]) => [
    ...new Set([...base[role], ...more[role]]),
  ];
  return {
    write: join("write"),
    patch: join("patch"),
    shell: join("shell"),
    read: join("read"),
  };
}

/** Narrows to a table. */
function asTable(value: unknown): Map<string, unknown> | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? new Map(Object.entries(value))
    : undefined;
}

/** Narrows to a list of texts. */
function isTextList(value: unknown): value is string[] {
  return Array.isArray(value) &&
    value.every((item) => typeof item === "string");
}
