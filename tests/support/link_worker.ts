/**
 * Links on a thread of their own, so that a busy test does not hold up what passes.
 *
 * @module
 */
import { TestLink } from "./nats_server.ts";

/** What a thread is told. */
type Order = { open: number; links: number } | "cut" | "heal" | "close";

/** Several links to one port that are cut and healed together. */
export class LinkThread implements AsyncDisposable {
  /** Their ports. */
  readonly ports: readonly number[];
  readonly #worker: Worker;

  private constructor(worker: Worker, ports: number[]) {
    this.#worker = worker;
    this.ports = ports;
  }

  /** Opens links to a port. */
  static async open(target: number, links: number): Promise<LinkThread> {
    const worker = new Worker(import.meta.url, { type: "module" });
    const ports = await ask<number[]>(worker, { open: target, links });
    return new LinkThread(worker, ports);
  }

  /** Nothing passes any more. */
  cut(): Promise<void> {
    return ask(this.#worker, "cut");
  }

  /** Everything passes again. */
  heal(): Promise<void> {
    return ask(this.#worker, "heal");
  }

  /** Closes everything. */
  async [Symbol.asyncDispose](): Promise<void> {
    await ask(this.#worker, "close");
    this.#worker.terminate();
  }
}

function ask<T>(worker: Worker, order: Order): Promise<T> {
  return new Promise((resolve, reject) => {
    worker.onmessage = ({ data }) => resolve(data);
    worker.onerror = reject;
    worker.postMessage(order);
  });
}

if ("WorkerGlobalScope" in globalThis) {
  let links: TestLink[] = [];
  const post: unknown = Reflect.get(globalThis, "postMessage");
  addEventListener("message", async (event) => {
    if (!("data" in event)) return;
    const order: unknown = event.data;
    let answer: unknown;
    if (order === "cut") links.forEach((link) => link.cut());
    else if (order === "heal") links.forEach((link) => link.heal());
    else if (order === "close") {
      for (const link of links) await link[Symbol.asyncDispose]();
    } else if (
      typeof order === "object" && order !== null && "open" in order &&
      "links" in order
    ) {
      const { open, links: count } = order;
      links = Array.from(
        { length: Number(count) },
        () => new TestLink(Number(open)),
      );
      answer = links.map((link) => link.port);
    }
    if (typeof post === "function") post.call(globalThis, answer);
  });
}
