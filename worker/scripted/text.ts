/**
 * Placeholders in script strings, and text cut into deltas.
 *
 * @module
 */
import type { Stage, Turn } from "./stage.ts";

/** Replaces `${cwd}`, `${prompt}`, `${session}`, `${last}` and `${env.NAME}` in every string of a value. */
export function fill<T>(value: T, stage: Stage, turn: Turn): T {
  const known: Record<string, string> = {
    cwd: stage.cwd,
    prompt: turn.prompt,
    session: stage.frames.sessionId,
    last: turn.lastResult,
  };
  const walk = (part: unknown): unknown => {
    if (typeof part === "string") {
      return part.replace(
        /\$\{([a-z]+|env\.[A-Za-z0-9_]+)\}/g,
        (whole, name: string) => {
          if (name.startsWith("env.")) return Deno.env.get(name.slice(4)) ?? "";
          return Object.hasOwn(known, name) ? known[name] ?? whole : whole;
        },
      );
    }
    if (Array.isArray(part)) return part.map(walk);
    if (typeof part === "object" && part !== null) {
      return Object.fromEntries(
        Object.entries(part).map(([key, inner]) => [key, walk(inner)]),
      );
    }
    return part;
  };
  return walk(value) as T;
}

/** Cuts a text into pieces of so many code points; an empty text gives none. */
export function* pieces(text: string, size: number): Generator<string> {
  let piece = "", count = 0;
  for (const point of text) {
    piece += point;
    if (++count < Math.max(1, size)) continue;
    yield piece;
    piece = "";
    count = 0;
  }
  if (piece !== "") yield piece;
}
