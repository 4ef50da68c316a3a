import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { decide, type Decision, needsShell } from "./decide.ts";
import { decideCall, decideLine } from "./explain.ts";
import type { GuardMarker } from "./marker.ts";

const ROOT = "/work/env";
const MARKER: GuardMarker = { active: true, allowedRoots: [ROOT] };
const NO_LINKS = { readLink: () => undefined };

interface Surroundings {
  cwd?: string;
  marker?: GuardMarker;
  links?: Record<string, string>;
  home?: string;
  foldCase?: boolean;
}

function judge(
  toolName: string,
  toolInput: unknown,
  around: Surroundings = {},
): Decision {
  const links = new Map(Object.entries(around.links ?? {}));
  return decideCall(
    { toolName, toolInput, cwd: around.cwd ?? ROOT },
    around.marker ?? MARKER,
    {
      now: 0,
      home: around.home ?? "/home/me",
      foldCase: around.foldCase,
      paths: around.links === undefined
        ? NO_LINKS
        : { readLink: (path) => links.get(path) ?? null },
    },
  );
}

function verdict(
  toolName: string,
  toolInput: unknown,
  around?: Surroundings,
): string {
  const decision = judge(toolName, toolInput, around);
  return decision.allow ? "allow" : "deny";
}

const bash = (command: string, around?: Surroundings) =>
  verdict("Bash", { command }, around);

// The decision tests of the reference, as twins.

Deno.test("decide() allows a tool that only reads", () => {
  assertEquals(verdict("Read", { file_path: "/etc/passwd" }), "allow");
});

Deno.test("decide() denies an outside write with the reference's words", () => {
  const marker = { active: true, allowedRoots: ["/work/.eval-magic"] };
  const decision = judge("Write", { file_path: "/etc/passwd" }, { marker });
  assertEquals(
    decision.allow || decision.reason,
    "eval guard: Write to /etc/passwd is outside the eval sandbox (allowed: /work/.eval-magic)",
  );
});

Deno.test("decide() denies a package install with the reference's words", () => {
  const decision = judge("Bash", { command: "npm install left-pad" });
  assertEquals(
    decision.allow || decision.reason,
    "eval guard: blocked Bash (package install/add) — runs outside the eval sandbox",
  );
});

Deno.test("decide() allows everything without a live marker", () => {
  const call = {
    toolName: "Write",
    toolInput: { file_path: "/etc/passwd" },
    cwd: ROOT,
  };
  assert(decide(call, undefined, { now: 0 }).allow);
  assert(
    decide(call, { active: false, allowedRoots: [ROOT] }, { now: 0 }).allow,
  );
  const expired = { ...MARKER, expiresAt: "1970-01-01T00:00:00.005Z" };
  assert(decide(call, expired, { now: 5 }).allow);
  assert(!decide(call, expired, { now: 4 }).allow);
});

Deno.test("decide() judges apply_patch by its files", () => {
  assertEquals(verdict("apply_patch", { files: ["/etc/passwd"] }), "deny");
  assertEquals(verdict("apply_patch", { files: [`${ROOT}/out.md`] }), "allow");
  assertEquals(
    verdict("apply_patch", { files: { "/etc/x": { add: "a" } } }),
    "deny",
  );
  assertEquals(
    verdict("apply_patch", { files: [{ path: "a", move_path: "../b" }] }),
    "deny",
  );
});

Deno.test("decide() allows an in-bounds write in OpenCode's spelling", () => {
  assertEquals(verdict("write", { filePath: `${ROOT}/out.md` }), "allow");
  assertEquals(verdict("write", { filePath: "/etc/passwd" }), "deny");
});

