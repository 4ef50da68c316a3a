/**
 * The demo, stopped where it asks.
 *
 * @module
 */

/** A demo that waits in its question. */
export interface WaitingDemo {
  /** What was started. */
  readonly child: Deno.ChildProcess;
  /** Its workspace. */
  readonly workspace: string;
  /** Where its session is served. */
  readonly socket: string;
  /** The process that hosts it. */
  readonly pid: number;
  /** The process of its agent. */
  readonly agent: number;
  /** Waits for the end of what was started. */
  done(): Promise<void>;
}

/**
 * Starts a command line that plays the demo with `--json`, and waits for its question.
 *
 * @param argv The command line.
 * @param options Where it runs.
 * @returns The demo.
 */
export async function waitingDemo(
  argv: readonly string[],
  options: Pick<Deno.CommandOptions, "cwd" | "env"> = {},
): Promise<WaitingDemo> {
  const child = new Deno.Command(argv[0] ?? "", {
    args: argv.slice(1),
    ...options,
    stdin: "null",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  let seen = "";
  while (!seen.includes("AskUserQuestion") || !seen.includes("can_use_tool")) {
    const { value, done } = await reader.read();
    if (done) throw new Error(`the demo ended early: ${seen}`);
    seen += value;
  }
  const line = seen.split("\n").find((text) => text.includes('"type":"start"'));
  const start = JSON.parse(line ?? "{}");
  return {
    child,
    workspace: start.workspace,
    socket: start.socket,
    pid: start.pid,
    agent: start.agent_pid,
    async done(): Promise<void> {
      await child.status;
      await reader.cancel();
    },
  };
}
