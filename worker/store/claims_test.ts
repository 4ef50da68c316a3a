import { assert, assertEquals, assertMatch } from "@std/assert";
import { fromFileUrl } from "@std/path";
import { type Claim, claimPath, readClaim } from "./claim_file.ts";
import {
  acquireClaim,
  type ClaimOptions,
  isClaimLive,
  releaseClaim,
} from "./claims.ts";
import { thisMachine } from "./machine.ts";
import { processStart } from "./processes.ts";

async function withRoot(fn: (root: string) => Promise<void>): Promise<void> {
  const root = await Deno.makeTempDir();
  try {
    await fn(root);
  } finally {
    await Deno.remove(root, { recursive: true });
  }
}

/** A process that lives until it is ended. */
async function withProcess(fn: (pid: number) => Promise<void>): Promise<void> {
  const child = new Deno.Command("sleep", { args: ["60"] }).spawn();
  try {
    await fn(child.pid);
  } finally {
    child.kill("SIGKILL");
    await child.status;
  }
}

async function deadPid(): Promise<number> {
  const child = new Deno.Command("true").spawn();
  await child.status;
  return child.pid;
}

Deno.test("claimPath() encodes the key as a file name", () => {
  assertEquals(
    claimPath("a~b-c_d.e", { root: "/r/" }),
    "/r/.fno/claims/a~b-c_d.e.lock",
  );
  assertEquals(
    claimPath("workspace:/ü x", { root: "/r" }),
    "/r/.fno/claims/workspace%3A%2F%C3%BC%20x.lock",
  );
  for (const key of ["", "x".repeat(257), "/".repeat(100)]) {
    let failed = false;
    try {
      claimPath(key, { root: "/r" });
    } catch (error) {
      failed = error instanceof RangeError;
    }
    assert(failed, key.slice(0, 10));
  }
});

Deno.test("acquireClaim() writes the fields in their order", async () => {
  await withRoot(async (root) => {
    const key = "session:11111111-1111-4111-8111-111111111111";
    const outcome = await acquireClaim(key, "stream:demo", {
      root,
      harness: "claude",
      reason: "a: b",
    });
    assertEquals(outcome.kind, "acquired");
    const text = await Deno.readTextFile(claimPath(key, { root }));
    const keys = text.split("\n").filter((l) => /^\w/.test(l)).map((l) =>
      l.split(":")[0]
    );
    assertEquals(keys, [
      "schema_version",
      "key",
      "holder",
      "acquired_at",
      "pid",
      "host",
      "reason",
      "harness",
      "machine_id",
      "metadata",
    ]);
    assertMatch(text, /^key: session:1111/m);
    assertMatch(text, /^reason: "a: b"$/m);
    const claim = await readClaim(key, { root });
    assertEquals(claim?.holder, "stream:demo");
    assertEquals(claim?.pid, Deno.pid);
    assertEquals(claim?.reason, "a: b");
    assertEquals(claim && await isClaimLive(claim), true);
  });
});

Deno.test("acquireClaim() refuses what a living process of another holder has", async () => {
  await withRoot((root) =>
    withProcess(async (pid) => {
      await acquireClaim("session:a", "one", { root, pid });
      const outcome = await acquireClaim("session:a", "two", { root });
      assertEquals(outcome.kind, "held");
      assertEquals(outcome.kind === "held" && outcome.claim.pid, pid);
    })
  );
});

Deno.test("acquireClaim() takes a dead holder's claim and keeps it aside", async () => {
  await withRoot(async (root) => {
    await acquireClaim("session:a", "one", { root, pid: await deadPid() });
    const outcome = await acquireClaim("session:a", "two", { root });
    assertEquals(outcome.kind, "reclaimed");
    const archived = await Array.fromAsync(
      Deno.readDir(`${root}/.fno/claims/.expired`),
    );
    assertMatch(archived[0]?.name ?? "", /^session%3Aa\.\d+\.lock$/);
    const left = await Array.fromAsync(Deno.readDir(`${root}/.fno/claims`));
    assertEquals(left.map((e) => e.name).toSorted(), [
      ".expired",
      "session%3Aa.lock",
    ]);
  });
});

Deno.test("acquireClaim() takes a claim again for the same holder, for another process", async () => {
  await withRoot((root) =>
    withProcess(async (pid) => {
      const first = await acquireClaim("session:a", "stream:x", { root });
      const second = await acquireClaim("session:a", "stream:x", { root, pid });
      assertEquals([first.kind, second.kind], ["acquired", "reacquired"]);
      assertEquals((await readClaim("session:a", { root }))?.pid, pid);
    })
  );
});

