/**
 * The agent programs the slow tests run, and where they lie once fetched.
 *
 * Data only: `fetch_harnesses.ts` installs what is listed here, `tests/support/harnesses.ts` finds it.
 * A new version means new integrity lines (`npm view <package>@<version> dist.integrity`).
 *
 * @module
 */

import { fromFileUrl } from "@std/path";

/** Name of a pinned agent program. */
export type HarnessName = "claude" | "codex" | "opencode" | "codex-acp";

/** One npm package that carries the native binary for one platform. */
export interface HarnessBuild {
  /** npm package name and exact version. */
  readonly spec: string;
  /** Integrity of the tarball, as the registry publishes it. */
  readonly integrity: string;
  /** Path of the program inside the package. */
  readonly binary: string;
}

/** One pinned agent program. */
export interface HarnessPin {
  /** Name used on command lines and in tests. */
  readonly name: HarnessName;
  /** Name people know it by. */
  readonly title: string;
  /** The version whose behaviour the tests describe. */
  readonly version: string;
  /** Builds by `<os>-<arch>` in npm's spelling; `any` for one that runs on Node.js. */
  readonly builds: Readonly<Record<string, HarnessBuild>>;
  /** Directory beside this file with the lock file that pins the packages, for programs that are many. */
  readonly lock?: string;
}

function claude(platform: string, integrity: string): HarnessBuild {
  return {
    spec: `@anthropic-ai/claude-code-${platform}@2.1.197`,
    integrity,
    binary: "claude",
  };
}

function codex(
  platform: string,
  triple: string,
  integrity: string,
): HarnessBuild {
  return {
    spec: `@openai/codex@0.171.0-${platform}`,
    integrity,
    binary: `vendor/${triple}/bin/codex`,
  };
}

/** Every pinned program. */
export const HARNESS_PINS: readonly HarnessPin[] = [
  {
    name: "claude",
    title: "Claude Code",
    version: "2.1.197",
    builds: {
      "linux-x64": claude(
        "linux-x64",
        "sha512-rIlKmrY0QMyHgPRX/MYWNj039vbypICvI9jVe3rs9Xy2RnNklySjyPxqh62QadznzoftEO23uYQ1tFePcQ//bg==",
      ),
      "linux-arm64": claude(
        "linux-arm64",
        "sha512-sx6SoGj3MNR5CV+YDkNtbLHXa1tn3G8qcYFgm1gnvOi9ODQUKbhiPfankJfkTMDVekOvnKJhm6i9hGFIPzp7cQ==",
      ),
      "darwin-x64": claude(
        "darwin-x64",
        "sha512-DOPeGTQqJWVENJsxwMxJtLOx+7OBINEDg9trQldlJR1nBssaYzNj1WWxp37JYSBRjeYLhqLipvDqEA0LMglL7A==",
      ),
      "darwin-arm64": claude(
        "darwin-arm64",
        "sha512-1FOVhJzkKGWgOEEsvaK3ylCEmjKeJiXwfKl7RtNEbiDj7OxhRQ1G1CLN0HGDTTq1QwY+Dm2x1Yscdv5NfobAxQ==",
      ),
    },
  },
  {
    name: "codex",
    title: "Codex",
    version: "0.171.0",
    builds: {
      "linux-x64": codex(
        "linux-x64",
        "x86_64-unknown-linux-musl",
        "sha512-l66NZkQgdk2C3pbcfULDz42yEUB581MVA6I+Y43Wp4OIqEy73HCdmZ0GTjeAHY2ycuH4N00d9VsLrwT1jxshTw==",
      ),
      "linux-arm64": codex(
        "linux-arm64",
        "aarch64-unknown-linux-musl",
        "sha512-9z17t4bbUJ9UCIb49O4PoA+ki+45q3rd8nZ8PeH6sYnlKkBld/Xpo/OS3h3Ti954+foshX4o7k5TCU8N7zzqQA==",
      ),
      "darwin-x64": codex(
        "darwin-x64",
        "x86_64-apple-darwin",
        "sha512-pwN5uNEKx/mZjwBEf/6CKq6SJMfJS5kruV3sJQAk7ebIPvC58Ote3CicIxETDZtjLj35rNv3PLPd7mHCg6hGPw==",
      ),
      "darwin-arm64": codex(
        "darwin-arm64",
        "aarch64-apple-darwin",
        "sha512-hIYTkRUpuYpkVfTq4cpby0PXqhAVcIgE7f6FoyY1lt2RyARj3GXS1Can/dIYUBItVhXzhb98HYHZNzCX74QRlQ==",
      ),
    },
  },
  {
    name: "opencode",
    title: "OpenCode",
    version: "1.18.33",
    builds: {
      "linux-x64": {
        spec: "opencode-linux-x64@1.18.33",
        integrity:
          "sha512-q/t/3p2CTxOT9y2kvjesb/LZab2+1eqlhhWA02Be6mjTtmYtNBcBsrI5yDo4Fw7ZSPBW2oyMIGMNRqiKQjiAWw==",
        binary: "bin/opencode",
      },
    },
  },
  {
    name: "codex-acp",
    title: "codex-acp",
    version: "2.6.0",
    builds: {
      any: {
        spec: "@agentclientprotocol/codex-acp@2.6.0",
        integrity: "see its lock file",
        binary: "node_modules/@agentclientprotocol/codex-acp/dist/index.js",
      },
    },
    lock: "adapters/codex-acp",
  },
];

/** The command that installs every pinned program. */
export const FETCH_COMMAND = "deno run -A scripts/fetch_harnesses.ts";

/**
 * This machine in npm's spelling.
 *
 * @returns For example `linux-x64`.
 */
export function harnessPlatform(): string {
  const arch = Deno.build.arch === "x86_64" ? "x64" : "arm64";
  return `${Deno.build.os === "windows" ? "win32" : Deno.build.os}-${arch}`;
}

/**
 * Where fetched programs are kept.
 *
 * @returns `$BULKHEAD_HARNESSES`, else `.cache/harnesses` of this repository.
 */
export function harnessCache(): string {
  const chosen = Deno.env.get("BULKHEAD_HARNESSES");
  if (chosen) {
    return chosen.startsWith("/") ? chosen : `${Deno.cwd()}/${chosen}`;
  }
  return decodeURIComponent(
    fromFileUrl(new URL("../.cache/harnesses", import.meta.url)),
  );
}

/**
 * Looks up a pin by name.
 *
 * @param name Of the program.
 * @returns Its pin.
 */
export function harnessPin(name: HarnessName): HarnessPin {
  const pin = HARNESS_PINS.find((pin) => pin.name === name);
  if (!pin) {
    throw new RangeError(
      `Cannot find harness "${name}": known are ${
        HARNESS_PINS.map((p) => p.name).join(", ")
      }`,
    );
  }
  return pin;
}

/**
 * The build for this machine.
 *
 * @param pin The program.
 * @returns Its build, if one is pinned.
 */
export function harnessBuild(pin: HarnessPin): HarnessBuild | undefined {
  return pin.builds[harnessPlatform()] ?? pin.builds.any;
}

/**
 * The directory one build is unpacked to. It exists only when the build is complete.
 *
 * @param pin The program.
 * @param cache The cache directory.
 * @returns An absolute path.
 */
export function harnessDir(
  pin: HarnessPin,
  cache: string = harnessCache(),
): string {
  return `${cache}/${pin.name}-${pin.version}-${harnessPlatform()}`;
}
