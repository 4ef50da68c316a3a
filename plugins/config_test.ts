import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import {
  isTrusted,
  loadConfig,
  parseTrustDefault,
  resolveConfig,
} from "./config.ts";
import { ConfigError } from "./errors.ts";

const ON =
  '[capabilities.plugins]\nenabled = true\n[capabilities.trust]\nenabled = true\ndefault = "always"\n';

Deno.test("parseTrustDefault() round-trips the known words and nothing else", () => {
  assertEquals(parseTrustDefault("ask"), "ask");
  assertEquals(parseTrustDefault("always"), "always");
  assertEquals(parseTrustDefault("never"), "never");
  for (const word of ["bogus", "Always", " always", "always ", ""]) {
    assertEquals(parseTrustDefault(word), undefined);
  }
});

Deno.test("isTrusted() requires both trust enabled and default always", () => {
  assertEquals(isTrusted({ enabled: false, default: "ask" }), false);
  assertEquals(isTrusted({ enabled: true, default: "ask" }), false);
  assertEquals(isTrusted({ enabled: true, default: "never" }), false);
  assertEquals(isTrusted({ enabled: true, default: undefined }), false);
  assertEquals(isTrusted({ enabled: true, default: "always" }), true);
  assertEquals(isTrusted({ enabled: false, default: "always" }), false);
});

Deno.test("resolveConfig() is off without a file", () => {
  const { config, notices } = resolveConfig({ home: "/h" });
  assertEquals(config, {
    enabled: false,
    dirs: [],
    sandbox: "required",
    trust: { enabled: false, default: "ask" },
  });
  assertEquals(notices, []);
});

Deno.test("resolveConfig() reads every key", () => {
  const { config, notices } = resolveConfig({
    home: "/h",
    userHome: "/home/me",
    user:
      `[capabilities.plugins]\nenabled = true\ndirs = ["~/more", "/abs", "rel"]\nsandbox = "preferred"\nlogin_path = true\n[capabilities.trust]\nenabled = true\ndefault = "ask"\n[guard]\nhints = true\n`,
  });
  assertEquals(config, {
    enabled: true,
    dirs: ["/home/me/more", "/abs", "/h/rel"],
    sandbox: "preferred",
    loginPath: true,
    trust: { enabled: true, default: "ask" },
  });
  assertEquals(notices, []);
});

Deno.test("resolveConfig() refuses plugins on with trust off", () => {
  const texts = [
    "[capabilities.plugins]\nenabled = true\n",
    '[capabilities.plugins]\nenabled = true\n[capabilities.trust]\nenabled = false\ndefault = "always"\n',
  ];
  for (const user of texts) {
    assertThrows(
      () => resolveConfig({ home: "/h", user }),
      ConfigError,
      "needs [capabilities.trust] enabled = true",
    );
  }
});

Deno.test("resolveConfig() names the key of a wrong value", () => {
  const rows: [string, string][] = [
    ['[capabilities.plugins]\nenabled = "yes"\n', "plugins.enabled"],
    ['[capabilities.plugins]\ndirs = "x"\n', "plugins.dirs"],
    ["[capabilities.plugins]\ndirs = [1]\n", "plugins.dirs"],
    ['[capabilities.plugins]\nsandbox = "of"\n', "plugins.sandbox"],
    ["[capabilities.trust]\ndefault = 1\n", "trust.default"],
    ["capabilities = 1\n", "capabilities"],
    ["[capabilities]\nplugins = true\n", "capabilities.plugins"],
    ["[[[", "not TOML"],
  ];
  for (const [user, part] of rows) {
    assertThrows(() => resolveConfig({ home: "/h", user }), ConfigError, part);
  }
});

Deno.test("resolveConfig() keeps the gate closed on a typing error and says so", () => {
  const { config, notices } = resolveConfig({
    home: "/h",
    user: ON.replace("always", "Always"),
  });
  assertEquals(config.trust.default, undefined);
  assertStringIncludes(notices.join(), '"Always"');
});

