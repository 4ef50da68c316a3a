/**
 * Tools that need no question: reading, writing where the guard allows it, and the
 * tools of plugins that were trusted. A shell needs one.
 */
const DEFAULT_ALLOW: readonly string[] = [
  "Read",
  "Glob",
  "Grep",
  "LS",
  "NotebookRead",
  "Write",
  "Edit",
  "MultiEdit",
  "NotebookEdit",
  "apply_patch",
  "mcp__bulkhead",
];

function workerTable(user: Record<string, unknown>): Record<string, unknown> {
  const table = user.worker;
  return typeof table === "object" && table !== null
    ? Object.fromEntries(Object.entries(table))
    : {};
}

/**
 * The tools that need no question: `[worker] allow`, else a default.
 *
 * @param user The user's configuration.
 * @returns Tool names.
 * @throws {TypeError} When the setting has another shape.
 */
export function allowList(user: Record<string, unknown>): readonly string[] {
  const { allow } = workerTable(user);
  if (allow === undefined) return DEFAULT_ALLOW;
  if (
    !Array.isArray(allow) || !allow.every((name) => typeof name === "string")
  ) {
    throw new TypeError(
      'Cannot read config.toml: worker.allow is not a list of tool names; write allow = ["Read"]',
    );
  }
  return allow;
}

/**
 * How long a question may stay open: `[worker] ask_timeout_ms`.
 *
 * @param user The user's configuration.
 * @returns The option for a worker; empty for its default.
 * @throws {TypeError} When the setting has another shape.
 */
export function askTimeout(
  user: Record<string, unknown>,
): { askTimeoutMs?: number } {
  const value = workerTable(user).ask_timeout_ms;
  if (value === undefined) return {};
  if (typeof value !== "number" || !Number.isSafeInteger(value) || value < 0) {
    throw new TypeError(
      `Cannot read config.toml: worker.ask_timeout_ms is ${
        Deno.inspect(value, { breakLength: Infinity })
      }, not a whole number of milliseconds; write ask_timeout_ms = 600000`,
    );
  }
  return { askTimeoutMs: value };
}
