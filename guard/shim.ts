import {
  denoEntry,
  ensurePrivateDir,
  namedPermissions,
  writeFileAtomic,
} from "@bulkhead/sandbox";
import { bundleHook } from "./bundle.ts";
import { HOOK_ENVIRONMENT } from "./hook_arguments.ts";
import {
  type DenialRecord,
  denialRecord,
  DENIALS_DIR,
  DENIALS_FILE,
  MAX_DENIAL_LOG_BYTES,
} from "./denials.ts";

/** Name of the shim in the home's `bin` directory. */
const SHIM = "bulkhead-guard";

/** Variables that would let somebody else's code or rules into the hook process. */
const SCRUBBED = [
  "NODE_OPTIONS",
  "DENO_V8_FLAGS",
  "DENO_PERMISSION_BROKER_PATH",
  "DENO_AUDIT_PERMISSIONS",
  "DENO_AUTH_TOKENS",
  "DENO_CONDITIONS",
];

/**
 * The one executable that a harness starts per tool call.
 *
 * @param home The Bulkhead home.
 * @returns Where the shim lies.
 *
 * @example
 * ```ts
 * import { shimPath } from "@bulkhead/guard";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(shimPath("/home/me/.bulkhead"), "/home/me/.bulkhead/bin/bulkhead-guard");
 * ```
 */
export function shimPath(home: string): string {
  return `${home}/bin/${SHIM}`;
}

/** Options of {@linkcode writeShim}. */
export interface ShimOptions {
  /**
   * Bundle the hook's modules into the home, which makes each call some milliseconds faster.
   * Where that cannot be done the sources are run.
   *
   * @default {true}
   */
  bundle?: boolean;
}

/**
 * Writes the shim: a `sh` script that starts the hook under Deno with exactly the permissions
 * it needs. The denial log lies three directories above the marker, which is the last argument.
 *
 * Needs `--allow-read`, `--allow-write` of the home, `--allow-env`, and `--allow-run` to bundle.
 *
 * @param home The Bulkhead home; made when missing.
 * @param options Whether to bundle the hook's modules.
 * @returns The shim's path.
 *
 * @example
 * ```ts
 * import { writeShim } from "@bulkhead/guard";
 * import { assertEquals } from "@std/assert";
 *
 * const home = await Deno.makeTempDir();
 * const path = await writeShim(home);
 * assertEquals((await Deno.stat(path)).mode! & 0o777, 0o700);
 * await Deno.remove(home, { recursive: true });
 * ```
 */
export async function writeShim(
  home: string,
  options: ShimOptions = {},
): Promise<string> {
  return await namedPermissions(
    "Writing the shim",
    () => write(home, options),
  );
}

/** Writes it, without naming permissions. */
async function write(home: string, options: ShimOptions): Promise<string> {
  const path = shimPath(home);
  await ensurePrivateDir(home);
  await ensurePrivateDir(`${home}/bin`);
  const bundle = options.bundle === false
    ? undefined
    : await bundleHook(`${home}/bin`);
  const text = shimText(bundle);
  if (await sameFile(path, text)) return path;
  await writeFileAtomic(path, text, { mode: 0o700 });
  return path;
}

