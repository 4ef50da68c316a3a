/**
 * Everything in a bucket at one moment.
 *
 * @module
 */
import type { KV } from "@nats-io/kv";

/** After this silence it is looked whether more is to come. */
const QUIET_MS = 1_000;
/** So long nothing has come although there is more: the server has forgotten us. */
const MAX_QUIET = 5;
/** How often a list that came to nothing is asked for. */
const TRIES = 3;

/**
 * The newest value of every key: one stream of them, not one request each.
 *
 * @throws {Error} When the server does not give all of them.
 */
export async function valuesOf<T>(
  bucket: KV,
  read: (text: string) => T | undefined,
): Promise<T[]> {
  for (let tries = 0; tries < TRIES; tries++) {
    const found = await readAll(bucket, read);
    if (found !== undefined) return found;
  }
  throw new Error("the server does not list everything it has");
}

/** `undefined` when they stop coming before the last one. */
async function readAll<T>(
  bucket: KV,
  read: (text: string) => T | undefined,
): Promise<T[] | undefined> {
  const { values } = await bucket.status();
  if (values === 0) return [];
  const found: T[] = [];
  let seen = 0, quiet = 0, over = false, complete = true;
  const entries = await bucket.history();
  // A value that expires while it is counted is waited for: when nothing comes, the server is asked how many there are.
  const look = async () => {
    const now = await bucket.status();
    if (over) return;
    complete = seen >= now.values;
    if (complete || ++quiet >= MAX_QUIET) entries.stop();
    else timer = setTimeout(onQuiet, QUIET_MS);
  };
  const onQuiet = () => {
    look().catch(() => {
      complete = false;
      entries.stop();
    });
  };
  let timer = setTimeout(onQuiet, QUIET_MS);
  try {
    for await (const entry of entries) {
      clearTimeout(timer);
      timer = setTimeout(onQuiet, QUIET_MS);
      seen++;
      quiet = 0;
      complete = true;
      if (entry.operation !== "PUT") continue;
      const value = read(entry.string());
      if (value !== undefined) found.push(value);
    }
  } finally {
    over = true;
    clearTimeout(timer);
  }
  if (!complete) return undefined;
  // It ends early as well when the connection does.
  const enough = seen >= values || seen >= (await bucket.status()).values;
  return enough ? found : undefined;
}
