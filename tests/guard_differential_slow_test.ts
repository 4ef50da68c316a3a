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

/** Commands whose incidental writes say nothing about what they were asked to write. */
const INCIDENTAL =
  /\b(?:npm|npx|yarn|pnpm|bun|deno|cargo|go|rustc|tsc|gcc|g\+\+|clang|cc|pip3?|venv|uv|poetry|perl -MJSON|pytest|tmux|screen|gpg|gdb|perf|sem|parallel|bc|history|vim|make|cmake|mvn|gradle|terraform|gcloud|sqlite3|ssh-agent)\b|^git -C \/srv\/repo status$/;

/** Where the tree's parts lie when a case runs; all but the first are outside the root. */
const PLACES: readonly (readonly [part: string, place: string])[] = [
  ["env", "/work/env"],
  ["peer", "/work/peer"],
  ["srv", "/srv"],
  ["home", "/home/me"],
  ["opt", "/opt"],
  ["tmp", "/tmp"],
  ["etc", "/etc"],
];

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

/**
 * Runs in the sandbox as its first process: plays one case after the other, ends whatever it
 * left running, says what the outside looks like, and lays the tree out anew if it changed.
 */
const DRIVER = `
places='${PLACES.map(([, place]) => place).join(" ")}'
look() { find $places \\( -type d -printf '%p %m\\n' \\) -o -printf '%p %m %s %T@ %l\\n' 2>/dev/null | LC_ALL=C sort; }
reset() {
  for place in $places; do
    chmod -R u+rwX $place 2>/dev/null
    find $place -mindepth 1 -delete 2>/dev/null
  done
${
  PLACES.map(([part, place]) => `  cp -a /template/${part}/. ${place}/`).join(
    "\n",
  )
}
}
reset
pristine=$(look)
printf 'pristine\\0%s\\0' "$pristine"
for case in /cases/*; do
  (
    cd "$(<$case/cwd)" &&
      exec timeout -s KILL 2 bash -c "$(<$case/command)" </dev/null >/dev/null 2>&1
  )
  kill -KILL -1 2>/dev/null
  after=$(look)
  if [ "$after" = "$pristine" ]; then after=; else reset; fi
  printf '%s\\0%s\\0' "\${case##*/}" "$after"
done
`;

/** What one case changed outside, by the case's number. */
type Changes = Map<number, string[]>;

/** Plays some cases in one sandbox; those that a case kept from being played are missing. */
async function play(
  base: string,
  cases: readonly (readonly [number, Case])[],
): Promise<Changes> {
  const dir = await Deno.makeTempDir({ dir: base });
  for (const [n, one] of cases) {
    const cwd = one.tool_input.workdir ?? one.cwd;
    await Deno.mkdir(`${dir}/${n}`);
    await Deno.writeTextFile(
      `${dir}/${n}/cwd`,
      cwd.startsWith("/") ? cwd : `${one.cwd}/${cwd}`,
    );
    await Deno.writeTextFile(
      `${dir}/${n}/command`,
      one.tool_input.command ?? "",
    );
  }
  const { stdout } = await new Deno.Command("bwrap", {
    args: [
      ...["/usr", "/bin", "/lib", "/lib64", "/sbin"].flatMap((
        path,
      ) => ["--ro-bind-try", path, path]),
      ...["--proc", "/proc", "--dev", "/dev"],
      ...PLACES.flatMap(([, place]) => ["--tmpfs", place]),
      ...["--ro-bind", `${base}/template`, "/template"],
      ...["--ro-bind", dir, "/cases"],
      ...["--unshare-all", "--as-pid-1", "--die-with-parent", "--new-session"],
      ...["--clearenv", "--setenv", "HOME", "/home/me"],
      ...["--setenv", "PATH", "/usr/local/bin:/usr/bin:/bin"],
      ...["--chdir", "/", "bash", "-c", DRIVER],
    ],
    stdin: "null",
    stderr: "null",
  }).output();
  const said = new TextDecoder().decode(stdout).split("\0");
  const pristine = linesOf(said[1] ?? "");
  const changes: Changes = new Map();
  for (let i = 2; i + 1 < said.length; i += 2) {
    const after = said[i + 1] ?? "";
    changes.set(
      Number(said[i]),
      after === "" ? [] : differences(pristine, linesOf(after)),
    );
  }
  return changes;
}

/** What stands outside the root: a line by path. */
function linesOf(text: string): Map<string, string> {
  return new Map(
    text.split("\n").filter((line) => !line.startsWith("/work/env")).map((
      line,
    ) => [line.split(" ")[0] ?? "", line]),
  );
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

/** Cases that are played in one sandbox. */
const BATCH = 40;

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
    const allows = (one: Case) =>
      decideLine(one, {
        now: 0,
        home: "/home/me",
        paths: { readLink: () => undefined },
      }).allow;
    // Every shared case, and every fifth of the own ones; what is allowed and writes incidentally
    // would not be judged.
    const queue = shell.filter((one, i) =>
      (!one.id.startsWith("own-") || i % 5 === 0) &&
      !(INCIDENTAL.test(one.tool_input.command ?? "") && allows(one))
    ).map((one, n) => [n, one] as const);
    const changes: Changes = new Map();
    const worker = async () => {
      while (queue.length > 0) {
        const batch = queue.splice(0, BATCH);
        const played = await play(base, batch);
        for (const [n, changed] of played) changes.set(n, changed);
        const missing = batch.filter(([n]) => !played.has(n));
        if (missing.length === batch.length) {
          throw new Error(`Cannot play "${batch[0]?.[1].tool_input.command}"`);
        }
        queue.push(...missing);
      }
    };
    const tried = [...queue];
    await Promise.all([worker(), worker()]);
    await run(["sh", "-c", `chmod -R u+rwX ${base}; rm -rf ${base}`]);

    const escaped: string[] = [];
    let seen = 0;
    let denied = 0;
    for (const [n, one] of tried) {
      const changed = changes.get(n) ?? [];
      if (!allows(one)) {
        denied++;
        if (changed.length > 0) seen++;
      } else if (changed.length > 0) {
        const command = one.tool_input.command ?? "";
        escaped.push(`${one.id}: ${command} changed ${changed.join(", ")}`);
      }
    }
    assertEquals(changes.size, tried.length);
    assertEquals(escaped, []);
    // The tree is real: many denied commands do change something outside when they are run.
    assert(
      seen > denied / 3,
      `${seen} of ${denied} denied commands changed something outside`,
    );
  },
});
