/** Placeholder. @module */
export * from "./decide.ts";
export * from "./effect.ts";
export * from "./explain.ts";
export * from "./marker.ts";
export * from "./status.ts";
export * from "./teardown.ts";
