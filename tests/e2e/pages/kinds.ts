// The HTML report in a real browser: trials on probes, and of strategies that change what models see.

import { assert, assertEquals, assertGreater, assertStringIncludes } from "@std/assert";
import { USUAL_PROBES } from "../../../lib/tasks/task_kind.ts";
import { openTask } from "../../../lib/trials/executors/tasks.ts";
import { browserTest } from "../../support/browser.ts";
import { type Folder, folder, readLines } from "../../support/child.ts";
import { toolgate } from "../../support/command_line.ts";
import {
  allRows,
  goToTrial,
  openReport,
  readTrial,
  shownRows,
  writeReport,
} from "../../support/report_page.ts";

const SUITE = {
  name: "kinds",
  seed: 3,
  graphs: 2,
  models: ["sim:noisy?averse=0.3&ignore=0.3&seed=1"],
  strategies: ["plain", "indirection"],
};

/** The report of a run of these tasks, and the lines of its trials as the page numbers them. */
async function reportOf(place: Folder, tasks: readonly object[]) {
  const suite = place.write("suite.jsonc", JSON.stringify({ ...SUITE, tasks }));
  const journal = place.file("run.jsonl");
  const run = await toolgate(["run", suite, "--out", journal]);
  assertEquals(run.code, 0, run.all);
  const trials = readLines(journal).slice(1).sort((one, other) => one.index - other.index);
  return { html: await writeReport(journal), trials };
}

browserTest("a probe shows its question, its tools and what is right", async (browser) => {
  await using place = await folder();
  const { html, trials } = await reportOf(place, [{ case: "all" }]);
  await using opened = await openReport(browser, html);
  const { page, faults } = opened;
  assertEquals(await page.locator(".notes li").count(), 1, "but that models are simulated");
  const seen = new Set<string>();
  for (const [place, trial] of trials.entries()) {
    await goToTrial(page, place + 1);
    const { facts, task: [prompt, tools], nodes, events, rerun } = await readTrial(page);
    assertStringIncludes(rerun, `case=${trial.task.case} `);
    if (trial.task.case === "lying_calculator") {
      const words = events.map(({ text }) => text).join("\n");
      assertStringIncludes(words, "the answer follows ");
    }
    using fixture = openTask(trial.task);
    assertEquals(prompt, fixture.prompt);
    assertEquals(
      JSON.parse(tools!).map((tool: { function: { name: string } }) => tool.function.name),
      fixture.tools.map(({ name }) => name),
    );
    assert(/^(result = \d+|the tool's result)/.test(facts["right answer"]!), facts["right answer"]);
    assertEquals(
      facts["behaviours"],
      [...trial.behaviours, ...(trial.solved && !trial.grounded ? ["ungrounded"] : [])].join(
        ", ",
      ) ||
        "none",
    );
    assertEquals(nodes, undefined);
    const beside = await page.innerText("#graph");
    for (const words of ["What is probed", `${trial.task.case}: `, fixture.prompt]) {
      assertStringIncludes(beside, words);
    }
    assertStringIncludes(beside, "A probe has no graph.");
    for (const words of ["unknown", "not generated"]) {
      assert(!(await page.innerText("#trial")).includes(words), words);
    }
    assertEquals((await shownRows(page))[place]![4], `question ${trial.block + 1}`);
    seen.add(trial.task.case);
  }
  assertEquals(seen, new Set(USUAL_PROBES));
  // Habits are what probes are for: each can be asked for.
  await page.selectOption("#behaviour", { label: "aversion" });
  const averse = trials.flatMap(({ behaviours }, place) =>
    behaviours.includes("aversion") ? `trial ${place + 1}` : []
  );
  assertGreater(averse.length, 0);
  assertEquals((await allRows(page)).map(([name]) => name), averse);
  assertEquals(faults, []);
});

browserTest("names are shown with the values that they stand for", async (browser) => {
  await using place = await folder();
  const { html, trials } = await reportOf(place, [{ core: 3, depth: 2 }]);
  await using opened = await openReport(browser, html);
  const { page, faults } = opened;
  let calls = 0;
  for (const [place, trial] of trials.entries()) {
    await goToTrial(page, place + 1);
    const { events } = await readTrial(page);
    const offer = await page.innerText("#trial details summary");
    if (trial.strategy === "plain") {
      assertEquals(offer, "prompt and tools, as the model got them");
      continue;
    }
    assertEquals(
      offer,
      "prompt and tools of the task; the strategy indirection changes what the model sees",
    );
    const made = trial.events.filter(({ kind }: { kind: string }) => kind === "call");
    const shown = events.filter(({ returned }) => returned !== undefined);
    assertEquals(shown.length, made.length);
    for (const [at, { inputs, returned }] of shown.entries()) {
      const event = made[at];
      const values = JSON.parse(event.resolved);
      assertEquals(
        inputs.map(({ value }) => value),
        Object.entries(JSON.parse(event.arguments)).map(([name, written]) =>
          `${name} = ${JSON.stringify(written)}` +
          (name in values && values[name] !== written ? ` = ${values[name]}` : "")
        ),
      );
      assertEquals(returned, `${event.result} = ${event.returned.value}`);
      calls++;
    }
  }
  assertGreater(calls, 3);
  assertEquals(faults, []);
});
