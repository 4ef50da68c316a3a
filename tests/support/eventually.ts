/**
 * Waiting for something that has no event to wait for.
 *
 * @module
 */

/**
 * Looks until it fits; the bound is there against a hang, not to measure anything.
 *
 * @param what What is waited for; told when it never comes.
 * @param fits Whether it is there.
 * @param ms When to give up.
 */
export async function eventually(
  what: string | (() => string),
  fits: () => Promise<boolean> | boolean,
  ms = 90_000,
): Promise<void> {
  const deadline = performance.now() + ms;
  while (!await fits()) {
    if (performance.now() > deadline) {
      throw new Error(
        `never came: ${typeof what === "string" ? what : what()}`,
      );
    }
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}
