/**
 * The registrars of the vtable: callbacks that record what the plugin gives them, only while its entry point runs.
 *
 * @module
 */

import { EVENT_COUNT, EVENT_NAMES } from "./codes.ts";
import { reasonOf } from "./errors.ts";
import {
  decodeText,
  type NativeStruct,
  readBytes,
  STRING,
  type StringPlace,
  stringPlace,
  structBytes,
} from "./memory.ts";
import {
  emptyFunctionTable,
  type FunctionPointer,
  type FunctionTable,
  type HandlerFunction,
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
/** How deep a schema or a manifest may be nested. */
const MAX_LEVELS = 100;

const REF = STRING;
const FUNCTION = "u64";
const HANDLER_ARGUMENTS = [FUNCTION, FUNCTION, "u64"] as const;

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
   * Makes the callbacks.
   *
   * @returns Slot name and callback address, and the callbacks themselves: they must stay reachable.
   */
  callbacks(): { slots: Map<string, bigint>; keep: { unref(): number }[] } {
    const slots = new Map<string, bigint>();
    const keep: { unref(): number }[] = [];
    const text = (ref: NativeStruct, maxBytes = MAX_NAME_BYTES) =>
      this.#read(stringPlace(structBytes(ref)), maxBytes);
    const add = <const P extends readonly Deno.NativeType[]>(
      slot: string,
      parameters: P,
      record: (...args: Deno.ToNativeParameterTypes<P>) => number,
    ) => {
      const guarded = (...args: Deno.ToNativeParameterTypes<P>): number => {
        // An exception would reach the plugin as 0, which means success.
        try {
          return this.open ? record(...args) : -1;
        } catch (error) {
          this.note(
            `${slot} failed: ${reasonOf(error)}`,
          );
          return 1;
        }
      };
      // The types of a callback's result do not survive a generic tuple; all of these return i32.
      const callback = Deno.UnsafeCallback.threadSafe(
        { parameters, result: "i32" } as const,
        guarded as Deno.UnsafeCallbackFunction<P, "i32">,
      );
      keep.push(callback);
      slots.set(slot, Deno.UnsafePointer.value(callback.pointer));
    };
    add("register_tool", [
      FUNCTION,
      FUNCTION,
      FUNCTION,
      FUNCTION,
      FUNCTION,
      FUNCTION,
    ], (...a) => this.#tool(...a));
    add(
      "register_command",
      [REF, REF, FUNCTION],
      (name, about, call) =>
        this.#command(text(name).replace(/^\/+/, ""), text(about), call),
    );
    add("register_shortcut", [REF, REF], (key, about) => {
      const entry = { name: text(key), description: text(about) };
      if (this.#taken("shortcut", entry.name)) return 0;
      this.note(
        `shortcut "${entry.name}" is recorded, this host binds no keys`,
      );
      return this.#push("shortcut", this.registration.shortcuts, entry);
    });
    add("register_flag", [REF, REF], (name, about) => {
      const entry = { name: text(name), description: text(about) };
      return this.#taken("flag", entry.name)
        ? 0
        : this.#push("flag", this.registration.flags, entry);
    });
    add(
      "register_provider",
      [REF, REF, REF, ...HANDLER_ARGUMENTS],
      (id, url, style, call, free, userData) => {
        const entry = {
          id: text(id),
          baseUrl: text(url),
          apiStyle: text(style),
        };
        if (!this.#valid("provider", call)) return 1;
        if (this.#taken("provider", entry.id)) return 0;
        const rc = this.#push("provider", this.registration.providers, entry);
        if (rc === 0) {
          this.functions.providers.push(handler(call, free, userData));
        }
        return rc;
      },
    );
    const renderer = (kind: RendererKind, slot: string) =>
      add(slot, [REF, ...HANDLER_ARGUMENTS], (name, call, free, userData) => {
        const entry = { kind, name: text(name) };
        if (!this.#valid(`${kind} renderer`, call)) return 1;
        if (this.#taken(`${kind} renderer`, entry.name)) return 0;
        const rc = this.#push("renderer", this.registration.renderers, entry);
        if (rc === 0) {
          this.functions.renderers.push(handler(call, free, userData));
        }
        return rc;
      });
    renderer("message", "register_message_renderer");
    renderer("markdown", "register_markdown_transformer");
    renderer("entry", "register_entry_renderer");
    add(
      "register_event_handler",
      ["u32", FUNCTION, "u64"],
      (tag, call, userData) => {
        if (!this.#valid("event handler", call)) return 1;
        if (tag >= EVENT_COUNT) {
          this.note(
            `an event handler for tag ${tag} is ignored, the last one is ${
              EVENT_COUNT - 1
            }`,
          );
          return 0;
        }
        if (this.registration.events.length >= MAX_ENTRIES) {
          return this.#full(
            `handler of ${EVENT_NAMES[tag]}`,
          );
        }
        this.functions.events.push(handler(call, 0n, userData));
        this.registration.events.push(tag);
        return 0;
      },
    );
    const listed = (
      slot: string,
      what: string,
      kind: "discover" | "beforeAgentStart",
    ) =>
      add(slot, HANDLER_ARGUMENTS, (call, free, userData) => {
        const list = this.functions[kind];
        if (!this.#valid(what, call)) return 1;
        const rc = this.#push(what, list, handler(call, free, userData));
        this.registration[kind] = list.length;
        return rc;
      });
    listed(
      "register_resources_discover",
      "resources_discover handler",
      "discover",
    );
    listed(
      "register_before_agent_start",
      "before_agent_start handler",
      "beforeAgentStart",
    );
    add(
      "register_oauth_provider",
      [REF, ...HANDLER_ARGUMENTS],
      (manifest, call, free, userData) =>
        this.#oauth(text(manifest, MAX_TEXT_BYTES), call, free, userData),
    );
    add("declare", [REF], (declaration) => {
      const value = parse(text(declaration, MAX_TEXT_BYTES));
      if (applyDeclaration(this.registration, value)) return 0;
      this.note("a declaration is ignored: it is not a JSON object");
      return 1;
    });
    return { slots, keep };
  }

  /**
   * Notes something a person should know.
   *
   * @param line One line.
   */
  note(line: string): void {
    const { diagnostics } = this.registration;
    if (diagnostics.length < MAX_DIAGNOSTICS) diagnostics.push(line);
    else if (diagnostics.length === MAX_DIAGNOSTICS) {
      diagnostics.push("further diagnostics are dropped");
    }
  }

  #tool(
    schema: FunctionPointer,
    execute: FunctionPointer,
    poll: FunctionPointer,
    cancel: FunctionPointer,
    destroy: FunctionPointer,
    free: FunctionPointer,
  ): number {
    if (schema === 0n) {
      this.note("a tool is refused: its schema is NULL");
      return 1;
    }
    const bytes = readBytes({
      pointer: schema,
      size: 48n,
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
    for (const place of places) if (place.size > 0n) this.#freeNow(free, place);
    if (name === "") {
      this.note("a tool is refused: it has no name");
      return 1;
    }
    if (execute === 0n || poll === 0n) {
      this.note(`tool "${name}" is refused: execute or poll is NULL`);
      return 1;
    }
    if (this.#taken("tool", name)) return 0;
    if (cancel === 0n) this.note(`tool "${name}" has no cancel: it is NULL`);
    if (destroy === 0n) {
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
    this.functions.tools.push({ execute, poll, cancel, destroy, free });
    return 0;
  }

  #command(name: string, description: string, call: FunctionPointer): number {
    if (name === "") {
      this.note("a command is refused: it has no name");
      return 1;
    }
    if (!this.#valid(`command "${name}"`, call)) return 1;
    if (this.#taken("command", name)) return 0;
    const entry = { name, description };
    const rc = this.#push("command", this.registration.commands, entry);
    // The ABI gives a command neither user_data nor a function that frees its answer.
    if (rc === 0) this.functions.commands.push(handler(call, 0n, 0n));
    return rc;
  }

  #oauth(
    text: string,
    call: FunctionPointer,
    free: FunctionPointer,
    userData: bigint,
  ): number {
    if (!this.#valid("oauth provider", call)) return 1;
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
    const rc = this.#push("oauth provider", this.registration.oauth, entry);
    if (rc === 0) this.functions.oauth.push(handler(call, free, userData));
    return rc;
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

  #valid(what: string, call: FunctionPointer): boolean {
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

  #push<T>(kind: string, list: T[], entry: T): number {
    if (list.length >= MAX_ENTRIES) return this.#full(kind);
    list.push(entry);
    return 0;
  }

  #full(kind: string): number {
    this.note(`a ${kind} is refused: there are ${MAX_ENTRIES} already`);
    return 1;
  }
}

function handler(
  call: FunctionPointer,
  free: FunctionPointer,
  userData: bigint,
): HandlerFunction {
  return { call, free, userData };
}

/** JSON of a plugin; what is none, or nested deeper than anybody can use, is nothing. */
function parse(text: string): unknown {
  const value = tryParseJson(text);
  return isNestedWithin(value, MAX_LEVELS) ? value : undefined;
}
