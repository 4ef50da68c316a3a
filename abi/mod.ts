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

export * from "./actions.ts";
export * from "./codec.ts";
export * from "./codes.ts";
export * from "./conformance.ts";
export type {
  DispatchMode,
  DispatchOutcome,
  EngineLimits,
  EngineStats,
  InvokeKind,
  InvokeOutcome,
} from "./engine_types.ts";
export type { ActionAnswer, HostStringCounts } from "./action_worker.ts";
export { DEFAULT_LIMITS } from "./engine_types.ts";
export * from "./errors.ts";
export * from "./events.ts";
export * from "./header.ts";
export * from "./host.ts";
export * from "./layout.ts";
export * from "./plugin.ts";
export * from "./plugin_options.ts";
export type { PortEvent } from "./port.ts";
export * from "./preflight.ts";
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
export * from "./sample.ts";
export * from "./scaffold.ts";
export * from "./tools.ts";
