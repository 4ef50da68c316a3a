/**
 * One test a symptom that users of agents and of other guards have reported, where it is the
 * arbiter's to get right.
 */
import { assertEquals } from "@std/assert";
import { decideCall } from "@bulkhead/guard";

const ROOT = "/work/env";

function judge(
  toolName: string,
  toolInput: unknown,
  links: Record<string, string> = {},
): "allow" | "deny" {
  const known = new Map(Object.entries(links));
  const { allow } = decideCall(
    { toolName, toolInput, cwd: ROOT },
    { active: true, allowedRoots: [ROOT] },
    {
      now: 0,
      home: "/home/me",
      paths: { readLink: (path) => known.get(path) ?? null },
    },
  );
  return allow ? "allow" : "deny";
}

interface Symptom {
  name: string;
  /** Commands that have to be denied. */
  deny?: string[];
  /** Commands that have to pass. */
  allow?: string[];
}

const SYMPTOMS: Symptom[] = [
  {
    name: "a blocked edit is made through the shell instead",
    deny: ["sed -i s/a/b/ /srv/x", "cat > /srv/x <<'E'\na\nE"],
  },
  {
    name: "cd x && … skips the rules",
    deny: ["cd /srv && rm -rf x", "cd .. && touch x"],
    allow: ["cd sub && touch x"],
  },
  {
    name: "reads after cd are blocked",
    allow: ["cd /srv && grep -r x .", "cd / && ls", "cd /srv && git log"],
  },
  {
    name: "only a few wrapper names are unwrapped",
    deny: [
      "ionice -c3 nice -n5 setsid stdbuf -oL touch /srv/x",
      "flock .l touch /srv/x",
      "unknownwrap --opt rm -rf /srv/x",
    ],
  },
  {
    name: "bash -c hides a write",
    deny: [
      "bash -c 'touch /srv/x'",
      "bash -xc 'touch /srv/x'",
      'sh -ec "touch /srv/x"',
    ],
  },
  {
    name: "a here-document as first argument hides the pipe's target",
    deny: ["cat <<'E' | tee /srv/x\na\nE"],
  },
  {
    name: "2>&1 is called a file",
    allow: ["make 2>&1 | tail", "ls >&2", "exec 3>&-"],
  },
  {
    name: "pip --target gets round a refusal",
    deny: ["pip install --target ./v x", "python3 -m pip install -t v x"],
  },
  {
    name: "more than fifty sub-commands",
    deny: ["true; ".repeat(60) + "touch /srv/x"],
  },
  {
    name: "the shell text of a patch tool is skipped",
    deny: [
      "apply_patch <<'E'\n*** Begin Patch\n*** Delete File: /srv/x\n*** End Patch\nE",
    ],
    allow: [
      "apply_patch <<'E'\n*** Begin Patch\n*** Add File: a\n+rm -rf / > /srv/x\n*** End Patch\nE",
    ],
  },
  {
    name: "redirections and most verbs are missed",
    deny: [
      "ls>/srv/x",
      "x|tee /srv/x",
      "echo a|tee '/srv/a b'",
      "curl -o/srv/x u",
      "gzip /srv/x",
      "shred /srv/x",
      "less -o /srv/x a",
    ],
  },
  {
    name: "/dev/null is taken for a target",
    allow: ["ls > /dev/null", "ls 2>/dev/null", "cp a /dev/null"],
    deny: ["echo > /dev/../etc/x"],
  },
  {
    name: "a descriptor before the operator",
    deny: ["echo a 1>/srv/x", "ls 2>>/srv/x"],
  },
  {
    name: "echo and a redirection elsewhere are put together",
    allow: ["echo '> /srv/x'; ls > out"],
  },
  {
    name: "print-only Python is blocked",
    allow: [
      "python3 -c \"print('open(/srv/x, w) > y')\"",
      "python3 -c \"print('x >> y')\"",
    ],
  },
  {
    name: "an operator in quotes, arrows, awk, sed and grep",
    allow: [
      "awk '$1 > 3' a",
      "sed 's/>/x/' a",
      "grep '=>' a",
      "echo 'a -> b'",
      "jq '.a > 1' f",
    ],
  },
  {
    name: "here-document prose is denied",
    allow: ["cat > n.md <<'E'\nrun rm -rf / > /etc/passwd\nE"],
  },
  { name: "eval of ssh-agent is denied", allow: ['eval "$(ssh-agent -s)"'] },
  {
    name: "skipping a here-document's own line hides what follows on it",
    deny: ["cat <<E > /srv/x\na\nE", "cat <<E; rm /srv/x\na\nE"],
  },
  {
    name: "redirection words are taken for operands of rm",
    allow: ["rm a > log 2>&1", "rm a 2>/dev/null"],
  },
  {
    name: "commands inside a redirection target or an unquoted body",
    deny: [
      "echo > $(touch /srv/x)a",
      "cat <<E\n$(touch /srv/x)\nE",
      "cat <<< $(touch /srv/x)",
    ],
    allow: ["cat <<'E'\n$(touch /srv/x)\nE"],
  },
  {
    name: "only the last operand of sed -i",
    deny: ["sed -i s/a/b/ /srv/x a", "sed -i s/a/b/ a /srv/x b"],
  },
  {
    name: "only one operand of tee, -t of cp",
    deny: ["tee a /srv/x < b", "tee -- /srv/x < a", "cp -t /srv a"],
  },
  {
    name: "sed w, find -exec … + …",
    deny: ["sed -n 'w /srv/x' a", "find . -exec mv -t /srv {} +"],
  },
  {
    name: "ln -sf over an outside file, git mv",
    deny: ["ln -sf a /srv/x", "git mv a /srv/x", "ln -sf a .codex/hooks.json"],
  },
  {
    name: "find -delete by its start",
    deny: ["find /srv -delete"],
    allow: ["find . -name '*.o' -delete"],
  },
  {
    name: "tilde and variables joined to the directory as text",
    deny: ["touch ~/x", "touch $HOME/x", 'touch "$UNSET/x"'],
    allow: ["touch '~/x'"],
  },
  {
    name: "git -C, --git-dir and GIT_DIR unseen",
    deny: [
      "git -C /srv add x",
      "git --git-dir=/srv/.git commit",
      "GIT_DIR=/srv/.git git add x",
    ],
  },
  {
    name: "only the first bytes are analysed",
    deny: ["echo " + "a".repeat(9000) + "; touch /srv/x"],
  },
  {
    name: "names found inside other words",
    allow: ["rsync -c a b", "npm run rm-x", "echo torm /srv"],
  },
  {
    name: "IO numbers and option values taken for programs and operands",
    allow: [
      "2>/dev/null ls",
      "touch -r /etc/hosts a",
      "install -m 644 a b",
      "chmod --reference=/etc/hosts a",
    ],
  },
  {
    name: "clusters, eval and compact separators",
    deny: [
      "bash -xc 'rm /srv/x'",
      "eval 'rm /srv/x'",
      "true;rm /srv/x",
      "true&&rm /srv/x",
      "true|rm /srv/x",
    ],
  },
];

