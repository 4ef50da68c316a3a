/**
 * Converters of documents. Data only.
 *
 * @module
 */
import { ALL, each, HERE, type VerbTable, verbTable } from "./verb_spec.ts";

/** The rows by program. */
export const documentCommands: VerbTable = verbTable(() => ({
  qpdf: {
    operands: "last",
    takes: "--password --rotate --object-streams --stream-data",
    unless:
      "--check --show-npages --show-object --is-encrypted --requires-password --list-attachments --show-encryption --show-pages",
    exact: true,
  },
  plantuml: {
    takes: "-charset -config",
    writes: "-o -output",
    singleDash: true,
    here: true,
    hereUnless: "-pipe -version -help -syntax -testdot",
  },
  ...each("pdfseparate pdftocairo pdftohtml pdfimages", {
    operands: "final",
    takes: "-f -l -r -x -y -W -H -scale-to -scale-to-x -scale-to-y -singlefile",
    unless: "-list -stdout",
    singleDash: true,
  }),
  ...each(
    "pdfcrop ps2pdf ps2pdf14 pdf2ps ps2ps eps2eps ps2eps pdf2svg pdf2dsc ocrmypdf weasyprint ditaa d2 rst2html rst2html5 rst2latex rst2man rst2odt rst2xml pod2man pod2text pod2usage po2json json2po",
    {
      operands: "last",
      takes:
        "-s -c -n -r -l --language --margins --section --center --release --theme -t",
    },
  ),
  tesseract: {
    operands: "second",
    takes: "-l --psm --oem --tessdata-dir -c --dpi",
  },
  mutool: {
    subs: {
      ...each("clean merge", { operands: "second", writes: "-o" }),
      ...each("convert draw create run poster", {
        writes: "-o",
        takes: "-F -r -w -h",
      }),
      ...each("extract", HERE),
    },
  },
  ...each("asciidoctor asciidoctor-pdf asciidoctor-epub3", {
    takes: "-a -b -d -r -S -T",
    writes: "-o --out-file -D --destination-dir",
  }),
  ...each("asciidoc a2x", {
    takes: "-a -b -d -f",
    writes: "-o --out-file -D --destination-dir",
  }),
  ...each("bibtex makeindex biber", {
    operands: "all",
    mode: "content",
    takes: "-t -s",
    writes: "-o -O --output-file --output-directory",
  }),
  ...each("latex2html htlatex", {
    writes: "-dir -d",
    singleDash: true,
    attached: "-d",
  }),
  latexindent: {
    operands: "all",
    onlyWith: "-w --overwrite",
    writes: "-o -c --outputfile --cruft",
    takes: "-l -m",
  },
  typst: {
    subs: {
      ...each("compile c watch w", {
        operands: "second",
        takes: "--root --font-path -f --format",
      }),
      init: { operands: "second" },
    },
  },
  zola: {
    tree: "-r --root",
    subs: { build: { writes: "-o --output-dir", here: true }, init: ALL },
  },
  antora: { writes: "--to-dir --cache-dir" },
  ...each("msgmerge", {
    operands: "first",
    onlyWith: "-U --update",
    takes: "-D -C",
    writes: "-o --output-file",
  }),
  ...each("msginit", {
    takes: "-i --input -l --locale",
    writes: "-o --output-file --output",
    here: true,
  }),
  ...each("recode", { operands: "rest" }),
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
  mmdc: { takes: "-i -t -c", writes: "-o" },
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
  pdfunite: { operands: "last" },
  gs: { takes: "-I", writes: "-o -sOutputFile", singleDash: true },
  libreoffice: { takes: "--convert-to --infilter", writes: "--outdir" },
  soffice: { takes: "--convert-to --infilter", writes: "--outdir" },
}));