/** Says whether the file is there, executable for its owner only, with this text. */
async function sameFile(path: string, text: string): Promise<boolean> {
  try {
    const info = await Deno.lstat(path);
    return info.isFile && ((info.mode ?? 0) & 0o777) === 0o700 &&
      await Deno.readTextFile(path) === text;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

/** The script. */
function shimText(bundle: URL | undefined): string {
  const module = bundle ?? new URL("./hook.ts", import.meta.url);
  const entry = denoEntry(module, {
    permissions: ["--allow-read", `--allow-env=${HOOK_ENVIRONMENT.join(",")}`],
    ...bundle !== undefined
      ? { config: false }
      : module.protocol === "file:"
      ? importMap()
      : {},
  });
  const [deno = Deno.execPath(), ...rest] = entry.argv;
  const target = rest.pop() ?? module.href;
  const exports = Object.entries(entry.env).map(([name, value]) =>
    `export ${name}=${shellQuote(value)}`
  );
  return [
    "#!/bin/sh",
    "# Bulkhead write guard: one tool call on stdin, the verdict on stdout.",
    "# Written by `bulkhead guard install`, which overwrites it.",
    `unset ${SCRUBBED.join(" ")}`,
    ...exports,
    "for last do :; done",
    'case "${last-}" in',
    "  /*/*/*/*) root=${last%/*/*/*} ;;",
    "  *) root=$PWD ;;",
    "esac",
    `log=$root/${DENIALS_DIR}`,
    "# A comma would split the permission: grant a relative path instead.",
    'case "$root" in',
    '  *,*) here=$PWD; cd "$root" && log=' + DENIALS_DIR +
    ' && set -- --cwd "$here" "$@" ;;',
    "esac",
    `deno=${shellQuote(deno)} hook=${shellQuote(target)}`,
    `if ${isThere("deno", deno)} && ${isThere("hook", target)}; then`,
    `  exec "$deno" ${rest.map(shellQuote).join(" ")} --allow-write="$log" ` +
    `"$hook" "$@"`,
    "fi",
    ...goneLines(deno, target),
    "",
  ].join("\n");
}

/** A test of `sh` whether what a variable names can be started; what is no path is left to Deno. */
function isThere(variable: string, value: string): string {
  return value.startsWith("/") ? `[ -e "$${variable}" ]` : ":";
}

/**
 * What the shim does when Deno or the hook is gone: a harness takes "not found" for a hook that has no
 * objection, so the call is refused where that was asked for, and else written down as let through.
 */
function goneLines(deno: string, hook: string): string[] {
  const problem =
    `its Deno "${deno}" or its hook "${hook}" is gone; run npm i -g deno and arm again`;
  const record = (
    more: Pick<DenialRecord, "rule" | "event">,
    reason: string,
  ): string => {
    const { timestamp: _, ...rest } = denialRecord(
      { harness: "", tool: "", input: null },
      { reason, targets: [] },
      0,
    );
    return shellQuote(`${JSON.stringify({ ...rest, ...more }).slice(1)}\n`);
  };
  const blocked = `eval guard: blocked because ${problem}`;
  return [
    'case " $* " in',
    '  *" --fail-closed "*)',
    `    line=${record({ rule: "fail-closed" }, blocked)} code=2`,
    `    printf '%s\\n' ${shellQuote(blocked)} >&2 ;;`,
    "  *)",
    `    line=${record({ event: "fail_open" }, problem)} code=127`,
    `    printf '%s\\n' ${
      shellQuote(`eval guard: cannot judge the call: ${problem}`)
    } >&2 ;;`,
    "esac",
    `file=$log/${DENIALS_FILE}`,
    `if [ "$(wc -c < "$file" 2>/dev/null || echo 0)" -lt ${MAX_DENIAL_LOG_BYTES} ]; then`,
    '  mkdir -p "$log" && printf \'{"timestamp":"%s",%s\' "$(date -u +%Y-%m-%dT%H:%M:%S.000Z)" "$line" >> "$file"',
    "fi",
    "exit $code",
  ];
}

/**
 * The two bare names that the hook's modules import, in a map of their own: reading the whole
 * workspace's configuration would take 0.7 ms of each tool call.
 */
function importMap(): { config: false; flags: string[] } {
  const map = new URL("./hook_imports.json", import.meta.url);
  const path = decodeURIComponent(map.pathname);
  return { config: false, flags: [`--import-map=${path}`] };
}

/**
 * Quotes a text for `sh`.
 *
 * @param text Any text without NUL.
 * @returns The text as one shell word.
 *
 * @example
 * ```ts
 * import { shellQuote } from "@bulkhead/guard";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(shellQuote("it's"), `'it'\\''s'`);
 * ```
 */
export function shellQuote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/**
 * Escapes a text for use between double quotes in `sh`; ordinary paths come back unchanged.
 *
 * @param text Any text without NUL.
 * @returns The text with `\`, `"`, `$` and the backtick escaped.
 *
 * @example
 * ```ts
 * import { escapeDoubleQuoted } from "@bulkhead/guard";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(escapeDoubleQuoted("/a b/$x"), "/a b/\\$x");
 * ```
 */
export function escapeDoubleQuoted(text: string): string {
  return text.replace(/[\\"$`]/g, "\\$&");
}

/**
 * Says what will break the shim one day.
 *
 * @param deno The path of the deno binary.
 * @returns A line for a person, or nothing.
 *
 * @example npx cleans its cache
 * ```ts
 * import { runtimeWarning } from "@bulkhead/guard";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(runtimeWarning("/usr/bin/deno"), undefined);
 * assertEquals(runtimeWarning("/root/.npm/_npx/1/node_modules/deno/deno")?.includes("npm i -g deno"), true);
 * ```
 */
export function runtimeWarning(deno: string): string | undefined {
  return deno.includes("/_npx/")
    ? `The hook runs "${deno}", which npx removes one day: install Deno with \`npm i -g deno\` and arm again`
    : undefined;
}
