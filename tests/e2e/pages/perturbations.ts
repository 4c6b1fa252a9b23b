// The HTML report in a real browser: perturbed trials, and what perturbations did to all of them.

import { assertEquals } from "@std/assert";
import { FAULTS } from "../../../lib/tools/fault.ts";
import { PERTURBATION_METHODS } from "../../../lib/perturbations/methods.ts";
import { METAMORPHIC_CHECKS } from "../../../lib/perturbations/ids.ts";
import { browserTest } from "../../support/browser.ts";
import { folder, type readLines } from "../../support/child.ts";
import { toolgate } from "../../support/command_line.ts";
import { openReport, unfold, writeReport } from "../../support/report_page.ts";

const SUITE = {
  name: "perturbed",
  seed: 3,
  graphs: 2,
  tasks: [{ core: 3, depth: 2, connected: 1 }],
  models: ["sim:noisy?stale=0.4&seed=1"],
  perturbations: ["none", "RD", "WT", "RP_F", "AP", "CF", "rename"],
};

type Line = ReturnType<typeof readLines>[number];

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
      const rates = page.locator("#perturbations table", { hasText: "Effects of perturbations" });
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
