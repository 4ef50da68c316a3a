import { loadNativePlugin } from "@bulkhead/abi";
import { run, startProcess, writeFileAtomic } from "@bulkhead/sandbox";
import { digestPlugin, loadPlugins, type Tool } from "@bulkhead/plugins";
import { connect, runWorker, scriptedDriver } from "@bulkhead/worker";
import { allEnded, speakingOf } from "../../tests/support/processes.ts";
import { fromFileUrl } from "@std/path";

/** One kind of fault. */
export interface Fault {
  /** What is done, in words. */
  name: string;
  /**
   * Does it once; throws when something was lost, and returns a reason when it
   * cannot be done here.
   */
  inject(dir: string, round: number): Promise<string | void>;
}

const CLI = fromFileUrl(new URL("../../cli/main.ts", import.meta.url));

function check(condition: boolean, message: string): void {
  if (!condition) throw new Error(message);
}

async function trustedTool(dir: string, script: string): Promise<Tool> {
  const plugin = `${dir}/plugins/p`;
  await Deno.mkdir(plugin, { recursive: true });
  await Deno.mkdir(`${dir}/ws`, { recursive: true });
  await Deno.writeTextFile(
    `${plugin}/plugin.toml`,
    '[[tools]]\nname = "t"\ncommand = "./t.sh"\ntimeout_ms = 2000\n',
  );
  await Deno.writeTextFile(`${plugin}/t.sh`, `#!/bin/sh\n${script}\n`);
  await Deno.chmod(`${plugin}/t.sh`, 0o755);
  const { hash } = await digestPlugin(plugin);
  const outcome = await loadPlugins({
    config: {
      enabled: true,
      dirs: [],
      sandbox: "preferred",
      trust: { enabled: true, default: "ask" },
    },
    home: `${dir}/home`,
    workspace: `${dir}/ws`,
    scanDirs: [`${dir}/plugins`],
    pins: [{ name: "p", hash }],
  });
  const tool = outcome.status === "loaded" ? outcome.tools[0] : undefined;
  if (tool === undefined) throw new Error(JSON.stringify(outcome));
  return tool;
}

