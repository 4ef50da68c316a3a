import type { Frame, JudgedCall, Session } from "@bulkhead/worker";
import type { Renderer } from "./render.ts";

/**
 * Follows a session from its first kept frame.
 *
 * @param session The session.
 * @param renderer Takes what happens.
 * @returns A function that prints what is left and stops following.
 */
export function follow(
  session: Session,
  renderer: Pick<Renderer, "verdict" | "note"> & {
    frame(index: number, frame: Frame, raw: string): void;
  },
): () => void {
  let cursor = 0;
  const drain = (): void => {
    for (;;) {
      const slice = session.log.since(cursor);
      if (slice.gap) renderer.note("… some frames were too many to keep");
      let index = slice.next - slice.entries.length;
      for (const { frame, raw } of slice.entries) {
        renderer.frame(index++, frame, raw);
      }
      if (slice.next === cursor) return;
      cursor = slice.next;
    }
  };
  // A verdict falls while the lines that led to it are still being read: it is shown
  // after them, and before what the agent does next.
  const waiting: JudgedCall[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  const flush = (): void => {
    clearTimeout(timer);
    drain();
    for (const { call, verdict } of waiting.splice(0)) {
      renderer.verdict(call, verdict);
    }
  };
  const unwatch = session.watch((change) => {
    if (change === "frames" || change === "ended") flush();
  });
  const unlisten = session.onVerdict((judged) => {
    waiting.push(judged);
    clearTimeout(timer);
    timer = setTimeout(flush, 0);
  });
  flush();
  return () => {
    flush();
    unwatch();
    unlisten();
  };
}
