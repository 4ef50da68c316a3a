import {
  assert,
  assertEquals,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { MANIFEST_MAX_BYTES, parseManifest, problemText } from "./manifest.ts";
import { ManifestError } from "./errors.ts";

const demo = { directory: "p" };

// Twins of the seed's tests.

Deno.test("parseManifest() parses tools and hooks", () => {
  const manifest = parseManifest(
    `
name = "demo"
version = "1.2.3"

[[tools]]
name = "greet"
command = "echo"
args = ["hi"]
description = "says hi"
params = { type = "object" }

[[hooks]]
event = "post_tool"
command = "notify.sh"
`,
    { directory: "fallback" },
  );
  assertEquals(manifest.name, "demo");
  assertEquals(manifest.version, "1.2.3");
  assertEquals(manifest.tools.length, 1);
  assertEquals(manifest.tools[0]?.name, "greet");
  assertEquals(manifest.tools[0]?.program, {
    kind: "command",
    command: "echo",
    args: ["hi"],
  });
  assertEquals(manifest.hooks.length, 1);
  assertEquals(manifest.hooks[0]?.event, "post_tool");
  assertEquals(manifest.hooks[0]?.fires, "post_tool");
  assertEquals(manifest.problems, []);
});

Deno.test("parseManifest() falls back to the directory's name when none is declared or it is blank", () => {
  const options = { directory: "my-dir-name" };
  assertEquals(
    parseManifest('version = "0.1.0"', options).name,
    "my-dir-name",
  );
  assertEquals(parseManifest('name = " \\t "', options).name, "my-dir-name");
  assertEquals(parseManifest("", options).name, "my-dir-name");
});

Deno.test("parseManifest() defaults the version, the params and the rest", () => {
  const manifest = parseManifest(
    '[[tools]]\nname = "t"\ncommand = "echo"\n',
    demo,
  );
  assertEquals(manifest.version, "0.0.0");
  const tool = manifest.tools[0];
  assert(tool !== undefined);
  assertEquals(tool.params, { type: "object" });
  assertEquals(tool.description, "");
  assertEquals(tool.timeoutMs, 30_000);
  assertEquals(tool.env, []);
  assertEquals(tool.permissions, undefined);
});

Deno.test("parseManifest() skips malformed entries without failing the manifest", () => {
  const manifest = parseManifest(
    `
[[tools]]
name = ""
command = "echo"

[[tools]]
name = "ok"
command = "  "

[[tools]]
name = "good"
command = "echo"

[[hooks]]
event = ""
command = "x"
`,
    demo,
  );
  assertEquals(manifest.tools.map((tool) => tool.name), ["good"]);
  assertEquals(manifest.hooks, []);
  assertEquals(
    manifest.problems.map((problem) => [problem.line, problem.key]),
    [[3, "tools[0].name"], [8, "tools[1].command"], [15, "hooks[0].event"]],
  );
});

Deno.test("parseManifest() rejects malformed TOML", () => {
  const error = assertThrows(
    () => parseManifest("not valid toml [[[", demo),
    ManifestError,
    "parsing manifest: ",
  );
  assertEquals(error.line, 1);
});

// Beyond the seed.

Deno.test("parseManifest() names file, key and line of a wrong type, once", () => {
  const rows: [string, string, number][] = [
    ['[[tools]]\nname = "t"\ncommand = 5\n', "tools[0].command", 3],
    [
      '\n[[tools]]\nname = "t"\ncommand = "x"\nargs = "x"\n',
      "tools[0].args",
      5,
    ],
    ["name = 7", "name", 1],
    [
      '[[tools]]\nname = "t"\ncommand = "c"\nargs = ["a",\n1]',
      "tools[0].args[1]",
      5,
    ],
    ["[tools]\nname = 't'", "tools", 1],
    ["tools = [1]", "tools[0]", 1],
    ["version = 1.0", "version", 1],
    ["[native]\nlibrary = 3", "native.library", 2],
    ["native = 3", "native", 1],
    ['[[hooks]]\nevent = ["x"]\ncommand = "c"', "hooks[0].event", 2],
    ['[[tools]]\nname = ""\ncommand = 3', "tools[0].command", 3],
    [
      '[[tools]]\nname = "t"\ncommand = "c"\n[tools.permissions]\nread = "."',
      "tools[0].permissions.read",
      5,
    ],
    [
      '[[tools]]\nname = "t"\ncommand = "c"\ntimeout_ms = 1.5',
      "tools[0].timeout_ms",
      4,
    ],
  ];
  for (const [text, key, line] of rows) {
    const error = assertThrows(
      () => parseManifest(text, { directory: "p", path: "a/plugin.toml" }),
      ManifestError,
      `parsing manifest: line ${line}: "${key}" must be`,
    );
    assertEquals(
      { key: error.key, line: error.line, path: error.path },
      { key, line, path: "a/plugin.toml" },
    );
  }
});

Deno.test("parseManifest() reads every key of the annotated manifest", () => {
  const manifest = parseManifest(
    `
name = "weather"
version = "1.2.0"

[[tools]]
name = "forecast"
command = "python3"
args = ["\${PLUGIN_DIR}/forecast.py"]
description = "Weather for a city"
params = { type = "object", properties = { city = { type = "string" } }, required = ["city"] }
timeout_ms = 3000
env = ["WEATHER_API_KEY"]
permissions = { read = ["."], write = [], net = ["api.example.org"] }
annotations = { readOnlyHint = true }

[[tools]]
name = "convert"
runtime = "deno"
module = "convert.ts"
permissions = { read = ["\${WORKSPACE_DIR}"] }

[[hooks]]
event = "PreToolUse"
command = "./check.sh"
matcher = "Write|Edit"
timeout_ms = 5000
on_error = "block"

[native]
library = "libweather.so"
`,
    demo,
  );
  assertEquals(manifest.problems, []);
  const [forecast, convert] = manifest.tools;
  assertEquals(forecast?.timeoutMs, 3000);
  assertEquals(forecast?.env, ["WEATHER_API_KEY"]);
  assertEquals(forecast?.permissions, {
    read: ["."],
    write: [],
    net: ["api.example.org"],
  });
  assertEquals(forecast?.annotations, { readOnlyHint: true });
  assertEquals(forecast?.line, 5);
  assertEquals(convert?.program, {
    kind: "deno",
    module: "convert.ts",
    args: [],
  });
  const hook = manifest.hooks[0];
  assertEquals(hook?.fires, "pre_tool");
  assertEquals(hook?.matcher, "Write|Edit");
  assertEquals(hook?.onError, "block");
  assertEquals(hook?.timeoutMs, 5000);
  assertEquals(manifest.native, { library: "libweather.so", line: 30 });
});

Deno.test("parseManifest() leaves out one bad entry and names it, the others stand", () => {
  const bad = [
    'command = "x"\nargs = ["${HOME}/x"]',
    'command = "x"\nargs = ["${PLUGIN_DIR"]',
    'command = "${}"',
    'command = "a\\u0000b"',
    'runtime = "node"\nmodule = "x.js"',
    'runtime = "deno"',
    'runtime = "deno"\nmodule = "../x.ts"',
    'runtime = "deno"\nmodule = "https://example.org/x.ts"',
    'command = "x"\npermissions = { read = ["/a,/etc"] }',
    'command = "x"\npermissions = { read = [""] }',
    'command = "x"\npermissions = { net = ["a,b"] }',
    'command = "x"\nparams = "text"',
    'command = "x"\nparams = { minimum = nan }',
    `command = "x"\nparams = ${"{a=".repeat(70)}1${"}".repeat(70)}`,
    'name2 = "x"',
  ];
  for (const entry of bad) {
    const manifest = parseManifest(
      `[[tools]]\nname = "bad"\n${entry}\n\n[[tools]]\nname = "good"\ncommand = "echo"\n`,
      demo,
    );
    assertEquals(manifest.tools.map((tool) => tool.name), ["good"], entry);
    assert(manifest.problems.length >= 1, entry);
    const text = problemText(manifest.problems[0] ?? never());
    assert(text.startsWith('"plugin.toml" line '), text);
  }
});

Deno.test("parseManifest() ignores unknown keys with a warning", () => {
  const manifest = parseManifest(
    'color = 1\n[[tools]]\nname = "t"\ncommand = "echo"\ncolour = true\n',
    demo,
  );
  assertEquals(manifest.tools.length, 1);
  assertEquals(
    manifest.problems.map((problem) => problem.key),
    ["color", "tools[0].colour"],
  );
});

Deno.test("parseManifest() refuses loader variables in env and keeps the tool", () => {
  const manifest = parseManifest(
    '[[tools]]\nname = "t"\ncommand = "x"\nenv = ["LD_PRELOAD", "A=B", "NODE_OPTIONS", "API_KEY", "API_KEY"]\n',
    demo,
  );
  assertEquals(manifest.tools[0]?.env, ["API_KEY"]);
  assertEquals(manifest.problems.length, 3);
});

Deno.test("parseManifest() takes environment names from the permissions, too", () => {
  const manifest = parseManifest(
    '[[tools]]\nname = "t"\ncommand = "x"\nenv = ["A"]\npermissions = { env = ["B", "A", "LD_AUDIT"] }\n',
    demo,
  );
  assertEquals(manifest.tools[0]?.env, ["A", "B"]);
  assertEquals(manifest.problems.length, 1);
});

Deno.test("parseManifest() keeps an unknown event and reports it, on_error fails closed", () => {
  const manifest = parseManifest(
    '[[hooks]]\nevent = "on_full_moon"\ncommand = "x"\n[[hooks]]\nevent = "stop"\ncommand = "x"\non_error = "Block"\nmatcher = "Write"\n',
    demo,
  );
  assertEquals(manifest.hooks[0]?.fires, undefined);
  assertEquals(manifest.hooks[1]?.onError, "block");
  assertEquals(manifest.hooks[1]?.matcher, "*");
  assertEquals(manifest.problems.length, 3);
});

Deno.test("parseManifest() keeps __proto__ as data", () => {
  const manifest = parseManifest(
    '[[tools]]\nname = "t"\ncommand = "x"\n[tools.params.properties.__proto__]\npolluted = "yes"\n',
    demo,
  );
  const properties = manifest.tools[0]?.params.properties;
  assert(typeof properties === "object" && properties !== null);
  assertEquals(Object.keys(properties), ["__proto__"]);
  assertEquals(Reflect.get({}, "polluted"), undefined);
});

Deno.test("parseManifest() reads a BOM, CRLF, big integers and dates", () => {
  const manifest = parseManifest(
    '\ufeffname = "x"\r\n[[tools]]\r\nname = "t"\r\ncommand = "x"\r\nparams = { maximum = 9223372036854775807, default = 1979-05-27 }\r\n',
    demo,
  );
  assertEquals(manifest.name, "x");
  assertEquals(manifest.tools[0]?.params.maximum, 9223372036854775807);
  assertEquals(typeof manifest.tools[0]?.params.default, "string");
});

Deno.test("parseManifest() does not quote the text of a file that is not TOML", () => {
  const error = assertThrows(
    () => parseManifest('TOPSECRETLINE = "x\\q"', demo),
    ManifestError,
  );
  assert(!error.message.includes("TOPSECRET"), error.message);
});

Deno.test("parseManifest() is bounded by size and depth", () => {
  assertThrows(
    () => parseManifest(`# ${"x".repeat(MANIFEST_MAX_BYTES)}`, demo),
    ManifestError,
    "more than",
  );
  for (
    const text of [
      `a = ${"[".repeat(100_000)}`,
      `a = ${"{a=".repeat(60_000)}`,
      "a.".repeat(100_000) + "a = 1",
      "[[tools]]\n".repeat(20_000),
    ]
  ) {
    try {
      parseManifest(text, demo);
    } catch (error) {
      assert(error instanceof ManifestError, String(error));
    }
  }
});

function never(): never {
  throw new Error("a problem is missing");
}

Deno.test("parseManifest() says which key or event is likely meant, and what an unclosed string is", () => {
  const { problems } = parseManifest(
    `[[tools]]
name = "t"
command = "c"
enviroment = []
tiemout_ms = 5
[[hooks]]
event = "pre_tol"
command = "c"
`,
    { directory: "demo" },
  );
  assertEquals(problems.map(({ message }) => message), [
    "unknown key, ignored",
    'unknown key, ignored; did you mean "timeout_ms"?',
    '"pre_tol" is not an event of this version, kept but never fired; did you mean "pre_tool"?',
  ]);
  const error = assertThrows(
    () => parseManifest('name = "a\n', { directory: "demo" }),
    ManifestError,
  );
  assertStringIncludes(error.message, "its closing quote is missing");
});
