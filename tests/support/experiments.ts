/**
 * The suites of fixtures/suites/ run in this process, whole or in part, and what reports say of them.
 */

import { assert } from "@std/assert";
import type { JsonValue } from "../../lib/base/json.ts";
import { readJsonc } from "../../lib/base/input.ts";
import { modelName } from "../../lib/models/entry.ts";
import { Report } from "../../lib/reports/report.ts";
import type { Plan } from "../../lib/runs/plan.ts";
import { Run } from "../../lib/runs/run.ts";
import { type Grid, SUITE } from "../../lib/runs/suite.ts";
import { truthsOf } from "../../lib/simulated/_truth.ts";
import { inProcess } from "./in_process.ts";
import { type MetricRecord, recordsIn } from "./reports.ts";
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
  return new Report(scores, { suite, seed, models, planned: trials.length });
}

/** Runs a suite of the project and reports on it. */
export async function experiment(name: string, part?: Part): Promise<Report> {
  return reportOn(await trialsOf(name, part));
}

/** Returns the records of a breakdown of a report. */
export function breakdownOf(report: Report, id: string): MetricRecord[] {
  const found = recordsIn(report, "breakdowns").filter(({ breakdown }) => breakdown === id);
  assert(found.length > 0, `there is no breakdown ${id}`);
  return found;
}

/** The rates of the first series of a breakdown, by its values. */
export function ratesOf(breakdown: readonly MetricRecord[]): Map<JsonValue, number> {
  const own = breakdown.filter(({ series }) => series === breakdown[0]!["series"]);
  return new Map(own.map(({ value, solved }) => [value!, Number(solved)]));
}
