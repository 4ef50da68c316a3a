// deno-lint-ignore-file no-console -- a maintainer's command
/**
 * `deno task bench [AREA…] [--json]`: takes every figure, prints it beside its
 * bound, and exits with 1 when a bound is broken by more than its stated noise.
 *
 * Everything runs in the C locale, ours and the bare side alike: another one makes
 * each dynamically linked helper read a dozen locale files first.
 *
 * @module
 */

import { type BenchCase, keeps } from "./bench/harness.ts";

/** Imports every `scripts/bench/*_bench.ts`; each exports `benches`. */
async function load(): Promise<BenchCase[]> {
  const dir = new URL("./bench/", import.meta.url);
  const names: string[] = [];
  for await (const entry of Deno.readDir(dir)) {
    if (entry.name.endsWith("_bench.ts")) names.push(entry.name);
  }
  const cases: BenchCase[] = [];
  for (const name of names.sort()) {
    const module: { benches?: BenchCase[] } = await import(
      new URL(name, dir).href
    );
    cases.push(...module.benches ?? []);
  }
  return cases;
}

async function main(args: string[]): Promise<number> {
  const json = args.includes("--json");
  const areas = args.filter((arg) => !arg.startsWith("--"));
  const cases = (await load()).filter((bench) =>
    areas.length === 0 || areas.includes(bench.area)
  );
  Deno.env.set("LC_ALL", "C");
  let broken = 0;
  for (const bench of cases) {
    const { area, name, bound, keep, unit } = bench;
    const figure = await bench.measure();
    if (typeof figure !== "number") {
      console.log(
        json
          ? JSON.stringify({ area, name, skipped: figure.skipped })
          : `${area.padEnd(8)} ${name.padEnd(58)} skipped: ${figure.skipped}`,
      );
      continue;
    }
    const ok = keeps(bench, figure);
    if (!ok) broken++;
    const rounded = Number(figure.toPrecision(3));
    console.log(
      json
        ? JSON.stringify({ area, name, figure: rounded, bound, keep, unit, ok })
        : `${area.padEnd(8)} ${name.padEnd(58)} ${
          String(rounded).padStart(8)
        } ${unit}  (${keep} ${bound}) ${ok ? "ok" : "BROKEN"}`,
    );
  }
  return broken === 0 ? 0 : 1;
}

if (import.meta.main) Deno.exit(await main(Deno.args));
