import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import {
  createPosture,
  isTrustedProject,
  type PermissionRules,
  Posture,
} from "./posture.ts";
import { escapesDirectory, toolPaths } from "./posture_paths.ts";

/** A directory with an inside and an outside; links and files are made by the test. */
async function world() {
  const root = await Deno.realPath(await Deno.makeTempDir());
  const cwd = `${root}/proj`;
  await Deno.mkdir(`${cwd}/.claude`, { recursive: true });
  await Deno.mkdir(`${root}/outside`);
  return {
    root,
    cwd,
    outside: `${root}/outside`,
    settings: (permissions: object, file = "settings.json") =>
      Deno.writeTextFile(
        `${cwd}/.claude/${file}`,
        JSON.stringify({ permissions }),
      ),
    [Symbol.asyncDispose]: () => Deno.remove(root, { recursive: true }),
  };
}

function decide(
  posture: Posture,
  toolName: string,
  input: unknown,
  reasonType?: string,
) {
  const verdict = posture.decide({
    toolName,
    input,
    cwd: posture.cwd,
    ...(reasonType === undefined ? {} : { reasonType }),
  });
  return verdict.decision;
}

const posture = (cwd: string, rules: PermissionRules = {}) =>
  new Posture(cwd, rules);

Deno.test("Posture denies an absolute path outside even for an allowed tool", () => {
  const verdict = posture("/work/proj", { allow: ["Read"] }).decide({
    toolName: "Read",
    input: { file_path: "/etc/passwd" },
    cwd: "/work/proj",
  });
  assertEquals(verdict.decision, "deny");
  assertStringIncludes(verdict.reason ?? "", "outside the session directory");
});

Deno.test("Posture allows a path inside for a wholesale-allowed tool", () => {
  assertEquals(
    decide(posture("/work/proj", { allow: ["Read"] }), "Read", {
      file_path: "/work/proj/src/main.rs",
    }),
    "allow",
  );
});

Deno.test("Posture leaves a tool that is not allowed undecided, with the reason", () => {
  const verdict = posture("/work/proj").decide({
    toolName: "Write",
    input: { file_path: "a" },
    cwd: "/work/proj",
  });
  assertEquals(verdict.decision, "undecided");
  assertStringIncludes(verdict.reason ?? "", "not wholesale-allowed");
});

Deno.test("Posture denies a step up that leaves the directory", () => {
  assertEquals(
    decide(posture("/work/proj", { allow: ["Read"] }), "Read", {
      file_path: "../secret",
    }),
    "deny",
  );
});

Deno.test("Posture never allows a shell, whatever the list says", () => {
  const shells = [
    "Bash",
    "BashOutput",
    "KillBash",
    "KillShell",
    "Monitor",
    "PowerShell",
    "REPL",
    "Workflow",
    "bash",
  ];
  const all = posture("/work/proj", { allow: shells });
  for (const tool of shells) {
    for (
      const input of [{ command: "ls" }, {}, null, {
        command: "ls",
        file_path: "/work/proj/a",
      }]
    ) {
      const verdict = all.decide({ toolName: tool, input, cwd: "/work/proj" });
      assertEquals(verdict.decision, "ask", tool);
      assertStringIncludes(verdict.reason ?? "", "shell");
    }
  }
});

Deno.test("Posture: restricted beats allowed, across both files", async () => {
  await using place = await world();
  await place.settings({ allow: ["Read", "Edit", "Glob", "  Grep  ", ""] });
  await place.settings(
    { allow: ["Edit(src/**)"], deny: ["Glob(/etc/**)", 7] },
    "settings.local.json",
  );
  const built = await createPosture({ cwd: place.cwd, project: "trusted" });
  assertEquals(decide(built, "Read", { file_path: "a" }), "allow");
  assertEquals(decide(built, "Grep", { pattern: "x" }), "allow");
  assertEquals(decide(built, "Edit", { file_path: "src/a" }), "undecided");
  assertEquals(decide(built, "Glob", { pattern: "*" }), "undecided");
  assertEquals(decide(built, "", {}), "undecided");
});

