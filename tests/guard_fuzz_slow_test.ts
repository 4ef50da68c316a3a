/**
 * Commands built from a grammar, so that their effect is known by construction: the verdict
 * has to be deny exactly when one of the built-in writes leaves the root.
 */
import { assertEquals } from "@std/assert";
import { decideCall } from "@bulkhead/guard";

const COUNT = 100_000;
const ROOT = "/work/env";

/** A small seeded generator, so that a failure can be repeated. */
function random(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

interface Built {
  text: string;
  /** Whether it writes outside. */
  escapes: boolean;
}

class Grammar {
  readonly #next: () => number;
  #names = 0;

  constructor(seed: number) {
    this.#next = random(seed);
  }

  pick<T>(items: readonly T[]): T {
    const item = items[Math.floor(this.#next() * items.length)];
    if (item === undefined) {
      throw new RangeError("Cannot pick from an empty list");
    }
    return item;
  }

  chance(part: number): boolean {
    return this.#next() < part;
  }

  /** A path as seen from a directory, `depth` components below the root or outside of it. */
  path(cwd: string): { text: string; outside: boolean } {
    const name = this.pick(["x", "a.txt", "n-1", "Q"]);
    const depth = cwd.startsWith(ROOT)
      ? cwd.slice(ROOT.length).split("/").filter(Boolean).length
      : -1;
    const up = "../".repeat(Math.max(0, depth));
    const inside: string[] = [
      `${ROOT}/${name}`,
      `${ROOT}/d/../${name}`,
      `/work/./env/${name}`,
    ];
    const outside: string[] = [
      `/srv/${name}`,
      `/work/env2/${name}`,
      `${ROOT}/../${name}`,
      `/dev/../etc/${name}`,
    ];
    if (depth >= 0) {
      inside.push(
        name,
        `./${name}`,
        `d/${name}`,
        `${up}${name}`,
        `${up}../env/${name}`,
      );
      outside.push(`${up}../${name}`, `${up}../../etc/${name}`);
    } else outside.push(name, `./${name}`);
    const escapes = this.chance(0.3);
    return { text: this.pick(escapes ? outside : inside), outside: escapes };
  }

  quote(text: string): string {
    switch (this.pick([0, 1, 2, 3, 4])) {
      case 0:
        return `'${text}'`;
      case 1:
        return `"${text}"`;
      case 2:
        return `${text.slice(0, 2)}"${text.slice(2)}"`;
      case 3:
        return `$'${text}'`;
      default:
        return text;
    }
  }

  /** One command that writes one path, or none. */
  leaf(cwd: string): Built {
    if (this.chance(0.25)) return { text: this.pick(READING), escapes: false };
    const { text, outside } = this.path(cwd);
    let word = this.quote(text);
    let before = "";
    switch (this.pick([0, 0, 0, 1, 2, 3])) {
      case 1: {
        const name = `V${this.#names++}`;
        before = `${name}=${word}; `;
        word = this.pick([
          `$${name}`,
          `"$${name}"`,
          `\${${name}}`,
          `"\${${name}:-q}"`,
        ]);
        break;
      }
      case 2:
        word = this.pick([
          `$(echo ${word})`,
          `"$(printf %s ${word})"`,
          `\`echo ${word}\``,
        ]);
        break;
      case 3:
        word = `${text.slice(0, -1)}{${text.slice(-1)},${text.slice(-1)}${
          text.slice(-1)
        }}`;
        return { text: `touch ${word}`, escapes: outside };
    }
    const command = this.pick(WRITING).replace("@", () => word);
    return { text: before + command, escapes: outside };
  }

  /** A command of any depth, which leaves the shell in the same directory. */
  command(cwd: string, depth: number): Built {
    if (depth <= 0) return this.leaf(cwd);
    const inner = () => this.command(cwd, depth - 1);
    switch (
      this.pick([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16])
    ) {
      case 0: {
        const [a, b] = [inner(), inner()];
        return {
          text: `${a.text}${this.pick(["; ", " && ", "\n"])}${b.text}`,
          escapes: a.escapes || b.escapes,
        };
      }
      case 1: {
        const a = inner();
        return { text: `( ${a.text})`, escapes: a.escapes };
      }
      case 2: {
        const a = inner();
        return { text: `{ ${a.text}; }`, escapes: a.escapes };
      }
      case 3: {
        const [a, b] = [inner(), inner()];
        return {
          text: `if true; then ${a.text}; else ${b.text}; fi`,
          escapes: a.escapes || b.escapes,
        };
      }
      case 4: {
        const a = inner();
        const name = `i${this.#names++}`;
        return {
          text: `for ${name} in 1 2; do ${a.text}; done`,
          escapes: a.escapes,
        };
      }
      case 5: {
        const a = inner();
        return { text: `bash -c ${quoted(a.text)}`, escapes: a.escapes };
      }
      case 6: {
        const a = inner();
        return { text: `eval ${quoted(a.text)}`, escapes: a.escapes };
      }
      case 7: {
        const a = inner();
        const name = `f${this.#names++}`;
        return {
          text: `${name}() { ${a.text}; }; ${name}`,
          escapes: a.escapes,
        };
      }
      case 8: {
        const a = inner();
        return {
          text: `echo "$( ${a.text.includes('"') ? "true" : a.text})"`,
          escapes: a.text.includes('"') ? false : a.escapes,
        };
      }
      case 9: {
        const a = this.leaf(cwd);
        const plain = /^\w+=|^:|^>|\n|<<|^[[(]|^echo|^cat|^printf|^git log/
          .test(a.text);
        return plain
          ? a
          : { text: `${this.pick(WRAPPERS)} ${a.text}`, escapes: a.escapes };
      }
      case 10: {
        // A directory change in a subshell, one that stays inside or leaves.
        const target = this.pick([
          "d",
          "./d/e",
          ROOT,
          `${ROOT}/d`,
          "/srv",
          "/work",
          "/",
        ]);
        const place = target.startsWith("/")
          ? target
          : `${cwd.startsWith("/") ? cwd : ROOT}/${target.replace("./", "")}`;
        const a = this.command(place, depth - 1);
        return { text: `( cd ${target} && ${a.text})`, escapes: a.escapes };
      }
      case 11: {
        const a = inner();
        return {
          text: `{ bash <<'EOF${this.#names}'\n${a.text}\nEOF${this
            .#names++}\n}`,
          escapes: a.escapes,
        };
      }
      case 12: {
        const [a, b] = [inner(), inner()];
        return a.text.includes("<<") || b.text.includes("<<") ? a : {
          text: `{ ${a.text}; } | { ${b.text}; }`.replace(/\n/g, ";"),
          escapes: a.escapes || b.escapes,
        };
      }
      case 13: {
        const a = inner();
        return { text: `while false; do ${a.text}; done`, escapes: a.escapes };
      }
      case 14: {
        const a = inner();
        return { text: `case x in x) ${a.text} ;; esac`, escapes: a.escapes };
      }
      case 15: {
        const a = inner();
        return a.text.includes("<<")
          ? a
          : { text: `! { ${a.text}; } || true`, escapes: a.escapes };
      }
      default: {
        const a = inner();
        return {
          text: `: "$1" && ${a.text}`,
          escapes: a.escapes,
        };
      }
    }
  }
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

const WRITING = [
  "touch @",
  "rm -f @",
  "mkdir -p @",
  "echo a > @",
  "echo a >> @",
  "cp a.txt @",
  "mv /work/env/a.txt @",
  "tee @ < in.txt",
  "sed -i s/a/b/ @",
  "dd if=in.txt of=@",
  "truncate -s 0 @",
  "ls 2> @",
  "cat in.txt &> @",
  "install -m 644 a @",
  "curl -so @ https://example.org",
  "sort -o @ in.txt",
];

const READING = [
  "cat /srv/x",
  "echo 'a > /srv/x'",
  'echo "rm -rf /srv" 2>&1',
  "ls /srv > /dev/null",
  "grep -r '> /etc' .",
  "[[ a > b ]]",
  "printf '%s > %s' a b",
  "git log --format='%h > %s'",
  "awk '$1 > 3' a",
];

const WRAPPERS = [
  "sudo -u me",
  "env A=1",
  "nice -n 5",
  "timeout 5",
  "nohup",
  "command",
  "time",
  "stdbuf -oL",
  "sudo env -u B timeout -k 1 5",
  "setsid",
];

Deno.test(`decideCall() is right on ${COUNT} built commands`, () => {
  const wrong: string[] = [];
  const paths = { readLink: () => undefined };
  const marker = { active: true, allowedRoots: [ROOT] };
  for (let seed = 1; seed <= COUNT && wrong.length < 10; seed++) {
    const grammar = new Grammar(seed);
    const built = grammar.command(ROOT, seed % 5);
    const decision = decideCall(
      { toolName: "Bash", toolInput: { command: built.text }, cwd: ROOT },
      marker,
      { now: 0, home: "/home/me", paths },
    );
    if (decision.allow === built.escapes) {
      wrong.push(
        `seed ${seed}: expected ${
          built.escapes ? "deny" : "allow"
        }: ${built.text}${
          decision.allow ? "" : ` (${decision.reason}: ${decision.denied.path})`
        }`,
      );
    }
  }
  assertEquals(wrong, []);
});
