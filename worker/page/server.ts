/**
 * The page to watch with: one page on loopback that shows every session of a home,
 * streams what happens, and answers questions.
 *
 * @module
 */
import { namedPermissions, reasonOf } from "@bulkhead/sandbox";
import { loadAssets, type PageAsset } from "./assets.ts";
import { homeSource, type PageSource } from "./source.ts";

/** Options of {@linkcode servePage}. */
export interface PageOptions {
  /** The home of the workers. */
  readonly home: string;
  /**
   * Where sessions come from.
   *
   * @default the workers under `home`
   */
  readonly source?: PageSource;
  /**
   * The port; 0 takes a free one.
   *
   * @default {0}
   */
  readonly port?: number;
  /**
   * Who may use it: whoever knows this.
   *
   * @default random
   */
  readonly token?: string;
}

/** A served page. */
export interface PageServer extends AsyncDisposable {
  /** The address to open; the token is in its fragment, which a browser does not send. */
  readonly url: string;
  /** The port. */
  readonly port: number;
  /** Stops serving. */
  close(): Promise<void>;
}

const HEADERS: Readonly<Record<string, string>> = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cache-control": "no-store",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
};
const MAX_BODY = 4 * 1024 * 1024;

/**
 * Serves the page on 127.0.0.1.
 *
 * Needs `--allow-net` for that address and the workers' sockets, and read and write of the home.
 *
 * @param options The home, and where to listen.
 * @returns The running server.
 *
 * @example
 * ```ts
 * import { servePage } from "@bulkhead/worker";
 * import { assertEquals } from "@std/assert";
 *
 * const home = await Deno.makeTempDir();
 * {
 *   await using page = await servePage({ home });
 *   const answer = await fetch(`http://127.0.0.1:${page.port}/api/fleet`);
 *   assertEquals(answer.status, 401);
 *   await answer.body?.cancel();
 * }
 * await Deno.remove(home, { recursive: true });
 * ```
 */
export async function servePage(options: PageOptions): Promise<PageServer> {
  return await namedPermissions("Serving the page", () => startPage(options));
}

async function startPage(options: PageOptions): Promise<PageServer> {
  const assets = await loadAssets();
  const token = options.token ?? randomToken();
  const source = options.source ?? homeSource(options.home);
  const stop = new AbortController();
  let port = 0;
  const handle = (request: Request): Promise<Response> =>
    route(request, { assets, token, source, port, stop: stop.signal });
  const server: Deno.HttpServer<Deno.NetAddr> = Deno.serve({
    hostname: "127.0.0.1",
    port: options.port ?? 0,
    onListen: () => {},
    onError: () => plain(500, "internal error"),
  }, handle);
  port = server.addr.port;
  const close = async () => {
    stop.abort();
    await source.close();
    await server.shutdown();
  };
  return {
    url: `http://127.0.0.1:${port}/#token=${token}`,
    port,
    close,
    [Symbol.asyncDispose]: close,
  };
}

interface Context {
  readonly assets: ReadonlyMap<string, PageAsset>;
  readonly token: string;
  readonly source: PageSource;
  readonly port: number;
  readonly stop: AbortSignal;
}

function randomToken(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(24));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join(
    "",
  );
}

async function route(request: Request, context: Context): Promise<Response> {
  const url = new URL(request.url);
  if (!isOurs(request, context.port)) {
    return plain(403, "another host or origin");
  }
  const asset = context.assets.get(url.pathname);
  if (asset !== undefined) {
    if (request.method !== "GET") return plain(405, "want GET");
    return new Response(asset.text, {
      headers: { ...HEADERS, "content-type": asset.type },
    });
  }
  if (!url.pathname.startsWith("/api/")) return plain(404, "no such page");
  if (!hasToken(request, context.token)) {
    return plain(401, "the token is missing or wrong");
  }
  const [, , verb = "", id = ""] = url.pathname.split("/").map(decode);
  try {
    if (request.method === "GET") {
      if (verb === "fleet") return fleet(context);
      if (verb === "watch") {
        return await watch(context, id, Number(url.searchParams.get("cursor")));
      }
      return plain(404, "no such call");
    }
    if (request.method !== "POST") return plain(405, "want GET or POST");
    return await act(context, verb, id, await bodyOf(request));
  } catch (error) {
    return plain(502, reasonOf(error));
  }
}

