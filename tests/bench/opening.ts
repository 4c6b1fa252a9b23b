/**
 * How long the report of 20,000 trials takes to open in a browser, and how large its file is.
 *
 * deno task opening                    20,000 trials
 * deno task opening --graphs 250       2,000 trials
 */

import { parseArgs } from "@std/cli/parse-args";
import type { Browser } from "playwright-core";
import { CHROMIUM, launch, openPage } from "../support/browser.ts";
import { LAUNCH, take } from "./processes.ts";
import { GRAPHS, writeJournal } from "./sizes.ts";

const REPETITIONS = 7;

/** What a person waits for, in milliseconds. */
interface Opening {
  /** From the beginning of the navigation until the list and everything above it are there. */
  readonly page: number;
  /** From the click until a trial is open and its graph is drawn, the first time. */
  readonly trial: number;
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

/** Opens a report again and again: the milliseconds until its page was ready, and until a trial was open. */
export async function openings(
  path: string,
  trials: number,
): Promise<{ readonly pages: number[]; readonly opened: number[] }> {
  const browser = await launch();
  try {
    const times: Opening[] = [];
    for (let repetition = 0; repetition < REPETITIONS; repetition++) {
      const trial = trials - Math.floor(trials / 8) * repetition;
      times.push(await open(browser, path, trial));
    }
    return { pages: times.map(({ page }) => page), opened: times.map(({ trial }) => trial) };
  } finally {
    await browser.close();
  }
}

if (import.meta.main) {
  if (CHROMIUM === undefined) Deno.exit(2);
  const graphs = Number(parseArgs(Deno.args, { string: ["graphs"] })["graphs"] ?? GRAPHS);
  const folder = Deno.makeTempDirSync({ prefix: "toolgate_opening_" });
  try {
    const [journal, html] = [`${folder}/journal.jsonl`, `${folder}/report.html`];
    const trials = await writeJournal(journal, graphs);
    await take([...LAUNCH, "report", journal, "--html", html]);
    const megabytes = (Deno.statSync(html).size / 1e6).toFixed(1);
    console.log(`Opened ${REPETITIONS} times from the disk (${megabytes} MB), each time anew`);
    const { pages, opened } = await openings(html, trials);
    tell("navigation to page ready", pages);
    tell("first trial open, with its graph", opened);
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
}
