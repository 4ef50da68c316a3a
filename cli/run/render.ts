import {
  type CommandIo,
  type Paint,
  paint,
  visible,
  visibleLines,
} from "@bulkhead/sandbox/command";
import type { Frame, ToolCall, Verdict } from "@bulkhead/worker";
import { describeInput } from "./describe.ts";
import { shorten } from "./shorten.ts";

/** What is known of a session before its first turn. */
export interface StartFacts {
  /** The agent. */
  agent: string;
  /** Our process. */
  pid: number;
  /** The agent's process. */
  agentPid: number | null;
  /** How calls are seen before they run. */
  gate: string;
  /** Whether the agent has confirmed that. */
  verified: boolean;
  /** Whether the guard judges where calls write. */
  guard: boolean;
  /** The workspace. */
  workspace: string;
  /** The socket to attach to. */
  socket: string;
}

/** Takes what happens in a session, for people or for programs. */
export interface Renderer {
  /** A frame of the agent, with its index. */
  frame(index: number, frame: Frame): void;
  /** A verdict on a call, before it runs. */
  verdict(call: ToolCall, verdict: Verdict): void;
  /** The session has begun; nothing was sent yet. */
  start(facts: StartFacts): void;
  /** A line about the session itself. */
  note(line: string): void;
  /** A line that people must not miss. */
  warn(line: string): void;
}

/**
 * Text as it streams, each tool call with its verdict and the reason.
 *
 * @param io Where to print.
 * @returns The renderer.
 */
export function textRenderer(io: CommandIo): Renderer {
  return new TextRenderer(io);
}

class TextRenderer implements Renderer {
  readonly #io: CommandIo;
  readonly #paint: Paint;
  /** Whether the cursor stands behind text of the model. */
  #midLine = false;
  /** Whether the current message was streamed, so that its whole text is not told again. */
  #streamed = false;
  #workspace = "";

  constructor(io: CommandIo) {
    this.#io = io;
    this.#paint = paint(io.color);
  }

  frame(_index: number, frame: Frame): void {
    if (frame.parent_tool_use_id !== undefined) return;
    switch (frame.kind) {
      case "stream_event":
        if (frame.delta !== null) {
          this.#streamed = true;
          this.#print(visibleLines(frame.delta));
        }
        break;
      case "assistant":
        if (frame.text !== "" && !this.#streamed) {
          this.#print(visibleLines(frame.text));
        }
        if (frame.text !== "") {
          this.#streamed = false;
          this.#breakLine();
        }
        break;
      case "user_echo":
        for (const result of frame.tool_results ?? []) {
          const text = shorten(result.text.trim(), 100);
          if (text === "") continue;
          this.#line(`  ${this.#paint.dim(`└ ${text}`)}`);
        }
        break;
      case "malformed":
        this.#line(
          this.#paint.yellow("! the agent sent a line that is no frame"),
        );
        break;
      case "result":
        this.#breakLine();
        break;
    }
  }

  verdict(call: ToolCall, verdict: Verdict): void {
    const { decision, reason, by, updatedInput, updatedBy } = verdict;
    const { green, red, yellow, dim, bold } = this.#paint;
    const who = by === undefined ? "" : ` by ${by}`;
    const said = decision === "allow"
      ? green("allowed")
      : decision === "deny"
      ? red(`denied${who}`)
      : yellow("needs an answer");
    const agent = call.agentId === undefined ? "" : dim(" (subagent)");
    this.#line(
      `${dim("●")} ${bold(visible(call.toolName))} ${
        dim(describeInput(call.input, this.#workspace))
      }${agent}  ${said}`,
    );
    if (updatedInput !== undefined) {
      const input = describeInput(updatedInput, this.#workspace);
      this.#line(
        `  ${dim("│")} ${visible(`${updatedBy} changed it to ${input}`)}`,
      );
    }
    if (decision !== "allow" && reason !== undefined) {
      // The posture speaks of a session without a person; here one may be asked.
      const why = decision === "deny"
        ? reason
        : reason.replace(/ and nobody is there to approve it$/, "");
      this.#line(`  ${dim("│")} ${visible(why)}`);
    }
  }

  start({ gate, verified, guard, workspace }: StartFacts): void {
    this.#workspace = workspace;
    if (gate === "none" || !verified) return;
    this.note(
      `${guard ? "guard" : "gate"}: ${gate}, verified; workspace ${workspace}`,
    );
  }

  note(line: string): void {
    this.#line(this.#paint.dim(visible(line)));
  }

  warn(line: string): void {
    this.#breakLine();
    this.#io.err(`${visible(line)}\n`);
  }

  #line(text: string): void {
    this.#breakLine();
    this.#io.out(`${text}\n`);
  }

  #print(text: string): void {
    if (text === "") return;
    this.#io.out(text);
    this.#midLine = !text.endsWith("\n");
  }

  #breakLine(): void {
    if (this.#midLine) this.#io.out("\n");
    this.#midLine = false;
  }
}

/**
 * One JSON object a line with its `type`: `start`, `frame`, `verdict`, `note`,
 * `warning`.
 *
 * @param io Where to print.
 * @returns The renderer.
 */
export function jsonRenderer(io: CommandIo): Renderer {
  const print = (type: string, fields: Record<string, unknown>): void =>
    io.out(`${JSON.stringify({ type, ...fields })}\n`);
  return {
    frame: (index, frame) => print("frame", { index, frame }),
    verdict: (call, verdict) =>
      print("verdict", {
        tool: call.toolName,
        input: call.input,
        decision: verdict.decision,
        ...verdict.by === undefined ? {} : { by: verdict.by },
        ...verdict.reason === undefined ? {} : { reason: verdict.reason },
        ...verdict.updatedInput === undefined ? {} : {
          updated_input: verdict.updatedInput,
          updated_by: verdict.updatedBy,
        },
        ...call.toolUseId === undefined ? {} : { tool_use_id: call.toolUseId },
        ...call.agentId === undefined ? {} : { agent_id: call.agentId },
      }),
    start: (facts) =>
      print("start", {
        agent: facts.agent,
        pid: facts.pid,
        agent_pid: facts.agentPid,
        gate: facts.gate,
        verified: facts.verified,
        guard: facts.guard,
        workspace: facts.workspace,
        socket: facts.socket,
      }),
    note: (text) => print("note", { text }),
    warn: (text) => print("warning", { text }),
  };
}
