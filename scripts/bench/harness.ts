/**
 * Ratios measured in one run: each figure is a median of ours over a median of the
 * bare thing, both taken in turns so that a busy machine slows both alike.
 *
 * @module
 */

/** One figure and its bound. */
export interface BenchCase {
  /** The member it belongs to. */
  area: string;
  /** What is measured, in words. */
  name: string;
  /** The bound that the figure must keep. */
  bound: number;
  /** Whether the figure must stay at most or at least at the bound. */
  keep: "at most" | "at least";
  /** The figure's unit; `×` for a ratio. */
  unit: string;
  /**
   * How much of the bound is noise on a busy machine, as a fraction.
   *
   * @default {0.1}
   */
  noise?: number;
  /** Takes the measurement; nothing when it cannot be taken here, with the reason told. */
  measure(): Promise<number | { skipped: string }>;
}

/** Options of {@linkcode ratio}. */
export interface RatioOptions {
  /**
   * Timed rounds.
   *
   * @default {60}
   */
  rounds?: number;
  /**
   * Rounds that are thrown away first.
   *
   * @default {8}
   */
  warmUp?: number;
}

/** The middle value. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[sorted.length >> 1] ?? Number.NaN;
}

/** The value that a part of all values does not exceed. */
export function percentile(values: readonly number[], part: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  const at = Math.min(sorted.length - 1, Math.floor(sorted.length * part));
  return sorted[at] ?? Number.NaN;
}

/** Times one call, in milliseconds. */
export async function time(fn: () => unknown): Promise<number> {
  const start = performance.now();
  await fn();
  return performance.now() - start;
}

/**
 * The median of ours over the median of the bare thing, taken in turns.
 *
 * @param ours What is judged.
 * @param bare What it is compared with.
 * @param options How often.
 * @returns The ratio.
 */
export async function ratio(
  ours: () => unknown,
  bare: () => unknown,
  options: RatioOptions = {},
): Promise<number> {
  const rounds = options.rounds ?? 60;
  const warmUp = options.warmUp ?? 8;
  const mine: number[] = [];
  const theirs: number[] = [];
  for (let round = -warmUp; round < rounds; round++) {
    const a = await time(ours);
    const b = await time(bare);
    if (round < 0) continue;
    mine.push(a);
    theirs.push(b);
  }
  return median(mine) / median(theirs);
}

/** Whether a figure keeps its bound, its noise allowed for. */
export function keeps(bench: BenchCase, figure: number): boolean {
  const noise = bench.noise ?? 0.1;
  return bench.keep === "at most"
    ? figure <= bench.bound * (1 + noise)
    : figure >= bench.bound * (1 - noise);
}
