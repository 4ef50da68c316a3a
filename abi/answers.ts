/**
 * What comes back from a plugin, as its caller gets it: a result, or an error that says what to do.
 *
 * @module
 */

import { decodeToolResult, type NativeToolResult } from "./codec.ts";
import type { InvokeOutcome } from "./engine_types.ts";
import { AbiError, VERIFY_IT } from "./errors.ts";
import { isObject, tryParseJson } from "./json.ts";
import type { CallOutcome } from "./poll_driver.ts";

/** The outcome of a call that was stopped while the plugin was down. */
export const RESTARTING: CallOutcome = {
  kind: "cancelled",
  text: "it was being started again",
  cancelled: true,
  ignoredCancel: false,
};

/**
 * What a call's outcome means to its caller.
 *
 * @param plugin The plugin's name.
 * @param tool The tool.
 * @param outcome How the call ended.
 * @param timedOutMs The deadline, when it is what ended the call.
 * @param graceMs How long a cancelled tool may go on.
 * @returns The result; throws an {@linkcode AbiError} for everything but success.
 */
export function callResult(
  plugin: string,
  tool: string,
  outcome: CallOutcome,
  timedOutMs: number | undefined,
  graceMs: number,
): NativeToolResult {
  const { kind, text, cancelled, ignoredCancel } = outcome;
  const fail = (
    code: "tool" | "timeout" | "aborted" | "protocol",
    message: string,
    fix?: string,
  ) =>
    new AbiError(code, message, {
      plugin,
      ...fix === undefined ? {} : { fix },
    });
  if (kind === "done") return decodeToolResult(text);
  if (cancelled || kind === "cancelled") {
    const why = timedOutMs === undefined
      ? "was cancelled by the host"
      : `timed out after ${timedOutMs} ms`;
    const how = ignoredCancel
      ? ` and ignored cancel for ${graceMs} ms`
      : text === ""
      ? ""
      : `: ${text}`;
    throw fail(
      timedOutMs === undefined ? "aborted" : "timeout",
      `Tool "${tool}" of plugin "${plugin}" ${why}${how}`,
      ignoredCancel
        ? "ask its author to notice the cancel flag in poll"
        : undefined,
    );
  }
  if (kind === "error") {
    throw fail(
      "tool",
      text === "" ? `Tool "${tool}" failed without a message` : text,
    );
  }
  if (kind === "null_handle") {
    throw fail(
      "tool",
      `Tool "${tool}" of plugin "${plugin}" could not start: execute returned a null handle`,
    );
  }
  throw fail(
    "protocol",
    `Tool "${tool}" of plugin "${plugin}" broke the ABI: ${text}`,
    VERIFY_IT,
  );
}

/**
 * A handler that did not answer, by the name that its caller knows.
 *
 * @param plugin The plugin's name.
 * @param what The handler, for people.
 * @param error Why there is no answer.
 * @returns The error for the caller.
 */
export function handlerFailure(
  plugin: string,
  what: string,
  error: unknown,
): unknown {
  if (!(error instanceof AbiError) || error.code !== "timeout") return error;
  const { fix, message } = error;
  return new AbiError(
    "timeout",
    message.replace(/: its \w+ handler \d+ /, `: its ${what} `),
    { plugin, cause: error, ...fix === undefined ? {} : { fix } },
  );
}

/**
 * Why a handler failed, in its own words.
 *
 * @param text What it put out beside its code.
 * @returns The error in it, else the text as far as a message holds it.
 */
export function saidWith(text: string): string {
  const value = tryParseJson(text);
  return isObject(value) && typeof value.error === "string"
    ? value.error
    : text.slice(0, 500);
}

/**
 * The JSON a handler answered.
 *
 * @param plugin The plugin's name.
 * @param what The handler, for people.
 * @param outcome Its code and output.
 * @returns The value, `null` for none; text that is no JSON as it is. Throws for any code but 0.
 */
export function handlerAnswer(
  plugin: string,
  what: string,
  { rc, text }: InvokeOutcome,
): unknown {
  if (rc !== 0) {
    const said = saidWith(text);
    throw new AbiError(
      "handler",
      `The ${what} of plugin "${plugin}" failed with code ${rc}${
        said === "" ? "" : `: ${said}`
      }`,
      {
        plugin,
        exitCode: rc,
      },
    );
  }
  const value = text === "" ? null : tryParseJson(text);
  return value === undefined ? text : value;
}
