/**
 * Every example that a help prints is typed here as it stands, in a home of its own;
 * what needs a program, a model or a server that is not there names the test that
 * has it.
 */
import { assert, assertEquals } from "@std/assert";
import { fromFileUrl } from "@std/path";
import { digestPlugin } from "@bulkhead/plugins";
import { SUBCOMMANDS } from "../cli/completions.ts";
import { VERBS } from "../cli/help.ts";
import { bulkheadCommand } from "../cli/main.ts";
import { canRun } from "./_abi.ts";
import { hasTool } from "./support/require_tool.ts";

const ROOT = fromFileUrl(new URL("..", import.meta.url));

/** One example, in the order in which they are typed. */
interface Step {
  /** As the help prints it. */
  example: string;
  /** What is typed before, by somebody who gets that far. */
  before?: string;
  /** What is typed in its place, where the example stands for a value of one's own. */
  typed?: string;
  /** It is not typed here, and this is where it is. */
  elsewhere?: string;
  /** It needs a compiler. */
  native?: boolean;
}

const REAL_AGENT = "tests/run_agents_slow_test.ts, with the real program";
const SERVER = "tests/fleet_command_slow_test.ts, with a server";

const STEPS: readonly Step[] = [
  { example: "source <(bulkhead completions bash)" },
  {
    example:
      "bulkhead completions fish > ~/.config/fish/completions/bulkhead.fish",
    before: "mkdir -p ~/.config/fish/completions",
  },
  { example: "bulkhead run --agent scripted --example greeting" },
  {
    example: 'bulkhead run "fix the failing test"',
    // Where Claude Code is installed, it would be asked.
    typed: 'bulkhead run --agent scripted "fix the failing test"',
  },
  {
    example: 'bulkhead run --agent codex --root ../shared "update the docs"',
    elsewhere: REAL_AGENT,
  },
  {
    example: 'bulkhead run --resume 5f0c… "and now the second half"',
    before: "bulkhead run --agent scripted --json first > frames.jsonl",
    typed: `bulkhead run --agent scripted --resume "$(
      tail -n 1 frames.jsonl | sed 's/.*"session":"\\([^"]*\\)".*/\\1/'
    )" "and now the second half"`,
  },
  { example: "bulkhead doctor" },
  { example: "bulkhead doctor --fix" },

  { example: "bulkhead plugins new weather" },
  { example: "bulkhead plugins check ./weather" },
  { example: "bulkhead plugins check ./weather --json" },
  {
    example: "bulkhead plugins install ./weather",
    typed: "bulkhead plugins install ./weather --trust-plugin weather=$HASH",
  },
  {
    example: `bulkhead plugins call weather/greet --args '{"name":"Ada"}'`,
  },
  { example: "bulkhead plugins list" },
  { example: "bulkhead plugins list --json" },
  { example: "bulkhead plugins trust" },
  { example: "bulkhead plugins trust weather" },
  { example: "bulkhead plugins untrust weather" },
  {
    example: "bulkhead plugins trust weather --trust-plugin weather=sha256:…",
    typed: "bulkhead plugins trust weather --trust-plugin weather=$HASH",
  },
  {
    example:
      `bulkhead plugins call plugin__demo__greet --args '{"name":"Ada"}'`,
    before:
      "cp -r weather demo && sed -i 's/weather/demo/' demo/plugin.toml && bulkhead plugins install ./demo --trust-plugin demo=$(bulkhead plugins check ./demo --json | sed 's/.*\\(sha256:[0-9a-f]*\\).*/\\1/')",
  },
  {
    example: "bulkhead plugins call demo/greet --args - < arguments.json",
    before: `echo '{"name":"Ada"}' > arguments.json`,
  },
  { example: "bulkhead plugins fire session_start" },
  {
    example:
      `bulkhead plugins fire pre_tool --payload '{"tool":{"name":"Write","input":{"file_path":"/tmp/x"}}}'`,
  },
  { example: "bulkhead plugins update weather" },
  {
    example:
      "bulkhead plugins update weather --commit 0123456789abcdef0123456789abcdef01234567",
    elsewhere: "plugins/install_test.ts, from a repository",
  },
  { example: "bulkhead plugins update --all" },
  { example: "bulkhead plugins doctor" },
  { example: "bulkhead plugins doctor --fix" },
  { example: "bulkhead plugins remove weather" },
  {
    example: "bulkhead plugins install weather-1.2.0.tar.gz --sha256 9f86d081…",
    before: "tar czf weather-1.2.0.tar.gz weather",
    typed:
      `bulkhead plugins install weather-1.2.0.tar.gz --sha256 "$(sha256sum weather-1.2.0.tar.gz | cut -c1-64)" --trust-plugin weather=$HASH`,
  },
  { example: "bulkhead plugins remove weather --data" },
  {
    example:
      "bulkhead plugins install git+https://example.org/weather.git#0123456789abcdef0123456789abcdef01234567",
    elsewhere: "plugins/install_test.ts, from a repository",
  },
  { example: "bulkhead plugins untrust --all" },
  {
    example: "bulkhead plugins new weather --language deno",
    before: "rm -r weather",
  },
  {
    example: "claude mcp add bulkhead -- bulkhead plugins serve",
    elsewhere: "tests/plugins_clients_slow_test.ts, with real clients",
  },
  {
    example:
      'codex: [mcp_servers.bulkhead] command = "bulkhead", args = ["plugins", "serve"]',
    elsewhere: "tests/plugins_clients_slow_test.ts, with real clients",
  },

  { example: "bulkhead guard explain 'cp a.txt /etc/'" },
  {
    example:
      "bulkhead guard explain --root /work --cwd /work 'cd src && echo done > ../report.txt'",
  },
  {
    example: "bulkhead guard decide --jsonl < calls.jsonl",
    before:
      `echo '{"id":"1","harness":"claude-code","tool_name":"Bash","tool_input":{"command":"ls"},"cwd":"/w","roots":["/w"]}' > calls.jsonl`,
  },
  { example: "bulkhead guard install --harness claude-code" },
  { example: "bulkhead guard status" },
  { example: "bulkhead guard scan --before" },
  { example: "bulkhead guard scan" },
  { example: "bulkhead guard log" },
  { example: "bulkhead guard log --rule redirect --json" },
  { example: "bulkhead guard teardown" },
  {
    example:
      "bulkhead guard install --harness codex --harness opencode --ttl 2d --allow ../shared",
  },
  { example: "bulkhead guard teardown --harness codex" },
  {
    example: "bulkhead guard verify --harness claude-code",
    elsewhere: "tests/guard_verify_slow_test.ts, with the real program",
  },

  { example: "bulkhead worker start demo --agent scripted" },
  { example: 'bulkhead worker ask demo "hello"' },
  { example: 'bulkhead worker ask demo "what is left to do?"' },
  {
    example: 'echo "and now the second half" | bulkhead worker ask demo -',
  },
  { example: "bulkhead worker list" },
  { example: "bulkhead worker list --json" },
  { example: "bulkhead worker status demo" },
  { example: "bulkhead worker answer demo" },
  {
    example:
      'bulkhead worker answer demo ask-1 deny --reason "not in this directory"',
    elsewhere: "tests/worker_cli_test.ts, where there is a question",
  },
  { example: "bulkhead worker interrupt demo" },
  { example: "bulkhead worker reap" },
  { example: "bulkhead worker stop demo" },
  { example: "bulkhead worker reap --idle-ms 600000" },
  {
    example: "bulkhead attach run-1a2b3c4d",
    elsewhere: "tests/run_keep_slow_test.ts, to the session's end",
  },
  {
    example: "bulkhead worker watch demo",
    elsewhere: "tests/worker_cli_test.ts, to the session's end",
  },
  {
    example: "bulkhead worker watch demo --cursor 100 --json",
    elsewhere: "tests/worker_cli_test.ts, to the session's end",
  },
  {
    example:
      "bulkhead worker start docs --agent codex --cwd ../docs --asks wait",
    elsewhere: REAL_AGENT,
  },
  {
    example: "bulkhead worker ui",
    elsewhere: "tests/worker_page_slow_test.ts, in a browser",
  },
  {
    example: "bulkhead worker ui --port 8080",
    elsewhere: "tests/worker_page_slow_test.ts, in a browser",
  },

  {
    example: "bulkhead fleet doctor --servers nats://127.0.0.1:4222",
    elsewhere: SERVER,
  },
  {
    example: "bulkhead fleet list --servers nats://127.0.0.1:4222",
    elsewhere: SERVER,
  },
  { example: "bulkhead fleet perms --role watch" },

  { example: "bulkhead sandbox run --read . -- wc -l README.md" },
  {
    example:
      "bulkhead sandbox run --write ./out --timeout-ms 5000 -- ./build.sh",
    before:
      "mkdir out && printf '#!/bin/sh\\ndate > out/done\\n' > build.sh && chmod +x build.sh",
  },

  {
    example: "bulkhead abi new weather --lang c && make -C weather",
    before: "rm -rf weather",
    native: true,
  },
  { example: "bulkhead abi inspect weather/dist/libweather.so", native: true },
  {
    example:
      `bulkhead abi call weather/dist/libweather.so weather_count --args '{"to":3}'`,
    native: true,
  },
  { example: "bulkhead abi verify weather/dist/libweather.so", native: true },
];

