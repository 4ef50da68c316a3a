import { digestPlugin } from "@bulkhead/plugins";
import { INHERITED_NAMES } from "@bulkhead/sandbox";
import { build, canRun } from "./_abi.ts";
import {
  bulkhead,
  type CommandRow,
  testCommands,
} from "./support/command_matrix.ts";

const HOME = ["--home", "{DIR}/home"];
const READ = "--allow-read={DIR}";
const WRITE = "--allow-write={DIR}";
const INHERITED = `--allow-env=${INHERITED_NAMES.join(",")}`;

/** Makes a home that nobody else can enter. */
async function home(dir: string): Promise<void> {
  await Deno.mkdir(`${dir}/home`, { mode: 0o700 });
}

/** Makes a home and a workspace. */
async function workspace(dir: string): Promise<void> {
  await home(dir);
  await Deno.mkdir(`${dir}/ws`);
}

/** Makes a home where plugins are on, and puts a plugin with one tool and one hook beside it. */
async function plugin(dir: string): Promise<void> {
  await home(dir);
  await Deno.writeTextFile(
    `${dir}/home/config.toml`,
    "[capabilities.plugins]\nenabled = true\n[capabilities.trust]\nenabled = true\n",
    { mode: 0o600 },
  );
  await Deno.mkdir(`${dir}/p`);
  await Deno.writeTextFile(
    `${dir}/p/plugin.toml`,
    `[[tools]]\nname = "a"\ncommand = "cat"\n[[hooks]]\nevent = "stop"\ncommand = "true"\n`,
  );
}

/** The same plugin, in its place and waiting for trust. */
async function waiting(dir: string): Promise<void> {
  await plugin(dir);
  await Deno.mkdir(`${dir}/home/plugins`);
  await Deno.rename(`${dir}/p`, `${dir}/home/plugins/p`);
}

