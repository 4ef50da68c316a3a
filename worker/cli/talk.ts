/**
 * The commands that talk to one running worker.
 *
 * @module
 */

import {
  type CommandIo,
  type Flags,
  printResult,
  UsageError,
  visible,
} from "@bulkhead/sandbox/command";
import type { AskAnswer } from "../agents/driver.ts";
import type { OpenAsk } from "../asks.ts";
import type { TurnStatus, WatchEvent } from "../client.ts";
import { answerWords, askLine, choicesOf, chosenAnswer } from "./questions.ts";
import { renderFrame } from "./render.ts";
import { client, gateLine, operand, type WorkerVerb } from "./shared.ts";
import { TerminalAnswers, terminalLines } from "./terminal.ts";
import { printTurn } from "./turn_result.ts";

/** How long to wait for the end of a turn before looking whether it waits for a person. */
const POLL_MS = 2_000;

/** `ask`: one turn and its end. */
export const ask: WorkerVerb = {
  summary: "send a turn and print the reply",
  help: `Usage: worker ask ID TEXT…
       worker ask ID -            the text comes from stdin

  --no-wait       return as soon as the turn is queued
  --uuid UUID     the id of the turn; the same id is not run twice

Examples:
  bulkhead worker ask demo "what is left to do?"
  echo "and now the second half" | bulkhead worker ask demo -
`,
  flags: { boolean: ["wait"], string: ["uuid"] },
  operands: [1, Infinity],
  async run(flags, io): Promise<number> {
    using worker = await client(flags, operand(flags, 0));
    const uuid = flags.text("uuid");
    const sent = await worker.writeTurn(
      await textOf(flags, io),
      uuid === undefined ? {} : { uuid },
    );
    if (flags.off("wait") || sent.turn === undefined) {
      if (flags.on("json")) {
        printResult(io, { turn: sent.turn ?? null, written: sent.written });
      } else io.out(`queued ${sent.turn ?? ""}\n`);
      return 0;
    }
    let status: TurnStatus;
    const told = new Set<string>();
    for (;;) {
      status = await worker.turn(sent.turn, POLL_MS);
      if (status.phase === "done") break;
      for (const open of await worker.asks()) {
        if (told.has(open.id)) continue;
        told.add(open.id);
        io.err(
          `waits for you: ${describe(open)}; bulkhead worker answer ${
            operand(flags, 0)
          } ${open.id} ${visible(answerWords(open))}\n`,
        );
      }
    }
    return printTurn(io, flags.on("json"), sent.turn, status);
  },
};

/** `watch`: everything that happens, questions answerable in place. */
export const watch: WorkerVerb = {
  summary: "show what a session does, and answer its questions",
  help: `Usage: worker watch ID

  --cursor N      the first frame to show (default: 0)
  --raw           give each frame the agent's own line (with --json)
  --no-answer     do not ask for answers

Examples:
  bulkhead worker watch demo
  bulkhead worker watch demo --cursor 100 --json
`,
  flags: { boolean: ["raw", "answer"], string: ["cursor"] },
  operands: [1, 1],
  async run(flags, io): Promise<number> {
    const cursor = flags.integer("cursor") ?? 0;
    using worker = await client(flags, operand(flags, 0));
    const answers = io.canAsk && !flags.off("answer") && !flags.on("json");
    const lines = terminalLines(io);
    const person = answers
      ? new TerminalAnswers({
        io,
        readLine: lines.readLine,
        answer: (id, given) => worker.answerAsk(id, given),
        describe: words,
      })
      : undefined;
    const events = worker.watch({
      cursor,
      raw: flags.on("raw"),
      answers,
    });
    for await (const event of events) {
      if (flags.on("json")) showJson(event, io);
      else show(event, io);
      if (event.type === "asks") person?.asked(event.asks);
      if (event.type === "end" || io.unread === true) break;
    }
    person?.stop();
    lines.close();
    return 0;
  },
};

/** `answer`: one open question. */
export const answer: WorkerVerb = {
  summary: "answer an open question",
  help: `Usage: worker answer ID                        list the open questions
       worker answer ID ASK allow|deny
       worker answer ID ASK ANSWER…            when the agent asks something of its
                                               own: one answer a question, an
                                               option's text or number

  --other         the answers are words of your own, none of the options
  --reason TEXT   why, for the model
  --input JSON    run the call with these arguments instead
  --interrupt     with deny: end the whole turn

Examples:
  bulkhead worker answer demo
  bulkhead worker answer demo ask-1 deny --reason "not in this directory"
`,
  flags: { boolean: ["interrupt", "other"], string: ["reason", "input"] },
  operands: [1, Infinity],
  async run(flags, io): Promise<number> {
    using worker = await client(flags, operand(flags, 0));
    const id = flags.operands[1];
    if (id === undefined) {
      const asks = await worker.asks();
      if (flags.on("json")) printResult(io, { asks });
      else {
        if (asks.length === 0) io.out("no open question\n");
        for (const open of asks) {
          io.out(
            `${open.id}  ${describe(open)}  ${visible(answerWords(open))}\n`,
          );
        }
      }
      return 0;
    }
    const decision = operand(flags, 2);
    const input = flags.text("input");
    const open = (await worker.asks()).find((ask) => ask.id === id);
    const choice = open !== undefined && choicesOf(open).length > 0
      ? open
      : undefined;
    // A yes to a question of the agent's own would answer it with nothing.
    const plain = decision === "deny" ||
      (decision === "allow" && (choice === undefined || input !== undefined));
    if (!plain && choice === undefined) {
      throw new UsageError(
        `Cannot read the command line: "${decision}" is neither allow nor deny`,
        "worker answer ID ASK deny",
      );
    }
    if (plain && flags.operands.length > 3) {
      throw new UsageError(
        `Cannot read the command line: "${
          flags.operands[3]
        }" is one word too many`,
        "worker answer ID ASK allow",
      );
    }
    const reason = flags.text("reason");
    const given: AskAnswer = choice !== undefined && !plain
      ? chosenAnswer(choice, flags.operands.slice(2), flags.on("other"))
      : {
        decision: decision === "allow" ? "allow" : "deny",
        ...(reason === undefined ? {} : { reason }),
        ...(input === undefined ? {} : { updatedInput: parseInput(input) }),
        ...(flags.on("interrupt") ? { interrupt: true } : {}),
      };
    const answered = await worker.answerAsk(id, given);
    if (!answered) {
      throw new Deno.errors.NotFound(`Cannot answer "${id}": it is not open`);
    }
    if (flags.on("json")) printResult(io, { answered });
    else {io.out(
        choice === undefined || plain
          ? `${given.decision}: ${id}\n`
          : `answered: ${id}\n`,
      );}
    return 0;
  },
};

