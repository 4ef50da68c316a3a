/**
 * The host's tools for an agent that wants an MCP server on stdio: everything goes on to the worker's bridge.
 *
 * Flags: `--allow-read=SOCKET --allow-write=SOCKET --allow-net=unix:SOCKET`. Arguments: the path of the socket.
 *
 * @module
 */

/**
 * Copies stdin to the bridge and the bridge to stdout until either ends.
 *
 * @param socket The path of the bridge.
 */
async function relayTools(socket: string): Promise<void> {
  const connection = await Deno.connect({ transport: "unix", path: socket });
  const hello = new TextEncoder().encode('{"kind":"tools"}\n');
  for (let at = 0; at < hello.length;) {
    at += await connection.write(hello.subarray(at));
  }
  await Promise.race([
    Deno.stdin.readable.pipeTo(connection.writable, { preventAbort: true }),
    connection.readable.pipeTo(Deno.stdout.writable, { preventClose: true }),
  ]);
}

if (import.meta.main) {
  try {
    await relayTools(Deno.args[0] ?? "");
  } catch {
    Deno.exit(1);
  }
  Deno.exit(0);
}
