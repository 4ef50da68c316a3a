/**
 * What a plugin registers, recorded while its entry point runs. Each method answers as its slot of the vtable does:
 * 0 for what was taken or is there already, 1 for what was refused, with a note that says why.
 *
 * @module
 */

import { EVENT_COUNT, EVENT_NAMES } from "./codes.ts";
import {
  decodeText,
  type NativeStruct,
  readBytes,
  type StringPlace,
  stringPlace,
  structBytes,
} from "./memory.ts";
import {
  emptyFunctionTable,
  type FunctionPointer,
  type FunctionTable,
  type HandlerFunction,
  type ToolFunctions,
} from "./function_table.ts";
import { isNestedWithin, isObject, tryParseJson } from "./json.ts";
import {
  applyDeclaration,
  emptyRegistration,
  type Registration,
  type RendererKind,
} from "./registration.ts";

/** The most entries of one kind that are kept. */
const MAX_ENTRIES = 20_000;
const MAX_NAME_BYTES = 4_096n;
const MAX_TEXT_BYTES = 1_048_576n;
const MAX_DIAGNOSTICS = 200;
const MAX_LINE = 500;
/** A tool's schema is three strings of sixteen bytes. */
const SCHEMA_BYTES = 48n;
/** How deep a schema or a manifest may be nested. */
const MAX_LEVELS = 100;

/** What the diagnostics call a handler of a list without names. */
const LISTED = {
  discover: "resources_discover handler",
  beforeAgentStart: "before_agent_start handler",
} as const;

/** Where the callbacks of one plugin record. */
export class Registrar {
  /** What was registered so far. */
  readonly registration: Registration = emptyRegistration();
  /** The functions behind it. */
  readonly functions: FunctionTable = emptyFunctionTable();
  /** True while the entry point runs; registrars answer -1 at any other time. */
  open = false;
  readonly #freeNow: (free: FunctionPointer, place: StringPlace) => void;
  readonly #names = new Set<string>();

  /**
   * Creates a registrar.
   *
   * @param freeNow Frees a string of the plugin before the callback returns.
   */
  constructor(freeNow: (free: FunctionPointer, place: StringPlace) => void) {
    this.#freeNow = freeNow;
  }

  /**
   * Notes something a person should know.
   *
   * @param line One line.
   */
  note(line: string): void {
    const { diagnostics } = this.registration;
    if (diagnostics.length < MAX_DIAGNOSTICS) {
      // Names may have thousands of characters.
      diagnostics.push(
        line.length > MAX_LINE
          ? `${line.slice(0, MAX_LINE).toWellFormed()}…`
          : line,
      );
    } else if (diagnostics.length === MAX_DIAGNOSTICS) {
      diagnostics.push("further diagnostics are dropped");
    }
  }

