/**
 * Command texts that are built to cost a reader more than their size.
 *
 * @module
 */

const SIZE = 262_144;
const fill = (unit: string) => unit.repeat(Math.floor(SIZE / unit.length));

/** Texts of up to 256 KiB by what they are made of. */
export const HOSTILE_COMMANDS: Record<string, string> = {
  "heredocs on one line": "cat " + fill("<<A "),
  "heredocs one after the other": fill("cat <<A\nA\n"),
  "a long heredoc": "cat <<A\n" + fill("a > b\n") + "A\n",
  "commands": fill("a;"),
  "writes": fill("touch /work/env/a;"),
  "open brackets": fill("("),
  "open substitutions": fill("$(a "),
  "backquotes": fill("`"),
  "quoted words": fill("'a' "),
  "variables in quotes": fill('"$a" '),
  "brace groups in one word": fill("{a,b}"),
  "brace groups in many words": fill("{a,b} "),
  "redirections": fill(">a "),
  "pipes": fill("a|"),
  "conditions": fill("a&&"),
  "doubling variables": "A=a;" + fill("A=$A$A;"),
  "array elements": "a=(" + fill("b ") + ")",
  "nested loops": "for i in 1 2 3 4 5 6 7 8 9; do ".repeat(40) + "touch a" +
    "; done".repeat(40),
  "recursive functions": "f() { f; f; }; f; " + fill("f;"),
  "globs": "ls " + fill("*"),
  "arithmetic": "echo $((" + fill("1+") + "1))",
  "tests": fill("[[ a ]]&&"),
  "process substitutions": fill("<(a) "),
  "directory changes": fill("cd a;"),
  "code of an interpreter": "python3 -c '" + fill("open(a,") + "'",
  "awk": "awk '" + fill("print > ") + "'",
  "sed": "sed '" + fill("s/a/b/w c;") + "'",
  "patterns of sed": "sed -E '" + "s/(a|aa)+b/x/;s/(a?){50}b/x/;s/a*a*a*b/x/" +
    "' <<< " + "a".repeat(250) + " | sh",
  "substitutions of sed": "sed '" + fill("s/a*a*b/x/;") + "' <<< aaaa | sh",
  "code of another language": "julia -e '" + fill('write(cp("a" ') + "'",
  "nested shells": fill("bash -c 'touch a';"),
  "wrappers": fill("sudo "),
  "a patch": "apply_patch <<'E'\n" + fill("*** Add File: a\n") + "E\n",
};
