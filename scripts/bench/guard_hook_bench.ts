import { armGuard, teardownGuard } from "@bulkhead/guard";
import { type BenchCase, ratio } from "./harness.ts";

/** Starts a program, feeds it, waits for its end. */
async function call(argv: readonly string[], input: Uint8Array): Promise<void> {
  const child = new Deno.Command(argv[0] ?? "", {
    args: argv.slice(1),
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const writer = child.stdin.getWriter();
  // An empty program may end before it has read anything.
  await writer.write(input).catch(() => {});
  await writer.close().catch(() => {});
  await child.output();
}

/** The hook process, as a harness starts it, over an empty Deno program. */
async function hookRatio(
  toolName: string,
  toolInput: Record<string, string>,
): Promise<number> {
  const base = await Deno.makeTempDir();
  const [root, home] = [`${base}/root`, `${base}/home`];
  await Deno.mkdir(root);
  const empty = `${base}/empty.ts`;
  await Deno.writeTextFile(empty, "");
  try {
    const { exe, markerPath } = await armGuard({
      harness: "codex",
      root,
      home,
    });
    const input = new TextEncoder().encode(
      JSON.stringify({ tool_name: toolName, tool_input: toolInput, cwd: root }),
    );
    const figure = await ratio(
      () => call([exe, "guard-codex", markerPath], input),
      () =>
        new Deno.Command(Deno.execPath(), { args: ["run", empty] }).output(),
    );
    await teardownGuard(root, { home });
    return figure;
  } finally {
    await Deno.remove(base, { recursive: true });
  }
}

/** What a guarded call waits for. */
export const benches: BenchCase[] = [
  {
    area: "guard",
    name: "hook process, shell call / empty deno run",
    bound: 1.85,
    keep: "at most",
    unit: "×",
    measure: () =>
      hookRatio("Bash", {
        command: "cd src && npm test 2>&1 | tee ../test.log | tail -20",
      }),
  },
  {
    area: "guard",
    name: "hook process, denied shell call / empty deno run",
    bound: 1.85,
    keep: "at most",
    unit: "×",
    measure: () =>
      hookRatio("Bash", { command: "cd .. && echo done > out.txt" }),
  },
  {
    area: "guard",
    name: "hook process, write call / empty deno run",
    bound: 1.4,
    keep: "at most",
    unit: "×",
    measure: () =>
      hookRatio("Write", { file_path: "src/main.ts", content: "x" }),
  },
  {
    area: "guard",
    name: "hook process, denied write call / empty deno run",
    bound: 1.4,
    keep: "at most",
    unit: "×",
    measure: () => hookRatio("Write", { file_path: "/etc/motd", content: "x" }),
  },
];
