/**
 * The write guard: denies an agent's writes outside the allowed roots, and little else, in
 * Claude Code, Codex, OpenCode and more.
 *
 * {@linkcode decideCall} judges one tool call; {@linkcode armGuard} stages the guard in a
 * workspace and {@linkcode teardownGuard} gives the original bytes back;
 * {@linkcode verifyGuard} proves it on the real program.
 *
 * @example Judge a call
 * ```ts
 * import { decideCall } from "@bulkhead/guard";
 * import { assertEquals } from "@std/assert";
 *
 * const decision = decideCall(
 *   { toolName: "Bash", toolInput: { command: "cp a.txt /etc/" }, cwd: "/work" },
 *   { active: true, allowedRoots: ["/work"] },
 *   { now: Date.now() },
 * );
 * assertEquals(decision.allow, false);
 * ```
 *
 * @module
 */

export type { PathPort } from "@bulkhead/sandbox/paths";
export {
  Boundary,
  type BoundaryOptions,
  type BoundaryPort,
  type Judgement,
} from "./boundary.ts";
export {
  decide,
  type DecideOptions,
  type Decision,
  needsShell,
  type ShellReader,
  type ShellRequest,
  type ToolCall,
} from "./decide.ts";
export {
  countDenials,
  type DenialCounts,
  type DenialLog,
  readDenials,
} from "./denial_log.ts";
export {
  type DenialReport,
  type DenialReportOptions,
  denialWarnings,
  reportDenials,
  type TaskDenials,
} from "./denial_report.ts";
export {
  appendDenialSync,
  type DenialRecord,
  denialRecord,
  DENIALS_DIR,
  DENIALS_FILE,
  MAX_DENIAL_LOG_BYTES,
} from "./denials.ts";
export {
  type LayeredHarnesses,
  loadHarnesses,
  parseUserLayer,
  type UserLayer,
  validateDescriptor,
} from "./descriptor.ts";
export { type DetectedHarness, detectHarness } from "./detect.ts";
export type {
  Effect,
  EffectMode,
  EffectRule,
  EffectVerdict,
} from "./effect.ts";
export { decideCall, type DecidedLine, decideLine } from "./explain.ts";
export { harnessByLabel, HARNESSES } from "./harnesses/mod.ts";
export type { HarnessSpeech } from "./harnesses/speech.ts";
export type {
  GuardSection,
  HarnessDescriptor,
  HookForm,
  JsonHooksGuard,
  PluginFileGuard,
  ToolNames,
} from "./harnesses/types.ts";
export { HookFileError } from "./hook_file.ts";
export { type ArmedGuard, armGuard, type ArmOptions } from "./install.ts";
export {
  type GuardManifest,
  type ManifestExtension,
  type ManifestReading,
  parseManifestText,
} from "./manifest.ts";
export {
  GUARD_MANIFEST,
  GUARD_MARKER,
  GUARD_TTL_MS,
  type GuardMarker,
  isArmed,
  type MarkerTools,
  MAX_MARKER_BYTES,
  parseMarker,
} from "./marker.ts";
export { readMarker } from "./marker_file.ts";
export { hookCleanupDir } from "./places.ts";
export {
  compareSnapshots,
  parseSnapshot,
  SNAPSHOT_SCHEMA,
  type SnapshotOptions,
  type StrayWrite,
  strayWrites,
  takeSnapshot,
  type TreeChange,
  type TreeSnapshot,
} from "./scan.ts";
export { SelfCheckError } from "./self_check.ts";
export { readShell } from "./shell/effects.ts";
export { UNKNOWN_CASES, type UnknownCase } from "./shell/unknowns.ts";
export {
  escapeDoubleQuoted,
  runtimeWarning,
  shellQuote,
  type ShimOptions,
  shimPath,
  writeShim,
} from "./shim.ts";
export {
  type GuardStatus,
  guardStatus,
  type HarnessStatus,
  type StatusOptions,
} from "./status.ts";
export { type HookSwitch } from "./switches.ts";
export {
  teardownGuard,
  type TeardownOptions,
  type TeardownReport,
} from "./teardown.ts";
export {
  type HookCall,
  parseHookPayload,
  readHookCall,
  renderVerdict,
} from "./verdict.ts";
export {
  VERIFIABLE,
  type VerifyCase,
  verifyGuard,
  type VerifyOptions,
  type VerifyReport,
} from "./verify.ts";
export { type ToolKind, toolKind, VOCABULARIES } from "./vocabulary.ts";