Deno.test("decide() keeps the reference's words for each rule", () => {
  const words: [string, unknown, string][] = [
    [
      "apply_patch",
      {},
      "blocked apply_patch because no patch target path could be determined",
    ],
    [
      "apply_patch",
      { files: ["/etc/b", "/etc/a"] },
      "apply_patch target /etc/a is outside the eval sandbox (allowed: /work/env)",
    ],
    [
      "Bash",
      { command: "pip install x" },
      "blocked Bash (pip install) — runs outside the eval sandbox",
    ],
    [
      "bash",
      { command: "sed -i s/a/b/ /srv/x" },
      "blocked bash (in-place file edit (sed -i)) — runs outside the eval sandbox",
    ],
    [
      "Bash",
      { command: "git -C /srv commit -m x" },
      "blocked Bash (git mutation) — runs outside the eval sandbox",
    ],
    [
      "Bash",
      { command: "git worktree add ../wt" },
      "blocked Bash (git worktree add (working tree outside the sandbox)) — runs outside the eval sandbox",
    ],
    [
      "Bash",
      { command: "echo x | tee /srv/x" },
      "blocked Bash (output redirection to a file) — runs outside the eval sandbox",
    ],
    [
      "Bash",
      { command: "git push" },
      "blocked Bash (git remote operation) — runs outside the eval sandbox",
    ],
    [
      "Bash",
      { command: "git --git-dir=/srv/.git commit" },
      "blocked Bash (git repository routing escape) — runs outside the eval sandbox",
    ],
  ];
  for (const [tool, input, reason] of words) {
    const decision = judge(tool, input);
    assertEquals(decision.allow || decision.reason, `eval guard: ${reason}`);
  }
});

Deno.test("decide() appends rule, resolved target and an inside alternative when hints are on", () => {
  const marker = { ...MARKER, hints: true };
  const decision = judge("Bash", { command: "cd sub && echo x > ../../b" }, {
    marker,
  });
  assert(!decision.allow);
  assertEquals(
    decision.reason,
    "eval guard: blocked Bash (output redirection to a file) — runs outside the eval sandbox. " +
      'By the rule redirect, ">" would write /work/b. ' +
      "Write below /work/env instead, scratch files to /work/env/tmp.",
  );
  const unknown = judge("Bash", { command: 'rm -rf "$X"' }, { marker });
  assertStringIncludes(
    unknown.allow ? "" : unknown.reason,
    "cannot be known before it runs",
  );
});

Deno.test("decide() looks at every path key and at strings that hold JSON", () => {
  for (
    const key of [
      "file_path",
      "notebook_path",
      "path",
      "filePath",
      "target_file",
    ]
  ) {
    assertEquals(verdict("Edit", { [key]: "/etc/x" }), "deny", key);
    assertEquals(verdict("Edit", { [key]: "a/b" }), "allow", key);
  }
  assertEquals(verdict("create", '{"path":"/etc/x"}'), "deny");
  assertEquals(verdict("Write", {}), "allow");
  assertEquals(verdict("Write", null), "allow");
  assertEquals(verdict("Write", { file_path: 3 }), "allow");
});

Deno.test("decide() denies paths with a NUL, a leading tilde, or a climb", () => {
  assertEquals(verdict("Write", { file_path: `${ROOT}/a\0b` }), "deny");
  assertEquals(verdict("Write", { file_path: "~/x" }), "deny");
  assertEquals(verdict("Write", { file_path: "../env2/x" }), "deny");
  assertEquals(verdict("Write", { file_path: "/work/env/../env/x" }), "allow");
  assertEquals(verdict("Write", { file_path: "x" }, { cwd: "/srv" }), "deny");
});

Deno.test("decide() follows links in parents, in the last component and in the root", () => {
  const links = {
    [`${ROOT}/out`]: "/srv",
    [`${ROOT}/dangling`]: "/srv/none",
    "/link": ROOT,
  };
  assertEquals(verdict("Write", { file_path: "out/x" }, { links }), "deny");
  assertEquals(verdict("Write", { file_path: "dangling" }, { links }), "deny");
  assertEquals(bash("cd out && touch x", { links }), "deny");
  assertEquals(bash("echo x > dangling", { links }), "deny");
  assertEquals(bash("rm dangling", { links }), "allow");
  assertEquals(bash("rm -rf out/", { links }), "deny");
  assertEquals(bash("ls out/..; touch out/../x", { links }), "deny");
  // A physical `cd`, and a program's own, walk the link before `..`.
  assertEquals(bash("cd out/..; touch x", { links }), "allow");
  assertEquals(bash("cd -P out/..; touch x", { links }), "deny");
  assertEquals(bash("set -P; cd out/..; touch x", { links }), "deny");
  assertEquals(bash("env -C out/.. touch x", { links }), "deny");
  assertEquals(bash("ln -sfn data out", { links }), "allow");
  assertEquals(bash("ln -sf data out", { links }), "deny");
  const marker = { active: true, allowedRoots: ["/link"] };
  assertEquals(
    verdict("Write", { file_path: `${ROOT}/x` }, { links, marker }),
    "allow",
  );
  assertEquals(
    verdict("Write", { file_path: "/link/x" }, { links, marker }),
    "allow",
  );
});

