/**
 * The files of the page. They lie beside this module, wherever that was loaded from.
 *
 * @module
 */

/** One file of the page. */
export interface PageAsset {
  /** Its media type. */
  readonly type: string;
  /** Its text. */
  readonly text: string;
}

const FILES: Readonly<Record<string, readonly [string, string]>> = {
  "/": ["page.html", "text/html; charset=utf-8"],
  "/page.css": ["page.css", "text/css; charset=utf-8"],
  "/page.js": ["page.js", "text/javascript; charset=utf-8"],
  "/icon.svg": ["icon.svg", "image/svg+xml"],
};

/** Loads every file once, by the path it is served under. */
export async function loadAssets(): Promise<ReadonlyMap<string, PageAsset>> {
  const entries = Object.entries(FILES).map(
    async ([path, [file, type]]): Promise<[string, PageAsset]> => {
      const url = new URL(`./assets/${file}`, import.meta.url);
      const text = url.protocol === "file:"
        ? await Deno.readTextFile(url)
        : await (await fetch(url)).text();
      return [path, { type, text }];
    },
  );
  return new Map(await Promise.all(entries));
}
