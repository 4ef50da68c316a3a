/**
 * What can go wrong with the fleet, with the fix in the same line.
 *
 * @module
 */

/** Why the fleet cannot be used; local sessions go on. */
export type FleetErrorCode =
  | "unreachable"
  | "not_authorized"
  | "no_jetstream"
  | "old_server"
  | "newer_schema"
  | "insecure"
  | "stream_lost"
  | "held"
  | "no_worker"
  | "timeout";

/** The fleet cannot be used. */
export class FleetError extends Error {
  /** What it is about. */
  readonly code: FleetErrorCode;
  /** What to do. */
  readonly fix: string;

  /**
   * Makes the error.
   *
   * @param code What it is about.
   * @param found What was tried and found.
   * @param fix What to do.
   * @param cause What it comes from.
   */
  constructor(
    code: FleetErrorCode,
    found: string,
    fix: string,
    cause?: unknown,
  ) {
    super(`${found}; ${fix}`, { cause });
    this.name = "FleetError";
    this.code = code;
    this.fix = fix;
  }
}
