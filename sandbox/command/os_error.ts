/** What a system call was for, by the name that Deno's messages give it. */
const TRIED: Readonly<Record<string, string>> = {
  chmod: "change the mode of",
  copy: "copy",
  link: "link",
  lstat: "look at",
  mkdir: "make the directory",
  open: "open",
  readdir: "list",
  readfile: "read",
  readlink: "read the link",
  realpath: "resolve",
  remove: "remove",
  rename: "rename",
  stat: "look at",
  symlink: "link",
  tmpdir: "make a temporary directory",
  tmpfile: "make a temporary file",
  writefile: "write",
};

const ELSEWHERE = "choose another place";
/** What is added to it for a path of Bulkhead's own. */
const BY_HOME = ", for Bulkhead's own files by --home or BULKHEAD_HOME";

/** What was found and what to do, by the number of the system's error. */
const FOUND: Readonly<Record<number, readonly [string, string?]>> = {
  1: ["the system does not permit it", `check who owns it, or ${ELSEWHERE}`],
  2: ["there is no such file or directory"],
  13: ["its permissions forbid it", `check who owns it, or ${ELSEWHERE}`],
  17: ["something else is there already", ELSEWHERE],
  20: ["a part of its path is not a directory", ELSEWHERE],
  21: ["it is a directory"],
  28: ["no space is left on the device", "free some space"],
  30: ["its file system is read-only", ELSEWHERE],
};

const RAW =
  /([A-Z][^():]*) \(os error (\d+)\)(?:: (?:([a-z]+)(?: '([^']*)'(?: -> '([^']*)')?)?(?= *(?:[;,.]|$))))?/;

/**
 * An error of the operating system in words that a person can act on. Text around
 * it stays.
 *
 * @param message A message, such as `Not a directory (os error 20): mkdir '/dev/null/x'`.
 * @param home The Bulkhead home: only what lies there, or on the way there, is moved by --home.
 * @param command The command that was typed, for an error that does not say what was tried.
 * @returns The message and what to do; nothing when it holds no such error.
 */
export function plainOsError(
  message: string,
  home?: string,
  command?: string,
): { message: string; fix?: string } | undefined {
  const raw = RAW.exec(message);
  if (raw === null) return undefined;
  const [whole, words = "", number = "", call = "", path, other] = raw;
  const [why, known] = FOUND[Number(number)] ??
    [words.charAt(0).toLowerCase() + words.slice(1)];
  // What is to be made needs no file, but a place that takes it.
  const advice = known ?? (/^(?:mkdir|writefile|tmpfile)$/.test(call) &&
      number === "2"
    ? ELSEWHERE
    : undefined);
  const fix = advice?.endsWith(ELSEWHERE) && isOwn(path, home)
    ? advice + BY_HOME
    : advice;
  const before = message.slice(0, raw.index);
  const tried = TRIED[call];
  const named = path === undefined ? "" : ` "${path}"`;
  const told = before === "" && tried !== undefined
    ? `Cannot ${tried}${named}${
      other === undefined ? "" : ` as "${other}"`
    }: ${why}`
    : before === "" && path === undefined && command !== undefined
    ? `Cannot finish "${command}": ${why}`
    : before.includes(named) || named === ""
    ? why
    : `${why} (${named.trim()})`;
  return {
    message: before + told + message.slice(raw.index + whole.length),
    // A message that went on has said what to do.
    ...fix === undefined || message.includes("; ") ? {} : { fix },
  };
}

function isOwn(path: string | undefined, home: string | undefined): boolean {
  if (path === undefined || home === undefined) return false;
  const below = (one: string, other: string): boolean =>
    one === other || one.startsWith(other.endsWith("/") ? other : `${other}/`);
  return below(path, home) || below(home, path);
}