Deno.test("decide() sees links that the same command makes", () => {
  assertEquals(bash("ln -s /srv l && echo x > l/y"), "deny");
  assertEquals(bash("ln -s /srv/x l; echo x > l"), "deny");
  assertEquals(bash("ln -s data l; echo x > l/y"), "allow");
  assertEquals(bash("ln -s /srv/data data && cat data/x"), "allow");
});

Deno.test("decide() folds case and Unicode forms only where told", () => {
  assertEquals(verdict("Write", { file_path: "/WORK/ENV/a" }), "deny");
  assertEquals(
    verdict("Write", { file_path: "/WORK/ENV/a" }, { foldCase: true }),
    "allow",
  );
  const marker = { active: true, allowedRoots: ["/caf\u00e9"] };
  assertEquals(
    verdict("Write", { file_path: "/cafe\u0301/a" }, {
      marker,
      foldCase: true,
    }),
    "allow",
  );
  assertEquals(
    verdict("Write", { file_path: "/cafe\u0301/a" }, { marker }),
    "deny",
  );
});

Deno.test("decide() reads patch bodies in every key and form", () => {
  const body = (path: string) =>
    `*** Begin Patch\n*** Add File: ${path}\n+x\n*** End Patch\n`;
  for (const key of ["patch", "input", "content", "patchText", "command"]) {
    assertEquals(
      verdict("apply_patch", { [key]: body("/etc/x") }),
      "deny",
      key,
    );
    assertEquals(verdict("apply_patch", { [key]: body("a/x") }), "allow", key);
  }
  assertEquals(verdict("apply_patch", body("../x")), "deny");
  assertEquals(
    verdict("apply_patch", { command: ["apply_patch", body("/etc/x")] }),
    "deny",
  );
  assertEquals(
    verdict("apply_patch", {
      command:
        "*** Begin Patch\n*** Update File: a\n*** Move to: /etc/b\n@@\n-a\n+b\n*** End Patch",
    }),
    "deny",
  );
  // Added and context lines are content, whatever they say.
  assertEquals(
    verdict("apply_patch", {
      command:
        "*** Begin Patch\n*** Update File: a\n@@\n *** Add File: /etc/x\n+*** Delete File: /etc/y\n*** End Patch",
    }),
    "allow",
  );
  assertEquals(
    verdict("patch", {
      diff: "--- a/x\n+++ b/../../etc/x\n@@ -1 +1 @@\n-a\n+b\n",
    }),
    "deny",
  );
});

Deno.test("decide() runs shell calls in the directory the call names", () => {
  for (
    const key of [
      "workdir",
      "working_directory",
      "cwd",
      "directory",
      "dir_path",
    ]
  ) {
    assertEquals(
      verdict("bash", { command: "touch x", [key]: "/srv" }),
      "deny",
      key,
    );
    assertEquals(
      verdict("bash", { command: "ls", [key]: "/srv" }),
      "allow",
      key,
    );
    assertEquals(
      verdict("bash", { command: "touch x", [key]: "sub" }),
      "allow",
      key,
    );
    assertEquals(
      verdict("bash", { command: "touch x", [key]: ".." }),
      "deny",
      key,
    );
  }
  assertEquals(verdict("bash", { command: "touch x", workdir: "" }), "allow");
  assertEquals(
    verdict("bash", { command: `touch ${ROOT}/x`, workdir: "/srv" }),
    "allow",
  );
});

