/**
 * Calls every tool once with a sample, and once more to cancel it.
 *
 * @module
 */

import { AbiError } from "../errors.ts";
import { sampleArguments } from "../sample.ts";
import { MAX_CRASHES, MAX_TOOLS, type VerifySession } from "./session.ts";

/** Every tool answers a call with arguments made from its schema. */
export async function checkTools(session: VerifySession): Promise<void> {
  const tools = session.plugin?.registration.tools ?? [];
  if (tools.length === 0) return session.skipped("call", "it has no tool");
  let answered = 0;
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
      if (
        performance.now() - started < 50 &&
        (session.options.tool ?? tool.name) === tool.name
      ) {
        session.quick ??= { name: tool.name, args };
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
  session.done(
    "call",
    before,
    `${answered} of ${
      Math.min(tools.length, MAX_TOOLS)
    } tools answered a sample call`,
  );
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
  session.done(
    "cancel",
    before,
    `${cancelled} calls were running when they were cancelled, the others had ended`,
  );
}
