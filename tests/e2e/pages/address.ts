// The address of an HTML report in a real browser: whatever a person looks at can be sent, reloaded and gone back to.

import { assertEquals, assertGreater } from "@std/assert";
import type { Page } from "playwright-core";
import type { Trial } from "../../../lib/trials/trial.ts";
import { variantLabel, variantOf } from "../../../lib/gate/variant.ts";
import { shortNames } from "../../../lib/reports/_short_names.ts";
import { cellName } from "../../../lib/reports/cells.ts";
import { browserTest } from "../../support/browser.ts";
import { Folder } from "../../support/folders.ts";
import { callEvent, record } from "../../support/records.ts";
import { manyTrials } from "../../support/many_trials.ts";
import {
  allRows,
  chooseOutcome,
  goTo,
  goToTrial,
  openReport,
  shownRows,
  trialIsOpen,
  unfold,
  writeTrials,
} from "../../support/report_page.ts";
import { theReport } from "./report.ts";

/** Names a variant as the page does. */
const labelOf = (trial: Trial) => {
  const subject = variantOf(trial);
  const { shorten } = shortNames([subject.model], 150);
  return variantLabel({ ...subject, model: shorten(subject.model) }, trial.model.simulated);
};

/** Everything that a person can see of the list and of what is open. */
async function seen(page: Page) {
  const rows = await shownRows(page);
  return await page.evaluate((rows) => {
    const panel = document.querySelector("#trial:not([hidden]) h3");
    return {
      rows,
      count: document.querySelector("#count")!.textContent,
      chosen: [...document.querySelectorAll<HTMLSelectElement>("#filters select")]
        .map(({ value }) => value),
      search: document.querySelector<HTMLInputElement>("#q")!.value,
      outcome: document.querySelector("#outcomes [aria-pressed=true]")!.getAttribute("value"),
      open: panel?.textContent ?? null,
    };
  }, rows);
}

browserTest(
  "search, filters, page and open trial stand in the address, from which a reload makes them again",
  async (browser) => {
    const { html, trials } = await theReport();
    await using opened = await openReport(browser, html);
    const { page, faults } = opened;
    const label = labelOf(trials.find(({ solved }) => !solved)!);
    await chooseOutcome(page, "not solved");
    await page.selectOption("#subject", { label });
    await page.fill("#q", "CORE 10, depth");
    await page.locator("#count", { hasText: /^\d of|^1\d of/ }).waitFor();
    await page.locator("#list a").nth(1).click();
    const wanted = trials.map((trial, place) => ({ trial, name: `trial ${place + 1}` }))
      .filter(({ trial }) =>
        !trial.solved && labelOf(trial) === label && cellName(trial).includes("core 10")
      );
    assertGreater(wanted.length, 2);
    await trialIsOpen(page, Number(wanted[1]!.name.slice(6)));
    const before = await seen(page);
    assertEquals(before.rows.map(([name]) => name), wanted.map(({ name }) => name));
    const address = new URL(page.url()).hash;
    const said = Object.fromEntries(new URLSearchParams(address.slice(2)));
    assertEquals(said, {
      ...{ trial: wanted[1]!.name.slice(6), subject: label, outcome: "failed" },
      q: "CORE 10, depth",
    });
    await page.reload();
    await page.waitForSelector("html[data-ready]");
    assertEquals(await seen(page), before);
    await using other = await openReport(browser, html, { hash: address });
    assertEquals(await seen(other.page), before);
    assertEquals([...faults, ...other.faults], []);
  },
);

browserTest("going back undoes what was chosen; typing is one step", async (browser) => {
  const { html } = await theReport();
  await using opened = await openReport(browser, html, { hash: "#?outcome=failed" });
  const { page, faults } = opened;
  const atFirst = await seen(page);
  await page.locator("#q").pressSequentially("core 5", { delay: 10 });
  await page.waitForFunction(() => location.hash.endsWith("q=core+5"));
  const length = await page.evaluate(() => history.length);
  await page.locator("#q").pressSequentially(" gra", { delay: 150 });
  await page.waitForFunction(() => location.hash.endsWith("q=core+5+gra"));
  assertEquals(await page.evaluate(() => history.length), length);
  const searched = await seen(page);
  await page.locator("#list a").first().click();
  await page.locator("#trial:not([hidden])").waitFor();
  await page.goBack();
  await page.locator("#trial").waitFor({ state: "hidden" });
  assertEquals(await seen(page), searched);
  await goTo(page, "#?outcome=failed");
  assertEquals({ ...await seen(page), search: "" }, { ...atFirst, search: "" });
  assertEquals(faults, []);
});

