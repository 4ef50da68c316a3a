/**
 * Tools and hooks from directories with a `plugin.toml`: off by default, trusted by content, run in a sandbox.
 *
 * @module
 */

export * from "./adapters/ai_sdk.ts";
export * from "./adapters/failed.ts";
export * from "./adapters/mastra.ts";
export * from "./adapters/openai_agents.ts";
export * from "./adapters/pi.ts";
export * from "./ask_trust.ts";
export * from "./config.ts";
export * from "./digest.ts";
export * from "./discover.ts";
export * from "./doctor.ts";
export * from "./errors.ts";
export * from "./hooks.ts";
export * from "./install.ts";
export * from "./installed.ts";
export * from "./load.ts";
export * from "./manifest.ts";
export * from "./names.ts";
export * from "./read.ts";
export * from "./remove.ts";
export * from "./scaffold.ts";
export * from "./schema.ts";
export * from "./tool.ts";
export * from "./trust.ts";
