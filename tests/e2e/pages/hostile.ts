// The page of journals full of what could run, steer, hide or break something.

import {
  assert,
  assertEquals,
  assertGreater,
  assertMatch,
  assertStringIncludes,
} from "@std/assert";
import type { Page } from "playwright-core";
import { shortNames } from "../../../lib/reports/_short_names.ts";
import { browserTest } from "../../support/browser.ts";
import {
  ARGUMENTS,
  assertNothingHidden,
  COUNT,
  EVIL,
  shownOf,
  theReport,
} from "../../support/hostile_report.ts";
import { goToTrial, openReport, readTrial, resize, unfold } from "../../support/report_page.ts";

/**
 * All texts of a part of the page, those of attributes too, but for its own data; and what in it can run, lead away,
 * or load something.
 */
function partsIn(page: Page, part: string): Promise<{ texts: string[]; dangers: string[] }> {
  return page.evaluate((part) => {
    const texts: string[] = [document.title];
    const root = document.querySelector(part)!;
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_ALL);
    for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
      if (node instanceof Text && node.parentElement?.tagName !== "SCRIPT") texts.push(node.data);
      if (node instanceof Comment) texts.push(node.data);
      if (node instanceof Element) texts.push(...[...node.attributes].map(({ value }) => value));
    }
    const own = "script[id^=block-], script#index, script#graphviz, head > script, head > style";
    const bad =
      "script, style, iframe, object, embed, img, image, base, link, meta[http-equiv=refresh]";
    const dangers = [
      ...[...root.querySelectorAll(bad)].filter((one) => !one.matches(own)),
      ...[...root.querySelectorAll("*")].filter((one) =>
        [...one.attributes].some(({ name, value }) =>
          name.startsWith("on") ||
          /^(xlink:)?href$|^src/.test(name) && !value.startsWith("#")
        )
      ),
    ].map((one) => one.outerHTML.slice(0, 200));
    if ("canary" in globalThis) dangers.push("something has run");
    return { texts, dangers };
  }, part);
}

browserTest("hostile trials open as text, on a wide screen and on a phone", async (browser) => {
  const { place } = await theReport("html");
  await using opened = await openReport(browser, place.file("evil.html"));
  const { page, faults } = opened;
  const openAll = (part: string, isOpen = true) =>
    page.evaluate(({ part, isOpen }) => {
      const all = document.querySelectorAll<HTMLDetailsElement>(`${part} details`);
      for (const details of all) details.open = isOpen;
    }, { part, isOpen });
  const fits = async (width: number, where: string) =>
    assertEquals(await page.evaluate(() => document.documentElement.scrollWidth), width, where);
  const check = async (part: string, where: string) => {
    const { texts, dangers } = await partsIn(page, part);
    for (const text of texts) assertNothingHidden(text, where);
    assertEquals([...dangers, ...faults], [], where);
  };
  await openAll("body");
  assertStringIncludes((await page.textContent("#count"))!, `${COUNT} of ${COUNT} trials`);
  const list = await page.locator("#list tr").allTextContents();
  const { forms } = shortNames(EVIL.map(([text]) => text), 150);
  const key = (await page.locator("header .key").textContent())!;
  assertGreater(forms.size, 3);
  const [overview, comparisons] = await Promise.all(
    ["#table-overview", "#table-comparisons"].map((table) => page.locator(table).textContent()),
  );
  for (const [place, evil] of EVIL.entries()) {
    assertStringIncludes(list[2 * place]!, shownOf(evil));
    if (forms.has(evil[0])) assertStringIncludes(key, shownOf(evil));
    const short = (forms.get(evil[0]) ?? shownOf(evil)).slice(0, 100);
    assertStringIncludes(overview!, short);
    assertStringIncludes(comparisons!, short);
  }
  await fits(1280, "the page");
  await resize(page, 400);
  await fits(400, "the page");
  // Each trial would lay out all of it anew.
  await openAll("body", false);
  for (const width of [400, 1280]) {
    await resize(page, width);
    for (let number = 1; number <= COUNT; number++) {
      // Some are enough: all texts stand in the list above, and tests/reports/page/ has all places of a trial.
      const step = (number > 2 * EVIL.length ? 10 : 3) * (width === 1280 ? 1 : 4);
      if (number % step !== 0 && number < COUNT) continue;
      const where = `trial ${number} at ${width}`;
      await goToTrial(page, number);
      await openAll("#trial");
      await fits(width, where);
      await check("#trial", where);
      const { facts, events, nodes } = await readTrial(page);
      if (number === COUNT) {
        assertEquals(events.length, ARGUMENTS.length);
        continue;
      }
      const ofCases = 2 * EVIL.length;
      const place = number > ofCases ? number - 1 - ofCases : Math.floor((number - 1) / 2);
      const shown = shownOf(EVIL[place]!);
      assertEquals(events.length, 10);
      for (const { text } of events) assertStringIncludes(text, shown);
      assert(events.some(({ why }) => why?.includes("missing gone")));
      assertStringIncludes(facts["model"]!, shown);
      assertEquals(nodes === undefined, number <= ofCases);
    }
  }
  await check("html", "the page");
});

browserTest("the page's policy blocks whatever would get in all the same", async (browser) => {
  const { place } = await theReport("html");
  await using opened = await openReport(browser, place.file("evil.html"));
  const { page, faults } = opened;
  const policy = await page.getAttribute("meta[http-equiv=Content-Security-Policy]", "content");
  const hash = "'sha256-[A-Za-z0-9+/]{43}='";
  assertMatch(
    policy!,
    new RegExp(
      `^default-src 'none'; script-src ${hash} ${hash} 'wasm-unsafe-eval'; style-src ${hash}; ` +
        "base-uri 'none'; form-action 'none'$",
    ),
  );
  await page.evaluate(() => {
    const add = (name: string, attributes: Record<string, string>, text = "") => {
      const element = document.createElement(name);
      for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
      element.textContent = text;
      document.body.append(element);
      return element;
    };
    const run = "globalThis.canary = 1";
    add("script", {}, run);
    add("script", { src: `data:text/javascript,${run}` });
    add("img", { src: "https://evil.example/x.png", onerror: run });
    add("button", { onclick: run }).click();
    add("iframe", { srcdoc: `<script>${run}</script>` });
    add("style", {}, "main { display: none }");
    add("a", { href: `javascript:${run}` }).click();
    fetch("https://evil.example/").catch(() => {});
  });
  const directives = ["script-src-elem", "script-src-attr", "img-src", "connect-src", "style-src"];
  const untold = () =>
    directives.filter((one) => !faults.some((fault) => fault.includes(`violation of ${one}`)));
  while (untold().length > 0) {
    await page.waitForEvent("console").catch(
      (error) => {
        throw new Error(`It does not block ${untold()}: ${faults.join("; ")}`, { cause: error });
      },
    );
  }
  // By then links have been followed, too.
  await unfold(page);
  assertEquals(await page.evaluate(() => "canary" in globalThis), false);
  assertEquals(await page.isVisible("main"), true);
  assert(!faults.some((fault) => fault.startsWith("request: https")), faults.join("\n"));
});
