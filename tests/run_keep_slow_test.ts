import {
  assert,
  assertEquals,
  assertMatch,
  assertStringIncludes,
} from "@std/assert";
import { allEnded, exists, speakingOf } from "./support/processes.ts";
import { hasTool } from "./support/require_tool.ts";
import {
  BULKHEAD,
  bulkhead,
  openRunWorld,
  type Ran,
  type RunWorld,
} from "./support/run_world.ts";
import { Terminal } from "./support/terminal.ts";

/** Places and the command line for one test. */
class World implements AsyncDisposable {
  readonly dir: string;
  readonly ws: string;
  readonly home: string;
  /** The environment of every program here. */
  readonly env: Record<string, string>;
  readonly #world: RunWorld;
  readonly #started: Deno.ChildProcess[] = [];

  private constructor(world: RunWorld) {
    this.#world = world;
    this.dir = world.dir;
    this.ws = world.ws;
    this.home = world.home;
    this.env = { ...world.env, BULKHEAD_HOME: world.home };
  }

  static async open(): Promise<World> {
    return new World(await openRunWorld());
  }

  /** The arguments of a run that plays these turns. */
  script(...turns: unknown[][]): Promise<string[]> {
    return this.#world.playing(...turns);
  }

  /** Starts a program whose lines of JSON are read one by one. */
  follow(...args: string[]): Lines {
    const child = new Deno.Command(Deno.execPath(), {
      args: [...BULKHEAD.slice(1), ...args, "--json"],
      env: this.env,
      stdin: "null",
      stdout: "piped",
      stderr: "null",
    }).spawn();
    this.#started.push(child);
    return new Lines(child);
  }

  bulkhead(...args: string[]): Promise<Ran> {
    return bulkhead(args, { env: this.env });
  }

  /** Follows a session in a terminal. */
  attach(id: string): Terminal {
    return new Terminal([...BULKHEAD, "attach", id], { env: this.env });
  }

  /** Starts a run with `--keep --json` and gives its events one by one. */
  async keep(args: string[]): Promise<Lines> {
    const kept = this.follow(...args, "--keep", "go");
    await kept.until(({ type }) => type === "start");
    return kept;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const child of this.#started) {
      try {
        child.kill("SIGKILL");
      } catch {
        // It has ended.
      }
      await child.status;
      await child.stdout.cancel().catch(() => {});
    }
    await Deno.remove(this.dir, { recursive: true });
  }
}

/** A run that is kept or followed, by its lines. */
class Lines {
  readonly child: Deno.ChildProcess;
  readonly events: Record<string, unknown>[] = [];
  readonly #reader: ReadableStreamDefaultReader<string>;
  #held = "";

  constructor(child: Deno.ChildProcess) {
    this.child = child;
    this.#reader = child.stdout.pipeThrough(new TextDecoderStream())
      .getReader();
  }

