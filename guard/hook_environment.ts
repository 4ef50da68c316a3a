/** The variables the hook reads: what a shell word may be made of, and where home is. */
export const HOOK_ENVIRONMENT: readonly string[] = [
  "HOME",
  "TMPDIR",
  "USER",
  "LOGNAME",
];
