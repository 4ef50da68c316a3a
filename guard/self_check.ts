import { reasonOf, run } from "@bulkhead/sandbox";
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

/** Runs the staged command as the harness would, in an empty environment, with outside writes. */
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
  // The second call proves that the shell reader is found: without it signs of a write decide.
  await checkCall(subject, argv, {
    tool: harness.tools.write[0] ?? "Write",
    input: { file_path: target, content: "" },
    what: `a write to "${target}"`,
    said: target,
  });
  await checkCall(subject, argv, {
    tool: harness.tools.shell[0] ?? "Bash",
    input: { command: `echo x > ${target}` },
    what: `a shell's write to "${target}"`,
    said: "output redirection",
  });
}

/** One call that must be denied. */
interface CheckedCall {
  /** The tool. */
  tool: string;
  /** Its input. */
  input: Record<string, string>;
  /** The call in words. */
  what: string;
  /** What the reason must say. */
  said: string;
}

/** Runs the staged command with one call. */
async function checkCall(
  subject: SelfCheckSubject,
  argv: readonly string[],
  call: CheckedCall,
): Promise<void> {
  const { harness } = subject;
  const payload = harness.label === "copilot"
    ? { toolName: call.tool, toolArgs: JSON.stringify(call.input) }
    : { tool_name: call.tool, tool_input: call.input };
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
    const template = harness.speech?.verdictTemplate ?? "";
    if (result.success && denies(template, result.stdout, call.said)) return;
    const show = (text: string) => JSON.stringify(text.slice(0, 300));
    found = result.timedOut
      ? `it took longer than ${SELF_CHECK_MS} ms`
      : `exit code ${result.code}, stdout ${show(result.stdout)}, stderr ${
        show(result.stderr)
      }`;
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable) throw error;
    found = reasonOf(error);
  }
  throw new SelfCheckError(
    `Cannot prove the guard of ${harness.label}: ${
      JSON.stringify(argv)
    } did not deny ${call.what}: ${found}`,
  );
}

/** The answer must be the template's bytes round a reason that says what it must. */
function denies(template: string, stdout: string, said: string): boolean {
  const answer = stdout.trimEnd();
  const parts = template.split("{reason}");
  return answer.startsWith(parts[0] ?? "") &&
    answer.endsWith(parts.at(-1) ?? "") && answer.includes(said);
}

/** A path that no root holds. */
function outsidePath(roots: readonly string[]): string {
  const resolved = roots.map((root) => resolveTarget(root, "/"));
  for (let count = 0;; count++) {
    const path = `/bulkhead-self-check${count || ""}/outside.txt`;
    if (!resolved.some((root) => isInside(path, root))) return path;
  }
}
