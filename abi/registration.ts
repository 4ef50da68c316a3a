/**
 * What a plugin registered, as plain data: it crosses from the child to the host as JSON.
 *
 * @module
 */

import { isObject } from "./json.ts";

/** A tool as the plugin described it. */
export interface RegisteredTool {
  /** The name. */
  name: string;
  /** The description. */
  description: string;
  /** The JSON Schema of its arguments, as text; `{}` when the plugin gave something else. */
  parameters: string;
}

/** Something with a name and a description: a command, a shortcut, a flag. */
export interface RegisteredName {
  /** The name; of a command without leading `/`. */
  name: string;
  /** The description. */
  description: string;
}

/** A model provider. */
export interface RegisteredProvider {
  /** The id. */
  id: string;
  /** The base URL. */
  baseUrl: string;
  /** The API style. */
  apiStyle: string;
}

/** What a renderer renders. */
export type RendererKind = "message" | "markdown" | "entry";

/** A renderer. */
export interface RegisteredRenderer {
  /** What it renders. */
  kind: RendererKind;
  /** Its name. */
  name: string;
}

/** A login flow. */
export interface RegisteredOAuth {
  /** The id from the manifest. */
  id: string;
  /** The manifest. */
  manifest: Record<string, unknown>;
}

/** A registration that came second. */
export interface Collision {
  /** What was registered: `tool`, `command`, `flag`, `provider`, `message renderer` and so on. */
  kind: string;
  /** Under which name. */
  name: string;
}

/** Everything one plugin registered. */
export interface Registration {
  /** Its tools. */
  tools: RegisteredTool[];
  /** Its slash commands. */
  commands: RegisteredName[];
  /** Its shortcuts: recorded, bound by nobody. */
  shortcuts: RegisteredName[];
  /** Its command line flags. */
  flags: RegisteredName[];
  /** Its model providers. */
  providers: RegisteredProvider[];
  /** Its renderers. */
  renderers: RegisteredRenderer[];
  /** The tag of each event handler, in the order of registration. */
  events: number[];
  /** The number of its resources_discover handlers. */
  discover: number;
  /** The number of its before_agent_start handlers. */
  beforeAgentStart: number;
  /** Its login flows. */
  oauth: RegisteredOAuth[];
  /** Its place in event order: smaller comes first. */
  priority: number;
  /** The platforms its event handlers are for; empty means all. */
  platforms: string[];
  /** Names that were taken; the first holder stays. */
  collisions: Collision[];
  /** What the host noticed, one line each. */
  diagnostics: string[];
}

/** The priority of a plugin that declares none. */
const DEFAULT_PRIORITY = 100;

/**
 * A registration without anything in it.
 *
 * @returns The empty registration.
 */
export function emptyRegistration(): Registration {
  return {
    tools: [],
    commands: [],
    shortcuts: [],
    flags: [],
    providers: [],
    renderers: [],
    events: [],
    discover: 0,
    beforeAgentStart: 0,
    oauth: [],
    priority: DEFAULT_PRIORITY,
    platforms: [],
    collisions: [],
    diagnostics: [],
  };
}

/**
 * Applies what a plugin declares. A wrong type leaves its field unchanged; unknown keys are ignored.
 *
 * @param registration The registration to change.
 * @param value The parsed declaration.
 * @returns False when it is not an object.
 */
export function applyDeclaration(
  registration: Registration,
  value: unknown,
): boolean {
  if (!isObject(value)) return false;
  const { priority, platforms } = value;
  if (
    typeof priority === "number" && Number.isInteger(priority) &&
    priority === (priority | 0)
  ) {
    registration.priority = priority;
  }
  if (Array.isArray(platforms)) {
    registration.platforms = platforms.filter((p) => typeof p === "string");
  }
  return true;
}

const PLATFORMS: Readonly<Record<string, string>> = { darwin: "macos" };

/**
 * Says whether a plugin's event handlers run on this platform.
 *
 * @param platforms What the plugin declared.
 * @param os The operating system, in Deno's spelling.
 * @returns True when they run.
 */
export function runsOn(platforms: readonly string[], os: string): boolean {
  const here = PLATFORMS[os] ?? os;
  return platforms.length === 0 || platforms.some((p) => {
    const wanted = p.toLowerCase();
    return wanted === "all" || wanted === here;
  });
}
