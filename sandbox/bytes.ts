/**
 * Puts pieces of a stream together.
 *
 * @param parts The pieces.
 * @param length How long they are together.
 * @returns One array; the only piece itself where there is one.
 */
export function joinBytes(
  parts: readonly Uint8Array[],
  length: number,
): Uint8Array {
  const [only] = parts;
  if (only !== undefined && parts.length === 1) return only;
  const whole = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
