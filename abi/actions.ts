/**
 * What plugins may ask of their host: the 23 runtime actions behind one interface.
 *
 * @module
 */

import type { ActionAnswer } from "./action_worker.ts";
import { reasonOf } from "./errors.ts";
import { isObject, stringifyJson, tryParseJson } from "./json.ts";
import {
  ACTION_ERROR,
  ACTION_NAMES,
  ACTION_OK,
  ACTION_UNKNOWN,
  type ActionName,
} from "./codes.ts";

/** How many status lines of plugins the headless host keeps. */
const MAX_STATUS = 1_000;

/** The arguments of an action: the JSON object the plugin sent, empty when it sent none. */
export type ActionArguments = Readonly<Record<string, unknown>>;

/** Who asks. */
export interface ActionContext {
  /** The plugin's name. */
  readonly plugin: string;
}

/** Answers one action with a JSON value; what it throws reaches the plugin as `{"error": message}`. */
export type ActionHandler = (
  args: ActionArguments,
  context: ActionContext,
) => unknown;

/**
 * The runtime actions. A host gives those it has; the others are answered by the headless default.
 *
 * Handlers of actions that start a run or change the session (`sendMessage`, `sendUserMessage`, `compact`,
 * `newSession`, `fork`, `navigateTree`, `switchSession`, `reload`) should return when the work is queued: the plugin's
 * thread waits, and after 100 ms it is told `{"queued":true}`.
 */
export interface HostActions {
  /** 0: adds a message of the plugin. */
  sendMessage: ActionHandler;
  /** 1: sends a message as the user would. */
  sendUserMessage: ActionHandler;
  /** 2: appends an entry to the session. */
  appendEntry: ActionHandler;
  /** 3: names the session. */
  setSessionName: ActionHandler;
  /** 4: the names of the active tools. */
  getActiveTools: ActionHandler;
  /** 5: changes them. */
  setActiveTools: ActionHandler;
  /** 6: changes the model. */
  setModel: ActionHandler;
  /** 7: the thinking level. */
  getThinkingLevel: ActionHandler;
  /** 8: changes it. */
  setThinkingLevel: ActionHandler;
  /** 9: compacts the session. */
  compact: ActionHandler;
  /** 10: the system prompt. */
  getSystemPrompt: ActionHandler;
  /** 11: starts a new session. */
  newSession: ActionHandler;
  /** 12: forks the session. */
  fork: ActionHandler;
  /** 13: moves in the session's tree. */
  navigateTree: ActionHandler;
  /** 14: switches to another session. */
  switchSession: ActionHandler;
  /** 15: reloads the plugins; answered at once, done later. */
  reload: ActionHandler;
  /** 16: `{name}` → `{value}` of a command line flag. */
  getCliFlag: ActionHandler;
  /** 17: opens, polls or cancels a dialog. */
  uiDialog: ActionHandler;
  /** 18: `{key, value}` → `{ok, changed}`. */
  setStatus: ActionHandler;
  /** 19: `{text, mode}` → `{ok, chars}`. */
  setEditorText: ActionHandler;
  /** 20: `{entries}` of the session's branch. */
  getSessionBranch: ActionHandler;
  /** 21: the life cycle of a server on stdio. */
  stdioLifecycle: ActionHandler;
  /** 22: components of the user interface. */
  uiComponent: ActionHandler;
}

/** Options of {@linkcode headlessActions}. */
export interface HeadlessOptions {
  /**
   * Values of command line flags, by name.
   *
   * @default {}
   */
  flags?: Readonly<Record<string, boolean | string>>;
}

/**
 * A host without session and without screen: it answers what it can and refuses the rest, and it never hangs.
 *
 * @param options Values of command line flags.
 * @returns All 23 actions.
 *
 * @example Status lines are kept, dialogs are refused
 * ```ts
 * import { headlessActions } from "@bulkhead/abi";
 * import { assertEquals, assertThrows } from "@std/assert";
 *
 * const actions = headlessActions({ flags: { verbose: true } });
 * const context = { plugin: "x" };
 * assertEquals(actions.getCliFlag({ name: "verbose" }, context), { value: true });
 * assertEquals(actions.setStatus({ key: "k", value: "v" }, context), { ok: true, changed: true });
 * assertThrows(() => actions.uiDialog({ op: "open" }, context), Error, "requires an interactive UI");
 * ```
 */