Deno.test("decide() reads commands as text, lists of texts and argument lists", () => {
  assertEquals(
    verdict("run_commands", { commands: ["cd ..", "touch x"] }),
    "deny",
  );
  assertEquals(
    verdict("run_commands", { commands: ["touch a", "touch b"] }),
    "allow",
  );
  assertEquals(
    verdict("shell", { command: ["bash", "-lc", "touch /srv/x"] }),
    "deny",
  );
  assertEquals(verdict("shell", { command: ["touch", "/srv/x"] }), "deny");
  assertEquals(verdict("shell", { command: ["echo", "> /srv/x"] }), "allow");
  assertEquals(verdict("exec_command", { cmd: "touch /srv/x" }), "deny");
  assertEquals(verdict("Monitor", { command: "touch /srv/x" }), "deny");
  assertEquals(verdict("Bash", { command: "" }), "allow");
  assertEquals(verdict("Bash", {}), "allow");
});

Deno.test("decide() reads PowerShell", () => {
  const power = (command: string) => verdict("PowerShell", { command });
  for (
    const command of [
      "Set-Content -Path /srv/x -Value a",
      "'a' > /srv/x",
      "Get-Date | Out-File ../x",
      "Remove-Item -Recurse -Force /srv/x",
      "Set-Location /srv; New-Item x",
      "Copy-Item a -Destination /srv",
      "Move-Item /srv/a b",
      "$p = '/srv/x'; Add-Content $p a",
      "Invoke-WebRequest https://e.org -OutFile /srv/x",
      "[IO.File]::WriteAllText('/srv/x', 'a')",
      "if ($true) { Remove-Item /srv/x }",
      "git -C /srv commit -m x",
    ]
  ) assertEquals(power(command), "deny", command);
  for (
    const command of [
      "Get-Content /etc/hosts",
      "Get-ChildItem / -Recurse | Where-Object { $_.Length -gt 3 }",
      "Set-Content out.txt 'a > /srv/x'",
      "Copy-Item /etc/hosts hosts",
      "'a' > a.txt",
      "Write-Output 'Remove-Item /srv/x'",
      "ls 2>&1 | Out-Null",
      "ls > $null",
    ]
  ) assertEquals(power(command), "allow", command);
});

Deno.test("decide() judges file tools of MCP servers by their names and path keys", () => {
  const denied: [string, unknown][] = [
    ["mcp__filesystem__write_file", { path: "/srv/x", content: "a" }],
    ["mcp__filesystem__move_file", { source: "/srv/x", destination: "a" }],
    ["mcp__filesystem__create_directory", { path: "../d" }],
    ["mcp__filesystem__edit_file", { path: "file:///srv/x", edits: [] }],
    ["filesystem_write_file", { path: "/srv/x" }],
    ["mcp__x__write_many", { files: [{ path: "a" }, { path: "/srv/b" }] }],
    ["mcp__x__save", { options: { output: { file: "/srv/b" } } }],
    ["mcp__git__git_commit", { repo_path: "/srv/repo", message: "m" }],
    ["mcp__term__execute_command", { command: "touch /srv/x" }],
    ["mcp__play__browser_take_screenshot", { filename: "/srv/a.png" }],
  ];
  for (const [tool, input] of denied) {
    assertEquals(verdict(tool, input), "deny", tool);
  }
  const allowed: [string, unknown][] = [
    ["mcp__filesystem__read_file", { path: "/srv/x" }],
    ["mcp__filesystem__list_directory", { path: "/" }],
    ["mcp__filesystem__search_files", { path: "/srv", pattern: "write" }],
    ["mcp__filesystem__write_file", { path: `${ROOT}/x`, content: "> /srv/x" }],
    ["mcp__filesystem__copy_file", { source: "/srv/x", destination: "x" }],
    ["mcp__github__create_or_update_file", {
      owner: "o",
      repo: "r",
      path: "/a",
      content: "c",
    }],
    ["mcp__memory__create_entities", { entities: [{ name: "/srv" }] }],
    ["mcp__git__git_status", { repo_path: "/srv/repo" }],
    ["mcp__term__execute_command", { command: "cat /srv/x" }],
    ["update_plan", { plan: [{ step: "write > /etc/x" }] }],
    ["TodoWrite", { todos: [{ content: "rm /srv" }] }],
    ["Task", { prompt: "rm -rf /srv" }],
    ["WebFetch", { url: "https://e.org", prompt: "write /srv" }],
    ["str_replace_editor", { command: "view", path: "/srv/x" }],
  ];
  for (const [tool, input] of allowed) {
    assertEquals(verdict(tool, input), "allow", tool);
  }
  assertEquals(
    verdict("str_replace_editor", { command: "create", path: "/srv/x" }),
    "deny",
  );
});

