/**
 * The text of the file that holds a hook: the person's own settings with one entry more, or
 * the whole plugin. Pure: text in, text out.
 *
 * @module
 */

import type {
  GuardSection,
  HookForm,
  JsonHooksGuard,
} from "./harnesses/types.ts";
import {
  type OrderedJson,
  type OrderedObject,
  parseOrdered,
  printOrdered,
  substitute,
  substituteStrings,
} from "./ordered_json.ts";
import { escapeDoubleQuoted } from "./shim.ts";

/** What tells the hook to deny what it cannot judge. */
const FAIL_CLOSED_FLAG = "--fail-closed";

/** What goes into the templates. */
export interface HookVariables {
  /** The executable. */
  readonly exe: string;
  /** The marker. */
  readonly marker: string;
}

/** How a hook is rendered. */
export interface HookRendering {
  /** Use the pinned old form. */
  readonly compat: boolean;
  /** The harness's version, where it is known. */
  readonly version?: string;
  /** Tell the hook to deny what it cannot judge, even when the marker is lost. */
  readonly failClosed?: boolean;
}

/** The settings cannot be merged; `snippet` is what arming would add. It arms nothing by itself. */
export class HookFileError extends Error {
  /** The entry that arming adds; without the marker that arming writes too, it judges nothing. */
  readonly snippet: string;

  /**
   * Creates the error.
   *
   * @param message What was tried and what was found.
   * @param snippet The entry that arming adds.
   */
  constructor(message: string, snippet: string) {
    super(message);
    this.name = "HookFileError";
    this.snippet = snippet;
  }
}

/** Renders the hook file's new text from its present one. */
export function renderHookFile(
  guard: GuardSection,
  original: string | undefined,
  variables: HookVariables,
  rendering: HookRendering,
): string {
  if (guard.engine === "json-hooks") {
    return renderJsonHooks(guard, original, variables, rendering);
  }
  const template = rendering.compat
    ? guard.compatPlugin ?? guard.plugin
    : guard.plugin;
  // A JSON string is a string literal of JavaScript too.
  return substitute(
    template,
    new Map([
      ["exe", JSON.stringify(variables.exe)],
      ["marker", JSON.stringify(variables.marker)],
      ["fail_closed", String(rendering.failClosed === true)],
    ]),
  );
}

/** The form that the version understands. */
function chooseForm(
  forms: readonly HookForm[],
  rendering: HookRendering,
): HookForm {
  const mode = rendering.compat &&
      forms.some((form) => form.mode === "compat")
    ? "compat"
    : "current";
  const form = forms.find((form) =>
    form.mode === mode &&
    (form.since === undefined ||
      (rendering.version !== undefined &&
        atLeast(rendering.version, form.since)))
  );
  if (form === undefined) {
    throw new TypeError("Cannot choose a hook form: none fits every version");
  }
  return form;
}

/** The entry with its places filled in after parsing, so that no value can break the JSON. */
function renderEntry(
  form: HookForm,
  variables: HookVariables,
  failClosed: boolean,
): OrderedJson {
  const quote = form.mode === "compat"
    ? (text: string) => text
    : escapeDoubleQuoted;
  const flag = failClosed ? `${FAIL_CLOSED_FLAG} ` : "";
  const command = substitute(
    (form.commandTemplate ?? "").replace('"{marker}"', `${flag}"{marker}"`),
    new Map([
      ["exe", quote(variables.exe)],
      ["marker", quote(variables.marker)],
    ]),
  );
  const entry = failClosed
    ? form.hookEntry.replace(
      ',"{marker}"]',
      `,"${FAIL_CLOSED_FLAG}","{marker}"]`,
    )
    : form.hookEntry;
  return substituteStrings(
    parseOrdered(entry),
    new Map([
      ["matcher", form.matcher],
      ["command", command],
      ["exe", variables.exe],
      ["marker", variables.marker],
    ]),
  );
}

/** The settings with the entry appended, keys and numbers as they were. */
function renderJsonHooks(
  guard: JsonHooksGuard,
  original: string | undefined,
  variables: HookVariables,
  rendering: HookRendering,
): string {
  const form = chooseForm(guard.forms, rendering);
  const compat = form.mode === "compat";
  const entry = renderEntry(form, variables, rendering.failClosed === true);
  const switches = compat ? [] : keysOf(guard.switches);
  const companions = compat ? [] : keysOf(guard.companions);
  const snippet = (): string =>
    printOrdered(
      new Map<string, OrderedJson>([
        ...companions,
        ...switches,
        ["hooks", new Map([[guard.event, [entry]]])],
      ]),
      2,
    );
  const refuse = (found: string) =>
    new HookFileError(
      `Cannot add the hook to "${guard.hooksFile}": ${found}; the guard stays off until that file is plain JSON and \`bulkhead guard install\` runs again`,
      snippet(),
    );

  let root: OrderedJson = new Map();
  if (original !== undefined && original.trim() !== "") {
    try {
      root = parseOrdered(original);
    } catch {
      if (!compat) {
        throw refuse("it is not plain JSON (comments, or damage)");
      }
    }
  }
  const config = asObject(root);
  if (config === undefined) throw refuse("its content is not an object");
  for (const [name, value] of companions) {
    if (!config.has(name)) config.set(name, value);
  }
  for (const [name, value] of switches) config.set(name, value);
  if (!config.has("hooks")) config.set("hooks", new Map());
  const hooks = asObject(config.get("hooks"));
  if (hooks === undefined) throw refuse('"hooks" is not an object');
  if (!hooks.has(guard.event)) hooks.set(guard.event, []);
  const list = hooks.get(guard.event);
  if (!Array.isArray(list)) {
    throw refuse(`"hooks.${guard.event}" is not an array`);
  }
  list.push(entry);
  return printOrdered(config, 2) + "\n";
}

