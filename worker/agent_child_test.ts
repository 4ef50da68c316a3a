import { assertEquals } from "@std/assert";
import { AgentChild } from "./agent_child.ts";

Deno.test("AgentChild: an answer that is queued just as the queue has run empty is written", async () => {
  const child = await AgentChild.start(["/bin/cat"], {
    cwd: "/",
    env: { PATH: "/usr/bin:/bin" },
  });
  // Its write ends in the same turn of the event loop, so that ticks can be counted from there.
  const beside = new Deno.Command("/bin/cat", {
    stdin: "piped",
    stdout: "null",
  }).spawn();
  const writer = beside.stdin.getWriter();
  let seen = 0;
  let more = Promise.withResolvers<void>();
  const reading = (async () => {
    for await (const lines of child.lines()) {
      seen += lines.length;
      more.resolve();
      more = Promise.withResolvers();
    }
  })();
  let written = 0;
  for (let ticks = 0; ticks < 24; ticks++) {
    for (let round = 0; round < 4; round++) {
      child.writeUrgent("question");
      await writer.write(new Uint8Array([10]));
      for (let tick = 0; tick < ticks; tick++) await Promise.resolve();
      child.writeUrgent("answer");
      written += 2;
      let lost = false;
      const timer = setTimeout(() => {
        lost = true;
        more.resolve();
      }, 20_000);
      while (seen < written && !lost) await more.promise;
      clearTimeout(timer);
      assertEquals(seen, written, `lost after ${ticks} ticks`);
    }
  }
  await writer.close();
  await beside.status;
  await child.close();
  await reading;
});
