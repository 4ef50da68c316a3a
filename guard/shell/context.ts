/**
 * What the parts of the shell reader share while one command is read.
 *
 * @module
 */
import type { Script } from "unbash";
import type { Boundary } from "../boundary.ts";
import type { Effect, EffectMode, EffectRule } from "../effect.ts";
import { isKnown, showValue } from "../holes.ts";
import type { State, Stream, Values } from "./state.ts";
import { UNKNOWN_STREAM } from "./state.ts";

/** Simple commands that are followed in one text, loops and functions unrolled. */
const MAX_STEPS = 4_000;
/** Texts in texts (`bash -c`, `eval`) and calls in calls that are followed. */
const MAX_DEPTH = 24;

/** Writes that are judged in one text; each may cost a look at the disk. */
const MAX_WRITES = 4_000;

/** How an effect is named in reasons. */
export interface EffectName {
  /** The rule that finds it. */
  rule: EffectRule;
  /** The program or operator. */
  verb: string;
  /** The words between the brackets of the reason. */
  label: string;
}

/** Runs parts of a command in the reader's model; the reader itself implements it. */
export interface Runner {
  /** Follows parsed commands. */
  script(script: Script, state: State, stdin: Stream): Stream;
  /** Parses and follows text. */
  text(text: string, state: State, stdin: Stream): Stream;
  /** Follows one command by its words. */
  argv(argv: readonly string[], state: State, stdin: Stream): Stream;
}

/** The shared context of one reading. */
export class Context {
  /** Judges paths. */
  readonly boundary: Boundary;
  /** The home directory, when known. */
  readonly home: string | undefined;
  /** Environment variables whose values are known. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Follows nested commands. */
  readonly run: Runner;
  /** What was found. */
  readonly effects: Effect[] = [];
  /** Files whose content the command itself has written, by resolved path. */
  readonly files: Map<string, Stream> = new Map();
  /** Functions that are being followed, with the directory of each call. */
  readonly calls: Map<object, Values[]> = new Map();
  /** Set when something that may write could not be followed to its end. */
  incomplete = false;
  /** Nested texts and calls at this point. */
  depth = 0;
  #steps = 0;
  #pipes = 0;

  /**
   * Starts a reading.
   *
   * @param init Boundary, home, environment and the runner.
   */
  constructor(
    init: {
      boundary: Boundary;
      home: string | undefined;
      env: Readonly<Record<string, string | undefined>>;
      run: Runner;
    },
  ) {
    this.boundary = init.boundary;
    this.home = init.home;
    this.env = init.env;
    this.run = init.run;
  }

  /**
   * Counts one command.
   *
   * @param words How many words it has.
   * @returns `false` when no more may be followed.
   */
  step(words = 0): boolean {
    this.#steps += 1 + words / 8;
    if (this.#steps <= MAX_STEPS) return true;
    this.incomplete = true;
    return false;
  }

  /**
   * Whether no more may be followed.
   *
   * @returns `true` when loops should stop as well.
   */
  get exhausted(): boolean {
    return this.#steps > MAX_STEPS || this.effects.length >= MAX_WRITES;
  }

  /**
   * Follows something nested, unless it is nested too deeply.
   *
   * @param follow Does it.
   * @returns Its output.
   */
  nested(follow: () => Stream): Stream {
    if (this.depth >= MAX_DEPTH) {
      this.incomplete = true;
      return UNKNOWN_STREAM;
    }
    this.depth++;
    try {
      return follow();
    } finally {
      this.depth--;
    }
  }

  /**
   * Runs something in a shell of its own, and what its traps have kept for its end.
   *
   * @param state The shell it starts from.
   * @param follow Runs it.
   * @returns Its output.
   */
  inSubshell(state: State, follow: (inner: State) => Stream): Stream {
    const inner = state.fork();
    const output = follow(inner);
    // What is gone from the disk is gone for the outer shell as well.
    state.gone = inner.gone;
    for (const text of inner.traps.splice(0)) {
      this.run.text(text, inner.fork(), {});
    }
    return output;
  }

  /**
   * Records a write.
   *
   * @param name Rule, program and label.
   * @param path The target as a value.
   * @param state The shell it happens in.
   * @param mode How the target is touched.
   * @returns `true` when every place it may go to is allowed.
   */
  write(
    name: EffectName,
    path: string,
    state: State,
    mode: EffectMode = "content",
  ): boolean {
    if (path === "") return true;
    if (this.effects.length >= MAX_WRITES) {
      this.incomplete = true;
      return false;
    }
    let fine = true;
    this.boundary.gone = state.gone;
    for (const cwd of state.cwd) {
      const { verdict, target } = this.boundary.judge(path, cwd, mode);
      if (verdict !== "inside" && verdict !== "device") fine = false;
      this.effects.push({
        ...name,
        path: showValue(path),
        ...target === undefined ? {} : { target: showValue(target) },
        verdict,
      });
    }
    return fine;
  }

  /**
   * Records something that is denied for what it is.
   *
   * @param name Rule, program and label.
   * @param path What it is about.
   */
  refuse(name: EffectName, path = ""): void {
    this.effects.push({ ...name, path: showValue(path), verdict: "refused" });
  }

  /**
   * Where a value leads.
   *
   * @param path The value.
   * @param state The shell.
   * @returns The resolved path or `undefined`.
   */
  resolve(path: string, state: State): string | undefined {
    const cwd = state.cwd[0];
    this.boundary.gone = state.gone;
    if (cwd === undefined || state.cwd.length > 1 && !path.startsWith("/")) {
      return undefined;
    }
    return this.boundary.resolve(path, cwd, true);
  }

  /**
   * What a file holds, if the command itself has written it.
   *
   * @param path The file as a value.
   * @param state The shell.
   * @returns Its content, or nothing known.
   */
  readFile(path: string, state: State): Stream {
    if (this.files.size === 0) return UNKNOWN_STREAM;
    const pipe = this.files.get(path);
    if (pipe !== undefined) return pipe;
    const target = this.resolve(path, state);
    return target === undefined
      ? UNKNOWN_STREAM
      : this.files.get(target) ?? UNKNOWN_STREAM;
  }

  /**
   * Remembers what a file holds.
   *
   * @param path The file as a value.
   * @param state The shell.
   * @param content Its new content.
   * @param append Whether it is added to what was there.
   */
  keepFile(path: string, state: State, content: Stream, append: boolean): void {
    const target = this.resolve(path, state);
    if (target === undefined || !isKnown(target)) return;
    const before = append ? this.files.get(target) : undefined;
    if (!append && content.text === undefined && content.items !== undefined) {
      this.files.set(target, content);
    } else if (append && before === undefined || content.text === undefined) {
      this.files.delete(target);
    } else {this.files.set(target, {
        text: (before?.text ?? "") + content.text,
      });}
    if (append && before === undefined && content.text !== undefined) {
      this.files.set(target, content);
    }
  }

  /**
   * Makes a path for a process substitution.
   *
   * @param content What it gives to its reader.
   * @returns The path.
   */
  pipe(content: Stream): string {
    const path = `/dev/fd/${1000 + this.#pipes++}`;
    this.files.set(path, content);
    return path;
  }
}
