// Comparisons on a report's page in a real browser: from a pair to its tasks, and to two trials side by side.

import {
  assert,
  assertEquals,
  assertGreater,
  assertMatch,
  assertNotEquals,
  assertStringIncludes,
} from "@std/assert";
import type { Locator, Page } from "playwright-core";
import { canonicalJson } from "../../../lib/base/json.ts";
import { type ComparedPair, comparePairs } from "../../../lib/gate/comparison.ts";
import { graphKey } from "../../../lib/gate/variant.ts";
import { writeHtml } from "../../../lib/reports/html.ts";
import { shortNames } from "../../../lib/reports/_short_names.ts";
import { Report } from "../../../lib/reports/report.ts";
import { planSuite } from "../../../lib/runs/plan.ts";
import { runTrial } from "../../../lib/trials/run_trial.ts";
import type { Trial } from "../../../lib/trials/trial.ts";
import { browserTest } from "../../support/browser.ts";
import { Folder } from "../../support/folders.ts";
import { inProcess } from "../../support/in_process.ts";
import { writeJournal } from "../../support/journals.ts";
import { callEvent, record } from "../../support/records.ts";
import {
  goTo,
  openReport,
  repeatedHeadings,
  resize,
  shownRows,
  trialIsOpen,
  unfold,
  writeReport,
} from "../../support/report_page.ts";

/** Writes the page of trials, with other pairs than theirs if given. */
async function writePage(
  folder: Folder,
  trials: readonly Trial[],
  comparisons: readonly ComparedPair[] = new Report(trials, { suite: "s" }).comparisons,
): Promise<string> {
  const report = new Report(trials, { suite: "s" }, new Map([[comparePairs, comparisons]]));
  const path = folder.file("pairs.html");
  await writeHtml(path, report, trials, { rerun: () => "again" });
  return path;
}

/** What two trials side by side show. */
function readBeside(page: Page) {
  return page.evaluate(() => {
    const sides = [...document.querySelectorAll("#trial section.pair")].map((step) => ({
      step: step.querySelector("h4")!.textContent,
      marked: [...step.querySelectorAll("ol")].map((side) =>
        [...side.querySelectorAll(".first strong, .first.answer .faint")].map((one) =>
          one.textContent
        )
      ),
    }));
    return {
      heading: document.querySelector("#trial h3")!.textContent,
      line: [...document.querySelectorAll<HTMLElement>("#trial .difference")].map((one) =>
        one.innerText
      ),
      marked: sides.filter(({ marked }) => marked.flat().length > 0),
    };
  });
}

const MODELS = { old: "sim:planner", new: "sim:noisy?stale=0.2&early=0.1&seed=3" };

/** Runs a model on the tasks of both, and writes its journal. */
async function run(folder: Folder, name: keyof typeof MODELS) {
  const model = MODELS[name];
  const tasks = [{ core: 6, depth: 4, connected: 3 }];
  const plan = planSuite({ name: "travel", seed: 5, graphs: 40, tasks, models: [model] }, {
    source: "travel",
  });
  const trials: Trial[] = [];
  for (const planned of plan.trials) {
    trials.push(await runTrial(planned, inProcess(model), { suite: "travel" }));
  }
  return { trials, journal: writeJournal(folder, plan, trials, `${name}.jsonl`) };
}

/** The calls of a trial by step, in any order within one. */
function callsByStep({ events }: Trial): Map<number, string> {
  const calls = events.filter((event) => event.kind === "call");
  return new Map(
    [...Map.groupBy(calls, ({ step }) => step)].map(([step, own]) => [
      step,
      own.map((call) => `${call.function} ${canonicalJson(JSON.parse(call.arguments))}`).sort()
        .join("\n"),
    ]),
  );
}

/** The first step whose calls differ; `undefined` where all are the same. */
function firstStep(one: Trial, other: Trial): number | undefined {
  const [own, others] = [callsByStep(one), callsByStep(other)];
  return [...new Set([...own.keys(), ...others.keys()])].sort((a, b) => a - b)
    .find((step) => own.get(step) !== others.get(step));
}

/** Whether all of these are on the screen, without scrolling. */
async function onScreen(...all: Locator[]): Promise<boolean> {
  const seen = await Promise.all(all.map((one) =>
    one.evaluate((element) => {
      const { top, bottom, height } = element.getBoundingClientRect();
      return height > 0 && top >= 0 && bottom <= innerHeight;
    })
  ));
  return seen.every(Boolean);
}

