/**
 * Installs the pinned agent programs (Claude Code, Codex, OpenCode) that the slow tests run.
 *
 * ```sh
 * deno run -A scripts/fetch_harnesses.ts            # all of them
 * deno run -A scripts/fetch_harnesses.ts claude     # one
 * ```
 *
 * Each platform package is packed by `npm`, its integrity compared with the pin, unpacked beside its
 * final place and renamed into it: what is there is complete, and an interrupted run goes on with the
 * package it was at. Nothing of a package is run except `<program> --version`.
 *
 * @module
 */
import { reasonOf } from "@bulkhead/sandbox";
import {
  FETCH_COMMAND,
  HARNESS_PINS,
  harnessBuild,
  harnessCache,
  harnessDir,
  harnessPlatform,
} from "./harness_pins.ts";
import type { HarnessBuild, HarnessPin } from "./harness_pins.ts";

const encoder = new TextEncoder();

async function say(line: string): Promise<void> {
  await Deno.stdout.write(encoder.encode(line + "\n"));
}

/** Runs a command and returns its stdout; a heartbeat line is printed while it takes long. */
async function command(
  what: string,
  argv: [string, ...string[]],
  options: Deno.CommandOptions = {},
): Promise<string> {
  const started = Date.now();
  const beat = setInterval(
    () => say(`  ${what}: ${Math.round((Date.now() - started) / 1000)} s`),
    5000,
  );
  try {
    const [program, ...args] = argv;
    const out = await new Deno.Command(program, {
      ...options,
      args,
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    }).output();
    if (out.success) return new TextDecoder().decode(out.stdout);
    const lines = new TextDecoder().decode(out.stderr).trim().split("\n");
    const said = lines.find((line) => /E[A-Z0-9]{3,}|error/.test(line)) ??
      lines.at(-1) ?? "";
    throw new Error(
      `Cannot ${what}: "${program}" ended with code ${out.code}: ${said.trim()}`,
    );
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    throw new Error(
      `Cannot ${what}: "${
        argv[0]
      }" is not installed: install Node.js with npm, and tar`,
    );
  } finally {
    clearInterval(beat);
  }
}

async function integrityOf(path: string): Promise<string> {
  const digest = new Uint8Array(
    await crypto.subtle.digest("SHA-512", await Deno.readFile(path)),
  );
  let text = "";
  for (const byte of digest) text += String.fromCharCode(byte);
  return `sha512-${btoa(text)}`;
}

async function versionOf(binary: string): Promise<string | undefined> {
  const home = await Deno.makeTempDir({ prefix: "bulkhead-harness-" });
  try {
    const { stdout } = await new Deno.Command(binary, {
      args: ["--version"],
      clearEnv: true,
      env: {
        PATH: Deno.env.get("PATH") ?? "/usr/bin:/bin",
        HOME: home,
        OPENCODE_DISABLE_AUTOUPDATE: "1",
      },
      cwd: home,
      stdin: "null",
      stderr: "null",
    }).output();
    return new TextDecoder().decode(stdout).match(/\d+\.\d+\.\d+/)?.[0];
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  } finally {
    await Deno.remove(home, { recursive: true });
  }
}

/** Whether a build is there and is the pinned version. */
async function isPresent(
  pin: HarnessPin,
  build: HarnessBuild,
  dir: string,
): Promise<boolean> {
  if (pin.lock === undefined) {
    return await versionOf(`${dir}/${build.binary}`) === pin.version;
  }
  const about = `${dir}/${
    build.binary.replace(/\/dist\/.*$/, "")
  }/package.json`;
  try {
    const found: unknown = JSON.parse(await Deno.readTextFile(about));
    return typeof found === "object" && found !== null && "version" in found &&
      found.version === pin.version;
  } catch {
    return false;
  }
}

/** Installs what a lock file pins; npm compares every package with it. */
async function fetchLocked(
  pin: HarnessPin,
  build: HarnessBuild,
  cache: string,
): Promise<void> {
  const work = `${cache}/.work-${pin.name}`;
  await Deno.remove(work, { recursive: true }).catch(() => {});
  await Deno.mkdir(work, { recursive: true });
  for (const name of ["package.json", "package-lock.json"]) {
    await Deno.copyFile(
      new URL(`./${pin.lock}/${name}`, import.meta.url),
      `${work}/${name}`,
    );
  }
  await command(`install ${build.spec}`, [
    "npm",
    "ci",
    "--omit=optional",
    "--ignore-scripts",
    "--no-audit",
    "--no-fund",
    "--prefer-offline",
  ], { cwd: work });
  if (!await isPresent(pin, build, work)) {
    throw new Error(
      `Cannot install ${build.spec}: version "${pin.version}" is not what was installed`,
    );
  }
  await Deno.remove(harnessDir(pin, cache), { recursive: true }).catch(
    () => {},
  );
  await Deno.rename(work, harnessDir(pin, cache));
}

