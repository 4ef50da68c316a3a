import { type CommandIo, visibleLines } from "@bulkhead/sandbox/command";

/** The same streams, for text that plugins had a hand in: what could move, hide or recolour text is shown as an escape. */
export function safeIo(io: CommandIo, json: boolean): CommandIo {
  return {
    get stdin() {
      return io.stdin;
    },
    // JSON has escapes of its own.
    out: (text) => io.out(json ? text : visibleLines(text)),
    err: (text) => io.err(visibleLines(text)),
    isTerminal: io.isTerminal,
    canAsk: io.canAsk,
    color: io.color,
  };
}

/** What of a text stands in a list. */
const MAX_SHOWN = 200;

/** Text on one line, as it stands in a list; `--json` has all of it. */
export function oneLine(text: string, max = MAX_SHOWN): string {
  const line = text.slice(0, 4 * max).replace(/\s+/g, " ").trim();
  const short = [...line].slice(0, max).join("");
  return short.length < line.length || text.length > 4 * max
    ? `${short}…`
    : line;
}
