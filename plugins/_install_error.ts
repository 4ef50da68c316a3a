/**
 * The one error of installs, with a code for programs and the fix for people.
 *
 * @module
 */

/** What went wrong in an install, as a word for programs. */
export type InstallErrorCode =
  | "bad_source"
  | "bad_archive"
  | "bad_manifest"
  | "checksum_mismatch"
  | "unsafe_entry"
  | "too_large"
  | "already_installed"
  | "not_installed"
  | "refused"
  | "lock_file"
  | "busy"
  | "git_failed";

/**
 * An install, update or removal that was not carried out; what was there before is untouched.
 *
 * @example Telling refusals apart
 * ```ts
 * import { InstallError } from "@bulkhead/plugins";
 * import { assertEquals } from "@std/assert";
 *
 * const error = new InstallError("refused", 'Cannot install "x": the question was answered with no');
 * assertEquals(error.code, "refused");
 * ```
 */
export class InstallError extends Error {
  /** The kind of problem. */
  readonly code: InstallErrorCode;
  /** What to do about it, when there is one thing to do. */
  readonly fix?: string;

  /**
   * Constructs an error.
   *
   * @param code The kind of problem.
   * @param message What was tried, what was found.
   * @param options The fix and the cause.
   */
  constructor(
    code: InstallErrorCode,
    message: string,
    options: { fix?: string; cause?: unknown } = {},
  ) {
    super(
      message,
      options.cause === undefined ? undefined : { cause: options.cause },
    );
    this.name = "InstallError";
    this.code = code;
    if (options.fix !== undefined) this.fix = options.fix;
  }
}
