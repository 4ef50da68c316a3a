import { judgesAs } from "../../tests/support/verdicts.ts";

/** One command a line, `-` before those that write outside and `+` before the others. */
const CASES = new URL(
  "../../tests/fixtures/cases/guard/programs.txt",
  import.meta.url,
);

for (const section of Deno.readTextFileSync(CASES).split(/^# /m).slice(1)) {
  const [title = "", ...lines] = section.split("\n");
  Deno.test(`what programs write, by kind: ${title}`, () => {
    const commands = (sign: string) =>
      lines.filter((line) => line.startsWith(`${sign} `)).map((line) =>
        line.slice(2).replaceAll("\\N", "\n")
      );
    judgesAs({ deny: commands("-"), allow: commands("+") });
  });
}
