import { assert, assertEquals } from "@std/assert";
import { scriptedDriver } from "../agents/scripted.ts";
import { connect } from "../client.ts";
import { runWorker } from "../worker.ts";
import { servePage } from "./server.ts";
import { eventually } from "../../tests/support/eventually.ts";

async function withServer(
  fn: (base: string, token: string, port: number) => Promise<void>,
): Promise<void> {
  const home = await Deno.makeTempDir();
  {
    await using page = await servePage({ home, token: "secret" });
    await fn(`http://127.0.0.1:${page.port}`, "secret", page.port);
  }
  await Deno.remove(home, { recursive: true });
}

Deno.test("servePage() sends strict headers and nothing from elsewhere", async () => {
  await withServer(async (base) => {
    for (const path of ["/", "/page.js", "/page.css", "/icon.svg"]) {
      const answer = await fetch(base + path);
      const text = await answer.text();
      assertEquals(answer.status, 200, path);
      assert(!/https?:\/\/(?!www\.w3\.org)/.test(text), path);
      const policy = answer.headers.get("content-security-policy") ?? "";
      assert(
        policy.startsWith("default-src 'none'") && !policy.includes("unsafe"),
        path,
      );
      assertEquals(answer.headers.get("x-content-type-options"), "nosniff");
      assertEquals(answer.headers.get("referrer-policy"), "no-referrer");
    }
  });
});

Deno.test("servePage() refuses calls without the token, and foreign hosts and origins", async () => {
  await withServer(async (base, token, port) => {
    const status = async (path: string, init: RequestInit = {}) => {
      const answer = await fetch(base + path, init);
      await answer.body?.cancel();
      return answer.status;
    };
    const auth = { authorization: `Bearer ${token}` };
    assertEquals(await status("/api/fleet"), 401);
    assertEquals(await status("/api/fleet?token=secret"), 401);
    assertEquals(
      await status("/api/fleet", {
        headers: { authorization: "Bearer secre" },
      }),
      401,
    );
    assertEquals(
      await status("/api/fleet", {
        headers: { authorization: "Bearer secrets" },
      }),
      401,
    );
    assertEquals(await status("/api/fleet", { headers: auth }), 200);
    assertEquals(
      await status("/", { headers: { origin: "http://evil.example" } }),
      403,
    );
    assertEquals(await status("/api/nothing", { headers: auth }), 404);
    assertEquals(await status("/other", { headers: auth }), 404);
    assertEquals(await status("/", { method: "POST", headers: auth }), 405);
    assertEquals(
      await rawStatus(port, "evil.example"),
      403,
      "a name that leads here",
    );
    assertEquals(await rawStatus(port, `localhost:${port}`), 200);
  });
});

/** The status of a request with another `Host`, which fetch does not let us set. */
async function rawStatus(port: number, host: string): Promise<number> {
  using connection = await Deno.connect({ hostname: "127.0.0.1", port });
  await connection.write(
    new TextEncoder().encode(
      `GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`,
    ),
  );
  const buffer = new Uint8Array(64);
  const size = await connection.read(buffer);
  const head = new TextDecoder().decode(buffer.subarray(0, size ?? 0));
  return Number(head.split(" ")[1]);
}

Deno.test("servePage() keeps odd session names and bodies inside", async () => {
  await withServer(async (base, token) => {
    const headers = { authorization: `Bearer ${token}` };
    for (const id of ["..", "%2e%2e%2fx", "a%00b", "none", "%ff"]) {
      const answer = await fetch(`${base}/api/watch/${id}?cursor=x`, {
        headers,
      });
      await answer.text();
      assert([404, 502].includes(answer.status), `${id}: ${answer.status}`);
      const post = await fetch(`${base}/api/answer/${id}`, {
        method: "POST",
        headers,
        body: "[",
      });
      await post.text();
      assert([404, 502].includes(post.status), `${id}: ${post.status}`);
    }
  });
});

Deno.test("servePage() lets go of the workers when nobody looks any more", async () => {
  const dir = await Deno.realPath(await Deno.makeTempDir());
  const home = `${dir}/w`;
  {
    await using worker = await runWorker({
      shortId: "demo",
      home,
      claimsRoot: dir,
      cwd: dir,
      driver: scriptedDriver({ sessions: `${dir}/sessions` }),
    });
    await using page = await servePage({ home, token: "secret" });
    using client = await connect(worker.socketPath);
    const stop = new AbortController();
    const open = (path: string) =>
      fetch(`http://127.0.0.1:${page.port}/api/${path}`, {
        headers: { authorization: "Bearer secret" },
        signal: stop.signal,
      });
    const readers = await Promise.all([
      open("fleet"),
      open("watch/demo?cursor=0"),
    ]);
    await Promise.all(readers.map((answer) => answer.body?.getReader().read()));
    const clients = async () => (await client.status()).clients;
    await eventually("the page watches", async () => await clients() > 2);
    stop.abort();
    await eventually("it stops", async () => await clients() === 1);
  }
  await Deno.remove(dir, { recursive: true });
});
