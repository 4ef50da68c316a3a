import { type CommandRow, testCommands } from "./support/command_matrix.ts";

const HOME = ["--home", "{DIR}/home"];

/** Makes a home that nobody else can enter. */
async function home(dir: string): Promise<void> {
  await Deno.mkdir(`${dir}/home`, { mode: 0o700 });
}

/** Puts a plugin with one tool into the row's directory. */
async function plugin(dir: string): Promise<void> {
  await home(dir);
  await Deno.mkdir(`${dir}/p`);
  await Deno.writeTextFile(
    `${dir}/p/plugin.toml`,
    `[[tools]]\nname = "a"\ncommand = "cat"\n`,
  );
}

/** A call for the guard to judge. */
const CALL = `${
  JSON.stringify({
    id: 1,
    harness: "claude-code",
    tool_name: "Bash",
    tool_input: { command: "cp a /etc/b" },
    cwd: "/tmp",
    roots: ["/tmp"],
  })
}\n`;

/** Every command for which less than `-A` is enough, with its least flags. */
export const rows: CommandRow[] = [
  { entry: "bulkhead help", args: ["help"], flags: [] },
  { entry: "bulkhead version", args: ["--version"], flags: [] },
  { entry: "bulkhead run --help", args: ["run", "--help"], flags: [] },
  {
    entry: "bulkhead completions bash",
    args: ["completions", "bash"],
    flags: [],
  },
  {
    entry: "bulkhead guard explain",
    args: ["guard", "explain", "cp a /etc/b"],
    flags: ["--allow-read", "--allow-env=HOME,TMPDIR"],
  },
  {
    entry: "bulkhead guard decide --jsonl",
    args: ["guard", "decide", "--jsonl"],
    flags: ["--allow-read"],
    stdin: CALL,
  },
  {
    entry: "bulkhead guard log",
    args: ["guard", "log"],
    flags: ["--allow-read"],
  },
  {
    entry: "bulkhead guard status (nothing is installed)",
    args: ["guard", "status"],
    flags: ["--allow-read"],
  },
  {
    entry: "bulkhead plugins list",
    args: ["plugins", "list", ...HOME],
    flags: ["--allow-read", "--allow-env=HOME"],
    prepare: home,
  },
  {
    entry: "bulkhead plugins check",
    args: ["plugins", "check", "p", ...HOME],
    flags: ["--allow-read"],
    prepare: plugin,
  },
  {
    entry: "bulkhead plugins new",
    args: ["plugins", "new", "fresh"],
    flags: ["--allow-read", "--allow-write={DIR}"],
  },
  {
    entry: "bulkhead worker list",
    args: ["worker", "list", ...HOME],
    flags: ["--allow-read", "--allow-run"],
    prepare: home,
  },
  {
    entry: "bulkhead worker reap",
    args: ["worker", "reap", ...HOME],
    flags: ["--allow-read", "--allow-run"],
    prepare: home,
  },
  {
    entry: "bulkhead abi inspect",
    args: ["abi", "inspect", "{DIR}/none.so"],
    flags: ["--allow-read={DIR}"],
    code: 1,
  },
  { entry: "bulkhead abi header", args: ["abi", "header"], flags: [] },
  {
    entry: "bulkhead abi new",
    args: ["abi", "new", "fresh"],
    flags: ["--allow-write={DIR}"],
  },
  {
    entry: "bulkhead sandbox probe",
    args: ["sandbox", "probe"],
    flags: ["--allow-read", "--allow-run", "--allow-env=PATH"],
  },
  {
    entry: "bulkhead sandbox run -- true",
    args: ["sandbox", "run", "--", "true"],
    flags: ["--allow-read", "--allow-run", "--allow-env"],
  },
  {
    entry: "bulkhead doctor",
    args: ["doctor", ...HOME],
    flags: ["--allow-read", "--allow-run", "--allow-env"],
    finding: true,
    prepare: home,
  },
];

testCommands(rows);