browserTest(
  "three clicks say why the new model is worse, on a wide screen and on a phone",
  async (browser) => {
    using folder = new Folder();
    const before = await run(folder, "old");
    const after = await run(folder, "new");
    const solved = ({ trials }: typeof before) => trials.filter((trial) => trial.solved).length;
    const pairs = after.trials.map((trial) => {
      const other = before.trials.find(({ task }) => graphKey(task) === graphKey(trial.task))!;
      return [trial, other] as const;
    });
    const lost = pairs.filter(([own, other]) => !own.solved && other.solved);
    assertGreater(lost.length, 15);
    const html = await writeReport(before.journal, after.journal);
    await using opened = await openReport(browser, html);
    const { page, faults } = opened;
    const newName = `${shortNames(Object.values(MODELS), 150).shorten(MODELS.new)} (simulated)`;

    for (const width of [1280, 400]) {
      await resize(page, width);
      // The first: the comparisons, where one row says how much worse it is.
      await page.click("nav a[href='#comparisons']");
      const row = page.locator("#table-comparisons tbody tr");
      assertEquals(await row.count(), 1);
      const cell = (name: string) => row.locator(`[data-name="${name}"]`);
      assertEquals((await row.locator("th").innerText()).trim(), newName);
      assertEquals((await cell("against").innerText()).trim(), `${MODELS.old} (simulated)`);
      // How much worse it is stands in the headline alone, with the one interval of the page.
      const difference = (solved(after) - solved(before)) / pairs.length * 100;
      const change = page.locator("#table-overview tbody [data-name=change]");
      assertEquals((await change.allInnerTexts()).map((text) => text.trim()), [
        "reference",
        difference.toFixed(1),
      ]);
      assertEquals(await cell("difference").count(), 0);
      assertEquals(await page.locator(".view:not(#table-overview) svg.drawn").count(), 0);
      const link = cell("lost").locator("a");
      assertEquals(await link.innerText(), String(lost.length));

      // The second: its lost tasks, each with what both solved of it.
      await link.click();
      const heading = page.locator("#pair h3");
      await heading.waitFor();
      assertEquals(
        await heading.innerText(),
        `${newName} is worse than sim:planner (simulated) on ${lost.length} tasks`,
      );
      const tasks = page.locator("#pair tbody tr");
      assert(await onScreen(heading, tasks.first().locator("a")));
      assertEquals(
        await tasks.evaluateAll((rows) =>
          rows.map((row) => [...row.querySelectorAll("td")].slice(1).map((one) => one.textContent))
        ),
        lost.map(() => ["0 of 1", "1 of 1"]),
      );

      // The third: both trials of one, and the first difference between them.
      await tasks.first().locator("a").click();
      const line = page.locator("#trial #difference");
      await line.waitFor();
      const heads = await page.locator("#trial .heads h4").allInnerTexts();
      const said = new URLSearchParams(new URL(page.url()).hash.slice(2));
      assertMatch(heads[0]!, new RegExp(`^trial ${said.get("trial")} (?!SOLVED|solved)\\w`));
      assertMatch(heads[1]!, new RegExp(`^trial ${said.get("beside")} solved$`, "i"));
      const names = await page.locator("#trial .heads h4 + p").allInnerTexts();
      const task = await tasks.first().locator("a").textContent();
      assertEquals(names, [`${newName}, ${task}`, `sim:planner (simulated), ${task}`]);
      // Trials of several journals stand in the order of their plans, those of the first journal before others.
      const all = [...before.trials, ...after.trials].sort((one, other) => one.index - other.index);
      const [own, other] = ["trial", "beside"].map((name) => all[Number(said.get(name)) - 1]!);
      assertEquals([own!.model.requested, own!.solved], [MODELS.new, false]);
      assertEquals([other!.model.requested, other!.solved], [MODELS.old, true]);
      assertEquals(graphKey(own!.task), graphKey(other!.task));
      const step = firstStep(own!, other!);
      assertNotEquals(step, undefined);
      const text = await line.innerText();
      assert(text.startsWith(`The first difference is in step ${step}:\n`), text);
      const [, here, there] = /\ntrial \d+: (.*)\ntrial \d+: (.*)$/.exec(text)!;
      // Both sides of that step stand below the line, and what differs is marked in each that has it.
      const sides = page.locator("#trial section.pair").filter({ has: page.locator(".first") });
      assertEquals(await sides.locator("h4").allInnerTexts(), [`step ${step}`]);
      const marked = await sides.locator("ol").evaluateAll((both) =>
        both.map((side) =>
          [...side.querySelectorAll(".first strong")].map((one) => one.textContent!)
        )
      );
      for (const [place, words] of [here!, there!].entries()) {
        const isMissing = words === "no such call";
        assertEquals(marked[place]!.length, isMissing ? 0 : 1, words);
        if (!isMissing) assertStringIncludes(words, marked[place]![0]!);
      }
      assert(await onScreen(line, sides.locator("h4")));
      // Whose is which stands below the line too, as the heads are off the screen; on a phone at each step.
      assertEquals(
        (await page.locator("#trial .whose:visible").allTextContents()).slice(0, 2).map((text) =>
          /^trial \d+, [^,]*/.exec(text)![0]
        ),
        [
          `trial ${said.get("trial")}, ${newName}`,
          `trial ${said.get("beside")}, ${MODELS.old} (simulated)`,
        ],
      );
      assertEquals(await page.evaluate(() => document.documentElement.scrollWidth), width);
    }

    // Back at the pair, of which a phone shows the first rows.
    await page.keyboard.press("Escape");
    await page.locator("#trial").waitFor({ state: "hidden" });
    const rows = page.locator("#pair tbody tr:visible");
    assertEquals(await rows.count(), 6);
    await page.getByRole("link", { name: "better on 0" }).click();
    await page.locator("#pair h3", { hasText: "is better than" }).waitFor();
    assertEquals(await rows.count(), 0);
    await page.goBack();
    assertEquals(await rows.count(), 6);
    await page.locator("#pair").getByRole("link", { name: "close" }).click();
    await page.locator("#pair").waitFor({ state: "hidden" });
    assertEquals(faults, []);
  },
);

