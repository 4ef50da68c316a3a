/** What a failed assertion throws. */
export class AssertionError extends Error {
  /** Creates the error. */
  constructor(message: string, options?: ErrorOptions);
}
/** Fails unless the expression is truthy. */
export function assert(expr: unknown, msg?: string): asserts expr;
/** Fails if the expression is truthy. */
export function assertFalse(expr: unknown, msg?: string): asserts expr is false;
/** Fails unless both values are deeply equal. */
export function assertEquals<T>(actual: T, expected: T, msg?: string): void;
/** Fails if both values are deeply equal. */
export function assertNotEquals<T>(actual: T, expected: T, msg?: string): void;
/** Fails unless both values are the same. */
export function assertStrictEquals<T>(
  actual: unknown,
  expected: T,
  msg?: string,
): asserts actual is T;
/** Fails for `null` and `undefined`. */
export function assertExists<T>(
  actual: T,
  msg?: string,
): asserts actual is NonNullable<T>;
/** Fails unless the value is an instance of the class. */
export function assertInstanceOf<T>(
  actual: unknown,
  expectedType: new (...args: never[]) => T,
  msg?: string,
): asserts actual is T;
/** Fails unless the text holds the part. */
export function assertStringIncludes(
  actual: string,
  expected: string,
  msg?: string,
): void;
/** Fails unless the array holds all the values. */
export function assertArrayIncludes<T>(
  actual: ArrayLike<T>,
  expected: ArrayLike<T>,
  msg?: string,
): void;
/** Fails unless the text matches. */
export function assertMatch(
  actual: string,
  expected: RegExp,
  msg?: string,
): void;
/** Fails if the text matches. */
export function assertNotMatch(
  actual: string,
  expected: RegExp,
  msg?: string,
): void;
/** Fails unless the object holds the subset. */
export function assertObjectMatch(
  actual: object,
  expected: Record<PropertyKey, unknown>,
  msg?: string,
): void;
/** Fails unless `actual > expected`. */
export function assertGreater<T>(actual: T, expected: T, msg?: string): void;
/** Fails unless `actual >= expected`. */
export function assertGreaterOrEqual<T>(
  actual: T,
  expected: T,
  msg?: string,
): void;
/** Fails unless `actual < expected`. */
export function assertLess<T>(actual: T, expected: T, msg?: string): void;
/** Fails unless `actual <= expected`. */
export function assertLessOrEqual<T>(
  actual: T,
  expected: T,
  msg?: string,
): void;
/** Fails unless the function throws; returns what was thrown. */
export function assertThrows(fn: () => unknown, msg?: string): unknown;
/** Fails unless the function throws an instance of the class. */
export function assertThrows<E extends Error = Error>(
  fn: () => unknown,
  errorClass: abstract new (...args: never[]) => E,
  msgIncludes?: string,
  msg?: string,
): E;
/** Fails unless the promise rejects; resolves to the reason. */
export function assertRejects(
  fn: () => PromiseLike<unknown>,
  msg?: string,
): Promise<unknown>;
/** Fails unless the promise rejects with an instance of the class. */
export function assertRejects<E extends Error = Error>(
  fn: () => PromiseLike<unknown>,
  errorClass: abstract new (...args: never[]) => E,
  msgIncludes?: string,
  msg?: string,
): Promise<E>;
/** Fails always. */
export function fail(msg?: string): never;
/** Marks a place that is never reached. */
export function unreachable(reason?: string): never;
