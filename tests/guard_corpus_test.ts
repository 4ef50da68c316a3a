// deno-lint-ignore-file camelcase -- field names of payloads
/**
 * The shared and the own corpus of calls, each judged and compared.
 *
 * Cases with `tag: "fs"` get their links from a stand-in for the disk, so the verdicts do not
 * depend on what is on the machine.
 */
import { assertEquals } from "@std/assert";
import { decideLine } from "@bulkhead/guard";

interface Case {
  id: string;
  tool_input: unknown;
  expect: string;
  why: string;
  tag?: string;
}

async function readCases(path: string): Promise<Case[]> {
  const text = await Deno.readTextFile(new URL(path, import.meta.url));
  return text.trim().split("\n").map((line) => JSON.parse(line));
}

/** The links of the cases that need some. */
const LINKS = new Map([["/work/env/link", "/srv/out"]]);

function wrong(cases: readonly Case[]): string[] {
  const paths = {
    readLink: (path: string) =>
      LINKS.get(path) ?? ("/work/env".startsWith(path) ? null : undefined),
  };
  return cases.flatMap((one) => {
    const links = one.tag === "fs" ? paths : { readLink: () => undefined };
    const { allow, reason } = decideLine(one, {
      now: 0,
      home: "/home/me",
      paths: links,
    });
    return allow === (one.expect === "allow") ? [] : [
      `${one.id} (${one.why}): expected ${one.expect}, got ${
        reason || "allow"
      }: ${JSON.stringify(one.tool_input).slice(0, 200)}`,
    ];
  });
}

for (
  const [name, path] of [
    ["shared", "fixtures/cases/guard/cases.jsonl"],
    ["own", "fixtures/guard_own_cases.jsonl"],
    ["blind", "fixtures/guard_blind_cases.jsonl"],
  ] as const
) {
  Deno.test(`decideLine() is right on every clear case of the ${name} corpus`, async () => {
    const cases = await readCases(path);
    assertEquals(wrong(cases.filter((one) => one.tag !== "ambiguous")), []);
  });

  Deno.test(`decideLine() follows its table on the ambiguous cases of the ${name} corpus`, async () => {
    const cases = await readCases(path);
    assertEquals(wrong(cases.filter((one) => one.tag === "ambiguous")), []);
  });
}
