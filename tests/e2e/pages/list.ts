// The list of trials on a report's page in a real browser: its order and its size, keys, and where a trial opens.

import { assert, assertEquals, assertGreater, assertLess, assertLessOrEqual } from "@std/assert";
import type { Page } from "playwright-core";
import type { Trial } from "../../../lib/trials/trial.ts";
import { browserTest } from "../../support/browser.ts";
import { Folder } from "../../support/folders.ts";
import { writeJournal } from "../../support/journals.ts";
import { manyTrials } from "../../support/many_trials.ts";
import {
  allRows,
  openReport,
  resize,
  shownRows,
  trialIsOpen,
  writeReport,
} from "../../support/report_page.ts";

/** A report of 256 trials, of which one is invalid. */
let made: Promise<{ folder: Folder; html: string; trials: Trial[] }> | undefined;
const theReport = () => made ??= makeReport();

async function makeReport() {
  const folder = new Folder();
  const { plan, trials: [first, ...others] } = await manyTrials(32);
  const reason = "500: out of order";
  const trials: Trial[] = [{ ...first!, outcome: "invalid", solved: false, reason }, ...others];
  return { folder, html: await writeReport(writeJournal(folder, plan, trials)), trials };
}

Deno.test.afterAll(async () => (await made)?.folder[Symbol.dispose]());

/** The names of trials as the list has them by default: those that failed, those that are invalid, all others. */
function namesOf(trials: readonly Trial[]): string[] {
  const names = (has: (trial: Trial) => boolean) =>
    trials.flatMap((trial, place) => has(trial) ? [`trial ${place + 1}`] : []);
  const isInvalid = ({ outcome }: Trial) => outcome === "invalid";
  return [
    ...names((trial) => !trial.solved && !isInvalid(trial)),
    ...names(isInvalid),
    ...names(({ solved }) => solved),
  ];
}

/** The place in the window of what a selector names. */
const boxOf = (page: Page, selector: string) =>
  page.locator(selector).first().evaluate((one) => one.getBoundingClientRect().toJSON());

/** What has the focus, in words. */
const focused = (page: Page) => page.evaluate(() => document.activeElement!.textContent);

browserTest("the list begins with what failed, in pages of one screen", async (browser) => {
  const { html, trials } = await theReport();
  const names = namesOf(trials);
  await using opened = await openReport(browser, html, { width: 400 });
  const { page, faults } = opened;
  assertLessOrEqual(await page.evaluate(() => document.documentElement.scrollHeight), 5000);
  const { height } = await boxOf(page, "#table-trials table");
  assertLess(height, 900);
  for (const [width, rows] of [[400, 10], [1280, 50], [800, 50]] as const) {
    await resize(page, width);
    assertEquals((await shownRows(page)).map(([name]) => name), names.slice(0, rows));
    const heights = await page.locator("#list tr").evaluateAll((all) =>
      all.map((row) => row.getBoundingClientRect().height)
    );
    assertLess(Math.max(...heights), 40, `each row is a line at ${width}`);
    assertEquals(await page.evaluate(() => document.documentElement.scrollWidth), width);
  }
  assertEquals((await allRows(page)).map(([name]) => name), names);
  assertEquals(faults, []);
});

