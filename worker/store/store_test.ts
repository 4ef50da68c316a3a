// deno-lint-ignore-file camelcase -- field names are the file's own
import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { appendEvent, eventLine, fitEventData, readEvents } from "./events.ts";
import {
  checkSocketPath,
  lockWorker,
  shortIdFor,
  workerFiles,
  workerHome,
} from "./home.ts";
import { findRow, readRegistry, updateRegistry } from "./registry.ts";
import type { RegistryRow } from "./rows.ts";
import { readState, updateState } from "./state.ts";
import { StoreError } from "./store_error.ts";

async function withHome(
  fn: (home: ReturnType<typeof workerHome>) => Promise<void>,
): Promise<void> {
  const home = workerHome(await Deno.makeTempDir());
  try {
    await fn(home);
  } finally {
    await Deno.remove(home.root, { recursive: true });
  }
}

function row(name: string, more: Partial<RegistryRow> = {}): RegistryRow {
  return {
    name,
    cwd: "/w",
    status: "live",
    created_at: "2026-01-01T00:00:00.000Z",
    short_id: name,
    log_path: `/l/${name}`,
    ...more,
  };
}

Deno.test("updateRegistry() writes schema 16 with the fixed fields first", async () => {
  await withHome(async (home) => {
    await updateRegistry(
      home,
      (rows) => void rows.push(row("a", { pid: 7, pid_start_time: 9 })),
    );
    const text = await Deno.readTextFile(home.registry);
    const file = JSON.parse(text);
    assertEquals(file.schema_version, 16);
    assertEquals(Object.keys(file.agents[0]), [
      "name",
      "cwd",
      "status",
      "created_at",
      "last_message_at",
      "mcp_channel_id",
      "log_path",
      "short_id",
      "pid",
      "pid_start_time",
    ]);
    assertEquals((await Deno.stat(home.registry)).mode! & 0o777, 0o600);
    assertEquals(findRow((await readRegistry(home)).rows, "a")?.pid, 7);
  });
});

Deno.test("updateRegistry() keeps fields, rows and keys that it does not know", async () => {
  await withHome(async (home) => {
    const before = {
      schema_version: 12,
      generation: 4,
      entries: [{
        ...row("a"),
        crown_level: 3,
        nested: { deep: [1] },
        provider: "claude",
      }, {
        ...row("b", { short_id: "b2" }),
        claude_session_uuid: "u1",
      }],
    };
    await Deno.writeTextFile(home.registry, JSON.stringify(before));
    await updateRegistry(home, (rows) => {
      const found = findRow(rows, "a");
      if (found) found.status = "exited";
    });
    const file = JSON.parse(await Deno.readTextFile(home.registry));
    assertEquals([file.schema_version, file.generation, "entries" in file], [
      16,
      4,
      false,
    ]);
    assertEquals(file.agents[0].crown_level, 3);
    assertEquals(file.agents[0].nested, { deep: [1] });
    assertEquals([file.agents[0].status, file.agents[0].harness], [
      "exited",
      "claude",
    ]);
    assertEquals(file.agents[1].harness_session_id, "u1");
    assertEquals("claude_session_uuid" in file.agents[1], false);
  });
});

Deno.test("readRegistry() takes an empty file for an empty registry", async () => {
  await withHome(async (home) => {
    assertEquals((await readRegistry(home)).rows, []);
    await Deno.writeTextFile(home.registry, "\n");
    assertEquals((await readRegistry(home)).rows, []);
  });
});

for (
  const [name, text] of [
    ["half a file", '{"schema_version":16,"agents":[{"na'],
    ["a list", "[]"],
    ["no schema", '{"agents":[]}'],
    ["schema 0", '{"schema_version":0,"agents":[]}'],
    ["agents that are no list", '{"schema_version":16,"agents":{}}'],
    ["a row that is no object", '{"schema_version":16,"agents":[1]}'],
    [
      "a row without a name",
      '{"schema_version":16,"agents":[{"cwd":"/","status":"live"}]}',
    ],
    ["bytes that are no text", "\u0000\u0001"],
  ]
) {
  Deno.test(`updateRegistry() never overwrites a damaged registry: ${name}`, async () => {
    await withHome(async (home) => {
      await Deno.writeTextFile(home.registry, text!);
      const error = await assertRejects(
        () => updateRegistry(home, (rows) => void rows.push(row("a"))),
        StoreError,
      );
      assertEquals(error.kind, "damaged");
      await assertRejects(() => readRegistry(home), StoreError);
      assertEquals(await Deno.readTextFile(home.registry), text);
    });
  });
}

Deno.test("updateRegistry() does not write what a newer program wrote", async () => {
  await withHome(async (home) => {
    const text = JSON.stringify({ schema_version: 17, agents: [row("a")] });
    await Deno.writeTextFile(home.registry, text);
    const registry = await readRegistry(home);
    assertEquals([registry.writable, registry.rows.length], [false, 1]);
    const error = await assertRejects(
      () => updateRegistry(home, () => {}),
      StoreError,
    );
    assertEquals(error.kind, "newer");
    assertEquals(await Deno.readTextFile(home.registry), text);
  });
});

Deno.test("updateRegistry() refuses rows that collide or cannot be found again", async () => {
  await withHome(async (home) => {
    await updateRegistry(
      home,
      (rows) => void rows.push(row("a", { harness_session_id: "s" })),
    );
    const bad: [RegistryRow, RegExp][] = [
      [row("a", { short_id: "z" }), /the name "a"/],
      [row("b", { short_id: "a" }), /the short_id "a"/],
      [row("b", { harness_session_id: "s" }), /harness_session_id "s"/],
      [row("b", { mux: { x: 1 } }), /both a mux and a short_id/],
      [{ ...row("b"), log_path: undefined }, /is new and has neither/],
    ];
    for (const [candidate, why] of bad) {
      const error = await assertRejects(
        () => updateRegistry(home, (rows) => void rows.push(candidate)),
        StoreError,
      );
      assertEquals(error.kind, "conflict");
      assertMatch(error.message, why);
    }
    assertEquals((await readRegistry(home)).rows.length, 1);
  });
});

