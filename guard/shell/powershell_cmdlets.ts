/**
 * PowerShell's cmdlets: which of their parameters name what they write. Data only.
 *
 * @module
 */
import type { EffectMode } from "../effect.ts";

/** Which parameters and positions of a cmdlet name what it writes. */
export interface Cmdlet {
  /** Parameters whose value is written. */
  writes: string;
  /** Positional operands that are written; `last` is the last of several. */
  at: "first" | "second" | "all" | "none";
  mode?: EffectMode;
  /** Parameters whose value is removed. */
  removes?: string;
}

const PATHS = "path literalpath filepath pspath lp";
const WRITE_FIRST: Cmdlet = { writes: PATHS, at: "first" };
const COPY: Cmdlet = { writes: "destination", at: "second" };
const MOVE: Cmdlet = {
  writes: "destination",
  at: "all",
  removes: "path literalpath",
};

/** The cmdlets that write, and their aliases. */
export const CMDLETS: Readonly<Record<string, Cmdlet>> = {
  "set-content": WRITE_FIRST,
  sc: WRITE_FIRST,
  "add-content": WRITE_FIRST,
  ac: WRITE_FIRST,
  "clear-content": WRITE_FIRST,
  clc: WRITE_FIRST,
  "out-file": WRITE_FIRST,
  "tee-object": WRITE_FIRST,
  tee: WRITE_FIRST,
  "new-item": WRITE_FIRST,
  ni: WRITE_FIRST,
  mkdir: WRITE_FIRST,
  md: WRITE_FIRST,
  touch: { writes: "", at: "all" },
  "set-item": WRITE_FIRST,
  "set-itemproperty": WRITE_FIRST,
  "set-acl": WRITE_FIRST,
  "export-csv": WRITE_FIRST,
  epcsv: WRITE_FIRST,
  "export-clixml": WRITE_FIRST,
  "start-transcript": WRITE_FIRST,
  "remove-item": { writes: PATHS, at: "all", mode: "tree" },
  ri: { writes: PATHS, at: "all", mode: "tree" },
  rm: { writes: PATHS, at: "all", mode: "tree" },
  rmdir: { writes: PATHS, at: "all", mode: "tree" },
  del: { writes: PATHS, at: "all", mode: "tree" },
  erase: { writes: PATHS, at: "all", mode: "tree" },
  rd: { writes: PATHS, at: "all", mode: "tree" },
  "copy-item": COPY,
  copy: COPY,
  cpi: COPY,
  cp: COPY,
  "move-item": MOVE,
  move: MOVE,
  mi: MOVE,
  mv: MOVE,
  "rename-item": { writes: "path literalpath", at: "first", mode: "tree" },
  ren: { writes: "path literalpath", at: "first", mode: "tree" },
  rni: { writes: "path literalpath", at: "first", mode: "tree" },
  "expand-archive": { writes: "destinationpath", at: "second" },
  "compress-archive": { writes: "destinationpath", at: "second" },
  "invoke-webrequest": { writes: "outfile", at: "none" },
  iwr: { writes: "outfile", at: "none" },
  "invoke-restmethod": { writes: "outfile", at: "none" },
  irm: { writes: "outfile", at: "none" },
  "save-module": { writes: "path", at: "none" },
  "save-script": { writes: "path", at: "none" },
  "save-package": { writes: "path", at: "none" },
  "new-modulemanifest": WRITE_FIRST,
  "export-alias": WRITE_FIRST,
  "export-formatdata": { writes: PATHS, at: "none" },
  "clear-item": { writes: PATHS, at: "all" },
  "unblock-file": { writes: PATHS, at: "all" },
  "start-bitstransfer": { writes: "destination", at: "second" },
};

/** Parameters without a value, which any beginning of theirs names as well. */
const SWITCHES =
  "recurse force append nonewline noclobber passthru whatif confirm verbose debug update usebasicparsing notypeinformation asbytestream raw"
    .split(" ");

/**
 * Whether a parameter takes no value.
 *
 * @param key Its name in small letters, or a beginning of it.
 * @returns `true` for a switch.
 */
export function isSwitch(key: string): boolean {
  return /^(?:r|rf|fr|f|p)$/.test(key) || SWITCHES.includes(key) ||
    key.length > 1 && SWITCHES.some((one) => one.startsWith(key)) &&
      !/^(?:pa|va|fi|de)/.test(key);
}

/** Names of programs that PowerShell has an alias for as well. */
export const NATIVE: RegExp =
  /^(?:curl|wget|tar|dd|ln|chmod|chown|install|rsync)$/;

/** PowerShell's own commands, by verb and noun or by an alias, and whatever is no name. */
export const OWN_COMMAND: RegExp =
  /^(?:[a-z]+-[a-z]+|[^a-z].*|.*[^\w.+-].*|ls|dir|cat|gc|type|echo|write|sort|where|select|foreach|ps|kill|sleep|diff|compare|man|help|history|h|r|measure|group|gm|gi|gci|gp|gps|gsv|gu|ft|fl|fw|oh|ogv|sls|cls|clear|set|pwd|gl|gv|gal|gcm|gdr|ghy|if|else|elseif|while|for|do|switch|function|param|return|throw|try|catch|finally|trap|break|continue|exit|in)?$/;
