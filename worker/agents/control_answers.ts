/**
 * The answers to what a stream-json agent asks of its host: verdicts on calls, tools of ours, and errors for the rest.
 *
 * @module
 */

import { reasonOf } from "@bulkhead/sandbox";
import { type ControlRequestFrame, isJsonObject } from "../frame.ts";
import {
  askResponse,
  controlError,
  controlSuccess,
  hookAnswer,
} from "../gate.ts";
import { callOf } from "./_basics.ts";
import type { ToolCall, Verdict } from "./driver.ts";
import { judgeWithin } from "./judge_within.ts";
import type { ToolServer } from "./tool_server.ts";

/** What {@linkcode ControlAnswers} needs of its driver. */
export interface AnswerPort {
  /** The directory of the session. */
  readonly cwd: string;
  /** How long a verdict may take before the call is denied. */
  readonly judgeMs: number;
  /** The name under which the host's tools are served. */
  readonly serverName: string;
  /** The host's tools. */
  readonly server: ToolServer | undefined;
  /** Judges a call. */
  judge(call: ToolCall): Verdict | Promise<Verdict>;
  /** Writes a line to the agent, before any turn that waits. */
  write(line: string): void;
  /** Takes one line for the worker's own log. */
  log(line: string): void;
}

/** Answers for one agent. */
export class ControlAnswers {
  readonly #port: AnswerPort;

  /**
   * Answers nothing yet.
   *
   * @param port The agent and its host.
   */
  constructor(port: AnswerPort) {
    this.#port = port;
  }

  /**
   * Answers a request that is no question to a person.
   *
   * @param frame The request.
   */
  answer(frame: ControlRequestFrame): void {
    const { request_id: id, subtype } = frame;
    switch (subtype) {
      case "hook_callback":
        this.#judge(id, frame.input);
        break;
      case "mcp_message":
        this.#serve(id, frame.server_name, frame.message);
        break;
      default:
        this.reply(
          id,
          () =>
            controlError(
              id,
              `unsupported control_request subtype '${subtype}'`,
            ),
        );
    }
  }

  /**
   * Answers a request that is too long to be read: a call is denied, whoever asks about it.
   *
   * @param requestId The request.
   * @param head The beginning of its line.
   */
  refuse(requestId: string, head: string): void {
    const reason = "the request is too long to be read";
    const subtype = /"subtype"\s*:\s*"(\w+)"/.exec(head)?.[1];
    this.reply(requestId, () => {
      switch (subtype) {
        case "hook_callback":
          return controlSuccess(
            requestId,
            hookAnswer({ decision: "deny", reason }),
          );
        case "can_use_tool":
          return askResponse(requestId, { decision: "deny", reason }, "null");
        default:
          return controlError(requestId, reason);
      }
    });
  }

  /**
   * Writes an answer; what cannot be written or put into JSON is logged and never thrown.
   *
   * @param requestId What it answers.
   * @param build Makes the line.
   */
  reply(requestId: string, build: () => string): void {
    try {
      this.#port.write(build());
    } catch (error) {
      this.#port.log(
        `Cannot answer request "${requestId}": ${reasonOf(error)}`,
      );
    }
  }

  /** A callback always gets a decision; whatever goes wrong on our side is a deny. */
  #judge(requestId: string, input: unknown): void {
    const event = isJsonObject(input) ? input : {};
    if (event.hook_event_name !== "PreToolUse") {
      this.reply(requestId, () => controlSuccess(requestId, {}));
      return;
    }
    const answer = (verdict: Verdict) =>
      this.reply(
        requestId,
        () => controlSuccess(requestId, hookAnswer(verdict)),
      );
    const { cwd, judgeMs } = this.#port;
    const verdict = judgeWithin(
      () => this.#port.judge(callOf(event, cwd)),
      judgeMs,
    );
    if (verdict instanceof Promise) verdict.then(answer);
    else answer(verdict);
  }

  #serve(
    requestId: string,
    name: string | undefined,
    message: unknown,
  ): void {
    const { server, serverName } = this.#port;
    if (server === undefined || name !== serverName) {
      this.reply(
        requestId,
        () => controlError(requestId, `no MCP server '${name ?? ""}' here`),
      );
      return;
    }
    server.answer(message).then((answer) => {
      this.reply(
        requestId,
        () => controlSuccess(requestId, { mcp_response: answer }),
      );
    });
  }
}