/** The examples of every help, without the words behind them. */
async function examples(): Promise<string[]> {
  const found = new Set<string>();
  for (const verb of VERBS) {
    const words = verb === "completions" ? undefined : SUBCOMMANDS[verb];
    for (const word of ["", ...words?.split(" ") ?? []]) {
      if (verb === "version") continue;
      let help = "";
      const args = verb === "help"
        ? ["help"]
        : [verb, ...word ? [word] : [], "--help"];
      const code = await bulkheadCommand(args, {
        stdin: new Blob().stream(),
        out: (text) => void (help += text),
        err: (text) => void (help += text),
        isTerminal: false,
        canAsk: false,
        color: false,
      });
      assertEquals(code, 0, args.join(" "));
      const at = help.indexOf("\nExamples:\n");
      assert(at >= 0, `${args.join(" ")} has no example:\n${help}`);
      for (const line of help.slice(at).split("\n").slice(2)) {
        const [, example] = /^ {2}(\S.*?)(?: {2,}\S.*)?$/.exec(line) ?? [];
        if (example === undefined) break;
        found.add(example);
      }
    }
  }
  return [...found].toSorted();
}

Deno.test("help: every command has an example, and each is typed here or in a test that is named", async () => {
  assertEquals(
    await examples(),
    STEPS.map(({ example }) => example).toSorted(),
  );
  for (const { elsewhere } of STEPS) {
    const file = elsewhere?.split(",")[0];
    if (file !== undefined) assert((await Deno.stat(ROOT + file)).isFile);
  }
});

