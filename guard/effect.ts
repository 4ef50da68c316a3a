/**
 * What a tool call would do to the file system, and what the guard makes of it.
 *
 * Types only: importing this file costs nothing at run time.
 *
 * @module
 */

/** The rule that found an effect. */
export type EffectRule =
  | "file-tool"
  | "patch"
  | "patch-unreadable"
  | "mcp-tool"
  | "redirect"
  | "verb"
  | "in-place"
  | "git"
  | "git-routing"
  | "git-remote"
  | "git-worktree"
  | "package"
  | "system"
  | "interpreter"
  | "container"
  | "unreadable";

/** What the guard makes of one effect. */
export type EffectVerdict =
  /** The target lies under an allowed root. */
  | "inside"
  /** A device that keeps nothing, such as `/dev/null`. */
  | "device"
  /** The target lies elsewhere: denied. */
  | "outside"
  /** The target is one of the guard's own files: denied. */
  | "protected"
  /** A write is certain and its place cannot be known: denied. */
  | "unknown"
  /** Denied for what it is, wherever it would write. */
  | "refused";

/** One write, removal or other lasting change that a call would make. */
export interface Effect {
  /** The rule that found it. */
  rule: EffectRule;
  /** The tool, program or operator that would act: `Write`, `rm`, `>`, `git commit`. */
  verb: string;
  /** The target as the call names it; parts that cannot be known are shown as `…`. */
  path: string;
  /** Where that leads, links followed; absent when it cannot be known. */
  target?: string;
  /** What the guard makes of it. */
  verdict: EffectVerdict;
  /** The words between the brackets of the reason. */
  label: string;
}

/** How an effect touches its target. */
export type EffectMode =
  /** Writes the content or metadata of what the path leads to; a final link is followed. */
  | "content"
  /** Creates, replaces or removes the directory entry itself; a final link is not followed. */
  | "entry"
  /** As `entry`, for the whole tree below. */
  | "tree"
  /** Changes attributes that the guard's own files can do without; a final link is followed. */
  | "attributes";