Deno.test("acquireClaim({ exclusive }) refuses a living process of the same holder", async () => {
  await withRoot((root) =>
    withProcess(async (pid) => {
      await acquireClaim("session:a", "stream:x", { root, pid });
      const options = { root, exclusive: true };
      assertEquals(
        (await acquireClaim("session:a", "stream:x", options)).kind,
        "held",
      );
      const handed = await acquireClaim("session:a", "stream:x", {
        ...options,
        handoverFrom: [pid],
      });
      assertEquals(handed.kind, "reacquired");
      assertEquals(
        (await acquireClaim("session:a", "stream:x", options)).kind,
        "reacquired",
      );
    })
  );
});

Deno.test("releaseClaim() leaves a successor's claim alone", async () => {
  await withRoot((root) =>
    withProcess(async (pid) => {
      await acquireClaim("session:a", "stream:x", { root });
      await acquireClaim("session:a", "stream:x", { root, pid });
      assertEquals(
        await releaseClaim("session:a", "stream:x", { root, pid: Deno.pid }),
        "not ours",
      );
      assertEquals(
        await releaseClaim("session:a", "stream:y", { root }),
        "not ours",
      );
      assertEquals(
        await releaseClaim("session:a", "stream:x", { root, pid }),
        "released",
      );
      assertEquals(
        await releaseClaim("session:a", "stream:x", { root, pid }),
        "missing",
      );
    })
  );
});

Deno.test("acquireClaim() keeps a claim that ends by time until then, whoever lives", async () => {
  await withRoot(async (root) => {
    await acquireClaim("session:a", "one", {
      root,
      pid: await deadPid(),
      ttlMs: 60_000,
    });
    assertEquals(
      (await acquireClaim("session:a", "two", { root })).kind,
      "held",
    );
    const path = claimPath("session:a", { root });
    const text = await Deno.readTextFile(path);
    await Deno.writeTextFile(
      path,
      text.replace(/expires_at: \d+/, "expires_at: 1000"),
    );
    assertEquals(
      (await acquireClaim("session:a", "two", { root })).kind,
      "reclaimed",
    );
    const bad = await acquireClaim("session:b", "two", { root, ttlMs: 5 });
    assertEquals(bad.kind, "error");
  });
});

Deno.test("acquireClaim() leaves what it cannot read", async () => {
  await withRoot(async (root) => {
    const path = claimPath("session:a", { root });
    await Deno.mkdir(`${root}/.fno/claims`, { recursive: true });
    for (
      const text of [
        "",
        "not a mapping",
        "key: x\n",
        "schema_version: 2\nkey: a\nholder: b\nacquired_at: 1\npid: 1\nhost: h\n",
        "schema_version: 1\nkey: a\nholder: \nacquired_at: 1\npid: 1\nhost: h\n",
        "- a\n- b\n",
        "{schema_version: 1",
        "x".repeat(70_000),
      ]
    ) {
      await Deno.writeTextFile(path, text);
      const outcome = await acquireClaim("session:a", "me", { root });
      assertEquals(outcome.kind, "error", text.slice(0, 20));
      assertEquals(await Deno.readTextFile(path), text);
      assertEquals(
        await releaseClaim("session:a", "me", { root }),
        "unreadable",
      );
    }
  });
});

Deno.test("readClaim() reads what other writers write", async () => {
  await withRoot(async (root) => {
    await Deno.mkdir(`${root}/.fno/claims`, { recursive: true });
    await Deno.writeTextFile(
      claimPath("session:a", { root }),
      "schema_version: 1\nkey: 'session:a'\nholder: \"stream:x\"\nacquired_at: 1796034389633\n" +
        "pid: 12\nhost: vm\nreason: a long text that\n  goes on\nmachine_id: 0a1b:4026531836\n" +
        "metadata:\n  note: it's fine\n  n: 5\n",
    );
    const claim = await readClaim("session:a", { root });
    assertEquals(
      claim,
      {
        schemaVersion: 1,
        key: "session:a",
        holder: "stream:x",
        acquiredAt: 1796034389633,
        pid: 12,
        host: "vm",
        reason: "a long text that goes on",
        machineId: "0a1b:4026531836",
        metadata: { note: "it's fine", n: 5 },
      } satisfies Claim,
    );
  });
});

Deno.test("isClaimLive() knows a pid that was given out again, and another machine", async () => {
  const machine = await thisMachine();
  const start = await processStart(Deno.pid);
  const claim: Claim = {
    schemaVersion: 1,
    key: "k",
    holder: "h",
    acquiredAt: Date.now(),
    pid: Deno.pid,
    host: machine.host,
  };
  assertEquals(await isClaimLive(claim), true);
  assertEquals(
    await isClaimLive({ ...claim, acquiredAt: (start?.ms ?? 0) - 60_000 }),
    false,
  );
  assertEquals(await isClaimLive({ ...claim, host: "elsewhere" }), false);
  assertEquals(
    await isClaimLive({
      ...claim,
      host: "renamed",
      ...machine.machineId ? { machineId: machine.machineId } : {},
    }),
    machine.machineId !== undefined,
  );
  assertEquals(await isClaimLive({ ...claim, machineId: "other:1" }), false);
});

