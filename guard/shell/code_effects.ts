/**
 * Records what scripting code does: files it writes, programs it starts.
 *
 * @module
 */
import { normalizePath } from "@bulkhead/sandbox/paths";
import type { EffectMode } from "../effect.ts";
import { ANY, isKnown, SEG } from "../holes.ts";
import { type Call, writes } from "./call.ts";
import { forgetLink } from "./links.ts";
import { joinPath } from "./places.ts";

const LABEL = {
  rule: "interpreter",
  label: "file write inside interpreter code",
} as const;

/** Records effects in the directory that the code has gone to. */
export class CodeEffects {
  /** Where the code is, when it has gone somewhere. */
  cwd: string | undefined;
  readonly #call: Call;

  /**
   * Prepares recording.
   *
   * @param call The interpreter's call.
   */
  constructor(call: Call) {
    this.#call = call;
  }

  /**
   * Follows a command line that the code starts.
   *
   * @param text The command line.
   */
  shell(text: string): void {
    const { context } = this.#call;
    context.nested(() =>
      context.inSubshell(
        this.#place(),
        (inner) => context.run.text(text, inner, {}),
      )
    );
  }

  /**
   * Follows a program that the code starts by its arguments.
   *
   * @param argv The program and its arguments.
   */
  argv(argv: string[]): void {
    const { context } = this.#call;
    context.nested(() => context.run.argv(argv, this.#place(), {}));
  }

  /**
   * The call in the directory that the code is in.
   *
   * @returns A call with a state of its own.
   */
  call(): Call {
    return { ...this.#call, state: this.#place() };
  }

  #place(): Call["state"] {
    const place = this.#call.state.fork();
    const here = this.cwd;
    if (here !== undefined) {
      place.cwd = place.cwd.map((cwd) => joinPath(cwd, here));
    }
    return place;
  }

  /**
   * Records a write.
   *
   * @param value The path.
   * @param mode How it is touched.
   */
  write(value: string, mode: EffectMode): void {
    const path = isKnown(value) ? value : this.#certainPart(value);
    if (
      path === undefined || path === "" ||
      /^[a-z][a-z\d+.-]+:\/\//i.test(path) && !path.startsWith("file://")
    ) return;
    const call = this.call();
    writes(call, path.replace(/^file:\/\//, ""), mode, LABEL);
    if (mode === "tree" && isKnown(path)) {
      forgetLink(call, path);
      this.#call.state.gone = call.state.gone;
    }
  }

  /**
   * A path whose end is computed, as far as its directory says where it is: not when that is
   * one above a root, below which anything may be.
   */
  #certainPart(value: string): string | undefined {
    if (!value.includes(ANY)) return value;
    const start = value.slice(0, value.indexOf(ANY));
    const directory = start.slice(0, start.lastIndexOf("/") + 1);
    if (directory === "") return undefined;
    const above = directory.startsWith("/") &&
      this.#call.context.boundary.roots.some((root) =>
        `${root}/`.startsWith(normalizePath(directory).replace(/\/?$/, "/"))
      );
    return above ? undefined : start + SEG;
  }
}