  /**
   * Records a tool.
   *
   * @param schema Where its schema lies.
   * @param functions Its functions.
   * @returns The answer to the plugin.
   */
  tool(schema: FunctionPointer, functions: ToolFunctions): number {
    if (schema === 0n) {
      this.note("a tool is refused: its schema is NULL");
      return 1;
    }
    const bytes = readBytes({
      pointer: schema,
      size: SCHEMA_BYTES,
    });
    const places = [
      stringPlace(bytes, 0),
      stringPlace(bytes, 16),
      stringPlace(bytes, 32),
    ] as const;
    const [name, description, parameters] = [
      this.#read(places[0], MAX_NAME_BYTES),
      this.#read(places[1], MAX_TEXT_BYTES),
      this.#read(places[2], MAX_TEXT_BYTES),
    ];
    // Copied; the contract has them freed before this returns, also when the tool is refused.
    for (const place of places) {
      if (place.size > 0n) this.#freeNow(functions.free, place);
    }
    if (name === "") {
      this.note("a tool is refused: it has no name");
      return 1;
    }
    if (functions.execute === 0n || functions.poll === 0n) {
      this.note(`tool "${name}" is refused: execute or poll is NULL`);
      return 1;
    }
    if (this.#taken("tool", name)) return 0;
    if (functions.cancel === 0n) {
      this.note(`tool "${name}" has no cancel: it is NULL`);
    }
    if (functions.destroy === 0n) {
      this.note(`tool "${name}" has no destroy: its handles are never freed`);
    }
    if (this.registration.tools.length >= MAX_ENTRIES) {
      return this.#full("tool");
    }
    const fits = isObject(parse(parameters));
    if (!fits) {
      this.note(`tool "${name}" has no JSON object as parameters, {} is used`);
    }
    this.registration.tools.push({
      name,
      description,
      parameters: fits ? parameters : "{}",
    });
    this.functions.tools.push(functions);
    return 0;
  }

  /**
   * Records a slash command.
   *
   * @param name Its name.
   * @param about Its description.
   * @param call Its function.
   * @returns The answer to the plugin.
   */
  command(
    name: NativeStruct,
    about: NativeStruct,
    call: FunctionPointer,
  ): number {
    const entry = {
      name: this.#text(name).replace(/^\/+/, ""),
      description: this.#text(about),
    };
    if (entry.name === "") {
      this.note("a command is refused: it has no name");
      return 1;
    }
    // The ABI gives a command neither user_data nor a function that frees its answer.
    const handler = { call, free: 0n, userData: 0n };
    if (!this.#valid(`command "${entry.name}"`, handler)) return 1;
    if (this.#taken("command", entry.name)) return 0;
    return this.#push("command", this.registration.commands, entry, [
      this.functions.commands,
      handler,
    ]);
  }

  /**
   * Records a shortcut.
   *
   * @param key The keys.
   * @param about Its description.
   * @returns The answer to the plugin.
   */
  shortcut(key: NativeStruct, about: NativeStruct): number {
    const entry = { name: this.#text(key), description: this.#text(about) };
    if (this.#taken("shortcut", entry.name)) return 0;
    this.note(`shortcut "${entry.name}" is recorded, this host binds no keys`);
    return this.#push("shortcut", this.registration.shortcuts, entry);
  }

  /**
   * Records a flag of the command line.
   *
   * @param name Its name.
   * @param about Its description.
   * @returns The answer to the plugin.
   */
  flag(name: NativeStruct, about: NativeStruct): number {
    const entry = { name: this.#text(name), description: this.#text(about) };
    return this.#taken("flag", entry.name)
      ? 0
      : this.#push("flag", this.registration.flags, entry);
  }

  /**
   * Records a provider of models.
   *
   * @param id Its id.
   * @param url Its base URL.
   * @param style The API that it speaks.
   * @param handler Its function.
   * @returns The answer to the plugin.
   */
  provider(
    id: NativeStruct,
    url: NativeStruct,
    style: NativeStruct,
    handler: HandlerFunction,
  ): number {
    const entry = {
      id: this.#text(id),
      baseUrl: this.#text(url),
      apiStyle: this.#text(style),
    };
    if (!this.#valid("provider", handler)) return 1;
    if (this.#taken("provider", entry.id)) return 0;
    return this.#push("provider", this.registration.providers, entry, [
      this.functions.providers,
      handler,
    ]);
  }

  /**
   * Records a renderer.
   *
   * @param kind What it renders.
   * @param ref Its name.
   * @param handler Its function.
   * @returns The answer to the plugin.
   */
  renderer(
    kind: RendererKind,
    ref: NativeStruct,
    handler: HandlerFunction,
  ): number {
    const name = this.#text(ref);
    if (!this.#valid(`${kind} renderer`, handler)) return 1;
    if (this.#taken(`${kind} renderer`, name)) return 0;
    const entry = { kind, name };
    return this.#push("renderer", this.registration.renderers, entry, [
      this.functions.renderers,
      handler,
    ]);
  }

  /**
   * Records a handler of events.
   *
   * @param tag The event.
   * @param handler Its function.
   * @returns The answer to the plugin.
   */
  eventHandler(tag: number, handler: HandlerFunction): number {
    if (!this.#valid("event handler", handler)) return 1;
    if (tag >= EVENT_COUNT) {
      this.note(
        `an event handler for tag ${tag} is ignored, the last one is ${
          EVENT_COUNT - 1
        }`,
      );
      return 0;
    }
    const what = `handler of ${EVENT_NAMES[tag]}`;
    return this.#push(what, this.registration.events, tag, [
      this.functions.events,
      handler,
    ]);
  }

  /**
   * Records a handler that has no name.
   *
   * @param kind What it handles.
   * @param handler Its function.
   * @returns The answer to the plugin.
   */
  listed(kind: keyof typeof LISTED, handler: HandlerFunction): number {
    const list = this.functions[kind];
    if (!this.#valid(LISTED[kind], handler)) return 1;
    const rc = this.#push(LISTED[kind], list, handler);
    this.registration[kind] = list.length;
    return rc;
  }

  /**
   * Records a login flow.
   *
   * @param ref Its manifest.
   * @param handler Its function.
   * @returns The answer to the plugin.
   */
  oauth(ref: NativeStruct, handler: HandlerFunction): number {
    const text = this.#text(ref, MAX_TEXT_BYTES);
    if (!this.#valid("oauth provider", handler)) return 1;
    const manifest = parse(text);
    if (
      !isObject(manifest) || typeof manifest.id !== "string" ||
      manifest.id === ""
    ) {
      this.note(
        'an oauth provider is refused: its manifest is not a JSON object with an "id"',
      );
      return 1;
    }
    if (this.#taken("oauth provider", manifest.id)) return 0;
    const entry = { id: manifest.id, manifest };
    return this.#push("oauth provider", this.registration.oauth, entry, [
      this.functions.oauth,
      handler,
    ]);
  }

  /**
   * Records what the plugin declares of itself.
   *
   * @param ref The declaration.
   * @returns The answer to the plugin.
   */
  declare(ref: NativeStruct): number {
    const value = parse(this.#text(ref, MAX_TEXT_BYTES));
    if (applyDeclaration(this.registration, value)) return 0;
    this.note("a declaration is ignored: it is not a JSON object");
    return 1;
  }

  #text(ref: NativeStruct, maxBytes = MAX_NAME_BYTES): string {
    return this.#read(stringPlace(structBytes(ref)), maxBytes);
  }

  /** Too long is cut, never read: a plugin may claim any length. */
  #read(place: StringPlace, maxBytes: bigint): string {
    const { pointer, size } = place;
    if (size <= maxBytes) return decodeText(readBytes(place));
    const text = decodeText(readBytes({ pointer, size: maxBytes }));
    this.note(
      `a text of ${size} bytes is cut to ${maxBytes}: "${text.slice(0, 40)}…"`,
    );
    return text;
  }

  #valid(what: string, { call }: HandlerFunction): boolean {
    if (call !== 0n) return true;
    this.note(`${what} is refused: its function is NULL`);
    return false;
  }

  #taken(kind: string, name: string): boolean {
    const key = `${kind}\0${name}`;
    if (!this.#names.has(key)) {
      this.#names.add(key);
      return false;
    }
    if (this.registration.collisions.length < MAX_ENTRIES) {
      this.registration.collisions.push({ kind, name });
    }
    this.note(`${kind} "${name}" is registered twice, the first one stays`);
    return true;
  }

  /** Adds an entry, and the function behind it. */
  #push<T>(
    kind: string,
    entries: T[],
    entry: T,
    behind?: [functions: HandlerFunction[], handler: HandlerFunction],
  ): number {
    if (entries.length >= MAX_ENTRIES) return this.#full(kind);
    entries.push(entry);
    if (behind !== undefined) behind[0].push(behind[1]);
    return 0;
  }

  #full(kind: string): number {
    this.note(`a ${kind} is refused: there are ${MAX_ENTRIES} already`);
    return 1;
  }
}

/** JSON of a plugin; what is none, or nested deeper than anybody can use, is nothing. */
function parse(text: string): unknown {
  const value = tryParseJson(text);
  return isNestedWithin(value, MAX_LEVELS) ? value : undefined;
}