async function fetchBuild(
  pin: HarnessPin,
  build: HarnessBuild,
  cache: string,
): Promise<void> {
  const work = `${cache}/.work-${pin.name}`;
  await Deno.remove(work, { recursive: true }).catch(() => {});
  await Deno.mkdir(`${work}/package`, { recursive: true });
  const out = await command(`fetch ${build.spec}`, [
    "npm",
    "pack",
    "--json",
    "--ignore-scripts",
    "--prefer-offline",
    "--pack-destination",
    work,
    build.spec,
  ], { cwd: work });
  const packed: unknown = JSON.parse(out);
  const first: unknown = Array.isArray(packed) ? packed[0] : undefined;
  const name =
    typeof first === "object" && first !== null && "filename" in first
      ? first.filename
      : undefined;
  if (typeof name !== "string") {
    throw new Error(`Cannot fetch ${build.spec}: npm pack named no file`);
  }
  const tarball = `${work}/${name.replace(/^@/, "").replaceAll("/", "-")}`;
  const found = await integrityOf(tarball);
  if (found !== build.integrity) {
    throw new Error(
      `Cannot install ${build.spec}: its integrity is "${found}" and the pin says "${build.integrity}"`,
    );
  }
  await command(`unpack ${build.spec}`, [
    "tar",
    "-xzf",
    tarball,
    "-C",
    `${work}/package`,
    "--strip-components=1",
  ]);
  await Deno.chmod(`${work}/package/${build.binary}`, 0o755);
  const version = await versionOf(`${work}/package/${build.binary}`);
  if (version !== pin.version) {
    throw new Error(
      `Cannot install ${build.spec}: the program says version "${
        version ?? "nothing"
      }", expected "${pin.version}"`,
    );
  }
  await Deno.remove(harnessDir(pin, cache), { recursive: true }).catch(
    () => {},
  );
  await Deno.rename(`${work}/package`, harnessDir(pin, cache));
  await Deno.remove(work, { recursive: true });
}

/**
 * Makes one pinned program present.
 *
 * @param pin The program.
 * @param cache The cache directory.
 * @returns `"present"` when nothing had to be done.
 */
async function fetchHarness(
  pin: HarnessPin,
  cache: string = harnessCache(),
): Promise<"present" | "fetched"> {
  const build = harnessBuild(pin);
  if (!build) {
    throw new Error(
      `Cannot install ${pin.title} ${pin.version}: no build is pinned for "${harnessPlatform()}": pinned are ${
        Object.keys(pin.builds).join(", ")
      }`,
    );
  }
  if (await isPresent(pin, build, harnessDir(pin, cache))) return "present";
  await say(`${pin.title} ${pin.version}: fetching ${build.spec}`);
  if (pin.lock === undefined) await fetchBuild(pin, build, cache);
  else await fetchLocked(pin, build, cache);
  return "fetched";
}

/** One fetch at a time: a second run waits for the first. */
async function lockCache(cache: string): Promise<Deno.FsFile> {
  await Deno.mkdir(cache, { recursive: true });
  const file = await Deno.open(`${cache}/.lock`, { create: true, write: true });
  await file.lock(true);
  return file;
}

async function main(args: readonly string[]): Promise<number> {
  const unknown = args.find((arg) =>
    !HARNESS_PINS.some((pin) => pin.name === arg)
  );
  if (unknown !== undefined) {
    await say(
      `Cannot fetch "${unknown}": usage: ${FETCH_COMMAND} [${
        HARNESS_PINS.map((pin) => pin.name).join("|")
      }]…`,
    );
    return 2;
  }
  const cache = harnessCache();
  using _lock = await lockCache(cache);
  let failed = 0;
  for (const pin of HARNESS_PINS) {
    if (args.length > 0 && !args.includes(pin.name)) continue;
    try {
      const state = await fetchHarness(pin, cache);
      await say(
        `${pin.title} ${pin.version}: ${state}, ${harnessDir(pin, cache)}`,
      );
    } catch (error) {
      failed++;
      await say(reasonOf(error));
    }
  }
  return failed === 0 ? 0 : 1;
}

if (import.meta.main) Deno.exit(await main(Deno.args));
