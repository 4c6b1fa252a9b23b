/**
 * What large runs take: how long a report and a gate of 20,000 trials take, as users start them, beside reading
 * and parsing their journal; how many tasks are generated a second, and how that grows; then how long the report
 * takes to open in a browser. Takes minutes, on Linux. Exit code 1 when a target is missed.
 *
 * deno task opening                    all of it
 * deno task opening --graphs 250       2,000 trials
 */

import { parseArgs } from "@std/cli/parse-args";
import type { Browser } from "playwright-core";
import { JournalWriter } from "../../lib/runs/journal/jsonl.ts";
import { planLine } from "../../lib/runs/journal/journal.ts";
import { generateTask } from "../../lib/tasks/generated/task.ts";
import { CHROMIUM, launch, openPage } from "../support/browser.ts";
import { realTrials } from "../support/many_trials.ts";
import { isMet, LAUNCH, median, render, type Row, take } from "./processes.ts";
import { yardstick } from "./yardstick.ts";

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

/** Writes a journal of trials that were all run, so that they can be derived again; returns their number. */
async function writeJournal(path: string, graphs: number): Promise<number> {
  const { plan, trials } = realTrials(graphs);
  using journal = JournalWriter.create(path);
  journal.write(planLine(plan));
  for await (const trial of trials) journal.write(trial);
  return plan.trials.length;
}

/** The plainest program that reads a journal. */
const FLOOR = `for (const line of Deno.readTextFileSync(Deno.args[0]).split("\\n")) {
  if (line !== "") JSON.parse(line);
}`;

/** Makes a report of a journal and decides its gate, in processes of their own. */
async function commands(journal: string, html: string, trials: number): Promise<Row[]> {
  const floor = `${journal}.js`;
  Deno.writeTextFileSync(floor, FLOOR);
  const plain = await take(["run", "--no-prompt", "--allow-read", floor, journal]);
  const report = await take([...LAUNCH, "report", journal, "--html", html]);
  const gate = await take([...LAUNCH, "gate", journal]);
  const beside = `reading and parsing: ${plain.seconds.toFixed(1)} s, ${plain.peak.toFixed(0)} MiB`;
  const size = `${(Deno.statSync(journal).size / 1e6).toFixed(0)} MB of journal`;
  const share = trials / 20_000;
  const of = `of ${trials} trials`;
  const s = " s";
  return [
    {
      what: `Report ${of}, wall time`,
      figure: report.seconds,
      unit: s,
      most: 15 * share,
      from: beside,
    },
    { what: `Report ${of}, peak memory`, figure: report.peak, unit: " MiB", most: 400, from: size },
    {
      what: `Gate ${of}, wall time`,
      figure: gate.seconds,
      unit: s,
      most: 12 * share,
      from: beside,
    },
    { what: `Gate ${of}, peak memory`, figure: gate.peak, unit: " MiB", most: 400, from: size },
  ];
}

/** Tasks of 120 functions: as many a second as a task takes, at most. */
const TASKS_A_SECOND = 4_800;

/** How fast tasks are generated, each beside the plainest program that makes as much text. */
function generation(): Row[] {
  let seed = 0;
  const task = (functions: number, core: number) => () => {
    const others = (functions - core) / 2;
    generateTask({ core, depth: 10, connected: others, disconnected: others, seed: ++seed });
  };
  const kinds = {
    plain: { make: () => yardstick(120, 249, ++seed), times: 40 },
    task: { make: task(120, 40), times: 40 },
    small: { make: task(125, 25), times: 40 },
    large: { make: task(1_000, 200), times: 5 },
  };
  const taken = { plain: [], task: [], small: [], large: [] } as Record<
    keyof typeof kinds,
    number[]
  >;
  for (let round = 0; round < 60; round++) {
    for (const [name, { make, times }] of Object.entries(kinds)) {
      const began = performance.now();
      for (let left = times; left > 0; left--) make();
      // The first ones are compiled.
      if (round >= 10) {
        taken[name as keyof typeof kinds].push((performance.now() - began) / times);
      }
    }
  }
  const [plain, one, small, large] = Object.values(taken).map(median) as [
    number,
    number,
    number,
    number,
  ];
  const ms = (time: number) => `${time.toFixed(2)} ms`;
  return [
    {
      what: "Tasks of 120 functions, a second",
      figure: 1000 / one,
      unit: "",
      least: TASKS_A_SECOND,
      from: `${ms(one)}; as much text and objects: ${ms(plain)}`,
    },
    {
      what: "Time of 1,000 functions to that of 125",
      figure: large / small,
      most: 8,
      from: `${ms(large)} to ${ms(small)}`,
    },
  ];
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

/** Opens a report again and again, and tells how long it takes. */
async function openings(path: string, trials: number): Promise<void> {
  const browser = await launch();
  try {
    console.log(
      `Opened ${REPETITIONS} times from the disk (${
        (Deno.statSync(path).size / 1e6).toFixed(1)
      } MB), ` +
        `each time anew in one headless Chromium ${browser.version()}`,
    );
    const openings: Opening[] = [];
    for (let repetition = 0; repetition < REPETITIONS; repetition++) {
      const trial = trials - Math.floor(trials / 8) * repetition;
      openings.push(await open(browser, path, trial));
    }
    tell("navigation to page ready", openings.map(({ page }) => page));
    tell("first trial open, with its graph", openings.map(({ trial }) => trial));
  } finally {
    await browser.close();
  }
}

if (import.meta.main) {
  if (Deno.build.os !== "linux") {
    console.error(`Cannot measure as /proc is read, which Linux has: this is ${Deno.build.os}`);
    Deno.exit(2);
  }
  const graphs = Number(parseArgs(Deno.args, { string: ["graphs"] })["graphs"] ?? GRAPHS);
  const folder = Deno.makeTempDirSync({ prefix: "toolgate_opening_" });
  try {
    const [journal, html] = [`${folder}/journal.jsonl`, `${folder}/report.html`];
    const made = generation();
    const trials = await writeJournal(journal, graphs);
    const rows = [...made, ...await commands(journal, html, trials)];
    console.log(render(rows));
    if (CHROMIUM !== undefined) await openings(html, trials);
    if (!rows.every(isMet)) Deno.exitCode = 1;
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
}