Deno.test("Posture: settings that are missing or broken mean default deny", async () => {
  await using place = await world();
  assertEquals(
    decide(
      await createPosture({ cwd: place.cwd, project: "trusted" }),
      "Read",
      { file_path: "a" },
    ),
    "undecided",
  );
  await Deno.writeTextFile(`${place.cwd}/.claude/settings.json`, "{ not json");
  assertEquals(
    decide(
      await createPosture({ cwd: place.cwd, project: "trusted" }),
      "Read",
      { file_path: "a" },
    ),
    "undecided",
  );
  for (
    const text of [
      "[]",
      "null",
      '{"permissions":[]}',
      '{"permissions":{"allow":"Read"}}',
    ]
  ) {
    await Deno.writeTextFile(`${place.cwd}/.claude/settings.json`, text);
    const built = await createPosture({ cwd: place.cwd, project: "trusted" });
    assertEquals(decide(built, "Read", { file_path: "a" }), "undecided", text);
  }
});

Deno.test("Posture: the allow list of an untrusted project does not count, its deny list does", async () => {
  await using place = await world();
  await place.settings({
    allow: ["Write", "mcp__x__y"],
    deny: ["Read"],
    ask: ["Glob"],
  });
  const built = await createPosture({
    cwd: place.cwd,
    rules: { allow: ["Read", "Glob", "Grep"] },
  });
  assertEquals(decide(built, "Write", { file_path: "a" }), "undecided");
  assertEquals(decide(built, "mcp__x__y", {}), "undecided");
  assertEquals(decide(built, "Read", { file_path: "a" }), "undecided");
  assertEquals(decide(built, "Glob", { pattern: "*" }), "ask");
  assertEquals(decide(built, "Grep", { pattern: "x" }), "allow");
});

Deno.test("Posture: rules that grow while the session runs count, allowances that grow do not", async () => {
  await using place = await world();
  await place.settings({ allow: ["Read"] });
  const built = await createPosture({ cwd: place.cwd, project: "trusted" });
  assertEquals(decide(built, "Read", { file_path: "a" }), "allow");
  await place.settings({ allow: ["Read", "WebSearch"], deny: ["Read"] });
  assertEquals(decide(built, "Read", { file_path: "a" }), "undecided");
  assertEquals(decide(built, "WebSearch", { query: "x" }), "undecided");
});

Deno.test("Posture: ask rules stand above allow", () => {
  const built = posture("/work/proj", {
    allow: ["Read", "Write"],
    ask: ["Write(src/**)"],
  });
  assertEquals(decide(built, "Write", { file_path: "a" }), "ask");
  assertEquals(decide(built, "Read", { file_path: "a" }), "allow");
});

Deno.test("Posture: a rule for a server holds for its tools, and a prefix of a name does not", () => {
  const built = posture("/work/proj", {
    allow: ["mcp__docs", "mcp__web__*"],
    deny: ["mcp__docs__drop"],
  });
  assertEquals(decide(built, "mcp__docs__search", { query: "x" }), "allow");
  assertEquals(decide(built, "mcp__web__get", { query: "x" }), "allow");
  assertEquals(decide(built, "mcp__docs__drop", {}), "undecided");
  assertEquals(decide(built, "mcp__docs2__search", {}), "undecided");
  assertEquals(
    decide(posture("/w", { allow: ["read"] }), "Read", { file_path: "a" }),
    "undecided",
  );
  assertEquals(
    decide(posture("/w", { allow: ["Read"], deny: ["READ"] }), "Read", {
      file_path: "a",
    }),
    "undecided",
  );
});

