/**
 * Notices when the user decides about plugins, installs or removes one.
 *
 * @module
 */

/** The files of the home that say what is loaded. */
const FILES: ReadonlySet<string> = new Set([
  "config.toml",
  "trust.json",
  "plugins.lock.json",
]);
/** A change is several events; they count as one. */
const SETTLE_MS = 200;

/**
 * Watches a home until the signal ends it.
 *
 * @param home The Bulkhead home; one that does not exist is not watched.
 * @param options The end, and what to do after a change.
 * @returns When the watch has ended.
 */
export async function watchTools(
  home: string,
  options: { signal: AbortSignal; onChange: () => Promise<void> },
): Promise<void> {
  let watcher: Deno.FsWatcher;
  try {
    watcher = Deno.watchFs(home, { recursive: false });
  } catch {
    // No home yet, or no watches left: what is served stays as it is.
    return;
  }
  let timer: ReturnType<typeof setTimeout> | undefined;
  let running: Promise<void> = Promise.resolve();
  const stop = () => watcher.close();
  options.signal.addEventListener("abort", stop, { once: true });
  if (options.signal.aborted) stop();
  try {
    for await (const event of watcher) {
      if (
        event.kind === "access" ||
        !event.paths.some((path) => FILES.has(path.split("/").at(-1) ?? ""))
      ) continue;
      clearTimeout(timer);
      timer = setTimeout(() => {
        running = running.then(() =>
          options.signal.aborted ? undefined : options.onChange()
        ).catch(() => {});
      }, SETTLE_MS);
    }
  } finally {
    clearTimeout(timer);
    await running;
    options.signal.removeEventListener("abort", stop);
  }
}
