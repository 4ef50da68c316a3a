/**
 * Converters of documents, pictures and sound, and formatters of source text. Data only.
 *
 * @module
 */
import { ALL, each, READS, type VerbTable, verbTable } from "./verb_spec.ts";

/** The rows by program. */
export const documentCommands: VerbTable = verbTable(() => ({
  // Documents, pictures, sound
  pandoc: {
    takes:
      "-f -t -r -w -V -M -H -B -A -c --from --to --template --metadata --variable --filter --css",
    writes: "-o --output --extract-media --log",
  },
  ...each("pdflatex xelatex lualatex latex tex pdftex latexmk tectonic", {
    takes: "-jobname -interaction -e -usepretex",
    writes:
      "-output-directory -aux-directory -outdir -auxdir -out2dir --outdir --output-directory -o",
    singleDash: true,
    here: true,
    hereUnless: "-version --version -help --help",
  }),
  dot: { takes: "-T -K -G -N -E", writes: "-o" },
  neato: { takes: "-T -K", writes: "-o" },
  plantuml: { writes: "-o" },
  mmdc: { takes: "-i -t -c", writes: "-o" },
  ffmpeg: {
    operands: "final",
    takes:
      "-i -f -c -vf -af -ss -t -to -r -s -b -codec -vcodec -acodec -map -loglevel -v -crf -preset -filter_complex -frames:v -c:v -c:a -b:v -b:a -pix_fmt -vframes -q:v -ar -ac",
    singleDash: true,
  },
  convert: { operands: "last", singleDash: true },
  magick: { operands: "last", singleDash: true },
  mogrify: {
    operands: "all",
    takes: "-resize -format -quality -crop -rotate",
    writes: "-path",
    singleDash: true,
  },
  sox: { operands: "last", takes: "-r -b -c -e -t" },
  inkscape: {
    takes: "-w -h -d",
    writes: "-o --export-filename --export-png --export-pdf",
  },
  wkhtmltopdf: { operands: "last" },
  wkhtmltoimage: { operands: "last" },
  pdftotext: {
    operands: "second",
    takes: "-f -l -r -x -y -W -H -enc",
    singleDash: true,
  },
  pdftoppm: {
    operands: "second",
    takes: "-f -l -r -x -y -W -H -scale-to",
    singleDash: true,
  },
  optipng: {
    operands: "all",
    takes: "-o -f -i -zc -zm -zs -zw",
    writes: "-out -dir -log",
    unless: "-simulate",
    instead: "-out -dir",
    singleDash: true,
  },
  jpegoptim: {
    operands: "all",
    takes: "-m -S --max --size --threshold",
    writes: "-d --dest",
    unless: "-n --noaction --stdout",
    instead: "-d --dest",
  },
  pngquant: {
    operands: "rest",
    takes: "--ext -s --speed -Q --quality --floyd --posterize",
    writes: "-o --output",
    unless: "-",
    instead: "-o --output",
  },
  pngcrush: {
    operands: "last",
    takes: "-m -brute",
    writes: "-d",
    singleDash: true,
  },
  gifsicle: {
    operands: "all",
    onlyWith: "-b --batch",
    writes: "-o --output",
    takes: "-O -d --colors --resize --delay",
  },
  jpegtran: {
    takes: "-rotate -crop -copy -flip",
    writes: "-outfile",
    singleDash: true,
  },
  "zopflipng": { operands: "last" },
  avifenc: { operands: "last", takes: "-q -s -j -d -y", writes: "-o --output" },
  dwebp: { writes: "-o", singleDash: true },
  pdfunite: { operands: "last" },
  qpdf: { operands: "last" },
  gs: { takes: "-I", writes: "-o -sOutputFile", singleDash: true },
  libreoffice: { takes: "--convert-to --infilter", writes: "--outdir" },
  soffice: { takes: "--convert-to --infilter", writes: "--outdir" },
  exiftool: { takes: "-if", writes: "-o", singleDash: true },
  rsvg: READS,
  "rsvg-convert": { takes: "-w -h -f -d -p", writes: "-o --output" },
  scrot: { operands: "all", takes: "-d -q" },
  screencapture: { operands: "all" },
  codesign: {
    operands: "all",
    onlyWith: "-s --sign --remove-signature",
    takes: "--entitlements -i -o --options --timestamp",
  },
  // In-place formatters and fixers
  prettier: {
    operands: "all",
    onlyWith: "-w --write",
    takes: "--config --parser --ignore-path --plugin --tab-width --print-width",
  },
  eslint: {
    operands: "all",
    onlyWith: "--fix",
    takes:
      "-c -f --config --ext --format --rule --parser --ignore-path --max-warnings",
    writes: "-o --output-file --cache-location",
  },
  stylelint: {
    operands: "all",
    onlyWith: "--fix",
    takes: "--config",
    writes: "-o --output-file",
  },
  biome: {
    subs: {
      format: { operands: "all", onlyWith: "--write" },
      check: { operands: "all", onlyWith: "--write --apply" },
      lint: { operands: "all", onlyWith: "--write" },
    },
  },
  black: {
    operands: "all",
    unless: "--check --diff",
    takes:
      "-l -t -c --line-length --target-version --config --exclude --include",
  },
  isort: {
    operands: "all",
    unless: "--check --check-only -c --diff",
    takes: "-l --profile --settings-path",
  },
  pyupgrade: ALL,
  "2to3": {
    operands: "all",
    onlyWith: "-w --write",
    takes: "-f -x",
    writes: "-o --output-dir",
  },
  autopep8: { operands: "all", onlyWith: "-i --in-place" },
  yapf: { operands: "all", onlyWith: "-i --in-place" },
  ruff: {
    subs: {
      format: {
        operands: "all",
        unless: "--check --diff",
        takes: "--config --line-length",
      },
      check: {
        operands: "all",
        onlyWith: "--fix --fix-only",
        takes: "--config --select --ignore --output-format",
        writes: "-o --output-file",
      },
    },
  },
  gofmt: { operands: "all", onlyWith: "-w", takes: "-r" },
  goimports: { operands: "all", onlyWith: "-w", takes: "-local" },
  rustfmt: {
    operands: "all",
    unless: "--check",
    takes: "--edition --config --config-path",
  },
  "clang-format": {
    operands: "all",
    onlyWith: "-i",
    takes: "--style --assume-filename",
  },
  shfmt: { operands: "all", onlyWith: "-w --write", takes: "-i -ln" },
  yq: {
    operands: "rest",
    onlyWith: "-i --inplace",
    takes: "-o -p --output-format --input-format",
  },
  rubocop: {
    operands: "all",
    onlyWith: "-a -A --autocorrect --autocorrect-all --auto-correct",
    takes: "-c -f --only --except --format",
    writes: "-o --out",
  },
  standard: { operands: "all", onlyWith: "--fix" },
  "clang-tidy": {
    operands: "all",
    onlyWith: "-fix -fix-errors --fix --fix-errors",
    takes: "-p -checks",
    writes: "-export-fixes --export-fixes",
    singleDash: true,
  },
  sqlfluff: { subs: { fix: ALL, format: ALL } },
  markdownlint: { operands: "all", onlyWith: "--fix -f", writes: "-o" },
  tidy: {
    operands: "all",
    onlyWith: "-m -modify",
    takes: "-config -wrap -f -file",
    writes: "-o -output -f",
    singleDash: true,
  },
  xmlstarlet: {
    subs: {
      ed: {
        operands: "final",
        onlyWith: "-L --inplace",
        takes: "-u -v -d -x -i -a -s -t -n -r -N",
      },
    },
  },
  crudini: { operands: "first", onlyWith: "--set --del --merge" },
}));
