/**
 * One agent session behind a socket.
 *
 * {@linkcode runWorker} hosts an agent: every tool call is judged before it runs, frames are kept and pushed to any
 * number of clients, questions wait for a person and outlive their client, and the end leaves nothing behind.
 * {@linkcode connect} talks to a worker from another process.
 *
 * @example One turn of the scripted agent
 * ```ts
 * import { runWorker, scriptedDriver } from "@bulkhead/worker";
 * import { assertEquals } from "@std/assert";
 *
 * const cwd = await Deno.makeTempDir();
 * const worker = await runWorker({
 *   shortId: "demo",
 *   home: `${cwd}/workers`,
 *   cwd,
 *   driver: scriptedDriver({ script: { schema: 1, turns: [{ steps: [{ say: "hello" }] }] }, sessions: `${cwd}/sessions` }),
 * });
 * const outcome = await worker.ask("hi");
 * assertEquals(outcome.outcome, "completed");
 * await worker.end();
 * await Deno.remove(cwd, { recursive: true });
 * ```
 *
 * @module
 */
export { agentEnvironment } from "./agent_child.ts";
export * from "./agents/claude.ts";
export * from "./agents/driver.ts";
export * from "./agents/scripted.ts";
export { AgentStartError } from "./agents/start_error.ts";
export {
  argvDriver,
  StreamJsonDriver,
  type StreamJsonOptions,
} from "./agents/stream_json.ts";
export type { GuardMarker, MarkerTools } from "@bulkhead/guard";
export type { OpenAsk } from "./asks.ts";
export { connect, WorkerClient } from "./client.ts";
export type * from "./client_types.ts";
export {
  type FleetEntry,
  type FleetOptions,
  type FleetState,
  listWorkers,
} from "./fleet.ts";
export { parseFrame, parseLine } from "./frame.ts";
export type * from "./frame_types.ts";
export * from "./frame_log.ts";
export { Judge, type VerdictListener } from "./gate.ts";
export {
  guardDecider,
  type GuardDeciderOptions,
  guardMarker,
  type GuardScope,
  realRoot,
} from "./guard_decider.ts";
export { type PageOptions, type PageServer, servePage } from "./page/server.ts";
export type {
  PageHost,
  PageListener,
  PageSession,
  PageSource,
} from "./page/source.ts";
export * from "./posture.ts";
export {
  type ByteSource,
  encodeMessage,
  MAX_BODY,
  MessageReader,
  RpcError,
  type RpcErrorCode,
} from "./rpc.ts";
export * from "./reap.ts";
export * from "./scripted_agent.ts";
export * from "./session.ts";
export {
  type Claim,
  claimPath,
  type ClaimPlace,
  readClaim,
} from "./store/claim_file.ts";
export * from "./store/claims.ts";
export {
  appendEvent,
  fitEventData,
  readEvents,
  type RecordedEvent,
  type WorkerEvent,
} from "./store/events.ts";
export {
  shortIdFor,
  type WorkerFiles,
  workerFiles,
  type WorkerHome,
  workerHome,
} from "./store/home.ts";
export { type Machine, thisMachine } from "./store/machine.ts";
export {
  endProcess,
  type EndProcessOptions,
  type ProcessMark,
  type ProcessStart,
  processStart,
} from "./store/processes.ts";
export * from "./store/registry.ts";
export type { RegistryRow } from "./store/rows.ts";
export * from "./store/state.ts";
export * from "./store/store_error.ts";
export type { YamlScalar } from "./store/yaml.ts";
export * from "./turn_state.ts";
export * from "./turns.ts";
export * from "./worker.ts";
