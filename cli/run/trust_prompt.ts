import { askTrust, type TrustHandler } from "@bulkhead/plugins";
import { type CommandIo, paint } from "@bulkhead/sandbox/command";
import type { ReadLine } from "@bulkhead/worker/terminal";

/**
 * Puts the question of trust on the terminal of a session.
 *
 * @param io The terminal.
 * @param readLine Reads the answer.
 * @returns The handler.
 */
export function trustPrompt(io: CommandIo, readLine: ReadLine): TrustHandler {
  const { yellow } = paint(io.color);
  return askTrust({
    write: (text) => io.out(text),
    ask: (prompt) => {
      io.out(`${yellow("?")} ${prompt}`);
      return readLine();
    },
  });
}
