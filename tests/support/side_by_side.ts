/**
 * Tests that mostly wait, several at a time.
 *
 * @module
 */

/** One test. */
export interface Waiting {
  /** Its name. */
  readonly name: string;
  /** The test. */
  readonly fn: () => Promise<void>;
}

/**
 * Registers tests of which a few run at a time, in their order; each is counted and
 * told as a test of its own. What they leave open is not looked at.
 *
 * @param tests The tests.
 * @param options `atOnce`: how many run together; `ignore`: skips all of them.
 */
export function sideBySide(
  tests: readonly Waiting[],
  options: { atOnce?: number; ignore?: boolean } = {},
): void {
  const { atOnce = 4, ignore = false } = options;
  const queue = [...tests];
  const results = new Map(
    tests.map((test) => [test, Promise.withResolvers<void>()]),
  );
  for (const { promise } of results.values()) promise.catch(() => {});
  const work = async () => {
    for (let test = queue.shift(); test !== undefined; test = queue.shift()) {
      const result = results.get(test);
      await test.fn().then(result?.resolve, result?.reject);
    }
  };
  let begun = false;
  for (const [test, { promise }] of results) {
    Deno.test({
      name: test.name,
      ignore,
      sanitizeOps: false,
      sanitizeResources: false,
      async fn() {
        if (!begun) {
          begun = true;
          for (let i = 0; i < atOnce; i++) work();
        }
        await promise;
      },
    });
  }
}
