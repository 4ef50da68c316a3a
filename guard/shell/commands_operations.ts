/**
 * Programs that back up, scan, and move images and packets. Data only.
 *
 * @module
 */
import { each, type VerbSpec, type VerbTable, verbTable } from "./verb_spec.ts";

/** A registry's client: what is pulled or exported lands in the second operand. */
const PULLS: VerbSpec = { operands: "second", takes: "--platform --format" };

/** The rows by program. */
export const operationCommands: VerbTable = verbTable(() => ({
  // Backups
  borg: {
    subs: {
      ...each("create init delete prune compact check rename", {
        operands: "first",
        takes: "-C -e --compression --exclude --encryption --comment",
      }),
      ...each("list info diff", {}),
    },
  },
  unison: { operands: "all", takes: "-path -ignore -batch", singleDash: true },
  // Images and packages
  crane: { subs: { pull: PULLS, export: PULLS } },
  oras: { subs: { pull: { writes: "-o --output" } } },
  cabextract: { takes: "-F -p", writes: "-d --directory" },
  ...each("debootstrap mmdebstrap cdebootstrap", {
    operands: "second",
    takes: "--arch --include --exclude --variant --components --mode",
  }),
  // Browsers without a window
  ...each(
    "chromium chromium-browser google-chrome google-chrome-stable chrome microsoft-edge msedge brave firefox",
    {
      takes: "--window-size --virtual-time-budget -P",
      writes:
        "--screenshot --print-to-pdf --user-data-dir --disk-cache-dir --log-file --crash-dumps-dir --profile -profile --dump-dir",
      singleDash: true,
    },
  ),
  // Networks
  nmap: {
    takes: "-p -iL -e -S -D -T --script --script-args --exclude",
    writes: "-oN -oX -oG -oA -oS",
    singleDash: true,
  },
  xcrun: {
    subs: {
      simctl: {
        subs: {
          io: { operands: "final", takes: "--type --codec --mask --display" },
        },
      },
    },
  },
  earthly: {
    operands: "last",
    onlyWith: "--artifact -a",
    takes: "--build-arg --secret",
  },
  // Toolchains
  xcodebuild: {
    takes: "-scheme -project -workspace -destination -configuration -sdk",
    writes:
      "-derivedDataPath -archivePath -resultBundlePath -exportPath -resultStreamPath",
    singleDash: true,
  },
  swift: {
    takes: "-c --configuration --product --target -Xswiftc",
    writes: "--scratch-path --build-path --cache-path --package-path -o",
  },
}));
