import { assert, assertEquals, assertRejects } from "@std/assert";
import { InstallError } from "./_install_error.ts";
import { readSource } from "./_source.ts";
import { makeStage, removeStage, repair, swapIn, writeTree } from "./_stage.ts";
import { compress, makeTar, makeZip, sha256 } from "./testing/archives.ts";

/** Runs a body in a temporary directory that is gone afterwards. */
async function inTemp(body: (dir: string) => Promise<void>): Promise<void> {
  const dir = await Deno.realPath(await Deno.makeTempDir());
  try {
    await body(dir);
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
}

async function git(cwd: string, ...args: string[]): Promise<string> {
  const { stdout, success, stderr } = await new Deno.Command("git", {
    args: ["-c", "user.name=t", "-c", "user.email=t@example.org", ...args],
    cwd,
    env: { GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_NOSYSTEM: "1" },
  }).output();
  assert(success, new TextDecoder().decode(stderr));
  return new TextDecoder().decode(stdout).trim();
}

const MANIFEST = 'name = "x"\n';

Deno.test("readSource() reads a directory and leaves its .git out", () =>
  inTemp(async (dir) => {
    await Deno.mkdir(`${dir}/src/.git/hooks`, { recursive: true });
    await Deno.mkdir(`${dir}/src/with space`);
    await Deno.writeTextFile(`${dir}/src/plugin.toml`, MANIFEST);
    await Deno.writeTextFile(`${dir}/src/with space/run.sh`, "#!/bin/sh\n", {
      mode: 0o755,
    });
    await Deno.symlink("with space/run.sh", `${dir}/src/link`);
    const read = await readSource(`${dir}/src`, { workDir: dir });
    assertEquals(read.kind, "directory");
    assertEquals(read.fallbackName, "src");
    assertEquals(read.entries.map((entry) => entry.path), [
      "link",
      "plugin.toml",
      "with space",
      "with space/run.sh",
    ]);
    await writeTree(read.entries, `${dir}/out`);
    assertEquals(await Deno.readTextFile(`${dir}/out/link`), "#!/bin/sh\n");
    assertEquals(
      ((await Deno.stat(`${dir}/out/with space/run.sh`)).mode ?? 0) & 0o111,
      0o111,
    );
    assertEquals(
      ((await Deno.stat(`${dir}/out/plugin.toml`)).mode ?? 0) & 0o111,
      0,
    );
  }));

Deno.test("readSource() refuses what a directory may not hold", async (t) => {
  const rows: [string, (src: string) => Promise<void>][] = [
    ["a link out of it", (src) => Deno.symlink("../outside", `${src}/x`)],
    ["an absolute link", (src) => Deno.symlink("/etc/passwd", `${src}/x`)],
    ["a named pipe", async (src) => {
      await new Deno.Command("mkfifo", { args: [`${src}/x`] }).output();
    }],
    ["a deceptive name", (src) => Deno.writeTextFile(`${src}/a\u202eb`, "")],
  ];
  for (const [name, prepare] of rows) {
    await t.step(name, () =>
      inTemp(async (dir) => {
        await Deno.mkdir(`${dir}/src`);
        await Deno.writeTextFile(`${dir}/src/plugin.toml`, MANIFEST);
        await prepare(`${dir}/src`);
        const error = await assertRejects(
          () => readSource(`${dir}/src`, { workDir: dir }),
          InstallError,
        );
        assertEquals(error.code, "unsafe_entry");
      }));
  }
});

Deno.test("readSource() reads tar, tar.gz and zip by their content, not their name", () =>
  inTemp(async (dir) => {
    const tar = makeTar([
      { name: "x-1.0/", type: "5" },
      { name: "x-1.0/plugin.toml", data: MANIFEST },
    ]);
    const files: [string, Uint8Array<ArrayBuffer>][] = [
      ["a.tar", tar],
      ["a.tgz", await compress(tar, "gzip")],
      [
        "a.zip",
        await makeZip([{
          name: "x/plugin.toml",
          data: MANIFEST,
          deflate: true,
        }]),
      ],
      ["no-suffix", tar],
    ];
    for (const [name, bytes] of files) {
      const path = `${dir}/${name}`;
      await Deno.writeFile(path, bytes);
      const read = await readSource(path, { workDir: dir });
      assertEquals(
        read.entries.map((entry) => entry.path),
        ["plugin.toml"],
        name,
      );
      assertEquals(read.sha256, await sha256(bytes));
      assertEquals(read.pinned, false);
      const sum = await sha256(bytes);
      assertEquals(
        (await readSource(`${path}#sha256=${sum}`, { workDir: dir })).pinned,
        true,
      );
      assertEquals(
        (await readSource(path, { workDir: dir, sha256: sum.toUpperCase() }))
          .pinned,
        true,
      );
      const wrong = "0".repeat(64);
      const error = await assertRejects(
        () => readSource(path, { workDir: dir, sha256: wrong }),
        InstallError,
      );
      assertEquals(error.code, "checksum_mismatch");
    }
  }));

Deno.test("readSource() refuses bombs, garbage and addresses", async (t) => {
  await inTemp(async (dir) => {
    const limits = { maxBytes: 1_000_000, maxEntries: 10 };
    await t.step("gzip bomb", async () => {
      await Deno.writeFile(
        `${dir}/bomb.gz`,
        await compress(new Uint8Array(20_000_000), "gzip"),
      );
      const error = await assertRejects(
        () => readSource(`${dir}/bomb.gz`, { workDir: dir, limits }),
        InstallError,
      );
      assertEquals(error.code, "too_large");
    });
    await t.step("zip bomb", async () => {
      await Deno.writeFile(
        `${dir}/bomb.zip`,
        await makeZip([{
          name: "plugin.toml",
          data: new Uint8Array(20_000_000),
          deflate: true,
        }]),
      );
      const error = await assertRejects(
        () => readSource(`${dir}/bomb.zip`, { workDir: dir, limits }),
        InstallError,
      );
      assertEquals(error.code, "too_large");
    });
    await t.step("garbage", async () => {
      await Deno.writeTextFile(`${dir}/garbage`, "x".repeat(2000));
      const error = await assertRejects(
        () => readSource(`${dir}/garbage`, { workDir: dir }),
        InstallError,
      );
      assertEquals(error.code, "bad_archive");
    });
    for (
      const text of [
        "https://example.org/x.zip",
        "git+https://example.org/x",
        "git+https://example.org/x#main",
      ]
    ) {
      await t.step(text, async () => {
        const error = await assertRejects(
          () => readSource(text, { workDir: dir }),
          InstallError,
        );
        assertEquals(error.code, "bad_source");
        assert(error.fix !== undefined);
      });
    }
    const commit = "a".repeat(40);
    for (
      const url of [
        "ext::sh -c id",
        "git+ext://sh#" + commit,
        "git+https://-oProxyCommand=x/#" + commit,
        "",
        "a\0b",
      ]
    ) {
      await t.step(JSON.stringify(url), async () => {
        await assertRejects(
          () => readSource(url, { workDir: dir }),
          InstallError,
        );
      });
    }
  });
});

Deno.test("readSource() reads a pinned commit and runs nothing of the repository", () =>
  inTemp(async (dir) => {
    const repository = `${dir}/repository`;
    await Deno.mkdir(`${repository}/sub`, { recursive: true });
    await git(repository, "init", "-q", "-b", "main");
    await Deno.writeTextFile(`${repository}/plugin.toml`, 'name = "one"\n');
    await Deno.writeTextFile(
      `${repository}/sub/run.sh`,
      "#!/bin/sh\r\n$Id$\n",
      { mode: 0o755 },
    );
    await Deno.writeTextFile(`${repository}/hidden.txt`, "$Format:%H$");
    await Deno.writeTextFile(
      `${repository}/.gitattributes`,
      "hidden.txt export-ignore export-subst\n*.sh filter=evil text eol=crlf ident\n",
    );
    await git(repository, "add", "-A");
    await git(repository, "commit", "-q", "-m", "one");
    const first = await git(repository, "rev-parse", "HEAD");
    await Deno.writeTextFile(`${repository}/plugin.toml`, 'name = "two"\n');
    await git(repository, "commit", "-q", "-a", "-m", "two");
    // What a hostile repository could try to have run.
    for (
      const hook of [
        "post-checkout",
        "reference-transaction",
        "post-upload-pack",
        "pre-auto-gc",
      ]
    ) {
      await Deno.writeTextFile(
        `${repository}/.git/hooks/${hook}`,
        `#!/bin/sh\ntouch ${dir}/PWNED\n`,
        { mode: 0o755 },
      );
    }
    await git(
      repository,
      "config",
      "filter.evil.smudge",
      `touch ${dir}/PWNED; cat`,
    );
    await git(repository, "config", "core.fsmonitor", `touch ${dir}/PWNED`);
    await git(
      repository,
      "config",
      "uploadpack.packObjectsHook",
      `touch ${dir}/PWNED; exec "$@"`,
    );
    await Deno.mkdir(`${dir}/work`);
    const read = await readSource(`git+file://${repository}#${first}`, {
      workDir: `${dir}/work`,
    });
    await writeTree(read.entries, `${dir}/out`);
    assertEquals(
      await Deno.readTextFile(`${dir}/out/plugin.toml`),
      'name = "one"\n',
    );
    assertEquals(
      await Deno.readTextFile(`${dir}/out/sub/run.sh`),
      "#!/bin/sh\n$Id$\n",
    );
    assertEquals(
      await Deno.readTextFile(`${dir}/out/hidden.txt`),
      "$Format:%H$",
    );
    assertEquals(
      ((await Deno.stat(`${dir}/out/sub/run.sh`)).mode ?? 0) & 0o111,
      0o111,
    );
    assertEquals(read.commit, first);
    await assertRejects(() => Deno.stat(`${dir}/PWNED`), Deno.errors.NotFound);
  }));

Deno.test("readSource() says which commit cannot be had, and refuses submodule and link tricks", () =>
  inTemp(async (dir) => {
    const repository = `${dir}/repository`;
    await Deno.mkdir(repository);
    await git(repository, "init", "-q", "-b", "main");
    await Deno.symlink("../../etc", `${repository}/l`);
    await Deno.writeTextFile(`${repository}/plugin.toml`, MANIFEST);
    await git(repository, "add", "-A");
    await git(repository, "commit", "-q", "-m", "one");
    const commit = await git(repository, "rev-parse", "HEAD");
    await Deno.mkdir(`${dir}/a`);
    const link = await assertRejects(
      () =>
        readSource(`git+file://${repository}#${commit}`, {
          workDir: `${dir}/a`,
        }),
      InstallError,
    );
    assertEquals(link.code, "unsafe_entry");
    await Deno.mkdir(`${dir}/b`);
    const absent = await assertRejects(
      () =>
        readSource(`git+file://${repository}#${"0".repeat(39)}1`, {
          workDir: `${dir}/b`,
        }),
      InstallError,
    );
    assertEquals(absent.code, "git_failed");
  }));

Deno.test("an interrupted swap is undone, a finished one is kept", () =>
  inTemp(async (dir) => {
    const plugins = `${dir}/plugins`;
    await Deno.mkdir(`${plugins}/x`, { recursive: true });
    await Deno.writeTextFile(`${plugins}/x/v`, "old");
    const make = async (version: string) => {
      const stage = await makeStage(dir);
      await Deno.mkdir(stage.next);
      await Deno.writeTextFile(`${stage.next}/v`, version);
      return stage;
    };
    // Killed between the two renames: the old version is only in the stage.
    const killed = await make("new");
    await Deno.mkdir(`${killed.dir}/old`);
    await Deno.rename(`${plugins}/x`, `${killed.dir}/old/x`);
    assertEquals((await repair(dir, plugins)).length, 1);
    assertEquals(await Deno.readTextFile(`${plugins}/x/v`), "old");
    // Killed after both.
    const late = await make("new");
    await swapIn(late, plugins, "x");
    assertEquals(await repair(dir, plugins), []);
    assertEquals(await Deno.readTextFile(`${plugins}/x/v`), "new");
    assertEquals(
      (await Array.fromAsync(Deno.readDir(dir))).map((entry) => entry.name),
      [
        "plugins",
      ],
    );
    // Taken back by its own process.
    const stage = await make("newer");
    const back = await swapIn(stage, plugins, "x");
    await back();
    assertEquals(await Deno.readTextFile(`${plugins}/x/v`), "new");
    await removeStage(stage);
  }));

Deno.test("an archive made by the Finder of macOS is a plugin", () =>
  inTemp(async (dir) => {
    const zip = await makeZip([
      { name: "x/plugin.toml", data: MANIFEST },
      { name: "__MACOSX/x/._plugin.toml", data: "notes" },
    ]);
    await Deno.writeFile(`${dir}/x.zip`, zip);
    const read = await readSource(`${dir}/x.zip`, { workDir: dir });
    assertEquals(read.entries.map((entry) => entry.path), ["plugin.toml"]);
  }));

Deno.test("check, then use: a file or folder swapped for a link in between is refused (claux#32)", async (t) => {
  const swaps: [string, (src: string, secret: string) => Promise<void>][] = [
    ["file", async (src, secret) => {
      await Deno.remove(`${src}/sub/a`);
      await Deno.symlink(secret, `${src}/sub/a`);
    }],
    ["folder", async (src, secret) => {
      await Deno.rename(`${src}/sub`, `${src}/../moved`);
      await Deno.symlink(secret.slice(0, -2), `${src}/sub`);
    }],
  ];
  for (const [name, swap] of swaps) {
    await t.step(name, () =>
      inTemp(async (dir) => {
        await Deno.mkdir(`${dir}/src/sub`, { recursive: true });
        await Deno.mkdir(`${dir}/secret`);
        await Deno.writeTextFile(`${dir}/secret/a`, "secret");
        await Deno.writeTextFile(`${dir}/src/plugin.toml`, MANIFEST);
        await Deno.writeTextFile(`${dir}/src/sub/a`, "public");
        const read = await readSource(`${dir}/src`, { workDir: dir });
        await swap(`${dir}/src`, `${dir}/secret/a`);
        await assertRejects(
          () => writeTree(read.entries, `${dir}/out`),
          InstallError,
          "was replaced while it was read",
        );
      }));
  }
});
