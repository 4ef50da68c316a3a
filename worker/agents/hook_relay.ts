/**
 * The process that Codex starts per tool call: the call goes to the worker's bridge, and the worker's word back. When
 * the worker is gone the guard's marker on disk decides, and without one the call is refused.
 *
 * Flags: `--allow-read --allow-write=SOCKET[,LOG DIRECTORY] --allow-net=unix:SOCKET
 * --allow-env=HOME,TMPDIR,USER,LOGNAME`. Arguments: the path of the socket and, if there is one, of the marker. The module graph is small on purpose: it is loaded per call.
 *
 * @module
 */

const encoder = new TextEncoder();

const GONE = JSON.stringify({
  decision: "block",
  reason: "eval guard: blocked because the session's worker is gone",
});

/** What the hook prints for an answer of the bridge; nothing lets the call go on. */
function outputOf(line: string): string {
  const answer: unknown = JSON.parse(line);
  if (
    typeof answer !== "object" || answer === null || !("decision" in answer)
  ) {
    return GONE;
  }
  if (answer.decision !== "allow") {
    const reason = "reason" in answer && typeof answer.reason === "string" &&
        answer.reason !== ""
      ? answer.reason
      : "denied";
    return JSON.stringify({ decision: "block", reason });
  }
  if (!("updatedInput" in answer) || answer.updatedInput === undefined) {
    return "";
  }
  return JSON.stringify({
    hookSpecificOutput: {
      hookEventName: "PreToolUse",
      permissionDecision: "allow",
      updatedInput: answer.updatedInput,
    },
  });
}

/** Asks the worker; refuses when it gives no answer. */
async function askWorker(connection: Deno.UnixConn): Promise<string> {
  const payload = await new Response(Deno.stdin.readable).text();
  const call = JSON.stringify(JSON.parse(payload));
  const bytes = encoder.encode(`{"kind":"judge","id":1,"payload":${call}}\n`);
  for (let at = 0; at < bytes.length;) {
    at += await connection.write(bytes.subarray(at));
  }
  let answer = "";
  const decoder = new TextDecoder();
  const chunk = new Uint8Array(65_536);
  for (;;) {
    const read = await connection.read(chunk);
    if (read === null) return GONE;
    answer += decoder.decode(chunk.subarray(0, read), { stream: true });
    const end = answer.indexOf("\n");
    if (end >= 0) return outputOf(answer.slice(0, end));
  }
}

/** Asks the guard's marker, which prints its verdict itself; refuses when it cannot be had. */
async function askMarker(marker: string | undefined): Promise<void> {
  if (marker === undefined) return await print(GONE);
  try {
    // The specifier is no literal, because Deno would load the module at start then.
    const name = "@bulkhead/guard/hook";
    const guard: {
      runHook?: (args: readonly string[]) => Promise<number>;
    } = await import(name);
    const code = await guard.runHook?.([
      "--fail-closed",
      "--harness",
      "codex",
      marker,
    ]);
    if (code !== 0) await print(GONE);
  } catch {
    await print(GONE);
  }
}

async function print(output: string): Promise<void> {
  if (output === "") return;
  const bytes = encoder.encode(output + "\n");
  for (let at = 0; at < bytes.length;) {
    at += await Deno.stdout.write(bytes.subarray(at));
  }
}

/**
 * Runs the hook.
 *
 * @param args The socket and the marker.
 */
async function relayHook(args: readonly string[]): Promise<void> {
  let connection: Deno.UnixConn;
  try {
    connection = await Deno.connect({ transport: "unix", path: args[0] ?? "" });
  } catch {
    return await askMarker(args[1]);
  }
  try {
    await print(await askWorker(connection));
  } catch {
    await print(GONE);
  } finally {
    connection.close();
  }
}

if (import.meta.main) await relayHook(Deno.args);
