import { processIo } from "@bulkhead/sandbox/command";
import { assertEquals } from "@std/assert";
import { sandboxCommand } from "./cli.ts";

async function command(...args: string[]): Promise<[number, string]> {
  let err = "";
  const io = {
    ...processIo(),
    out: () => {},
    err: (text: string) => void (err += text),
  };
  return [await sandboxCommand(args, io), err];
}

Deno.test("sandbox run: a variable is named, not set, and nothing is left over", async () => {
  for (const name of ["", "A=B"]) {
    assertEquals(await command("run", "--env", name, "--", "true"), [
      2,
      `error: Cannot hand on a variable: "${name}" is not the name of one; --env NAME takes the value that it has here\n`,
    ]);
  }
  assertEquals(await command("run", "ls", "--", "true"), [
    2,
    'error: Cannot run: "ls" is left over; sandbox run -- ls\n',
  ]);
});
