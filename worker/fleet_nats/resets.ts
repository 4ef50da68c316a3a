/**
 * Resets of sockets that the client library no longer listens to.
 *
 * @module
 */

let catching = false;

/**
 * Keeps a reset from ending the program, for good: the client library stops listening
 * to a socket that it closes, also when it connects anew by itself, and the server's
 * reset comes in whenever the network brings it. An error that nobody listens to would
 * be an uncaught one, although what it means was told already.
 */
export function catchResets(): void {
  if (catching) return;
  catching = true;
  globalThis.addEventListener("error", (event) => {
    if (isSocketReset(event.error)) event.preventDefault();
  });
}

/** Only `node:net` says which system call it was: what Deno's own connections throw passes. */
function isSocketReset(error: unknown): boolean {
  return error instanceof Error && "syscall" in error && "code" in error &&
    (error.code === "ECONNRESET" || error.code === "EPIPE");
}
