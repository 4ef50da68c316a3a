/**
 * The hook process's modules as three files, made once per version: loading fifty modules and a
 * parser one by one takes longer than judging a call.
 *
 * @module
 */

import {
  denoEntry,
  ensurePrivateDir,
  inheritedEnvironment,
  run,
  writeFileAtomic,
} from "@bulkhead/sandbox";
import { removeFile, sha256 } from "./files.ts";

/** Milliseconds that bundling gets; the first time it fetches the bundler from npm. */
const BUNDLE_MS = 60_000;

/** Bundles that no shim names any more are removed after this time. */
const KEEP_MS = 24 * 60 * 60 * 1000;

/** What each bundle is made from; {@linkcode file:./hook.ts} loads all but the first by name. */
const PARTS = [
  ["hook.js", "./hook.ts"],
  ["shell.js", "./shell/effects.ts"],
  ["seldom.js", "./shell/commands_seldom.ts"],
] as const;

/** Names that the bundler needs to find npm. */
const NPM_NAMES = [
  "NPM_CONFIG_REGISTRY",
  "npm_config_registry",
  "HTTP_PROXY",
  "HTTPS_PROXY",
  "NO_PROXY",
];

/**
 * Makes the bundle in a directory of its own, or finds the one that is there.
 *
 * @returns The bundled hook, or `undefined` where it cannot be made: the sources do as well,
 * only slower.
 */
export async function bundleHook(bin: string): Promise<URL | undefined> {
  const directory = `${bin}/hook-${(await sourceKey()).slice(0, 16)}`;
  const made = fileUrl(`${directory}/hook.js`);
  if (await isComplete(directory)) return made;
  await ensurePrivateDir(directory);
  for (const [name, module] of PARTS) {
    const text = await bundle(new URL(module, import.meta.url), directory);
    if (text === undefined) return undefined;
    await writeFileAtomic(`${directory}/${name}`, text);
  }
  await removeOld(bin, directory);
  return made;
}

/** Bundles one entry; `undefined` when that cannot be done here. */
async function bundle(
  module: URL,
  directory: string,
): Promise<string | undefined> {
  const output = `${directory}/${crypto.randomUUID()}.js`;
  const { argv, env } = denoEntry(module, { permissions: [] });
  const [deno = Deno.execPath(), , config = "--no-config"] = argv;
  try {
    const result = await run(
      [
        deno,
        "bundle",
        config,
        "--no-lock",
        "--minify",
        "--output",
        output,
        argv.at(-1) ?? module.href,
      ],
      {
        cwd: directory,
        env: { ...inheritedEnvironment(NPM_NAMES), ...env },
        timeoutMs: BUNDLE_MS,
      },
    );
    if (!result.success) return undefined;
    const text = await Deno.readTextFile(output);
    await removeFile(output);
    return text;
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable) throw error;
    return undefined;
  }
}

/** A path as a URL, whatever characters it holds. */
function fileUrl(path: string): URL {
  return new URL(
    `file://${path.split("/").map(encodeURIComponent).join("/")}`,
  );
}

/** The files are written whole or not at all, so being there is enough. */
async function isComplete(directory: string): Promise<boolean> {
  try {
    for (const [name] of PARTS) await Deno.stat(`${directory}/${name}`);
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

/** What the bundle depends on: the sources, or the published version's address. */
async function sourceKey(): Promise<string> {
  const here = new URL(".", import.meta.url);
  const parts = [Deno.version.deno, here.href];
  if (here.protocol === "file:") {
    const root = decodeURIComponent(new URL("..", here).pathname);
    for (const dir of ["guard", "guard/shell", "guard/harnesses"]) {
      parts.push(...await sourcesOf(`${root}${dir}`));
    }
    for (const file of ["sandbox/paths.ts", "sandbox/permissions.ts"]) {
      parts.push(await Deno.readTextFile(root + file));
    }
    parts.push(await Deno.readTextFile(`${root}guard/hook_imports.json`));
  }
  return await sha256(parts.join("\0"));
}

/** The source texts of a directory, in the order of their names. */
async function sourcesOf(directory: string): Promise<string[]> {
  const names: string[] = [];
  for await (const entry of Deno.readDir(directory)) {
    if (entry.isFile && /(?<!_test)\.ts$/.test(entry.name)) {
      names.push(entry.name);
    }
  }
  return await Promise.all(
    names.sort().map((name) => Deno.readTextFile(`${directory}/${name}`)),
  );
}

/** Removes the bundles of earlier versions; a hook that starts right now may still read one. */
async function removeOld(bin: string, current: string): Promise<void> {
  for await (const entry of Deno.readDir(bin)) {
    const path = `${bin}/${entry.name}`;
    if (!/^hook-[0-9a-f]{16}$/.test(entry.name) || path === current) continue;
    const { mtime } = await Deno.stat(path);
    if (mtime !== null && Date.now() - mtime.getTime() > KEEP_MS) {
      await Deno.remove(path, { recursive: true });
    }
  }
}
