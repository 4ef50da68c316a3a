/**
 * What is known of a shell while its commands are read one after the other.
 *
 * @module
 */
import type { Function as FunctionNode } from "unbash";
import { ANY } from "../holes.ts";

/** The texts that one value may have; never empty. */
export type Values = readonly string[];

/** What flows through a pipe. Neither field means that nothing is known. */
export interface Stream {
  /** The exact text. */
  text?: string;
  /** What a line of it may be. */
  items?: Values;
  /** The guard's own files among its lines, where they were met rather than named. */
  swept?: Values;
}

/** A stream of which nothing is known. */
export const UNKNOWN_STREAM: Stream = {};
/** A stream that ends at once. */
export const EMPTY_STREAM: Stream = { text: "" };

/** Most alternatives that are followed for one value. */
const MAX_VALUES = 24;

/** Longest text that is built from parts. */
const MAX_LENGTH = 65_536;

/**
 * Every text that is in one of two lists.
 *
 * @param a Some values.
 * @param b More values.
 * @returns Their union; one unknown value when there are too many.
 */
export function union(a: Values, b: Values): Values {
  if (a === b || (a.length === 1 && b.length === 1 && a[0] === b[0])) return a;
  const all = [...new Set([...a, ...b])];
  return all.length > MAX_VALUES ? [ANY] : all;
}

/**
 * Every text of `a` followed by every text of `b`.
 *
 * @param a First halves.
 * @param b Second halves.
 * @returns The concatenations; one unknown value when there are too many.
 */
export function concat(a: Values, b: Values): Values {
  if (
    (a[0]?.length ?? 0) + (b[0]?.length ?? 0) > MAX_LENGTH && a[0] !== "" &&
    b[0] !== ""
  ) {
    return [ANY];
  }
  if (b.length === 1) {
    const tail = b[0] ?? "";
    return tail === ""
      ? a
      : a.length === 1
      ? [(a[0] ?? "") + tail]
      : a.map((head) => head + tail);
  }
  if (a.length * b.length > MAX_VALUES) return [ANY];
  return a.flatMap((head) => b.map((tail) => head + tail));
}

/**
 * The lines of a stream.
 *
 * @param stream A stream.
 * @returns What its lines may be, or `undefined` when that is unknown.
 */
export function linesOf(stream: Stream): Values | undefined {
  if (stream.items !== undefined) return stream.items;
  if (stream.text === undefined) return undefined;
  const lines = stream.text.split(/[\n\0]/).filter((line) => line !== "");
  return lines.length > 200 ? undefined : lines;
}

/**
 * One stream after the other.
 *
 * @param a The first.
 * @param b The second.
 * @returns What is known of both together.
 */
export function joinStreams(a: Stream, b: Stream): Stream {
  if (a.text === "") return b;
  if (b.text === "") return a;
  if (a.text !== undefined && b.text !== undefined) {
    return { text: a.text + b.text };
  }
  const first = linesOf(a);
  const second = linesOf(b);
  return first === undefined || second === undefined ? UNKNOWN_STREAM : {
    items: union(first, second),
    ...a.swept === undefined && b.swept === undefined
      ? {}
      : { swept: [...a.swept ?? [], ...b.swept ?? []] },
  };
}

/** A variable: its elements, one for a plain variable. */
export type Variable = readonly Values[];

/**
 * The shell's note of one element of an associative array; no variable's name.
 *
 * @param name The array.
 * @param key The key.
 * @returns The note's name.
 */
export function elementOf(name: string, key: string): string {
  return `${name}[${key}]`;
}

/** Nothing is gone. */
const NONE: ReadonlySet<string> = new Set();

/** A shell: directory, variables, functions. A fork sees its parent and keeps its own changes. */
export class State {
  /** Where it may be. */
  cwd: Values;
  /** Where it may have been before the last `cd`. */
  oldCwd: Values = [ANY];
  /** `$_`: the last word of the command before. */
  lastWord: Values = [ANY];
  /** `$1`, `$2`, …. */
  positional: readonly Values[] = [];
  /** `$0`. */
  name: Values = ["bash"];
  /** Directories kept by `pushd`. */
  stack: readonly Values[] = [];
  /** Commands that run when this shell ends. */
  readonly traps: string[] = [];
  /** While a function runs: what its local variables were before. */
  locals: Map<string, Variable | undefined> | undefined;
  /** Links that were on disk and are taken away by now, by their resolved paths. */
  gone: ReadonlySet<string> = NONE;
  /** Set by a command after which nothing of this list runs. */
  ended = false;
  readonly #parent: State | undefined;
  readonly #variables = new Map<string, Variable>();
  readonly #functions = new Map<string, FunctionNode>();
  readonly #aliases = new Map<string, string>();

  /**
   * Starts a shell.
   *
   * @param cwd Where it may be.
   * @param parent The shell it is a copy of.
   */
  constructor(cwd: Values, parent?: State) {
    this.cwd = cwd;
    this.#parent = parent;
  }

  /**
   * A copy whose changes stay its own.
   *
   * @returns The copy.
   */
  fork(): State {
    const child = new State(this.cwd, this);
    child.oldCwd = this.oldCwd;
    child.lastWord = this.lastWord;
    child.positional = this.positional;
    child.name = this.name;
    child.stack = this.stack;
    child.gone = this.gone;
    return child;
  }