browserTest("the page of an upgrade has one interval for its difference", async (browser) => {
  using folder = new Folder();
  const tasks = [{ core: 6, depth: 4, connected: 3 }];
  const gate = { baseline: { model: MODELS.old }, margin: 0.1 };
  const models = [MODELS.old, "sim:noisy?stale=0.2&seed=3"];
  const plan = planSuite({
    ...{ name: "upgrade", seed: 5, graphs: 20, tasks, models, gate },
  }, { source: "upgrade" });
  const trials: Trial[] = [];
  for (const planned of plan.trials) {
    trials.push(await runTrial(planned, inProcess(planned.model), { suite: "upgrade" }));
  }
  const html = await writeReport(writeJournal(folder, plan, trials));
  await using opened = await openReport(browser, html);
  const { page, faults } = opened;
  // How the gate found it is folded, and says no more than the headline.
  const shown = await page.locator("main").first().innerText();
  assertEquals(shown.match(/[-+]\d[\d.]* to [-+]?\d[\d.]*/g)?.length, 1, shown);
  // It is drawn there, as the rates of both are.
  assertEquals(await page.locator("#table-overview svg.drawn").count(), 3);
  assertEquals(await page.locator("#comparisons :is(svg.drawn, figure)").count(), 0);
  await unfold(page);
  assertEquals(await repeatedHeadings(page), []);
  assertEquals(faults, []);
});

