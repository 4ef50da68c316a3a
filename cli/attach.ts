import { type CommandIo, UsageError } from "@bulkhead/sandbox/command";

const HELP = `Look at, answer or interrupt a session that runs

Usage: bulkhead attach ID [--home DIR] [--json]

Shows the session from its first kept frame and then live. On a terminal its
questions are answered in place. Leaving does not end the session.

Examples:
  bulkhead worker list
  bulkhead attach run-1a2b3c4d
`;

/**
 * `bulkhead attach`: `bulkhead worker watch` under the name that people look for.
 *
 * @param args The arguments after `attach`.
 * @param io The terminal.
 * @returns The exit code.
 */
export async function attachCommand(
  args: string[],
  io: CommandIo,
): Promise<number> {
  if (args.includes("--help") || args.includes("-h")) {
    io.out(HELP);
    return 0;
  }
  if (args.every((arg) => arg.startsWith("-"))) {
    throw new UsageError(
      "Cannot attach: no session is named",
      "bulkhead worker list, then bulkhead attach ID",
    );
  }
  const { workerCommand } = await import("@bulkhead/worker/cli");
  return await workerCommand(["watch", ...args], io);
}
