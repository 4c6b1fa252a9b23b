// The HTML report in a real browser, of journals that are very long, not whole, or not ours.

import { assertEquals, assertGreater, assertLessOrEqual, assertStringIncludes } from "@std/assert";
import { type Plan, planSuite } from "../../../lib/runs/plan.ts";
import { browserTest, type OpenedPage, type TestBrowser } from "../../support/browser.ts";
import { Folder } from "../../support/folders.ts";
import { writeJournal } from "../../support/journals.ts";
import { manyTrials } from "../../support/many_trials.ts";
import { finish, type TrialTraits } from "../../support/records.ts";
import {
  chooseOutcome,
  goToTrial,
  openReport,
  readTrial,
  shownRows,
  writeReport,
} from "../../support/report_page.ts";
import { SMALL } from "../../support/suites.ts";

function unpacked({ page }: OpenedPage): Promise<number> {
  return page.evaluate(() => Number(document.documentElement.dataset["unpacked"]));
}

browserTest(
  "a report of 400 trials unpacks what is looked at, and nothing else",
  async (browser) => {
    using folder = new Folder();
    const { plan, trials } = await manyTrials(50);
    assertEquals(trials.length, 400);
    await using opened = await openReport(
      browser,
      await writeReport(writeJournal(folder, plan, trials)),
    );
    const { page, faults } = opened;
    assertEquals(await page.textContent("#count"), "400 of 400 trials, page 1 of 8");
    assertEquals(await unpacked(opened), 1);
    const elements = () => page.evaluate(() => document.querySelectorAll("*").length);
    const atOpening = await elements();
    const drawn = await page.locator(".plot *").count();
    // Each of the 50 rows has the mark of its model; figures draw their own legends.
    assertLessOrEqual(atOpening - drawn, 1600);
    // Of two drawings of one figure a screen shows one.
    assertLessOrEqual(await page.locator(".plot svg:first-child *").count(), 800);
    assertLessOrEqual(drawn, 1000);
    // The data of all trials is in many blocks.
    assertGreater(await page.locator("script[id^=block-]").count(), 5);
    await goToTrial(page, 221);
    assertLessOrEqual(await unpacked(opened), 4);
    assertLessOrEqual(await elements() - atOpening, 1000);
    // Its neighbour mostly lies in the same block, and Graphviz is there already.
    await goToTrial(page, 223);
    assertLessOrEqual(await unpacked(opened), 5);
    // The last of all can be reached.
    await goToTrial(page, 400);
    assertStringIncludes((await readTrial(page)).facts["task"]!, "core 10");
    assertEquals((await shownRows(page)).length, 50);
    assertEquals(faults, []);
  },
);

/** What a person sees of a report before opening a trial. */
interface Seen {
  readonly notes: string[];
  readonly provenance: string;
  readonly text: string;
  readonly count: string;
  readonly rows: readonly string[][];
  readonly title: string;
}

/** Looks at the report of a journal; nothing may be wrong with the page. */
async function look(
  browser: TestBrowser,
  journal: string,
  more: (opened: OpenedPage) => Promise<void> = () => Promise.resolve(),
): Promise<Seen> {
  await using opened = await openReport(browser, await writeReport(journal));
  const { page, faults } = opened;
  const seen = {
    notes: await page.locator(".notes li").allTextContents(),
    provenance: (await page.textContent("header p"))!,
    text: await page.innerText("body"),
    count: (await page.textContent("#count"))!,
    rows: await shownRows(page),
    title: await page.title(),
  };
  // Each link within the page leads somewhere.
  for (const link of await page.locator("nav a").all()) {
    const target = await link.getAttribute("href");
    assertEquals(await page.locator(target!).count(), 1, target!);
  }
  await more(opened);
  assertEquals(faults, []);
  return seen;
}

/** The journal of a plan whose first trials have ended. */
function journalOf(
  folder: Folder,
  plan: Plan,
  traits: TrialTraits = {},
  ended = plan.trials.length,
): string {
  const trials = plan.trials.slice(0, ended);
  return writeJournal(
    folder,
    plan,
    trials.map((planned) => finish(planned, { suite: plan.suite, ...traits })),
  );
}

const PLAN = planSuite(SMALL, { source: "small" });
browserTest("a report without trials is a whole page that says so", async (browser) => {
  using folder = new Folder();
  const seen = await look(browser, writeJournal(folder, PLAN, []));
  assertEquals(seen.notes[0], "No trial has ended yet: there is nothing to report.");
  assertEquals([seen.title, seen.count, seen.rows], [
    "small: toolgate report",
    "0 of 0 trials",
    [],
  ]);
});

browserTest(
  "a report of invalid trials alone has no rate, and tells the reasons",
  async (browser) => {
    using folder = new Folder();
    const traits: TrialTraits = {
      ...{ outcome: "invalid", calls: 0, reason: "429: too many requests" },
      events: [{ kind: "stop", reason: "invalid", message: "429: too many requests" }],
    };
    const seen = await look(browser, journalOf(folder, PLAN, traits), async ({ page }) => {
      await goToTrial(page, 1);
      const { summary, events, outcome } = await readTrial(page);
      assertEquals(outcome, "invalid");
      assertStringIncludes(summary, "infrastructure: 429: too many requests");
      assertEquals(events.map(({ text }) => text), ["stopped: invalid429: too many requests"]);
      await chooseOutcome(page, "invalid");
      assertEquals(await page.textContent("#count"), "12 of 12 trials");
    });
    assertEquals(seen.notes.length, 1);
    assertStringIncludes(seen.notes[0]!, "12 of 12 trials are invalid");
    assertEquals(seen.rows.map(([, outcome]) => outcome), new Array(12).fill("invalid"));
  },
);

browserTest("a report that was cut off says that it is not whole", async (browser) => {
  using folder = new Folder();
  const text = Deno.readTextFileSync(await writeReport(journalOf(folder, PLAN)));
  const behind = (part: string) => text.indexOf(part) + part.length;
  const cuts = {
    "between its parts": text.indexOf('<script type="application/octet-stream" id="index"'),
    "within the trials": behind('id="block-0">') + 50,
    "at the index": behind('id="index">'),
    "within the index": behind('id="index">') + 51,
    "within a figure": behind('id="figure-core"'),
  };
  for (const [name, at] of Object.entries(cuts)) {
    await using opened = await browser.open(folder.write("cut.html", text.slice(0, at)));
    const { page, faults } = opened;
    await page.getByText("This file is incomplete: it was cut off while it was written.").waitFor();
    assertEquals(await page.getByText("Unpacking").count(), 0, name);
    assertEquals(faults, [], name);
  }
});

browserTest(
  "a report whose index is broken tells that, and does not seem to go on",
  async (browser) => {
    using folder = new Folder();
    const text = Deno.readTextFileSync(await writeReport(journalOf(folder, PLAN)));
    const broken = text.replace(/(id="index">).{20}/, "$1AAAAAAAAAAAAAAAAAAAA");
    await using opened = await browser.open(folder.write("broken.html", broken));
    await opened.page.getByText("The trials cannot be unpacked: ").waitFor();
    assertEquals(opened.faults, []);
  },
);
