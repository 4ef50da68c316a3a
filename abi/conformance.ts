/**
 * Verifies a library: life cycle, cancel, late threads, ownership, leaks, and a report a person can act on.
 *
 * @module
 */

import { AbiError } from "./errors.ts";
import { isObject, tryParseJson } from "./json.ts";
import { inspectLibrary } from "./preflight.ts";
import type { RegisteredTool } from "./registration.ts";
import { checkExit, checkLeaks, checkThreads } from "./verify/endurance.ts";
import { checkEvents, checkHandlers } from "./verify/handlers.ts";
import type { VerifyOptions, VerifyReport } from "./verify/report.ts";
import { VerifySession } from "./verify/session.ts";
import { checkCancel, checkTools } from "./verify/tools.ts";

export type {
  CheckResult,
  Finding,
  VerifyOptions,
  VerifyReport,
} from "./verify/report.ts";

/**
 * Runs a library through everything a host does with it, in a confined process of its own.
 *
 * Tools are called with arguments made from their schemas. Give `tool` and `args` when those would do harm.
 *
 * @param path The library.
 * @param options Which tool to call, how often.
 * @returns The report; it rejects only for mistakes of the caller and missing permissions.
 *
 * @example What is no library is a report too
 * ```ts
 * import { verifyLibrary } from "@bulkhead/abi";
 * import { assertEquals } from "@std/assert";
 *
 * const { ok, checks } = await verifyLibrary("/nowhere/libcounter.so");
 * assertEquals(ok, false);
 * assertEquals(checks.map(({ name, status }) => `${name} ${status}`), ["preflight failed"]);
 * ```
 */
export async function verifyLibrary(
  path: string,
  options: VerifyOptions = {},
): Promise<VerifyReport> {
  const session = new VerifySession(path, options);
  const { report } = session;
  try {
    if (await inspect(session) && await register(session)) {
      await checkTools(session);
      await checkCancel(session);
      await checkHandlers(session);
      await checkEvents(session);
      await checkThreads(session);
      await checkLeaks(session);
      await checkExit(session);
    }
  } finally {
    await session.plugin?.close();
  }
  report.ok = !report.findings.some((finding) => finding.level === "error");
  return report;
}

async function inspect(session: VerifySession): Promise<boolean> {
  try {
    session.report.library = await inspectLibrary(session.path);
  } catch (error) {
    if (!(error instanceof AbiError)) throw error;
    return session.failed("preflight", error);
  }
  session.passed(
    "preflight",
    `${session.report.library.format}, ${session.report.library.arch}`,
  );
  return true;
}

async function register(session: VerifySession): Promise<boolean> {
  let names: string;
  try {
    const first = await session.load();
    names = JSON.stringify(first.registration);
    await first.close();
    session.plugin = await session.load();
  } catch (error) {
    if (!(error instanceof AbiError)) throw error;
    return session.failed("register", error);
  }
  const { registration } = session.plugin;
  for (const line of registration.diagnostics) {
    const harmless = line.startsWith("shortcut ");
    session.found(harmless ? "info" : "warning", "register", line);
  }
  const same = JSON.stringify(registration) === names;
  if (!same) {
    session.found(
      "warning",
      "register",
      "two loads in a row registered different things",
      "register the same things every time",
    );
  }
  session.report.registered = {
    tools: registration.tools.length,
    commands: registration.commands.length,
    shortcuts: registration.shortcuts.length,
    flags: registration.flags.length,
    providers: registration.providers.length,
    renderers: registration.renderers.length,
    events: registration.events.length,
    discover: registration.discover,
    beforeAgentStart: registration.beforeAgentStart,
    oauth: registration.oauth.length,
  };
  judgeTools(session, registration.tools);
  const total = Object.values(session.report.registered).reduce(
    (a, b) => a + b,
    0,
  );
  if (total === 0) session.found("warning", "register", "it registers nothing");
  session.passed(
    "register",
    `${total} ${total === 1 ? "entry" : "entries"}, ${
      same ? "" : "not "
    }the same at the second load`,
  );
  return true;
}

/** Tools that providers or models cannot make much of. */
function judgeTools(
  session: VerifySession,
  tools: readonly RegisteredTool[],
): void {
  for (const tool of tools) {
    const schema = tryParseJson(tool.parameters);
    if (!isObject(schema) || schema.type !== "object") {
      session.found(
        "warning",
        "register",
        `tool "${tool.name}": its parameters are no JSON Schema of type "object"`,
        'start with {"type":"object"}',
      );
    }
    if (tool.description === "") {
      session.found(
        "warning",
        "register",
        `tool "${tool.name}" has no description`,
        "models choose tools by their description",
      );
    }
  }
}
