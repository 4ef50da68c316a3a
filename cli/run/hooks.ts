import type { HookOutcome, LoadedHook } from "@bulkhead/plugins";
import type { Decider, Frame, ToolCall, Verdict } from "@bulkhead/worker";

/** How many calls are remembered for the hooks that hear of their results. */
const MAX_CALLS = 1000;

/** What hooks are told of their session. */
export interface HookSession {
  /** The session's id, as far as it is known. */
  id(): string;
  /** The workspace. */
  workspace: string;
  /** Told what went wrong with a hook, one line each. */
  report(line: string): void;
}

/** The hooks of trusted plugins over the life of one session. */
export class SessionHooks {
  readonly #loading: Promise<readonly LoadedHook[]>;
  #hooks: readonly LoadedHook[] | undefined;
  readonly #session: HookSession;
  /** Calls that were judged, by id, so that their result can be told with them. */
  readonly #calls = new Map<string, ToolCall>();
  readonly #running = new Set<Promise<unknown>>();

  /**
   * Takes the hooks of a session.
   *
   * @param loading Resolves with the hooks; calls and events wait for them.
   * @param session What they are told.
   */
  constructor(loading: Promise<readonly LoadedHook[]>, session: HookSession) {
    this.#loading = loading;
    this.#session = session;
    loading.then((hooks) => this.#hooks = hooks, () => {});
  }

  /** Hooks as the last decider before a person: the strictest of them counts. */
  decider(): Decider {
    return {
      name: "hooks",
      // Without hooks the answer is plain, and a call is not held up by a promise.
      decide: (call) => this.#hooks?.length === 0 ? null : this.#decide(call),
    };
  }

  async #decide(call: ToolCall): Promise<Verdict | null> {
    if (call.toolUseId !== undefined) this.#remember(call);
    const outcome = await this.#fire("pre_tool", {
      tool: toolOf(call),
    });
    if (outcome === undefined) return null;
    const { decision, reason, updatedInput, updatedBy, additionalContext } =
      outcome;
    if (
      decision === undefined && updatedInput === undefined &&
      additionalContext.length === 0
    ) return null;
    const by = outcome.reports.filter((report) => report.decision === decision)
      .map((report) => report.plugin).join(", ");
    return {
      decision: decision ?? "undecided",
      ...reason === undefined ? {} : { reason },
      ...by === "" ? {} : { by: `plugin ${by}` },
      ...updatedInput === undefined
        ? {}
        : { updatedInput, updatedBy: `plugin ${updatedBy}` },
      ...additionalContext.length === 0
        ? {}
        : { additionalContext: additionalContext.join("\n") },
    };
  }

  /**
   * Tells an event about the whole session.
   *
   * @param event `session_start`, `user_prompt`, `stop` or `session_end`.
   * @param extra Fields of the event.
   * @returns What the hooks say; nothing when there is none for it.
   */
  async tell(
    event: "session_start" | "user_prompt" | "stop" | "session_end",
    extra: { prompt?: string } = {},
  ): Promise<HookOutcome | undefined> {
    return await this.#fire(event, extra);
  }

  /** Looks at a frame for the results of calls and tells them; does not wait. */
  observe(frame: Frame): void {
    if (this.#hooks?.length === 0 || frame.kind !== "user_echo") return;
    for (const result of frame.tool_results ?? []) {
      const call = this.#calls.get(result.tool_use_id);
      if (call === undefined) continue;
      this.#calls.delete(result.tool_use_id);
      const event = result.is_error ? "post_tool_failure" : "post_tool";
      const running = this.#fire(event, {
        tool: toolOf(call),
        result: { content: result.text, isError: result.is_error },
      }).finally(() => this.#running.delete(running));
      this.#running.add(running);
    }
  }

  /** Waits for the hooks that were told and not waited for. */
  async settled(): Promise<void> {
    await Promise.allSettled([...this.#running]);
  }

  #remember(call: ToolCall): void {
    if (call.toolUseId === undefined || this.#hooks?.length === 0) return;
    this.#calls.set(call.toolUseId, call);
    if (this.#calls.size <= MAX_CALLS) return;
    const oldest = this.#calls.keys().next().value;
    if (oldest !== undefined) this.#calls.delete(oldest);
  }

  async #fire(
    event: string,
    extra: Record<string, unknown>,
  ): Promise<HookOutcome | undefined> {
    const hooks = this.#hooks ?? await this.#loading;
    if (hooks.length === 0) return undefined;
    const { fireHooks } = await import("@bulkhead/plugins");
    const { workspace } = this.#session;
    const outcome = await fireHooks(hooks, event, {
      payload: {
        session_id: this.#session.id(),
        cwd: workspace,
        workspace,
        ...extra,
      },
    });
    for (const { plugin, failure } of outcome.reports) {
      if (failure === undefined) continue;
      this.#session.report(`hook ${event} of plugin "${plugin}": ${failure}`);
    }
    return outcome;
  }
}

function toolOf(
  call: ToolCall,
): { name: string; input: unknown; use_id?: string } {
  return {
    name: call.toolName,
    input: call.input,
    ...call.toolUseId === undefined ? {} : { use_id: call.toolUseId },
  };
}
