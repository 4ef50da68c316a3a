import { noPrompt } from "./options.ts";

/** More than this is no prompt. */
const MAX_BYTES = 1_048_576;

/** How long a stream that nobody has named may take to begin: an open one may belong to somebody else. */
const BEGINS_MS = 3_000;

/**
 * Reads a prompt that is piped in.
 *
 * @param stdin Standard input.
 * @param named Whether the command line names it by `-`; else it may be silent.
 * @returns The prompt.
 * @throws {UsageError} When there is none.
 * @throws {RangeError} When it is too long.
 */
export async function pipedPrompt(
  stdin: ReadableStream<Uint8Array>,
  named: boolean,
): Promise<string> {
  const reader = stdin.getReader();
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  const silent = named ? undefined : AbortSignal.timeout(BEGINS_MS);
  try {
    for (;;) {
      const waits = bytes === 0 ? silent : undefined;
      const { value, done } = await within(reader.read(), waits);
      if (done || value === undefined) break;
      bytes += value.length;
      if (bytes > MAX_BYTES) {
        throw new RangeError(
          `Cannot run: the prompt on standard input has more than ${MAX_BYTES} bytes; put it into a file and name the file in the prompt`,
        );
      }
      text += decoder.decode(value, { stream: true });
    }
  } finally {
    reader.cancel().catch(() => {});
  }
  const prompt = (text + decoder.decode()).trim();
  if (prompt === "") throw noPrompt();
  return prompt;
}

async function within<T>(
  reading: Promise<T>,
  signal: AbortSignal | undefined,
): Promise<T> {
  if (signal === undefined) return await reading;
  const late = Promise.withResolvers<never>();
  const onLate = (): void => late.reject(noPrompt());
  signal.addEventListener("abort", onLate, { once: true });
  try {
    return await Promise.race([reading, late.promise]);
  } finally {
    signal.removeEventListener("abort", onLate);
  }
}
