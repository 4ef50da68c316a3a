/**
 * One agent session behind a socket.
 *
 * @module
 */
export * from "./frame.ts";
export * from "./agents/driver.ts";
