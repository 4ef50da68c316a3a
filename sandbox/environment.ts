import { requirePermissions } from "./permissions.ts";

/**
 * The variables that every child inherits: enough to find programs, write in the
 * user's language and find temporary space, and nothing that holds a secret.
 */
export const INHERITED_NAMES: readonly string[] = Object.freeze([
  "PATH",
  "HOME",
  "USER",
  "LOGNAME",
  "SHELL",
  "TERM",
  "TMPDIR",
  "TZ",
  "LANG",
  "LANGUAGE",
  "LC_ALL",
  "LC_COLLATE",
  "LC_CTYPE",
  "LC_MESSAGES",
  "LC_MONETARY",
  "LC_NUMERIC",
  "LC_TIME",
]);

/** Windows programs do not start without these. */
const WINDOWS_NAMES: readonly string[] = [
  "SYSTEMROOT",
  "SYSTEMDRIVE",
  "COMSPEC",
  "PATHEXT",
  "TEMP",
  "TMP",
  "USERPROFILE",
  "APPDATA",
  "LOCALAPPDATA",
];

/**
 * True for a variable that makes a program load foreign code before its own:
 * the dynamic loaders' and the interpreters' hooks.
 *
 * @param name The variable's name.
 * @returns Whether passing it on would hand over control.
 *
 * @example Usage
 * ```ts
 * import { isLoaderVariable } from "@bulkhead/sandbox";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(isLoaderVariable("LD_PRELOAD"), true);
 * assertEquals(isLoaderVariable("LANG"), false);
 * ```
 */
export function isLoaderVariable(name: string): boolean {
  return /^(?:LD_|DYLD_)/i.test(name) ||
    /^(?:NODE_OPTIONS|NODE_PATH|PYTHONSTARTUP|PYTHONPATH|PYTHONHOME|PERL5OPT|PERL5LIB|RUBYOPT|RUBYLIB|BASH_ENV|ENV|BASH_FUNC_.*|GCONV_PATH|JAVA_TOOL_OPTIONS|_JAVA_OPTIONS|DENO_PERMISSION_BROKER_PATH)$/i
      .test(name);
}

/**
 * The environment of a child: the short allow-list plus declared names, as far as
 * they are set here. `PATH` loses relative and empty entries, which would make a
 * look-up depend on the working directory.
 *
 * Needs `--allow-env` for the names it reads.
 *
 * @param names Further names to take over.
 * @returns A new object; change it freely.
 * @throws {PermissionRequiredError} When reading a name is not granted.
 *
 * @example Usage
 * ```ts
 * import { inheritedEnvironment } from "@bulkhead/sandbox";
 * import { assertEquals } from "@std/assert";
 *
 * Deno.env.set("MY_TOKEN", "s3cret");
 * assertEquals(inheritedEnvironment().MY_TOKEN, undefined);
 * assertEquals(inheritedEnvironment(["MY_TOKEN"]).MY_TOKEN, "s3cret");
 * ```
 */
export function inheritedEnvironment(
  names: readonly string[] = [],
): Record<string, string> {
  const wanted = [
    ...INHERITED_NAMES,
    ...(Deno.build.os === "windows" ? WINDOWS_NAMES : []),
    ...names,
  ];
  // One question for all of it first: every call of a tool passes here.
  const whole = Deno.permissions.querySync({ name: "env" });
  if (whole.state !== "granted" || whole.partial) {
    requirePermissions(
      "Reading the environment for a child process",
      wanted.map((variable) => ({ name: "env", variable })),
    );
  }
  const env: Record<string, string> = {};
  for (const name of wanted) {
    const value = Deno.env.get(name);
    if (value !== undefined) env[name] = value;
  }
  if (env.PATH !== undefined && Deno.build.os !== "windows") {
    env.PATH = env.PATH.split(":").filter((dir) => dir.startsWith("/"))
      .join(":");
  }
  return env;
}

/**
 * The directory of Bulkhead's own state: the flag, else `$BULKHEAD_HOME`, else
 * `$XDG_DATA_HOME/bulkhead`, else `~/.bulkhead`. It is not created.
 *
 * @param flag The value of `--home`, if one was given.
 * @returns The path as configured.
 * @throws {PermissionRequiredError} When reading the environment is not granted.
 * @throws {Deno.errors.NotFound} When nothing names a home.
 *
 * @example Usage
 * ```ts
 * import { bulkheadHome } from "@bulkhead/sandbox";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(bulkheadHome("/srv/bulkhead"), "/srv/bulkhead");
 * ```
 */
export function bulkheadHome(flag?: string): string {
  if (flag) return flag;
  requirePermissions(
    "Finding the Bulkhead home",
    ["BULKHEAD_HOME", "XDG_DATA_HOME", "HOME"].map((variable) => ({
      name: "env",
      variable,
    })),
  );
  const own = Deno.env.get("BULKHEAD_HOME");
  if (own) return own;
  const data = Deno.env.get("XDG_DATA_HOME");
  if (data) return `${data}/bulkhead`;
  const home = Deno.env.get("HOME") ?? Deno.env.get("USERPROFILE");
  if (home) return `${home}/.bulkhead`;
  throw new Deno.errors.NotFound(
    "Cannot find the Bulkhead home: neither BULKHEAD_HOME nor HOME is set; set BULKHEAD_HOME",
  );
}
