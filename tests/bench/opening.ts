/**
 * How long a report of 20,000 trials takes to open in a browser, and how large its file is.
 *
 * deno task opening
 */

import type { Browser } from "playwright-core";
import { makeReport } from "../../lib/reports/report.ts";
import { writeHtml } from "../../lib/reports/html.ts";
import { CHROMIUM, launch, openPage } from "../support/browser.ts";
import { manyTrials } from "../support/many_trials.ts";

const REPETITIONS = 7;
/** In each of four cells, for each of two models: 20,000 trials. */
const GRAPHS = 2500;

/** What a person waits for, in milliseconds. */
interface Opening {
  /** From the beginning of the navigation until the list and everything above it are there. */
  readonly page: number;
  /** From the click until a trial is open and its graph is drawn, the first time. */
  readonly trial: number;
}

/** Writes the report, and tells its size. */
async function write(path: string): Promise<void> {
  const { plan, trials } = await manyTrials(GRAPHS);
  const began = performance.now();
  const report = makeReport(trials, { suite: plan.suite, planned: trials.length });
  await writeHtml(path, report, trials, { rerun: ({ id }) => `deno task toolgate run '${id}'` });
  const seconds = (performance.now() - began) / 1000;
  const events = trials.reduce((sum, trial) => sum + trial.events.length, 0);
  console.log(
    `A report of ${trials.length} trials with ${events} events: ` +
      `${(Deno.statSync(path).size / 1e6).toFixed(1)} MB, made in ${seconds.toFixed(1)} s`,
  );
}

async function open(browser: Browser, path: string, trial: number): Promise<Opening> {
  await using opened = await openPage(browser, path);
  await opened.page.waitForSelector("html[data-ready]");
  // The page's own clock begins with its navigation; asking it takes some milliseconds more.
  const ready = await opened.page.evaluate(() => performance.now());
  const shown = await opened.page.evaluate(async (hash) => {
    const began = performance.now();
    location.hash = hash;
    while (document.querySelector(".drawing svg") === null) {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    return performance.now() - began;
  }, `#trial-${trial}`);
  return { page: ready, trial: shown };
}

function tell(what: string, times: readonly number[]): void {
  const sorted = times.map(Math.round).toSorted((one, other) => one - other);
  const median = sorted[Math.floor(sorted.length / 2)];
  console.log(`${what}: median ${median} ms, ${sorted[0]} to ${sorted.at(-1)} ms`);
}

if (import.meta.main) {
  if (CHROMIUM === undefined) Deno.exit(2);
  const folder = Deno.makeTempDirSync({ prefix: "toolgate_opening_" });
  const browser = await launch();
  try {
    const path = `${folder}/report.html`;
    await write(path);
    console.log(
      `Opened ${REPETITIONS} times from the disk, each time anew in one headless Chromium ` +
        browser.version(),
    );
    const openings: Opening[] = [];
    for (let repetition = 0; repetition < REPETITIONS; repetition++) {
      openings.push(await open(browser, path, 20_000 - 2500 * repetition));
    }
    tell("navigation to page ready", openings.map(({ page }) => page));
    tell("first trial open, with its graph", openings.map(({ trial }) => trial));
  } finally {
    await browser.close();
    Deno.removeSync(folder, { recursive: true });
  }
}
