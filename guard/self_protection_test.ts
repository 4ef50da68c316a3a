/**
 * The guard's own files against commands that take them away, replace or hide them, without
 * naming them too; and the harmless relatives of each, which stay allowed.
 */
import { assert, assertEquals } from "@std/assert";
import { decideCall } from "./explain.ts";

const ROOT = "/work/env";
/** A root that the guard is armed in: directories, its files, no links. */
const PLACES = new Set([
  "/work",
  ROOT,
  `${ROOT}/src`,
  `${ROOT}/.claude`,
  `${ROOT}/.claude/settings.local.json`,
  `${ROOT}/.claude/skills`,
  `${ROOT}/.claude/skills/.slow-powers-eval-guard.json`,
]);

function judge(toolName: string, toolInput: unknown, places = PLACES) {
  return decideCall(
    { toolName, toolInput, cwd: ROOT },
    { active: true, allowedRoots: [ROOT] },
    {
      now: 0,
      home: "/home/me",
      paths: { readLink: (path) => places.has(path) ? null : undefined },
    },
  );
}

interface Kind {
  name: string;
  deny: string[];
  allow: string[];
}

const KINDS: Kind[] = [
  {
    name: "find by what it would meet",
    deny: [
      "find . -delete",
      "find . -type f -delete",
      "find . -mindepth 1 -delete",
      "find . ! -name keep.txt -delete",
      `find ${ROOT} -type f -print -delete`,
      "find . -name '*.json' -delete",
      "find . \\( -name '*.json' -o -name '*.md' \\) -type f -delete",
      "find . -path './.claude/*' -delete",
      "find . -iname 'SETTINGS*' -delete",
      "find . -name '.c*' -exec rm -rf {} +",
      "find . -mindepth 1 -maxdepth 1 -exec rm -rf {} +",
      "find . -type d -name .claude -prune -exec rm -rf {} \\;",
      "find . -name settings.local.json -exec sed -i s/deny/x/ {} +",
      "find .claude -name '*.json' -exec sed -i s/a/b/ {} +",
      "find . -type f -exec sh -c 'rm \"$1\"' _ {} \\;",
      "find . -print0 | xargs -0 rm -rf",
      "find . -type f | xargs rm -f",
      "find . -name settings.local.json | xargs truncate -s 0",
    ],
    allow: [
      "find . -name '*.o' -delete",
      "find . -name __pycache__ -type d -exec rm -rf {} +",
      "find build -delete",
      "find . -name node_modules -prune -o -name '*.log' -delete",
      "find . -type d -empty -delete",
      "find . -size +10M -delete",
      "find . -mtime +7 -type f -delete",
      "find . -maxdepth 1 -type f -delete",
      "find src -type f -exec rm {} +",
      "find . -type f -exec sed -i s/a/b/ {} +",
      "find . -type f -exec chmod 644 {} +",
      "find . -name '*.json' -exec cat {} +",
      "find . -type f | xargs grep -l foo",
      "find . -type f -print | sort | xargs wc -l",
      "find . -name '*[0-9].tmp' -exec rm -f {} \\;",
    ],
  },
  {
    name: "git by what it takes out of the work tree",
    deny: [
      "git clean -fdx",
      "git clean -xdf .",
      "git clean -f -d -X",
      "git clean -fdx .claude",
      "git clean -fdx ':/'",
      "git stash -a",
      "git stash push --all -m wip",
      "git stash push -- .claude",
      "git rm -r .claude",
      "git rm -r -f -- '.claude/*'",
      "git checkout -- .claude",
      "git checkout HEAD~1 .claude/settings.local.json",
      "git restore --source=HEAD~2 .codex/hooks.json",
      "git restore --staged --worktree .claude",
      "git mv .claude x",
    ],
    allow: [
      "git clean -fdx build/",
      "git clean -n",
      "git clean -ndx",
      "git clean -fdx --dry-run",
      // Arming lists the files in `info/exclude`.
      "git clean -fd",
      "git stash -u",
      "git stash push -m wip",
      "git stash pop",
      "git rm -r src",
      "git rm -rf .",
      "git rm --cached .claude/settings.local.json",
      "git checkout -- .",
      "git checkout -b feature",
      "git restore .",
      "git restore --staged .claude",
      "git reset --hard",
      "git add .claude",
      "git diff .claude",
    ],
  },
  {
    name: "modes that blind the hook",
    deny: [
      "chmod 000 .claude",
      "chmod -x .claude",
      "chmod 644 .claude",
      "chmod u=w .claude/skills",
      "chmod -R 000 .",
      "chmod -R a-r .claude",
      "chmod -R 644 .",
      "chmod 0 .",
      "chmod a-r .claude/settings.local.json",
      "mount -t tmpfs tmpfs .claude",
    ],
    allow: [
      "chmod +x run.sh",
      "chmod -R u+w build",
      "chmod -R 755 .",
      "chmod -R go-w .",
      "chmod -R u+rwX,go-rwx .",
      "chmod 700 .claude",
      "chmod 600 src/key",
    ],
  },
  {
    name: "copies and archives over them",
    deny: [
      "rsync -a --delete empty/ .",
      `rsync -a --delete empty/ ${ROOT}/`,
      "rsync -a --delete x/ .claude/",
      "rsync -a x/.claude .",
      "rsync -a x/ .claude",
      "tar -C .claude -x -f a.tar",
      "tar xf a.tar -C .codex",
      "tar xf a.tar .claude/settings.local.json",
      "unzip -o a.zip -d .claude",
      "unzip -o a.zip '.claude/*'",
      "cp -r x/. .claude",
      "cp -a x/.claude .",
      "cp x .claude/settings.local.json",
      "ln -sf x .codex/hooks.json",
      "truncate -s 0 .claude/settings.local.json",
    ],
    allow: [
      "rsync -a --delete src/ build/",
      "rsync -a --delete src build/",
      "rsync -an --delete empty/ .",
      "rsync -a src/ .",
      "rsync -a --delete --exclude '.*' dist/ .",
      "tar xzf a.tgz",
      "tar xzf a.tgz -C .claude/skills",
      "tar -C .claude -xf a.tar commands/x.md",
      "unzip -o a.zip",
      "unzip -o skill.zip -d .claude/skills",
      "cp -r skill .claude/skills/",
      "cp -r .claude backup",
      "cp x .claude/settings.json",
      "ln -s ../x .claude/skills",
    ],
  },
  {
    name: "stars and dotfiles",
    deny: [
      "rm -rf .",
      "rm -rf .[!.]*",
      "rm -rf {*,.*}",
      "rm -rf $(ls -A)",
      "ls -A | xargs rm -rf",
      "shopt -s dotglob; rm -rf *",
      "mv .* sub/",
      "git ls-files -o | xargs rm -f",
      "pwsh -c 'Remove-Item -Recurse -Force *'",
    ],
    allow: [
      // A star matches no leading dot, and all of the guard's files have one above them.
      "rm -rf *",
      "rm -rf ./*",
      "rm -rf src/* .cache",
      "shopt -s dotglob; shopt -u dotglob; rm -rf *",
      "shopt -s nullglob; rm -rf *",
      "ls | xargs rm -rf",
      "git ls-files -o --exclude-standard | xargs rm -f",
      "mv *.txt sub/",
    ],
  },
  {
    name: "code, containers and other ways round",
    deny: [
      "python3 -c \"import os; os.chmod('.claude', 0)\"",
      "node -e \"require('fs').chmodSync('.claude', '000')\"",
      "perl -e 'chmod 0000, \".claude\"'",
      "perl -e 'unlink glob(\".claude/*\")'",
      "ruby -e 'File.chmod(0, \".claude\")'",
      "ruby -e 'FileUtils.rm_rf(\".claude\")'",
      "python3 -c \"import subprocess; subprocess.run(['find','.','-delete'])\"",
      "node -e \"require('child_process').execSync('git clean -fdx')\"",
      "bash -O dotglob -c 'rm -rf *'",
      "git --work-tree=.claude checkout -f",
      "find . -name '*.md' -newer a -o -name 'settings.local.json' -delete",
      "fd -H settings.local -x rm",
      'docker run --rm -v "$PWD":/w alpine rm -rf /w/.claude',
      "docker run --rm -v \"$PWD/.claude\":/c alpine sh -c 'rm -rf /c/*'",
    ],
    allow: [
      "python3 -c \"import os; os.chmod('.claude', 0o755)\"",
      "perl -e 'chmod 0755, \"run.sh\"'",
      "bash -O dotglob -c 'ls *'",
      "git --work-tree=src checkout -f",
      "fd -H settings.local",
      "fd -H -e log -x rm",
      'docker run --rm -v "$PWD":/w alpine rm -rf /w/build /etc/x',
      'docker run --rm -v "$PWD":/w -w /w node npm ci',
    ],
  },
  {
    name: "Bulkhead's own command line",
    deny: [
      "bulkhead guard teardown",
      "bulkhead guard --json teardown",
      "bulkhead guard install --harness codex",
      "cd src && /usr/local/bin/bulkhead guard teardown --root ..",
      "npx -y @bulkhead/bulkhead guard teardown",
      "deno run -A mod.ts guard teardown",
      "deno run -A jsr:@bulkhead/guard@0.1.0/cli teardown",
      "deno run -A /opt/bulkhead/guard/cli.ts teardown",
      "deno run -A /opt/bulkhead/cli/main.ts guard teardown",
      "deno run -A /opt/bulkhead/mod.ts guard install",
      "deno -A cli/main.ts guard teardown --root X",
      "deno run --config=/opt/b/mod.ts -A /opt/b/cli/main.ts guard teardown",
      "deno run -A file:///opt/b/cli/main.ts guard teardown",
      "deno run -A 'https://example.org/b/cli/main.ts?x' guard teardown",
      "deno run -A /opt/b/cli/m*n.ts guard teardown",
      "deno run -A /opt/b/guard/../guard/./cli.ts teardown",
      "cd /opt/b/guard && deno run -A cli.ts teardown",
      "cd / && npx --yes deno@2.9.6 run -A /opt/b/cli/main.ts guard teardown --root X",
      "npx --yes deno@2.9.6 run -A /opt/b/mod.ts guard install",
      "deno task cli guard teardown",
      "npx deno task bulkhead guard teardown",
      "bulkhead --home /opt/h guard teardown",
      'deno eval \'import { teardownGuard } from "/opt/b/guard/mod.ts"; await teardownGuard(".")\'',
      'deno eval \'const g = await import("/opt/b/guard/mod.ts"); await g.teardownGuard(".")\'',
      'echo \'import { teardownGuard } from "x"; teardownGuard(".")\' > t.ts && deno run -A t.ts',
      "python3 -c \"import subprocess; subprocess.run(['deno', 'run', '-A', '/opt/b/mod.ts', 'guard', 'teardown'])\"",
      "sh -c 'bulkhead guard teardown'",
      "python3 -c \"import subprocess; subprocess.run(['bulkhead', 'guard', 'teardown'])\"",
    ],
    allow: [
      "bulkhead guard status",
      "bulkhead guard explain 'rm -rf /'",
      "bulkhead guard teardown --help",
      "deno run -A mod.ts guard log",
      "deno run -A mod.ts teardown",
      "deno run -A /opt/b/cli/main.ts guard status",
      "npx --yes deno@2.9.6 run -A /opt/b/mod.ts guard explain 'rm -rf /'",
      "deno run -A /opt/b/mod.ts guard log",
      "deno run -A mod.ts guard decide --jsonl",
      "deno run -A main.ts guard verify",
      "deno run -A main.ts guard explain teardown",
      "deno run -A /opt/b/cli.ts teardown",
      "deno run -A main.ts install",
      "deno task guard teardown",
      'deno eval \'import { guardStatus } from "/opt/b/guard/mod.ts"; console.log(await guardStatus("."))\'',
      "deno test -A guard/teardown_test.ts",
      "npm run guard teardown",
    ],
  },
];

