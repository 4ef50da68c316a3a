import { AbiError, type LibraryTarget } from "@bulkhead/abi";
import { inspectBytes } from "../abi/preflight.ts";
import { assert, assertEquals } from "@std/assert";
import { machO, pe } from "../abi/testing/images.ts";
import { build, canRun } from "./_abi.ts";

const CASES = 20_000;

/** A small generator with a seed, so that a failure can be repeated. */
function random(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

const ODD = [0, 1, 0x7f, 0x80, 0xff];

function mutate(
  bytes: Uint8Array,
  next: () => number,
  reach: number,
): Uint8Array {
  const copy = bytes.slice();
  const view = new DataView(copy.buffer);
  const at = (width: number) =>
    Math.floor(next() * Math.max(1, Math.min(reach, copy.length) - width));
  for (let i = 1 + Math.floor(next() * 4); i > 0; i--) {
    switch (Math.floor(next() * 6)) {
      case 0:
        copy[at(1)] = Math.floor(next() * 256);
        break;
      case 1:
        copy[at(1)] = ODD[Math.floor(next() * ODD.length)] ?? 0;
        break;
      case 2:
        view.setUint32(at(4), Math.floor(next() * 2 ** 32), true);
        break;
      case 3:
        view.setBigUint64(
          at(8),
          next() < 0.5
            ? 0xffffffffffffffffn
            : BigInt(Math.floor(next() * 2 ** 53)),
          true,
        );
        break;
      case 4:
        return copy.subarray(0, Math.floor(next() * copy.length));
      default:
        copy.copyWithin(at(16), at(16), at(16) + 16);
    }
  }
  return copy;
}

function fuzz(
  image: Uint8Array,
  target: LibraryTarget,
  reach: number,
  cases: number,
  seed: number,
): number {
  inspectBytes(image, target);
  const next = random(seed);
  let refused = 0;
  for (let i = 0; i < cases; i++) {
    const bytes = mutate(image, next, reach);
    try {
      inspectBytes(bytes, target);
    } catch (error) {
      assert(
        error instanceof AbiError && error.code === "preflight",
        `seed ${seed}, case ${i}: ${error}`,
      );
      assert(/^[^\n]{1,300}$/.test(error.message), error.message);
      refused++;
    }
  }
  return refused;
}

Deno.test({
  name: `abi fuzz: ${CASES} mutated ELF files give a report or the typed error`,
  ignore: !await canRun(),
  fn: async () => {
    const image = await Deno.readFile(await build("01_ok", ["-g0", "-Wl,-s"]));
    const { arch } = Deno.build;
    const refused = fuzz(image, { os: "linux", arch }, 1_024, CASES / 2, 1) +
      fuzz(image, { os: "linux", arch }, image.length, CASES / 2, 2);
    assert(refused > CASES / 10, `${refused}`);
  },
});

Deno.test(`abi fuzz: ${CASES} mutated Mach-O and PE files give a report or the typed error`, () => {
  const target = (os: string) => ({ os, arch: "x86_64" });
  assertEquals(inspectBytes(machO(), target("darwin")).format, "macho");
  for (
    const [image, os] of [
      [machO(), "darwin"],
      [machO({ fat: true }), "darwin"],
      [pe(), "windows"],
    ] as const
  ) {
    fuzz(image, target(os), image.length, Math.ceil(CASES / 3), 3);
  }
});