Deno.test("updateRegistry() loses no change of many writers", async () => {
  await withHome(async (home) => {
    await Promise.all(
      Array.from(
        { length: 30 },
        (_, i) => updateRegistry(home, (rows) => void rows.push(row(`w${i}`))),
      ),
    );
    assertEquals((await readRegistry(home)).rows.length, 30);
  });
});

Deno.test("updateState() keeps unknown fields and refuses newer or damaged files", async () => {
  await withHome(async (home) => {
    const first = await updateState(home, "a", {
      status: "live",
      ready: true,
      agent_pid: 5,
    });
    assertEquals([first.schema_version, first.pty, first.restart_count], [
      1,
      null,
      0,
    ]);
    await updateState(home, "a", { ready: false });
    const state = await readState(home, "a");
    assertEquals([state?.agent_pid, state?.status, state?.ready], [
      5,
      "live",
      false,
    ]);
    const path = workerFiles(home, "a").state;
    for (
      const [text, kind] of [["{", "damaged"], [
        '{"schema_version":2}',
        "newer",
      ]] as const
    ) {
      await Deno.writeTextFile(path, text);
      const error = await assertRejects(
        () => updateState(home, "a", {}),
        StoreError,
      );
      assertEquals(error.kind, kind);
      assertEquals(await Deno.readTextFile(path), text);
    }
  });
});

Deno.test("eventLine() has the fixed shape and refuses data that is no object", () => {
  const line = eventLine({ type: "t", source: "s", data: null }, new Date(0));
  assertEquals(
    line,
    '{"ts":"1970-01-01T00:00:00.000Z","type":"t","source":"s","data":{}}',
  );
  let failed = false;
  try {
    eventLine({ type: "t", source: "s", data: [] as never });
  } catch (error) {
    failed = error instanceof TypeError;
  }
  assert(failed);
});

Deno.test("eventLine() replaces data over 500 bytes by its size", () => {
  const fits = { x: "y".repeat(500 - '{"x":""}'.length) };
  assertEquals(
    JSON.parse(eventLine({ type: "t", source: "s", data: fits })).type,
    "t",
  );
  const line = JSON.parse(
    eventLine({ type: "t", source: "s", data: { x: fits.x + "y" } }),
  );
  assertEquals(line.type, "event_payload_too_large");
  assertEquals(line.data, { intended_kind: "t", size: 501 });
});

Deno.test("fitEventData() keeps the end of a text, cut at a character", () => {
  for (
    const tail of [
      "a".repeat(9000),
      "é\n".repeat(5000),
      "😀".repeat(3000),
      '"\\'.repeat(3000),
    ]
  ) {
    const data = fitEventData({
      short_id: "x",
      exit_code: 7,
      stderr_tail: tail + "END",
    }, "stderr_tail");
    const bytes = new TextEncoder().encode(JSON.stringify(data)).length;
    assert(bytes <= 500 && bytes > 480, String(bytes));
    assert(String(data.stderr_tail).endsWith("END"));
    assert(
      !/[\ud800-\udbff](?![\udc00-\udfff])/.test(String(data.stderr_tail)),
    );
    assertEquals(data.exit_code, 7);
  }
});

Deno.test("appendEvent() rotates a file over 8 MiB once, whoever comes", async () => {
  await withHome(async (home) => {
    await Deno.writeTextFile(home.events, "x".repeat(8 * 1024 * 1024 + 1));
    await Promise.all(
      Array.from(
        { length: 10 },
        (_, i) => appendEvent(home, { type: "t", source: "s", data: { i } }),
      ),
    );
    assertEquals(
      (await Deno.stat(`${home.events}.1`)).size,
      8 * 1024 * 1024 + 1,
    );
    assertEquals((await readEvents(home)).length, 10);
  });
});

Deno.test("checkSocketPath() names the length and the limit", () => {
  const home = workerHome("/" + "x".repeat(95));
  checkSocketPath(workerFiles(workerHome("/w"), "a").socket);
  try {
    checkSocketPath(workerFiles(home, "abc").socket);
  } catch (error) {
    assertMatch(String(error), /has 112 bytes, the limit is 10[37]/);
    return;
  }
  throw new Error("a long path was accepted");
});

Deno.test("workerFiles() refuses ids that leave the home", () => {
  for (
    const id of ["", "..", ".", "a/b", "-x", ".x", "a\0", "x".repeat(65), "ä"]
  ) {
    let failed = false;
    try {
      workerFiles(workerHome("/w"), id);
    } catch (error) {
      failed = error instanceof RangeError;
    }
    assert(failed, JSON.stringify(id));
  }
});

Deno.test("shortIdFor() takes eight letters and digits, made unique", () => {
  assertEquals(shortIdFor("Claude-Code 1", new Set()), "ClaudeCo");
  assertEquals(shortIdFor("a b", new Set(["ab", "ab2"])), "ab3");
  assertEquals(shortIdFor("…", new Set()), "agent");
});

Deno.test("lockWorker() lets one in", async () => {
  await withHome(async (home) => {
    const first = await lockWorker(home, "a");
    assert(first);
    assertEquals(await lockWorker(home, "a"), undefined);
    first.release();
    using second = await lockWorker(home, "a");
    assert(second);
  });
});
