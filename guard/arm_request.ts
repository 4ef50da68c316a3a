/**
 * What is asked for when a guard is armed, checked before anything is touched.
 *
 * @module
 */
import { requirePermissions } from "@bulkhead/sandbox";
import {
  joinPath,
  normalizePath,
  resolveTarget,
} from "@bulkhead/sandbox/paths";
import { loadHarnesses, validateDescriptor } from "./descriptor.ts";
import type { GuardSection, HarnessDescriptor } from "./harnesses/types.ts";
import type { ArmOptions } from "./install.ts";
import type { GuardMarker } from "./marker.ts";

/** The longest life time: ten years. */
const MAX_TTL_MS = 10 * 365 * 24 * 60 * 60 * 1000;

/** The variables that the shim is made from. */
const SHIM_VARIABLES = [
  "DENO_DIR",
  "XDG_CACHE_HOME",
  "SSL_CERT_FILE",
  "NODE_EXTRA_CA_CERTS",
  "HOME",
];

/** All grants before anything is touched: half an arming would have to be undone. */
export function requireGrants(options: ArmOptions): void {
  const path = normalizePath(joinPath(Deno.cwd(), options.root));
  const own = options.exe === undefined;
  requirePermissions("Arming the guard", [
    { name: "read", path },
    { name: "write", path },
    ...own
      ? SHIM_VARIABLES.map((variable) => ({ name: "env" as const, variable }))
      : [],
    ...options.selfCheck !== false || (own && options.bundle !== false)
      ? [{ name: "run" as const }]
      : [],
  ]);
}

/** The harness and its guard, with the names that user layers add. */
export async function guardedHarness(label: string, home: string): Promise<{
  harness: HarnessDescriptor;
  guard: GuardSection;
  tools: GuardMarker["tools"];
}> {
  const { harnesses, added } = await loadHarnesses(home);
  const harness = harnesses.find((one) => one.label === label);
  if (harness === undefined || harness.guard === undefined) {
    const known = harnesses.filter((one) => one.guard).map((one) => one.label);
    throw new TypeError(
      `Cannot arm harness "${label}": ${
        harness ? "it has no guard" : "it is not known"
      }; use one of ${known.join(", ")}`,
    );
  }
  validateDescriptor(harness, "built in");
  const lists = Object.entries(added).filter(([, names]) => names.length > 0);
  return {
    harness,
    guard: harness.guard,
    tools: lists.length > 0
      ? Object.fromEntries(lists.map(([kind, names]) => [kind, [...names]]))
      : undefined,
  };
}

/** The root as an absolute path; it must be a directory. */
export async function existingRoot(path: string): Promise<string> {
  const root = normalizePath(joinPath(Deno.cwd(), path));
  const info = await Deno.stat(root).catch((error: unknown) => {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  });
  if (!info?.isDirectory) {
    throw new Deno.errors.NotFound(
      `Cannot arm the guard in "${root}": it is not a directory`,
    );
  }
  return root;
}

/** The roots to allow; a root that holds everything guards nothing. */
export function rootsOf(options: ArmOptions, root: string): string[] {
  const roots = [root];
  if (options.compat) roots.push(Deno.env.get("TMPDIR") || "/tmp");
  for (const path of options.roots ?? []) {
    roots.push(normalizePath(joinPath(Deno.cwd(), path)));
  }
  const open = roots.find((path) => resolveTarget(path, "/") === "/");
  if (open !== undefined) {
    throw new RangeError(
      `Cannot arm the guard with root "${open}": everything lies inside it, so nothing would be guarded`,
    );
  }
  return [...new Set(roots)];
}

/** When the guard stops judging. */
export function expiryOf(now: number, ttlMs: number): string {
  if (ttlMs > 0 && ttlMs <= MAX_TTL_MS) {
    return new Date(now + ttlMs).toISOString();
  }
  throw new RangeError(
    `Cannot arm the guard for ${ttlMs} ms: it takes more than none and at most ${MAX_TTL_MS} ms`,
  );
}
