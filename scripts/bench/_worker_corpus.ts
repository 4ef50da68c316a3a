// deno-lint-ignore-file camelcase -- field names are the wire's own
/**
 * What the worker's figures are taken with.
 *
 * @module
 */

/**
 * A session's output: mostly deltas, with tool results, messages and results between; CJK, emoji, escapes.
 *
 * @param lines How many.
 * @returns Their bytes.
 */
export function corpus(lines: number): Uint8Array<ArrayBuffer> {
  const session = "4ee2c66c-836c-4c0e-b9d0-386917c1a891";
  const tail = {
    session_id: session,
    parent_tool_use_id: null,
    uuid: "527d1061-f248-43dd-ad69-3e41396680f6",
  };
  const text = (at: number) =>
    at % 9 === 0
      ? `漢字 and 😀 ${at} \\"x\\" \u2028`
      : `some more words of the reply ${at}\n`;
  const delta = (at: number) => ({
    type: "stream_event",
    event: {
      type: "content_block_delta",
      index: 0,
      delta: { type: "text_delta", text: text(at) },
    },
    ...tail,
  });
  const assistant = (at: number) => ({
    type: "assistant",
    message: {
      id: `msg_${at}`,
      role: "assistant",
      content: [{ type: "text", text: text(at).repeat(10) }],
      usage: { input_tokens: 10, output_tokens: 5 },
    },
    ...tail,
  });
  const result = (at: number) => ({
    type: "user",
    message: {
      role: "user",
      content: [{
        type: "tool_result",
        tool_use_id: `t${at}`,
        content: "a line of output\n".repeat(180),
      }],
    },
    ...tail,
  });
  const out: string[] = [];
  for (let at = 0; at < lines; at++) {
    const kind = at % 25;
    out.push(
      JSON.stringify(
        kind < 21
          ? delta(at)
          : kind < 23
          ? assistant(at)
          : kind === 23
          ? result(at)
          : {
            type: "system",
            subtype: "status",
            status: "requesting",
            ...tail,
          },
      ),
    );
  }
  return new TextEncoder().encode(out.join("\n") + "\n");
}
