/**
 * One agent session behind a socket.
 *
 * @module
 */
export * from "./frame.ts";
export * from "./agents/driver.ts";
export * from "./scripted_agent.ts";
