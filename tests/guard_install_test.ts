// deno-lint-ignore-file camelcase -- field names of files on disk and payloads
import {
  assert,
  assertEquals,
  assertFalse,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { fromFileUrl } from "@std/path";
import { harnessByLabel } from "../guard/harnesses/mod.ts";
import { HookFileError } from "../guard/hook_file.ts";
import { armGuard, type ArmOptions } from "../guard/install.ts";
import {
  GUARD_MANIFEST,
  GUARD_MARKER,
  isArmed,
  readMarkerSync,
} from "../guard/marker.ts";
import { hookCleanupDir } from "../guard/places.ts";
import { SelfCheckError } from "../guard/self_check.ts";
import { guardStatus } from "../guard/status.ts";
import { teardownGuard } from "../guard/teardown.ts";

/** A workspace and a home in one temporary directory, both with a blank and quotes in the path. */
interface Bench extends AsyncDisposable {
  root: string;
  home: string;
  arm(harness: string, more?: Partial<ArmOptions>): Promise<string>;
  read(path: string): Promise<string>;
  exists(path: string): Promise<boolean>;
  write(path: string, text: string): Promise<void>;
  tree(): Promise<string[]>;
}

async function bench(): Promise<Bench> {
  const base = await Deno.makeTempDir({ prefix: "guard install " });
  const root = `${base}/it's a "stage" $HOME`;
  const home = `${base}/ho'me`;
  await Deno.mkdir(root);
  return {
    root,
    home,
    async arm(harness, more = {}) {
      const armed = await armGuard({
        harness,
        root,
        home,
        selfCheck: false,
        bundle: false,
        ...more,
      });
      return armed.markerPath;
    },
    read: (path) => Deno.readTextFile(`${root}/${path}`),
    async exists(path) {
      try {
        await Deno.lstat(`${root}/${path}`);
        return true;
      } catch {
        return false;
      }
    },
    async write(path, text) {
      const file = `${root}/${path}`;
      await Deno.mkdir(file.slice(0, file.lastIndexOf("/")), {
        recursive: true,
      });
      await Deno.writeTextFile(file, text);
    },
    tree: () => treeOf(root),
    async [Symbol.asyncDispose]() {
      await Deno.remove(base, { recursive: true });
    },
  };
}

/** Every path below, with its content, mode or link target. */
async function treeOf(dir: string, prefix = ""): Promise<string[]> {
  const lines: string[] = [];
  for await (const entry of Deno.readDir(dir)) {
    const path = `${dir}/${entry.name}`;
    const name = prefix + entry.name;
    if (entry.isSymlink) lines.push(`${name} -> ${await Deno.readLink(path)}`);
    else if (entry.isDirectory) {
      lines.push(`${name}/`, ...await treeOf(path, `${name}/`));
    } else {
      const mode = ((await Deno.stat(path)).mode ?? 0) & 0o777;
      lines.push(
        `${name} ${mode.toString(8)} ${
          JSON.stringify(await Deno.readTextFile(path))
        }`,
      );
    }
  }
  return lines.sort();
}

/** The options that pin the old bytes. */
const COMPAT = { compat: true, exe: "/g/eval-magic" };

const CLAUDE_SETTINGS = ".claude/settings.local.json";
const LOG = ".eval-magic-outputs/guard-denials.jsonl";

/** Leaves out the denial log, which stays as evidence. */
function withoutLog(tree: string[]): string[] {
  return tree.filter((line) => !line.startsWith(".eval-magic-outputs"));
}

Deno.test("armGuard() writes an active marker, the hook and the manifest", async () => {
  await using c = await bench();
  const marker = await c.arm("claude-code", COMPAT);

  assertEquals(marker, `${c.root}/.claude/skills/${GUARD_MARKER}`);
  const read = JSON.parse(await Deno.readTextFile(marker));
  assertEquals(read.active, true);
  assert(Date.parse(read.expiresAt) > Date.now());
  assert(read.allowedRoots.includes(c.root));

  const settings = JSON.parse(await c.read(CLAUDE_SETTINGS));
  const hook = settings.hooks.PreToolUse[0];
  assertStringIncludes(hook.matcher, "Write");
  assertStringIncludes(hook.hooks[0].command, "guard");
  assert(await c.exists(`.claude/skills/${GUARD_MANIFEST}`));
});

Deno.test("armGuard() in compat form scopes the roots to the env and temp only, bytes pinned", async () => {
  await using c = await bench();
  const marker = await c.arm("claude-code", { ...COMPAT, now: 0 });
  const temp = Deno.env.get("TMPDIR") || "/tmp";
  assertEquals(
    await Deno.readTextFile(marker),
    `{
  "active": true,
  "allowedRoots": [
    ${JSON.stringify(c.root)},
    ${JSON.stringify(temp)}
  ],
  "expiresAt": "1970-01-01T06:00:00.000Z"
}
`,
  );
  assertEquals(
    await c.read(`.claude/skills/${GUARD_MANIFEST}`),
    `{
  "created_at": "1970-01-01T00:00:00.000Z",
  "settings_path": ${JSON.stringify(`${c.root}/${CLAUDE_SETTINGS}`)},
  "settings_existed": false,
  "settings_backup": null,
  "marker_path": ${JSON.stringify(marker)}
}
`,
  );
});

Deno.test("armGuard() takes another life time", async () => {
  await using c = await bench();
  const marker = await c.arm("codex", { ...COMPAT, now: 0, ttlMs: 1500 });
  assertEquals(
    readMarkerSync(marker)?.expiresAt,
    "1970-01-01T00:00:01.500Z",
  );
});

Deno.test("the compat hook command invokes the guard subcommand", async () => {
  await using c = await bench();
  const marker = await c.arm("claude-code", COMPAT);
  const settings = JSON.parse(await c.read(CLAUDE_SETTINGS));
  assertEquals(
    settings.hooks.PreToolUse[0].hooks[0].command,
    `"/g/eval-magic" guard "${marker}"`,
  );
});

Deno.test("armGuard() in compat form writes this exact Claude hook file", async () => {
  await using c = await bench();
  const marker = await c.arm("claude-code", COMPAT);
  assertEquals(
    await c.read(CLAUDE_SETTINGS),
    `{
  "hooks": {
    "PreToolUse": [
      {
        "matcher": "Write|Edit|MultiEdit|NotebookEdit|Bash",
        "hooks": [
          {
            "type": "command",
            "command": ${JSON.stringify(`"/g/eval-magic" guard "${marker}"`)}
          }
        ]
      }
    ]
  }
}
`,
  );
});

Deno.test("armGuard() in compat form writes this exact Codex hook file", async () => {
  await using c = await bench();
  const marker = await c.arm("codex", COMPAT);
  assertEquals(
    await c.read(".codex/hooks.json"),
    `{
  "hooks": {
    "PreToolUse": [
      {
        "matcher": "^Bash$|^apply_patch$|^Edit$|^Write$",
        "hooks": [
          {
            "type": "command",
            "command": ${
      JSON.stringify(`"/g/eval-magic" guard-codex "${marker}"`)
    },
            "timeout": 30,
            "statusMessage": "Checking eval write boundary"
          }
        ]
      }
    ]
  }
}
`,
  );
});

Deno.test("armGuard() without compat writes this exact Claude hook file", async () => {
  await using c = await bench();
  const exe = `/g/b'ulk "head" $x`;
  const matcher =
    "^(Write|Edit|MultiEdit|NotebookEdit|Bash|Monitor|PowerShell|mcp__.*)$";
  const expected = (handler: string) =>
    `{
  "disableAllHooks": false,
  "hooks": {
    "PreToolUse": [
      {
        "matcher": "${matcher}",
        "hooks": [
          {
            "type": "command",
${handler}
          }
        ]
      }
    ]
  }
}
`;
  const marker = await c.arm("claude-code", { exe });
  const quoted = (text: string) => text.replace(/[\\"$`]/g, "\\$&");
  assertEquals(
    await c.read(CLAUDE_SETTINGS),
    expected(
      `            "command": ${
        JSON.stringify(`"${quoted(exe)}" guard "${quoted(marker)}"`)
      },
            "timeout": 30`,
    ),
  );
  const args = `            "command": ${JSON.stringify(exe)},
            "args": [
              "guard",
              ${JSON.stringify(marker)}
            ],
            "timeout": 30`;
  for (
    const [version, handler] of [
      ["2.1.139", args],
      ["2.1.294", args],
      ["2.1.295", `${args},\n            "onFailure": "block"`],
      ["3.0.0", `${args},\n            "onFailure": "block"`],
    ] as const
  ) {
    await teardownGuard(c.root, { home: c.home });
    await c.arm("claude-code", { exe, version });
    assertEquals(await c.read(CLAUDE_SETTINGS), expected(handler), version);
  }
});

Deno.test("armGuard() without compat allows the env alone and names log, own files and hints", async () => {
  await using c = await bench();
  const marker = await c.arm("codex", { now: 0, failClosed: true });
  const read = JSON.parse(await Deno.readTextFile(marker));
  assertEquals(Object.keys(read), [
    "active",
    "allowedRoots",
    "expiresAt",
    "denialLogPath",
    "protectedPaths",
    "hints",
    "failClosed",
  ]);
  assertEquals(read.allowedRoots, [c.root]);
  assertEquals(read.denialLogPath, `${c.root}/${LOG}`);
  assertEquals(read.hints, true);
  assertEquals(await c.read(LOG), "");
  for (
    const own of [marker, `${c.root}/.codex/hooks.json`, read.denialLogPath]
  ) {
    assert(read.protectedPaths.includes(own), own);
  }
  assertStringIncludes(
    await c.read(".codex/hooks.json"),
    "guard-codex --fail-closed ",
  );
});

Deno.test("teardownGuard() deletes settings that arming created", async () => {
  for (const more of [COMPAT, {}]) {
    await using c = await bench();
    await c.arm("claude-code", more);
    assert(await c.exists(CLAUDE_SETTINGS));
    assert((await teardownGuard(c.root, { home: c.home })).found);
    assertFalse(await c.exists(CLAUDE_SETTINGS));
    assertFalse(await c.exists(`.claude/skills/${GUARD_MARKER}`));
    assertFalse(await c.exists(`.claude/skills/${GUARD_MANIFEST}`));
  }
});

Deno.test("teardownGuard() restores pre-existing settings verbatim", async () => {
  for (const more of [COMPAT, {}]) {
    await using c = await bench();
    const original =
      '{\r\n\t"permissions": {"allow": ["Bash(ls)"]},"10":1.0,"2":12345678901234567890}';
    await c.write(CLAUDE_SETTINGS, original);
    await Deno.chmod(`${c.root}/${CLAUDE_SETTINGS}`, 0o640);
    const before = await c.tree();
    await c.arm("claude-code", more);
    assertStringIncludes(await c.read(CLAUDE_SETTINGS), "PreToolUse");
    await teardownGuard(c.root, { home: c.home });
    assertEquals(await c.read(CLAUDE_SETTINGS), original);
    if (more !== COMPAT) assertEquals(withoutLog(await c.tree()), before);
  }
});

Deno.test("armGuard() keeps the order of foreign keys and the spelling of numbers", async () => {
  await using c = await bench();
  await c.write(
    CLAUDE_SETTINGS,
    '{"zeta":1.0,"10":{"b":1,"a":2},"hooks":{"PreToolUse":[{"matcher":"X","hooks":[]}],"Stop":[]},"2":1e400}',
  );
  await c.arm("claude-code", COMPAT);
  const text = await c.read(CLAUDE_SETTINGS);
  const order = [
    '"zeta": 1.0',
    '"10"',
    '"b"',
    '"a"',
    '"hooks"',
    '"PreToolUse"',
    '"X"',
    '"Write|',
    '"Stop"',
    '"2": 1e400',
  ];
  const places = order.map((part) => text.indexOf(part));
  assertEquals(places, places.toSorted((a, b) => a - b));
  assertFalse(places.includes(-1));
});

Deno.test("isArmed() ignores missing, inactive, expired and malformed markers", async () => {
  await using c = await bench();
  const path = `${c.root}/${GUARD_MARKER}`;
  const armed = () => isArmed(readMarkerSync(path), Date.now());
  assertFalse(armed());
  await c.write(GUARD_MARKER, '{"active":false}');
  assertFalse(armed());
  const past = new Date(Date.now() - 60_000).toISOString();
  await c.write(GUARD_MARKER, `{"active":true,"expiresAt":"${past}"}`);
  assertFalse(armed());
  for (
    const text of [
      "not json",
      "[]",
      "null",
      "",
      '{"active":true,"allowedRoots":"x"}',
      '{"active":true,"allowedRoots":[1]}',
    ]
  ) {
    await c.write(GUARD_MARKER, text);
    assertFalse(armed(), text);
  }
  await c.write(
    GUARD_MARKER,
    '{"active":true,"expiresAt":"tomorrow","else":[1]}',
  );
  assert(armed());
});

Deno.test("teardownGuard() sweeps a stray marker even without a manifest", async () => {
  for (
    const skills of [".claude/skills", ".agents/skills", ".opencode/skills"]
  ) {
    await using c = await bench();
    await c.write(`${skills}/${GUARD_MARKER}`, "{}");
    assert((await teardownGuard(c.root, { home: c.home })).found);
    assertFalse(await c.exists(`${skills}/${GUARD_MARKER}`));
  }
});

Deno.test("teardownGuard() is a safe no-op when nothing is armed", async () => {
  await using c = await bench();
  await c.write(CLAUDE_SETTINGS, '{"hooks":{"PreToolUse":[]}}');
  const before = await c.tree();
  assertEquals(await teardownGuard(c.root, { home: c.home }), {
    found: false,
    harnesses: [],
    notices: [],
  });
  assertEquals(await c.tree(), before);
});

Deno.test("teardownGuard() drops both files of a corrupt manifest and takes the hook out", async () => {
  for (const damage of ["{", "[]", "{}", '{"created_at":1}', "\xff"]) {
    await using c = await bench();
    await c.write(CLAUDE_SETTINGS, '{"model":"x"}\n');
    await c.arm("claude-code");
    await c.write(`.claude/skills/${GUARD_MANIFEST}`, damage);
    assert((await teardownGuard(c.root, { home: c.home })).found, damage);
    assertFalse(await c.exists(`.claude/skills/${GUARD_MARKER}`));
    assertFalse(await c.exists(`.claude/skills/${GUARD_MANIFEST}`));
    assertFalse((await c.read(CLAUDE_SETTINGS)).includes("guard"));
    assertStringIncludes(await c.read(CLAUDE_SETTINGS), '"model"');
  }
});

Deno.test("armGuard() for Codex writes project hook, marker and manifest", async () => {
  await using c = await bench();
  await c.arm("codex", COMPAT);
  const marker = JSON.parse(await c.read(`.agents/skills/${GUARD_MARKER}`));
  assertEquals(marker.active, true);
  assert(marker.allowedRoots.includes(c.root));
  const hook =
    JSON.parse(await c.read(".codex/hooks.json")).hooks.PreToolUse[0];
  assertStringIncludes(hook.matcher, "apply_patch");
  assertStringIncludes(hook.hooks[0].command, "guard-codex");
  assert(await c.exists(`.agents/skills/${GUARD_MANIFEST}`));
});

Deno.test("teardownGuard() restores a pre-existing Codex hooks.json verbatim", async () => {
  await using c = await bench();
  const original = JSON.stringify(
    {
      hooks: {
        PostToolUse: [{
          matcher: "Bash",
          hooks: [{ type: "command", command: "echo ok" }],
        }],
      },
    },
    null,
    2,
  ) + "\n";
  await c.write(".codex/hooks.json", original);
  await c.arm("codex", COMPAT);
  assertStringIncludes(await c.read(".codex/hooks.json"), "guard-codex");
  await teardownGuard(c.root, { home: c.home });
  assertEquals(await c.read(".codex/hooks.json"), original);
});

Deno.test("teardownGuard() prunes the directory made for the Codex hook alone", async () => {
  await using c = await bench();
  await c.arm("codex", COMPAT);
  await teardownGuard(c.root, { home: c.home });
  assertFalse(await c.exists(".codex"));
  assert(await c.exists(".agents/skills"), "staging owns the skills directory");
});

Deno.test("hookCleanupDir() derivation table", () => {
  const table: [string, string, string | undefined][] = [
    [".claude/settings.local.json", ".claude/skills", undefined],
    [".codex/hooks.json", ".agents/skills", "/env/.codex"],
    ["hooks.json", ".agents/skills", undefined],
    [".a/hooks.json", ".a/b/skills", undefined],
    [".a/hooks.json", ".ab/skills", "/env/.a"],
    [
      ".opencode/plugins/slow-powers-eval-guard.js",
      ".opencode/skills",
      "/env/.opencode/plugins",
    ],
    [".opencode/guard.js", ".opencode/skills", undefined],
    ["guard.js", ".opencode/skills", undefined],
  ];
  for (const [file, skills, expected] of table) {
    assertEquals(hookCleanupDir(file, skills, "/env"), expected, file);
  }
});

Deno.test("armGuard() for OpenCode stages the byte-exact plugin, marker and manifest", async () => {
  await using c = await bench();
  const marker = await c.arm("opencode", COMPAT);
  assertEquals(JSON.parse(await Deno.readTextFile(marker)).active, true);
  const plugin = await c.read(".opencode/plugins/slow-powers-eval-guard.js");
  assertEquals(plugin, expectedPlugin(marker));
  assert(await c.exists(`.opencode/skills/${GUARD_MANIFEST}`));
});

Deno.test("teardownGuard() removes the OpenCode plugin and prunes the plugins directory", async () => {
  for (const more of [COMPAT, {}]) {
    await using c = await bench();
    await c.arm("opencode", more);
    assert((await teardownGuard(c.root, { home: c.home })).found);
    assertFalse(await c.exists(".opencode/plugins"));
    assertFalse(await c.exists(`.opencode/skills/${GUARD_MARKER}`));
    assertFalse(await c.exists(`.opencode/skills/${GUARD_MANIFEST}`));
  }
});

Deno.test("teardownGuard() restores a pre-existing OpenCode plugin verbatim", async () => {
  await using c = await bench();
  const path = ".opencode/plugins/slow-powers-eval-guard.js";
  const original =
    "// the user's own plugin\nexport const Theirs = async () => ({});\n";
  await c.write(path, original);
  await c.arm("opencode", COMPAT);
  assertStringIncludes(await c.read(path), "SlowPowersEvalGuard");
  await teardownGuard(c.root, { home: c.home });
  assertEquals(await c.read(path), original);
});

Deno.test("the current OpenCode plugin forwards directory and workdir", async () => {
  await using c = await bench();
  await c.arm("opencode");
  const plugin = await c.read(".opencode/plugins/slow-powers-eval-guard.js");
  assertStringIncludes(plugin, "cwd: directory,");
  assertStringIncludes(plugin, "workdir: args.workdir,");
});

const GUARDED = [
  "claude-code",
  "codex",
  "opencode",
  "gemini",
  "cline",
  "cursor",
  "copilot",
  "pi",
];

Deno.test("teardownGuard() leaves no trace but the log, for every harness", async () => {
  for (const harness of GUARDED) {
    await using c = await bench();
    await c.write("src/main.ts", "x");
    const before = await c.tree();
    await c.arm(harness);
    const report = await teardownGuard(c.root, { home: c.home });
    assertEquals(report, { found: true, harnesses: [harness], notices: [] });
    assertEquals(withoutLog(await c.tree()), before, harness);
  }
});

Deno.test("teardownGuard() removes what the harness left because of the guard, and nothing of a person's", async () => {
  await using c = await bench();
  await c.write("src/main.ts", "x");
  const before = await c.tree();
  await c.arm("opencode");
  await c.write(".opencode/.gitignore", "node_modules");
  await c.write(".opencode/package.json", "{}");
  await c.write(".opencode/node_modules/x/index.js", "");
  await c.arm("codex");
  await Deno.mkdir(`${c.root}/.git`);
  await Deno.mkdir(`${c.root}/.aws`);
  await teardownGuard(c.root, { home: c.home });
  assertEquals(withoutLog(await c.tree()), before);

  await c.write(".opencode/package.json", '{"mine":1}');
  await Deno.mkdir(`${c.root}/.git`);
  const own = await c.tree();
  await c.arm("opencode");
  await c.arm("codex");
  await c.write(".git/HEAD", "ref");
  await Deno.remove(`${c.root}/.git/HEAD`);
  await teardownGuard(c.root, { home: c.home });
  assertEquals(await c.tree(), own);
});

Deno.test("teardownGuard() leaves an empty directory that was there before", async () => {
  await using c = await bench();
  await Deno.mkdir(`${c.root}/.codex`);
  const before = await c.tree();
  await c.arm("codex");
  await teardownGuard(c.root, { home: c.home });
  assertEquals(withoutLog(await c.tree()), before);
});

Deno.test("several harnesses are removed in any order, each giving its bytes back", async () => {
  const orders = [["claude-code", "codex", "opencode"], [
    "opencode",
    "claude-code",
    "codex",
  ]];
  for (const order of orders) {
    await using c = await bench();
    await c.write(CLAUDE_SETTINGS, "{}");
    await c.write(".codex/hooks.json", " {} ");
    const before = await c.tree();
    for (const harness of ["claude-code", "codex", "opencode"]) {
      await c.arm(harness);
    }
    for (const harness of order) {
      await teardownGuard(c.root, { home: c.home, harness });
    }
    assertEquals(withoutLog(await c.tree()), before);
  }
});

Deno.test("armGuard() refuses to arm twice, since the armed file would become the backup", async () => {
  for (const more of [COMPAT, {}]) {
    await using c = await bench();
    await c.write(CLAUDE_SETTINGS, "{}");
    await c.arm("claude-code", more);
    const armed = await c.tree();
    await assertRejects(
      () => c.arm("claude-code", more),
      Deno.errors.AlreadyExists,
      "guard teardown",
    );
    assertEquals(await c.tree(), armed);
    await teardownGuard(c.root, { home: c.home });
    assertEquals(await c.read(CLAUDE_SETTINGS), "{}");
  }
});

Deno.test("two that arm at the same moment: one wins, and the original comes back", async () => {
  await using c = await bench();
  await c.write(CLAUDE_SETTINGS, '{"a":1}');
  const results = await Promise.allSettled(
    Array.from({ length: 6 }, () => c.arm("claude-code")),
  );
  assertEquals(results.filter((one) => one.status === "fulfilled").length, 1);
  await teardownGuard(c.root, { home: c.home });
  assertEquals(await c.read(CLAUDE_SETTINGS), '{"a":1}');
});

Deno.test("armGuard() stops at settings with comments and gives the snippet", async () => {
  for (
    const text of [
      '{\n  // mine\n  "model": "x",\n}\n',
      '{"a":1,}',
      "{",
      "[]",
      '"x"',
      '{"hooks":[]}',
      '{"hooks":{"PreToolUse":{}}}',
    ]
  ) {
    await using c = await bench();
    await c.write(CLAUDE_SETTINGS, text);
    const before = await c.tree();
    const error = await assertRejects(
      () => c.arm("claude-code"),
      HookFileError,
      "the guard stays off",
    );
    assertEquals(
      JSON.parse(error.snippet).hooks.PreToolUse.length,
      1,
    );
    assertEquals(await c.tree(), before, text);
  }
});

Deno.test("armGuard() in compat form takes unparseable settings for an empty object, and restores them", async () => {
  await using c = await bench();
  await c.write(CLAUDE_SETTINGS, "{ // mine\n}");
  await c.arm("claude-code", COMPAT);
  assertEquals(Object.keys(JSON.parse(await c.read(CLAUDE_SETTINGS))), [
    "hooks",
  ]);
  await teardownGuard(c.root, { home: c.home });
  assertEquals(await c.read(CLAUDE_SETTINGS), "{ // mine\n}");
});

Deno.test("armGuard() switches hooks on beside its own, and teardown restores that they were off", async () => {
  await using c = await bench();
  const original = '{"disableAllHooks":true,"x":1}';
  await c.write(CLAUDE_SETTINGS, original);
  await c.arm("claude-code");
  assertEquals(
    JSON.parse(await c.read(CLAUDE_SETTINGS)).disableAllHooks,
    false,
  );
  await teardownGuard(c.root, { home: c.home });
  assertEquals(await c.read(CLAUDE_SETTINGS), original);
});

Deno.test("armGuard() writes through a link and teardown leaves the link", async () => {
  await using c = await bench();
  await c.write("shared/settings.json", '{"a":1}');
  await Deno.mkdir(`${c.root}/.claude`);
  await Deno.symlink("../shared/settings.json", `${c.root}/${CLAUDE_SETTINGS}`);
  const before = await c.tree();
  await c.arm("claude-code");
  assertStringIncludes(await c.read("shared/settings.json"), "PreToolUse");
  await teardownGuard(c.root, { home: c.home });
  assertEquals(withoutLog(await c.tree()), before);
});

Deno.test("armGuard() follows a dangling link, and teardown leaves it dangling", async () => {
  await using c = await bench();
  await Deno.mkdir(`${c.root}/.claude`);
  await Deno.symlink("../later.json", `${c.root}/${CLAUDE_SETTINGS}`);
  const before = await c.tree();
  await c.arm("claude-code");
  assertStringIncludes(await c.read("later.json"), "PreToolUse");
  await teardownGuard(c.root, { home: c.home });
  assertEquals(withoutLog(await c.tree()), before);
});

Deno.test("a link that leaves the workspace is followed and said so", async () => {
  await using c = await bench();
  const outside = `${c.home}-settings.json`;
  await Deno.writeTextFile(outside, '{"mine":true}');
  await Deno.mkdir(`${c.root}/.claude`);
  await Deno.symlink(outside, `${c.root}/${CLAUDE_SETTINGS}`);
  const armed = await armGuard({
    harness: "claude-code",
    root: c.root,
    home: c.home,
    selfCheck: false,
    bundle: false,
  });
  assertStringIncludes(armed.notices.join("\n"), outside);
  await teardownGuard(c.root, { home: c.home });
  assertEquals(await Deno.readTextFile(outside), '{"mine":true}');
});

Deno.test("teardownGuard() writes nothing outside for a workspace that brings a manifest and a link", async () => {
  await using c = await bench();
  const victim = `${c.home}-bashrc`;
  await Deno.writeTextFile(victim, "precious");
  const elsewhere = `${c.home}-elsewhere`;
  for (
    const settings_path of [victim, elsewhere, `${c.root}/${CLAUDE_SETTINGS}`]
  ) {
    await c.write(
      `.claude/skills/${GUARD_MANIFEST}`,
      JSON.stringify({
        created_at: "2026-01-01T00:00:00.000Z",
        settings_path,
        settings_existed: true,
        settings_backup: "evil",
        marker_path: victim,
      }),
    );
    await Deno.remove(`${c.root}/${CLAUDE_SETTINGS}`).catch(() => {});
    await Deno.symlink(victim, `${c.root}/${CLAUDE_SETTINGS}`);
    assert((await teardownGuard(c.root, { home: c.home })).found);
    assertEquals(await Deno.readTextFile(victim), "precious");
    await assertRejects(() => Deno.stat(elsewhere), Deno.errors.NotFound);
  }
});

Deno.test("armGuard() does not empty a file that the denial log links to", async () => {
  await using c = await bench();
  await c.write("precious.txt", "keep");
  await Deno.mkdir(`${c.root}/.eval-magic-outputs`);
  await Deno.symlink("../precious.txt", `${c.root}/${LOG}`);
  await c.arm("claude-code");
  assertEquals(await c.read("precious.txt"), "keep");
  await teardownGuard(c.root, { home: c.home });
  // An empty log is no reason to leave a directory behind.
  await assertRejects(
    () => Deno.stat(`${c.root}/.eval-magic-outputs`),
    Deno.errors.NotFound,
  );

  await Deno.symlink("/tmp", `${c.root}/.eval-magic-outputs`);
  const before = await c.tree();
  await assertRejects(() => c.arm("claude-code"), TypeError, "link");
  assertEquals(await c.tree(), before);
});

Deno.test("teardownGuard() removes an empty log whose guard was deleted before, and no other directory", async () => {
  await using c = await bench();
  await c.arm("claude-code");
  await Deno.remove(`${c.root}/.claude`, { recursive: true });
  assertEquals((await teardownGuard(c.root, { home: c.home })).found, false);
  const dir = `${c.root}/.eval-magic-outputs`;
  await assertRejects(() => Deno.stat(dir), Deno.errors.NotFound);

  await Deno.mkdir(dir);
  await teardownGuard(c.root, { home: c.home });
  assert((await Deno.stat(dir)).isDirectory);
});

Deno.test("teardownGuard() keeps a version that was changed while armed, and restores the original", async () => {
  await using c = await bench();
  await c.write(CLAUDE_SETTINGS, '{"a":1}');
  await c.arm("claude-code");
  const changed = (await c.read(CLAUDE_SETTINGS)).replace('"a"', '"b"');
  await c.write(CLAUDE_SETTINGS, changed);
  const { notices } = await teardownGuard(c.root, { home: c.home });
  assertEquals(await c.read(CLAUDE_SETTINGS), '{"a":1}');
  const kept = /kept at "([^"]+settings\.local\.json)"/.exec(notices[0] ?? "");
  assertEquals(await Deno.readTextFile(kept?.[1] ?? ""), changed);
});

Deno.test("teardownGuard() leaves settings that a person wrote after removing the hook", async () => {
  await using c = await bench();
  await c.arm("claude-code");
  await c.write(CLAUDE_SETTINGS, '{"mine":1}');
  const { notices } = await teardownGuard(c.root, { home: c.home });
  assertEquals(await c.read(CLAUDE_SETTINGS), '{"mine":1}');
  assertStringIncludes(notices.join(), "left as it is");
});

Deno.test("teardownGuard() works after the workspace was moved", async () => {
  await using c = await bench();
  await c.write(CLAUDE_SETTINGS, '{"a":1}');
  await c.arm("claude-code");
  const moved = `${c.root} moved`;
  await Deno.rename(c.root, moved);
  assert((await teardownGuard(moved, { home: c.home })).found);
  assertEquals(
    await Deno.readTextFile(`${moved}/${CLAUDE_SETTINGS}`),
    '{"a":1}',
  );
});

Deno.test("teardownGuard() refuses a manifest of a newer schema and changes nothing", async () => {
  await using c = await bench();
  await c.arm("claude-code");
  const path = `.claude/skills/${GUARD_MANIFEST}`;
  await c.write(
    path,
    (await c.read(path)).replace('"schema": 1', '"schema": 2'),
  );
  const before = await c.tree();
  await assertRejects(
    () => teardownGuard(c.root, { home: c.home }),
    TypeError,
    "newer Bulkhead",
  );
  assertEquals(await c.tree(), before);
});

Deno.test("armGuard() refuses roots that hold everything, unknown harnesses and missing directories", async () => {
  await using c = await bench();
  await assertRejects(
    () => armGuard({ harness: "codex", root: "/", home: c.home }),
    RangeError,
    "nothing would be guarded",
  );
  await assertRejects(
    () => c.arm("codex", { roots: ["/tmp/.."] }),
    RangeError,
  );
  await assertRejects(() => c.arm("abacus"), TypeError, "claude-code");
  await assertRejects(
    () => armGuard({ harness: "codex", root: `${c.root}/no`, home: c.home }),
    Deno.errors.NotFound,
    "not a directory",
  );
  assertEquals(await c.tree(), []);
});

Deno.test("armGuard() refuses life times that make no sense", async () => {
  await using c = await bench();
  for (const ttlMs of [0, -1, Number.NaN, Infinity, 1e300]) {
    await assertRejects(() => c.arm("codex", { ttlMs }), RangeError);
  }
  assertEquals(await c.tree(), []);
});

Deno.test("armGuard() in a directory that cannot be written fails and leaves nothing", async () => {
  await using c = await bench();
  for (const root of ["/proc/sys", "/proc/self"]) {
    const error = await assertRejects(
      () => armGuard({ harness: "codex", root, home: c.home, bundle: false }),
      Error,
    );
    assertFalse(error instanceof SelfCheckError);
  }
});

Deno.test("teardownGuard() that cannot restore keeps the manifest, which holds the original", async () => {
  await using c = await bench();
  await c.write(CLAUDE_SETTINGS, '{"a":1}');
  await c.arm("claude-code");
  await Deno.remove(`${c.root}/${CLAUDE_SETTINGS}`);
  await Deno.mkdir(`${c.root}/${CLAUDE_SETTINGS}/x`, { recursive: true });
  await assertRejects(() => teardownGuard(c.root, { home: c.home }));
  assertStringIncludes(
    await c.read(`.claude/skills/${GUARD_MANIFEST}`),
    '{\\"a\\":1}',
  );
  await Deno.remove(`${c.root}/${CLAUDE_SETTINGS}`, { recursive: true });
  await teardownGuard(c.root, { home: c.home });
  assertEquals(await c.read(CLAUDE_SETTINGS), '{"a":1}');
});

Deno.test("pipes in place of the guard's files do not hang teardown", async () => {
  await using c = await bench();
  await Deno.mkdir(`${c.root}/.claude/skills`, { recursive: true });
  const pipes = [
    CLAUDE_SETTINGS,
    `.claude/skills/${GUARD_MANIFEST}`,
    `.claude/skills/${GUARD_MARKER}`,
  ];
  for (const path of pipes) {
    await new Deno.Command("mkfifo", { args: [`${c.root}/${path}`] }).output();
  }
  assert((await teardownGuard(c.root, { home: c.home })).found);
  assertEquals(
    (await guardStatus(c.root, { selfCheck: false })).harnesses,
    [],
  );
  await assertRejects(() => c.arm("claude-code"), TypeError, "regular file");
});

Deno.test("arming a second harness keeps the denials of the first", async () => {
  await using c = await bench();
  await c.arm("claude-code");
  await c.write(LOG, "evidence\n");
  await c.arm("codex");
  assertEquals(await c.read(LOG), "evidence\n");
  await teardownGuard(c.root, { home: c.home });
  assertEquals(await c.read(LOG), "evidence\n", "teardown keeps it too");
  await c.arm("codex");
  assertEquals(await c.read(LOG), "", "a new arming starts afresh");
});

Deno.test("armGuard() bundles the hook once and reuses it, in a home of any name", async () => {
  await using c = await bench();
  const home = `${c.home}/a?b#c%20d e`;
  const started = await armGuard({ harness: "codex", root: c.root, home });
  const shim = await Deno.readTextFile(started.exe);
  const [dir = ""] = /hook-[0-9a-f]{16}/.exec(shim) ?? [];
  const bundle = `${home}/bin/${dir}`;
  assertEquals(
    (await Array.fromAsync(Deno.readDir(bundle))).map((one) => one.name).sort(),
    ["hook.js", "seldom.js", "shell.js"],
  );
  const { mtime } = await Deno.stat(`${bundle}/hook.js`);
  await teardownGuard(c.root, { home });
  await armGuard({ harness: "opencode", root: c.root, home });
  assertEquals((await Deno.stat(`${bundle}/hook.js`)).mtime, mtime);
});

Deno.test("armGuard() refuses when the staged command does not deny, and restores", async () => {
  await using c = await bench();
  await c.write(CLAUDE_SETTINGS, '{"a": 1}');
  const before = await c.tree();
  for (const exe of ["/nonexistent/guard", "/bin/true", "/bin/cat"]) {
    const error = await assertRejects(
      () => c.arm("claude-code", { exe, selfCheck: true }),
      SelfCheckError,
    );
    assertStringIncludes(error.message, exe);
    assertEquals(withoutLog(await c.tree()), before);
  }
});

Deno.test("armGuard() proves the staged command of every harness under an empty environment", async () => {
  for (const harness of GUARDED) {
    await using c = await bench();
    await c.arm(harness, { selfCheck: true });
    assertEquals(await c.read(LOG), "", "the check leaves no denial");
    await teardownGuard(c.root, { home: c.home });
  }
});

Deno.test("user layers add tool names to the marker and may not declare a guard", async () => {
  await using c = await bench();
  await Deno.mkdir(`${c.home}/harnesses`, { recursive: true });
  await Deno.writeTextFile(
    `${c.home}/harnesses/a.toml`,
    'label = "codex"\n[tools]\nshell = ["run_it"]\n',
  );
  const marker = await c.arm("codex");
  assertEquals(readMarkerSync(marker)?.tools, { shell: ["run_it"] });
  await teardownGuard(c.root, { home: c.home });
  await Deno.writeTextFile(
    `${c.home}/harnesses/b.toml`,
    'label = "own"\n[guard]\nhooks_file = "x"\n',
  );
  await assertRejects(() => c.arm("codex"), TypeError, "[guard]");
  await Deno.writeTextFile(
    `${c.home}/harnesses/b.toml`,
    'label = "codex"\n[run]\nsupports_guard = true\n',
  );
  await assertRejects(() => c.arm("codex"), TypeError, "supports_guard");
});

/** Runs git in a directory. */
async function git(cwd: string, ...args: string[]): Promise<string> {
  const { stdout } = await new Deno.Command("git", {
    args: ["-c", "user.name=t", "-c", "user.email=t@t", ...args],
    cwd,
    stderr: "null",
  }).output();
  return new TextDecoder().decode(stdout);
}

Deno.test("armGuard() keeps its files out of the agent's commits and cleanings, and teardown restores git's rules", async () => {
  for (const below of ["", "packages/a [b]* "]) {
    for (const rules of ["# rules\n*.log\n", "no newline", ""]) {
      await using c = await bench();
      await git(c.root, "init", "-q");
      const exclude = `${c.root}/.git/info/exclude`;
      await Deno.mkdir(`${c.root}/.git/info`, { recursive: true });
      await Deno.writeTextFile(exclude, rules);
      const root = below === "" ? c.root : `${c.root}/${below}`;
      await Deno.mkdir(root, { recursive: true });
      for (const harness of ["claude-code", "opencode"]) {
        await armGuard({
          harness,
          root,
          home: c.home,
          selfCheck: false,
          bundle: false,
        });
      }
      await Deno.writeTextFile(`${root}/work.txt`, "x");
      assertEquals(
        (await git(root, "status", "--porcelain", "-uall")).includes("slow"),
        false,
      );
      await git(root, "add", "-A");
      await git(root, "commit", "-q", "-m", "all");
      const files = await git(c.root, "ls-files");
      assertFalse(files.includes("guard") || files.includes("settings"), files);
      await git(root, "clean", "-fd");
      await git(root, "stash", "-u");
      const marker = readMarkerSync(`${root}/.claude/skills/${GUARD_MARKER}`);
      assert(isArmed(marker, Date.now()));
      await teardownGuard(root, { home: c.home });
      assertEquals(await Deno.readTextFile(exclude), rules);
    }
  }
});

Deno.test("armGuard() finds out whether git tracks the hook file", async () => {
  for (const tracked of [true, false]) {
    await using c = await bench();
    const root = `${c.root}/packages/é`;
    await Deno.mkdir(`${root}/.codex`, { recursive: true });
    await git(c.root, "init", "-q");
    const hook = `${root}/.codex/hooks.json`;
    await Deno.writeTextFile(hook, "{}\n");
    await Deno.writeTextFile(`${root}/.codex/hooks.json.bak`, "{}\n");
    await git(c.root, "add", ".");
    if (!tracked) await git(c.root, "rm", "-q", "--cached", hook);
    const { markerPath, notices } = await armGuard({
      harness: "codex",
      root,
      home: c.home,
      selfCheck: false,
      bundle: false,
    });
    assertEquals(
      readMarkerSync(markerPath)?.trackedPaths,
      tracked ? [hook] : undefined,
    );
    assertEquals(notices.some((one) => one.includes("tracked")), tracked);
    await teardownGuard(root, { home: c.home });
    assertEquals(await Deno.readTextFile(hook), "{}\n");
  }
});

Deno.test("armGuard() writes git's rules only into a real repository", async () => {
  await using c = await bench();
  const victim = `${c.home}-victim`;
  await Deno.mkdir(`${victim}/info`, { recursive: true });
  await Deno.writeTextFile(`${victim}/info/exclude`, "mine");
  await Deno.writeTextFile(`${c.root}/.git`, `gitdir: ${victim}\n`);
  await c.arm("claude-code");
  assertEquals(await Deno.readTextFile(`${victim}/info/exclude`), "mine");
});

/** Runs the script with a kill at its n-th step, for every n, until it finishes. */
async function killedAtEveryStep(
  c: Bench,
  script: string,
  after: (steps: number) => Promise<void>,
): Promise<number> {
  const file = `${c.home}-killed.ts`;
  await Deno.writeTextFile(file, KILL_AT_STEP + script);
  for (let steps = 1; steps < 100; steps++) {
    const child = await new Deno.Command(Deno.execPath(), {
      args: [
        "run",
        "-A",
        "--no-lock",
        `--config=${fromFileUrl(new URL("../deno.json", import.meta.url))}`,
        file,
        new URL("../guard/", import.meta.url).href,
        c.root,
        c.home,
        String(steps),
      ],
      stderr: "piped",
    }).output();
    const said = new TextDecoder().decode(child.stderr);
    if (!child.success) assertEquals(child.signal, "SIGKILL", said);
    await after(steps);
    if (child.success) return steps;
  }
  throw new Error("the script never finished");
}

Deno.test("armGuard() killed at any step is undone by teardownGuard()", async () => {
  await using c = await bench();
  await c.write(CLAUDE_SETTINGS, '{ "mine": [1] }');
  await Deno.mkdir(`${c.root}/.claude/skills`);
  const before = await c.tree();
  const steps = await killedAtEveryStep(c, ARM, async (step) => {
    await teardownGuard(c.root, { home: c.home });
    assertEquals(withoutLog(await c.tree()), before, `killed at step ${step}`);
    await Deno.remove(`${c.root}/.eval-magic-outputs`, { recursive: true })
      .catch(() => {});
  });
  assert(steps > 12, `only ${steps} steps were seen`);
});

Deno.test("teardownGuard() killed at any step is finished by the next one", async () => {
  await using c = await bench();
  await c.write(CLAUDE_SETTINGS, '{ "mine": [1] }');
  await Deno.mkdir(`${c.root}/.claude/skills`);
  const before = await c.tree();
  await c.arm("claude-code");
  const steps = await killedAtEveryStep(c, TEARDOWN, async (step) => {
    await teardownGuard(c.root, { home: c.home });
    assertEquals(withoutLog(await c.tree()), before, `killed at step ${step}`);
    await c.arm("claude-code");
  });
  assert(steps > 3, `only ${steps} steps were seen`);
});

/** Kills its process before the n-th call that changes the disk. */
const KILL_AT_STEP = `
const [guard, root, home, at] = Deno.args;
let left = Number(at);
const step = () => { if (--left === 0) Deno.kill(Deno.pid, "SIGKILL"); };
for (const name of ["mkdir", "link", "rename", "remove", "open", "chmod"]) {
  const real = Deno[name];
  Deno[name] = (...args) => { step(); return real(...args); };
}
`;

const ARM = `
const { armGuard } = await import(guard + "install.ts");
await armGuard({ harness: "claude-code", root, home, selfCheck: false, bundle: false });
`;

const TEARDOWN = `
const { teardownGuard } = await import(guard + "teardown.ts");
await teardownGuard(root, { home });
`;

/** The plugin file of the first release, whole, so that any edit needs a second look here. */
function expectedPlugin(marker: string): string {
  return String
    .raw`// slow-powers eval write guard — staged by ${"`eval-magic`"} into this env's
// project plugins; removed by ${"`eval-magic teardown-guard`"} (or the next run).
// Do not edit: re-staging overwrites, and teardown restores the original.
//
// Dumb forwarder by design: every tool call goes to
// ${"`eval-magic guard-hook --harness opencode <marker>`"} on stdin and the shared
// arbiter inside the binary classifies it. Empty stdout allows; non-empty
// stdout is the deny verdict JSON whose reason blocks the call.
import { spawnSync } from "node:child_process";

const EXE = "/g/eval-magic";
const MARKER = ${JSON.stringify(marker)};

export const SlowPowersEvalGuard = async () => {
  return {
    "tool.execute.before": async (input, output) => {
      const payload = JSON.stringify({
        tool_name: input.tool,
        tool_input: output?.args ?? {},
      });
      const result = spawnSync(EXE, ["guard-hook", "--harness", "opencode", MARKER], {
        input: payload,
        encoding: "utf8",
        timeout: 10000,
        stdio: ["pipe", "pipe", "ignore"],
      });
      const stdout = (result.stdout ?? "").trim();
      if (!stdout) {
        return; // allow — also the fail-open path on spawn error or timeout
      }
      let reason = stdout;
      try {
        const verdict = JSON.parse(stdout);
        if (typeof verdict?.reason === "string") {
          reason = verdict.reason;
        }
      } catch {
        // Not the verdict shape — surface the raw stdout as the reason.
      }
      throw new Error(reason);
    },
  };
};
`;
}

Deno.test("every guarded harness has a descriptor that holds", () => {
  for (const label of GUARDED) assert(harnessByLabel(label)?.guard, label);
});
