import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { armGuard } from "@bulkhead/guard";
import { bulkhead, withRunWorld } from "./support/run_world.ts";

interface Finding {
  area: string;
  status: string;
  text: string;
  fix?: string;
}

interface World {
  ws: string;
  home: string;
  dir: string;
  /** Where programs are looked for, when not where they are for us. */
  path?: string;
}

async function doctor(
  world: World,
  ...args: string[]
): Promise<{ code: number; findings: Finding[] }> {
  const { code, out, err } = await bulkhead(
    ["doctor", "--json", "--cwd", world.ws, "--home", world.home, ...args],
    {
      env: {
        FNO_CLAIMS_ROOT: world.dir,
        TMPDIR: world.dir,
        ...world.path === undefined ? {} : { PATH: world.path },
      },
    },
  );
  assertEquals(err, "");
  return { code, findings: JSON.parse(out).findings };
}

async function withWorld(fn: (world: World) => Promise<void>): Promise<void> {
  await withRunWorld(async (world) => {
    await Deno.mkdir(world.home, { mode: 0o700 });
    await fn(world);
  });
}

const of = (findings: Finding[], area: string): Finding[] =>
  findings.filter((finding) => finding.area === area);

Deno.test("doctor: a clean machine has nothing broken", async () => {
  await withWorld(async (world) => {
    const { findings } = await doctor(world);
    const broken = findings.filter(({ status, area }) =>
      status === "broken" && area !== "sandbox"
    );
    assertEquals(broken, []);
    assert(of(findings, "deno").length >= 1);
  });
});

Deno.test("doctor: a damaged registry of workers is found, and worker list says so too", async () => {
  await withWorld(async (world) => {
    const registry = `${world.home}/workers/registry.json`;
    await Deno.mkdir(`${world.home}/workers`);
    await Deno.writeTextFile(registry, "{ torn");
    const { code, findings } = await doctor(world);
    assertEquals(code, 1);
    const [found] = of(findings, "workers");
    assertEquals(found?.status, "broken");
    assertStringIncludes(found?.text ?? "", registry);
    assertStringIncludes(found?.fix ?? "", `mv ${registry}`);
    const list = await bulkhead(["worker", "list", "--home", world.home]);
    assertStringIncludes(list.err, registry);
    const args = ["worker", "list", "--json", "--home", world.home];
    const { out } = await bulkhead(args);
    assertStringIncludes(JSON.parse(out).problem, registry);
    assertEquals(await Deno.readTextFile(registry), "{ torn");
  });
});

Deno.test("doctor: what is broken names its fix", async () => {
  await withWorld(async (world) => {
    await Deno.chmod(world.home, 0o755);
    await Deno.writeTextFile(`${world.home}/config.toml`, "[capabilities\n");
    const { code, findings } = await doctor(world);
    assertEquals(code, 1);
    assertStringIncludes(of(findings, "home")[0]?.fix ?? "", "chmod 700");
    assert(of(findings, "plugins").some(({ status }) => status === "broken"));
    const fixed = await doctor(world, "--fix");
    assertEquals(of(fixed.findings, "home")[0]?.status, "mended");
  });
});

Deno.test("doctor --fix: a guard that has run out is removed byte for byte", async () => {
  await withWorld(async (world) => {
    const settings = `${world.ws}/.claude/settings.local.json`;
    await Deno.mkdir(`${world.ws}/.claude`);
    const original = '{ "permissions": {"allow": ["Read"]},\n  "x": 1 }';
    await Deno.writeTextFile(settings, original);
    await armGuard({
      root: world.ws,
      home: world.home,
      harness: "claude-code",
      ttlMs: 60_000,
    });
    assertEquals(
      of((await doctor(world)).findings, "guard")[0]?.status,
      "ok",
    );
    // As it looks after its six hours.
    const skills = `${world.ws}/.claude/skills`;
    const marker = `${skills}/.slow-powers-eval-guard.json`;
    const armed = JSON.parse(await Deno.readTextFile(marker));
    armed.expiresAt = "2020-01-01T00:00:00.000Z";
    await Deno.writeTextFile(marker, JSON.stringify(armed));
    assertEquals(
      of((await doctor(world)).findings, "guard")[0]?.status,
      "broken",
    );
    await doctor(world, "--fix");
    assertEquals(await Deno.readTextFile(settings), original);
    assertEquals(
      (await Array.fromAsync(Deno.readDir(`${world.ws}/.claude`)))
        .map(({ name }) => name),
      ["settings.local.json"],
    );
  });
});

