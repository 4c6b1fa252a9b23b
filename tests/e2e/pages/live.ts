// The page of a run that goes on, in a browser: it grows, tells nothing of rates, and becomes the report.

// What runs in the page is typed as that.
/// <reference lib="dom" />

import { assert, assertEquals, assertMatch, assertNotMatch } from "@std/assert";
import { LivePage } from "../../../lib/reports/live.ts";
import { Report } from "../../../lib/reports/report.ts";
import { browserTest } from "../../support/browser.ts";
import { Folder } from "../../support/folders.ts";
import { writeJournal } from "../../support/journals.ts";
import { manyTrials } from "../../support/many_trials.ts";
import {
  allRows,
  chooseOutcome,
  goToTrial,
  openReport,
  readTrial,
  trialIsOpen,
  writeReport,
} from "../../support/report_page.ts";

browserTest(
  "a run of 200 trials is watched: nothing of it is lost, and no rate is told before its end",
  async (browser) => {
    const { plan, trials } = await manyTrials(25);
    const { trials: planned, suite } = plan;
    assertEquals(trials.length, 200);
    // In the order in which they end.
    const ended = trials.map((_, place) => trials[(place * 77) % 200]!);
    const rerun = ({ id }: { readonly id: string }) => `again ${id}`;
    const live = new LivePage({ suite: "<b>many</b>", planned, rerun });
    await using opened = await openReport(browser, await live.serve());
    const { page, faults } = opened;
    const isTold = (text: string) => page.locator("#state p", { hasText: text }).waitFor();
    await isTold("0 of 200 trials have ended: 0 solved, 0 not solved, 0 invalid");

    for (const trial of ended.slice(0, 120)) live.see(trial);
    const failed = (count: number) =>
      ended.slice(0, count).filter(({ outcome }) => outcome !== "solved").length;
    await isTold(
      `120 of 200 trials have ended: ${120 - failed(120)} solved, ${failed(120)} not solved`,
    );
    assertEquals(await page.textContent("h1"), "<b>many</b>");
    assertMatch((await page.textContent("#count"))!, /^120 of 120 trials/);
    const shown = await page.evaluate(() => ({
      ids: [...document.querySelectorAll("section, details, figure")].map(({ id }) => id),
      text: document.body.innerText,
    }));
    assertEquals(shown.ids, ["live", "trials"]);
    assertNotMatch(shown.text, /%|interval|PASS|FAIL|UNDECIDED/);

    await chooseOutcome(page, "not solved");
    assertEquals((await allRows(page)).length, failed(120));
    // Only this model fails; the places of its rows change.
    await page.fill("#q", "noisy");
    await page.waitForURL(/q=noisy/);
    await page.locator("#list a").last().click();
    await page.locator("#trial #bar h3").waitFor();
    const { rerun: before } = await readTrial(page);
    // What is pressed last keeps the focus while trials come in.
    await page.focus("#outcomes [aria-pressed=true]");
    for (const trial of ended.slice(120, 121)) live.see(trial);
    await isTold("121 of 200");
    assertMatch(await page.locator(":focus").innerText(), /^not solved/);
    await page.focus("#bar h3");
    for (const trial of ended.slice(121)) live.see(trial);
    await isTold("200 of 200");
    assertEquals((await readTrial(page)).rerun, before);
    assertMatch(await page.locator(":focus").innerText(), /^trial \d+$/);
    assertEquals((await allRows(page)).length, failed(200));

    live.end(new Report(trials, { suite, planned: 200, seed: 1 }), trials);
    await live[Symbol.asyncDispose]();
    await page.waitForSelector("html[data-ready]:not(:has(#live)) #bar h3");
    // The address still has the filter, and the trial under its number in the report.
    assertEquals((await readTrial(page)).rerun, before);
    assertMatch(page.url(), /outcome=failed&q=noisy/);
    await page.fill("#q", "");
    await chooseOutcome(page);
    await page.locator("#count", { hasText: "200 of 200" }).waitFor();
    const rows = await allRows(page);
    using folder = new Folder();
    const file = await writeReport(writeJournal(folder, plan, trials));
    await using whole = await openReport(browser, file);
    assertEquals(rows, await allRows(whole.page));
    assertEquals(rows.length, 200);
    assertEquals(
      await page.locator("#outcomes").textContent(),
      await whole.page.locator("#outcomes").textContent(),
    );
    // The server has ended: the page has all of its trials.
    await goToTrial(page, 1);
    await trialIsOpen(page, 1);
    assert((await page.locator("section#headline").count()) === 1);
    assertEquals(faults, []);
  },
);