browserTest(
  "of own tests a pair lists names, not the trial that does not open",
  async (browser) => {
    using folder = new Folder();
    const trials = ["old", "new"].flatMap((model) =>
      [1, 2].map((seed) =>
        record({
          ...{ model, id: `${model} ${seed}`, task: { case: "books a room", seed } },
          outcome: model === "new" && seed === 2 ? "wrong_answer" : "solved",
        })
      )
    ).map((trial, index) => ({ ...trial, index }));
    const path = await writePage(folder, trials);
    await using opened = await openReport(browser, path, { hash: "#?pair=0&change=lost" });
    const link = opened.page.locator("#pair tbody a");
    assertEquals(await link.allTextContents(), ["books a room"]);
    assertMatch((await link.getAttribute("href"))!, /trial=4&beside=[12]$/);
    // The table of what changed goes there at once, and back to where it was.
    const { page } = opened;
    await goTo(page, "#comparisons");
    await page.locator("#table-changed-tasks a", { hasText: "books a room" }).click();
    await page.locator("#difference").waitFor();
    assertMatch(new URL(page.url()).hash, /^#\?pair=0&change=lost&trial=4&beside=[12]$/);
    await page.goBack();
    assertEquals(new URL(page.url()).hash, "#comparisons");
    assert(await page.isHidden("#trial"));
    assertEquals(opened.faults, []);
  },
);

browserTest("of a pair whose trials are not listed, the page says so", async (browser) => {
  using folder = new Folder();
  const trials = [trialOf("old", [], "1"), trialOf("new", [], "2")]
    .map((trial, index) => ({ ...trial, index }));
  const path = await writePage(
    folder,
    trials,
    new Report(trials, { suite: "s" }).comparisons.map((pair) => ({
      ...pair,
      lost: pair.lost.map((one) => ({ ...one, trials: [[], []] as const })),
    })),
  );
  await using opened = await openReport(browser, path, { hash: "#?pair=0&change=lost&task=1" });
  const { page, faults } = opened;
  assertEquals(await page.textContent("#pair h3"), "new is worse than old on 1 task");
  assertEquals(
    await page.textContent("#pair p"),
    "Which tasks these are is listed for the first 300 pairs.",
  );
  assertEquals(await page.locator("#pair tr, #pair .take").count(), 0);
  assertEquals(new URL(page.url()).hash, "#?pair=0&change=lost");
  assert(await page.isHidden("#trial"));
  assertEquals(faults, []);
});

const TASK = { core: 4, depth: 2, connected: 0, disconnected: 0, seed: 7 };

/** A trial with these calls, as `step function arguments`. */
function trialOf(model: string, calls: readonly [number, string, object][], answer: string): Trial {
  return record({
    ...{ model, task: TASK, outcome: answer === "1" ? "solved" : "wrong_answer" },
    events: [
      ...calls.map(([step, name, inputs], place) => ({
        ...callEvent(place + 1, { step, function: name }),
        arguments: JSON.stringify(inputs),
      })),
      { kind: "answer", text: `It is ${answer}.`, value: Number(answer) },
    ],
  });
}

browserTest(
  "the first difference is one of calls, without an order in a step, or of the answer",
  async (browser) => {
    const base: [number, string, object][] = [
      ...[[1, "a", { x: 1, y: 2 }], [1, "b", {}], [2, "c", { z: 3 }]] as [number, string, object][],
    ];
    const evil = '"><img src=x onerror=alert(1)>';
    const cases: [[number, string, object][], string, string[] | undefined][] = [
      // The same calls in another order, and arguments in another order.
      [[[1, "b", {}], [1, "a", { y: 2, x: 1 }], [2, "c", { z: 3 }]], "1", undefined],
      [base, "2", ["the answer", "2", "1"]],
      [[...base.slice(0, 2), [2, "c", { z: 4 }]], "2", ["step 2", "c(z=4)", "c(z=3)"]],
      [[...base.slice(0, 2)], "2", ["step 2", "no such call", "c(z=3)"]],
      [[...base, [3, "a", {}]], "1", ["step 3", "a()", "no such call"]],
      [[base[0]!, base[2]!], "1", ["step 1", "no such call", "b()"]],
      [[...base.slice(0, 2), [2, evil, {}]], "2", ["step 2", `${evil}()`, "c(z=3)"]],
    ];
    using folder = new Folder();
    const trials = [
      trialOf("old", base, "1"),
      ...cases.map(([calls, answer], place) => trialOf(`new ${place}`, calls, answer)),
    ].map((trial, index) => ({ ...trial, index }));
    const html = await writePage(folder, trials);
    await using opened = await openReport(browser, html);
    const { page, faults } = opened;
    for (const [place, [, , told]] of cases.entries()) {
      const number = place + 2;
      await goTo(page, `#?trial=${number}&beside=1`);
      await page.locator("#trial h3", { hasText: `trial ${number} beside 1` }).waitFor();
      await page.locator("#trial section.pair").first().waitFor();
      const seen = await readBeside(page);
      const [where, here, there] = told ?? [];
      assertEquals(seen.line, [
        told === undefined
          ? "Their calls and answers are the same."
          : `The first difference is in ${where}:\ntrial ${number}: ${here}\ntrial 1: ${there}`,
      ]);
      assertEquals(seen.marked.length, told === undefined ? 0 : 1);
      if (where?.startsWith("step")) assertEquals(where, seen.marked[0]!.step);
      // Both graphs are one, which is drawn once.
      await page.locator("#trial .drawing svg").first().waitFor({ state: "attached" });
      assertEquals(await page.locator("#trial .drawing").count(), 1);
    }
    assertEquals(faults, []);
  },
);

browserTest(
  "a baseline without trials of its own leaves the candidate's alone, and says so",
  async (browser) => {
    using folder = new Folder();
    const trials = [trialOf("old", [], "1"), trialOf("new", [], "2")]
      .map((trial) => ({ ...trial, index: 0 }));
    const { comparisons } = new Report(trials, { suite: "s" });
    const html = await writePage(folder, trials.slice(1), comparisons);
    await using opened = await openReport(browser, html, { hash: "#?pair=0" });
    const { page, faults } = opened;
    assertEquals(await page.textContent("#pair h3"), "new is worse than old on 1 task");
    await page.click("#pair tbody a");
    await trialIsOpen(page, 1);
    assertStringIncludes(await page.innerText("#trial"), "No trial of old is in this report");
    assertEquals(await page.locator("#trial section.pair").count(), 0);
    assertEquals((await shownRows(page)).length, 1);
    // Without the pair there is nothing that it could lack.
    await goTo(page, "#trials");
    await page.waitForSelector("#pair", { state: "hidden" });
    await page.click("#list a");
    await trialIsOpen(page, 1);
    assert(!(await page.innerText("#trial")).includes("No trial of"));
    assertEquals(faults, []);
  },
);

browserTest(
  "of many tasks and rows, the first are shown until all are asked for",
  async (browser) => {
    using folder = new Folder();
    // The second model loses 15 tasks to the first, the third 16; and each of 16 models has a row.
    const trials = Array.from(
      { length: 16 },
      (_, model) =>
        Array.from({ length: 16 }, (_, seed) =>
          record({
            ...{ model: `m ${model}`, seed, block: seed, index: 16 * model + seed },
            outcome: model === 2 || model === 1 && seed > 0 ? "wrong_answer" : "solved",
          })),
    ).flat();
    const html = await writePage(folder, trials);
    await using opened = await openReport(browser, html);
    const { page, faults } = opened;
    await unfold(page);
    for (
      const [hash, view, count] of [
        ["#?pair=0&change=lost", "#pair", 15],
        ["#?pair=1&change=lost", "#pair", 16],
        ["#?pair=1&change=lost", "#table-outcomes", 16],
      ] as const
    ) {
      await page.evaluate((hash) => location.hash = hash, hash);
      await page.locator("#pair h3", { hasText: `on ${hash.includes("0") ? 15 : 16} tasks` })
        .waitFor();
      const rows = page.locator(`${view} tbody tr`).filter({ visible: true });
      assertEquals(await rows.count(), count > 15 ? 12 : count, view);
      const all = page.locator(`${view} .all`);
      assertEquals(await all.count(), count > 15 ? 1 : 0);
      if (count > 15) {
        assertEquals(await all.textContent(), "all 16 rows");
        await all.click();
      }
      assertEquals(await rows.count(), count, view);
      assertEquals(await all.filter({ visible: true }).count(), 0);
    }
    assertEquals(faults, []);
  },
);

browserTest("any trial can stand beside another of its task", async (browser) => {
  using folder = new Folder();
  const trials = ["old", "new", "other"].map((model, index) => ({
    ...trialOf(model, [], String(index)),
    index,
  }));
  const html = await writePage(folder, trials);
  await using opened = await openReport(browser, html, { hash: "#trial-1" });
  const { page, faults } = opened;
  for (const width of [1280, 400]) {
    await resize(page, width);
    await page.selectOption("#beside", { label: "trial 3: wrong answer, other" });
    await page.locator("#trial section.pair").first().waitFor();
    assertEquals((await readBeside(page)).heading, "trial 1 beside 3");
    // Nothing of what differs first is beyond an edge.
    const { right, inner, line } = await page.locator("#difference").evaluate((line) => ({
      right: line.getBoundingClientRect().right,
      ...{ inner: line.scrollWidth, line: line.clientWidth },
    }));
    assert(right <= width && inner === line, `${right}, ${inner} of ${line} at ${width}`);
    // Side by side, or below one another.
    const [one, two] = await page.locator("#trial .heads > div").evaluateAll((all) =>
      all.map((side) => side.getBoundingClientRect().top)
    );
    assertEquals(one === two, width === 1280);
    assertEquals(await page.evaluate(() => document.documentElement.scrollWidth), width);
    await page.getByRole("link", { name: "trial 1 alone" }).click();
    await trialIsOpen(page, 1);
    assertEquals(faults, []);
  }
});