/** `interrupt`: stop the running turn. */
export const interrupt: WorkerVerb = {
  summary: "stop the running turn",
  help:
    "Usage: worker interrupt ID\n\nExamples:\n  bulkhead worker interrupt demo\n",
  operands: [1, 1],
  async run(flags, io): Promise<number> {
    using worker = await client(flags, operand(flags, 0));
    const { state } = await worker.status();
    await worker.interrupt();
    if (flags.on("json")) printResult(io, { interrupted: true });
    else io.out(state === "idle" ? "nothing was running\n" : "interrupted\n");
    return 0;
  },
};

/** `status`: how a session stands. */
export const status: WorkerVerb = {
  summary: "show how a session stands",
  help: "Usage: worker status ID\n\nExamples:\n  bulkhead worker status demo\n",
  operands: [1, 1],
  async run(flags, io): Promise<number> {
    using worker = await client(flags, operand(flags, 0));
    const found = await worker.status();
    if (flags.on("json")) {
      printResult(io, { ...found });
      return 0;
    }
    io.out(
      `state    ${found.state}${found.stalled ? " (stalled)" : ""}\n` +
        `agent    ${found.agent}, pid ${found.childPid ?? "-"}${
          found.model === null ? "" : `, ${visible(found.model)}`
        }\n` +
        `session  ${found.sessionId ?? "-"}\n` +
        `gate     ${gateLine(found)}\n` +
        `turns    ${found.pendingTurns} pending, ${found.openTasks} tasks, ${found.openAsks} asks\n` +
        `cost     $${found.costUsd.toFixed(4)}\n` +
        `frames   ${found.next}, silent for ${
          (found.silentMs / 1000).toFixed(1)
        } s\n`,
    );
    return 0;
  },
};

/** `stop`: end a worker in order. */
export const stop: WorkerVerb = {
  summary: "end a session",
  help: "Usage: worker stop ID\n\nExamples:\n  bulkhead worker stop demo\n",
  operands: [1, 1],
  async run(flags, io): Promise<number> {
    using worker = await client(flags, operand(flags, 0));
    await worker.shutdown();
    await worker.ended();
    if (flags.on("json")) printResult(io, { stopped: true });
    else io.out("stopped\n");
    return 0;
  },
};

function show(event: WatchEvent, io: CommandIo): void {
  switch (event.type) {
    case "frames":
      if (event.gap) io.out("~ frames before this one are no longer kept\n");
      for (const frame of event.frames) io.out(renderFrame(frame));
      break;
    case "state":
      io.out(`· ${event.state}${event.stalled ? " (stalled)" : ""}\n`);
      break;
    case "asks":
      break;
    case "end":
      io.out(`· ended: ${visible(event.reason)}\n`);
  }
}

function showJson(event: WatchEvent, io: CommandIo): void {
  if (event.type !== "frames") {
    io.out(`${JSON.stringify(event)}\n`);
    return;
  }
  if (event.gap) {
    io.out(`${JSON.stringify({ type: "gap", next: event.from })}\n`);
  }
  for (const [at, frame] of event.frames.entries()) {
    io.out(
      `${JSON.stringify({ type: "frame", index: event.from + at, frame })}\n`,
    );
  }
}

function describe(open: OpenAsk): string {
  return visible(askLine(open, words));
}

function words(input: unknown): string {
  const text = visible(JSON.stringify(input) ?? "");
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}

function parseInput(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return value;
  } catch {
    throw new UsageError(
      `Cannot read the command line: --input is no JSON`,
      `--input '{"…":"…"}'`,
    );
  }
}

async function textOf(flags: Flags, io: CommandIo): Promise<string> {
  const words = [...flags.operands.slice(1), ...flags.rest];
  if (words.length === 0) {
    throw new UsageError(
      "Cannot read the command line: the text is missing",
      "worker ask ID TEXT",
    );
  }
  if (words.length > 1 || words[0] !== "-") return words.join(" ");
  return await new Response(io.stdin).text();
}
