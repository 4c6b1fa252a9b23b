// The HTML report in a real browser: questions of call sets, and cases of the user.

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { loadCallSet } from "../../../lib/tasks/questions/load.ts";
import { scripted } from "../../../lib/models/scripted.ts";
import { QuestionExecutor } from "../../../lib/trials/executors/question.ts";
import type { QuestionSpec } from "../../../lib/tasks/task_kind.ts";
import { runTrial } from "../../../lib/trials/run_trial.ts";
import type { Trial } from "../../../lib/trials/trial.ts";
import { trialId } from "../../../lib/trials/trial_id.ts";
import { browserTest, type OpenedPage, type TestBrowser } from "../../support/browser.ts";
import { Folder } from "../../support/folders.ts";
import {
  goToTrial,
  openReport,
  readTrial,
  shownRows,
  writeTrials,
} from "../../support/report_page.ts";

/** Looks at the report of these trials; nothing may be wrong with the page. */
async function look(
  browser: TestBrowser,
  trials: readonly Trial[],
  more: (opened: OpenedPage) => Promise<void>,
): Promise<void> {
  using folder = new Folder();
  await using opened = await openReport(browser, await writeTrials(folder, trials));
  for (const link of await opened.page.locator("nav a").all()) {
    const target = await link.getAttribute("href");
    assertEquals(await opened.page.locator(target!).count(), 1, target!);
  }
  await more(opened);
  assertEquals(opened.faults, []);
}

const SET = loadCallSet("fixtures/call_sets/city.jsonc");

async function asked(
  task: QuestionSpec,
  replies: Parameters<typeof scripted>[1],
  index: number,
): Promise<Trial> {
  const key = { model: "clerk", strategy: "plain", perturbation: "none", task, repetition: 1 };
  return await runTrial(
    { ...key, id: trialId(key), index, block: 0 },
    scripted("clerk", replies),
    { suite: "questions", open: (_, options) => new QuestionExecutor(SET, task, options) },
  );
}

browserTest(
  "questions are shown with what they are worth, and no graph is missed",
  async (browser) => {
    const task: QuestionSpec = {
      set: "city",
      question: "lib02",
      difficulty: "easy",
      mode: "parameters",
    };
    const trials = [
      await asked(task, [{ text: '{"API": ["getOpeningHours"], "parameters": [{}]}' }], 0),
      await asked({ ...task, question: "lib01" }, [{ text: "<script>alert(1)</script>" }], 1),
      await asked(
        { ...task, mode: "tools" },
        [{ calls: [{ name: "getOpeningHours", arguments: {} }] }, { text: "done" }],
        2,
      ),
    ];
    assertEquals(trials.map(({ solved }) => solved), [true, false, true]);
    await look(browser, trials, async ({ page }) => {
      assertEquals((await shownRows(page)).map((row) => row.slice(2, 6)), [
        [
          ...["city parameters, easy", "question lib01", "-"],
          "unexpected formatting: the answer cannot be read as JSON",
        ],
        ["city parameters, easy", "question lib02", "-", "-"],
        ["city tools, easy", "question lib02", "1 (fewest 1)", "-"],
      ]);
      await goToTrial(page, 1);
      const first = await readTrial(page);
      assertEquals(first.summary, "solved");
      assertEquals(first.facts["task"], "city parameters, easy, question lib02");
      assertEquals([first.nodes, first.task], [undefined, []]);
      const shown = () => page.locator("#graph > *").allTextContents();
      assertEquals(await shown(), [
        ...["The question", "When is the library open?"],
        ...["The right calls", "getOpeningHours({})"],
      ]);
      assertEquals(await page.locator("#trial .mistake").count(), 0);
      assertStringIncludes(first.events[0]!.text, "routing right, syntax right");
      await goToTrial(page, 2);
      assertEquals(
        await page.textContent("#trial .mistake"),
        "unexpected formatting: the answer cannot be read as JSON",
      );
      assertEquals((await shown())[1], "Is there a book called Tides of Ink?");
      assertStringIncludes(
        (await readTrial(page)).events.at(-1)!.text,
        "<script>alert(1)</script>",
      );
      await goToTrial(page, 3);
      assertEquals((await readTrial(page)).summary, "solved after 1 call (fewest 1)");
      assertStringIncludes(await page.innerText("#call-sets"), "Right calls: city tools");
      const body = (await page.innerText("main")).split("\nWords\n")[0]!;
      assert(!/not generated:|\bgraph \d/.test(body), "nothing is said of graphs");
      assertEquals(await page.textContent("#heads .task"), "question");
    });
  },
);

browserTest("the broadest table of a call set fits a page", async (browser) => {
  const task: QuestionSpec = {
    set: "city",
    question: "lib02",
    difficulty: "easy",
    mode: "parameters",
  };
  const right = await asked(
    task,
    [{ text: '{"API": ["getOpeningHours"], "parameters": [{}]}' }],
    0,
  );
  const trials = (["easy", "medium", "hard"] as const).map((difficulty, index): Trial => ({
    ...right,
    ...{ index, id: `trial ${index}`, task: { ...task, question: difficulty, difficulty } },
    model: { ...right.model, requested: "sim:truth?syntax=0.2&value=0.3&seed=1" },
    events: right.events.map((event) =>
      event.kind === "scored" ? { ...event, judged: { score: 1 } } : event
    ),
  }));
  await look(browser, trials, async ({ page }) => {
    const { widths, columns } = await page.locator("#call-sets .view").first().evaluate((wide) => ({
      widths: [wide.scrollWidth, wide.clientWidth],
      columns: wide.querySelectorAll("thead th").length,
    }));
    assertEquals(columns, 9);
    assert(widths[0]! <= widths[1]!, `${widths.join(" in ")}`);
  });
});
