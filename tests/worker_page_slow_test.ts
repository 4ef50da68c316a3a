/**
 * The page in a real browser: state, frames, questions answered, small screen, dark.
 *
 * @module
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import {
  type AgentScript,
  runWorker,
  scriptedDriver,
  servePage,
} from "@bulkhead/worker";
import { type Browser, chromium, type Page } from "playwright-core";
import { eventually } from "./support/eventually.ts";
import { hasTool } from "./support/require_tool.ts";

const SCRIPT: AgentScript = {
  schema: 1,
  costUsd: 0.0125,
  turns: [{
    steps: [
      {
        message: [{
          say: "I will write a **file** inside <b>and</b> one outside.",
        }, {
          tool: "Write",
          input: { file_path: "notes.txt", content: "hello\n" },
        }],
      },
      { tool: "Write", input: { file_path: "../outside.txt", content: "no" } },
      { ask: "Which colour?", options: ["red", "blue"] },
      { say: "You chose: ${last}" },
    ],
  }, {
    steps: [{ say: "counting ".repeat(200), delayMs: 20 }],
  }],
};

const ready = hasTool("chromium");
/** Where screenshots go, when somebody wants to look at them. */
const shots = Deno.env.get("BULKHEAD_SCREENSHOTS");

async function shoot(page: Page, name: string): Promise<void> {
  if (shots) await page.screenshot({ path: `${shots}/${name}.png` });
}

/** The browser with a debugging port; its own pipes are not ones that Deno has. */
async function startBrowser(
  dir: string,
): Promise<{ browser: Browser; end(): Promise<void> }> {
  const child = new Deno.Command("chromium", {
    args: [
      "--headless",
      "--no-sandbox",
      "--disable-gpu",
      "--no-first-run",
      "--disable-background-networking",
      "--remote-debugging-port=0",
      `--user-data-dir=${dir}/browser`,
      "about:blank",
    ],
    stderr: "null",
    stdout: "null",
  }).spawn();
  const port = await activePort(`${dir}/browser/DevToolsActivePort`);
  const browser = await chromium.connectOverCDP(`http://127.0.0.1:${port}`);
  return {
    browser,
    async end() {
      await browser.close();
      child.kill("SIGKILL");
      await child.status;
    },
  };
}

/** The port that the browser writes down once it listens. */
async function activePort(path: string): Promise<number> {
  let text = "";
  await eventually("the browser's port", async () => {
    text = await Deno.readTextFile(path).catch(() => "");
    return text.includes("\n");
  });
  return Number(text.split("\n")[0]);
}

async function withPage(
  fn: (
    world: { browser: Browser; url: string; dir: string; page: Page },
  ) => Promise<void>,
): Promise<void> {
  const dir = await Deno.realPath(await Deno.makeTempDir());
  await Deno.mkdir(`${dir}/ws`);
  const start = (shortId: string, script: AgentScript) =>
    runWorker({
      shortId,
      name: shortId,
      home: `${dir}/w`,
      claimsRoot: dir,
      cwd: `${dir}/ws`,
      driver: scriptedDriver({ script, sessions: `${dir}/sessions` }),
      rules: { allow: [] },
    });
  const demo = await start("demo", SCRIPT);
  const quiet = await start("quiet", { schema: 1, turns: [] });
  const server = await servePage({ home: `${dir}/w` });
  const started = await startBrowser(dir);
  const { browser } = started;
  try {
    const page = await browser.newPage({
      viewport: { width: 1100, height: 760 },
    });
    page.setDefaultTimeout(60_000);
    await fn({ browser, url: server.url, dir, page });
  } finally {
    await started.end();
    await server.close();
    await demo.end();
    await quiet.end();
    await Deno.remove(dir, { recursive: true });
  }
}

