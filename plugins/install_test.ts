import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import {
  InstallError,
  type InstallOptions,
  installPlugin,
  updatePlugin,
} from "./install.ts";
import { installedPlugins, repairInstalls } from "./installed.ts";
import { removePlugin } from "./remove.ts";
import { scaffoldPlugin } from "./scaffold.ts";
import { compress, makeTar, sha256 } from "./testing/archives.ts";
import { type TrustAnswer, type TrustQuestion, TrustStore } from "./trust.ts";

/** A home, a source and a handler that answers from a list and keeps the questions. */
interface Fixture {
  dir: string;
  home: string;
  source: string;
  questions: TrustQuestion[];
  options(...answers: TrustAnswer[]): InstallOptions;
}

const MANIFEST = `name = "inst"
version = "1.0.0"
[[tools]]
name = "t"
command = "echo"
args = ["ONE"]
`;

async function withFixture(
  body: (fixture: Fixture) => Promise<void>,
): Promise<void> {
  const dir = await Deno.realPath(await Deno.makeTempDir());
  const fixture: Fixture = {
    dir,
    home: `${dir}/home`,
    source: `${dir}/src`,
    questions: [],
    options: (...answers) => ({
      home: fixture.home,
      sandbox: "off",
      ask(question) {
        fixture.questions.push(question);
        return answers.shift() ?? "no";
      },
    }),
  };
  await Deno.mkdir(fixture.source);
  await Deno.writeTextFile(`${fixture.source}/plugin.toml`, MANIFEST);
  try {
    await body(fixture);
    // Whatever happened, nothing of an install may be left.
    for await (const { name } of Deno.readDir(fixture.home)) {
      assert(!name.startsWith(".bulkhead-install-"), name);
    }
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
}

async function names(dir: string): Promise<string[]> {
  const found: string[] = [];
  for await (const { name } of Deno.readDir(dir)) found.push(name);
  return found.sort();
}

Deno.test("installPlugin() copies, trusts and records; always means no question at load", () =>
  withFixture(async (f) => {
    const installed = await installPlugin(f.source, f.options("always"));
    assertEquals(installed.name, "inst");
    assertEquals(installed.trusted, true);
    assertEquals(installed.dir, `${f.home}/plugins/inst`);
    assertEquals(await names(installed.dir), ["plugin.toml"]);
    assertEquals(f.questions.length, 1);
    assertStringIncludes(f.questions[0]?.lines.join("\n") ?? "", "echo ONE");
    assertEquals(f.questions[0]?.dir, installed.dir);
    const record = await new TrustStore(f.home).get(installed.dir);
    assertEquals(record?.hash, installed.hash);
    const { plugins, problems } = await installedPlugins({ home: f.home });
    assertEquals(problems, []);
    assertEquals(
      plugins.map((
        plugin,
      ) => [plugin.name, plugin.state, plugin.entry.kind, plugin.entry.source]),
      [
        ["inst", "intact", "directory", f.source],
      ],
    );
    assertEquals(
      ((await Deno.stat(`${f.home}/plugins.lock.json`)).mode ?? 0) & 0o077,
      0,
    );
  }));

Deno.test("installPlugin() refuses without a person, without a pin and on every answer but two", () =>
  withFixture(async (f) => {
    const alone = await assertRejects(
      () => installPlugin(f.source, { home: f.home }),
      InstallError,
    );
    assertEquals(alone.code, "refused");
    const hash = /inst=(sha256:[0-9a-f]{64})/.exec(alone.fix ?? "")?.[1] ?? "";
    for (const answer of ["no", "never", "yes", ""] as TrustAnswer[]) {
      const error = await assertRejects(
        () => installPlugin(f.source, f.options(answer)),
        InstallError,
      );
      assertEquals(error.code, "refused");
    }
    const throwing = {
      home: f.home,
      ask: () => Promise.reject(new Error("no terminal")),
    };
    await assertRejects(
      () => installPlugin(f.source, throwing),
      InstallError,
      "no terminal",
    );
    assertEquals(await names(`${f.home}/plugins`), []);
    const wrong = [{ name: "inst", hash: `sha256:${"0".repeat(64)}` }];
    await assertRejects(
      () => installPlugin(f.source, { home: f.home, pins: wrong }),
      InstallError,
    );
    const pinned = await installPlugin(f.source, {
      home: f.home,
      pins: [{ name: "inst", hash }],
    });
    assertEquals(pinned.trusted, true);
  }));

Deno.test("installPlugin() with once leaves the question to the load", () =>
  withFixture(async (f) => {
    const installed = await installPlugin(f.source, f.options("once"));
    assertEquals(installed.trusted, false);
    assertEquals(await new TrustStore(f.home).get(installed.dir), undefined);
  }));

Deno.test("an install over other content never says OK and keeps the old (claude-code#32983)", () =>
  withFixture(async (f) => {
    await installPlugin(f.source, f.options("always"));
    const again = await installPlugin(f.source, f.options());
    assertEquals([again.changed, again.trusted], [false, true]);
    await Deno.writeTextFile(`${f.source}/new`, "");
    const error = await assertRejects(
      () => installPlugin(f.source, f.options("always")),
      InstallError,
    );
    assertEquals(error.code, "already_installed");
    assertStringIncludes(error.fix ?? "", "update inst");
  }));

Deno.test("a plugin named ../evil writes nothing outside (OpenCLI#1906)", async (t) => {
  for (
    const name of [
      "../evil",
      "..",
      ".",
      "a/b",
      "/abs",
      ".hidden",
      "a\\u0000b",
      "x".repeat(65),
      "-flag",
      "e\\u202evil",
      "a.",
    ]
  ) {
    await t.step(name, () =>
      withFixture(async (f) => {
        await Deno.writeTextFile(
          `${f.source}/plugin.toml`,
          MANIFEST.replace('"inst"', `"${name}"`),
        );
        const error = await assertRejects(
          () => installPlugin(f.source, f.options("always")),
          InstallError,
        );
        assertEquals(error.code, "bad_manifest");
        assertEquals(await names(`${f.home}/plugins`), []);
        assertEquals(await names(f.dir), ["home", "src"]);
        assertEquals(f.questions.length, 0);
      }));
  }
});

Deno.test("installPlugin() refuses sources without a usable manifest", async (t) => {
  const rows: [string, (source: string) => Promise<void>][] = [
    ["none", (source) => Deno.remove(`${source}/plugin.toml`)],
    [
      "not TOML",
      (source) => Deno.writeTextFile(`${source}/plugin.toml`, "[[tools"),
    ],
    [
      "not UTF-8",
      (source) =>
        Deno.writeFile(`${source}/plugin.toml`, new Uint8Array([0xff, 0xfe])),
    ],
    ["a directory", async (source) => {
      await Deno.remove(`${source}/plugin.toml`);
      await Deno.mkdir(`${source}/plugin.toml`);
    }],
    ["a link inside", async (source) => {
      await Deno.rename(`${source}/plugin.toml`, `${source}/real.toml`);
      await Deno.symlink("real.toml", `${source}/plugin.toml`);
    }],
  ];
  for (const [name, prepare] of rows) {
    await t.step(name, () =>
      withFixture(async (f) => {
        await prepare(f.source);
        const error = await assertRejects(
          () => installPlugin(f.source, f.options("always")),
          InstallError,
        );
        assertEquals(error.code, "bad_manifest");
        assertEquals(await names(`${f.home}/plugins`), []);
      }));
  }
});

Deno.test("installPlugin() refuses a source that holds the plugins directory, or lies in it", () =>
  withFixture(async (f) => {
    await installPlugin(f.source, f.options("always"));
    await Deno.writeTextFile(`${f.dir}/plugin.toml`, MANIFEST);
    for (const source of [f.dir, `${f.home}/plugins/inst`]) {
      await assertRejects(
        () => installPlugin(source, f.options("always")),
        InstallError,
        "lie in each other",
      );
    }
  }));

Deno.test("an archive with its SHA-256 is pinned: update demands it again", () =>
  withFixture(async (f) => {
    const archive = `${f.dir}/inst.tar.gz`;
    const pack = async (text: string) => {
      const bytes = await compress(
        makeTar([{ name: "inst-1/plugin.toml", data: text }]),
        "gzip",
      );
      await Deno.writeFile(archive, bytes);
      return await sha256(bytes);
    };
    const first = await pack(MANIFEST);
    const installed = await installPlugin(archive, {
      ...f.options("always"),
      sha256: first,
    });
    assertEquals(installed.trusted, true);
    const second = await pack(MANIFEST.replace("1.0.0", "1.1.0"));
    const error = await assertRejects(
      () => updatePlugin("inst", f.options("always")),
      InstallError,
    );
    assertEquals(error.code, "checksum_mismatch");
    const updated = await updatePlugin("inst", {
      ...f.options("always"),
      sha256: second,
    });
    assertEquals([updated.changed, updated.version], [true, "1.1.0"]);
    assertEquals(
      (await installedPlugins({ home: f.home })).plugins[0]?.entry.sha256,
      second,
    );
  }));

Deno.test("an update adds no power without consent (gemini-cli#9400) and wipes no data (gemini-cli#12704)", () =>
  withFixture(async (f) => {
    const installed = await installPlugin(f.source, f.options("always"));
    await Deno.mkdir(`${f.home}/data/inst`, { recursive: true });
    await Deno.writeTextFile(`${f.home}/data/inst/state`, "precious");
    await Deno.writeTextFile(
      `${f.source}/plugin.toml`,
      MANIFEST.replace("1.0.0", "2.0.0").replace('"ONE"', '"TWO"') +
        '[[hooks]]\nevent = "pre_tool"\ncommand = "./evil.sh"\n',
    );
    await Deno.writeTextFile(`${f.source}/evil.sh`, "#!/bin/sh\n", {
      mode: 0o755,
    });
    const error = await assertRejects(
      () => updatePlugin("inst", f.options("no")),
      InstallError,
    );
    assertEquals(error.code, "refused");
    assertStringIncludes(error.message, "what is installed stays");
    assertEquals(
      await Deno.readTextFile(`${installed.dir}/plugin.toml`),
      MANIFEST,
    );
    assertEquals(
      (await new TrustStore(f.home).get(installed.dir))?.hash,
      installed.hash,
    );
    const change = f.questions.at(-1)?.change;
    assertEquals(change?.files, ['+ "evil.sh"', '~ "plugin.toml"']);
    const lines = change?.lines.join("\n") ?? "";
    for (
      const part of [
        '- version "1.0.0"',
        '+ version "2.0.0"',
        "echo ONE",
        "echo TWO",
        "+ hook on pre_tool",
      ]
    ) {
      assertStringIncludes(lines, part);
    }
    const updated = await updatePlugin("inst", f.options("always"));
    assertEquals([updated.changed, updated.trusted, updated.version], [
      true,
      true,
      "2.0.0",
    ]);
    assertEquals(
      await Deno.readTextFile(`${f.home}/data/inst/state`),
      "precious",
    );
    assertEquals(
      (await new TrustStore(f.home).get(installed.dir))?.hash,
      updated.hash,
    );
    assertEquals((await updatePlugin("inst", f.options())).changed, false);
  }));

Deno.test("updatePlugin() says when local changes go, and refuses another plugin's source", () =>
  withFixture(async (f) => {
    const installed = await installPlugin(f.source, f.options("always"));
    await Deno.writeTextFile(`${installed.dir}/mine`, "");
    await Deno.writeTextFile(`${f.source}/new`, "");
    await assertRejects(
      () => updatePlugin("inst", f.options("no")),
      InstallError,
    );
    assertStringIncludes(
      f.questions.at(-1)?.problems.join() ?? "",
      "changed by hand",
    );
    await Deno.writeTextFile(
      `${f.source}/plugin.toml`,
      MANIFEST.replace("inst", "other"),
    );
    const other = await assertRejects(
      () => updatePlugin("inst", f.options("always")),
      InstallError,
    );
    assertEquals(other.code, "bad_manifest");
    const unknown = await assertRejects(
      () => updatePlugin("nope", f.options()),
      InstallError,
    );
    assertEquals(unknown.code, "not_installed");
    assertStringIncludes(unknown.fix ?? "", '"inst"');
  }));

Deno.test("updatePlugin() brings back a directory that is gone", () =>
  withFixture(async (f) => {
    const installed = await installPlugin(f.source, f.options("always"));
    await Deno.remove(installed.dir, { recursive: true });
    assertEquals(
      (await installedPlugins({ home: f.home })).plugins[0]?.state,
      "missing",
    );
    assertEquals(
      (await updatePlugin("inst", f.options("always"))).changed,
      true,
    );
    assertEquals(await names(installed.dir), ["plugin.toml"]);
  }));

Deno.test("an uninstall leaves no file and no trust, and a reinstall revives nothing (claude-code#15369, #29074)", () =>
  withFixture(async (f) => {
    const { dir } = await installPlugin(f.source, f.options("always"));
    await Deno.mkdir(`${f.home}/data/inst`, { recursive: true });
    await Deno.writeTextFile(`${f.home}/data/inst/state`, "precious");
    const removed = await removePlugin("inst", { home: f.home });
    assertEquals([removed.untrusted, removed.keptData], [
      true,
      `${f.home}/data/inst`,
    ]);
    assertEquals(await names(`${f.home}/plugins`), []);
    assertEquals(await new TrustStore(f.home).get(dir), undefined);
    assertEquals((await installedPlugins({ home: f.home })).plugins, []);
    // Coming back is coming new: the question is put again.
    await installPlugin(f.source, f.options("always"));
    assertEquals(f.questions.length, 2);
    const asked: string[] = [];
    await removePlugin("inst", {
      home: f.home,
      data(path) {
        asked.push(path);
        return true;
      },
    });
    assertEquals(asked, [`${f.home}/data/inst`]);
    assertEquals(await names(`${f.home}/data`), []);
    const gone = await assertRejects(
      () => removePlugin("inst", { home: f.home }),
      InstallError,
    );
    assertEquals(gone.code, "not_installed");
  }));

Deno.test("removePlugin() leaves what no install made, and hostile names, alone", () =>
  withFixture(async (f) => {
    await Deno.mkdir(`${f.home}/plugins/mine`, { recursive: true });
    await Deno.mkdir(`${f.dir}/outside`);
    await assertRejects(
      () => removePlugin("mine", { home: f.home }),
      InstallError,
      "was not made by an install",
    );
    for (const name of ["../../outside", "..", "", "/", "__proto__"]) {
      const error = await assertRejects(
        () => removePlugin(name, { home: f.home, force: true }),
        InstallError,
      );
      assertEquals(error.code, "not_installed");
    }
    assertEquals(await names(`${f.home}/plugins`), ["mine"]);
    await removePlugin("mine", { home: f.home, force: true });
    assertEquals(await names(`${f.home}/plugins`), []);
    // A link that a developer made goes, what it points at stays.
    await Deno.symlink(f.source, `${f.home}/plugins/linked`);
    await removePlugin("linked", { home: f.home, force: true });
    assertEquals(await names(f.source), ["plugin.toml"]);
  }));

Deno.test("the lock file: unknown fields stay, a newer schema and damage are never overwritten", () =>
  withFixture(async (f) => {
    await installPlugin(f.source, f.options("always"));
    const path = `${f.home}/plugins.lock.json`;
    const lock = JSON.parse(await Deno.readTextFile(path));
    lock.future = { a: 1 };
    lock.plugins.inst.note = "kept";
    await Deno.writeTextFile(path, JSON.stringify(lock));
    await Deno.writeTextFile(`${f.source}/new`, "");
    await updatePlugin("inst", f.options("always"));
    const after = JSON.parse(await Deno.readTextFile(path));
    assertEquals([after.future, after.plugins.inst.note], [{ a: 1 }, "kept"]);
    for (
      const text of [
        JSON.stringify({ ...after, schema: 2 }),
        "{",
        "[]",
        '{"schema":1}',
        "",
      ]
    ) {
      await Deno.writeTextFile(path, text);
      await Deno.writeTextFile(`${f.source}/new`, crypto.randomUUID());
      for (
        const change of [
          () => updatePlugin("inst", f.options("always")),
          () => removePlugin("inst", { home: f.home }),
          () => installPlugin(f.source, f.options("always")),
        ]
      ) {
        const error = await assertRejects(change, InstallError);
        assertEquals(error.code, "lock_file");
      }
      assertEquals(await Deno.readTextFile(path), text);
      assertEquals(
        (await installedPlugins({ home: f.home })).problems.length,
        1,
      );
      assertEquals(await names(`${f.home}/plugins`), ["inst"]);
    }
  }));

Deno.test("two installs at once: one works, the other says so or finds it there", () =>
  withFixture(async (f) => {
    const asking = Promise.withResolvers<void>();
    const answer = Promise.withResolvers<TrustAnswer>();
    const first = installPlugin(f.source, {
      ...f.options(),
      ask() {
        asking.resolve();
        return answer.promise;
      },
    });
    await asking.promise;
    const busy = await assertRejects(
      () => installPlugin(f.source, f.options("always")),
      InstallError,
    );
    assertEquals(busy.code, "busy");
    assertEquals(await repairInstalls({ home: f.home }), []);
    answer.resolve("always");
    assertEquals((await first).trusted, true);
  }));

Deno.test("an aborted install leaves nothing", () =>
  withFixture(async (f) => {
    const controller = new AbortController();
    const error = await assertRejects(() =>
      installPlugin(f.source, {
        ...f.options(),
        signal: controller.signal,
        ask() {
          controller.abort(new Error("ctrl-c"));
          return "always";
        },
      })
    );
    assertEquals(error instanceof Error && error.message, "ctrl-c");
    assertEquals(await names(`${f.home}/plugins`), []);
  }));

Deno.test("repairInstalls() finishes the record of an install that died after its swap", () =>
  withFixture(async (f) => {
    const installed = await installPlugin(f.source, f.options("always"));
    const path = `${f.home}/plugins.lock.json`;
    const entry = JSON.parse(await Deno.readTextFile(path)).plugins.inst;
    await Deno.remove(path);
    const stage = `${f.home}/.bulkhead-install-1-dead`;
    await Deno.mkdir(stage);
    await Deno.writeTextFile(
      `${stage}/note.json`,
      JSON.stringify({ name: "inst", entry }),
    );
    await repairInstalls({ home: f.home });
    const { plugins } = await installedPlugins({ home: f.home });
    assertEquals(plugins.map((plugin) => [plugin.name, plugin.state]), [[
      "inst",
      "intact",
    ]]);
    // A note about other content says nothing.
    await Deno.remove(path);
    await Deno.mkdir(stage);
    const lie = {
      name: "inst",
      entry: { ...entry, hash: `sha256:${"0".repeat(64)}` },
    };
    await Deno.writeTextFile(`${stage}/note.json`, JSON.stringify(lie));
    await repairInstalls({ home: f.home });
    assertEquals((await installedPlugins({ home: f.home })).plugins, []);
    assertEquals(await names(installed.dir), ["plugin.toml"]);
  }));

Deno.test("removePlugin() and updatePlugin() take a directory away that its owner made read-only", () =>
  withFixture(async (f) => {
    const { dir } = await installPlugin(f.source, f.options("always"));
    await Deno.mkdir(`${dir}/sub`);
    await Deno.chmod(`${dir}/sub`, 0o555);
    await Deno.chmod(dir, 0o555);
    const { changed } = await updatePlugin("inst", f.options("always"));
    assertEquals(changed, true);
    await Deno.chmod(dir, 0o555);
    await removePlugin("inst", { home: f.home });
    assertEquals(await names(`${f.home}/plugins`), []);
  }));

Deno.test("updatePlugin() puts back trusted content that was changed by hand without a question", async () => {
  const temp = await Deno.makeTempDir();
  const home = `${temp}/home`;
  const questions: TrustQuestion[] = [];
  const ask = (question: TrustQuestion) => {
    questions.push(question);
    return "always" as const;
  };
  await scaffoldPlugin(`${temp}/demo`, { language: "shell" });
  await installPlugin(`${temp}/demo`, { home, ask });
  assertEquals(questions.map(({ source }) => source), [`${temp}/demo`]);
  const script = `${home}/plugins/demo/greet.sh`;
  const before = await Deno.readTextFile(script);
  await Deno.writeTextFile(script, "#!/bin/sh\necho other\n");
  const { changed, trusted } = await updatePlugin("demo", { home });
  assertEquals([changed, trusted], [true, true]);
  assertEquals(await Deno.readTextFile(script), before);
  // Other content of the source is asked about.
  await Deno.writeTextFile(`${temp}/demo/more`, "");
  await updatePlugin("demo", { home, ask });
  assertEquals(questions.length, 2);
  await Deno.remove(temp, { recursive: true });
});
