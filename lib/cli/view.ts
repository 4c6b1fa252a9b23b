/**
 * `view`: serves the report of journals, also of those that are being written.
 * @module
 */

import defer * as fs from "node:fs";
import { userPath } from "../base/command_line.ts";
import { attempt, InputError } from "../base/errors.ts";
import { sha256 } from "../base/hash.ts";
import { assertServable, type Served, servePage } from "../base/page_server.ts";
import { type LiveOptions, LivePage } from "../reports/live.ts";
import { type Collection, labelledTrial } from "../runs/journal/collection.ts";
import { type JournalFile, wholeTrial } from "../runs/journal/journal.ts";
import type { Trial } from "../trials/trial.ts";
import { collect, givenIn, pricesOf, reportOf, wholeTrials } from "./collected.ts";
import { command, type Rest } from "./command.ts";
import { DIFFERENT_TASKS_OPTION, JOURNALS, PRICES_OPTION, UNCHECKED_OPTION } from "./journals.ts";

/** Serves until the process is interrupted. */
export const view = command({
  usage: "F.jsonl|FOLDER... [OPTIONS]",
  takes: JOURNALS,
  about:
    `It takes what report takes. The page grows with journals that are being written, such as those of a run that
somebody else has started; it has no rates and no verdict until all planned trials have ended.`,
  options: {
    differentTasks: DIFFERENT_TASKS_OPTION,
    prices: PRICES_OPTION,
    unchecked: UNCHECKED_OPTION,
  },
  notes:
    `It listens on 127.0.0.1 only, at an address that nobody can guess, and runs until it is interrupted.
No browser is started.`,
  needs: ["net", "read"],
  async run(options, { operands, error }) {
    assertServable();
    const { read, find } = viewed(operands, options, error);
    read();
    const server = await servePage(find);
    console.error(`Report: ${server.url}`);
    await server.finished;
    return 0;
  },
});

/** Returns what reads the journals again once they have grown, and what is served of them. */
function viewed(
  operands: readonly string[],
  options: Parameters<typeof collect>[1] & Pick<Parameters<typeof reportOf>[2], "prices">,
  error: Rest["error"],
) {
  let [page, before]: (LivePage | undefined)[] = [];
  /** The sizes and times of the journals when they were read, their planned trials, and what was wrong last. */
  let [state, plan, problem] = ["", "", ""];
  /** The lines that the page has. */
  const seen = new Set<string>();
  function* unseen({ path, places, values }: JournalFile): Generator<Trial> {
    for (const place of places.values()) {
      const key = `${path}:${place.line}`;
      if (seen.has(key)) continue;
      seen.add(key);
      yield values.complete(wholeTrial(path, place));
    }
  }
  let rerun: LiveOptions["rerun"];

  function read(): void {
    const given = givenIn(operands, error);
    const now = JSON.stringify(given.journals.map((path) => {
      const { size, mtimeMs } = attempt(() => fs.statSync(userPath(path))) ?? {};
      return [path, size, mtimeMs];
    }));
    if (now === state) return;
    const collection = collect(given, options);
    const { runs, suite, trials } = collection;
    const planned = runs.flatMap(({ results, label }) =>
      results.planned.map((one) => label === undefined ? one : labelledTrial(one, label))
    );
    const whole = wholeTrials(collection, given);
    rerun = whole.rerun;
    const ids = sha256(planned.map(({ id }) => id).join("\n"));
    if (page === undefined || ids !== plan) {
      // Names of trials depend on what else there is; blocks of the page before may be asked for still.
      [plan, before] = [ids, page];
      seen.clear();
      page = new LivePage({
        ...{ suite, planned, first: before?.next },
        prices: pricesOf(collection, { ...options, error }),
        generator: runs[0]!.results.plan.resolved.generator,
        rerun: (trial) => rerun(trial),
      });
    }
    const summaries = new Map(trials.map((trial) => [trial.id, trial]));
    for (const trial of whole.trials(unseen)) page.see(trial, summaries.get(trial.id));
    const report = isComplete(collection)
      ? reportOf(collection, given, { ...options, error })
      : undefined;
    page.end(report, trials);
    state = now;
  }

  async function find(name: string): Promise<Served | undefined> {
    try {
      if (name === "" || name === "state") read();
    } catch (error) {
      if (!(error instanceof InputError)) throw error;
      // What was read before can still be shown.
      if (problem !== error.message) console.error(error.message);
      problem = error.message;
    }
    return await page?.find(name) ?? await before?.find(name);
  }

  return { read, find };
}

/** Whether no planned trial is still to come. */
function isComplete({ runs }: Collection): boolean {
  return runs.every(({ files, results: { planned, trials, missing } }) => {
    const ended = new Set(trials.map(({ id }) => id));
    return planned.every(({ id }) => ended.has(id)) ||
      missing === undefined && files.every(({ last }) => last?.kind === "end");
  });
}
