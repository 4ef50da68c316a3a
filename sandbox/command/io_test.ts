import { assertEquals } from "@std/assert";

const PROGRAM = `
  import { processIo } from ${
  JSON.stringify(new URL("io.ts", import.meta.url).href)
};
  const io = processIo();
  await io.stdin.getReader().read();
  io.out("a line\\n");
  Deno.exit(io.unread ? 7 : 8);
`;

Deno.test("processIo() knows when nobody reads its output any more", async () => {
  for (const [leaves, code] of [[true, 7], [false, 8]] as const) {
    const program = new Deno.Command(Deno.execPath(), {
      args: ["eval", "--no-config", PROGRAM],
      stdin: "piped",
      stdout: "piped",
    }).spawn();
    if (leaves) await program.stdout.cancel();
    await program.stdin.close();
    if (!leaves) await new Response(program.stdout).text();
    assertEquals((await program.status).code, code);
  }
});
