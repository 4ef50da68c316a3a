/**
 * Bytes as text.
 *
 * @module
 */

/** Bytes in hexadecimal. */
export function encodeHex(bytes: Uint8Array): string {
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
