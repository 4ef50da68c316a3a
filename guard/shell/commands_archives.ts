/**
 * Programs that pack, unpack and package. Data only.
 *
 * @module
 */
import {
  ALL,
  each,
  HERE,
  READS,
  type VerbSpec,
  type VerbTable,
  verbTable,
} from "./verb_spec.ts";

/** Packs into the first operand behind the letter, unpacks into the last of several. */
const LETTERS: VerbSpec = {
  subs: {
    ...each("a c d u m f rn mf r k s ch cw rr", {
      operands: "first",
      takes: "-to",
    }),
    ...each("x e", {
      operands: "last",
      attached: "-op",
      here: true,
      writes: "-to -out",
    }),
    ...each("l v t p lb vb lt vt i h b", READS),
  },
};

/** The rows by program. */
export const archiveCommands: VerbTable = verbTable(() => ({
  // Packing
  zip: {
    operands: "first",
    takes: "-b -i -n -t -tt -x -P -s -sp",
    writes: "-O --out --output-file",
  },
  unzip: { takes: "-x -P -I -O", writes: "-d", unless: "-l -t -v -p -Z -z" },
  gzip: {
    operands: "all",
    unless: "-c -l -t --stdout --to-stdout --list --test",
    takes: "-S --suffix",
  },
  gunzip: {
    operands: "all",
    unless: "-c -l -t --stdout --list --test",
    takes: "-S --suffix",
  },
  bzip2: { operands: "all", unless: "-c -t --stdout --test" },
  bunzip2: { operands: "all", unless: "-c -t --stdout --test" },
  xz: {
    operands: "all",
    unless: "-c -l -t --stdout --list --test",
    takes: "-T -S --suffix --threads",
  },
  unxz: { operands: "all", unless: "-c -l -t --stdout --list --test" },
  lzma: { operands: "all", unless: "-c -l -t --stdout" },
  compress: { operands: "all", unless: "-c" },
  uncompress: { operands: "all", unless: "-c" },
  ...each(
    "pigz unpigz pbzip2 lzip lbzip2 plzip pxz zopfli unlzma unlz4 brotli",
    {
      operands: "all",
      unless: "-c -l -t --stdout --to-stdout --list --test",
      takes: "-S -b -p -q --processes --suffix --quality",
      writes: "-o --output",
      instead: "-o --output",
    },
  ),
  lzop: {
    operands: "all",
    unless: "-c -l -t --stdout --list --test",
    takes: "-S --suffix",
    writes: "-o --output",
    attached: "-p",
    instead: "-o --output -p",
  },
  ranlib: ALL,
  objcopy: {
    operands: "final",
    takes:
      "-I -O -B -j -R -N -K -L -G -W --add-section --dump-section --only-section --update-section",
  },
  patchelf: {
    operands: "final",
    takes:
      "--set-interpreter --set-rpath --add-needed --remove-needed --replace-needed --set-soname",
    writes: "--output",
    unless:
      "--print-interpreter --print-rpath --print-needed --print-soname --print-os-abi --print-execstack",
    instead: "--output",
  },
  mkisofs: { writes: "-o" },
  genisoimage: { writes: "-o" },
  ...each("lz4 pixz", {
    operands: "final",
    unless: "-c -l -t -dc -cd --test --list",
    takes: "-B",
  }),
  ...each("lrzip lrunzip lrzuntar lrztar", {
    operands: "all",
    takes: "-S -L -p -w -m",
    writes: "-o -O",
    unless: "-i -t",
    instead: "-o -O",
  }),
  ...each("zstdmt pzstd", {
    operands: "all",
    takes: "-T -D -M",
    writes: "-o --output-dir-flat",
    unless: "-c -l -t --stdout --list --test",
    instead: "-o --output-dir-flat",
  }),
  "zipsplit": { writes: "-b", takes: "-n -r", operands: "all", onlyWith: "-p" },
  "zipnote": { operands: "all", onlyWith: "-w" },
  p7zip: { operands: "all", unless: "-c" },
  ...each("rar unrar arj zpaq zoo unace", { ...LETTERS, singleDash: true }),
  unar: {
    takes: "-e -E -p -password -encoding -indexes",
    writes: "-o -output-directory",
    singleDash: true,
    here: true,
  },
  lsar: READS,
  xar: { writes: "-f -C --dump-toc -d", takes: "-s", unless: "-t -tf" },
  dar: { writes: "-c -x -C -R", takes: "-A -B -m -N", unless: "-l -t -d" },
  lcab: { operands: "final" },
  gcab: { writes: "-C --directory", operands: "first", unless: "-t" },
  unsquashfs: {
    takes: "-ef -excf -p -da -fr",
    writes: "-d -dest -f",
    unless: "-l -ll -lln -ls -s -stat -mkfs-time -cat",
    singleDash: true,
    here: true,
  },
  ...each("archivemount squashfuse fuseiso ratarmount", { operands: "last" }),
  ...each("fusermount fusermount3", { operands: "all", mode: "tree" }),
  ...each("atool aunpack als acat", {
    takes: "-F -f",
    writes: "-X --extract-to",
    here: true,
    unless: "-l --list -c --cat",
  }),
  apack: { operands: "first" },
  arepack: { operands: "last" },
  patool: {
    subs: {
      extract: { writes: "--outdir", here: true },
      create: { operands: "first" },
      repack: { operands: "last" },
    },
  },
  dtrx: HERE,
  ditto: { operands: "final", takes: "--arch --keychain" },
  shar: { writes: "-o" },
  uudecode: { writes: "-o --output-file" },
  xorrisofs: { writes: "-o -output", singleDash: true },
  asar: {
    subs: {
      ...each("extract e", { operands: "second" }),
      ...each("pack p", { operands: "second" }),
      ...each("extract-file ef", HERE),
    },
  },
  // Java's
  jmod: {
    subs: {
      create: {
        operands: "final",
        takes: "--class-path --cmds --config --libs --main-class -p",
      },
      extract: { writes: "--dir", here: true },
    },
  },
  jlink: { takes: "-p --module-path --add-modules", writes: "--output" },
  jpackage: {
    takes: "-n -i -t -p --name --input --type --main-jar --main-class",
    writes: "-d --dest --temp",
    here: true,
    hereUnless: "--version --help -h",
  },
  jarsigner: {
    operands: "first",
    unless: "-verify -help",
    instead: "-signedjar",
    takes:
      "-keystore -storepass -keypass -alias -tsa -digestalg -sigalg -sigfile",
    writes: "-signedjar",
    singleDash: true,
  },
  // Packages of distributions
  // They leave what they build beside the source tree.
  ...each("dpkg-buildpackage debuild gbp", {
    takes: "-k -a -p -e -m",
    here: "..",
    unless: "--help --version -h",
  }),
  "dpkg-repack": HERE,
  "dpkg-source": {
    operands: "last",
    here: "..",
    hereUnless:
      "-x --extract --help --version --print-format --before-build --after-build",
  },
  alien: HERE,
  rpmbuild: {
    takes: "--target --with --without",
    writes: "--buildroot --root --dbpath",
    named: "-D --define",
    here: "~/rpmbuild",
    unless: "--showrc --version --help --eval -E",
  },
  "rpmdev-setuptree": { here: "~/rpmbuild" },
}));
