import { assertEquals } from "@std/assert";
import { SessionNotes } from "./notes.ts";

Deno.test("SessionNotes.written() tells what the session has changed, not what was changed just before", async () => {
  const dir = await Deno.makeTempDir();
  try {
    const path = (name: string) => `${dir}/${name}`;
    await Deno.writeTextFile(path("before.txt"), "by somebody else");
    await Deno.writeTextFile(path("changed.txt"), "old");
    await Deno.writeTextFile(path("replaced.txt"), "same");
    const notes = new SessionNotes(dir);
    const names = ["before", "changed", "new", "never", "replaced"];
    notes.mayWrite(names.map((name) => path(`${name}.txt`)));
    await Deno.writeTextFile(path("changed.txt"), "longer than it was");
    await Deno.writeTextFile(path("new.txt"), "");
    await Deno.writeTextFile(path("beside.txt"), "same");
    await Deno.rename(path("beside.txt"), path("replaced.txt"));
    // A second call over the same file does not make the first one's work old.
    notes.mayWrite([path("new.txt")]);
    assertEquals(notes.written(), ["changed.txt", "new.txt", "replaced.txt"]);
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
});