Deno.test("Posture: only the host may allow tools that reach far", async () => {
  await using place = await world();
  const far = [
    "CronCreate",
    "ScheduleWakeup",
    "Skill",
    "Task",
    "Agent",
    "EnterWorktree",
    "SendMessage",
    "WebFetch",
  ];
  await place.settings({ allow: far });
  const project = await createPosture({ cwd: place.cwd, project: "trusted" });
  for (const tool of far) {
    assertEquals(decide(project, tool, {}), "undecided", tool);
  }
  for (const tool of far) {
    assertEquals(
      decide(posture("/w", { allow: [tool] }), tool, {}),
      "allow",
      tool,
    );
  }
});

Deno.test("Posture: what the agent itself calls outside is denied", () => {
  assertEquals(
    decide(
      posture("/w", { allow: ["Read"] }),
      "Read",
      { file_path: "a" },
      "workingDir",
    ),
    "deny",
  );
});

Deno.test("Posture: files that give later sessions more rights are asked", async () => {
  await using place = await world();
  const built = posture(place.cwd, {
    allow: ["Write", "Edit", "Read", "mcp__fs"],
  });
  for (
    const path of [
      ".claude/settings.json",
      ".claude/settings.local.json",
      ".mcp.json",
      ".git/hooks/pre-commit",
      "CLAUDE.md",
      "sub/CLAUDE.md",
      "sub/../.claude/agents/x.md",
      ".bulkhead.toml",
    ]
  ) {
    assertEquals(
      decide(built, "Write", { file_path: path, content: "x" }),
      "ask",
      path,
    );
    assertEquals(decide(built, "mcp__fs__put", { path }), "ask", path);
    assertEquals(decide(built, "Read", { file_path: path }), "allow", path);
  }
  assertEquals(
    decide(built, "Write", { file_path: "src/main.ts", content: "../../etc" }),
    "allow",
  );
});

Deno.test("Posture: a file with a second name outside is asked before it is written", async () => {
  await using place = await world();
  await Deno.writeTextFile(`${place.outside}/secret`, "x");
  await Deno.link(`${place.outside}/secret`, `${place.cwd}/notes.txt`);
  const built = posture(place.cwd, { allow: ["Write", "Read"] });
  assertEquals(decide(built, "Write", { file_path: "notes.txt" }), "ask");
  assertEquals(decide(built, "Read", { file_path: "notes.txt" }), "allow");
});

Deno.test("escapesDirectory() tells in from out", () => {
  for (
    const path of [
      "/etc/passwd",
      "~/secrets",
      "~",
      "~root/x",
      "../sibling",
      "/work/proj/../other",
      "/work/project2/x",
      "a/../../b",
      "/",
      "..",
    ]
  ) {
    assert(escapesDirectory(path, "/work/proj"), path);
  }
  for (
    const path of [
      "src/main.rs",
      "./src/main.rs",
      "a/../b",
      "/work/proj",
      "/work/proj/",
      "/work/proj/x",
      "",
      "...",
      "a..b",
      "https://example.com/../x",
    ]
  ) {
    assert(!escapesDirectory(path, "/work/proj"), path);
  }
});

Deno.test("escapesDirectory() sees through quotes, blanks, addresses and NUL", () => {
  for (
    const path of [
      " /etc/passwd",
      "\t/etc/passwd\n",
      '"/etc/passwd"',
      "'../x'",
      "`~/x`",
      '" /etc/passwd "',
      "file:///etc/passwd",
      "FILE:///etc/passwd",
      "file://localhost/etc/passwd",
      "file:///work/proj/%2e%2e/other",
      "file://host/share",
      "file:///%zz",
      "a\0/../../etc",
      "/proc/self/cwd/..",
      "/proc/1/root/etc",
      "/dev/fd/3",
    ]
  ) {
    assert(escapesDirectory(path, "/work/proj"), JSON.stringify(path));
  }
  assert(!escapesDirectory("file:///work/proj/a", "/work/proj"));
  assert(escapesDirectory("$HOME/x", "/work/proj", true));
  assert(!escapesDirectory("$HOME/x", "/work/proj"));
});