export function headlessActions(options: HeadlessOptions = {}): HostActions {
  const flags = options.flags ?? {};
  const status = new Map<string, string>();
  const refuse = (name: string, needs: string): ActionHandler => () => {
    throw new Error(`${name} requires ${needs}`);
  };
  const session = (name: string) => refuse(name, "an agent session");
  const ui = (name: string) => refuse(name, "an interactive UI");
  return {
    sendMessage: session("SendMessage"),
    sendUserMessage: session("SendUserMessage"),
    appendEntry: session("AppendEntry"),
    setSessionName: session("SetSessionName"),
    getActiveTools: session("GetActiveTools"),
    setActiveTools: session("SetActiveTools"),
    setModel: session("SetModel"),
    getThinkingLevel: session("GetThinkingLevel"),
    setThinkingLevel: session("SetThinkingLevel"),
    compact: session("Compact"),
    getSystemPrompt: session("GetSystemPrompt"),
    newSession: session("NewSession"),
    fork: session("Fork"),
    navigateTree: session("NavigateTree"),
    switchSession: session("SwitchSession"),
    reload: () => null,
    getCliFlag: ({ name }) => ({
      value: typeof name === "string" && Object.hasOwn(flags, name)
        ? flags[name]
        : null,
    }),
    uiDialog: ui("UiDialog"),
    setStatus: ({ key, value }, { plugin }) => {
      if (typeof key !== "string" || key === "") {
        throw new Error('SetStatus requires a "key"');
      }
      const slot = `${plugin}\0${key}`;
      const text = typeof value === "string" ? value : "";
      const changed = (status.get(slot) ?? "") !== text;
      if (text === "") status.delete(slot);
      else if (status.size < MAX_STATUS || status.has(slot)) {
        status.set(slot, text);
      }
      return { ok: true, changed };
    },
    setEditorText: ({ text }) => ({
      ok: true,
      chars: typeof text === "string" ? [...text].length : 0,
    }),
    getSessionBranch: session("GetSessionBranch"),
    stdioLifecycle: refuse(
      "StdioLifecycle",
      "a stdio server that the plugin declared",
    ),
    uiComponent: ui("UiComponent"),
  };
}

/** Actions that start something long. */
const QUEUED: ReadonlySet<ActionName> = new Set([
  "SendMessage",
  "SendUserMessage",
  "Compact",
  "NewSession",
  "Fork",
  "NavigateTree",
  "SwitchSession",
  "Reload",
]);

/** How long a plugin waits for an action that starts something long. */
const QUEUE_MS = 100;

/**
 * The name of an action's handler.
 *
 * @param name The action.
 * @returns The key in {@linkcode HostActions}.
 */
export function actionKey(name: ActionName): keyof HostActions {
  return `${name[0]?.toLowerCase()}${name.slice(1)}` as keyof HostActions;
}

/**
 * Answers one action of a plugin.
 *
 * @param actions The host's actions.
 * @param action The id.
 * @param args The arguments as the plugin sent them; what is no JSON object counts as empty.
 * @param context Who asks.
 * @returns The code and the JSON for the plugin.
 */
export async function answerAction(
  actions: HostActions,
  action: number,
  args: string,
  context: ActionContext,
): Promise<ActionAnswer> {
  const name = ACTION_NAMES[action];
  if (name === undefined) {
    return failure(ACTION_UNKNOWN, `unknown runtime action id ${action}`);
  }
  try {
    const answer = Promise.resolve(
      actions[actionKey(name)](parseArguments(args), context),
    );
    const value = QUEUED.has(name) ? await queued(answer) : await answer;
    return { rc: ACTION_OK, text: stringifyJson(value) };
  } catch (error) {
    return failure(ACTION_ERROR, reasonOf(error));
  }
}

function failure(rc: number, message: string): ActionAnswer {
  return { rc, text: JSON.stringify({ error: message }) };
}

async function queued(answer: Promise<unknown>): Promise<unknown> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const patience = new Promise<unknown>((resolve) => {
    timer = setTimeout(() => resolve({ queued: true }), QUEUE_MS);
  });
  // Past that moment nobody is left to hear of a failure.
  answer.catch(() => {});
  try {
    return await Promise.race([answer, patience]);
  } finally {
    clearTimeout(timer);
  }
}

function parseArguments(text: string): ActionArguments {
  const value = tryParseJson(text);
  return isObject(value) ? value : {};
}
