import { assertEquals } from "@std/assert";
import type { PageHost } from "../page/source.ts";
import { waitsFor } from "./list_cli.ts";

const GB = 1024 ** 3;

function host(
  sessions: number,
  slots: number,
  memoryBytes: number | null = null,
): PageHost {
  return { host: "a", sessions, slots, memoryBytes, load: null };
}

Deno.test("waitsFor() tells what a queued session waits for", () => {
  const why = (hosts: PageHost[], memoryBytes?: number) =>
    waitsFor(memoryBytes === undefined ? {} : { memoryBytes }, hosts);
  const nobody = "no machine takes sessions; start `bulkhead fleet host`";
  assertEquals(why([]), nobody);
  // One that only shows the sessions of `bulkhead run` offers no slot.
  assertEquals(why([host(1, 0)]), nobody);
  assertEquals(why([host(2, 2), host(1, 1)]), "every slot is taken");
  assertEquals(
    why([host(0, 1, GB)], 2 * GB),
    "no machine offers that much memory",
  );
  assertEquals(why([host(0, 1, 4 * GB), host(1, 1)], 2 * GB), undefined);
});
