/**
 * What the commands of `plugins` read: paths, JSON, lines.
 *
 * @module
 */
import { LineSplitter } from "@bulkhead/sandbox";
import {
  type CommandIo,
  type Flags,
  UsageError,
} from "@bulkhead/sandbox/command";
import { joinPath, normalizePath } from "@bulkhead/sandbox/paths";
import { parseExact } from "./_exact_json.ts";
import { messageOf } from "./_text.ts";

/** A path of the command line as an absolute one. */
export function absolute(path: string): string {
  return path.startsWith("/")
    ? normalizePath(path)
    : normalizePath(joinPath(Deno.cwd(), path));
}

/** A JSON text of the command line, or of stdin for `-`. */
export async function jsonArgument(
  command: { io: CommandIo; flags: Flags },
  flag: string,
  missing: string,
): Promise<unknown> {
  const given = command.flags.text(flag) ?? missing;
  const text = given === "-"
    ? await new Response(command.io.stdin).text()
    : given;
  try {
    return parseExact(text);
  } catch (error) {
    throw new UsageError(
      `Cannot read the command line: --${flag} is not JSON: ${
        messageOf(error)
      }`,
      `--${flag} '{"key":"value"}', or --${flag} - to read it from stdin`,
    );
  }
}

/** Lines that were read but not asked for yet, by stream. */
const waiting = new WeakMap<ReadableStream<Uint8Array>, string[]>();

/** Reads one line; empty at the end of the input. */
export async function readLine(io: CommandIo): Promise<string> {
  const stream = io.stdin;
  const lines = waiting.get(stream) ?? [];
  waiting.set(stream, lines);
  const splitter = new LineSplitter({ maxLineBytes: 65_536 });
  const decoder = new TextDecoder();
  const reader = stream.getReader();
  try {
    while (lines.length === 0) {
      const { done, value } = await reader.read();
      const found = done ? splitter.end() : splitter.push(value);
      lines.push(...found.map((line) => decoder.decode(line.bytes)));
      if (done) break;
    }
  } finally {
    reader.releaseLock();
  }
  return lines.shift() ?? "";
}
