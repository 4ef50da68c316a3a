/** Reads a stream of bytes or text to one string. */
export function toText(
  stream: ReadableStream<string | Uint8Array>,
): Promise<string>;
/** Reads a stream of bytes to one array. */
export function toBytes(
  stream: ReadableStream<Uint8Array>,
): Promise<Uint8Array<ArrayBuffer>>;
/** Splits a stream of text into lines. */
export class TextLineStream extends TransformStream<string, string> {
  /** Creates the transform. */
  constructor(options?: { allowCR?: boolean });
}
