/**
 * Accepting results: makes them the baseline that later ones are compared with.
 * @module
 */

import { FAILURE_TYPES, type FailureType } from "../calls/failure_types.ts";
import { cannot, InputError } from "../base/errors.ts";
import { defined } from "../base/json.ts";
import { writeNewOutput } from "../base/output_file.ts";
import { byVariant, isUnwatched, variantOf } from "../gate/variant.ts";
import { decideTrials } from "../gate/decide_trials.ts";
import { servedModelChange, unaskedModel } from "../gate/undecidable.ts";
import {
  type AcceptedSubject,
  type BaselineFile,
  checksumOf,
  type LaterGo,
  plannedTrials,
  type TrialEnding,
} from "./_baseline_file.ts";
import type { PlanLine } from "./journal/plan_line.ts";
import type { Results } from "./journal/results.ts";
import { drawKey, trialKey } from "./trial_keys.ts";
import type { TrialSummary } from "../trials/summary.ts";

/** What of results is accepted. */
export type AcceptableResults = Pick<
  Results,
  "plan" | "trials" | "planned" | "problem" | "gate" | "rule" | "stopped" | "waves"
>;

/**
 * Writes results whose gate has passed as the baseline that their plan names, unless there is one by now. Returns what
 * to say about it.
 *
 * @throws {InputError} If the file cannot be written.
 */
export function recordBaseline(
  results: AcceptableResults,
  file: string,
  pathOf = (file: string) => file,
): string {
  const lacking = results.planned.length - results.trials.length;
  let accepted: BaselineFile;
  try {
    // Later runs are compared with all of its trials.
    if (lacking > 0) {
      return `the baseline ${file} is not written: ${lacking} of ${results.planned.length} trials were not run`;
    }
    accepted = acceptResults(results, "this run");
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    return `the baseline ${file} is not written: ${error.message}`;
  }
  return writeNewOutput(pathOf(file), resultsText(accepted), "the baseline")
    ? `these ${results.trials.length} trials are the baseline now: ${file}`
    : `the baseline ${file} is not written: there is one already`;
}

/**
 * Returns the baseline file for accepted results.
 *
 * @throws {InputError} If they cannot be a baseline; the message names them by `source`.
 */
export function acceptResults(results: AcceptableResults, source: string): BaselineFile {
  const fault = results.problem ?? (results.plan && rejectionReason(results));
  const plan = assertAcceptable(results, fault, source);
  const subjects = subjectsOf(results, plan, source, endingOf);
  return sealed({ v: 1, kind: "baseline", ...headOf(plan), subjects });
}

/** Returns a file with the checksum of its content. */
export function sealed<Content extends object>(content: Content): Content & { checksum: string } {
  return { ...content, checksum: checksumOf(content) };
}

/** What a file of results takes from their plan. */
export function headOf({ suite, planHash, comparisonHash, generator, seed, resolved }: PlanLine) {
  const { models: _, strategies: __, ...rest } = resolved;
  return { ...{ suite, planHash, comparisonHash, generator, seed }, resolved: rest };
}

/**
 * Returns the plan of results that a file can be made of.
 *
 * @throws {InputError} If there is a fault, they have no plan, or tests with models or the like of their own.
 */
export function assertAcceptable(
  { plan }: Pick<AcceptableResults, "plan">,
  fault: string | undefined,
  source: string,
  action = "accept",
): PlanLine {
  const why = fault ?? (plan === undefined ? "their first line must be a plan" : undefined);
  if (plan === undefined || why !== undefined) {
    throw new InputError(`Cannot ${action} ${source}: ${why}`);
  }
  const own = Object.values(plan.resolved.tests ?? {});
  if (own.some(({ models, strategies, perturbations }) => models ?? strategies ?? perturbations)) {
    throw cannot(
      `${action} ${source}`,
      "all tests of a baseline must have the same models, strategies and perturbations",
      "some have their own: toolSuite() with a gate gives them the same",
    );
  }
  return plan;
}

/**
 * Returns the results of each variant for a file, with what `endingOf` keeps of each trial.
 *
 * @throws {InputError} If an agent asked another model, or the served model changed.
 */
