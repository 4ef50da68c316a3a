// deno-lint-ignore-file camelcase -- field names of hook payloads
import { run } from "@bulkhead/sandbox";
import { isInside, resolveTarget } from "@bulkhead/sandbox/paths";
import type { GuardSection, HarnessDescriptor } from "./harnesses/types.ts";
import { stagedCommand } from "./hook_file.ts";
import type { GuardPlaces } from "./places.ts";

/** Milliseconds that the staged command gets. */
const SELF_CHECK_MS = 15_000;

/** The staged command did not deny an outside write. */
export class SelfCheckError extends Error {
  /**
   * Creates the error.
   *
   * @param message What was run and what came back.
   */
  constructor(message: string) {
    super(message);
    this.name = "SelfCheckError";
  }
}

/** What the self-check looks at. */
export interface SelfCheckSubject {
  /** The harness. */
  harness: HarnessDescriptor;
  /** Its guard. */
  guard: GuardSection;
  /** Where its parts lie. */
  places: GuardPlaces;
  /** The roots of the marker. */
  allowedRoots: readonly string[];
}

/** Runs the staged command as the harness would, in an empty environment, with an outside write. */
export async function selfCheck(subject: SelfCheckSubject): Promise<void> {
  const { harness, guard, places } = subject;
  const text = await Deno.readTextFile(resolveTarget(places.hook, "/"));
  const argv = stagedCommand(guard, harness.label, text, places.marker);
  if (argv === undefined) {
    throw new SelfCheckError(
      `Cannot prove the guard of ${harness.label}: no hook of ours is in "${places.hook}"; run \`bulkhead guard teardown\` and arm again`,
    );
  }
  const target = outsidePath(subject.allowedRoots);
  const input = { file_path: target, content: "" };
  const tool = harness.tools.write[0] ?? "Write";
  const payload = harness.label === "copilot"
    ? { toolName: tool, toolArgs: JSON.stringify(input) }
    : { tool_name: tool, tool_input: input };
  let found: string;
  try {
    const result = await run(argv, {
      env: {},
      cwd: "/",
      stdin: JSON.stringify({
        ...payload,
        cwd: "/",
        bulkhead_self_check: true,
      }),
      timeoutMs: SELF_CHECK_MS,
    });
    if (
      result.success &&
      denies(harness.speech?.verdictTemplate ?? "", result.stdout, target)
    ) {
      return;
    }
    found = result.timedOut
      ? `it took longer than ${SELF_CHECK_MS} ms`
      : `exit code ${result.code}, stdout ${
        JSON.stringify(result.stdout.slice(0, 200))
      }, stderr ${JSON.stringify(result.stderr.slice(0, 300))}`;
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable) throw error;
    found = error instanceof Error ? error.message : String(error);
  }
  throw new SelfCheckError(
    `Cannot prove the guard of ${harness.label}: ${
      JSON.stringify(argv)
    } did not deny a write to "${target}": ${found}`,
  );
}

/** The answer must be the template's bytes round a reason that names the target. */
function denies(template: string, stdout: string, target: string): boolean {
  const answer = stdout.trimEnd();
  const parts = template.split("{reason}");
  return answer.startsWith(parts[0] ?? "") &&
    answer.endsWith(parts.at(-1) ?? "") && answer.includes(target);
}

/** A path that no root holds. */
function outsidePath(roots: readonly string[]): string {
  const resolved = roots.map((root) => resolveTarget(root, "/"));
  for (let count = 0;; count++) {
    const path = `/bulkhead-self-check${count || ""}/outside.txt`;
    if (!resolved.some((root) => isInside(path, root))) return path;
  }
}
