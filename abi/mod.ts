/**
 * Native agent plugins, loaded through the rpi plugin ABI (version 4): tools, commands, events, providers, renderers
 * and login flows of a shared library, each plugin in a confined process of its own.
 *
 * @example Load a library, call one of its tools
 * ```ts ignore
 * import { loadNativePlugin } from "@bulkhead/abi";
 *
 * await using plugin = await loadNativePlugin("./libweather.so");
 * const result = await plugin.callTool("forecast", { city: "Rome" });
 * ```
 *
 * @module
 */

export {
  type ActionArguments,
  type ActionContext,
  type ActionHandler,
  headlessActions,
  type HeadlessOptions,
  type HostActions,
} from "./actions.ts";
export type { HostStringCounts } from "./action_worker.ts";
export {
  type HostContext,
  JsonText,
  type NativeEvent,
  type NativeToolResult,
} from "./codec.ts";
export {
  ACTION_NAMES,
  type ActionName,
  EVENT_NAMES,
  type EventName,
} from "./codes.ts";
export * from "./conformance.ts";
export {
  DEFAULT_LIMITS,
  type DispatchMode,
  type DispatchOutcome,
  type EngineLimits,
  type EngineStats,
  type InvokeKind,
  type InvokeOutcome,
} from "./engine_types.ts";
export { AbiError, type AbiErrorCode, type AbiErrorOptions } from "./errors.ts";
export { generateHeader } from "./header.ts";
export * from "./host.ts";
export * from "./plugin.ts";
export * from "./plugin_options.ts";
export type { PortEvent } from "./port.ts";
export {
  inspectLibrary,
  type InspectOptions,
  type LibraryReport,
  type LibraryTarget,
} from "./preflight.ts";
export type {
  Collision,
  RegisteredName,
  RegisteredOAuth,
  RegisteredProvider,
  RegisteredRenderer,
  RegisteredTool,
  Registration,
  RendererKind,
} from "./registration.ts";
export {
  type PluginLanguage,
  scaffoldPlugin,
  writeScaffold,
} from "./scaffold.ts";
export {
  nativeTools,
  type NativeToolsOptions,
  providerSafeName,
} from "./tools.ts";
