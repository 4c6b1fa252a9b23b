/**
 * A browser for the tests of pages: Debian's Chromium, driven by Playwright, with no way to a network.
 * Where there is none, those tests are ignored, and a notice says how to get it.
 */

// What runs in the page is typed as that.
/// <reference lib="dom" />
/// <reference lib="dom.iterable" />

import type { Browser, Page } from "playwright-core";

/** Where Chromium is; `undefined` where it is not. */
export const CHROMIUM = findChromium();

const FLAGS = [
  ...["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"],
  ...["--disable-background-networking", "--disable-component-update", "--disable-sync"],
  // Extensions, translation and the watch over hidden windows would take a seventh of the CPU time.
  ...["--disable-extensions", "--disable-renderer-backgrounding"],
  "--disable-features=PaintHolding,CalculateNativeWinOcclusion,Translate",
];

/** Milliseconds after which a page that does not get there is taken for broken. */
const MOST_WAITING = 60_000;

function findChromium(): string | undefined {
  const named = Deno.env.get("TOOLGATE_CHROMIUM");
  const path = named === undefined || named === "" ? "/usr/bin/chromium" : named;
  try {
    if (Deno.statSync(path).isFile) return path;
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  // A browser that was asked for by name must not be left out quietly.
  if (path === named) throw new Error(`Cannot test in a browser as there is no file ${named}`);
}

/** Starts Chromium. */
export async function launch(): Promise<Browser> {
  const { chromium } = await import("playwright-core");
  return await chromium.launch({ executablePath: CHROMIUM!, args: FLAGS });
}

/** How a page is opened. */
export interface PageOptions {
  /** What follows the path in the address, such as `#trial-1`. */
  readonly hash?: string;
  /** Default `light`. */
  readonly scheme?: "light" | "dark";
  /** Default 1280. */
  readonly width?: number;
}

/** A page that is open, and what has gone wrong in it so far. */
export interface OpenedPage extends AsyncDisposable {
  readonly page: Page;
  /**
   * What a page that needs nothing and runs nothing of others must not do: errors and warnings,
   * violations of its security policy, requests other than for its own file, dialogs, other windows.
   */
  readonly faults: readonly string[];
}

/** What {@linkcode browserTest} hands to a test. */
export interface TestBrowser {
  /** Opens a file, or a page that this process serves at an address that ends in a slash. */
  open(path: string, options?: PageOptions): Promise<OpenedPage>;
}

let browser: Promise<Browser> | undefined;
/** Pages that no test looks at now. */
const idle: Tab[] = [];

Deno.test.afterAll(async () => await (await browser)?.close());

/** Defines a test that opens pages. All tests of a file share one browser. */
export function browserTest(
  name: string,
  body: (browser: TestBrowser) => Promise<void>,
): void {
  Deno.test({
    name,
    ignore: CHROMIUM === undefined,
    // The browser outlives each of them.
    sanitizeOps: false,
    sanitizeResources: false,
    fn: async () => {
      browser ??= launch();
      const shared = await browser;
      await body({ open: (path, options) => openIdle(shared, path, options) });
    },
  });
}

// Files of tests share their process, and nothing else.
if (CHROMIUM === undefined && Deno.env.get("TOOLGATE_TOLD") === undefined) {
  Deno.env.set("TOOLGATE_TOLD", "no Chromium");
  console.error(
    "Tests in a browser are ignored as there is no Chromium at /usr/bin/chromium: get it by " +
      "`apt-get install chromium`, or name one in TOOLGATE_CHROMIUM",
  );
}

/** Opens a file in a page that another test has left, as starting one takes longer than most tests. */
async function openIdle(
  browser: Browser,
  path: string,
  options?: PageOptions,
): Promise<OpenedPage> {
  const tab = idle.pop() ?? await newTab(browser);
  const faults = await tab.show(path, options);
  return {
    ...{ page: tab.page, faults },
    [Symbol.asyncDispose]: async () => {
      await tab.leave();
      idle.push(tab);
    },
  };
}

/** Opens a file in a page of its own. */
export async function openPage(
  browser: Browser,
  path: string,
  options?: PageOptions,
): Promise<OpenedPage> {
  const { page, show } = await newTab(browser);
  const faults = await show(path, options);
  return { page, faults, [Symbol.asyncDispose]: () => page.context().close() };
}

/** A page that shows one file after the other, each with nothing else within its reach. */
interface Tab {
  readonly page: Page;
  /** Opens a file, and gives what goes wrong in it. */
  show(path: string, options?: PageOptions): Promise<readonly string[]>;
  /** Forgets the file. */
  leave(): Promise<void>;
}

async function newTab(browser: Browser): Promise<Tab> {
  const context = await browser.newContext({ offline: true });
  context.setDefaultTimeout(MOST_WAITING);
  let own = "";
  let faults: string[] = [];
  await context.route("**/*", async (route) => {
    const url = route.request().url();
    // A file is alone; what is served asks below its own address.
    const isOwn = own.endsWith("/") ? url.startsWith(own) : url.split("#")[0] === own;
    if (isOwn) return await route.continue();
    faults.push(`request: ${url}`);
    await route.abort();
  });
  await context.addInitScript(() => {
    addEventListener("securitypolicyviolation", ({ violatedDirective, blockedURI }) => {
      console.error(`violation of ${violatedDirective}: ${blockedURI}`);
    });
  });
  const page = await context.newPage();
  const history = await context.newCDPSession(page);
  context.on("page", (other) => faults.push(`window: ${other.url()}`));
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) faults.push(`console: ${message.text()}`);
  });
  page.on("pageerror", (error) => faults.push(`error: ${error}`));
  page.on("dialog", async (dialog) => {
    faults.push(`dialog: ${dialog.message()}`);
    await dialog.dismiss();
  });
  return {
    page,
    async show(path, { hash = "", scheme = "light", width = 1280 } = {}) {
      const isServed = path.startsWith("http://127.0.0.1:");
      own = isServed
        ? path
        : new URL(`file://${path.split("/").map(encodeURIComponent).join("/")}`).href;
      await context.setOffline(!isServed);
      faults = [];
      await page.emulateMedia({ colorScheme: scheme });
      await page.setViewportSize({ width, height: 900 });
      await page.goto(own + hash);
      await history.send("Page.resetNavigationHistory");
      return faults;
    },
    async leave() {
      await page.mouse.move(0, 0);
      for (const other of context.pages()) if (other !== page) await other.close();
      await page.goto("about:blank");
    },
  };
}
