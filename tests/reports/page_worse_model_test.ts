// What a person does with the report of two runs in a real browser: finds why the new model is worse, in three clicks.

import {
  assert,
  assertEquals,
  assertGreater,
  assertMatch,
  assertNotEquals,
  assertStringIncludes,
} from "@std/assert";
import type { Locator } from "playwright-core";
import { canonicalJson } from "../../lib/base/json.ts";
import { graphKey } from "../../lib/gate/variant.ts";
import { planSuite } from "../../lib/runs/plan.ts";
import { runTrial } from "../../lib/trials/run_trial.ts";
import type { Trial } from "../../lib/trials/trial.ts";
import { browserTest } from "../support/browser.ts";
import { Folder } from "../support/folders.ts";
import { inProcess } from "../support/in_process.ts";
import { writeJournal } from "../support/journals.ts";
import { openReport, writeReport } from "../support/report_page.ts";

const MODELS = { old: "sim:planner", new: "sim:noisy?stale=0.2&early=0.1&seed=3" };

/** Runs a model on the tasks of both, and writes its journal. */
async function run(folder: Folder, name: keyof typeof MODELS) {
  const model = MODELS[name];
  const tasks = [{ core: 6, depth: 4, connected: 3 }];
  const plan = planSuite({ name: "travel", seed: 5, graphs: 14, tasks, models: [model] }, {
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

for (const width of [1280, 400]) {
  browserTest(
    `three clicks say why the new model is worse, ${width} pixels wide`,
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
      assertGreater(lost.length, 3);
      const html = await writeReport(before.journal, after.journal);
      await using opened = await openReport(browser, html, { width });
      const { page, faults } = opened;
      const newName = "sim:noisy?\u2026 (simulated)";

      // The first: the comparisons, where one row says how much worse it is.
      await page.click("nav a[href='#comparisons']");
      const row = page.locator("#table-comparisons tbody tr");
      assertEquals(await row.count(), 1);
      const cell = (name: string) => row.locator(`[data-name="${name}"]`);
      assertEquals((await row.locator("th").innerText()).trim(), newName);
      assertEquals((await cell("against").innerText()).trim(), MODELS.old);
      const difference = (solved(after) - solved(before)) / pairs.length * 100;
      assertEquals(await cell("difference").innerText(), difference.toFixed(1));
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
      assertEquals(await page.evaluate(() => document.documentElement.scrollWidth), width);
      assertEquals(faults, []);
    },
  );
}