Deno.test("isClaimLive() is not fooled by a clock that jumped", async () => {
  await withRoot(async (root) => {
    await acquireClaim("session:a", "one", { root });
    const path = claimPath("session:a", { root });
    const text = await Deno.readTextFile(path);
    for (const at of [1000, Date.now() + 86_400_000]) {
      await Deno.writeTextFile(
        path,
        text.replace(/acquired_at: \d+/, `acquired_at: ${at}`),
      );
      const claim = await readClaim("session:a", { root });
      assertEquals(claim && await isClaimLive(claim), true, String(at));
    }
    await Deno.writeTextFile(
      path,
      text.replace(/start_ticks: \d+/, "start_ticks: 1"),
    );
    const other = await readClaim("session:a", { root });
    assertEquals(
      other && await isClaimLive(other),
      false,
      "the pid was given out again",
    );
  });
});

Deno.test("acquireClaim() waits for the mutex and takes a stale one away", async () => {
  await withRoot(async (root) => {
    await acquireClaim("session:a", "one", { root, pid: await deadPid() });
    const mutex = claimPath("session:a", { root }) + ".recovery.d";
    await Deno.mkdir(mutex);
    const waiting = acquireClaim("session:a", "two", { root });
    const timer = setTimeout(() => Deno.remove(mutex), 100);
    assertEquals((await waiting).kind, "reclaimed");
    clearTimeout(timer);
    await acquireClaim("session:a", "two", { root, pid: await deadPid() });
    await Deno.mkdir(mutex);
    const old = new Date(Date.now() - 121_000);
    await Deno.utime(mutex, old, old);
    assertEquals(
      (await acquireClaim("session:a", "three", { root })).kind,
      "reclaimed",
    );
  });
});

Deno.test("acquireClaim() says what is wrong with the store", async () => {
  await withRoot(async (root) => {
    await Deno.writeTextFile(`${root}/.fno`, "a file");
    const outcome = await acquireClaim("session:a", "one", { root });
    assertEquals(outcome.kind, "error");
  });
});

Deno.test("acquireClaim() and releaseClaim() leave audit lines where they are asked to", async () => {
  await withRoot(async (root) => {
    await Deno.mkdir(`${root}/.fno`);
    const options: ClaimOptions = { root, eventsRoot: root };
    await acquireClaim("session:a", "one", options);
    await acquireClaim("session:a", "one", options);
    await releaseClaim("session:a", "one", options);
    const lines = (await Deno.readTextFile(`${root}/.fno/events.jsonl`)).trim()
      .split("\n");
    assertEquals(lines.map((line) => JSON.parse(line).type), [
      "claim_acquired",
      "claim_idempotent_reacquired",
      "claim_released",
    ]);
    assertEquals(JSON.parse(lines[0] ?? "").source, "fno-loop");
  });
});

Deno.test("acquireClaim() lets exactly one of many racing processes win a dead claim", async () => {
  await withRoot(async (root) => {
    await acquireClaim("session:a", "dead", { root, pid: await deadPid() });
    const program = `
      const { acquireClaim } = await import(${
      JSON.stringify(new URL("./claims.ts", import.meta.url).href)
    });
      await Deno.stdin.read(new Uint8Array(1));
      const outcome = await acquireClaim("session:a", "racer:" + Deno.pid, { root: ${
      JSON.stringify(root)
    } });
      console.log(outcome.kind);
      await Deno.stdin.read(new Uint8Array(1));`;
    const file = `${root}/racer.ts`;
    await Deno.writeTextFile(file, program);
    const config = fromFileUrl(new URL("../../deno.json", import.meta.url));
    const racers = Array.from(
      { length: 8 },
      () =>
        new Deno.Command(Deno.execPath(), {
          args: ["run", "-A", "--no-lock", `--config=${config}`, file],
          stdin: "piped",
          stdout: "piped",
        }).spawn(),
    );
    const writers = racers.map((racer) => racer.stdin.getWriter());
    await Promise.all(
      writers.map((writer) => writer.write(new Uint8Array([10]))),
    );
    const said = await Promise.all(racers.map(async (racer) => {
      const reader = racer.stdout.getReader();
      const { value } = await reader.read();
      await reader.cancel();
      return new TextDecoder().decode(value).trim();
    }));
    await Promise.all(writers.map((writer) => writer.close()));
    await Promise.all(racers.map((racer) => racer.status));
    assertEquals(said.toSorted(), [...Array(7).fill("held"), "reclaimed"]);
  });
});