for (const { name, deny, allow } of KINDS) {
  Deno.test(`self-protection: ${name}`, () => {
    for (const command of deny) {
      const decision = judge("Bash", { command });
      assert(!decision.allow, command);
      assertEquals(decision.denied.verdict, "protected", command);
    }
    for (const command of allow) {
      const decision = judge("Bash", { command });
      assertEquals(decision.allow || decision.reason, true, command);
    }
  });
}

Deno.test("self-protection: a sweep takes what is there", () => {
  const sweeping = [
    "git clean -fdx",
    "find . -delete",
    "rsync -a --delete x/ .",
  ];
  for (const command of sweeping) {
    assert(judge("Bash", { command }, new Set(["/work", ROOT])).allow, command);
    const listed = decideCall(
      { toolName: "Bash", toolInput: { command }, cwd: ROOT },
      {
        active: true,
        allowedRoots: [ROOT],
        protectedPaths: [`${ROOT}/.codex/hooks.json`],
      },
      { now: 0, paths: { readLink: () => undefined } },
    );
    assert(!listed.allow, command);
  }
});

Deno.test("self-protection: a hook file that git tracks is put back by whole-tree commands", () => {
  const hook = `${ROOT}/.codex/hooks.json`;
  const allowed = (command: string, trackedPaths?: string[]) =>
    decideCall(
      { toolName: "Bash", toolInput: { command }, cwd: ROOT },
      {
        active: true,
        allowedRoots: [ROOT],
        protectedPaths: [hook],
        ...trackedPaths === undefined ? {} : { trackedPaths },
      },
      { now: 0, paths: { readLink: () => undefined } },
    ).allow;
  for (
    const command of [
      "git stash",
      "git stash push -m wip",
      "git reset --hard HEAD~1",
      "git checkout -- .",
      "git checkout -f main",
      "git restore .",
      "git switch --discard-changes main",
      "git rm -rf .",
    ]
  ) {
    assert(allowed(command), command);
    assert(!allowed(command, [hook]), command);
  }
  for (
    const command of [
      "git stash pop",
      "git stash list",
      "git stash push src",
      "git reset HEAD~1",
      "git checkout -- src",
      "git checkout -b x",
      "git restore --staged .",
      "git switch main",
    ]
  ) assert(allowed(command, [hook]), command);
});

Deno.test("self-protection: file tools that move or delete a directory", () => {
  const denied: [string, unknown][] = [
    ["mcp__filesystem__move_file", { source: ".claude", destination: "x" }],
    ["mcp__fs__delete_directory", { path: `${ROOT}/.claude` }],
    ["mcp__fs__write_file", { path: ".codex/hooks.json", content: "{}" }],
    ["Delete", { path: ".claude" }],
    ["delete_file", { target_file: ".claude/settings.local.json" }],
  ];
  for (const [tool, input] of denied) {
    const decision = judge(tool, input);
    assert(!decision.allow, tool);
    assertEquals(decision.denied.verdict, "protected", tool);
  }
  const allowed: [string, unknown][] = [
    ["mcp__filesystem__move_file", { source: "a", destination: "b" }],
    ["mcp__fs__create_directory", { path: ".claude/commands" }],
    ["mcp__fs__delete_directory", { path: "src" }],
    ["Delete", { path: "src/a.ts" }],
  ];
  for (const [tool, input] of allowed) {
    assertEquals(judge(tool, input).allow, true, tool);
  }
});
