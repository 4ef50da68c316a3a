import type { CommandIo } from "@bulkhead/sandbox/command";
import type { TurnOutcome, Worker, WorkerEnd } from "@bulkhead/worker";
import type { ReadLine } from "@bulkhead/worker/terminal";
import type { ChosenAgent } from "./agents.ts";
import { answerInPlace, approveAll } from "./asks.ts";
import { follow } from "./follow.ts";
import type { SessionHooks } from "./hooks.ts";
import type { SessionNotes } from "./notes.ts";
import type { RunArguments } from "./options.ts";
import type { Places } from "./places.ts";
import type { Renderer } from "./render.ts";
import { endOnSignals } from "./signals.ts";
import { printSummary } from "./summary.ts";
import { toolsOf, unknownAllowed } from "./allowed.ts";
import { watchSocket } from "./watchdog.ts";

/** What a session is made of once its agent is there. */
export interface LiveParts {
  /** The command line. */
  args: RunArguments;
  /** Where it lives. */
  places: Places;
  /** Directories that may be written, links resolved. */
  roots: readonly string[];
  /** The terminal. */
  io: CommandIo;
  /** Shows what happens. */
  render: Renderer;
  /** Remembers it. */
  notes: SessionNotes;
  /** When the command was begun, by the clock of `performance`. */
  started: number;
  /** What a person types. */
  readLine: ReadLine;
  /** The agent. */
  agent: ChosenAgent;
  /** The session's worker. */
  worker: Worker;
  /** The hooks of its plugins. */
  hooks: SessionHooks;
}

/** A session whose agent is there, to its summary. */
export class LiveSession {
  readonly #parts: LiveParts;

  /**
   * Takes a session that was brought up; nothing was sent yet.
   *
   * @param parts The session.
   */
  constructor(parts: LiveParts) {
    this.#parts = parts;
  }

  /**
   * Plays the turn, keeps the session when it is to be kept, ends it and says what it
   * came to.
   *
   * @returns 0 when the turn was completed, 130 when Ctrl-C ended it (TERM 143, HUP
   * 129), else 1.
   */
  async play(): Promise<number> {
    const { args, worker, hooks, render } = this.#parts;
    const [dog] = await Promise.all([
      watchSocket(worker.socketPath),
      hooks.tell("session_start"),
    ]);
    const stopFollowing = this.#follow();
    // To the very end: a Ctrl-C that comes while the session is being closed must not take the summary along.
    using signals = endOnSignals(worker, (line) => render.note(line));
    const stopAnswering = this.#answer();
    let outcome: TurnOutcome | undefined;
    let end: WorkerEnd | undefined;
    try {
      this.#showGate();
      outcome = await this.#turn();
      await hooks.settled();
      await hooks.tell("stop");
      if (args.keep) await this.#keep();
    } finally {
      end = await worker.end();
      stopFollowing();
      stopAnswering();
      await hooks.tell("session_end");
      await dog.end();
    }
    this.#summarise(outcome, end);
    // A kept session that was completed is ended by Ctrl-C, as it was told.
    return outcome?.outcome === "completed" ? 0 : signals.exitCode ?? 1;
  }

  /** The gate is shown before the first turn, and without one there is no turn. */
  #showGate(): void {
    const { args, places, render, agent, worker } = this.#parts;
    const { kind, verified, detail } = worker.gate;
    if (kind !== "none" && !verified) {
      throw new Error(
        `Cannot run "${agent.name}": its gate is not verified (${detail}); update the agent or choose another --agent`,
      );
    }
    render.start({
      agent: agent.name,
      pid: Deno.pid,
      agentPid: agent.driver.status().pid,
      gate: kind,
      verified,
      guard: args.guard,
      workspace: places.workspace,
      socket: worker.socketPath,
    });
    if (!args.guard) {
      render.warn(
        "WARNING: --no-guard: nothing judges where this agent writes",
      );
    }
    for (const root of args.guard ? this.#parts.roots : []) {
      if (root === "/") {
        render.warn(
          "WARNING: a root is /: the guard allows writes everywhere but in Bulkhead's own files",
        );
      } else if (root === Deno.env.get("HOME")) {
        render.warn(
          `WARNING: a root is the home ${root}: the guard allows writes to your shell's and your programs' own files, and plugins may read them`,
        );
      }
    }
    if (kind === "none") {
      render.warn(
        `guard: asks only, no gate: ${agent.name} decides which calls it asks about (${detail})`,
      );
    }
  }

  async #turn(): Promise<TurnOutcome | undefined> {
    const { worker, hooks } = this.#parts;
    const { prompt, example, script } = this.#parts.args;
    if (prompt === "" && example === undefined && script === undefined) {
      // Only resumed, to be attached to.
      return undefined;
    }
    const said = await hooks.tell("user_prompt", { prompt });
    if (said?.decision === "deny") {
      throw new Error(
        `Cannot send the prompt: a plugin's hook refused it: ${
          said.reason ?? "no reason given"
        }`,
      );
    }
    const text = [
      prompt || "Play the script.",
      ...said?.additionalContext ?? [],
    ].join("\n\n");
    return await worker.ask(text);
  }

  async #keep(): Promise<void> {
    const { places, render, worker } = this.#parts;
    render.note(
      `kept: bulkhead attach ${worker.shortId} --home ${places.home}; Ctrl-C ends it`,
    );
    await worker.ended;
  }

  #follow(): () => void {
    const { args, render, notes, worker, hooks } = this.#parts;
    let looked = args.allow.length === 0;
    return follow(worker.session, {
      frame: (index, frame, raw) => {
        hooks.observe(frame);
        if (!looked && frame.kind === "system" && frame.subtype === "init") {
          looked = true;
          for (const line of unknownAllowed(args.allow, toolsOf(raw))) {
            render.warn(line);
          }
        }
        render.frame(index, frame);
      },
      verdict: (call, verdict) => {
        notes.judged(call, verdict);
        render.verdict(call, verdict);
      },
      note: (line) => render.note(line),
    });
  }

  #answer(): () => void {
    const { args, io, render, worker, readLine } = this.#parts;
    if (args.approve) {
      return approveAll(worker.session, (line) => render.note(line));
    }
    return io.canAsk && !args.json
      ? answerInPlace(worker.session, io, readLine)
      : () => {};
  }

  #summarise(outcome: TurnOutcome | undefined, end: WorkerEnd): void {
    const { args, io, render, notes, agent, worker, started } = this.#parts;
    const stderr = end.agent.stderrTail.trim();
    if (end.agent.code !== 0 && stderr !== "") render.warn(stderr);
    printSummary(io, {
      agent: agent.name,
      session: worker.sessionId,
      outcome: outcome?.outcome ?? "kept",
      errors: outcome?.errors ?? [],
      written: args.guard ? notes.written() : null,
      denials: notes.denials(outcome?.denied ?? []),
      costUsd: outcome?.costUsd ?? null,
      durationMs: performance.now() - started,
      end,
    }, args.json);
  }
}
