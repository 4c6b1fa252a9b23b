/**
 * A report that several tests look at: of two models in four cells, of which one fails often.
 */

import type { Trial } from "../../../lib/trials/trial.ts";
import { Folder } from "../../support/folders.ts";
import { writeJournal } from "../../support/journals.ts";
import { manyTrials } from "../../support/many_trials.ts";
import { writeReport } from "../../support/report_page.ts";

let made: Promise<{ folder: Folder; html: string; trials: Trial[] }> | undefined;

/** Made once. Its list has two pages. */
export const theReport = () => made ??= makeReport();

async function makeReport() {
  const folder = new Folder();
  const { plan, trials } = await manyTrials(10);
  return { folder, html: await writeReport(writeJournal(folder, plan, trials)), trials };
}

Deno.test.afterAll(async () => (await made)?.folder[Symbol.dispose]());