Deno.test("doctor: the claim of a dead run is told and removed", async () => {
  await withWorld(async (world) => {
    const { code } = await new Deno.Command(Deno.execPath(), {
      args: [
        "eval",
        `import { acquireClaim } from "${
          import.meta.resolve("@bulkhead/worker")
        }";
         await acquireClaim("workspace:/x", "run:1", { root: ${
          JSON.stringify(world.dir)
        } });
         Deno.exit(0);`,
      ],
      stdin: "null",
    }).output();
    assertEquals(code, 0);
    assertEquals(
      of((await doctor(world)).findings, "claims")[0]?.status,
      "warning",
    );
    await doctor(world, "--fix");
    assertEquals(of((await doctor(world)).findings, "claims")[0]?.status, "ok");
  });
});

Deno.test("doctor: each agent's program with its version, or what is wrong with it", async () => {
  await withWorld(async (world) => {
    const path = `${world.dir}/bin`;
    await Deno.mkdir(path);
    const program = async (name: string, script: string) =>
      await Deno.writeTextFile(`${path}/${name}`, `#!/bin/sh\n${script}\n`, {
        mode: 0o755,
      });
    await program("claude", "echo 2.1.197");
    await program("codex", "exit 3");
    const { code, findings } = await doctor({ ...world, path });
    assertEquals(
      of(findings, "agents").map(({ status, text }) => [status, text]),
      [
        ["ok", `claude 2.1.197 at ${path}/claude`],
        [
          "broken",
          `codex at ${path}/codex exits with 3 when asked for its version`,
        ],
        ["warning", "opencode is not installed"],
      ],
    );
    for (const { status, fix } of of(findings, "agents").slice(1)) {
      assertStringIncludes(fix ?? "", "npm i -g", status);
    }
    assertEquals(code, 1);
  });
});

Deno.test("doctor: without bubblewrap it says what is there instead, and how to get it", async () => {
  await withWorld(async (world) => {
    const { findings } = await doctor({ ...world, path: world.ws });
    const [sandbox] = of(findings, "sandbox");
    assert(sandbox?.status !== "ok", JSON.stringify(sandbox));
    assertStringIncludes(sandbox?.fix ?? "", "bubblewrap");
  });
});

Deno.test("doctor: a hook that the settings switch off is told", async () => {
  await withWorld(async (world) => {
    await armGuard({
      root: world.ws,
      home: world.home,
      harness: "claude-code",
    });
    const settings = `${world.ws}/.claude/settings.local.json`;
    const staged = JSON.parse(await Deno.readTextFile(settings));
    staged.disableAllHooks = true;
    await Deno.writeTextFile(settings, JSON.stringify(staged));
    const guard = of((await doctor(world)).findings, "guard");
    assert(guard.every(({ status }) => status !== "ok"), JSON.stringify(guard));
    assert(
      guard.some(({ text, fix }) =>
        text.includes("disableAllHooks") && fix !== undefined
      ),
      JSON.stringify(guard),
    );
  });
});

Deno.test("doctor: the marker of a killed session is told and removed", async () => {
  await withWorld(async (world) => {
    const marker = `${world.home}/markers/run-1a2b3c4d.json`;
    await Deno.mkdir(`${world.home}/markers`);
    await Deno.writeTextFile(marker, "{}");
    const now = async (): Promise<string[]> =>
      of((await doctor(world)).findings, "markers").map(({ status }) => status);
    assertEquals(await now(), ["ok"], "it may be one that is coming up");
    await Deno.utime(marker, 0, 0);
    assertEquals(await now(), ["warning"]);
    await doctor(world, "--fix");
    assertEquals(await now(), ["ok"]);
  });
});

Deno.test("doctor: a workspace that does not exist is told, not examined", async () => {
  await withWorld(async ({ home, dir }) => {
    const { code, out, err } = await bulkhead(
      ["doctor", "--cwd", `${dir}/none`, "--home", home],
    );
    assertEquals([code, out], [1, ""]);
    assertEquals(
      err,
      `error: Cannot look at "${dir}/none": there is no such directory; give another --cwd\n`,
    );
  });
});

Deno.test("doctor: a directory for temporary files that is missing is found, and demos say so", async () => {
  await withWorld(async (world) => {
    const env = { FNO_CLAIMS_ROOT: world.dir, TMPDIR: "/proc/none" };
    const listed =
      'Cannot list the temporary directory "/proc/none": there is no such file or directory';
    const fix = "set TMPDIR to a directory that can be written";
    const { out } = await bulkhead(
      ["doctor", "--json", "--cwd", world.ws, "--home", world.home],
      { env },
    );
    assertEquals(of(JSON.parse(out).findings, "temp"), [
      { area: "temp", status: "broken", text: listed, fix },
    ]);
    const demo = await bulkhead(
      ["run", "--agent", "scripted", "--example", "greeting"],
      { env },
    );
    assertEquals(demo.err, `error: ${listed}; ${fix}\n`);
  });
});
