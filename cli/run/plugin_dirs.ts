/**
 * Makes sure that plugins can be looked for where `--plugin-dir` says: a directory that holds plugins, each in its own.
 * A load passes over a directory without any in silence, which is right for a configured one and wrong for a word just
 * typed.
 *
 * @param dirs The directories.
 * @returns The directories, absolute.
 * @throws {TypeError} For what is no directory, and for a plugin's own directory.
 */
export async function pluginDirs(dirs: readonly string[]): Promise<string[]> {
  return await Promise.all(dirs.map(async (given) => {
    const dir = given.startsWith("/") ? given : `${Deno.cwd()}/${given}`;
    const start = `Cannot look for plugins in ${JSON.stringify(given)}: `;
    const info = await stat(dir);
    if (!info?.isDirectory) {
      throw new TypeError(
        `${start}${
          info === undefined
            ? "there is no such directory"
            : "it is not a directory"
        }; give --plugin-dir a directory that holds plugin directories`,
      );
    }
    if ((await stat(`${dir}/plugin.toml`))?.isFile) {
      const real = await Deno.realPath(dir);
      const parent = real.slice(0, real.lastIndexOf("/")) || "/";
      throw new TypeError(
        `${start}it is itself a plugin; give the directory above: --plugin-dir ${
          JSON.stringify(parent)
        }`,
      );
    }
    return dir;
  }));
}

async function stat(path: string): Promise<Deno.FileInfo | undefined> {
  return await Deno.stat(path).catch((error) => {
    if (error instanceof Deno.errors.NotCapable) throw error;
    return undefined;
  });
}