Deno.test("decide() protects the guard's own files, whatever the tool or verb", () => {
  const own = `${ROOT}/.claude/settings.local.json`;
  for (
    const command of [
      "rm -f .claude/settings.local.json",
      "rm -rf .claude",
      "mv .claude x",
      "echo {} > .claude/settings.local.json",
      "cp a .claude/settings.local.json",
      "cp x/settings.local.json .claude/",
      "sed -i s/a/b/ .claude/settings.local.json",
      "truncate -s0 .codex/hooks.json",
      "python3 -c \"open('.codex/hooks.json','w')\"",
      "ln .codex/hooks.json h",
      "ln -sf a .codex/hooks.json",
      "cd .claude && rm settings.local.json",
      "chmod 000 .claude/settings.local.json",
      "ln -s .claude c; rm c/settings.local.json",
      "find .claude -delete",
      "rm -rf .opencode/plugins",
      "rm -rf .opencode/*",
      "rm -f .codex/*.json",
      "rm -rf ./* .[!.]*",
      "git rm .codex/hooks.json",
      "tee .claude/skills/.slow-powers-eval-guard.json < a",
    ]
  ) {
    const decision = judge("Bash", { command });
    assert(!decision.allow, command);
    assertEquals(decision.denied.verdict, "protected", command);
  }
  assertEquals(judge("Write", { file_path: own }).allow, false);
  assertEquals(
    verdict("apply_patch", {
      command:
        "*** Begin Patch\n*** Delete File: .codex/hooks.json\n*** End Patch",
    }),
    "deny",
  );
  for (
    const command of [
      "cat .claude/settings.local.json",
      "echo x > .claude/notes.md",
      "mkdir -p .claude/skills/x",
      "cp .codex/hooks.json backup.json",
      "rm -rf build",
      "rm -rf *",
      "rm -f .claude/*.md",
      "git add -A",
    ]
  ) assertEquals(bash(command), "allow", command);
});

Deno.test("decide() protects what the marker and the options name, outside of the roots too", () => {
  const marker = {
    ...MARKER,
    protectedPaths: [`${ROOT}/keep`],
    denialLogPath: `${ROOT}/log.jsonl`,
  };
  assertEquals(bash("rm keep", { marker }), "deny");
  assertEquals(bash("echo > log.jsonl", { marker }), "deny");
  assertEquals(bash("rm .codex/hooks.json", { marker }), "allow");
  const decision = decideCall(
    {
      toolName: "Bash",
      toolInput: { command: "rm /home/me/.bulkhead/bin/bulkhead-guard" },
      cwd: ROOT,
    },
    MARKER,
    {
      now: 0,
      paths: NO_LINKS,
      protectedPaths: ["/home/me/.bulkhead/bin/bulkhead-guard"],
    },
  );
  assertEquals(decision.allow || decision.denied.verdict, "protected");
});

Deno.test("decide() without a shell reader goes by the signs of a write", () => {
  const call = (command: string) =>
    decide({ toolName: "Bash", toolInput: { command }, cwd: ROOT }, MARKER, {
      now: 0,
    }).allow;
  assert(call("ls -la"));
  assert(!call("echo x > y"));
});

Deno.test("needsShell() tells which calls need the parser", () => {
  assert(needsShell("Bash", { command: "ls" }));
  assert(needsShell("mcp__term__run_command", { command: "ls" }));
  assert(!needsShell("Write", { file_path: "a" }));
  assert(!needsShell("mcp__x__run_query", { query: "a" }));
});

Deno.test("decide() takes names that user layers add", () => {
  const marker = {
    ...MARKER,
    tools: { shell: ["exec"], write: ["put"], read: ["save_view"] },
  };
  assertEquals(
    verdict("exec", { command: "touch /srv/x" }, { marker }),
    "deny",
  );
  assertEquals(verdict("put", { path: "/srv/x" }, { marker }), "deny");
  assertEquals(verdict("save_view", { path: "/srv/x" }, { marker }), "allow");
});