  /**
   * Reads a variable.
   *
   * @param name Its name.
   * @returns Its elements, or `undefined` when nothing is known of it.
   */
  get(name: string): Variable | undefined {
    const own = this.#variables.get(name);
    if (own !== undefined) return own;
    let scope = this.#parent;
    while (scope !== undefined) {
      const value = scope.#variables.get(name);
      if (value !== undefined) return value;
      scope = scope.#parent;
    }
    return undefined;
  }

  /**
   * Whether the command has set any variable.
   *
   * @returns `false` in a shell whose variables nobody has touched.
   */
  hasVariables(): boolean {
    return this.#variables.size > 0 || this.#parent?.hasVariables() === true;
  }

  /**
   * Sets a variable.
   *
   * @param name Its name.
   * @param value Its elements.
   */
  set(name: string, value: Variable): void {
    this.#variables.set(name, value);
  }

  /**
   * Takes back a temporary assignment.
   *
   * @param name The variable.
   * @param before What {@linkcode State.own} gave before.
   */
  restore(name: string, before: Variable | undefined): void {
    if (before === undefined) this.#variables.delete(name);
    else this.#variables.set(name, before);
  }

  /**
   * Makes a variable local to the function that runs.
   *
   * @param name The variable.
   */
  keepLocal(name: string): void {
    if (this.locals === undefined || this.locals.has(name)) return;
    this.locals.set(name, this.own(name));
  }

  /**
   * What this shell itself, not its parent, holds of a variable.
   *
   * @param name Its name.
   * @returns Its elements or `undefined`.
   */
  own(name: string): Variable | undefined {
    return this.#variables.get(name);
  }

  /**
   * Finds a function.
   *
   * @param name Its name.
   * @returns Its definition or `undefined`.
   */
  getFunction(name: string): FunctionNode | undefined {
    return this.#functions.get(name) ?? this.#parent?.getFunction(name);
  }

  /**
   * Defines a function.
   *
   * @param name Its name.
   * @param node Its definition.
   */
  setFunction(name: string, node: FunctionNode): void {
    this.#functions.set(name, node);
  }

  /**
   * Finds an alias.
   *
   * @param name Its name.
   * @returns Its text or `undefined`.
   */
  getAlias(name: string): string | undefined {
    return this.#aliases.get(name) ?? this.#parent?.getAlias(name);
  }

  /**
   * Defines an alias.
   *
   * @param name Its name.
   * @param text What it stands for.
   */
  setAlias(name: string, text: string): void {
    this.#aliases.set(name, text);
  }

  /**
   * Joins forks of which exactly one has run, or perhaps none.
   *
   * @param branches The forks.
   * @param maybeNone Whether it may be that none has run.
   */
  merge(branches: readonly State[], maybeNone: boolean): void {
    const live = branches.filter((branch) => !branch.ended);
    for (const branch of branches) {
      if (branch.ended) this.traps.push(...branch.traps);
    }
    if (live.length === 0) {
      if (!maybeNone && branches.length > 0) this.ended = true;
      return;
    }
    const names = new Set(
      live.flatMap((branch) => [...branch.#variables.keys()]),
    );
    for (const name of names) {
      let joined: Variable | undefined;
      for (const branch of maybeNone ? [this, ...live] : live) {
        const value = branch.get(name);
        // A variable that nobody has set reads as unknown, but only where it is read.
        if (value === undefined) continue;
        joined = joined === undefined ? value : joinVariables(joined, value);
      }
      if (joined !== undefined) this.set(name, joined);
    }
    const places = maybeNone ? [this, ...live] : live;
    this.cwd = places.map((branch) => branch.cwd).reduce(union);
    this.oldCwd = places.map((branch) => branch.oldCwd).reduce(union);
    this.gone = places.map((branch) => branch.gone).reduce((a, b) =>
      a === b ? a : a.intersection(b)
    );
    this.lastWord = places.map((branch) => branch.lastWord).reduce(union);
    for (const branch of live) {
      for (const [name, node] of branch.#functions) {
        this.#functions.set(name, node);
      }
      for (const [name, text] of branch.#aliases) this.#aliases.set(name, text);
      this.traps.push(...branch.traps);
      if (branch.positional !== this.positional) {
        this.positional = branch.positional;
      }
    }
  }

  /**
   * A short text that changes when the directory or a variable of this fork changes.
   *
   * @returns The text.
   */
  fingerprint(): string {
    return JSON.stringify([this.cwd, [...this.#variables]]);
  }

  /**
   * Names set in this fork whose values differ from another fork's.
   *
   * @param other The other fork.
   * @returns The names.
   */
  changedFrom(other: State): string[] {
    return [...this.#variables.keys()].filter((name) =>
      JSON.stringify(this.get(name)) !== JSON.stringify(other.get(name))
    );
  }
}

function joinVariables(a: Variable, b: Variable): Variable {
  if (a === b) return a;
  const length = Math.max(a.length, b.length);
  const joined: Values[] = [];
  for (let i = 0; i < length; i++) {
    const left = a[i];
    const right = b[i];
    joined.push(
      left === undefined
        ? right ?? [""]
        : right === undefined
        ? left
        : union(left, right),
    );
  }
  return joined;
}
