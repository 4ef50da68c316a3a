/**
 * A file of the store that cannot be used.
 *
 * @module
 */

/** Why a file of the store cannot be used: it is damaged, or a newer program wrote it. */
export class StoreError extends Error {
  /** `damaged`, `newer`, or `conflict` for a row that must not be written. */
  readonly kind: "damaged" | "newer" | "conflict";
  /** The file. */
  readonly path: string;

  /**
   * Makes the error.
   *
   * @param kind What is wrong.
   * @param path The file.
   * @param found What was found.
   */
  constructor(
    kind: "damaged" | "newer" | "conflict",
    path: string,
    found: string,
  ) {
    const what = {
      damaged:
        `Cannot use "${path}": ${found}; it was left as it is, move it away to start anew`,
      newer:
        `Cannot write "${path}": ${found}, written by a newer program; update this one`,
      conflict: `Cannot write "${path}": ${found}`,
    };
    super(what[kind]);
    this.name = "StoreError";
    this.kind = kind;
    this.path = path;
  }
}