browserTest(
  "an address that means nothing here, or means harm, changes nothing",
  async (browser) => {
    const { html } = await theReport();
    await using plain = await openReport(browser, html);
    const { page, faults } = plain;
    const wanted = await seen(page);
    const evil = [
      "?trial=0&beside=1",
      "?trial=81&beside=-1&pair=0&change=lost",
      "?trial=1e1&page=0&cell=__proto__",
      "?trial=٣&type=constructor&outcome=toString",
      "?subject=%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E&cell=__proto__",
      "?type=constructor&behaviour=&outcome=passed",
      "?page=99999999999999999999&pair=9&change=<script>",
      `?q=${"x".repeat(5000)}`,
      "?%%%&=&&trial",
      "?__proto__=1&hasOwnProperty=2",
      ...["trial-999999", "trial-0", "trial-81", "trial--1", "trial-1.5", "trial-1x", "%", "list"],
      "<img src=x onerror=alert(1)>",
    ];
    for (const text of evil) {
      await goTo(page, `#${text}`);
      assertEquals(await seen(page), wanted, text);
    }
    assertEquals(faults, []);
    // The same at once, where the page begins.
    const all = evil.filter((text) => text.startsWith("?")).map((text) => text.slice(1)).join("&");
    await using opened = await openReport(browser, html, { hash: `#?${all}` });
    assertEquals(await seen(opened.page), wanted);
    assertEquals(opened.faults, []);
    // Of several values the good ones count.
    await using mixed = await openReport(browser, html, {
      hash: "#?outcome=solved&cell=none&trial=999999",
    });
    const { outcome, open } = await seen(mixed.page);
    assertEquals([outcome, open], ["solved", null]);
  },
);

browserTest("a search finds text only, in any case, and each of its words", async (browser) => {
  const { html, trials } = await theReport();
  await using opened = await openReport(browser, html);
  const { page, faults } = opened;
  const finds = async (text: string, wanted: (trial: Trial, number: number) => boolean) => {
    await page.fill("#q", text);
    await page.waitForFunction(
      (text) => (new URLSearchParams(location.hash.slice(2)).get("q") ?? "") === text,
      text,
    );
    const names = (await allRows(page)).map(([name]) => name);
    const expected = trials.flatMap((trial, place) =>
      wanted(trial, place + 1) ? [`trial ${place + 1}`] : []
    );
    assertEquals(names.sort(), expected.sort(), text);
    return names.length;
  };
  assertEquals(await finds(".*", () => false), 0);
  assertEquals(await finds("[0-9]", () => false), 0);
  assertEquals(await finds("planner zebra", () => false), 0);
  assertGreater(
    await finds(
      "PLANNER simulated",
      (trial) => labelOf(trial).includes("planner"),
    ),
    5,
  );
  assertGreater(
    await finds(
      "incorrect_value",
      ({ failures }) => failures.some(({ type }) => type === "incorrect_value"),
    ),
    0,
  );
  assertEquals(await finds("trial 17", (_, number) => number === 17), 1);
  assertEquals(await finds("", () => true), trials.length);
  assertEquals(faults, []);
});

browserTest("what there is nothing to choose of is not shown", async (browser) => {
  using folder = new Folder();
  const planner = (await theReport()).trials.filter(({ model, behaviours }) =>
    model.requested === "sim:planner" && behaviours.length === 0
  );
  await using opened = await openReport(browser, await writeTrials(folder, planner));
  const visible = await opened.page.locator("#filters label:visible").allInnerTexts();
  assertEquals(visible.map((text) => text.split("\n")[0]), ["search", "cell"]);
  const heads = await opened.page.locator("#heads th:visible").allInnerTexts();
  assertEquals(heads.map((text) => text.replace(/\W+$/, "")), [
    ...["trial", "outcome", "cell", "graph", "calls", "what was wrong"],
  ]);
  await using whole = await openReport(browser, (await theReport()).html);
  const all = await whole.page.locator("#filters label:visible").allInnerTexts();
  assertEquals(all.map((text) => text.split("\n")[0]), [
    ...["search", "model", "cell", "wrong calls", "behaviour"],
  ]);
  // A failed trial is one click away.
  await whole.page.getByRole("button", { name: /^not solved/ }).click();
  const rows = await allRows(whole.page);
  const failed = (await theReport()).trials.filter(({ solved }) => !solved).length;
  assertEquals(rows.length, failed);
  await goToTrial(whole.page, 1);
  assertEquals([...opened.faults, ...whole.faults], []);
});

