import type { DeniedCall, ToolCall, Verdict } from "@bulkhead/worker";
import { below, describeInput } from "./describe.ts";
import { ANSWER, type Denial, NOBODY } from "./summary.ts";

/** What is remembered of a session for its summary. */
export class SessionNotes {
  readonly #workspace: string;
  /** Each file that a call may write, and how it stood before the first such call. */
  readonly #mayWrite = new Map<string, string>();
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
    for (const path of paths) {
      if (!this.#mayWrite.has(path)) this.#mayWrite.set(path, stateOf(path));
    }
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
   * and that are not as they were before it. What somebody else has changed until
   * then is not the session's.
   *
   * @returns Their paths, as seen from the workspace.
   */
  written(): string[] {
    const found: string[] = [];
    for (const [path, before] of this.#mayWrite) {
      const now = stateOf(path);
      if (now !== ABSENT && now !== before) {
        found.push(below(path, this.#workspace));
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
          ? NOBODY
          : ANSWER,
        reason: call.reason ?? "",
      })),
    ];
  }
}

/** The state of what is no file, or cannot be seen. */
const ABSENT = "";

/** What changes whenever a file is written or put in another's place. */
function stateOf(path: string): string {
  try {
    const { isFile, ino, size, mtime, ctime } = Deno.statSync(path);
    return isFile
      ? [ino, size, mtime?.getTime(), ctime?.getTime()].join(" ")
      : ABSENT;
  } catch {
    return ABSENT;
  }
}
