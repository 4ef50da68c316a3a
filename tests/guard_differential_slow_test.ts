// deno-lint-ignore-file camelcase -- field names of payloads
/**
 * Runs every shell case of both corpora in a throw-away tree and compares what changed outside
 * the root with the verdict: what is allowed must leave everything outside as it was.
 *
 * The other direction is only counted: many denied commands need a network, a tool or a file
 * that the tree does not have.
 */
import { assert, assertEquals } from "@std/assert";
import { decideLine } from "@bulkhead/guard";
import { hasTool } from "./support/require_tool.ts";

interface Case {
  id: string;
  tool_name: string;
  tool_input: { command?: string; workdir?: string };
  cwd: string;
  roots: string[];
  expect: string;
  tag?: string;
}

const OUTSIDE = ["srv", "home", "opt", "tmp", "etc", "peer"];

/** Commands whose incidental writes say nothing about what they were asked to write. */
const INCIDENTAL =
  /\b(?:npm|npx|yarn|pnpm|bun|deno|cargo|go|rustc|tsc|gcc|g\+\+|clang|cc|pip3?|venv|uv|poetry|perl -MJSON|pytest|tmux|screen|gpg|gdb|perf|sem|parallel|bc|history|vim|make|cmake|mvn|gradle|terraform|gcloud|sqlite3|ssh-agent)\b|^git -C \/srv\/repo status$/;

async function run(argv: string[]): Promise<void> {
  const { success, stderr } = await new Deno.Command(argv[0] ?? "", {
    args: argv.slice(1),
  })
    .output();
  assert(success, `${argv.join(" ")}: ${new TextDecoder().decode(stderr)}`);
}

/** The tree that every case starts from. */
async function buildTemplate(dir: string): Promise<void> {
  const script = `
set -e
mkdir -p env/sub/deep env/src env/out env/logs env/build env/a.d srv/d srv/app/cache srv/repo home opt tmp etc peer/cache other
cd env
for f in a a.txt b b.txt c a.ts src/a.ts src/b.ts in.txt a.md l notes.md data.tsv f.json page.html README.md; do printf 'alpha\\nbeta\\n' > $f; done
printf 'x\\ny\\n' > list.txt; printf '{"a":1}' > f.json; printf '{"version":"1.0.0"}' > package.json
git init -q . && git add -A && git -c user.name=t -c user.email=t@e commit -qm one
printf 'more\\n' >> a.txt && git -c user.name=t -c user.email=t@e commit -qam two
cd ../srv && printf 'x\\n' > x; printf 'y\\n' > y; printf 'k\\n' > key; cp x d/x; tar czf a.tgz x
cd repo && git init -q . && printf 'r\\n' > r && git add -A && git -c user.name=t -c user.email=t@e commit -qm one
cd ../..; printf 'root:x:0:0::/home:/bin/bash\\n' > etc/passwd; printf '127.0.0.1 localhost\\n' > etc/hosts
printf 'profile\\n' > home/.profile; printf 'peer\\n' > peer/f; printf '[safe]\\n directory = *\\n' > etc/gitconfig`;
  await run(["sh", "-c", `cd ${dir} && ${script}`]);
}

/** What the outside looks like: mode, size, time and content of everything. */
async function snapshot(dir: string): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  const pending = OUTSIDE.map((name) => `${dir}/${name}`);
  for (let path = pending.pop(); path !== undefined; path = pending.pop()) {
    const info = await Deno.lstat(path);
    let content = "";
    if (info.isSymlink) content = await Deno.readLink(path);
    else if (info.isFile && info.size < 4096) {
      content = await Deno.readTextFile(path);
    }
    const time = info.isDirectory ? "" : info.mtime?.getTime();
    found.set(
      path.slice(dir.length),
      `${info.mode} ${info.size} ${time} ${content}`,
    );
    if (info.isDirectory) {
      for await (const entry of Deno.readDir(path)) {
        pending.push(`${path}/${entry.name}`);
      }
    }
  }
  return found;
}

