/**
 * Skips a test when a tool is not installed, with one line that names the command
 * which installs it. Under `CI=true` such a skip is a failure instead.
 *
 * @module
 */

/** Commands that install the tools which tests ask for. */
const INSTALL: Record<string, string> = {
  bwrap: "apt-get install bubblewrap",
  gcc: "apt-get install gcc libc6-dev",
  "g++": "apt-get install g++",
  make: "apt-get install make",
  cargo: "apt-get install cargo",
  chromium: "apt-get install chromium",
  "nats-server": "apt-get install nats-server",
  setpriv: "apt-get install util-linux",
  python3: "apt-get install python3",
  git: "apt-get install git",
};

const told = new Set<string>();

/**
 * Whether a tool is installed.
 *
 * @param name The program's name.
 * @param install The command that installs it, when it is not one of the usual.
 * @returns `true`, or `false` after the line was printed (once per tool).
 * @throws {Error} When it is missing under `CI=true`.
 */
export function hasTool(name: string, install?: string): boolean {
  const found = (Deno.env.get("PATH") ?? "").split(":").some((dir) => {
    try {
      return Deno.statSync(`${dir}/${name}`).isFile;
    } catch {
      return false;
    }
  });
  const usable = found && (name !== "cargo" || answers(name));
  if (!usable) skip(name, install ?? INSTALL[name] ?? `install ${name}`);
  return usable;
}

/** A proxy of a version manager may be there without anything behind it. */
function answers(name: string): boolean {
  try {
    return new Deno.Command(name, { args: ["--version"] }).outputSync().success;
  } catch {
    return false;
  }
}

/**
 * Reports something missing: one line, or a failure under `CI=true`.
 *
 * @param name What is missing.
 * @param install The command that installs it.
 */
export function skip(name: string, install: string): void {
  if (Deno.env.get("CI") === "true") {
    throw new Error(`"${name}" is not installed; run: ${install}`);
  }
  if (told.has(name)) return;
  told.add(name);
  Deno.stderr.writeSync(
    new TextEncoder().encode(
      `skipped: "${name}" is not installed; run: ${install}\n`,
    ),
  );
}
