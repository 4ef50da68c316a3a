import type { ProgramSpec } from "./_program.ts";
import { printable, quote, shown } from "./_text.ts";
import type { SandboxLevel } from "./config.ts";
import type { PluginManifest } from "./manifest.ts";

/**
 * Everything in a manifest that can run or reach something, one printable line each. The same lines are put to a person
 * and compared when the content changes, so nothing that is run can be missing from the comparison.
 */
export function disclose(manifest: PluginManifest): string[] {
  const lines: string[] = [];
  for (const tool of manifest.tools) {
    lines.push(
      `tool ${quote(tool.name)} runs: ${commandLine(tool)}${reach(tool)}`,
    );
  }
  for (const hook of manifest.hooks) {
    const filter = hook.matcher === "*" ? "" : ` for ${quote(hook.matcher)}`;
    const fires = hook.fires === undefined
      ? " (not an event of this version, never fired)"
      : "";
    lines.push(
      `hook on ${printable(hook.event)}${filter}${fires} runs: ${
        commandLine(hook)
      }${reach(hook)}; when it fails: ${hook.onError}`,
    );
  }
  if (manifest.native !== undefined) {
    lines.push(
      `native library loaded into a child process: ${
        shown(manifest.native.library)
      }`,
    );
  }
  return lines;
}

/** Whether a disclosure names a hook whose failure blocks: a policy that others rely on. */
export function blocksOnError(lines: readonly string[]): boolean {
  return lines.some((line) =>
    line.startsWith("hook on ") && line.endsWith("; when it fails: block")
  );
}

/** What two disclosures differ in: `- ` gone, `+ ` new. */
export function diffLines(
  before: readonly string[],
  after: readonly string[],
): string[] {
  return [
    ...before.filter((line) => !after.includes(line)).map((line) =>
      `- ${line}`
    ),
    ...after.filter((line) => !before.includes(line)).map((line) =>
      `+ ${line}`
    ),
  ];
}

/** The command line of a tool or hook as the manifest has it, nothing cut. */
export function commandLine(spec: ProgramSpec): string {
  const { program } = spec;
  const words = program.kind === "deno"
    ? ["deno", "run", program.module, ...program.args]
    : [program.command, ...program.args];
  return words.map(shown).join(" ");
}

function reach(spec: ProgramSpec): string {
  const parts: string[] = [];
  const { permissions } = spec;
  if (permissions === undefined) {
    parts.push(
      spec.program.kind === "deno" ? "no permissions" : "default permissions",
    );
  } else {
    for (const kind of ["read", "write"] as const) {
      if (permissions[kind].length > 0) {
        parts.push(`${kind} ${permissions[kind].map(shown).join(", ")}`);
      }
    }
    if (permissions.net.length > 0) {
      parts.push(network(permissions.net, spec.program.kind));
    }
    if (parts.length === 0) parts.push("no permissions");
  }
  if (spec.env.length > 0) parts.push(`environment ${spec.env.join(", ")}`);
  return `; ${parts.join("; ")}`;
}

/** No sandbox filters by host: who grants one grants all. */
function network(
  hosts: readonly string[],
  kind: ProgramSpec["program"]["kind"],
): string {
  const asked = hosts.map(shown).join(", ");
  return kind === "deno"
    ? `the WHOLE network (Deno itself keeps to ${asked}, the sandbox does not)`
    : `the WHOLE network (asked for ${asked}; no sandbox filters by host)`;
}

/** What isolation means for the person who is asked. */
export function isolationLine(
  level: SandboxLevel,
  backend: string,
): string {
  if (level === "off") {
    return "sandbox: OFF by configuration, everything above runs with all of your rights";
  }
  if (backend !== "none") {
    return `sandbox: ${backend}; default permissions are: read the plugin, the workspace and what the program needs to start, write the plugin's data directory, no network`;
  }
  return level === "required"
    ? "sandbox: required but not available here, nothing above can run until it is"
    : "sandbox: NOT AVAILABLE here and only preferred, everything above runs with all of your rights";
}