/** The faults, in the order they are played. */
export const FAULTS: readonly Fault[] = [
  {
    name: "run: a demo is killed at some step",
    async inject(dir, round) {
      const child = new Deno.Command(Deno.execPath(), {
        args: ["run", "-A", CLI, "run", "--example", "greeting", "--json"],
        env: { TMPDIR: dir, FNO_CLAIMS_ROOT: dir },
        stdin: "null",
        stdout: "null",
        stderr: "null",
      }).spawn();
      // Spread over the whole life of a run, which takes some 200 ms.
      const step = (round * 37) % 250;
      const timer = setTimeout(() => {
        try {
          child.kill("SIGKILL");
        } catch {
          // It was faster.
        }
      }, step);
      await child.status;
      clearTimeout(timer);
      await allEnded(dir);
    },
  },
  {
    name: "run: a whole demo",
    async inject(dir) {
      const { code, stdout } = await new Deno.Command(Deno.execPath(), {
        args: ["run", "-A", CLI, "run", "--example", "greeting", "--json"],
        env: { TMPDIR: dir, FNO_CLAIMS_ROOT: dir },
        stdin: "null",
      }).output();
      check(code === 0, `exit ${code}`);
      const last = new TextDecoder().decode(stdout).trim().split("\n").at(-1);
      const { denials, written } = JSON.parse(last ?? "{}");
      check(denials.length === 2, "a denial was lost");
      check(written.length === 1, "a write was lost");
    },
  },
  {
    name: "sandbox: a flood on both streams",
    async inject() {
      const script =
        "head -c 30000000 /dev/zero; head -c 30000000 /dev/zero >&2";
      const { code, stdout, truncated } = await run(["/bin/sh", "-c", script]);
      check(code === 0, `exit ${code}`);
      check(stdout.length === 1024 * 1024, "what was kept is not the cap");
      check(truncated.stdout && truncated.stderr, "a cut was not told");
    },
  },
  {
    name:
      "sandbox: a child that ignores TERM with a grandchild of its own session",
    async inject(dir) {
      const script =
        `trap '' TERM; setsid sh -c "trap '' TERM; sleep 60" & echo up; cat; sleep 60`;
      const child = await startProcess(["/bin/sh", "-c", script], {
        cwd: dir,
        stderr: "null",
        env: { PATH: "/usr/bin:/bin", SOAK: dir },
      });
      const reader = child.stdout.getReader();
      await reader.read();
      await child.end({ eofMs: 10, termMs: 10 });
      await reader.cancel();
      check(speakingOf(`SOAK=${dir}`).length === 0, "a process outlived end()");
    },
  },
  {
    name: "plugins: a tool that hangs, floods and leaves a background child",
    async inject(dir, round) {
      const scripts = [
        "sleep 60",
        "yes | head -c 5000000; sleep 60 & exit 0",
        "exec 0<&-; kill -9 $$",
        "cat >/dev/null; echo ok",
      ];
      const script = scripts[round % scripts.length] ?? "";
      const tool = await trustedTool(dir, script);
      const result = await tool.execute({ pad: "x".repeat(200_000) });
      check(result.details !== undefined, "the call has no end");
      if (script.endsWith("echo ok")) {
        check(result.isError !== true, "a good call was lost");
      }
    },
  },
  {
    name: "plugins: one byte changes between two calls",
    async inject(dir) {
      const tool = await trustedTool(dir, "echo one");
      const before = await tool.execute({});
      check(before.isError !== true, "the trusted call was lost");
      await Deno.writeTextFile(
        `${dir}/plugins/p/t.sh`,
        "#!/bin/sh\necho two\n",
      );
      const after = await tool.execute({});
      check(after.isError === true, "changed content ran");
    },
  },
  {
    name: "worker: clients come, read slowly and go while frames are pushed",
    async inject(dir) {
      const say = "x".repeat(2000);
      const worker = await runWorker({
        shortId: "soak",
        home: `${dir}/workers`,
        cwd: dir,
        driver: scriptedDriver({
          sessions: `${dir}/sessions`,
          script: {
            schema: 1,
            turns: [{ steps: Array.from({ length: 40 }, () => ({ say })) }],
          },
        }),
      });
      // Said but never read: it must hold up nobody.
      const slow = await connect(worker.socketPath);
      const stuck = slow.watch({ cursor: 0 })[Symbol.asyncIterator]();
      await stuck.next();
      const client = await connect(worker.socketPath);
      await client.writeTurn("go");
      let seen = 0;
      let expected = 0;
      reading: for await (const event of client.watch({ cursor: 0 })) {
        if (event.type !== "frames") continue;
        check(
          event.from === expected || event.gap,
          "a frame came out of order",
        );
        expected = event.next;
        for (const frame of event.frames) {
          if (frame.kind === "assistant") seen++;
          if (frame.kind === "result") break reading;
        }
      }
      check(seen === 40, `${40 - seen} messages were lost`);
      client.close();
      await stuck.return?.(undefined);
      slow.close();
      await worker.end();
    },
  },
  {
    name: "abi: a library dies in every way and is started again",
    async inject(dir, round) {
      const source = fromFileUrl(
        new URL(
          "../../tests/fixtures/cases/abi/17_crash.c",
          import.meta.url,
        ),
      );
      const library = `${dir}/crash.so`;
      const flags = "-std=gnu11 -O1 -w -shared -fPIC -lpthread".split(" ");
      const built = await run(["gcc", "-o", library, source, ...flags])
        .catch(() => undefined);
      if (!built?.success) return "gcc is not installed";
      await using plugin = await loadNativePlugin(library, {
        isolation: "preferred",
      });
      const ways = ["segv", "abort", "exit0", "exit7", "stack", "kill"];
      const how = ways[round % ways.length] ?? "";
      const tool = plugin.registration.tools.find(({ name }) =>
        name.includes("crash")
      );
      if (tool === undefined) throw new Error("the library has no such tool");
      const died = await plugin.callTool(tool.name, { how })
        .then(() => false, () => true);
      check(died, `${how}: a death was told as a success`);
      const after = await plugin.callTool("probe_ok", {})
        .then(() => true, () => false);
      check(after, `${how}: the library was not started again`);
    },
  },
  {
    name: "files: the disk is full in the middle of a write",
    async inject(dir) {
      const disk = `${dir}/disk`;
      await Deno.mkdir(disk);
      const mount = await run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", disk],
      ).catch(() => undefined);
      if (!mount?.success) {
        return "mounting a small file system is not permitted";
      }
      try {
        await writeFileAtomic(`${disk}/state`, "old");
        const full = await writeFileAtomic(`${disk}/state`, "x".repeat(200_000))
          .then(() => false, () => true);
        check(full, "a write that does not fit was not told");
        const text = await Deno.readTextFile(`${disk}/state`);
        check(text === "old", "the old content was lost");
        const names = await Array.fromAsync(Deno.readDir(disk), (e) => e.name);
        check(names.length === 1, `left beside it: ${names}`);
      } finally {
        await run(["umount", disk]);
      }
    },
  },
];
