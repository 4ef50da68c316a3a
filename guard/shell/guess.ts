/**
 * Programs that no table knows, judged by what the words among their arguments say by convention.
 * Only paths that lead outside for sure count.
 *
 * @module
 */
import { isKnown } from "../holes.ts";
import { type Call, writes } from "./call.ts";

/** What follows a word such as `log` or `report` where an option names a place. */
const PLACE = "[-_]?(?:dir(?:ectory)?|file|path|folder|location|to)";

/** Long options that name an output. */
const OUTPUT_OPTION = new RegExp(
  "^--?(?!.*(?:delimiter|separator|format|encoding|indicator|fields?|limit|level|mode|type|style|colou?r|sort|width|rate|codec|lang)s?$)(?:" +
    [
      "out(?:put)?(?:s|[-_]?\\w+(?:[-_]\\w+)*)?",
      ".*[-_]out(?:put)?(?:[-_]?(?:dir(?:ectory)?|file|path))?",
      `(?:dest|destination|target)(?:${PLACE})?`,
      "log[-_]?file|logs?[-_]?(?:dir(?:ectory)?|path)",
      `(?:reports?|results?|artifacts?|coverage|screenshots?|videos?|temp|tmp|cache|build|dist|downloads?|install|scratch|base|export|save|dump|snapshots?|backups?|extract|generated?|gen|site|scan[-_]?results?)${PLACE}`,
      `(?:\\w+[-_])*(?:reports?|archive|json|xml|html|csv|junit|profile|trace|har|pcap|data)[-_]?(?:file|path)`,
      "save(?:[-_]?as)?|export|write[-_]?to|junit[-_]?xml|pid[-_]?file",
    ].join("|") + ")$",
  "i",
);

/** A value that could hold such a path. */
const MAY_LEAVE = /\/|\.\./;

/** A path that leads out of the directory it starts in, whatever that is. */
const LEAVES = /^(?:\/|\.\.(?:\/|$)|~\/)/;

/** Sub-commands whose operands are what they make or remove. */
const MAKES =
  /^(?:init|new|create|scaffold|bootstrap|clone|extract|unpack|mkdir|touch|rm|rmdir|delete|remove)$/;

/** Sub-commands whose last operand, behind others, is what they write. */
const FILLS =
  /^(?:cp|copy|mv|move|get|fetch|pull|download|export|dump|save|backup|snapshot|restore|convert|render|checkout|pack|unarchive|decompress|mirror|sync)$/;

/** How much of a program's arguments counts. */
export interface GuessOptions {
  /**
   * Whether `-o` names an output.
   *
   * @default {true}
   */
  short?: boolean;
  /**
   * Whether the first operand is a sub-command that says what the others are.
   *
   * @default {false}
   */
  subs?: boolean;
}

/**
 * Judges a program that no table knows.
 *
 * @param call The call.
 * @param options What counts beside long options.
 */
export function applyGuess(call: Call, options: GuessOptions = {}): void {
  const { short = true, subs = false } = options;
  // What stands behind `--` is no option of this program.
  const end = call.args.indexOf("--");
  const args = end === -1 ? call.args : call.args.slice(0, end);
  for (let i = 0; i < args.length; i++) {
    const arg = args[i] ?? "";
    if (!arg.startsWith("-")) continue;
    const equals = arg.indexOf("=");
    const name = equals === -1 ? arg : arg.slice(0, equals);
    const given = equals === -1 ? args[i + 1] : arg.slice(equals + 1);
    let value: string | undefined;
    // Only what could lead outside is worth the pattern, which takes half a millisecond to be made ready.
    if (
      given !== undefined && MAY_LEAVE.test(given) && OUTPUT_OPTION.test(name)
    ) {
      value = given;
      // `--go_out=paths=source_relative:gen`
      if (name.endsWith("_out")) value = value.replace(/^[^/~.][^:]*:/, "");
    } else if (short && (name === "-o" || name === "-O")) {
      value = given;
    } else if (short && /^-[oO][:./~]/.test(arg)) {
      value = arg.slice(2).replace(/^:/, "");
    }
    guessed(call, value);
  }
  if (subs) guessSub(call);
}

/** A sub-command's word says whether its operands are written. */
function guessSub(call: Call): void {
  const [sub = "", ...rest] = call.args;
  const operands = rest.filter((arg, i) =>
    !arg.startsWith("-") &&
    (i === 0 || !/^--?[\w-]+$/.test(rest[i - 1] ?? ""))
  );
  if (MAKES.test(sub)) operands.forEach((operand) => guessed(call, operand));
  else if (FILLS.test(sub) && operands.length > 1) {
    guessed(call, operands.at(-1));
  }
}

function guessed(call: Call, value: string | undefined): void {
  if (value !== undefined && LEAVES.test(value) && isKnown(value)) {
    writes(call, value);
  }
}