Deno.test({
  name:
    "servePage() shows sessions, streams frames and answers questions in a browser",
  ignore: !ready,
  // The browser's driver keeps pipes of its own.
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    await withPage(async ({ url, dir, page }) => {
      const foreign: string[] = [], errors: string[] = [];
      page.on("request", (request) => {
        if (!request.url().startsWith(new URL(url).origin)) {
          foreign.push(request.url());
        }
      });
      page.on("console", (message) => {
        if (message.type() === "error") errors.push(message.text());
      });
      page.on("pageerror", (error) => errors.push(String(error)));
      await page.goto(url);
      await page.getByRole("button", { name: /demo/ }).waitFor();
      assertEquals(
        new URL(page.url()).hash,
        "",
        "the token leaves the address",
      );
      assertEquals(await page.locator(".row").count(), 2);
      assertMatch(await page.locator("#link").innerText(), /live/);

      await page.getByRole("button", { name: /demo/ }).click();
      assertMatch(
        await page.locator("#facts").innerText(),
        /gate: callback, verified/,
      );
      await page.getByLabel("Message").fill("please go");
      await page.getByRole("button", { name: "Send" }).click();

      const card = page.locator(".ask");
      await card.getByText("Allow Write?").waitFor();
      assertMatch(
        await page.locator("#facts .state").innerText(),
        /waits for you/,
      );
      await page.waitForFunction('document.title.startsWith("(1)")');
      await shoot(page, "desktop-light");
      await page.emulateMedia({ colorScheme: "dark" });
      await shoot(page, "desktop-dark");
      await page.emulateMedia({ colorScheme: "light" });
      await card.getByRole("button", { name: "Approve" }).click();

      // The posture denies the second write by itself; then the question comes.
      await card.getByText("Which colour?").waitFor();
      assertEquals(await Deno.readTextFile(`${dir}/ws/notes.txt`), "hello\n");
      assertMatch(
        await page.locator(".denied").first().innerText(),
        /Write refused or failed: .*outside/,
      );
      await card.getByRole("button", { name: "blue" }).click();
      await page.locator(".said", { hasText: 'Which colour?"="blue"' })
        .waitFor();
      await page.locator(".end", { hasText: "turn done" }).waitFor();
      const end = await page.locator(".end").innerText();
      assertMatch(end, /1 denied/);
      assertMatch(end, /\$0\.05/);
      const said = await page.locator(".said").first().innerText();
      assertEquals(
        said,
        "I will write a **file** inside <b>and</b> one outside.",
      );
      await page.locator("#facts .state.idle").waitFor();

      await page.getByLabel("Message").fill("count");
      await page.keyboard.press("Enter");
      await page.locator("#facts .state.running").waitFor();
      await page.locator(".said", { hasText: "counting counting" }).waitFor();
      await page.getByRole("button", { name: "Interrupt" }).click();
      await page.locator(".end.bad").waitFor();
      await shoot(page, "desktop-end");

      // A second look sees the same log, no frame twice.
      const entries = await page.locator("#log > *").count();
      await page.reload();
      await page.getByRole("button", { name: /demo/ }).click();
      await page.locator(".end.bad").waitFor();
      assertEquals(await page.locator(".end").count(), 2);
      assert(Math.abs(await page.locator("#log > *").count() - entries) <= 1);

      assertEquals(foreign, [], "nothing is fetched from elsewhere");
      assertEquals(errors, []);
    });
  },
});

Deno.test({
  name: "servePage() denies with a reason on a phone-sized dark screen",
  ignore: !ready,
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    await withPage(async ({ url, dir, browser }) => {
      const context = await browser.newContext({
        viewport: { width: 360, height: 740 },
        colorScheme: "dark",
        hasTouch: true,
        isMobile: true,
      });
      const page = await context.newPage();
      page.setDefaultTimeout(60_000);
      await page.goto(url);
      await page.getByRole("button", { name: /demo/ }).waitFor();
      await shoot(page, "phone-list");
      await page.getByRole("button", { name: /demo/ }).tap();
      assertEquals(await page.locator("nav").isVisible(), false);
      await page.getByLabel("Message").fill("please go");
      await page.getByRole("button", { name: "Send" }).tap();
      const card = page.locator(".ask");
      await card.getByText("Allow Write?").waitFor();
      await shoot(page, "phone-ask");
      const width = Number(
        await page.evaluate("document.documentElement.scrollWidth"),
      );
      assert(width <= 360, `the page is ${width} wide`);
      for (const button of await page.locator("button:visible").all()) {
        const box = await button.boundingBox();
        assert((box?.height ?? 0) >= 44, "a finger can hit it");
      }
      await card.getByLabel("Reason for a denial").fill("not today");
      await card.getByRole("button", { name: "Deny" }).tap();
      await page.locator(".denied", { hasText: "not today" }).waitFor();
      assertEquals(
        await Deno.stat(`${dir}/ws/notes.txt`).catch(() => "none"),
        "none",
      );
      await page.getByRole("button", { name: /Sessions/ }).tap();
      assertEquals(await page.locator("nav").isVisible(), true);
      await context.close();
    });
  },
});
