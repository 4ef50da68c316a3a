/**
 * What scripting code sees of its surroundings: arguments, environment, home, temporary files.
 *
 * @module
 */

/** What is known around the code. */
export interface CodeSurroundings {
  /** What it sees as its arguments. */
  argv: readonly string[];
  /** The home directory, when known. */
  home: string | undefined;
  /** A variable's value, when known. */
  variable(name: string): string | undefined;
}

/**
 * The text between an interpolation's braces, when it names environment, home or the place of
 * temporary files.
 *
 * @param expression The code between the braces.
 * @param around What is known.
 * @returns Its value.
 */
export function interpolatedSurrounding(
  expression: string,
  around: CodeSurroundings,
): string | undefined {
  const name =
    /^(?:process\.env\.|\$ENV\{|(?:(?:process\.env|os\.environ|ENV)\[|(?:os\.environ\.get|os\.getenv|Deno\.env\.get|ENV\.fetch)\()\s*["'])(\w+)["'\])}\s]*$/
      .exec(expression)?.[1];
  if (name !== undefined) return around.variable(name);
  const given = /^\$ARGV\[(\d+)\]$/.exec(expression)?.[1];
  if (given !== undefined) return around.argv[Number(given)];
  if (
    /^(?:[\w()'":]+\.)*(?:homedir|Path\.home|Dir\.home)(?:\(\))?$/
      .test(expression)
  ) return around.home;
  return /^(?:[\w()'":]+\.)*(?:tmpdir|gettempdir)(?:\(\))?$/.test(expression)
    ? temporaryPlace(around)
    : undefined;
}

/**
 * The system's directory for temporary files.
 *
 * @param around What is known.
 * @returns The directory.
 */
export function temporaryPlace(around: CodeSurroundings): string {
  return around.variable("TMPDIR") || "/tmp";
}

/**
 * Expands a leading tilde, as `expanduser` does.
 *
 * @param text The path.
 * @param around What is known.
 * @returns The path below the home, when that is known.
 */
export function expandHome(text: string, around: CodeSurroundings): string {
  return around.home === undefined
    ? text
    : text.replace(/^~(?=\/|$)/, around.home);
}
