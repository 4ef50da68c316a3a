// deno-lint-ignore-file no-console -- an example that people copy
/**
 * A session behind a socket, and a client that follows it from another process.
 *
 * ```sh
 * deno run -A examples/worker_client.ts
 * ```
 */
import { connect, runWorker, scriptedDriver } from "@bulkhead/worker";

const dir = await Deno.makeTempDir();
await using worker = await runWorker({
  shortId: "example",
  home: `${dir}/workers`,
  cwd: dir,
  driver: scriptedDriver({
    script: {
      schema: 1,
      turns: [{ steps: [{ say: "Hello from a session" }] }],
    },
    sessions: `${dir}/sessions`,
  }),
});

const client = await connect(worker.socketPath);
await client.writeTurn("Hi");
watching: for await (const event of client.watch({ cursor: 0 })) {
  if (event.type !== "frames") continue;
  for (const frame of event.frames) {
    if (frame.kind === "assistant") console.log(frame.text);
    if (frame.kind === "result") break watching;
  }
}
client.close();
