/**
 * Calls every command, renderer, provider and event handler once.
 *
 * @module
 */

import { encodeEvent, type NativeEvent } from "../codec.ts";
import { AbiError } from "../errors.ts";
import { eventRule } from "../events.ts";
import { isObject } from "../json.ts";
import { EVENT_NAMES } from "../codes.ts";
import type { NativePlugin } from "../plugin.ts";
import type { Registration } from "../registration.ts";
import { MAX_CRASHES, MAX_TOOLS, type VerifySession } from "./session.ts";

/** What a host tells of a session that begins. */
const SESSION_DATA = {
  prompt: "sample",
  imageCount: 0,
  sessionId: "verify",
  host: { name: "rpi" },
};

/** One handler to call, and how. */
interface HandlerCall {
  readonly what: string;
  run(plugin: NativePlugin): Promise<unknown>;
}

/** Handlers that take JSON and give JSON answer. */
export async function checkHandlers(session: VerifySession): Promise<void> {
  const registration = session.plugin?.registration;
  if (registration === undefined) return;
  const before = session.errors();
  let called = 0;
  for (const { what, run } of handlerCalls(session, registration)) {
    if (session.plugin === undefined || session.crashes > MAX_CRASHES) break;
    called++;
    try {
      await run(session.plugin);
    } catch (error) {
      if (!(error instanceof AbiError)) throw error;
      await session.blame("handlers", what, error);
    }
  }
  if (called === 0) return session.skipped("handlers", "it has none");
  session.done(
    "handlers",
    before,
    `${called} commands, renderers, providers and other handlers were called`,
  );
}

/** Every handler with a sample of what a host gives it. */
function* handlerCalls(
  session: VerifySession,
  registration: Registration,
): Generator<HandlerCall, void, undefined> {
  const limit = { timeoutMs: session.options.callTimeoutMs ?? 3_000 };
  for (const { name } of registration.commands.slice(0, MAX_TOOLS)) {
    const what = `command "/${name}"`;
    yield {
      what,
      async run(plugin) {
        const answer = await plugin.runCommand(name, "", limit);
        if (answer === null || isObject(answer)) return;
        session.found(
          "warning",
          "handlers",
          `${what} did not answer a JSON object`,
          'answer {"kind":"message","text":…}',
        );
      },
    };
  }
  const text = { text: "sample", markdown: "sample" };
  for (const { kind, name } of registration.renderers.slice(0, MAX_TOOLS)) {
    yield {
      what: `${kind} renderer "${name}"`,
      run: (plugin) => plugin.render(kind, name, text, limit),
    };
  }
  const request = {
    model: "sample",
    context: { messages: [] },
    options: {},
  };
  for (const { id } of registration.providers) {
    yield {
      what: `provider "${id}"`,
      run: (plugin) => plugin.requestProvider(id, request, limit),
    };
  }
  for (const { id } of registration.oauth) {
    yield {
      what: `oauth provider "${id}"`,
      run: (plugin) => plugin.requestOAuth(id, "begin", {}, limit),
    };
  }
  for (let index = 0; index < registration.discover; index++) {
    yield {
      what: `resources_discover handler ${index}`,
      run: (plugin) =>
        plugin.invoke("discover", index, ["/", "startup"], limit),
    };
  }
  const start = JSON.stringify({ ...SESSION_DATA, systemPrompt: "sample" });
  for (let index = 0; index < registration.beforeAgentStart; index++) {
    yield {
      what: `before_agent_start handler ${index}`,
      run: (plugin) => plugin.invoke("beforeAgentStart", index, [start], limit),
    };
  }
}

/** Event handlers return, and in time. */
export async function checkEvents(session: VerifySession): Promise<void> {
  const tags = new Set(session.plugin?.registration.events);
  if (tags.size === 0) {
    return session.skipped("events", "it has no event handler");
  }
  const before = session.errors();
  for (const tag of tags) {
    const type = EVENT_NAMES[tag];
    if (
      type === undefined || session.plugin === undefined ||
      session.crashes > MAX_CRASHES
    ) continue;
    const { strings, isError } = encodeEvent(sampleEvent(type));
    const { mode } = eventRule(type);
    try {
      const outcome = await session.plugin.dispatch({
        tag,
        strings,
        isError,
        mode,
        budgetMs: 1_000,
      });
      for (const [index, rc] of outcome.failed) {
        session.found(
          "info",
          "events",
          `${type} handler ${index} returned ${rc}`,
        );
      }
      if (outcome.verdict !== "continue") {
        session.found(
          "info",
          "events",
          `${type}: a handler answered ${outcome.verdict}`,
        );
      }
      for (const index of outcome.late) {
        session.found(
          "warning",
          "events",
          `${type} handler ${index} took more than a second`,
          "hand long work to a thread",
        );
      }
    } catch (error) {
      if (!(error instanceof AbiError)) throw error;
      await session.blame("events", `a handler of ${type}`, error);
    }
  }
  session.done("events", before, `handlers of ${tags.size} events were called`);
}

function sampleEvent(type: NativeEvent["type"]): NativeEvent {
  return {
    type,
    message: { role: "assistant", content: [{ type: "text", text: "sample" }] },
    toolCallId: "verify",
    toolName: "sample",
    params: {},
    result: { content: [] },
    data: SESSION_DATA,
  };
}