Deno.test("decideLine() names the field that is wrong", () => {
  for (
    const [line, name] of [
      [{}, "roots"],
      [{ roots: ["/"], id: "1" }, "tool_name"],
      [{ roots: [1] }, "roots"],
      ["x", "roots"],
    ] as const
  ) {
    let message = "";
    try {
      decideLine(line, { now: 0 });
    } catch (error) {
      message = error instanceof TypeError ? error.message : "";
    }
    assertStringIncludes(message, `"${name}"`);
  }
});

/** Kinds of calls, each with commands that write outside and relatives that do not. */
const KINDS: { name: string; deny: string[]; allow: string[] }[] = [
  {
    name: "interpreter code whose path is computed behind a literal directory",
    deny: [
      "python3 -c \"import sys; open('/srv/'+sys.argv[1],'w')\"",
      "python3 -c \"open(f'/srv/{1+1}.txt', 'w')\"",
      "python3 -c \"import os; open(os.path.join('/srv', os.environ['X']),'w')\"",
      "python3 -c \"d='/srv/'+input(); open(d,'w')\"",
      'python3 -c "import tempfile; tempfile.mkdtemp()"',
      "node -e \"require('fs').writeFileSync('/srv/'+Date.now(), '')\"",
      'node -e \'require("fs").writeFileSync(`/srv/${Date.now()}`, "")\'',
      "node -e \"require('fs').writeFileSync(require('os').homedir()+'/x','')\"",
      "node -e \"require('fs').writeFileSync(require('os').tmpdir()+'/x','')\"",
      "perl -e 'open(F,\">/srv/$ARGV[0]\")' x",
      'perl -e \'my $d="/srv"; open(my $f,">","$d/x")\'',
      'ruby -e \'File.write("/srv/#{ARGV.first}","x")\' x',
    ],
    allow: [
      "python3 -c \"import os; open(os.environ['OUT'],'w')\"",
      "python3 -c \"import sys; open(sys.argv[2] + '.bak', 'w')\" a",
      "python3 -c \"open('out/%s.json' % input(),'w')\"",
      "python3 -c \"open(f'log-{1+1}.txt','w')\"",
      "python3 -c \"open('/work/env/' + input(), 'w')\"",
      "python3 -c \"open('/work/' + input(), 'w')\"",
      "python3 -c \"print(open('/srv/' + input()).read())\"",
      "python3 -c \"import tempfile; tempfile.mkdtemp(dir='.')\"",
      "node -e \"require('fs').writeFileSync('out/'+Date.now(),'')\"",
      "node -e \"require('fs').readFileSync('/srv/'+Date.now())\"",
    ],
  },
  {
    name: "variables whose value a program runs or writes to",
    deny: [
      "PS4='$(touch /srv/x)' bash -xc 'echo hi'",
      "PS4='$(touch /srv/x)'; set -x; echo hi",
      "echo 'touch /srv/x' > e.sh; BASH_ENV=e.sh bash -c 'echo hi'",
      "echo 'touch /srv/x' > e.sh; ENV=./e.sh sh -c :",
      "PROMPT_COMMAND='touch /srv/x' bash -i",
      "LESSOPEN='|touch /srv/x; cat %s' less a.txt",
      "MANPAGER='tee /srv/x' man ls",
      "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.pager GIT_CONFIG_VALUE_0='tee /srv/x' git log",
      "GIT_TRACE=/srv/x git status",
      "mapfile -C 'touch /srv/x #' -c 1 a < in.txt",
    ],
    allow: [
      "PS4='+ ${BASH_SOURCE}:' bash -xc 'echo hi'",
      "PS4='$(touch /srv/x)' bash -c 'echo hi'",
      "BASH_ENV=/srv/x.sh bash -c 'echo hi'",
      "PROMPT_COMMAND='touch /srv/x'",
      "LESSOPEN='|lesspipe %s' less a.txt",
      "GIT_TRACE=1 git status",
      "EDITOR=vim git commit",
      "mapfile -t lines < in.txt",
    ],
  },
  {
    name: "editors by the file they have open",
    deny: [
      "printf 'e /srv/x\\n1d\\nw\\nq\\n' | ed -s",
      "ed a.txt <<< $'!touch /srv/x\\nq'",
      "vim -c 'redir > /srv/x' -c q",
      'nvim --headless -c \'call writefile(["x"], "/srv/x")\' -c q',
    ],
    allow: [
      "printf 'e a.txt\\n1d\\nw\\nq\\n' | ed -s",
      "printf ',p\\nq\\n' | ed -s /srv/x",
    ],
  },
  {
    name:
      "goals, toolchains, backups and registries by where their output goes",
    deny: [
      "mvn clean install",
      "./gradlew :lib:publishToMavenLocal",
      "go build -C /srv/app .",
      "bundle config set --global path vendor",
      "tree -o /srv/t",
      "Rscript -e 'write.csv(d, \"/srv/x.csv\")'",
      "Rscript -e 'sink(\"/srv/x\")'",
      "python3 -c \"from os import *; mkdir('/srv/x')\"",
      "python3 -c \"import sqlite3; sqlite3.connect('/srv/d').execute('create table t(a)')\"",
      "node -e \"const {writeFileSync:w}=require('fs'); w('/srv/x','')\"",
      "gdb -batch -ex 'dump memory /srv/x 0 1'",
      "gpg --import key.asc",
      "nmap -oN /srv/scan host",
      "exiftool -Artist=x /srv/a.jpg",
      "gs -o /srv/a.pdf -sDEVICE=pdfwrite a.ps",
      "rollup -c -o /srv/b.js",
      "restic -r /srv/repo backup .",
      "borg create /srv/repo::a .",
      "skopeo copy docker://x dir:/srv/x",
      "crane export x /srv/x.tar",
      "lftp -c 'get x -o /srv/x'",
      "socat -u TCP:h:1 OPEN:/srv/x,creat",
      "git svn clone https://x /srv/x",
      "swift build --scratch-path /srv/b",
    ],
    allow: [
      "mvn -q verify",
      "mvn install -Dmaven.repo.local=.m2",
      "gradle publish",
      "go build -C sub .",
      "bundle config get path",
      'Rscript -e \'write.csv(d, "x.csv"); read.csv("/srv/y.csv")\'',
      "python3 -c \"import sqlite3; sqlite3.connect('/srv/d').execute('select 1')\"",
      "node -e \"const {readFileSync:r}=require('fs'); r('/srv/x')\"",
      "gpg --verify a.sig a",
      "gpg --homedir ./gnupg --import key.asc",
      "nmap -p 80 host",
      "exiftool /srv/a.jpg",
      "restic -r /srv/repo snapshots",
      "borg list /srv/repo",
      "skopeo inspect docker://x",
      "socat - OPEN:/srv/x",
      "lftp -c 'open h; ls /srv'",
    ],
  },
  {
    name: "scripts by options that name an output, and names that jq prints",
    deny: [
      "python3 scripts/gen.py --output /srv/gen",
      "node build.js --out-dir=/srv/x",
      "bash gen.sh --output ../x",
      "python3 -c \"import os; os.replace('a', '/srv/b')\"",
      "python3 -c \"import zipfile; zipfile.ZipFile('/srv/x.zip', 'w')\"",
      "python3 -c \"import shelve; shelve.open('/srv/x')\"",
      "python3 -c \"import logging; logging.basicConfig(filename='/srv/l')\"",
      'v=$(jq -r .path a.json); echo x > "$v"',
      'v=$(jq -r .path a.json); echo x > "../out/$v"',
      'v=$(jq -r .path a.json); echo x > "out/$v/../../../f"',
    ],
    allow: [
      "python3 scripts/gen.py --input /srv/gen --output build",
      "bash gen.sh --config /srv/c",
      "python3 -c \"print('a'.replace('a', '/srv/b'))\"",
      "python3 -c \"import zipfile; zipfile.ZipFile('/srv/x.zip').namelist()\"",
      'v=$(jq -r .version package.json); echo x > "out/v-$v.txt"',
      'v=$(jq -r .path a.json); echo x > "out/$v"',
    ],
  },
  {
    name: "a mount that is only read",
    deny: [
      "docker run -v /srv:/d alpine touch /d/x",
      "docker run -v /srv:/d x",
    ],
    allow: ["docker run --rm -v /srv:/d alpine cat /d/x"],
  },
  {
    name: "PowerShell's functions and computed paths",
    deny: [
      "pwsh -c 'function f { Set-Content /srv/x y }; f'",
      "pwsh -c 'function f($p) { Set-Content $p y }; f /srv/x'",
      "pwsh -c 'function f { param($a, $b) Set-Content $b y }; f 1 -b /srv/x'",
      "pwsh -c 'Set-Content (Join-Path /srv x) y'",
      "pwsh -c '$p = Join-Path $HOME x; Set-Content $p y'",
      'pwsh -c \'"x" | Out-File ($env:HOME + "/x")\'',
    ],
    allow: [
      "pwsh -c 'function f { Set-Content /srv/x y }'",
      "pwsh -c 'function f($p) { Set-Content $p y }; f a.txt'",
      "pwsh -c '$p = Join-Path src x; Set-Content $p y'",
      "pwsh -c 'Set-Content (Join-Path $PWD x) y'",
      "pwsh -c '$x = Get-ChildItem src; foreach ($y in $x) { Set-Content $y.FullName z }'",
      'pwsh -c \'foreach ($f in "a","b") { New-Item "out/$f" }\'',
      'pwsh -c \'@("a","b") | ForEach-Object { Set-Content "out/$_" x }\'',
    ],
  },
];

