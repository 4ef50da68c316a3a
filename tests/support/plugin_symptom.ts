/**
 * Tests of what users of other harnesses have reported about plugins.
 *
 * @module
 */

import { World } from "../../plugins/testing/world.ts";

/**
 * One test in a world of its own.
 *
 * @param rows Where the reports stand in the log that the tests were written from.
 * @param name What was reported.
 * @param body The test.
 */
export function symptom(
  rows: string,
  name: string,
  body: (world: World) => Promise<void>,
): void {
  Deno.test(`${name} (${rows})`, async () => {
    await using world = await World.create();
    await body(world);
  });
}
