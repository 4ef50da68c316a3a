/**
 * Tools and hooks from directories with a `plugin.toml`: off by default, trusted by content, run in a sandbox.
 *
 * @module
 */

export * from "./tool.ts";
export * from "./adapters.ts";
export * from "./install.ts";
export * from "./installed.ts";
export * from "./remove.ts";
export * from "./scaffold.ts";