  async until(
    met: (event: Record<string, unknown>) => boolean,
  ): Promise<Record<string, unknown>> {
    for (let at = 0;;) {
      for (; at < this.events.length; at++) {
        const event = this.events[at];
        if (event && met(event)) return event;
      }
      const { value, done } = await this.#reader.read();
      assert(!done, `the run ended: ${JSON.stringify(this.events)}`);
      const lines = (this.#held + value).split("\n");
      this.#held = lines.pop() ?? "";
      this.events.push(...lines.map((line) => JSON.parse(line)));
    }
  }

  /** Reads to the end; the exit code. */
  async rest(): Promise<number> {
    while (!(await this.#reader.read()).done);
    return (await this.child.status).code;
  }

  /** Reads the closing summary of a run. */
  async end(): Promise<{ code: number; summary: Record<string, unknown> }> {
    const summary = await this.until(({ type }) => type === "summary");
    return { code: await this.rest(), summary };
  }

  /** The id in the path of the socket. */
  get id(): string {
    const start = this.events.find(({ type }) => type === "start");
    return String(start?.socket).split("/").at(-2) ?? "";
  }
}

const SHELL = {
  message: [{ tool: "Bash", input: { command: "echo made > made.txt" } }],
};

Deno.test("--keep: listed, attached to, answered and stopped from other processes; nothing is left", async () => {
  await using world = await World.open();
  const kept = await world.keep(await world.script([SHELL, { say: "after" }]));
  await kept.until(({ frame }) =>
    JSON.stringify(frame ?? "").includes("can_use_tool")
  );
  const id = kept.id;
  assertMatch(id, /^run-[0-9a-f]{8}$/);

  const listed = await world.bulkhead("worker", "list", "--json");
  const { workers } = JSON.parse(listed.out);
  assertEquals(workers.length, 1);
  assertEquals(workers[0].shortId, id);
  assertEquals(workers[0].state, "requires_action");
  assertEquals(workers[0].openAsks, 1);

  const open = await world.bulkhead("worker", "answer", id, "--json");
  const { asks } = JSON.parse(open.out);
  assertEquals(asks[0].tool_name, "Bash");
  const answered = await world.bulkhead(
    "worker",
    "answer",
    id,
    asks[0].id,
    "allow",
  );
  assertEquals([answered.code, answered.err], [0, ""]);
  const note = await kept.until(({ type, text }) =>
    type === "note" && String(text).startsWith("kept: ")
  );
  assertStringIncludes(String(note.text), `bulkhead attach ${id}`);
  assertEquals(await Deno.readTextFile(`${world.ws}/made.txt`), "made\n");

  // A second turn, from outside, in the same session.
  const asked = await world.bulkhead("worker", "ask", id, "more");
  assertEquals([asked.code, asked.out], [0, "You said: more\n"], asked.err);
  const again = await world.bulkhead("worker", "answer", id, "x", "allow");
  assertEquals(again.code, 1);
  assertStringIncludes(again.err, '"x": it is not open');

  // Whoever watches sees it from the first frame to the end.
  const watching = world.follow("attach", id);
  await watching.until((line) => JSON.stringify(line).includes('"after"'));
  const stopped = await world.bulkhead("worker", "stop", id);
  assertEquals([stopped.code, stopped.err], [0, ""]);
  const { code, summary } = await kept.end();
  assertEquals([code, summary.outcome], [0, "completed"]);
  assertEquals(await watching.rest(), 0);
  assertEquals(speakingOf(world.dir), []);
  const gone = await world.bulkhead("attach", id);
  assertEquals(gone.code, 1);
  assertStringIncludes(gone.err, "nobody listens");
  assertEquals(gone.err.trimEnd().split("\n").length, 1, gone.err);
  const doctor = await world.bulkhead("doctor", "--cwd", world.ws, "--json");
  const { findings } = JSON.parse(doctor.out);
  const mine = findings.filter(({ area }: { area: string }) =>
    ["workers", "claims"].includes(area)
  );
  assertEquals(
    mine.map(({ status }: { status: string }) => status),
    ["ok", "ok"],
    JSON.stringify(mine),
  );
});

Deno.test({
  name:
    "attach: its question is answered in place, and leaving does not end the session",
  ignore: !hasTool("script", "apt-get install util-linux"),
  async fn() {
    await using world = await World.open();
    const kept = await world.keep(
      await world.script([SHELL, { say: "after" }], [SHELL, { say: "second" }]),
    );
    {
      await using terminal = world.attach(kept.id);
      await terminal.see("[y/N, or a reason to deny]");
      await terminal.type("y\r");
      await terminal.see("after");
      await terminal.type("\x03");
      assertEquals(await terminal.end(), 130);
    }
    await kept.until(({ text }) => String(text).startsWith("kept: "));
    const status = await world.bulkhead("worker", "status", kept.id, "--json");
    assertEquals(JSON.parse(status.out).state, "idle");
    // A question that somebody else answers is taken back from the terminal.
    const asking = world.bulkhead("worker", "ask", kept.id, "again");
    await using terminal = world.attach(kept.id);
    await terminal.see("[y/N, or a reason to deny]");
    const { asks } = JSON.parse(
      (await world.bulkhead("worker", "answer", kept.id, "--json")).out,
    );
    await world.bulkhead("worker", "answer", kept.id, asks[0].id, "allow");
    await terminal.see("that question is no longer open");
    assertEquals((await asking).out, "second\n");
    await world.bulkhead("worker", "stop", kept.id);
    await terminal.see("ended");
    assertEquals(await terminal.end(), 0);
    assertEquals((await kept.end()).code, 0);
  },
});

Deno.test({
  name: "attach: a question of the agent itself is answered by its options",
  ignore: !hasTool("script", "apt-get install util-linux"),
  async fn() {
    await using world = await World.open();
    const kept = await world.keep(
      await world.script([
        { ask: "Which colour?", options: ["red", "blue"] },
        { say: "heard: ${last}" },
      ]),
    );
    await using terminal = world.attach(kept.id);
    await terminal.see("Which colour?");
    await terminal.see("2) blue");
    await terminal.type("2\r");
    await terminal.see('"Which colour?"="blue"');
    await world.bulkhead("worker", "stop", kept.id);
    assertEquals(await terminal.end(), 0);
    assertEquals((await kept.end()).code, 0);
  },
});

Deno.test("--keep: Ctrl-C ends the kept session", async () => {
  await using world = await World.open();
  const kept = await world.keep(await world.script([{ say: "hi" }]));
  await kept.until(({ text }) => String(text).startsWith("kept: "));
  kept.child.kill("SIGINT");
  assertEquals((await kept.end()).code, 0);
  await allEnded(world.dir);
});

Deno.test("--resume: the scripted agent goes on with an earlier session", async () => {
  await using world = await World.open();
  const args = await world.script([{ say: "one" }], [{ say: "two" }]);
  const first = await world.bulkhead(...args, "--json", "go");
  assertEquals(first.code, 0, first.err);
  const { session } = JSON.parse(first.out.trim().split("\n").at(-1) ?? "{}");
  const second = await world.bulkhead(...args, "--resume", session, "on");
  assertEquals(second.code, 0, second.err);
  assertStringIncludes(second.out, "two");
  assertStringIncludes(second.out, session);
  assertEquals(/^one$/m.test(second.out), false, second.out);
  const unknown = await world.bulkhead(
    ...args,
    "--resume",
    crypto.randomUUID(),
    "on",
  );
  assertEquals(unknown.code, 1);
  assertStringIncludes(unknown.err, "No conversation found");
  assertEquals(unknown.err.trimEnd().split("\n").length, 1, unknown.err);
});

Deno.test("--approve: questions are answered with yes and told; a denial of the guard stays", async () => {
  await using world = await World.open();
  const { code, out } = await world.bulkhead(
    ...await world.script([
      SHELL,
      {
        message: [{
          tool: "Bash",
          input: { command: `echo x > ${world.dir}/outside.txt` },
        }],
      },
    ]),
    "--approve",
    "go",
  );
  assertEquals(code, 0, out);
  assertStringIncludes(out, "--approve: Bash echo made > made.txt");
  assertStringIncludes(out, "denied by guard");
  assert(exists(`${world.ws}/made.txt`));
  assertEquals(exists(`${world.dir}/outside.txt`), false);
});

Deno.test("--no-guard: said loudly, on standard error, and then nothing judges the shell's writes", async () => {
  await using world = await World.open();
  const { code, out, err } = await world.bulkhead(
    ...await world.script([{
      message: [{
        tool: "Bash",
        input: { command: `echo x > ${world.dir}/outside.txt` },
      }],
    }]),
    "--no-guard",
    "--approve",
    "go",
  );
  assertEquals(code, 0, out);
  assertMatch(err, /^WARNING: --no-guard: /m);
  assertMatch(out, /^files written unknown: no guard watched$/m);
  assertEquals(/^guard: /m.test(out), false, out);
  assert(exists(`${world.dir}/outside.txt`));
});

Deno.test("--script: a path starts where the command is typed, not in the workspace", async () => {
  await using world = await World.open();
  await world.script([{ say: "played" }]);
  const { code, out } = await bulkhead(
    ["run", "--script", "script.json", "--cwd", "ws", "go"],
    { cwd: world.dir, env: world.env },
  );
  assertEquals(code, 0);
  assertStringIncludes(out, "played");
});

Deno.test("--root: a directory more may be written, and only that one", async () => {
  await using world = await World.open();
  for (const name of ["more", "other"]) {
    await Deno.mkdir(`${world.dir}/${name}`);
  }
  const write = (name: string) => ({
    message: [{
      tool: "Bash",
      input: { command: `echo x > ${world.dir}/${name}/a.txt` },
    }],
  });
  const file = {
    message: [{
      tool: "Write",
      input: { file_path: `${world.dir}/more/b.txt`, content: "b" },
    }],
  };
  const { code, out } = await world.bulkhead(
    ...await world.script([write("more"), file, write("other")]),
    "--root",
    `${world.dir}/more`,
    "--approve",
    "go",
  );
  assertEquals(code, 0, out);
  assert(exists(`${world.dir}/more/a.txt`), out);
  assert(exists(`${world.dir}/more/b.txt`), out);
  assertEquals(exists(`${world.dir}/other/a.txt`), false);
  assertStringIncludes(out, "denied by guard");
  const missing = await world.bulkhead(
    ...await world.script([]),
    "--root",
    `${world.dir}/nowhere`,
    "go",
  );
  assertEquals(missing.code, 1);
  assertStringIncludes(missing.err, `${world.dir}/nowhere`);
  assertEquals(missing.err.trimEnd().split("\n").length, 1, missing.err);
});

Deno.test("--allow: a tool more runs without a question; a shell is refused with the way out", async () => {
  await using world = await World.open();
  const args = await world.script([
    {
      message: [{
        tool: "WebFetch",
        input: { url: "http://127.0.0.1:9/" },
        result: { content: "fetched" },
      }],
    },
    { say: "heard: ${last}" },
  ]);
  const without = await world.bulkhead(...args, "go");
  assertStringIncludes(without.out, 'heard: "WebFetch" is not wholesale');
  const withIt = await world.bulkhead(
    ...args,
    "--allow",
    "WebFetch,Task",
    "go",
  );
  assertStringIncludes(withIt.out, "heard: fetched");
  const shell = await world.bulkhead(
    ...await world.script([SHELL]),
    "--allow",
    "Bash",
    "go",
  );
  assertEquals(shell.code, 2);
  assertStringIncludes(shell.err, "--approve");
  assertEquals(exists(`${world.ws}/made.txt`), false);
});
