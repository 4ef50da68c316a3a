/**
 * One commit of a git repository as a tree, without running anything the repository brings.
 *
 * No work tree is ever checked out: the commit is fetched into an empty bare repository and read back as a tar
 * archive. Hooks, filters, submodules, the configuration of the user and of the system are all out of play.
 *
 * @module
 */
import { inheritedEnvironment, run } from "@bulkhead/sandbox";
import { InstallError } from "./_install_error.ts";
import { readTar } from "./_tar.ts";
import { printable, quote, quoteWhole } from "./_text.ts";
import type { TreeEntry } from "./_tree.ts";

/** The transports, by the scheme after `git+`. */
const PROTOCOLS: ReadonlySet<string> = new Set([
  "https",
  "http",
  "ssh",
  "file",
]);
/** How long one git command may take. */
const TIMEOUT_MS = 300_000;

/** What git's transports need from the environment beyond the short list. */
const TRANSPORT_VARIABLES: readonly string[] = [
  "SSH_AUTH_SOCK",
  "HTTP_PROXY",
  "http_proxy",
  "HTTPS_PROXY",
  "https_proxy",
  "ALL_PROXY",
  "all_proxy",
  "NO_PROXY",
  "no_proxy",
  "SSL_CERT_FILE",
  "SSL_CERT_DIR",
];

/** A pinned commit. */
export interface GitSource {
  /** The address that git gets. */
  url: string;
  /** The full commit. */
  commit: string;
  /** The transport. */
  protocol: string;
}

/**
 * Parses `git+<scheme>://…#<commit>`.
 *
 * @param text The source as given.
 * @returns The parts, or `null` when the text does not start with `git+`.
 * @throws {InstallError} When the scheme is not allowed or the commit is not a full one.
 */
export function parseGitSource(text: string): GitSource | null {
  if (!text.startsWith("git+")) return null;
  const hash = text.indexOf("#");
  const url = text.slice(4, hash < 0 ? undefined : hash);
  const commit = hash < 0 ? "" : text.slice(hash + 1);
  const protocol = /^([a-z]+):\/\/[^-]/.exec(url)?.[1] ?? "";
  // deno-lint-ignore no-control-regex -- control characters are what is looked for
  if (!PROTOCOLS.has(protocol) || /[\u0000-\u0020\u007f]/.test(url)) {
    throw new InstallError(
      "bad_source",
      `Cannot install from ${
        quoteWhole(text)
      }: the address is not https, http, ssh or file`,
      { fix: "write git+https://HOST/REPOSITORY#COMMIT" },
    );
  }
  if (!/^([0-9a-f]{40}|[0-9a-f]{64})$/.test(commit)) {
    throw new InstallError(
      "bad_source",
      `Cannot install from ${quoteWhole(text)}: ${
        quote(commit)
      } is not a full commit`,
      {
        fix:
          "pin the source with #COMMIT, all 40 digits of it (git rev-parse HEAD)",
      },
    );
  }
  return { url, commit, protocol };
}

/**
 * Reads one commit.
 *
 * @param source The repository and the commit.
 * @param dir An empty directory to work in; the caller removes it.
 * @param limits The largest number of entries and of bytes.
 * @param signal Ends the fetch.
 * @returns The entries of the commit.
 * @throws {InstallError} When git is missing, the commit cannot be had or is too large.
 */
