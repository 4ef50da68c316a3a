/**
 * Faults that a script can show.
 *
 * @module
 */
import { pause, startProcess } from "@bulkhead/sandbox";
import type { Fault } from "./script.ts";
import type { Stage, Turn } from "./stage.ts";
import { fill } from "./text.ts";

const API_ERRORS: Record<number, string> = {
  401: "authentication_failed",
  429: "rate_limit",
  500: "server_error",
  529: "server_error",
};
const encoder = new TextEncoder();
const CHUNK = 64 * 1024;

/** Plays one fault. */
export async function playFault(
  stage: Stage,
  turn: Turn,
  fault: Fault,
): Promise<void> {
  switch (fault.kind) {
    case "api_retry":
      return await retries(stage, turn, fault);
    case "api_error":
      return apiError(stage, turn, fault.status ?? 429);
    case "big_line": {
      turn.replay();
      const ids = stage.frames.newMessageIds(false);
      stage.frames.assistant(ids.message, {
        type: "text",
        text: "x".repeat(fault.bytes),
      }, undefined);
      return await stage.output.drained();
    }
    case "no_newline":
      for (let left = fault.bytes; left > 0; left -= CHUNK) {
        stage.output.raw(new Uint8Array(Math.min(left, CHUNK)).fill(0x78));
        await stage.output.relax();
      }
      return await stage.output.drained();
    case "malformed":
      return stage.output.raw(
        encoder.encode((fault.line ?? "this is not JSON") + "\n"),
      );
    case "raw":
      return stage.output.raw(bytesOf(fault.hex));
    case "frame":
      return stage.output.frame(fill(fault.frame, stage, turn));
    case "silence":
      if (fault.ms !== undefined) {
        return await pause(fault.ms, turn.abort.signal);
      }
      return await silence(stage, turn);
    case "exit":
      if (fault.stderr) await stage.complain(fault.stderr);
      await stage.output.drained();
      return await stage.exit(fault.code);
    case "killed":
      await stage.output.drained();
      Deno.kill(Deno.pid, "SIGKILL");
      return await new Promise<never>(() => {});
    case "stderr":
      return await flood(
        stage,
        fault.bytes,
        fault.text ?? "scripted agent: stderr flood\n",
      );
    case "grandchild":
      return await grandchild(stage, turn, fault);
    case "close_stdout":
      await stage.output.drained();
      stage.output.stop();
      return Deno.stdout.close();
  }
}

/** Nothing more of this turn, until it is interrupted or stdin ends. */
async function silence(stage: Stage, turn: Turn): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  turn.abort.signal.addEventListener("abort", () => resolve(), { once: true });
  if (turn.abort.signal.aborted) resolve();
  await Promise.race([promise, stage.ended]);
}

async function retries(
  stage: Stage,
  turn: Turn,
  fault: Fault & { kind: "api_retry" },
): Promise<void> {
  const attempts = fault.attempts ?? 1;
  const status = fault.status === undefined ? 429 : fault.status;
  for (let attempt = 1; attempt <= attempts; attempt++) {
    const delay = fault.delayMs ?? 50;
    stage.frames.system("api_retry", {
      attempt,
      max_retries: attempts,
      retry_delay_ms: delay,
      error_status: status,
      error: status === null ? "unknown" : API_ERRORS[status] ?? "unknown",
    });
    await pause(delay, turn.abort.signal);
  }
}

function apiError(stage: Stage, turn: Turn, status: number): void {
  const text = status === 429
    ? `API Error: Request rejected (429) · scripted ${status}`
    : `API Error: ${status} scripted ${status}`;
  turn.replay();
  stage.frames.apiErrorText(text, API_ERRORS[status] ?? "unknown");
  turn.stopReason = "stop_sequence";
  turn.ending = {
    subtype: "success",
    isError: true,
    result: text,
    apiErrorStatus: status,
  };
}

async function flood(stage: Stage, bytes: number, text: string): Promise<void> {
  const piece = text.repeat(
    Math.max(1, Math.ceil(CHUNK / Math.max(1, text.length))),
  );
  for (let left = bytes; left > 0; left -= piece.length) {
    await stage.complain(piece.slice(0, left));
  }
}

/**
 * A process that outlives the agent, in a session of its own so that a group kill
 * misses it. It keeps the host's mark in its environment, as the shells of the
 * real child do.
 */
async function grandchild(
  stage: Stage,
  turn: Turn,
  fault: Fault & { kind: "grandchild" },
): Promise<void> {
  const file = fault.pidFile === undefined
    ? "/dev/null"
    : fill(fault.pidFile, stage, turn);
  const mark = Deno.env.get("BULKHEAD_TREE");
  const stdout = fault.holdStdout ? `>"/proc/${Deno.pid}/fd/1"` : ">/dev/null";
  await stage.output.drained();
  await startProcess([
    "/usr/bin/env",
    ...mark === undefined ? ["-u", "BULKHEAD_TREE"] : [`BULKHEAD_TREE=${mark}`],
    "/bin/sh",
    "-c",
    `echo $$ > "$1"; exec sleep "$2" </dev/null ${stdout} 2>/dev/null`,
    "sh",
    file,
    String(fault.seconds),
  ], { cwd: stage.cwd, parentDeath: "none", stderr: "null" });
}

function bytesOf(hex: string): Uint8Array {
  return Uint8Array.from(hex.match(/../g) ?? [], (pair) => parseInt(pair, 16));
}
