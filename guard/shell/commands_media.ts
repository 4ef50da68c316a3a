/**
 * Converters and recorders of pictures, sound and film. Data only.
 *
 * @module
 */
import { each, READS, type VerbTable, verbTable } from "./verb_spec.ts";

/** The rows by program. */
export const mediaCommands: VerbTable = verbTable(() => ({
  ...each("ffmpeg avconv", {
    operands: "final",
    takes:
      "-i -f -c -vf -af -ss -t -to -r -s -b -codec -vcodec -acodec -map -loglevel -v -crf -preset -filter_complex -frames:v -c:v -c:a -b:v -b:a -pix_fmt -vframes -q:v -ar -ac -pass -threads -metadata -movflags -q:a -vsync -tune -profile:v -level",
    writes: "-passlogfile -progress -vstats_file -sdp_file -dump_attachment",
    singleDash: true,
  }),
  mogrify: {
    operands: "all",
    takes: "-resize -format -quality -crop -rotate",
    writes: "-path",
    instead: "-path",
    singleDash: true,
  },
  ...each("montage composite stream", { operands: "last", singleDash: true }),
  compare: {
    operands: "last",
    takes: "-metric -fuzz -compose -highlight-color -lowlight-color",
    singleDash: true,
  },
  import: {
    operands: "final",
    takes: "-window -resize -crop -quality -delay",
    singleDash: true,
  },
  gm: {
    subs: {
      ...each("convert composite montage conjure import", {
        operands: "last",
        singleDash: true,
      }),
      mogrify: {
        operands: "all",
        takes: "-resize -format -quality",
        writes: "-output-directory",
        singleDash: true,
      },
      ...each("identify compare version", READS),
    },
  },
  pngquant: {
    operands: "all",
    takes: "--ext -s --speed -Q --quality --floyd --posterize",
    writes: "-o --output",
    unless: "-",
    instead: "-o --output",
  },
  oxipng: {
    operands: "all",
    takes: "-o -f -i",
    writes: "--out --dir",
    unless: "-P --pretend --stdout",
    instead: "--out --dir",
  },
  ...each("advpng advmng advzip advdef", {
    operands: "all",
    onlyWith: "-z --recompress",
  }),
  ...each(
    "cjxl djxl heif-convert heif-enc svgexport opusenc lame jpegxl woff2_compress",
    { operands: "final" },
  ),
  woff2_decompress: { operands: "all" },
  exiv2: {
    operands: "rest",
    takes: "-m -M -l -S",
    subs: {
      ...each("rm delete insert modify mo fixiso rename mv adjust", {
        operands: "all",
        takes: "-a -l -d -M -m",
      }),
      ...each("pr print ex extract", READS),
    },
  },
  jhead: {
    operands: "all",
    onlyWith:
      "-purejpg -de -dc -dt -di -dx -ft -te -cl -ce -autorot -norot -n -mkexif -ts -da",
    singleDash: true,
  },
  ...each("id3v2 mid3v2 eyeD3 id3tag", {
    operands: "all",
    takes:
      "-t -a -A -c -g -y -T -n -b -G -Y --artist --album --title --song --year --genre --track --comment",
    unless: "-l --list -L -R --list-raw --version --help -h",
  }),
  metaflac: {
    operands: "all",
    unless:
      "--list --show-tag --show-md5sum --show-sample-rate --export-tags-to",
    writes: "--export-tags-to --export-picture-to",
  },
  flac: {
    operands: "all",
    writes: "-o --output-name --output-prefix",
    instead:
      "-o --output-name -c --stdout -t --test -a --analyze --output-prefix",
  },
  ...each("normalize normalize-audio mp3gain aacgain vorbisgain r128gain", {
    operands: "all",
    unless: "-n --no-adjust -q",
  }),
  ...each("oggenc oggdec fdkaac faac faad", { writes: "-o --output" }),
  mpg123: { takes: "-r -m", writes: "-w --wav -O --outfile" },
  ...each("mpv mplayer", {
    takes: "-ao -vo",
    writes:
      "-o --o --stream-record -dumpfile --log-file --screenshot-directory",
    singleDash: true,
  }),
  mencoder: { writes: "-o", singleDash: true },
  ...each("arecord parecord pw-record ffmpegthumbnailer", {
    operands: "final",
    takes: "-f -r -c -d -D -t -i -s",
    writes: "-o",
  }),
  ...each("espeak espeak-ng", {
    takes: "-v -s -p -a -g",
    writes: "-w --phonout",
  }),
  fluidsynth: { takes: "-a -r -g -o", writes: "-F --fast-render" },
  MP4Box: {
    takes: "-add -cat -raw -dash",
    writes: "-out",
    operands: "final",
    instead: "-out",
    singleDash: true,
    unless: "-info -version -h",
  },
  mp4box: {
    takes: "-add -cat -raw -dash",
    writes: "-out",
    operands: "final",
    instead: "-out",
    singleDash: true,
    unless: "-info -version -h",
  },
  mkvextract: { pairs: true },
  mkvpropedit: {
    operands: "first",
    takes: "-e --edit -s --set -a --add -d --delete",
  },
  ...each("vips", {
    subs: each("resize thumbnail copy rotate crop flip sharpen gaussblur", {
      operands: "second",
    }),
  }),
  povray: { attached: "+O -O" },
  ...each("maim grim flameshot", {
    operands: "final",
    takes: "-g -o -d -i",
    writes: "-p --path",
  }),
  "gnome-screenshot": { writes: "-f --file" },
  dcraw: {
    operands: "all",
    unless: "-i -c -v",
    takes: "-q -o -b -H -S -n -g -r -k -C",
  },
  ...each("blender", {
    takes: "-b -f -s -e -E -P --python",
    writes: "-o --render-output",
  }),
  ...each("convert magick", {
    operands: "last",
    writes: "-write +write",
    singleDash: true,
  }),
  sox: { operands: "last", takes: "-r -b -c -e -t" },
  inkscape: {
    takes: "-w -h -d",
    writes: "-o --export-filename --export-png --export-pdf",
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
  exiftool: { takes: "-if", writes: "-o", singleDash: true },
  rsvg: READS,
  "rsvg-convert": { takes: "-w -h -f -d -p", writes: "-o --output" },
  scrot: { operands: "all", takes: "-d -q" },
  screencapture: { operands: "all" },
}));
