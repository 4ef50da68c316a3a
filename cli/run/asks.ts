import type { CommandIo } from "@bulkhead/sandbox/command";
import type { AskAnswer, OpenAsk, Session } from "@bulkhead/worker";
import type { ReadLine } from "./lines.ts";
import { paint, shorten, visible } from "./paint.ts";
import { describeInput } from "./render.ts";

/** A question of the agent itself, as Claude Code's AskUserQuestion carries it. */
interface Question {
  text: string;
  options: string[];
}

/**
 * Answers the questions of a session on the terminal, one after the other.
 *
 * @param session The session.
 * @param io The terminal.
 * @param readLine Reads what the person types.
 * @returns stops answering.
 */
export function answerInPlace(
  session: Session,
  io: CommandIo,
  readLine: ReadLine,
): () => void {
  const detach = session.attachAnswerer();
  const put = new Set<string>();
  let busy = false;
  let open: { id: string; off: AbortController } | undefined;
  let stopped = false;
  const next = async (): Promise<void> => {
    if (busy || stopped) return;
    busy = true;
    try {
      for (;;) {
        const ask = session.asks.find(({ id }) => !put.has(id));
        if (!ask || stopped) return;
        put.add(ask.id);
        const off = new AbortController();
        open = { id: ask.id, off };
        const answer = await question(
          ask,
          io,
          (signal = off.signal) => readLine(signal),
        );
        open = undefined;
        if (off.signal.aborted || !session.answer(ask.id, answer)) {
          if (!stopped) io.out("\n(that question is no longer open)\n");
        }
      }
    } finally {
      busy = false;
    }
  };
  const unwatch = session.watch((change) => {
    if (change !== "asks") return;
    // Answered by somebody else, withdrawn, or out of time.
    if (open && !session.asks.some(({ id }) => id === open?.id)) {
      open.off.abort();
    }
    void next();
  });
  void next();
  return () => {
    stopped = true;
    open?.off.abort();
    unwatch();
    detach();
  };
}

async function question(
  ask: OpenAsk,
  io: CommandIo,
  readLine: ReadLine,
): Promise<AskAnswer> {
  const { bold, yellow } = paint(io.color);
  const own = questionsOf(ask.input);
  if (ask.tool_name === "AskUserQuestion" && own.length > 0) {
    const answers: Record<string, string> = {};
    for (const { text, options } of own) {
      io.out(`${yellow("?")} ${bold(visible(text))}\n`);
      options.forEach((option, index) =>
        io.out(`  ${index + 1}) ${visible(option)}\n`)
      );
      io.out("> ");
      const line = (await readLine())?.trim();
      if (line === undefined || line === "") {
        return { decision: "deny", reason: "the person gave no answer" };
      }
      answers[text] = options[Number(line) - 1] ?? line;
    }
    return {
      decision: "allow",
      updatedInput: { ...record(ask.input), answers },
    };
  }
  io.out(
    `${yellow("?")} Allow ${bold(visible(ask.tool_name))} ${
      shorten(describeInput(ask.input), 200)
    }? [y/N, or a reason to deny] `,
  );
  const line = (await readLine())?.trim() ?? "";
  if (/^(?:y|yes)$/i.test(line)) return { decision: "allow" };
  const reason = /^(?:n|no)?$/i.test(line)
    ? "the person said no"
    : `the person said no: ${line}`;
  return { decision: "deny", reason };
}

/** The questions in the arguments of AskUserQuestion; none when they have another shape. */
function questionsOf(input: unknown): Question[] {
  const list = record(input).questions;
  if (!Array.isArray(list)) return [];
  return list.flatMap((entry: unknown) => {
    const { question: text, options } = record(entry);
    if (typeof text !== "string") return [];
    const labels = Array.isArray(options)
      ? options.flatMap((option: unknown) => {
        if (typeof option === "string") return [option];
        const { label } = record(option);
        return typeof label === "string" ? [label] : [];
      })
      : [];
    return [{ text, options: labels }];
  });
}

function record(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null
    ? Object.fromEntries(Object.entries(value))
    : {};
}

/**
 * Answers every question with yes, for a person who said so beforehand.
 *
 * @param session The session.
 * @param told Told each question.
 * @returns stops answering.
 */
export function approveAll(
  session: Session,
  told: (line: string) => void,
): () => void {
  const detach = session.attachAnswerer();
  const answer = (): void => {
    for (const ask of session.asks) {
      told(`--approve: ${ask.tool_name} ${describeInput(ask.input)}`);
      session.answer(ask.id, { decision: "allow" });
    }
  };
  const unwatch = session.watch((change) => {
    if (change === "asks") answer();
  });
  answer();
  return () => {
    unwatch();
    detach();
  };
}
