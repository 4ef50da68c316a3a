/**
 * What the guard decides where a command cannot tell where it writes. One table: the
 * documentation prints it, and its examples are tests.
 *
 * @module
 */

/** One kind of call whose effect cannot be read off it. */
export interface UnknownCase {
  /** What cannot be known. */
  what: string;
  /** What is decided. */
  verdict: "allow" | "deny";
  /** Why. */
  why: string;
  /** Commands of the kind, run in `/work/env` with that root. */
  examples: readonly string[];
}

/**
 * The table. The rule behind it: deny when a write to an unknowable place is certain, allow
 * when nothing says that a write happens.
 */
export const UNKNOWN_CASES: readonly UnknownCase[] = [
  {
    what: "A write whose target is a variable that nothing in the command sets",
    verdict: "deny",
    why: "the write is certain, and its place is not",
    examples: ['echo x > "$OUT"', 'rm -rf "$DIR/x"', 'cd "$DIR" && touch x'],
  },
  {
    what: "A variable with a default: `${NAME:-default}`",
    verdict: "allow",
    why:
      "a fresh shell does not set it, so the default is what runs; it is judged instead",
    examples: ["echo x > ${OUT:-out.txt}"],
  },
  {
    what: "A part of a name that cannot hold a slash: a date, a number, a glob",
    verdict: "allow",
    why: "the directory before it is what counts",
    examples: [
      "echo x > log-$(date +%F).txt",
      "touch run-$$",
      "rm -f build/*.o",
    ],
  },
  {
    what: "A name that is not known, behind a directory that is",
    verdict: "allow",
    why:
      "the directory says where; nobody names a file `../x` there without saying so",
    examples: [
      'mkdir -p "out/$NAME"',
      'echo x > "out/app-$(node -p 1).txt"',
      "cat list.txt | xargs -I{} cp src/{} out/{}",
    ],
  },
  {
    what: "A name that is not known, behind a directory outside",
    verdict: "deny",
    why: "the write is certain, and the directory says where",
    examples: ['echo x > "../out/$NAME"', 'echo x > "out/$NAME/../../../x"'],
  },
  {
    what: "Names from `find`, `ls`, `git ls-files`, `grep -l` below the root",
    verdict: "allow",
    why: "they lie below where the program was told to look",
    examples: [
      "grep -rl foo src | xargs sed -i s/foo/bar/",
      "find . -name '*.o' -exec rm {} +",
    ],
  },
  {
    what: "Names from a file or an unknown program",
    verdict: "deny",
    why: "they may be anything, and the write is certain",
    examples: [
      "cat list.txt | xargs rm",
      'while read f; do rm "$f"; done < list.txt',
    ],
  },
  {
    what: "The top of the repository",
    verdict: "allow",
    why: "it is taken for the root that the shell stands in",
    examples: ['cd "$(git rev-parse --show-toplevel)" && touch x'],
  },
  {
    what: "A script or program that the table does not know",
    verdict: "allow",
    why:
      "nothing says what it writes; options that name an output outside are still judged",
    examples: [
      "./deploy.sh /srv",
      "make test",
      "npm run build",
      "curl -s https://e.org/x | bash",
    ],
  },
  {
    what: "A script that the same command writes",
    verdict: "deny",
    why: "its text is known and judged; here it writes outside",
    examples: ["echo 'touch /srv/x' > s.sh; bash s.sh"],
  },
  {
    what: "Interpreter code with computed targets",
    verdict: "allow",
    why: "only literal targets are judged; most such code is harmless",
    examples: ["python3 -c \"import sys; open(input(), 'w')\""],
  },
  {
    what: "Interpreter code that computes a name behind a literal directory",
    verdict: "deny",
    why: "the write is certain, and the directory says where",
    examples: ["python3 -c \"open('/srv/' + input(), 'w')\""],
  },
  {
    what: "Text handed to `eval` that is printed by an unknown program",
    verdict: "allow",
    why: '`eval "$(ssh-agent -s)"` and its like are everyday',
    examples: ['eval "$(ssh-agent -s)"'],
  },
  {
    what: "Another machine or a container",
    verdict: "allow",
    why:
      "nothing is written here, unless a directory from outside is mounted writable",
    examples: [
      "ssh host 'rm -rf /srv'",
      "docker exec c rm -rf /srv",
      "rsync -a ./ host:/srv/",
    ],
  },
  {
    what: "`git push` and mail",
    verdict: "deny",
    why: "they write elsewhere by design",
    examples: ["git push", "git send-email x.patch"],
  },
  {
    what: "A temporary file in the system's directory",
    verdict: "deny",
    why: "it is created outside of the roots; `mktemp -p .` is not",
    examples: ["mktemp", 'd=$(mktemp -d); touch "$d/x"'],
  },
  {
    what:
      "An install: by npm, pnpm, yarn, bun or pip anywhere, for the account, of a build without a prefix",
    verdict: "deny",
    why:
      "their packages' own scripts run then, the one exception to inside being allowed; the account's place and a build's default prefix are outside",
    examples: [
      "npm install x",
      "pip install x",
      "make install",
      "go install ./...",
      "deno install -g jsr:@std/http/file-server",
    ],
  },
  {
    what:
      "A dependency that is added to a project's list, and a package's program by a runner",
    verdict: "allow",
    why:
      "the list lies inside, the cache is no write that the command names, and the program's own arguments are judged",
    examples: [
      "deno add jsr:@std/path",
      "deno install npm:x",
      "cargo add serde",
      "go get example.org/x",
      "npx cowsay",
      "uvx ruff check .",
    ],
  },
  {
    what: "A read that may refresh a cache or an index outside",
    verdict: "allow",
    why: "the promise is about writes that the command names",
    examples: ["git -C /srv/repo status", "npm view react"],
  },
  {
    what: "A text that cannot be parsed, is too large or nests too deeply",
    verdict: "deny",
    why: "it holds a sign of a write; without one it is allowed",
    examples: ['echo "unterminated > /srv/x', "cat > a.txt <<EOF\nno end"],
  },
];
