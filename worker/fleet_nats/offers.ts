/**
 * The queue as a host sees it: a session is offered, and told what becomes of it.
 *
 * @module
 */
import { reasonOf } from "@bulkhead/sandbox";
import { AckPolicy, type Consumer, type JsMsg } from "@nats-io/jetstream";
import type { Fleet } from "./connection.ts";

/** What becomes of an offer: it runs; nobody has to run it any more; others are to try. */
export type Fate = "done" | "over" | "again";

/** How offers are answered. */
export interface OfferOptions {
  /**
   * How long a host has to start a session before it is given to another.
   *
   * @default {60000}
   */
  readonly ackMs?: number;
  /**
   * Wait before a session that cannot run here is offered again.
   *
   * @default {2000}
   */
  readonly againMs?: number;
  /** Takes one line for the log. */
  log?(line: string): void;
}

const CONSUMER = "placement";
/** How long a host may be silent about an offer before another one gets it. */
const ACK_MS = 60_000;
/** How long after it was turned down a session is offered again. */
const AGAIN_MS = 2_000;

/**
 * Works on an offer and answers it. Never rejects: what fails is offered again, and when
 * the link is gone by the time there is something to say, the server offers it by itself.
 */
export async function answerOffer(
  message: JsMsg,
  work: () => Promise<Fate>,
  options: OfferOptions,
): Promise<void> {
  const log = (error: unknown) => options.log?.(`fleet: ${reasonOf(error)}`);
  const say = (word: () => void) => {
    try {
      word();
    } catch (error) {
      log(error);
    }
  };
  const again = () => say(() => message.nak(options.againMs ?? AGAIN_MS));
  const beat = setInterval(
    () => say(() => message.working()),
    (options.ackMs ?? ACK_MS) / 3,
  );
  try {
    const fate = await work();
    if (fate === "done") await message.ackAck();
    else if (fate === "over") say(() => message.term());
    else again();
  } catch (error) {
    log(error);
    again();
  } finally {
    clearInterval(beat);
  }
}

/** The consumer that all hosts share. */
export async function queueConsumer(
  fleet: Fleet,
  options: OfferOptions,
): Promise<Consumer> {
  const { queue } = fleet.names;
  try {
    await fleet.jsm.consumers.info(queue, CONSUMER);
  } catch {
    await fleet.jsm.consumers.add(queue, {
      durable_name: CONSUMER,
      ack_policy: AckPolicy.Explicit,
      ack_wait: (options.ackMs ?? ACK_MS) * 1e6,
      max_deliver: -1,
    });
  }
  return await fleet.js.consumers.get(queue, CONSUMER);
}