Deno.test("resolveConfig() cuts both tables out of the workspace's file, visibly", () => {
  const { config, notices, project } = resolveConfig({
    home: "/h",
    project:
      '[capabilities.plugins]\nenabled = true\ndirs = ["./evil"]\n[capabilities.trust]\nenabled = true\ndefault = "always"\n[capabilities.other]\nx = 1\n[guard]\nhints = false\n',
  });
  assertEquals(config.enabled, false);
  assertEquals(config.dirs, []);
  assertEquals(config.trust, { enabled: false, default: "ask" });
  assertEquals(notices.length, 2);
  assertEquals(JSON.parse(JSON.stringify(project)), {
    guard: { hints: false },
    capabilities: { other: { x: 1 } },
  });
});

Deno.test("resolveConfig() lets a workspace neither loosen nor break what the user set", () => {
  for (
    const project of [
      "[capabilities.plugins]\nenabled = false\n",
      "capabilities = 3",
      "not [[ toml",
      `x = ${"[".repeat(50_000)}`,
    ]
  ) {
    const { config } = resolveConfig({ home: "/h", user: ON, project });
    assertEquals(config.enabled, true);
    assertEquals(config.trust.default, "always");
  }
});

Deno.test("loadConfig() reads both files; a bad workspace file is a notice, a bad user file an error", async () => {
  const root = await Deno.makeTempDir();
  const [home, workspace] = [`${root}/home`, `${root}/ws`];
  await Deno.mkdir(home);
  await Deno.mkdir(`${workspace}/.bulkhead.toml`, { recursive: true });
  assertEquals((await loadConfig({ home })).config.enabled, false);
  await Deno.writeTextFile(`${home}/config.toml`, ON);
  const loaded = await loadConfig({ home, workspace });
  assertEquals(loaded.config.enabled, true);
  assertEquals(loaded.notices.length, 1);
  assert(loaded.notices[0]?.includes(".bulkhead.toml ignored"));
  await Deno.writeTextFile(
    `${home}/config.toml`,
    `${ON}# ${"x".repeat(70_000)}`,
  );
  await assertRejects(() => loadConfig({ home }), ConfigError, "config.toml");
  await Deno.remove(root, { recursive: true });
});

Deno.test("resolveConfig() reads every spelling of TOML that an editor may write", () => {
  for (
    const user of [
      "\ufeff[capabilities.plugins]\r\nenabled = true\r\n[capabilities.trust]\r\nenabled = true\r\n",
      "[capabilities.plugins]\nenabled = true\n[capabilities]\nx = 1\n[capabilities.trust]\nenabled = true",
      "capabilities.plugins.enabled = true\ncapabilities.trust = { enabled = true }\n",
    ]
  ) assertEquals(resolveConfig({ home: "/h", user }).config.enabled, true);
});

Deno.test("resolveConfig() names the line of what is no TOML, and takes no key twice", () => {
  const text =
    '[capabilities.plugins]\nsandbox = "required"\nsandbox = "off"\n';
  assertThrows(
    () => resolveConfig({ home: "/h", user: text }),
    ConfigError,
    "config.toml: line 3, column 1: not TOML: ",
  );
  const { notices } = resolveConfig({ home: "/h", project: text });
  assertStringIncludes(notices.join(), ".bulkhead.toml ignored: line 3");
});

Deno.test("resolveConfig() tells every table and key that nobody reads", () => {
  const { notices } = resolveConfig({
    home: "/h",
    user: `[capability.plugins]
enabled = true
[capabilities.plugin]
[capabilities.plugins]
login-path = true
[guard]
hints = true
[worker]
allow = []
`,
  });
  assertEquals(notices, [
    'config.toml: unknown key capability, ignored; did you mean "capabilities"?',
    'config.toml: unknown key capabilities.plugin, ignored; did you mean "plugins"?',
    'config.toml: unknown key capabilities.plugins.login-path, ignored; did you mean "login_path"?',
  ]);
});