Deno.test("escapesDirectory() walks links as the kernel does", async () => {
  await using place = await world();
  await Deno.mkdir(`${place.outside}/deep`);
  await Deno.symlink(place.outside, `${place.cwd}/out`);
  await Deno.symlink(`${place.outside}/deep`, `${place.cwd}/link`);
  await Deno.symlink(`${place.outside}/none`, `${place.cwd}/dangling`);
  await Deno.symlink(`../outside/none`, `${place.cwd}/dangling2`);
  await Deno.symlink(`${place.cwd}/src`, `${place.cwd}/inside`);
  await Deno.symlink("loop", `${place.cwd}/loop`);
  await Deno.symlink("/proc/self/cwd", `${place.cwd}/proc`);
  for (
    const path of [
      "out",
      "out/secret",
      "out/new/file",
      "link/../x",
      "link/x",
      "dangling",
      "dangling2",
      "loop",
      "loop/x",
      "proc/../../x",
    ]
  ) {
    assert(escapesDirectory(path, place.cwd), path);
  }
  for (const path of ["inside/x", "inside", "new/file", "inside/../b"]) {
    assert(!escapesDirectory(path, place.cwd), path);
  }
});

Deno.test("createPosture() resolves a linked directory, and paths spelt through the link stay inside", async () => {
  await using place = await world();
  await Deno.symlink(place.cwd, `${place.root}/alias`);
  const built = await createPosture({
    cwd: `${place.root}/alias`,
    rules: { allow: ["Read"] },
  });
  assertEquals(built.cwd, place.cwd);
  assertEquals(
    decide(built, "Read", { file_path: `${place.root}/alias/a.txt` }),
    "allow",
  );
  assertEquals(
    decide(built, "Read", { file_path: `${place.cwd}/a.txt` }),
    "allow",
  );
  assertEquals(
    decide(built, "Read", { file_path: `${place.root}/other.txt` }),
    "deny",
  );
  const absent = await createPosture({ cwd: `${place.root}/absent` });
  assertEquals(absent.cwd, `${place.root}/absent`);
});

Deno.test("Posture looks at patterns, lists, objects and the keys of unknown tools", () => {
  const built = posture("/work/proj", {
    allow: ["Read", "Glob", "Grep", "mcp__fs"],
  });
  const denied: [string, unknown][] = [
    ["Glob", { pattern: "/etc/*" }],
    ["Glob", { pattern: "../**/*.key" }],
    ["Grep", { pattern: "x", glob: "/etc/**" }],
    ["Grep", { pattern: "x", path: "/etc" }],
    ["Read", { file_path: ["a", "/etc/passwd"] }],
    ["Read", { file_path: { a: { b: "/etc/passwd" } } }],
    ["mcp__fs__copy", { source: "a", destination: "/etc/x" }],
    ["mcp__fs__copy", { target: "/etc/passwd" }],
    ["mcp__fs__copy", { uri: "file:///etc/passwd" }],
    ["mcp__fs__copy", { paths: ["a", "../x"] }],
    ["mcp__fs__copy", { options: { nested: { outputDirectory: "/srv" } } }],
    ["mcp__fs__copy", { file: "~/x" }],
    ["mcp__fs__copy", { FilePath: "/etc/x" }],
    ["mcp__fs__copy", { "file-path": "/etc/x" }],
    ["mcp__fs__copy", { path: "$HOME/x" }],
    ["mcp__fs__copy", { path: " /etc/x" }],
    ["mcp__fs__copy", { files: { "/etc/cron.d/x": "text" } }],
  ];
  for (const [tool, input] of denied) {
    assertEquals(
      decide(built, tool, input),
      "deny",
      JSON.stringify([tool, input]),
    );
  }
  const asked: unknown[] = [
    { x: "/etc/passwd" },
    { x: ["~/a"] },
    { x: "../../a" },
    { x: { y: "file:///etc" } },
    { x: '"/etc"' },
  ];
  for (const input of asked) {
    assertEquals(
      decide(built, "mcp__fs__copy", input),
      "ask",
      JSON.stringify(input),
    );
  }
  const allowed: [string, unknown][] = [
    ["Grep", { pattern: "/etc/.*" }],
    ["Glob", { pattern: "src/**/*.ts" }],
    ["mcp__fs__copy", { source: "a", destination: "b/c" }],
    ["mcp__fs__copy", { url: "https://example.com/a/../b" }],
    ["mcp__fs__copy", { text: "see /etc/passwd for more" }],
    ["mcp__fs__copy", { count: 3, flag: true, none: null }],
    ["mcp__fs__copy", null],
    ["mcp__fs__copy", "text"],
  ];
  for (const [tool, input] of allowed) {
    assertEquals(
      decide(built, tool, input),
      "allow",
      JSON.stringify([tool, input]),
    );
  }
});

