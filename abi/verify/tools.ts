/**
 * Calls every tool once with a sample, and once more to cancel it.
 *
 * @module
 */

import { AbiError } from "../errors.ts";
import { sampleArguments } from "../sample.ts";
import { MAX_CRASHES, MAX_TOOLS, type VerifySession } from "./session.ts";

/** A tool that answers within this time can be called thousands of times. */
const QUICK_MS = 50;

/** Every tool answers a call with arguments made from its schema. */
export async function checkTools(session: VerifySession): Promise<void> {
  const tools = session.plugin?.registration.tools ?? [];
  if (tools.length === 0) return session.skipped("call", "it has no tool");
  let answered = 0;
  let fastest: { name: string; args: string; ms: number } | undefined;
  const before = session.errors();
  for (const tool of tools.slice(0, MAX_TOOLS)) {
    const chosen = session.options.tool === tool.name
      ? session.options.args
      : undefined;
    const args = chosen ?? sampleArguments(tool.parameters);
    const started = performance.now();
    try {
      const result = await session.call(tool.name, args);
      answered++;
      const ms = performance.now() - started;
      if (ms < QUICK_MS) session.quick ??= { name: tool.name, args };
      if (fastest === undefined || ms < fastest.ms) {
        fastest = { name: tool.name, args, ms };
      }
      if (result.content.length === 0) {
        session.found(
          "info",
          "call",
          `tool "${tool.name}" answered without content`,
        );
      }
    } catch (error) {
      if (!(error instanceof AbiError)) throw error;
      if (error.code === "tool") answered++;
      await session.blame("call", `tool "${tool.name}"`, error);
      if (session.crashes > MAX_CRASHES) break;
    }
    await session.count(tool.name);
  }
  if (tools.length > MAX_TOOLS) {
    session.found(
      "info",
      "call",
      `only the first ${MAX_TOOLS} of ${tools.length} tools were called`,
    );
  }
  if (session.quick === undefined && fastest !== undefined) {
    await tryAgain(session, fastest);
  }
  session.done(
    "call",
    before,
    `${answered} of ${
      Math.min(tools.length, MAX_TOOLS)
    } tools answered a sample call`,
  );
}

/** On a busy machine the quickest of tools may be slow once. */
async function tryAgain(
  session: VerifySession,
  { name, args }: { name: string; args: string },
): Promise<void> {
  for (let i = 0; i < 5 && session.quick === undefined; i++) {
    const started = performance.now();
    try {
      await session.call(name, args);
    } catch (error) {
      if (!(error instanceof AbiError)) throw error;
      return await session.blame("call", `tool "${name}"`, error);
    }
    if (performance.now() - started < QUICK_MS) session.quick = { name, args };
  }
}

/** Every tool notices a cancel, or has ended before. */
export async function checkCancel(session: VerifySession): Promise<void> {
  const tools = session.plugin?.registration.tools ?? [];
  if (tools.length === 0) return session.skipped("cancel", "it has no tool");
  const before = session.errors();
  let cancelled = 0;
  for (const tool of tools.slice(0, MAX_TOOLS)) {
    if (session.crashes > MAX_CRASHES) break;
    const abort = new AbortController();
    const timer = setTimeout(() => abort.abort(), 5);
    try {
      await session.call(tool.name, sampleArguments(tool.parameters), {
        signal: abort.signal,
      });
    } catch (error) {
      if (!(error instanceof AbiError)) throw error;
      if (error.code === "aborted") cancelled++;
      if (error.code !== "tool") {
        await session.blame("cancel", `tool "${tool.name}"`, error);
      }
    } finally {
      clearTimeout(timer);
    }
  }
  if (cancelled === 0 && session.errors() === before) {
    return session.skipped(
      "cancel",
      "no tool ran long enough to be cancelled",
    );
  }
  session.done(
    "cancel",
    before,
    `${cancelled} calls were running when they were cancelled, the others had ended`,
  );
}