for (const { name, deny = [], allow = [] } of SYMPTOMS) {
  Deno.test(`decideCall() ${name}`, () => {
    for (const command of deny) {
      assertEquals(judge("Bash", { command }), "deny", command);
    }
    for (const command of allow) {
      assertEquals(judge("Bash", { command }), "allow", command);
    }
  });
}

Deno.test("decideCall() Monitor and PowerShell run commands though Bash is off", () => {
  assertEquals(judge("Monitor", { command: "touch /srv/x" }), "deny");
  assertEquals(judge("PowerShell", { command: "New-Item /srv/x" }), "deny");
});

Deno.test("decideCall() the sandbox covers the shell only, file tools escape", () => {
  assertEquals(judge("Write", { file_path: "/srv/x" }), "deny");
  assertEquals(judge("mcp__fs__write_file", { path: "/srv/x" }), "deny");
});

Deno.test("decideCall() workdir of the call is not looked at", () => {
  assertEquals(judge("bash", { command: "rm -rf x", workdir: "/srv" }), "deny");
  assertEquals(judge("bash", { command: "cat x", workdir: "/srv" }), "allow");
});

Deno.test("decideCall() patch text is read as shell", () => {
  const command =
    "*** Begin Patch\n*** Add File: a.sh\n+rm -rf /srv > /etc/x\n*** End Patch";
  assertEquals(judge("apply_patch", { command }), "allow");
});

Deno.test("decideCall() linked parents, dangling leaves and linked bases", () => {
  const links = {
    [`${ROOT}/out`]: "/srv",
    [`${ROOT}/leaf`]: "/srv/none",
    [`${ROOT}/in`]: "sub",
  };
  assertEquals(judge("Write", { file_path: "out/x" }, links), "deny");
  assertEquals(judge("Bash", { command: "echo > leaf" }, links), "deny");
  assertEquals(judge("Bash", { command: "echo > in/x" }, links), "allow");
});