Deno.test("Posture gives up on arguments that are too many to look through", () => {
  const built = posture("/work/proj", { allow: ["mcp__fs"] });
  const many = Object.fromEntries(
    Array.from({ length: 30_000 }, (_, at) => [`k${at}`, "x"]),
  );
  assertEquals(decide(built, "mcp__fs__x", many), "deny");
  let deep: unknown = { path: "/etc/passwd" };
  for (let level = 0; level < 5000; level++) deep = { a: [deep] };
  assertEquals(decide(built, "mcp__fs__x", deep), "deny");
});

Deno.test("toolPaths() leaves the content of known tools alone", () => {
  assertEquals(
    toolPaths("Write", {
      file_path: "a",
      content: "/etc/passwd",
      nested: { path: "/etc" },
    }),
    ["a"],
  );
  assertEquals(
    toolPaths("NotebookEdit", { notebook_path: "n", new_source: "../x" }),
    ["n"],
  );
});

Deno.test("isTrustedProject() reads the answer to the agent's own trust question, by the real path", async () => {
  await using place = await world();
  await Deno.symlink(place.cwd, `${place.root}/alias`);
  const config = (value: unknown) =>
    Deno.writeTextFile(`${place.root}/.claude.json`, JSON.stringify(value));
  assertEquals(await isTrustedProject(place.cwd, place.root), false);
  await config({ projects: { [place.cwd]: { hasTrustDialogAccepted: true } } });
  assertEquals(await isTrustedProject(place.cwd, place.root), true);
  assertEquals(await isTrustedProject(`${place.root}/alias`, place.root), true);
  await config({
    projects: { [place.cwd]: { hasTrustDialogAccepted: "true" } },
  });
  assertEquals(await isTrustedProject(place.cwd, place.root), false);
  await config({
    projects: { [place.root]: { hasTrustDialogAccepted: true } },
  });
  assertEquals(await isTrustedProject(place.cwd, place.root), false);
});

Deno.test("Posture: roots count as inside, links and privileged files as everywhere", async () => {
  const dir = await Deno.realPath(await Deno.makeTempDir());
  const [cwd, more] = [`${dir}/ws`, `${dir}/more`];
  await Deno.mkdir(cwd);
  await Deno.mkdir(more);
  await Deno.symlink("/etc", `${more}/out`);
  const posture = await createPosture({
    cwd,
    rules: { allow: ["Write"] },
    roots: [more],
    project: "ignored",
  });
  const decide = (path: string, reasonType?: string): string =>
    posture.decide({
      toolName: "Write",
      input: { file_path: path },
      cwd,
      ...reasonType === undefined ? {} : { reasonType },
    }).decision;
  assertEquals(decide(`${more}/a`), "allow");
  assertEquals(decide("../more/a"), "allow");
  assertEquals(decide(`${more}/a`, "workingDir"), "allow");
  assertEquals(decide(`${dir}/a`), "deny");
  assertEquals(decide(`${more}/../a`), "deny");
  assertEquals(decide(`${more}er/a`), "deny");
  assertEquals(decide(`${more}/out/a`), "deny");
  assertEquals(decide(`${more}/.git/hooks/pre-commit`), "ask");
  await Deno.remove(dir, { recursive: true });
});
