/**
 * The suites of fixtures/suites/ run in this process, whole or in part, and what reports say of them.
 */

import { assert } from "@std/assert";
import { readJsonc } from "../../lib/base/input.ts";
import { modelName } from "../../lib/models/entry.ts";
import type { Breakdown } from "../../lib/reports/metrics/_breakdown.ts";
import { makeReport, type Report } from "../../lib/reports/report.ts";
import type { Plan } from "../../lib/runs/plan.ts";
import { Run } from "../../lib/runs/run.ts";
import { type Grid, SUITE } from "../../lib/runs/suite.ts";
import { truthsOf } from "../../lib/simulated/_truth.ts";
import { inProcess } from "./in_process.ts";
import { planSuiteFile } from "./suites.ts";
import { ROOT } from "./surroundings.ts";

/** What of a suite is run: one core size, fewer graphs, or some of its trials. */
export interface Part {
  readonly core?: number;
  readonly graphs?: number;
  readonly keep?: (trial: Plan["trials"][number]) => boolean;
}

/** Runs a suite of the project. */
export async function trialsOf(name: string, { core, keep, ...part }: Part = {}) {
  const path = `${ROOT}/fixtures/suites/${name}.jsonc`;
  const suite = { ...readJsonc(path, SUITE), ...part };
  const [first] = suite.tasks as readonly [Grid];
  const tasks = core === undefined ? suite.tasks : [{ ...first, core }];
  const whole = planSuiteFile({ ...suite, tasks }, path);
  const plan = { ...whole, trials: whole.trials.filter(keep ?? (() => true)) };
  const truths = truthsOf(plan.callSets ?? []);
  using run = new Run(plan, {
    connect: (entry) => ({
      ...inProcess(entry.model, undefined, truths),
      name: modelName(entry),
    }),
  });
  return { plan, trials: await run.all(), scores: await run.scores() };
}

/** Reports on what was run of a suite. */
export function reportOn({ plan, scores }: Awaited<ReturnType<typeof trialsOf>>): Report {
  const { suite, trials, resolved: { models, seed } } = plan;
  return makeReport(scores, { suite, seed, models, planned: trials.length });
}

/** Runs a suite of the project and reports on it. */
export async function experiment(name: string, part?: Part): Promise<Report> {
  return reportOn(await trialsOf(name, part));
}

export function breakdownOf({ breakdowns }: Report, id: string): Breakdown {
  const found = breakdowns.find((breakdown) => breakdown.id === id);
  assert(found !== undefined, `there is no breakdown ${id}`);
  return found;
}

/** The rates of the one series of a breakdown, by its values. */
export function ratesOf(breakdown: Breakdown, series = 0): Map<number | string, number> {
  return new Map(
    breakdown.values.map((
      value,
      place,
    ) => [value, breakdown.series[series]!.tallies[place]!.rate!]),
  );
}
