/**
 * What a hook process must know of each harness: how to say no, how to say yes where silence
 * does not do, and where the marker lies. On the hot path: data without imports.
 *
 * @module
 */

/** How a harness is spoken to. */
export interface HarnessSpeech {
  /** JSON text of the deny verdict, with `{reason}`; its bytes and key order are a contract. */
  readonly verdictTemplate: string;
  /** What to print when a call is allowed; nothing when absent. */
  readonly allowOutput?: string;
  /** Directory of skills, relative to the root: marker and manifest lie there. */
  readonly skillsDir: string;
}

/** Nested verdicts of Claude Code: a flat one is passed over there. */
const CLAUDE =
  '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"{reason}"}}';

/** The verdict of Codex, and the one our own plugins read. */
const BLOCK = '{"decision":"block","reason":"{reason}"}';

/** The speech of every built-in harness. */
export const SPEECH: Readonly<Record<string, HarnessSpeech>> = {
  "claude-code": { verdictTemplate: CLAUDE, skillsDir: ".claude/skills" },
  codex: { verdictTemplate: BLOCK, skillsDir: ".agents/skills" },
  opencode: { verdictTemplate: BLOCK, skillsDir: ".opencode/skills" },
  gemini: {
    verdictTemplate: '{"decision":"deny","reason":"{reason}"}',
    skillsDir: ".gemini/skills",
  },
  cline: { verdictTemplate: BLOCK, skillsDir: ".cline/skills" },
  cursor: {
    verdictTemplate:
      '{"permission":"deny","user_message":"{reason}","agent_message":"{reason}"}',
    // The hook is declared failClosed, where an empty answer counts as a failure and blocks.
    allowOutput: '{"permission":"allow"}',
    skillsDir: ".cursor/skills",
  },
  copilot: {
    verdictTemplate:
      '{"permissionDecision":"deny","permissionDecisionReason":"{reason}"}',
    skillsDir: ".github/skills",
  },
  pi: { verdictTemplate: BLOCK, skillsDir: ".pi/skills" },
};
