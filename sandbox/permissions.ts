/**
 * A permission that was not granted, with the flag that grants it.
 *
 * @example Usage
 * ```ts
 * import { PermissionRequiredError } from "@bulkhead/sandbox";
 * import { assertEquals } from "@std/assert";
 *
 * const error = new PermissionRequiredError("Running a tool", "--allow-run");
 * assertEquals(
 *   error.message,
 *   "Running a tool needs --allow-run: run again with --allow-run",
 * );
 * ```
 */
export class PermissionRequiredError extends Deno.errors.NotCapable {
  /** The flag (or flags) to add to the command line. */
  readonly flag: string;

  /**
   * Creates the error.
   *
   * @param what What was tried, as the start of a sentence.
   * @param flag The missing flag, for example `--allow-run`.
   * @param options The error it stands for, as `cause`.
   */
  constructor(what: string, flag: string, options?: ErrorOptions) {
    super(`${what} needs ${flag}: run again with ${flag}`, options);
    this.name = "PermissionRequiredError";
    this.flag = flag;
  }
}

/**
 * Checks that all permissions are granted, without asking anybody.
 *
 * @param what What needs them, as the start of a sentence.
 * @param descriptors The permissions, as `Deno.permissions.query` takes them.
 * @throws {PermissionRequiredError} Naming the flags of all that are missing.
 *
 * @example Usage
 * ```ts
 * import { requirePermissions } from "@bulkhead/sandbox";
 *
 * requirePermissions("Starting a tool", [{ name: "run" }]);
 * ```
 */
export function requirePermissions(
  what: string,
  descriptors: readonly Deno.PermissionDescriptor[],
): void {
  const missing = descriptors.filter((descriptor) =>
    Deno.permissions.querySync(descriptor).state !== "granted"
  );
  if (missing.length > 0) {
    throw new PermissionRequiredError(what, flagsFor(missing));
  }
}

/** The command line flags that grant the descriptors, one flag per kind. */
function flagsFor(descriptors: readonly Deno.PermissionDescriptor[]): string {
  const values = new Map<string, Set<string>>();
  for (const descriptor of descriptors) {
    const kind = values.get(descriptor.name) ?? new Set<string>();
    values.set(descriptor.name, kind);
    kind.add(valueOf(descriptor));
  }
  return [...values].map(([name, kind]) =>
    kind.has("") ? `--allow-${name}` : `--allow-${name}=${[...kind].join(",")}`
  ).join(" ");
}

function valueOf(descriptor: Deno.PermissionDescriptor): string {
  switch (descriptor.name) {
    case "env":
      return descriptor.variable ?? "";
    case "net":
      return descriptor.host ?? "";
    case "run":
      return String(descriptor.command ?? "");
    case "sys":
      return descriptor.kind ?? "";
    case "read":
    case "write":
    case "ffi":
      return String(descriptor.path ?? "");
    default:
      return "";
  }
}

/**
 * Runs a function and turns Deno's own refusal into a
 * {@linkcode PermissionRequiredError} that names the flag.
 *
 * @param what What is tried, as the start of a sentence.
 * @param fn The work.
 * @returns What the function returns.
 * @throws {PermissionRequiredError} When a grant was missing inside.
 *
 * @example Usage
 * ```ts
 * import { namedPermissions } from "@bulkhead/sandbox";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(await namedPermissions("Adding", () => Promise.resolve(2)), 2);
 * ```
 */
export async function namedPermissions<T>(
  what: string,
  fn: () => Promise<T>,
): Promise<T> {
  try {
    return await fn();
  } catch (error) {
    throw namePermission(what, error);
  }
}

/**
 * The error to throw in place of a caught one: a refusal gets its flag named,
 * anything else comes back as it is.
 *
 * @param what What was tried, as the start of a sentence.
 * @param error What was caught.
 * @returns The error to throw.
 *
 * @example Usage
 * ```ts
 * import { namePermission } from "@bulkhead/sandbox";
 * import { assertEquals } from "@std/assert";
 *
 * const refusal = new Deno.errors.NotCapable(
 *   'Requires read access to "/etc/hosts", run again with the --allow-read flag',
 * );
 * const named = namePermission("Reading the hosts", refusal);
 * assertEquals(
 *   named instanceof Error && named.message,
 *   "Reading the hosts needs --allow-read=/etc/hosts: run again with --allow-read=/etc/hosts",
 * );
 * ```
 */
export function namePermission(what: string, error: unknown): unknown {
  if (
    !(error instanceof Deno.errors.NotCapable) ||
    error instanceof PermissionRequiredError
  ) return error;
  const flag = /the (--allow-[a-z]+) flag/.exec(error.message)?.[1] ??
    "--allow-all";
  const value = /access to (?:env var )?"([^"]+)"/.exec(error.message)?.[1];
  // A comma would be read as two values, so only the kind can be named then.
  const full = value && flag !== "--allow-all" && !value.includes(",")
    ? `${flag}=${value}`
    : flag;
  return new PermissionRequiredError(what, full, { cause: error });
}

/** Permissions of a Deno child, by kind; an absent or empty list grants nothing. */
export interface DenoPermissions {
  /** Files and directories that may be read. */
  read?: readonly string[];
  /** Files and directories that may be written. */
  write?: readonly string[];
  /** Hosts, with or without a port. */
  net?: readonly string[];
  /** Names of environment variables. */
  env?: readonly string[];
  /** Programs that may be started. */
  run?: readonly string[];
  /** Native libraries. */
  ffi?: readonly string[];
  /** System information kinds. */
  sys?: readonly string[];
}

/**
 * The exact flags for a set of permissions, sorted by kind.
 *
 * @param permissions What to grant. Paths must be absolute and free of `..`.
 * @returns The flags, for example `["--allow-read=/work"]`.
 * @throws {TypeError} For a value that would grant more than it says: one with a
 * comma (Deno splits there), an empty one, or one with a NUL or line break.
 *
 * @example Usage
 * ```ts
 * import { denoFlags } from "@bulkhead/sandbox";
 * import { assertEquals, assertThrows } from "@std/assert";
 *
 * assertEquals(denoFlags({ read: ["/work"], net: [] }), ["--allow-read=/work"]);
 * assertThrows(() => denoFlags({ read: ["/work,/etc"] }), TypeError, "comma");
 * ```
 */
export function denoFlags(permissions: DenoPermissions): string[] {
  const flags: string[] = [];
  for (
    const kind of ["read", "write", "net", "env", "run", "ffi", "sys"] as const
  ) {
    const values = permissions[kind];
    if (!values || values.length === 0) continue;
    for (const value of values) checkValue(kind, value);
    flags.push(`--allow-${kind}=${values.join(",")}`);
  }
  return flags;
}

function checkValue(kind: string, value: string): void {
  const found = value === ""
    ? "an empty value"
    : value.includes(",")
    ? "a comma, which would split it"
    // deno-lint-ignore no-control-regex -- control characters are what is looked for
    : /[\0-\x1f]/.test(value)
    ? "a control character"
    : undefined;
  if (found) {
    throw new TypeError(
      `Cannot grant ${kind} of ${JSON.stringify(value)}: it holds ${found}`,
    );
  }
}
