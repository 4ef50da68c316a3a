/**
 * Callbacks of the host, called where its mistakes must not hit a plugin.
 *
 * @module
 */

/**
 * Calls a callback of the host. What it throws is reported like any uncaught error, and spares the plugin.
 *
 * @param callback The callback, if there is one.
 * @param value What it gets.
 */
export function safely<T>(
  callback: ((value: T) => void) | undefined,
  value: T,
): void {
  try {
    callback?.(value);
  } catch (error) {
    reportError(error);
  }
}
