import type { DeniedCall, ToolCall, Verdict } from "@bulkhead/worker";
import { below, describeInput } from "./describe.ts";
import { ANSWER, type Denial } from "./summary.ts";

/** By how much the times of a file system may be coarser than the clock. */
const COARSE_MS = 2000;

/** What is remembered of a session for its summary. */
export class SessionNotes {
  readonly #workspace: string;
  readonly #since = Date.now();
  readonly #mayWrite = new Set<string>();
  readonly #inputs = new Map<string, string>();
  readonly #undecided = new Map<string, string>();
  readonly #denied: Denial[] = [];
  readonly #deniedIds = new Set<string>();

  /**
   * Opens the notes.
   *
   * @param workspace The workspace.
   */
  constructor(workspace: string) {
    this.#workspace = workspace;
  }

  /** A call that the guard has no objection to would write these. */
  mayWrite(paths: readonly string[]): void {
    for (const path of paths) this.#mayWrite.add(path);
  }

  /** A call was judged. */
  judged(call: ToolCall, verdict: Verdict): void {
    const input = describeInput(call.input, this.#workspace);
    if (call.toolUseId !== undefined) this.#inputs.set(call.toolUseId, input);
    if (call.toolUseId !== undefined && verdict.reason !== undefined) {
      this.#undecided.set(call.toolUseId, verdict.reason);
    }
    if (verdict.decision !== "deny") return;
    if (call.toolUseId !== undefined) {
      if (this.#deniedIds.has(call.toolUseId)) return;
      this.#deniedIds.add(call.toolUseId);
    }
    this.#denied.push({
      tool: call.toolName,
      input,
      by: verdict.by ?? "a decider",
      reason: verdict.reason ?? "",
    });
  }

  /**
   * The files that the session has written: those that an allowed call would write
   * and that were changed since it began.
   */
  async written(): Promise<string[]> {
    const found: string[] = [];
    for (const path of this.#mayWrite) {
      try {
        const { isFile, mtime } = await Deno.stat(path);
        if (isFile && (mtime?.getTime() ?? 0) >= this.#since - COARSE_MS) {
          found.push(below(path, this.#workspace));
        }
      } catch {
        // Not written, or removed again.
      }
    }
    return found.sort();
  }

  /** All denials: those of deciders, and questions that were answered with no. */
  denials(asked: readonly DeniedCall[]): Denial[] {
    const more = asked.filter((call) =>
      call.toolUseId !== undefined && !this.#deniedIds.has(call.toolUseId)
    );
    return [
      ...this.#denied,
      ...more.map((call) => ({
        tool: call.tool,
        input: this.#inputs.get(call.toolUseId ?? "") ?? "",
        // Nobody's answer is the reason why there had to be one.
        by: call.reason === undefined ||
            call.reason === this.#undecided.get(call.toolUseId ?? "")
          ? "nobody's yes"
          : ANSWER,
        reason: call.reason ?? "",
      })),
    ];
  }
}