browserTest(
  "a link of a table leads to the trials of its variant and its cell, whatever these are called",
  async (browser) => {
    using folder = new Folder();
    const { plan, trials } = await manyTrials(1);
    const [trial] = trials;
    const names = ["constructor", "__proto__", "\u202ea\nb\t", "half \ud800", "n".repeat(400)];
    const evil = names.flatMap((model) =>
      names.map((name, index) => ({
        ...trial!,
        index,
        id: `${names.indexOf(model)} ${index}`,
        model: { requested: model, served: model, simulated: false },
        task: { case: `${name}!`, seed: 1 },
        events: index === 1 ? [{ ...callEvent(1), step: 1_000_000_000 }] : [],
      }))
    );
    assertGreater(plan.trials.length, 0);
    await using opened = await openReport(browser, await writeTrials(folder, evil));
    const { page, faults } = opened;
    await unfold(page);
    const links = page.locator("#table-matrix tbody td a, #table-overview tbody th a");
    const counts: (string | null)[] = [];
    for (const link of await links.all()) {
      await link.click();
      counts.push(await page.textContent("#count"));
    }
    assertEquals(Map.groupBy(counts, String).size, 2);
    // Steps may be any numbers in journals of other tools.
    await goTo(page, "#?trial=1&beside=6");
    await page.waitForSelector("#difference", { timeout: 5_000 });
    assertEquals(
      await page.textContent("#difference"),
      "The first difference is in step 1000000000:trial 1: no such calltrial 6: func_1(abc=111)",
    );
    // Those of the headline, and of the last row of the matrix.
    assertEquals(counts.filter((count) => count === "5 of 25 trials").length, 2 * names.length);
    assertEquals(counts.filter((count) => count === "1 of 25 trials").length, 25);
    assertEquals(faults, []);
  },
);

browserTest(
  "what an open trial leads to has the filters of the address, also after going back",
  async (browser) => {
    const { html } = await theReport();
    await using opened = await openReport(browser, html, { hash: "#?trial=5&q=core" });
    const { page, faults } = opened;
    await trialIsOpen(page, 5);
    const queries = () =>
      page.locator("#bar a").evaluateAll((links) =>
        links.map((link) => new URLSearchParams((link as HTMLAnchorElement).hash.slice(2)).get("q"))
      );
    assertEquals(await queries(), ["core", "core", "core"]);
    await goTo(page, "#?trial=5&q=depth");
    await page.locator("#bar a[href*='q=depth']").first().waitFor();
    assertEquals(await queries(), ["depth", "depth", "depth"]);
    await page.goBack();
    await page.locator("#bar a[href*='q=core']").first().waitFor();
    assertEquals(await queries(), ["core", "core", "core"]);
    assertEquals(faults, []);
  },
);

browserTest(
  "what is invalid has not failed: not in the list, its choice, its count and its address",
  async (browser) => {
    using folder = new Folder();
    const outcomes = ["solved", "wrong_answer", "invalid", "wrong_answer", "invalid"] as const;
    const trials = outcomes.map((outcome, index) =>
      record({ outcome, index, id: String(index), task: { case: "books a room", seed: index } })
    );
    await using opened = await openReport(browser, await writeTrials(folder, trials));
    const { page, faults } = opened;
    assertEquals(
      await page.locator("#outcomes button").allTextContents(),
      ["all 5", "failed 2", "passed 1", "invalid 2"],
    );
    await chooseOutcome(page, "failed");
    assertEquals(new URL(page.url()).hash, "#?outcome=failed");
    const failed = (await shownRows(page)).map(([name]) => name);
    assertEquals(failed, ["trial 2", "trial 4"]);
    await page.locator("#table-overview td a[href$='outcome=failed']").click();
    assertEquals((await shownRows(page)).map(([name]) => name), failed);
    assertEquals(faults, []);
  },
);

browserTest("the choices of outcomes count what the other filters let through", async (browser) => {
  const { html, trials } = await theReport();
  await using opened = await openReport(browser, html);
  const { page, faults } = opened;
  const chips = async () => (await page.locator("#outcomes button").allTextContents()).slice(0, 3);
  const counts = (some: readonly Trial[]) => {
    const solved = some.filter((trial) => trial.solved).length;
    return [`all ${some.length}`, `not solved ${some.length - solved}`, `solved ${solved}`];
  };
  assertEquals(await chips(), counts(trials));
  const cell = cellName(trials[0]!);
  await page.selectOption("#cell", { label: cell });
  const own = trials.filter((trial) => cellName(trial) === cell);
  assertGreater(trials.length, own.length);
  assertEquals(await chips(), counts(own));
  // The one that is chosen is no filter of the others.
  await chooseOutcome(page, "not solved");
  assertEquals(await chips(), counts(own));
  assertEquals(faults, []);
});

browserTest("each of two variants of one name leads to its own trials", async (browser) => {
  using folder = new Folder();
  const trials = [
    record({ model: "m + restate", index: 0 }),
    ...[1, 2].map((seed) => record({ model: "m", strategy: "restate", seed, index: seed })),
  ];
  await using opened = await openReport(browser, await writeTrials(folder, trials));
  const { page, faults } = opened;
  const counts: (string | null)[] = [];
  for (const link of await page.locator("#table-overview tbody th a").all()) {
    assertEquals(await link.textContent(), "m + restate");
    await link.click();
    counts.push(await page.textContent("#count"));
  }
  assertEquals(counts, ["1 of 3 trials", "2 of 3 trials"]);
  // The choice of the list calls them apart.
  assertEquals(
    (await page.locator("#subject option").allTextContents()).toSorted(),
    ["all", "m + restate", "m + restate #2"],
  );
  await page.selectOption("#subject", { label: "m + restate #2" });
  assertEquals(await page.textContent("#count"), "2 of 3 trials");
  assertEquals(faults, []);
});
