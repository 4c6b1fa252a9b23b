// The page of a history.

import { assertEquals, assertMatch } from "@std/assert";
import type { Page } from "playwright-core";
import { makeHistoryReport } from "../../../lib/reports/history.ts";
import { historyPage } from "../../../lib/reports/history_page.ts";
import { browserTest } from "../../support/browser.ts";
import { Folder } from "../../support/folders.ts";
import { hostileReport, month } from "../../support/history_parts.ts";
import { openReport, unfold } from "../../support/report_page.ts";

browserTest("the page of hostile texts runs and loads nothing", async (browser) => {
  using folder = new Folder();
  const path = folder.write("page.html", await historyPage(hostileReport()));
  await using opened = await openReport(browser, path);
  const { page, faults } = opened;
  assertEquals(await page.locator("img, iframe, body script").count(), 0);
  assertEquals(faults, []);
});

/** What stands above the figures of a page, and where: labels of rules that are shown. */
function labelsOf(page: Page) {
  return page.evaluate(() =>
    [...document.querySelectorAll("figure")].map((figure) =>
      [...figure.querySelectorAll("text")]
        .filter((one) => /^1\.[01] |^served: /.test(one.textContent!) && one.checkVisibility())
        .map((one) => {
          const { left, right, top, bottom } = one.getBoundingClientRect();
          const plot = one.ownerSVGElement!.querySelector(".background")!.getBoundingClientRect();
          const isInside = left >= plot.left && right <= plot.right + 2 && bottom <= plot.top + 2;
          return { text: one.textContent!, left, right, top, bottom, isInside };
        })
    )
  );
}

for (
  const [width, scheme, models, days] of [
    [1280, "light", ["a", "b", "vendor/a-model-of-a-long-name"], 30],
    [400, "dark", ["a"], 120],
  ] as const
) {
  browserTest(
    `a history of ${models.length} models and ${days} runs fits ${width} pixels`,
    async (browser) => {
      using folder = new Folder();
      const report = makeHistoryReport(month(models, days));
      const path = folder.write("page.html", await historyPage(report));
      await using opened = await openReport(browser, path, { scheme, width });
      const { page, faults } = opened;
      await unfold(page);
      assertEquals(await page.evaluate(() => document.documentElement.scrollWidth), width);
      assertEquals(
        await page.locator("figure").evaluateAll((all) => all.map(({ id }) => id)),
        models.map((_, place) => `figure-success-${place + 1}`),
      );
      assertEquals(await page.locator(".plot.cut").count(), 0);
      // One drawing of each figure is shown.
      assertEquals(
        await page.locator(".plot svg").evaluateAll((all) =>
          all.filter((one) => one.checkVisibility()).length
        ),
        await page.locator("figure").count(),
      );
      for (const labels of await labelsOf(page)) {
        // Releases stand whole; the end of the name of a served model does.
        assertMatch(
          labels.map(({ text }) => text).sort().join("\n"),
          /^1\.0 \(anchor\)\n1\.1 \(last\)\nserved: .*-b$/,
        );
        assertEquals(labels.filter(({ isInside }) => !isInside), []);
      }
      assertEquals(faults, []);
    },
  );
}