/**
 * Takes our own entries out of a hook file whose original is lost.
 *
 * @returns The text without them; `null` when nothing else was in it; `undefined` when it
 * holds none.
 */
export function removeOwnHooks(
  guard: GuardSection,
  text: string,
  marker: string,
): string | null | undefined {
  if (guard.engine !== "json-hooks") {
    return text.includes(`const MARKER = ${JSON.stringify(marker)};`)
      ? null
      : undefined;
  }
  let config: OrderedObject | undefined;
  try {
    config = asObject(parseOrdered(text));
  } catch {
    return undefined;
  }
  const hooks = asObject(config?.get("hooks"));
  const list = hooks?.get(guard.event);
  if (config === undefined || hooks === undefined || !Array.isArray(list)) {
    return undefined;
  }
  const names = [marker, escapeDoubleQuoted(marker)];
  const kept = list.filter((entry) => !mentions(entry, names));
  if (kept.length === list.length) return undefined;
  if (kept.length > 0) hooks.set(guard.event, kept);
  else hooks.delete(guard.event);
  if (hooks.size === 0) config.delete("hooks");
  const ours = new Map([
    ...keysOf(guard.companions),
    ...keysOf(guard.switches),
  ]);
  const others = [...config.keys()].filter((key) => !ours.has(key));
  return others.length === 0 ? null : printOrdered(config, 2) + "\n";
}

/** Says whether a command or argument below names one of the paths. */
function mentions(value: OrderedJson, names: readonly string[]): boolean {
  if (typeof value === "string") {
    return names.some((name) => value === name || value.includes(`"${name}"`));
  }
  if (Array.isArray(value)) return value.some((item) => mentions(item, names));
  return value instanceof Map &&
    [...value.values()].some((item) => mentions(item, names));
}

/** How the harness will start the hook, read back from the hook file's text. */
export function stagedCommand(
  guard: GuardSection,
  label: string,
  text: string,
  marker: string,
): string[] | undefined {
  if (guard.engine === "json-hooks") {
    return commandOf(guard, text, [marker, escapeDoubleQuoted(marker)]);
  }
  const constant = (name: string): unknown => {
    const literal = new RegExp(`^const ${name} = (".*");$`, "m").exec(text);
    const value: unknown = literal ? JSON.parse(literal[1] ?? '""') : undefined;
    return value;
  };
  const exe = constant("EXE");
  return typeof exe === "string" && constant("MARKER") === marker
    ? [exe, "guard-hook", "--harness", label, marker]
    : undefined;
}

/** The command of the last entry that names the marker. */
function commandOf(
  guard: JsonHooksGuard,
  text: string,
  names: readonly string[],
): string[] | undefined {
  let list: OrderedJson | undefined;
  try {
    const hooks = asObject(asObject(parseOrdered(text))?.get("hooks"));
    list = hooks?.get(guard.event);
  } catch {
    return undefined;
  }
  if (!Array.isArray(list)) return undefined;
  const entry = asObject(list.findLast((entry) => mentions(entry, names)));
  const inner = entry?.get("hooks");
  const handler = Array.isArray(inner) ? asObject(inner[0]) : entry;
  const command = handler?.get("command") ?? handler?.get("bash");
  if (typeof command !== "string") return undefined;
  const args = handler?.get("args");
  return Array.isArray(args)
    ? [command, ...args.filter((item) => typeof item === "string")]
    : ["/bin/sh", "-c", command];
}

/** Compares dotted versions by number; `a >= b`. */
export function atLeast(a: string, b: string): boolean {
  const left = a.split(".").map((part) => parseInt(part, 10) || 0);
  const right = b.split(".").map((part) => parseInt(part, 10) || 0);
  for (let at = 0; at < Math.max(left.length, right.length); at++) {
    const difference = (left[at] ?? 0) - (right[at] ?? 0);
    if (difference !== 0) return difference > 0;
  }
  return true;
}

/** The keys and values of JSON text. */
function keysOf(text = "{}"): [string, OrderedJson][] {
  return [...asObject(parseOrdered(text)) ?? []];
}

/** Narrows to an object. */
function asObject(value: OrderedJson | undefined): OrderedObject | undefined {
  return value instanceof Map ? value : undefined;
}
