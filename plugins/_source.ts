/**
 * Where a plugin comes from: a directory, an archive or a git commit, read into one tree.
 *
 * @module
 */
import { sha256Hex } from "./_content_hash.ts";
import { parseGitSource, readGitCommit } from "./_git.ts";
import { inflate } from "./_inflate.ts";
import { InstallError } from "./_install_error.ts";
import { readTar } from "./_tar.ts";
import { quoteWhole } from "./_text.ts";
import {
  checkEntryPath,
  checkTree,
  DEFAULT_LIMITS,
  stripCommonFolder,
  type TreeEntry,
  type TreeLimits,
} from "./_tree.ts";
import { readZip } from "./_zip.ts";

/** A source that was read. */
export interface ReadSource {
  /** The source in the form the lock file keeps. */
  source: string;
  /** What kind of source it is. */
  kind: "directory" | "archive" | "git";
  /** The checked content. */
  entries: TreeEntry[];
  /** The name of a plugin that declares none. */
  fallbackName: string;
  /** The SHA-256 of an archive, in hex. */
  sha256?: string;
  /** True when that SHA-256 was demanded, not only found. */
  pinned?: boolean;
  /** The commit of a git source. */
  commit?: string;
}

/** Options of {@linkcode readSource}. */
export interface ReadSourceOptions {
  /** An empty directory for what git needs. */
  workDir: string;
  /** The SHA-256 an archive must have. */
  sha256?: string;
  /** The limits on the content. */
  limits?: TreeLimits;
  /** Ends the work. */
  signal?: AbortSignal;
}

/**
 * Reads and checks a source; nothing of it is run and nothing is written outside the work directory.
 *
 * @param text A directory, an archive (optionally with `#sha256=HEX`) or `git+…#COMMIT`.
 * @param options Where to work and what to demand.
 * @returns The content.
 * @throws {InstallError} When the source cannot be read or holds what a plugin may not bring.
 */
export async function readSource(
  text: string,
  options: ReadSourceOptions,
): Promise<ReadSource> {
  const limits = { ...DEFAULT_LIMITS, ...options.limits };
  const git = parseGitSource(text);
  if (git !== null) {
    if (options.sha256 !== undefined) {
      throw new InstallError(
        "bad_source",
        "Cannot check a git source against a SHA-256: its commit is the pin",
      );
    }
    const entries = stripCommonFolder(
      await readGitCommit(git, options.workDir, limits, options.signal),
    );
    checkTree(entries, limits);
    const fallbackName = baseName(git.url).replace(/\.git$/, "");
    return {
      source: text,
      kind: "git",
      entries,
      fallbackName,
      commit: git.commit,
    };
  }
  if (/^[a-z][a-z0-9+.-]+:\/\//i.test(text)) {
    throw new InstallError(
      "bad_source",
      `Cannot install from ${quoteWhole(text)}: nothing is downloaded`,
      {
        fix:
          "download it and give the file with --sha256, or write git+https://…#COMMIT",
      },
    );
  }
  const [path, sha256] = splitChecksum(text, options.sha256);
  const real = await realPath(path);
  const info = await Deno.stat(real);
  if (info.isDirectory) {
    if (sha256 !== undefined) {
      throw new InstallError(
        "bad_source",
        `Cannot check the directory ${
          quoteWhole(path)
        } against a SHA-256: only an archive has one`,
      );
    }
    const entries = await readDirectory(real, limits.maxEntries);
    checkTree(entries, limits);
    return {
      source: real,
      kind: "directory",
      entries,
      fallbackName: baseName(real),
    };
  }
  if (!info.isFile) {
    throw new InstallError(
      "bad_source",
      `Cannot install from ${quoteWhole(path)}: it is no file and no directory`,
    );
  }
  return await readArchive(real, sha256, limits);
}