function differences(
  before: Map<string, string>,
  after: Map<string, string>,
): string[] {
  const changed = [...after].filter(([path, text]) =>
    before.get(path) !== text
  );
  const gone = [...before.keys()].filter((path) => !after.has(path));
  return [...changed.map(([path]) => path), ...gone];
}

async function runCase(dir: string, one: Case): Promise<void> {
  const cwd = one.tool_input.workdir ?? one.cwd;
  const binds = [
    ["env", "/work/env"],
    ["peer", "/work/peer"],
    ["srv", "/srv"],
    ["home", "/home/me"],
    ["opt", "/opt"],
    ["tmp", "/tmp"],
    ["etc", "/etc"],
  ].flatMap(([name, place]) => ["--bind", `${dir}/${name}`, place ?? ""]);
  const child = new Deno.Command("bwrap", {
    args: [
      ...["/usr", "/bin", "/lib", "/lib64", "/sbin"].flatMap((
        path,
      ) => ["--ro-bind-try", path, path]),
      ...["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/work", ...binds],
      ...["--unshare-all", "--die-with-parent", "--new-session", "--clearenv"],
      ...[
        "--setenv",
        "HOME",
        "/home/me",
        "--setenv",
        "PATH",
        "/usr/local/bin:/usr/bin:/bin",
      ],
      ...["--chdir", cwd.startsWith("/") ? cwd : `${one.cwd}/${cwd}`],
      ...[
        "timeout",
        "-s",
        "KILL",
        "2",
        "bash",
        "-c",
        one.tool_input.command ?? "",
      ],
    ],
    stdin: "null",
    stdout: "null",
    stderr: "null",
  });
  await child.output();
}

Deno.test({
  name:
    "no case that is allowed changes anything outside when it is really run",
  ignore: !hasTool("bwrap") || !hasTool("git"),
  async fn() {
    const cases: Case[] = [];
    for (const path of ["cases/guard/cases.jsonl", "guard_own_cases.jsonl"]) {
      const text = await Deno.readTextFile(
        new URL(`./fixtures/${path}`, import.meta.url),
      );
      cases.push(...text.trim().split("\n").map((line) => JSON.parse(line)));
    }
    const shell = cases.filter((one) =>
      one.tag !== "fs" && /bash/i.test(one.tool_name) &&
      typeof one.tool_input.command === "string" &&
      one.cwd.startsWith("/work/env")
    );
    const base = await Deno.makeTempDir();
    await Deno.mkdir(`${base}/template`);
    await buildTemplate(`${base}/template`);
    const escaped: string[] = [];
    let seen = 0;
    let denied = 0;
    // Every shared case, and every fifth of the own ones.
    const queue = shell.filter((one, i) =>
      !one.id.startsWith("own-") || i % 5 === 0
    );
    const worker = async (n: number) => {
      const dir = `${base}/run${n}`;
      for (let one = queue.pop(); one !== undefined; one = queue.pop()) {
        await run([
          "sh",
          "-c",
          `rm -rf ${dir} && cp -a ${base}/template ${dir}`,
        ]);
        const before = await snapshot(dir);
        await runCase(dir, one);
        const changed = differences(before, await snapshot(dir));
        const { allow } = decideLine(one, {
          now: 0,
          home: "/home/me",
          paths: { readLink: () => undefined },
        });
        if (!allow) denied++;
        if (!allow && changed.length > 0) seen++;
        if (
          allow && changed.length > 0 &&
          !INCIDENTAL.test(one.tool_input.command ?? "")
        ) {
          escaped.push(
            `${one.id}: ${one.tool_input.command} changed ${
              changed.join(", ")
            }`,
          );
        }
      }
    };
    await Promise.all([worker(1), worker(2)]);
    await run(["sh", "-c", `chmod -R u+rwX ${base}; rm -rf ${base}`]);
    assertEquals(escaped, []);
    // The tree is real: many denied commands do change something outside when they are run.
    assert(
      seen > denied / 3,
      `${seen} of ${denied} denied commands changed something outside`,
    );
  },
});
