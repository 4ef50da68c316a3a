// deno-lint-ignore-file no-console -- an example that people copy
/**
 * The guard as a library: judge calls before you run them.
 *
 * ```sh
 * deno run --allow-read examples/guard_library.ts
 * ```
 */
import { decideCall, type GuardMarker } from "@bulkhead/guard";

const marker: GuardMarker = {
  active: true,
  allowedRoots: [Deno.cwd()],
  hints: true,
};

const commands = [
  "echo done > report.txt",
  "cd .. && echo done > report.txt",
  "find . -name '*.tmp' -exec rm {} +",
  "git commit -m 'echo > /etc/passwd'",
  "tar xf a.tgz -C /srv",
];
for (const command of commands) {
  const decision = decideCall(
    { toolName: "Bash", toolInput: { command }, cwd: Deno.cwd() },
    marker,
    { now: Date.now() },
  );
  console.log(decision.allow ? "allow" : "deny ", command);
  if (!decision.allow) console.log("     ", decision.reason);
}
