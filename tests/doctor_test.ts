import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { armGuard } from "@bulkhead/guard";

const MOD = new URL("../mod.ts", import.meta.url).pathname;

interface Finding {
  area: string;
  status: string;
  text: string;
  fix?: string;
}

async function doctor(
  world: { ws: string; home: string; dir: string },
  ...args: string[]
): Promise<{ code: number; findings: Finding[] }> {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "-A",
      MOD,
      "doctor",
      "--json",
      "--cwd",
      world.ws,
      "--home",
      world.home,
      ...args,
    ],
    env: { FNO_CLAIMS_ROOT: world.dir, TMPDIR: world.dir },
    stdin: "null",
  }).output();
  assertEquals(new TextDecoder().decode(stderr), "");
  const { findings } = JSON.parse(new TextDecoder().decode(stdout));
  return { code, findings };
}

async function withWorld(
  fn: (world: { ws: string; home: string; dir: string }) => Promise<void>,
): Promise<void> {
  const dir = await Deno.realPath(await Deno.makeTempDir({ prefix: "bh" }));
  await Deno.mkdir(`${dir}/ws`);
  await Deno.mkdir(`${dir}/home`, { mode: 0o700 });
  try {
    await fn({ dir, ws: `${dir}/ws`, home: `${dir}/home` });
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
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
