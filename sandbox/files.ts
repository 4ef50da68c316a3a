import { namedPermissions } from "./permissions.ts";

/** Options of {@linkcode writeFileAtomic}. */
export interface WriteFileOptions {
  /**
   * Permission bits of the new file.
   *
   * @default {0o600}
   */
  mode?: number;
}

/**
 * Writes a whole file so that a crash at any moment leaves the old or the new one:
 * a temporary file beside it, flushed, renamed over it, the directory flushed.
 *
 * Needs `--allow-read` and `--allow-write` of the file's directory.
 *
 * @param path The file. A link is replaced, not followed.
 * @param data Its new content.
 * @param options The mode.
 * @throws {PermissionRequiredError} When a grant is missing.
 *
 * @example Usage
 * ```ts
 * import { writeFileAtomic } from "@bulkhead/sandbox";
 * import { assertEquals } from "@std/assert";
 *
 * const dir = await Deno.makeTempDir();
 * await writeFileAtomic(`${dir}/state.json`, "{}\n");
 * assertEquals(await Deno.readTextFile(`${dir}/state.json`), "{}\n");
 * await Deno.remove(dir, { recursive: true });
 * ```
 */
export async function writeFileAtomic(
  path: string,
  data: string | Uint8Array,
  options: WriteFileOptions = {},
): Promise<void> {
  await namedPermissions(`Writing "${path}"`, async () => {
    const dir = directoryOf(path);
    const name = path.slice(path.lastIndexOf("/") + 1);
    const temporary = `${dir}/.${name}.${crypto.randomUUID()}.tmp`;
    const bytes = typeof data === "string"
      ? new TextEncoder().encode(data)
      : data;
    const mode = options.mode ?? 0o600;
    const file = await Deno.open(temporary, {
      write: true,
      createNew: true,
      mode,
    });
    try {
      try {
        let at = 0;
        while (at < bytes.length) at += await file.write(bytes.subarray(at));
        await file.sync();
      } catch (error) {
        // The system's own words name no file.
        if (error instanceof Error && /\(os error \d+\)$/.test(error.message)) {
          error.message += `: writefile '${path}'`;
        }
        throw error;
      } finally {
        file.close();
      }
      // The mode of open() is subject to the umask.
      if (Deno.build.os !== "windows") await Deno.chmod(temporary, mode);
      await Deno.rename(temporary, path);
    } catch (error) {
      await Deno.remove(temporary).catch(() => {});
      throw error;
    }
    await syncDirectory(dir);
  });
}

/** Flushes a directory's entries; without it a rename may be lost in a power cut. */
async function syncDirectory(dir: string): Promise<void> {
  if (Deno.build.os === "windows") return;
  const handle = await Deno.open(dir, { read: true });
  try {
    await handle.sync();
  } finally {
    handle.close();
  }
}

function directoryOf(path: string): string {
  const at = path.lastIndexOf("/");
  return at < 0 ? "." : at === 0 ? "/" : path.slice(0, at);
}

/**
 * Makes sure that a directory exists and that only its owner can enter it (0700).
 *
 * Needs `--allow-read` and `--allow-write` of the directory.
 *
 * @param path The directory; missing parents are made too.
 * @throws {PermissionRequiredError} When a grant is missing.
 *
 * @example Usage
 * ```ts
 * import { ensurePrivateDir } from "@bulkhead/sandbox";
 * import { assertEquals } from "@std/assert";
 *
 * const dir = await Deno.makeTempDir();
 * await ensurePrivateDir(`${dir}/a/b`);
 * const mode = (await Deno.stat(`${dir}/a/b`)).mode ?? 0;
 * assertEquals(mode & 0o777, 0o700);
 * await Deno.remove(dir, { recursive: true });
 * ```
 */
export async function ensurePrivateDir(path: string): Promise<void> {
  await namedPermissions(`Creating the directory "${path}"`, async () => {
    await Deno.mkdir(path, { recursive: true, mode: 0o700 });
    if (Deno.build.os === "windows") return;
    const mode = (await Deno.stat(path)).mode ?? 0;
    if ((mode & 0o077) !== 0) await Deno.chmod(path, 0o700);
  });
}