/** The same plugin, installed. */
async function installed(dir: string): Promise<void> {
  await plugin(dir);
  const { hash } = await digestPlugin(`${dir}/p`);
  const pin = ["--trust-plugin", `p=${hash}`, "--home", `${dir}/home`];
  await bulkhead(dir, "plugins", "install", "./p", ...pin);
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

/** What a worker that is not there is asked. Reaching one that is takes the same. */
const TALK: CommandRow[] = [
  "attach x",
  "worker ask x hi",
  "worker watch x",
  "worker answer x",
  "worker interrupt x",
  "worker status x",
  "worker stop x",
].map((line) => ({
  entry: `bulkhead ${line.replaceAll("x", "ID").replace(" hi", " TEXT")}`,
  args: [...line.split(" "), ...HOME],
  flags: [READ, WRITE, "--allow-net=unix:{DIR}/home/workers/x/worker.sock"],
  prepare: home,
  code: 1,
}));

/** What a server that is not there is asked. */
const FLEET: CommandRow[] = [
  "list",
  "watch x",
  "status x",
  "ask x y",
  "answer x y allow",
  "interrupt x",
  "stop x",
  "queue y",
  "host",
  "ui",
  "sweep",
  "doctor",
].map((line) => ({
  entry: `bulkhead fleet ${line.split(" ")[0]}`,
  args: [
    "fleet",
    ...line.split(" "),
    "--servers",
    "nats://127.0.0.1:1",
    ...HOME,
  ],
  flags: [
    READ,
    "--allow-env=BULKHEAD_FLEET_CREDENTIALS",
    "--allow-net=127.0.0.1:1",
  ],
  prepare: home,
  code: 1,
}));

const native = await canRun();

/** What runs a native plugin in a process of its own. */
const NATIVE: CommandRow[] = [
  "tools",
  "call LIB probe_echo",
  "command LIB /probe",
  "emit LIB all",
  "verify LIB --calls 10",
].map((line) => ({
  entry: `bulkhead abi ${line.split(" ")[0]}`,
  args: [
    "abi",
    ...(line.includes("LIB") ? line : `${line} LIB`)
      .replace("LIB", "{DIR}/lib.so").split(" "),
  ],
  flags: [
    "--allow-read",
    "--allow-write",
    "--allow-run",
    "--allow-env",
    "--allow-net",
  ],
  ignore: !native,
  prepare: async (dir) =>
    await Deno.copyFile(await build("01_ok"), `${dir}/lib.so`),
}));

/** Every command with its least flags. */
export const rows: CommandRow[] = [
  { entry: "bulkhead help", args: ["help"], flags: [] },
  { entry: "bulkhead version", args: ["--version"], flags: [] },
  { entry: "bulkhead run --help", args: ["run", "--help"], flags: [] },
  {
    entry: "bulkhead run --agent scripted",
    args: ["run", "--agent", "scripted", "--cwd", "{DIR}/ws", ...HOME, "hi"],
    flags: [READ, WRITE, "--allow-run", "--allow-env", "--allow-net"],
    prepare: workspace,
  },
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
    entry: "bulkhead guard log --iteration",
    args: ["guard", "log", "--iteration", "{DIR}/iteration-1"],
    flags: [READ, WRITE],
    prepare: async (dir) => {
      await Deno.mkdir(`${dir}/iteration-1`);
      await Deno.writeTextFile(
        `${dir}/iteration-1/dispatch.json`,
        '{"tasks":[]}',
      );
    },
  },
  {
    entry: "bulkhead guard status (nothing is installed)",
    args: ["guard", "status"],
    flags: ["--allow-read"],
  },
  {
    entry: "bulkhead guard install",
    args: [
      "guard",
      "install",
      "--harness",
      "claude-code",
      "--harness-version",
      "2.1.0",
      "--root",
      "{DIR}/ws",
      ...HOME,
    ],
    flags: ["--allow-read", WRITE, "--allow-run", "--allow-env"],
    prepare: workspace,
  },
  {
    entry: "bulkhead guard verify (of a program that is not there)",
    args: [
      "guard",
      "verify",
      "--harness",
      "claude-code",
      "--program",
      "{DIR}/none",
    ],
    flags: [READ, "--allow-env=PATH"],
    code: 1,
  },
  {
    entry: "bulkhead guard scan --before",
    args: ["guard", "scan", "--before", "--root", "{DIR}/ws", ...HOME],
    flags: ["--allow-read", WRITE, "--allow-run", INHERITED],
    prepare: workspace,
  },
  {
    entry: "bulkhead guard scan",
    args: ["guard", "scan", "--root", "{DIR}/ws", ...HOME],
    flags: ["--allow-read", "--allow-run", INHERITED],
    prepare: async (dir) => {
      await workspace(dir);
      const at = ["--root", `${dir}/ws`, "--home", `${dir}/home`];
      await bulkhead(dir, "guard", "scan", "--before", ...at);
    },
  },
  {
    entry: "bulkhead guard teardown",
    args: ["guard", "teardown", "--root", "{DIR}/ws", ...HOME],
    flags: ["--allow-read", WRITE],
    prepare: workspace,
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
    entry: "bulkhead plugins trust (nobody can be asked)",
    args: ["plugins", "trust", ...HOME],
    flags: [READ, "--allow-env=HOME"],
    prepare: waiting,
    code: 1,
  },
  {
    entry: "bulkhead plugins untrust",
    args: ["plugins", "untrust", "--all", ...HOME],
    flags: [READ, WRITE],
    prepare: installed,
  },
  {
    entry: "bulkhead plugins call",
    args: ["plugins", "call", "p/a", ...HOME],
    flags: ["--allow-read", WRITE, "--allow-run", INHERITED],
    prepare: installed,
  },
  {
    entry: "bulkhead plugins fire",
    args: ["plugins", "fire", "stop", ...HOME],
    flags: ["--allow-read", WRITE, "--allow-run", INHERITED],
    prepare: installed,
  },
  {
    entry: "bulkhead plugins install (of a directory that is not there)",
    args: ["plugins", "install", "./q", ...HOME],
    flags: [READ, WRITE, "--allow-env=HOME"],
    prepare: plugin,
    code: 1,
  },
  {
    entry: "bulkhead plugins update",
    args: ["plugins", "update", "p", ...HOME],
    flags: [READ, WRITE, "--allow-env=HOME"],
    prepare: installed,
  },
  {
    entry: "bulkhead plugins remove",
    args: ["plugins", "remove", "p", ...HOME],
    flags: [READ, WRITE],
    prepare: installed,
  },
  {
    entry: "bulkhead plugins serve",
    args: ["plugins", "serve", ...HOME],
    flags: [READ, "--allow-env=HOME"],
    prepare: installed,
  },
  {
    entry: "bulkhead plugins doctor",
    args: ["plugins", "doctor", ...HOME],
    flags: ["--allow-read", "--allow-run", "--allow-env=HOME,PATH"],
    prepare: installed,
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
    entry: "bulkhead worker start",
    args: [
      "worker",
      "start",
      "a",
      "--agent",
      "scripted",
      "--cwd",
      "{DIR}/ws",
      ...HOME,
    ],
    flags: [READ, WRITE, "--allow-run", "--allow-env", "--allow-net"],
    prepare: workspace,
    after: (dir) =>
      bulkhead(dir, "worker", "stop", "a", "--home", `${dir}/home`),
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
  ...TALK,
  ...FLEET,
  { entry: "bulkhead fleet perms", args: ["fleet", "perms"], flags: [] },
  ...NATIVE,
];

testCommands(rows);