export async function readGitCommit(
  source: GitSource,
  dir: string,
  limits: { maxEntries: number; maxBytes: number },
  signal?: AbortSignal,
): Promise<TreeEntry[]> {
  const git = async (args: string[]): Promise<void> => {
    const result = await runGit(
      args,
      dir,
      source.protocol,
      limits.maxBytes,
      signal,
    );
    if (result !== null) throw result;
  };
  const repository = `${dir}/repository`;
  await git(["init", "--quiet", "--bare", "--template=", "--", repository]);
  const fetch = [
    "--git-dir",
    repository,
    "fetch",
    "--quiet",
    "--no-tags",
    "--no-recurse-submodules",
  ];
  try {
    await git([...fetch, "--depth=1", "--", source.url, source.commit]);
  } catch (error) {
    if (
      !(error instanceof InstallError) || error.code !== "git_failed" ||
      signal?.aborted
    ) throw error;
    // Some servers give single commits to nobody: take all branches and tags then.
    await git([
      ...fetch,
      "--",
      source.url,
      "+refs/heads/*:refs/heads/*",
      "+refs/tags/*:refs/tags/*",
    ]);
  }
  // The repository's own attributes could leave files out or rewrite them.
  await Deno.mkdir(`${repository}/info`, { recursive: true });
  await Deno.writeTextFile(
    `${repository}/info/attributes`,
    "* -export-ignore -export-subst -text -eol -filter -ident -working-tree-encoding\n",
  );
  const tar = `${dir}/commit.tar`;
  await git([
    "--git-dir",
    repository,
    "archive",
    "--format=tar",
    `--output=${tar}`,
    `${source.commit}^{commit}`,
  ]);
  const { size } = await Deno.stat(tar);
  if (size > limits.maxBytes + 2048 * limits.maxEntries) {
    throw new InstallError(
      "too_large",
      `Cannot install ${source.commit}: it unpacks to more than ${limits.maxBytes} bytes`,
    );
  }
  return readTar(await Deno.readFile(tar), limits.maxEntries);
}

/** Runs git; the result is the error, or `null` when all went well. */
async function runGit(
  args: string[],
  cwd: string,
  protocol: string,
  maxBytes: number,
  signal?: AbortSignal,
): Promise<InstallError | null> {
  const settings = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.autocrlf=false",
    "core.attributesFile=/dev/null",
    "credential.helper=",
    "submodule.recurse=false",
    "fetch.fsckObjects=true",
    "transfer.fsckObjects=true",
    "protocol.allow=never",
    `protocol.${protocol}.allow=always`,
    "gc.auto=0",
    "maintenance.auto=false",
  ].flatMap((setting) => ["-c", setting]);
  const argv = ["git", ...settings, ...args];
  // No file that git writes may outgrow twice the limit, so that a huge repository cannot fill the disk.
  const bounded = Deno.build.os === "windows" ? argv : [
    "sh",
    "-c",
    'ulimit -f "$1"; shift; exec "$@"',
    "sh",
    String(Math.ceil(maxBytes / 256)),
    ...argv,
  ];
  let result;
  try {
    result = await run(bounded, {
      cwd,
      env: {
        ...inheritedEnvironment(TRANSPORT_VARIABLES),
        GIT_CONFIG_NOSYSTEM: "1",
        GIT_CONFIG_GLOBAL: "/dev/null",
        GIT_ATTR_NOSYSTEM: "1",
        GIT_TERMINAL_PROMPT: "0",
        GIT_ASKPASS: "",
        SSH_ASKPASS: "",
        GIT_SSH_COMMAND: "ssh -oBatchMode=yes",
        GIT_ALLOW_PROTOCOL: protocol,
        GIT_OPTIONAL_LOCKS: "0",
        LC_ALL: "C",
      },
      timeoutMs: TIMEOUT_MS,
      maxBytes: 65_536,
      ...(signal === undefined ? {} : { signal }),
    });
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    return missing();
  }
  if (result.success) return null;
  if (result.code === 127) return missing();
  // Git explains in several lines; the first complaint names the thing.
  const lines = result.stderr.split("\n").map((line) => line.trim())
    .filter((line) => line !== "");
  const said = (lines.find((line) => /^(?:fatal|error):/.test(line)) ??
    lines.at(-1) ?? "").replace(/^(?:fatal|error): /, "");
  const why = result.timedOut
    ? `it took longer than ${TIMEOUT_MS / 1000} s`
    : result.aborted
    ? "it was cancelled"
    : said === ""
    ? `git ended with ${result.code ?? result.signal}`
    : printable(said);
  return new InstallError("git_failed", `Cannot read the commit: ${why}`);
}

function missing(): InstallError {
  return new InstallError(
    "git_failed",
    "Cannot read the commit: git is not installed",
    {
      fix:
        "apt-get install git (or your system's way), or install from a directory or an archive",
    },
  );
}