Deno.test({
  name: "help: the examples work as they stand",
  ignore: !hasTool("bash", "apt-get install bash") || !hasTool("bwrap") ||
    !hasTool("python3"),
  async fn(t) {
    const dir = await Deno.realPath(await Deno.makeTempDir({ prefix: "bh" }));
    const native = await canRun() && hasTool("make", "apt-get install make");
    await Deno.mkdir(`${dir}/bin`);
    await Deno.mkdir(`${dir}/home/.bulkhead`, { recursive: true });
    await Deno.mkdir(`${dir}/shared`);
    await Deno.mkdir(`${dir}/ws`);
    await Deno.writeTextFile(`${dir}/ws/README.md`, "one line\n");
    await Deno.writeTextFile(
      `${dir}/bin/bulkhead`,
      `#!/bin/sh\nexec '${Deno.execPath()}' run -A '${ROOT}cli/main.ts' "$@"\n`,
      { mode: 0o755 },
    );
    await Deno.writeTextFile(
      `${dir}/home/.bulkhead/config.toml`,
      "[capabilities.plugins]\nenabled = true\n[capabilities.trust]\nenabled = true\n",
      { mode: 0o600 },
    );
    await Deno.chmod(`${dir}/home/.bulkhead`, 0o700);
    const type = async (command: string): Promise<[number, string]> => {
      const hash = await digestPlugin(`${dir}/ws/weather`).then(
        (digest) => digest.hash,
        () => "",
      );
      const { code, stdout, stderr } = await new Deno.Command("bash", {
        args: ["--norc", "-o", "pipefail", "-c", command],
        cwd: `${dir}/ws`,
        clearEnv: true,
        env: {
          HOME: `${dir}/home`,
          PATH: `${dir}/bin:/usr/local/bin:/usr/bin:/bin`,
          DENO_DIR: Deno.env.get("DENO_DIR") ??
            `${Deno.env.get("HOME")}/.cache/deno`,
          HASH: hash,
        },
        stdin: "null",
      }).output();
      const decoder = new TextDecoder();
      return [code, decoder.decode(stdout) + decoder.decode(stderr)];
    };
    try {
      for (const step of STEPS) {
        if (step.elsewhere !== undefined || (step.native && !native)) continue;
        await t.step(step.example, async () => {
          if (step.before !== undefined) {
            const [code, said] = await type(step.before);
            assertEquals(code, 0, `before: ${said}`);
          }
          const [code, said] = await type(step.typed ?? step.example);
          assertEquals(code, 0, said);
        });
      }
    } finally {
      await type("bulkhead worker stop demo");
      await Deno.remove(dir, { recursive: true });
    }
  },
});
