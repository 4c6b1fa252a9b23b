// The HTML report in a real browser: perturbed trials, and what perturbations did to all of them.

import { assert, assertEquals, assertGreater, assertStringIncludes } from "@std/assert";
import { FAULTS } from "../../../lib/tools/fault.ts";
import { PERTURBATION_METHODS } from "../../../lib/perturbations/methods.ts";
import { METAMORPHIC_CHECKS } from "../../../lib/perturbations/ids.ts";
import { openTask } from "../../../lib/trials/executors/tasks.ts";
import { describeTool } from "../../../lib/tools/tool.ts";
import { browserTest } from "../../support/browser.ts";
import { folder, readLines } from "../../support/child.ts";
import { toolgate } from "../../support/command_line.ts";
import {
  goToTrial,
  openReport,
  readTrial,
  unfold,
  writeReport,
} from "../../support/report_page.ts";

const SUITE = {
  name: "perturbed",
  seed: 3,
  graphs: 2,
  tasks: [{ core: 3, depth: 2, connected: 1 }],
  models: ["sim:noisy?stale=0.4&seed=1"],
  perturbations: ["none", "RD", "WT", "RP_F", "AP", "CF", "rename"],
};

type Line = ReturnType<typeof readLines>[number];

browserTest(
  "a perturbed trial shows what the model got, and what was changed of it",
  async (browser) => {
    await using place = await folder();
    const suite = place.write("suite.jsonc", JSON.stringify(SUITE));
    const journal = place.file("run.jsonl");
    const run = await toolgate(["run", suite, "--out", journal]);
    assertEquals(run.code, 0, run.all);
    const trials = readLines(journal).slice(1).sort((one, other) => one.index - other.index);
    const html = await writeReport(journal);
    await using opened = await openReport(browser, html);
    const { page, faults } = opened;
    let [shown, returned, unaligned] = [0, 0, 0];
    for (const [place, trial] of trials.entries()) {
      await goToTrial(page, place + 1);
      const { facts, task: [prompt, tools], events, outcome } = await readTrial(page);
      const { perturbation } = trial;
      using fixture = openTask(trial.task, { perturbation });
      assertEquals(prompt, fixture.prompt);
      assertEquals(
        JSON.parse(tools!).map((tool: Line) => tool.function.description),
        fixture.tools.map(describeTool),
      );
      assertEquals(outcome, trial.outcome.replaceAll("_", " "));
      assertEquals(
        facts["perturbation"],
        perturbation === "none"
          ? "none"
          : `${perturbation} (${trial.changed === false ? "found nothing to change" : "changed"})`,
      );
      const offer = page.locator("#trial details");
      assertEquals(
        await offer.locator("summary").innerText(),
        "prompt and tools, as the model got them",
      );
      assertEquals(await offer.locator(".change").count(), perturbation === "none" ? 0 : 1);
      if (perturbation === "RD" || perturbation === "RP_F") {
        assertGreater(await offer.locator("li").count(), 0);
      }
      if (perturbation === "RP_F") assert(facts["right answer"]!.startsWith("none"));
      const calls = trial.events.filter(({ kind }: Line) => kind === "call");
      const views = events.filter((event) => event.returned !== undefined);
      assertEquals(views.length, calls.length);
      for (const [at, { text, returned: back }] of views.entries()) {
        const { parameters, unperturbed, result } = calls[at];
        for (const { parameter, type } of parameters?.oracle ? parameters.failures : []) {
          assertStringIncludes(
            text,
            `compared with right call ${parameters.oracle}: ${parameter}: `,
          );
          assertStringIncludes(text, type.replaceAll("_", " "));
          shown++;
        }
        const routing = "routing error: it is not one of the right calls, or repeats one of them";
        assertEquals(text.includes(routing), parameters?.oracle === null);
        for (const { parameter, type } of parameters?.oracle === null ? parameters.failures : []) {
          const told = `compared with its schema: ${parameter || "arguments"}: ${
            type.replaceAll("_", " ")
          }`;
          assertStringIncludes(text, told);
          unaligned++;
        }
        assertEquals(text.includes("the function itself returned"), unperturbed !== undefined);
        if (unperturbed === undefined) continue;
        assertEquals(back, result);
        assertStringIncludes(text, unperturbed);
        returned++;
      }
    }
    assertGreater(shown, 0);
    assertGreater(returned, 0);
    assertGreater(unaligned, 0);
    assertEquals(
      await page.locator(":is(#matrix, #perturbations) figure").evaluateAll((all) =>
        all.map(({ id, parentElement }) => `${parentElement!.id} ${id}`)
      ),
      ["matrix figure-failure-rates-1", "perturbations figure-transfer-1"],
    );
    const words = (await page.textContent("#perturbations"))!;
    assertStringIncludes(words, "Checks that should change nothing");
    assertStringIncludes((await page.textContent("#comparisons"))!, "Pairs compared");
    assertStringIncludes(words, "sim:noisy?stale=0.4&seed=1 (simulated)");
    assertEquals(faults, []);
  },
);

for (
  const [what, perturbed] of [
    ["of methods and checks", [...METAMORPHIC_CHECKS, ...PERTURBATION_METHODS]],
    ["of faults", FAULTS],
  ] as const
) {
  browserTest(
    `failure rates ${what}, and the dimensions of tool use, fit a page of the usual width, whole words and all`,
    async (browser) => {
      await using place = await folder();
      const perturbations = ["none", ...perturbed];
      const suite = place.write(
        "suite.jsonc",
        JSON.stringify({ ...SUITE, graphs: 1, perturbations }),
      );
      const journal = place.file("run.jsonl");
      assertEquals((await toolgate(["run", suite, "--out", journal])).code, 0);
      await using opened = await openReport(browser, await writeReport(journal));
      const { page, faults } = opened;
      await unfold(page);
      assertEquals(
        await page.locator(":is(#matrix, #perturbations, #tool-use) :is(.view, .plot)").evaluateAll(
          // Both are rounded, so that what fits may be one wider.
          (all) =>
            all.filter((own) => own.scrollWidth > own.clientWidth + 1).map((own) =>
              `${own.scrollWidth} in ${own.clientWidth}: ${own.textContent}`
            ),
        ),
        [],
      );
      const rates = page.locator("#matrix table", { hasText: "Failure rates under" });
      assertEquals(await rates.locator("tbody tr").count(), perturbations.length);
      // Words of the head, and names and numbers in the rows, stand in one line each.
      const torn = await rates.locator("th, td, td small").evaluateAll((all) =>
        all.flatMap((own) => {
          const parts = own.closest("thead") === null ? /[^]+/g : /[^\s-]+/g;
          const texts = [...own.childNodes].filter((node) => node instanceof Text);
          return texts.flatMap((text) =>
            [...text.data.trimEnd().matchAll(parts)].filter(({ 0: part, index }) => {
              const range = document.createRange();
              range.setStart(text, index);
              range.setEnd(text, index + part.length);
              return range.getClientRects().length > 1;
            }).map(([part]) => part)
          );
        })
      );
      assertEquals(torn, []);
      assertEquals(faults, []);
    },
  );
}
