/**
 * A server that refuses resets its connections when it likes: nothing of that may end
 * the program.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { connectFleet, FleetError } from "@bulkhead/worker/fleet";
import { startNats } from "./support/nats_server.ts";
import { hasTool } from "./support/require_tool.ts";

Deno.test({
  name: "fleet: hundreds of refused connections leave no uncaught error",
  ignore: !hasTool("nats-server"),
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    await using server = await startNats({
      config: 'authorization { users: [ { user: "u", password: "p" } ] }',
    });
    const servers = `nats://127.0.0.1:${server.port}`;
    const codes = new Map<string, number>();
    // Without the mend about one in twenty is an uncaught error, on a busy machine.
    for (let round = 0; round < 200; round++) {
      for (const options of [{}, { user: "u", password: "x" }]) {
        const code = await connectFleet({ servers, host: "h", ...options })
          .then(
            () => "connected",
            (error: unknown) =>
              error instanceof FleetError ? error.code : String(error),
          );
        codes.set(code, (codes.get(code) ?? 0) + 1);
      }
    }
    assertEquals([...codes], [["not_authorized", 400]]);
  },
});
