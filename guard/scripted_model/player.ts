/**
 * Which step of a script a request gets.
 *
 * @module
 */
import type { ModelRequest } from "./request.ts";
import type { ModelScript, ScriptStep } from "./script.ts";

/** What one request gets. */
export interface Turn {
  /** Name of the conversation, `"side"` for a request on the side. */
  readonly conversation: string;
  /** Index of the step in its conversation as played; −1 on the side or when the steps are used up. */
  readonly index: number;
  /** The step. */
  readonly step: ScriptStep;
}

interface Track {
  readonly name: string;
  readonly match: string | undefined;
  readonly steps: readonly ScriptStep[];
  played: number;
}

function played(steps: readonly ScriptStep[]): ScriptStep[] {
  return steps.flatMap((step) => Array<ScriptStep>(step.times ?? 1).fill(step));
}

/** One line about a step, for errors. */
function describe(step: ScriptStep): string {
  if (step.error) return `error ${step.error.status}`;
  const calls = (step.calls ?? []).map((call) =>
    `call ${call.tool ?? call.do}`
  );
  if (calls.length > 0) return calls.join(" and ");
  const text = step.text ?? "";
  return `text ${
    JSON.stringify(text.length > 30 ? text.slice(0, 29) + "…" : text)
  }`;
}

/** The state of a script while it is played: how far each conversation has come. */
export class ScriptPlayer {
  readonly #script: ModelScript;
  readonly #tracks: readonly Track[];

  /** Starts a script from the beginning. */
  constructor(script: ModelScript) {
    this.#script = script;
    this.#tracks = [
      {
        name: "main",
        match: undefined,
        steps: played(script.steps),
        played: 0,
      },
      ...(script.conversations ?? []).map((conversation) => ({
        name: conversation.name ?? conversation.match,
        match: conversation.match,
        steps: played(conversation.steps),
        played: 0,
      })),
    ];
  }

  /** Takes the step for a request. */
  next(request: ModelRequest): Turn {
    const special = this.#tracks.find((track) =>
      track.match !== undefined &&
      request.userTexts.some((text) => text.includes(track.match ?? ""))
    );
    const side = this.#script.side ?? "ok";
    const aside = (this.#script.asides ?? []).some((said) =>
      request.userTexts.some((text) => text.includes(said))
    );
    if (aside || (!special && side !== false && request.tools.length === 0)) {
      return { conversation: "side", index: -1, step: { text: side || "ok" } };
    }
    const track = special ?? this.#tracks[0];
    const step = track?.steps[track.played];
    if (!track || !step) {
      const name = track?.name ?? "main";
      const text = this.#script.after ??
        `scripted model: no step is left in conversation "${name}"`;
      return { conversation: name, index: -1, step: { text } };
    }
    return { conversation: track.name, index: track.played++, step };
  }

  /** Gives a step back: the next request of its conversation gets it again. */
  unplay(turn: Turn): void {
    const track = this.#tracks.find((track) =>
      track.name === turn.conversation
    );
    if (track && turn.index >= 0) track.played--;
  }

  /** How many steps a conversation has played; `undefined` for an unknown name. */
  progress(conversation: string): number | undefined {
    return this.#tracks.find((track) => track.name === conversation)?.played;
  }

  /** Whether a conversation has been asked for all its steps. */
  finished(conversation: string): boolean {
    return this.#tracks.some((track) =>
      track.name === conversation && track.played >= track.steps.length
    );
  }

  /** One line for each conversation that has steps left. */
  unreached(): string[] {
    return this.#tracks.flatMap((track) => {
      const step = track.steps[track.played];
      if (!step) return [];
      return [
        `conversation "${track.name}": step ${
          track.played + 1
        } of ${track.steps.length} (${describe(step)}) was never asked for`,
      ];
    });
  }
}