async function readArchive(
  path: string,
  sha256: string | undefined,
  limits: Required<TreeLimits>,
): Promise<ReadSource> {
  const room = limits.maxBytes + 2048 * limits.maxEntries;
  if ((await Deno.stat(path)).size > room) {
    throw new InstallError(
      "too_large",
      `Cannot install from ${
        quoteWhole(path)
      }: it is larger than ${room} bytes`,
    );
  }
  const packed = await Deno.readFile(path);
  const found = await sha256Hex(packed);
  if (sha256 !== undefined && found !== sha256) {
    throw new InstallError(
      "checksum_mismatch",
      `Cannot install from ${
        quoteWhole(path)
      }: its sha256 is ${found}, expected ${sha256}`,
      {
        fix:
          "download the archive again, or ask its publisher for the right SHA-256",
      },
    );
  }
  const bytes = packed[0] === 0x1f && packed[1] === 0x8b
    ? await inflate(packed, "gzip", room)
    : packed;
  const zip = bytes[0] === 0x50 && bytes[1] === 0x4b;
  if (!zip && String.fromCharCode(...bytes.subarray(257, 262)) !== "ustar") {
    throw new InstallError(
      "bad_archive",
      `Cannot install from ${
        quoteWhole(path)
      }: it is no tar, tar.gz or zip archive`,
    );
  }
  const all = zip
    ? await readZip(bytes, limits)
    : readTar(bytes, limits.maxEntries);
  // The Finder of macOS puts a second folder, of its own notes, into every archive.
  const entries = stripCommonFolder(
    all.filter(({ path }) => !/^__MACOSX(\/|$)/.test(path)),
  );
  checkTree(entries, limits);
  const fallbackName = baseName(path).replace(
    /(\.tar\.gz|\.tgz|\.tar|\.zip)$/i,
    "",
  );
  return {
    source: path,
    kind: "archive",
    entries,
    fallbackName,
    sha256: found,
    pinned: sha256 !== undefined,
  };
}

/** Lists a directory; a `.git` at its top is left out. */
async function readDirectory(
  root: string,
  maxEntries: number,
): Promise<TreeEntry[]> {
  const entries: TreeEntry[] = [];
  const pending = [""];
  for (
    let folder = pending.pop();
    folder !== undefined;
    folder = pending.pop()
  ) {
    for await (
      const { name } of Deno.readDir(folder === "" ? root : `${root}/${folder}`)
    ) {
      if (folder === "" && name === ".git") continue;
      const path = checkEntryPath(folder === "" ? name : `${folder}/${name}`);
      const from = `${root}/${path}`;
      const info = await Deno.lstat(from);
      const base = { path, executable: false, size: 0 };
      if (info.isSymlink) {
        entries.push({
          ...base,
          kind: "link",
          target: await Deno.readLink(from),
        });
      } else if (info.isDirectory) {
        entries.push({ ...base, kind: "directory" });
        pending.push(path);
      } else if (info.isFile) {
        const executable = ((info.mode ?? 0) & 0o111) !== 0;
        entries.push({ path, kind: "file", executable, size: info.size, from });
      } else {
        throw new InstallError(
          "unsafe_entry",
          `Cannot install: the entry ${quoteWhole(path)} is a special file`,
        );
      }
      if (entries.length > maxEntries) {
        throw new InstallError(
          "too_large",
          `Cannot install from ${
            quoteWhole(root)
          }: it has more than ${maxEntries} files and folders`,
        );
      }
    }
  }
  return entries.sort((a, b) => a.path < b.path ? -1 : 1);
}

/** Takes `#sha256=HEX` off a path and joins it with the option. */
function splitChecksum(
  text: string,
  option: string | undefined,
): [string, string | undefined] {
  const match = /^(.+)#sha256[=:](.*)$/s.exec(text);
  const path = match?.[1] ?? text;
  const given = [match?.[2], option?.replace(/^sha256[:=]/i, "")].filter((
    value,
  ) => value !== undefined);
  for (const value of given) {
    if (!/^[0-9a-f]{64}$/i.test(value)) {
      throw new InstallError(
        "bad_source",
        `Cannot use ${
          quoteWhole(value)
        } as a SHA-256: it is not 64 hexadecimal digits`,
      );
    }
  }
  const [first, second] = given.map((value) => value.toLowerCase());
  if (second !== undefined && first !== second) {
    throw new InstallError(
      "bad_source",
      `Cannot install from ${
        quoteWhole(path)
      }: two different SHA-256 are demanded`,
    );
  }
  return [path, first];
}

async function realPath(path: string): Promise<string> {
  if (path === "" || path.includes("\0")) {
    throw new InstallError(
      "bad_source",
      `Cannot install from ${quoteWhole(path)}: it is no path`,
    );
  }
  try {
    return await Deno.realPath(path);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    throw new InstallError(
      "bad_source",
      `Cannot install from ${
        quoteWhole(path)
      }: there is no such file or directory`,
      {
        fix: "give a directory, an archive, or git+https://…#COMMIT",
      },
    );
  }
}

function baseName(path: string): string {
  return path.replace(/\/+$/, "").split("/").at(-1) ?? "";
}
