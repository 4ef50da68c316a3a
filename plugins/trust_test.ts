import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import {
  loadPlugins,
  questionText,
  type TrustHandler,
  type TrustQuestion,
  TrustStore,
} from "@bulkhead/plugins";
import { World } from "./testing/world.ts";

const MANIFEST = '[[tools]]\nname = "t"\ncommand = "echo"\nargs = ["one"]\n';

/** A handler that gives one answer, whatever it is, and keeps the questions. */
function answering(answer: unknown, asked: TrustQuestion[] = []): TrustHandler {
  return (question) => {
    asked.push(question);
    return answer as "no";
  };
}

Deno.test("the question lists every command, hook, permission, environment name, library and the sandbox", async () => {
  await using world = await World.create();
  await world.plugin(
    "demo",
    `version = "1.2.3"
[[tools]]
name = "a"
command = "curl"
args = ["https://example.invalid", "two words"]
env = ["API_KEY"]
permissions = { read = ["/data"], write = ["\${WORKSPACE_DIR}/out"], net = ["example.invalid:443"] }
[[tools]]
name = "b"
runtime = "deno"
module = "b.ts"
[[hooks]]
event = "pre_tool"
command = "./h.sh"
matcher = "Write|Edit"
on_error = "block"
[native]
library = "lib.so"
`,
    { "b.ts": "", "h.sh": "", "lib.so": "" },
  );
  const asked: TrustQuestion[] = [];
  await world.outcome({ ask: true, trust: answering("no", asked) });
  const text = questionText(asked[0] ?? assertNever());
  for (
    const part of [
      "demo",
      "1.2.3",
      `${world.plugins}/demo`,
      "sha256:",
      "curl https://example.invalid 'two words'",
      "environment API_KEY",
      "read /data",
      "write ${WORKSPACE_DIR}/out",
      "the WHOLE network (asked for example.invalid:443;",
      "deno run b.ts",
      "no permissions",
      "hook on pre_tool",
      "./h.sh",
      '"Write|Edit"',
      "when it fails: block",
      "lib.so",
      "sandbox: ",
    ]
  ) assertStringIncludes(text, part);
  assertEquals(asked[0]?.change, undefined);
});

Deno.test("the question says loudly that the sandbox is off", async () => {
  await using world = await World.create();
  await world.plugin("demo", MANIFEST);
  world.sandbox = "off";
  const asked: TrustQuestion[] = [];
  await world.outcome({ ask: true, trust: answering("no", asked) });
  assertStringIncludes(asked[0]?.sandbox ?? "", "OFF");
});

Deno.test("the question shows the difference in files and in what can run", async () => {
  await using world = await World.create();
  const dir = await world.plugin("demo", MANIFEST, { old: "1", same: "1" });
  await world.outcome({ ask: true, trust: answering("always") });
  await Deno.remove(`${dir}/old`);
  await Deno.writeTextFile(`${dir}/new`, "1");
  await Deno.writeTextFile(
    `${dir}/plugin.toml`,
    MANIFEST.replace("one", "two"),
  );
  const asked: TrustQuestion[] = [];
  await world.outcome({ ask: true, trust: answering("no", asked) });
  assertEquals(asked[0]?.change?.files, [
    '+ "new"',
    '- "old"',
    '~ "plugin.toml"',
  ]);
  assertEquals(asked[0]?.change?.lines, [
    '- tool "t" runs: echo one; default permissions',
    '+ tool "t" runs: echo two; default permissions',
  ]);
});

Deno.test("the answer is a closed type: only the exact words open the gate", async () => {
  await using world = await World.create();
  await world.plugin("demo", MANIFEST);
  for (
    const answer of [
      true,
      1,
      {},
      { answer: "always" },
      ["always"],
      "Always",
      "yes",
      "y",
      "",
      "always ",
      null,
      undefined,
      Promise.resolve("yes"),
    ]
  ) {
    const outcome = await world.outcome({
      ask: true,
      trust: answering(answer),
    });
    assertEquals(outcome.status, "blocked_pending_trust", String(answer));
  }
  const failing = await world.outcome({
    ask: true,
    trust: () => Promise.reject(new Error("no terminal")),
  });
  assert(failing.status === "blocked_pending_trust");
  assertStringIncludes(failing.warnings.join(), "no terminal");
  assertEquals((await new TrustStore(world.home).read()).records.size, 0);
});

Deno.test("once holds for one load, always for this content, never too", async () => {
  await using world = await World.create();
  const dir = await world.plugin("demo", MANIFEST);
  const status = async (answer?: unknown): Promise<string> => {
    const asked: TrustQuestion[] = [];
    const outcome = await world.outcome({
      ask: true,
      ...(answer === undefined ? {} : { trust: answering(answer, asked) }),
    });
    return `${outcome.status} ${asked.length}`;
  };
  assertEquals(await status("once"), "loaded 1");
  assertEquals(await status(), "blocked_pending_trust 0");
  assertEquals(await status("always"), "loaded 1");
  assertEquals(await status("no"), "loaded 0");
  assertEquals(await status(), "loaded 0");
  await Deno.writeTextFile(`${dir}/x`, "changed");
  assertEquals(await status(), "blocked_pending_trust 0");
  assertEquals(await status("never"), "blocked_pending_trust 1");
  assertEquals(await status("always"), "blocked_pending_trust 0");
  const always = await world.outcome();
  assertEquals(always.status, "blocked_pending_trust");
  await Deno.remove(`${dir}/x`);
  assertEquals(await status("always"), "loaded 1");
});

