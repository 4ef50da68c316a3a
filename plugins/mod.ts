/**
 * Tools and hooks from directories with a `plugin.toml`: off by default, trusted by content, run in a sandbox.
 *
 * @module
 */

export * from "./tool.ts";