for (const { name, deny, allow } of KINDS) {
  Deno.test(`decide() reads ${name}`, () => {
    for (const command of deny) assertEquals(bash(command), "deny", command);
    for (const command of allow) assertEquals(bash(command), "allow", command);
  });
}

Deno.test("decide() judges what any tool names as its output", () => {
  const denied: [string, unknown][] = [
    ["mcp__ffmpeg__convert", { input: "a.mp4", output: "/srv/b.mp4" }],
    ["mcp__figma__get_images", { fileKey: "a", localPath: "/srv/x" }],
    ["mcp__s3__get_object", { bucket: "b", localPath: "/srv/x" }],
    ["mcp__blender__render", { outputPath: "../x.png" }],
  ];
  for (const [tool, input] of denied) {
    assertEquals(verdict(tool, input), "deny", tool);
  }
  const allowed: [string, unknown][] = [
    ["mcp__ffmpeg__convert", { input: "/srv/a.mp4", output: "b.mp4" }],
    ["mcp__drive__upload_file", { localPath: "/srv/x" }],
    ["mcp__maps__directions", { destination: "Paris" }],
    ["mcp__search__query", { output: "json" }],
  ];
  for (const [tool, input] of allowed) {
    assertEquals(verdict(tool, input), "allow", tool);
  }
});