Deno.test("trust is bound to the place: a copy of trusted content elsewhere is asked about", async () => {
  await using world = await World.create();
  await world.plugin("demo", MANIFEST);
  await world.outcome({ ask: true, trust: answering("always") });
  await world.plugin("copy", MANIFEST);
  const outcome = await world.outcome({ ask: true });
  assert(outcome.status === "loaded");
  assertEquals(outcome.plugins.map((plugin) => plugin.name), ["demo"]);
  assertEquals(outcome.refused.map((plugin) => plugin.name), ["copy"]);
});

Deno.test("a pin trusts exactly one content and needs nobody", async () => {
  await using world = await World.create();
  const dir = await world.plugin("demo", MANIFEST);
  const blocked = await world.outcome({ ask: true });
  assert(blocked.status === "blocked_pending_trust");
  const [refused] = blocked.refused;
  assertStringIncludes(
    refused?.reason ?? "",
    `--trust-plugin "demo=${refused?.hash}"`,
  );
  const pins = [{ name: "demo", hash: refused?.hash ?? "" }];
  assertEquals((await world.outcome({ ask: true, pins })).status, "loaded");
  await Deno.writeTextFile(`${dir}/x`, "");
  const changed = await world.outcome({ ask: true, pins });
  assert(changed.status === "blocked_pending_trust");
  assertStringIncludes(changed.refused[0]?.reason ?? "", "not the sha256:");
});

Deno.test("TrustStore keeps unknown fields, and leaves damaged and newer files alone", async () => {
  await using world = await World.create();
  const store = new TrustStore(world.home);
  const record = {
    name: "demo",
    hash: "sha256:1",
    decision: "always" as const,
    time: "",
    files: {},
    lines: [],
  };
  await Deno.writeTextFile(
    store.path,
    '{"schema":1,"note":"mine","plugins":{"/a":{"name":"a","hash":"h","decision":"always","extra":1},"/b":{"decision":"perhaps"},"/c":5}}',
  );
  assertEquals([...(await store.read()).records.keys()], ["/a"]);
  await store.set("/a", record);
  await store.set("__proto__", record);
  const text = await Deno.readTextFile(store.path);
  assertStringIncludes(text, '"note": "mine"');
  assertStringIncludes(text, '"extra": 1');
  assertStringIncludes(text, '"perhaps"');
  assertEquals((await store.get("__proto__"))?.hash, "sha256:1");
  assertEquals(((await Deno.stat(store.path)).mode ?? 0) & 0o777, 0o600);
  for (
    const damaged of [
      "{",
      "[]",
      "null",
      '{"schema":"1"}',
      '{"schema":2,"plugins":{}}',
      '{"schema":1,"plugins":[]}',
      "\xff",
    ]
  ) {
    await Deno.writeTextFile(store.path, damaged);
    assert((await store.read()).problem?.includes("Cannot use"), damaged);
    await assertRejects(() => store.set("/a", record), TypeError);
    assertEquals(await Deno.readTextFile(store.path), damaged);
  }
});

Deno.test("TrustStore writes of many at the same time are all kept", async () => {
  await using world = await World.create();
  const store = new TrustStore(world.home);
  await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      store.set(`/p${index}`, {
        name: "x",
        hash: `h${index}`,
        decision: "always",
        time: "",
        files: {},
        lines: [],
      })),
  );
  assertEquals((await store.read()).records.size, 20);
});

Deno.test("plugin names cannot spoof the question or the warnings", async () => {
  await using world = await World.create();
  await world.plugin(
    "demo",
    'name = "x\\u001b[2Jy\\u202Ez\\u200B\\nTrusted: yes"\n' + MANIFEST,
  );
  const asked: TrustQuestion[] = [];
  const outcome = await world.outcome({
    ask: true,
    trust: answering("no", asked),
  });
  assert(outcome.status === "blocked_pending_trust");
  const shown = questionText(asked[0] ?? assertNever()) +
    outcome.refused.map((plugin) => plugin.reason).join("");
  for (const hidden of ["\u001b", "\u202e", "\u200b"]) {
    assert(!shown.includes(hidden), JSON.stringify(shown));
  }
  assert(!shown.includes("\nTrusted"));
});

Deno.test("loadPlugins() puts no question when it need not", async () => {
  await using world = await World.create();
  const outcome = await loadPlugins({
    config: {
      enabled: true,
      dirs: [],
      sandbox: "off",
      trust: { enabled: true, default: "ask" },
    },
    home: world.home,
    workspace: world.workspace,
    trust: () => {
      throw new Error("asked");
    },
  });
  assertEquals(outcome.status, "loaded");
});

function assertNever(): never {
  throw new Error("no question was put");
}

Deno.test("two ways to one directory are one question", async () => {
  await using world = await World.create();
  const dir = await world.plugin("a", `name = "n"\n${MANIFEST}`);
  await Deno.symlink(dir, `${world.plugins}/b`);
  for (const answer of ["once", "always", "no"] as const) {
    const asked: TrustQuestion[] = [];
    await new TrustStore(world.home).clear();
    await world.outcome({ ask: true, trust: answering(answer, asked) });
    assertEquals(asked.length, 1, answer);
  }
});