browserTest(
  "two keys lead to the first failed call, and more through the list",
  async (browser) => {
    const { html, trials } = await theReport();
    const numbers = namesOf(trials).map((name) => Number(name.slice(6)));
    const [first, second] = numbers as [number, number];
    for (const width of [1280, 400]) {
      await using opened = await openReport(browser, html, { width });
      const { page, faults } = opened;
      const press = (key: string) => page.keyboard.press(key);
      await press("j");
      assertEquals(await focused(page), `trial ${first}`);
      await press("Enter");
      await trialIsOpen(page, first);
      // Its first wrong call is marked, and in view below the bar.
      assertEquals(await page.locator("#events .first").count(), 1);
      const isFirst = await page.locator("#events .first").evaluate((one) =>
        one === document.querySelector("#events > :is(.wrong, .stop)")
      );
      assert(isFirst);
      const call = await boxOf(page, "#events .first");
      const bar = await boxOf(page, "#bar");
      assertGreater(call.top, bar.bottom - 1);
      assertLessOrEqual(call.bottom, 900);
      assertEquals(await page.locator("#list [aria-current] .trial").allTextContents(), [
        `trial ${first}`,
      ]);
      assertEquals(await focused(page), `trial ${first}`);
      // While a trial is open its neighbours open.
      await press("ArrowDown");
      await trialIsOpen(page, second);
      await press("k");
      await trialIsOpen(page, first);
      await press("Control+j");
      await press("f");
      await page.waitForFunction(() => location.hash.includes("outcome=failed"));
      assert(await page.isVisible("#trial"));
      await press("Escape");
      await page.locator("#trial").waitFor({ state: "hidden" });
      assertEquals(await focused(page), `trial ${first}`);
      await press("ArrowDown");
      assertEquals(await focused(page), `trial ${second}`);
      await press("o");
      await trialIsOpen(page, second);
      await press("Escape");
      await press("f");
      await page.waitForFunction(() => !location.hash.includes("outcome"));
      // What is typed is no key, and the list goes on over its pages.
      await press("/");
      await page.keyboard.type("jf?");
      await page.waitForFunction(() => location.hash.includes("q=jf"));
      await page.fill("#q", "");
      await page.waitForFunction(() => !location.hash.includes("q="));
      const last = page.locator("#list a").last();
      await last.focus();
      await press("j");
      assertEquals(await focused(page), `trial ${numbers[width === 400 ? 10 : 50]}`);
      await press("k");
      assertEquals(await focused(page), `trial ${numbers[width === 400 ? 9 : 49]}`);
      await press("?");
      const dialog = page.getByRole("dialog", { name: "Keys" });
      await dialog.waitFor();
      await press("j");
      await press("Escape");
      await dialog.waitFor({ state: "hidden" });
      await page.click("#hint");
      await dialog.getByRole("button", { name: "close" }).click();
      await dialog.waitFor({ state: "hidden" });
      assert(await page.isHidden("#trial"));
      assertEquals(faults, []);
    }
  },
);

browserTest(
  "a trial opens beside the list or below its row, and the list stays",
  async (browser) => {
    const { html } = await theReport();
    await using opened = await openReport(browser, html, { hash: "#?outcome=failed" });
    const { page, faults } = opened;
    for (const [width, at] of [[1280, 20], [800, 20], [400, 6]] as const) {
      await resize(page, width);
      const rows = await shownRows(page);
      const row = page.locator("#list tr").nth(at);
      const number = Number(rows[at]![0]!.slice(6));
      await row.scrollIntoViewIfNeeded();
      await row.locator("a").click();
      await trialIsOpen(page, number);
      const [list, own, panel] = [
        ...[await boxOf(page, "#list"), await boxOf(page, "#list [aria-current]")],
        await boxOf(page, "#trial"),
      ];
      if (width === 1280) {
        assertGreater(panel.left, list.right);
        assert(own.top >= 0 && own.bottom <= 900, "the row is in the window");
        assert(panel.top >= 0 && panel.top < 450, "the panel is in the window");
        assertGreater(await page.locator("#trial").evaluate((one) => one.scrollHeight), 900);
      } else assertLess(Math.abs(panel.top - own.bottom), 20);
      assertEquals((await shownRows(page)).filter((one) => one.length > 1), rows);
      // Rows may be made anew while it is open.
      await page.fill("#q", "incorrect");
      await page.waitForFunction(() => location.hash.includes("q=incorrect"));
      assert(await page.isVisible("#trial h3"));
      await page.fill("#q", "");
      await page.waitForFunction(() => !location.hash.includes("q="));
      await page.click("#close");
      await page.locator("#trial").waitFor({ state: "hidden" });
      assertEquals(await shownRows(page), rows);
      assertEquals(await focused(page), `trial ${number}`);
    }
    assertEquals(faults, []);
  },
);
