import { assertEquals } from "@std/assert";
import { OutputLog } from "./output.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

Deno.test("OutputLog labels lines, joins chunks and strips control characters", () => {
  const lines: string[] = [];
  const log = new OutputLog({
    name: "p",
    onLine: (l) => lines.push(l),
    now: () => 0,
  });
  log.push(bytes("on"));
  log.push(bytes("e\n\x1b[31mtwo\x1b[0m\x07\r\nthree"));
  log.end();
  assertEquals(lines, ["[p] one", "[p] two", "[p] three"]);
  assertEquals(log.tail, "one\ntwo\nthree");
});

Deno.test("OutputLog passes on so many lines a second and says how many it dropped", () => {
  const lines: string[] = [];
  let now = 0;
  const log = new OutputLog({
    name: "p",
    onLine: (l) => lines.push(l),
    linesPerSecond: 2,
    now: () => now,
  });
  log.push(bytes("a\nb\nc\nd\n"));
  now = 1_500;
  log.push(bytes("e\n"));
  log.end();
  assertEquals(lines, [
    "[p] a",
    "[p] b",
    "[p] (2 more lines dropped)",
    "[p] e",
  ]);
});

Deno.test("OutputLog stays small whatever is printed", () => {
  const log = new OutputLog({ name: "p" });
  for (let i = 0; i < 100; i++) log.push(new Uint8Array(100_000).fill(120));
  assertEquals(log.tail.length <= 3 * 8_192, true);
});