/** Only our own address in `Host`, so that no other name can be made to lead here; no foreign `Origin`. */
function isOurs(request: Request, port: number): boolean {
  const hosts = [`127.0.0.1:${port}`, `localhost:${port}`];
  const host = request.headers.get("host") ?? "";
  const origin = request.headers.get("origin");
  return hosts.includes(host) &&
    (origin === null || hosts.some((ours) => origin === `http://${ours}`));
}

/** Compares every character, whatever the first difference is. */
function hasToken(request: Request, token: string): boolean {
  const given = request.headers.get("authorization") ?? "";
  const want = `Bearer ${token}`;
  let different = given.length ^ want.length;
  for (let i = 0; i < want.length; i++) {
    different |= given.charCodeAt(i) ^ want.charCodeAt(i);
  }
  return different === 0;
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return "";
  }
}

function fleet(context: Context): Response {
  return stream(context.stop, (send) => {
    let latest: unknown, busy = false;
    // A reader that is slow gets the newest list, not every one.
    const pump = async () => {
      if (busy) return;
      busy = true;
      while (latest !== undefined) {
        const message = latest;
        latest = undefined;
        await send(message);
      }
      busy = false;
    };
    return context.source.listen((sessions, hosts = []) => {
      latest = { type: "fleet", sessions, hosts };
      pump();
    });
  });
}

async function watch(
  context: Context,
  id: string,
  cursor: number,
): Promise<Response> {
  const from = Number.isSafeInteger(cursor) && cursor >= 0 ? cursor : 0;
  const left = new AbortController();
  const events = await context.source.watch(id, from, left.signal);
  return stream(context.stop, (send, close) => {
    (async () => {
      for await (const event of events) await send(event);
    })().catch(() => {}).finally(() => {
      left.abort();
      close();
    });
    return () => left.abort();
  });
}

async function act(
  context: Context,
  verb: string,
  id: string,
  body: Record<string, unknown>,
): Promise<Response> {
  const { source } = context;
  if (verb === "interrupt") {
    await source.interrupt(id);
    return json({ interrupted: true });
  }
  if (verb === "turn") {
    if (typeof body.text !== "string") return plain(400, '"text" is missing');
    await source.turn(id, body.text);
    return json({ written: true });
  }
  if (verb !== "answer") return plain(404, "no such call");
  const { decision } = body;
  if (
    typeof body.id !== "string" || (decision !== "allow" && decision !== "deny")
  ) {
    return plain(400, '"id" or "decision" is missing');
  }
  const answered = await source.answer(id, body.id, {
    decision,
    ...typeof body.reason === "string" ? { reason: body.reason } : {},
    ...body.updatedInput === undefined
      ? {}
      : { updatedInput: body.updatedInput },
  });
  return json({ answered });
}

async function bodyOf(request: Request): Promise<Record<string, unknown>> {
  if (Number(request.headers.get("content-length") ?? 0) > MAX_BODY) {
    throw new RangeError("the request is too large");
  }
  const value: unknown = await request.json();
  return typeof value === "object" && value !== null ? { ...value } : {};
}

/** An answer of one JSON object a line; `start` gives a function that ends the work behind it. */
function stream(
  stop: AbortSignal,
  start: (
    send: (value: unknown) => Promise<void>,
    close: () => void,
  ) => () => void,
): Response {
  let end = () => {};
  let gone = false;
  let free = Promise.withResolvers<void>();
  const encoder = new TextEncoder();
  const finish = () => {
    gone = true;
    free.resolve();
    stop.removeEventListener("abort", close);
    end();
  };
  let close = () => {};
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      close = () => {
        if (gone) return;
        finish();
        controller.close();
      };
      end = start(async (value) => {
        // A slow reader holds up its own stream only; the worker tells it of the gap.
        while (!gone && (controller.desiredSize ?? 0) <= 0) await free.promise;
        if (gone) return;
        controller.enqueue(encoder.encode(JSON.stringify(value) + "\n"));
      }, close);
      stop.addEventListener("abort", close, { once: true });
    },
    pull() {
      free.resolve();
      free = Promise.withResolvers();
    },
    cancel: finish,
  }, { highWaterMark: 64 });
  return new Response(body, {
    headers: { ...HEADERS, "content-type": "application/x-ndjson" },
  });
}

function plain(status: number, text: string): Response {
  return new Response(text, {
    status,
    headers: { ...HEADERS, "content-type": "text/plain" },
  });
}

function json(value: unknown): Response {
  return new Response(JSON.stringify(value), {
    headers: { ...HEADERS, "content-type": "application/json" },
  });
}
