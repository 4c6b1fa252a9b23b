/**
 * Accepting results: makes them the baseline that later ones are compared with.
 * @module
 */

import { FAILURE_TYPES } from "../calls/failure_types.ts";
import { cannot, InputError } from "../base/errors.ts";
import { defined } from "../base/json.ts";
import { writeNewOutput } from "../base/output_file.ts";
import { byVariant, isUnwatched, variantOf } from "../gate/variant.ts";
import { decideTrials } from "../gate/decide_trials.ts";
import { servedModelChange, unaskedModel } from "../gate/undecidable.ts";
import {
  type BaselineFile,
  checksumOf,
  type LaterGo,
  plannedTrials,
  type TrialEnding,
} from "./_baseline_file.ts";
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
  return writeNewOutput(pathOf(file), baselineText(accepted), "the baseline")
    ? `these ${results.trials.length} trials are the baseline now: ${file}`
    : `the baseline ${file} is not written: there is one already`;
}

/**
 * Returns the baseline file for accepted results.
 *
 * @throws {InputError} If they cannot be a baseline; the message names them by `source`.
 */
export function acceptResults(results: AcceptableResults, source: string): BaselineFile {
  const { plan, trials, problem } = results;
  const fault = problem ?? (plan === undefined ? "their first line must be a plan" : undefined) ??
    rejectionReason(results);
  if (plan === undefined || fault !== undefined) {
    throw new InputError(`Cannot accept ${source}: ${fault}`);
  }
  const own = Object.values(plan.resolved.tests ?? {});
  if (own.some(({ models, strategies, perturbations }) => models ?? strategies ?? perturbations)) {
    throw cannot(
      `accept ${source}`,
      "all tests of a baseline must have the same models, strategies and perturbations",
      "some have their own: toolSuite() with a gate gives them the same",
    );
  }
  const { models: _, strategies: __, ...resolved } = plan.resolved;
  const { suite, planHash, comparisonHash, generator, seed } = plan;
  const subjects = byVariant(trials, variantOf).map(({ subject, items }) => {
    const { strategy, perturbation, variant } = subject;
    const fault = unaskedModel(items) ?? servedModelChange(items, "the served model");
    if (fault !== undefined) throw new InputError(`Cannot accept ${source}: ${fault}`);
    const finished = new Map(items.map((trial) => [trial.id, trial]));
    const planned = plannedTrials(resolved, subject);
    const ended = planned.map(({ id }): TrialEnding => {
      const trial = finished.get(id);
      if (trial === undefined) return null;
      const types = FAILURE_TYPES.filter((type) =>
        trial.failures.some((failure) => failure.type === type)
      );
      return types.length === 0 ? trial.outcome : [trial.outcome, ...types];
    });
    const size = ended.findLastIndex((one) => one !== null) + 1;
    const served = items.find(({ outcome }) => outcome !== "invalid")?.model ?? items[0]!.model;
    const { requested, simulated } = served;
    const keysBy = (keyOf: (trial: TrialSummary) => string) =>
      planned.slice(0, size).map(({ id }) => {
        const trial = finished.get(id);
        return trial === undefined ? "" : keyOf(trial);
      }).join(",");
    return {
      model: { requested, served: served.served, simulated },
      strategy,
      perturbation,
      ...defined({ variant }),
      keys: keysBy(trialKey),
      ...(items.some(({ draw }) => draw !== undefined) ? { draws: keysBy(drawKey) } : {}),
      ...(items.some(isUnwatched) ? { agent: "unwatched" as const } : {}),
      trials: ended.slice(0, size),
      ...laterGoes(planned.map(({ id }) => finished.get(id))),
    };
  });
  const content = {
    ...{ v: 2, kind: "baseline", suite, planHash, comparisonHash, generator, seed } as const,
    resolved,
    subjects,
  };
  return { ...content, checksum: checksumOf(content) };
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

/** The text of a baseline file: one trial a line, so that a review shows which changed. */
export function baselineText(file: BaselineFile): string {
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