Deno.test("decide() reads the code that a tool runs by its language, and an action's command", () => {
  const tool = "mcp__ide__executeCode";
  const denied: [string, unknown][] = [
    [tool, { code: "open('/srv/x','w')" }],
    ["mcp__repl__run_python", { code: "import os; os.remove('/srv/x')" }],
    ["mcp__box__execute_code", {
      language: "javascript",
      code: "require('fs').writeFileSync('/srv/x', '')",
    }],
    ["mcp__box__run_code", { language: "bash", code: "touch /srv/x" }],
    ["local_shell", { action: { type: "exec", command: ["touch", "/srv/x"] } }],
  ];
  const allowed: [string, unknown][] = [
    [tool, { code: "if x > 3:\n  print(open('/srv/x').read())" }],
    ["mcp__box__execute_code", { code: "print(1 > 0)" }],
    ["mcp__box__run_code", { language: "bash", code: "cat /srv/x > y" }],
    ["mcp__box__run_code", { language: "rust", code: "a > b" }],
    ["local_shell", { action: { type: "exec", command: ["ls", "/srv"] } }],
  ];
  for (const [name, input] of denied) {
    assertEquals(verdict(name, input), "deny", JSON.stringify(input));
  }
  for (const [name, input] of allowed) {
    assertEquals(verdict(name, input), "allow", JSON.stringify(input));
  }
});
