import { describeFailure } from "@bulkhead/sandbox/command";
import type { Finding, Scene } from "./finding.ts";

/** What is written to find out whether the home takes a file: a block of a usual file system. */
const BLOCK = 4096;

/**
 * Looks at the home: that it is a directory, ours alone, and takes files.
 *
 * @param scene Where it is, and whether to mend its mode.
 * @param write Writes something below the directory and removes it again.
 * @returns One line.
 */
export async function checkHome(
  { home, fix }: Scene,
  write: (dir: string) => Promise<void> = writeBlock,
): Promise<Finding[]> {
  const area = "home";
  let mode: number;
  try {
    const info = await Deno.stat(home);
    if (!info.isDirectory) {
      return [{
        area,
        status: "broken",
        text: `${home} is not a directory`,
        fix: "give another --home, or set BULKHEAD_HOME",
      }];
    }
    mode = (info.mode ?? 0) & 0o777;
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    const taken = await takesFile(await nearest(home), write);
    return [
      taken === undefined
        ? { area, status: "ok", text: `${home} does not exist yet` }
        : unwritable(
          `${home} does not exist, and what it would lie in`,
          home,
          taken,
        ),
    ];
  }
  const findings: Finding[] = [];
  const taken = await takesFile(home, write);
  if (taken !== undefined) findings.push(unwritable(home, home, taken));
  if ((mode & 0o077) === 0) {
    return findings.length > 0
      ? findings
      : [{ area, status: "ok", text: home }];
  }
  if (fix) {
    await Deno.chmod(home, 0o700);
    findings.push({
      area,
      status: "mended",
      text: `${home} was open to others`,
    });
    return findings;
  }
  findings.push({
    area,
    status: "broken",
    text: `${home} can be entered by others (mode ${mode.toString(8)})`,
    fix: `chmod 700 ${home}`,
  });
  return findings;
}

/**
 * Finds out what keeps a directory from taking a file.
 *
 * @param dir The directory.
 * @param write Writes something below it and removes it again.
 * @returns What was thrown; nothing when it takes one, or when that may not be tried.
 */
export async function takesFile(
  dir: string,
  write: (dir: string) => Promise<void> = writeBlock,
): Promise<unknown> {
  try {
    await write(dir);
  } catch (error) {
    // A doctor who may only look does not know.
    if (!(error instanceof Deno.errors.NotCapable)) return error;
  }
  return undefined;
}

/** The directory that a path which does not exist would be made in. */
async function nearest(path: string): Promise<string> {
  const above = path.replace(/\/[^/]*$/, "") || "/";
  try {
    await Deno.stat(above);
    return above;
  } catch {
    return above === "/" ? above : await nearest(above);
  }
}

function unwritable(what: string, home: string, error: unknown): Finding {
  const { message } = describeFailure(error);
  const full = message.includes("no space is left");
  const why = full
    ? "no space is left on its device"
    : message.replace(/^.*: (?=[^:]*$)/, "");
  return {
    area: "home",
    status: "broken",
    text: `${what} takes no file: ${why}`,
    fix: full
      ? `free some space (df -h ${home}), or give another --home`
      : `make it writable, or give another --home`,
  };
}

/** An empty file needs no space, so there is something in it. */
async function writeBlock(dir: string): Promise<void> {
  const path = `${dir}/.doctor-${crypto.randomUUID()}`;
  try {
    await Deno.writeFile(path, new Uint8Array(BLOCK), {
      createNew: true,
      mode: 0o600,
    });
  } finally {
    await Deno.remove(path).catch(() => {});
  }
}
