/**
 * The commands of `fleet` about one session: watch, ask, answer, interrupt, stop.
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
import { choicesOf, chosenAnswer } from "../cli/questions.ts";
import { printTurn } from "../cli/turn_result.ts";
import type { TurnStatus } from "../client.ts";
import type { Fleet } from "./connection.ts";
import { FleetError } from "./error.ts";
import { RemoteWorker, viewFleet } from "./remote.ts";

/** Shorter than a call's own limit. */
const POLL_MS = 5_000;

function remoteOf(fleet: Fleet, flags: Flags): RemoteWorker {
  return new RemoteWorker(fleet, flags.operands[0] ?? "");
}

/** Says that it is done, as text or as an object. */
export function done(
  flags: Flags,
  io: CommandIo,
  result: object,
  text: string,
): number {
  if (flags.on("json")) printResult(io, { ...result });
  else io.out(text + "\n");
  return 0;
}

/** `interrupt`: stops the running turn. */
export async function interrupt(
  fleet: Fleet,
  flags: Flags,
  io: CommandIo,
): Promise<number> {
  await remoteOf(fleet, flags).interrupt();
  return done(flags, io, { interrupted: true }, "interrupted");
}

/** `stop`: ends the session. */
export async function stop(
  fleet: Fleet,
  flags: Flags,
  io: CommandIo,
): Promise<number> {
  await remoteOf(fleet, flags).shutdown();
  return done(flags, io, { stopped: true }, "stopped");
}

/** `watch`: what a session does, one object a line. */
export async function watch(
  fleet: Fleet,
  flags: Flags,
  io: CommandIo,
): Promise<number> {
  const stop = new AbortController();
  const end = () => stop.abort();
  Deno.addSignalListener("SIGINT", end);
  try {
    const cursor = flags.integer("cursor") ?? 0;
    for await (
      const batch of remoteOf(fleet, flags).frames({
        cursor,
        signal: stop.signal,
      })
    ) {
      if (batch.gap) {
        io.out(JSON.stringify({ type: "gap", next: batch.from }) + "\n");
      }
      for (const [i, frame] of batch.frames.entries()) {
        io.out(
          JSON.stringify({ type: "frame", index: batch.from + i, frame }) +
            "\n",
        );
      }
    }
    return 0;
  } finally {
    Deno.removeSignalListener("SIGINT", end);
  }
}

/** `ask`: sends a turn and waits for the reply. */
export async function ask(
  fleet: Fleet,
  flags: Flags,
  io: CommandIo,
): Promise<number> {
  const remote = remoteOf(fleet, flags);
  const uuid = flags.text("uuid") ?? crypto.randomUUID();
  const words = flags.operands.slice(1).join(" ");
  const text = words === "-"
    ? await new Response(Deno.stdin.readable).text()
    : words;
  await remote.writeTurn(text, { uuid });
  if (flags.off("wait")) {
    return done(flags, io, { turn: uuid }, `queued ${uuid}`);
  }
  let status: TurnStatus = { phase: "written" };
  while (status.phase !== "done") status = await remote.turn(uuid, POLL_MS);
  return printTurn(io, flags.on("json"), uuid, status);
}

/** `status`: how a session stands. */
export async function status(
  fleet: Fleet,
  flags: Flags,
  io: CommandIo,
): Promise<number> {
  const remote = remoteOf(fleet, flags);
  const record = await remote.record();
  if (record === undefined) {
    throw new FleetError(
      "no_worker",
      `Cannot find "${remote.id}": there is no such session in the fleet`,
      "look at `bulkhead fleet list`",
    );
  }
  const lines = Object.entries(record).map(([name, value]) =>
    `${name.padEnd(13)} ${visible(String(value ?? "-"))}`
  );
  return done(flags, io, record, lines.join("\n"));
}

/** `answer`: answers a question. */
export async function answer(
  fleet: Fleet,
  flags: Flags,
  io: CommandIo,
): Promise<number> {
  const [session = "", id = "", decision, ...more] = flags.operands;
  const reason = flags.text("reason");
  // Who may not look may answer all the same.
  const asks = await viewFleet(fleet).then((view) => view.asks, () => []);
  const open = asks.find((known) =>
    known.session === session && known.ask.id === id
  )?.ask;
  const choice = open !== undefined && choicesOf(open).length > 0
    ? open
    : undefined;
  let given: AskAnswer;
  // A yes to a question of the agent's own would answer it with nothing.
  if (decision !== undefined && decision !== "deny" && choice !== undefined) {
    given = chosenAnswer(choice, [decision, ...more], flags.on("other"));
  } else if (decision === "allow" || decision === "deny") {
    given = { decision, ...reason === undefined ? {} : { reason } };
  } else {
    throw new UsageError(
      `Cannot answer "${decision ?? ""}": want allow or deny`,
      "allow",
    );
  }
  const answered = await remoteOf(fleet, flags).answerAsk(id, given);
  done(flags, io, { answered }, answered ? "answered" : "settled before");
  return answered ? 0 : 1;
}
