// What can be taken away from a report's page in a real browser: figures as SVG, tables as CSV.

import { assert, assertEquals, assertGreater, assertMatch, assertNotMatch } from "@std/assert";
import type { Page } from "playwright-core";
import { shortNames } from "../../../lib/reports/_short_names.ts";
import { browserTest } from "../../support/browser.ts";
import { openReport } from "../../support/report_page.ts";
import { theReport } from "./report.ts";

/** Presses a button, and returns the name and the text of the file that it downloads. */
async function downloaded(page: Page, button: string): Promise<{ name: string; text: string }> {
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.locator(button).first().evaluate((one) => (one as HTMLElement).click()),
  ]);
  return {
    name: download.suggestedFilename(),
    text: Deno.readTextFileSync(await download.path()),
  };
}

/** Puts a table into the page. */
function addTable(page: Page, cells: readonly (readonly string[])[]): Promise<void> {
  return page.evaluate((cells) => {
    const view = document.createElement("div");
    view.className = "view";
    view.id = "table-made";
    const table = view.appendChild(document.createElement("table"));
    for (const [place, row] of cells.entries()) {
      const line = (place === 0 ? table.createTHead() : table.tBodies[0] ?? table.createTBody())
        .insertRow();
      if (place > 1) line.className = "more";
      for (const text of row) line.insertCell().textContent = text;
    }
    const button = view.appendChild(document.createElement("button"));
    button.className = "take";
    button.dataset["take"] = "csv";
    document.querySelector("main")!.prepend(view);
  }, cells);
}

browserTest(
  "a table is downloaded as CSV, with all of its rows and nothing that runs",
  async (browser) => {
    const { html } = await theReport();
    await using opened = await openReport(browser, html);
    const { page, faults } = opened;
    await addTable(page, [
      ["name", "value"],
      ['=HYPERLINK("x")', "+40.0"],
      ["@SUM(A1)", "-3"],
      ["-", "-1.5e-7"],
      ["+cmd|' /C calc'!A0", "-1,2"],
      ["a, b", '"quoted"'],
      ["x;=1; '-2", "one; two"],
      ["two\n lines", "1,234"],
    ]);
    assertEquals(await downloaded(page, "#table-made .take"), {
      name: "table-made.csv",
      text: [
        "name,value",
        `"'=HYPERLINK(""x"")",+40.0`,
        "'@SUM(A1),-3",
        "'-,-1.5e-7",
        `'+cmd|' /C calc'!A0,"'-1,2"`,
        `"a, b","""quoted"""`,
        "x;'=1;' '-2,one; two",
        `two lines,"1,234"`,
        "",
      ].join("\r\n"),
    });
    const { name, text } = await downloaded(page, "#table-overview .take");
    assertEquals(name, "table-overview.csv");
    const rows = await page.locator("#table-overview tr").count();
    assertEquals(text.trimEnd().split("\r\n").length, rows);
    assertNotMatch(text, /CSV/);
    assertEquals(faults, []);
  },
);

browserTest(
  "the list of trials and that of a pair are downloaded with all of their rows",
  async (browser) => {
    const { html } = await theReport();
    await using opened = await openReport(browser, html, { hash: "#?pair=0&change=gained" });
    const { page, faults } = opened;
    const linesOf = async (button: string) => {
      const { name, text } = await downloaded(page, button);
      return { name, lines: text.trimEnd().split("\r\n") };
    };
    const shown = await page.locator("#list tr").count();
    const all = Number((await page.textContent("#count"))!.split(" ")[0]);
    assertGreater(all, 1);
    const list = await linesOf("#table-trials .take");
    assertEquals([list.name, list.lines.length], ["table-trials.csv", 1 + all]);
    assertMatch(list.lines[0]!, /^trial,outcome,model,cell,graph,calls,/);
    assertEquals(await page.locator("#list tr").count(), shown);
    const pair = await linesOf("#pair .take");
    assertEquals(pair.name, "pair.csv");
    assertEquals(pair.lines.length, await page.locator("#pair tr").count());
    // Each table and figure has its button.
    const without = await page.locator("table, .plot").evaluateAll((all) =>
      all.filter((one) => one.closest(".view")?.querySelector(".take") == null)
        .map((one) => one.outerHTML)
    );
    assertEquals(without, []);
    assertEquals(faults, []);
  },
);

browserTest(
  "a figure is downloaded as an SVG that stands alone, light and dark",
  async (browser) => {
    const { html, folder, trials } = await theReport();
    const models = [...new Set(trials.map(({ model }) => model.requested))];
    const { shorten } = shortNames(models, 150);
    await using opened = await openReport(browser, html);
    const { page, faults } = opened;
    for (const scheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme: scheme });
      const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
      const before = await paper();
      const { name, text } = await downloaded(page, "#figure-core [data-take=svg]");
      assertEquals(name, "figure-core.svg");
      assertEquals(await paper(), before);
      assertMatch(text, /^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg"/);
      assertNotMatch(text, /var\(|class=|<button|<style|href=/);
      // It is drawn on white, whatever the page is.
      assertMatch(text, /<rect y="-26" width="100%" height="100%" fill="#ffffff"/);
      assertMatch(text, /<title>Success by core size<\/title>/);
      assertEquals(
        await page.locator("#figure-core [class*='role-legend-'] text").allTextContents(),
        [...models.map((model) => `${shorten(model)} (simulated)`), "model"],
      );
      await using alone = await browser.open(folder.write("alone.svg", text));
      const seen = await alone.page.evaluate(() => {
        const box = document.documentElement.getBoundingClientRect();
        return {
          texts: [...document.querySelectorAll("text")].map((one) => one.textContent),
          marks: document.querySelectorAll("path").length,
          beyond: [...document.querySelectorAll("text")].filter((one) => {
            const { left, right, top, bottom } = one.getBoundingClientRect();
            return left < box.left || right > box.right || top < box.top || bottom > box.bottom;
          }).length,
        };
      });
      assertEquals(seen.texts[0], "Success by core size");
      for (const model of models) {
        assert(seen.texts.includes(`${shorten(model)} (simulated)`), model);
      }
      assertGreater(seen.marks, 5);
      assertEquals(seen.beyond, 0);
      assertEquals([...faults, ...alone.faults], []);
    }
  },
);

browserTest("before a page is printed, what is folded is opened", async (browser) => {
  const { html } = await theReport();
  await using opened = await openReport(browser, html);
  const open = () => opened.page.locator("details[open]").count();
  const all = await opened.page.locator("details").count();
  const before = await open();
  assertGreater(all, before);
  await opened.page.evaluate(() => dispatchEvent(new Event("beforeprint")));
  assertEquals(await open(), all);
  await opened.page.evaluate(() => dispatchEvent(new Event("afterprint")));
  assertEquals(await open(), before);
});