export function subjectsOf<Ending>(
  { trials }: Pick<AcceptableResults, "trials">,
  plan: PlanLine,
  source: string,
  endingOf: (trial: TrialSummary) => Ending,
  action = "accept",
): AcceptedSubject<Ending>[] {
  const { models: _, strategies: __, ...resolved } = plan.resolved;
  return byVariant(trials, variantOf).map(({ subject, items }) => {
    const { strategy, perturbation, variant } = subject;
    const fault = unaskedModel(items) ?? servedModelChange(items, "the served model");
    if (fault !== undefined) throw new InputError(`Cannot ${action} ${source}: ${fault}`);
    const finished = new Map(items.map((trial) => [trial.id, trial]));
    const planned = plannedTrials(resolved, subject);
    const ended = planned.map(({ id }) => finished.get(id));
    const size = ended.findLastIndex((one) => one !== undefined) + 1;
    const served = items.find(({ outcome }) => outcome !== "invalid")?.model ?? items[0]!.model;
    const { requested, simulated } = served;
    const kept = ended.slice(0, size);
    const keysBy = (keyOf: (trial: TrialSummary) => string) =>
      kept.map((trial) => trial === undefined ? "" : keyOf(trial)).join(",");
    return {
      model: { requested, served: served.served, simulated },
      strategy,
      perturbation,
      ...defined({ variant }),
      keys: keysBy(trialKey),
      ...(items.some(({ draw }) => draw !== undefined) ? { draws: keysBy(drawKey) } : {}),
      ...(items.some(isUnwatched) ? { agent: "unwatched" as const } : {}),
      trials: kept.map((trial) => trial === undefined ? null : endingOf(trial)),
      ...laterGoes(ended),
    };
  });
}

/** The ending of a trial in a baseline file. */
function endingOf(trial: TrialSummary): NonNullable<TrialEnding> {
  const types = failureTypes(trial);
  return types.length === 0 ? trial.outcome : [trial.outcome, ...types];
}

/** The types of a trial's failures, each once. */
export function failureTypes({ failures }: Pick<TrialSummary, "failures">): FailureType[] {
  return FAILURE_TYPES.filter((type) => failures.some((failure) => failure.type === type));
}

/** The trials that were not valid at the first go, by their places: a gate counts these for both sides. */
function laterGoes(
  trials: readonly (TrialSummary | undefined)[],
): Pick<BaselineFile["subjects"][number], "later"> {
  const later = trials.flatMap((trial, place): [string, LaterGo][] => {
    const { replaced, replacedIdle, unclear } = trial ?? {};
    const isReplaced = replaced !== undefined && !replacedIdle;
    if (!isReplaced && unclear === undefined) return [];
    return [[`${place}`, {
      ...(isReplaced ? { replaced: true as const } : {}),
      ...defined({ unclear }),
    }]];
  });
  return later.length === 0 ? {} : { later: Object.fromEntries(later) };
}

/** Why results must not replace a baseline; `undefined` if they may. */
function rejectionReason(
  { trials, planned, gate, rule, stopped, waves }: AcceptableResults,
): string | undefined {
  if (trials.length === 0) return "there are no trials";
  const missing = planned.length - trials.length;
  const variants = rule === undefined || missing === 0
    ? []
    : decideTrials(trials, planned, gate!, { rule, waves });
  const decided = variants.length > 0 &&
    variants.every(({ verdict }) => verdict.kind !== "invalid" && !("next" in verdict));
  if (missing > 0 && stopped === undefined && !decided) {
    const how = waves === undefined ? "--resume" : "--resume, or with its next wave";
    return `${missing} of ${planned.length} trials were not run; continue the run with ${how}`;
  }
  const invalid = trials.filter(({ outcome }) => outcome === "invalid").length;
  if (invalid > (1 - ACCEPTED_COVERAGE) * trials.length) {
    return `${invalid} of ${trials.length} trials are invalid; run them again with --retry-invalid`;
  }
}

/** The default of gates. */
const ACCEPTED_COVERAGE = 0.95;

/** The text of a file of results: one trial a line, so that a review shows which changed. */
export function resultsText(
  file: { readonly subjects: readonly AcceptedSubject<unknown>[] },
): string {
  const { subjects, ...head } = file;
  const entries = subjects.map(({ trials, ...subject }) => {
    const lines = trials.map((ended) => `      ${JSON.stringify(ended)}`).join(",\n");
    const fields = JSON.stringify(subject).slice(1, -1);
    return `    {\n      ${fields},\n      "trials": [\n${lines}\n      ]\n    }`;
  });
  const fields = Object.entries(head)
    .map(([name, value]) => `  ${JSON.stringify(name)}: ${JSON.stringify(value)},\n`).join("");
  return `{\n${fields}  "subjects": [\n${entries.join(",\n")}\n  ]\n}\n`;
}
