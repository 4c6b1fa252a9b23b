/**
 * Metrics of formats: how often the calls that models write can be read, as they stand or at all (Pipeline,
 * "Key Takeaways": the parse reliability of a format).
 * @module
 */

import { estimateMean, type MeanEstimate } from "../../statistics/clustered_mean.ts";
import { byGraph, byVariant, isCounted, type Variant, variantOf } from "../../gate/variant.ts";
import { sum } from "../../gate/evidence.ts";
import type { Api } from "../../models/model.ts";
import { type ParseCounts, type RepairCount, sumRepairs } from "../../calls/parse_counts.ts";
import type { Trial } from "../../trials/trial.ts";
import { asSummary, type TrialSummary } from "../../trials/summary.ts";

/** How the replies of one model, strategy and perturbation could be read, in one format. */
export interface FormatMetrics {
  /** The model, strategy and perturbation. */
  readonly subject: Variant;
  /** Whether the model is a program that stands in for a model. */
  readonly simulated: boolean;
  /** How the model was spoken to. */
  readonly api: Api;
  /** Trials with a reply that attempts a call. */
  readonly trials: number;
  /** Replies of the loop that attempt a call: what the rates are of. */
  readonly attempts: number;
  /** Replies that are as the format wants them. */
  readonly strict: number;
  /** Replies that could be read once something was put right. */
  readonly repaired: number;
  /** Replies with a call that could not be read. */
  readonly unreadable: number;
  /** The share of the attempts that is strict, with its 95% interval. */
  readonly strictRate: MeanEstimate;
  /** The share that is strict or repaired, with its 95% interval. */
  readonly usableRate: MeanEstimate;
  /** What had to be repaired, the commonest first, in how many replies. */
  readonly repairs: readonly RepairCount[];
}

/** A trial of which it is known how its replies could be read. */
type ParsedScore = TrialSummary & { readonly parses: ParseCounts };

function isParsed(trial: TrialSummary): trial is ParsedScore {
  return trial.parses !== undefined;
}

/**
 * How well what models wrote could be read, for each model, strategy, perturbation and format. The unit is the
 * reply; those of one graph are not independent, and intervals allow for that: the rates are ratios of sums
 * over graphs, as graphs have different numbers of replies. Trials that do not count, and those of which it is
 * not known, as in older journals, are left out. Nobody says how a scripted model is spoken to: as chat.
 *
 * @example Usage
 * ```ts
 * import { measureFormats } from "./formats.ts";
 * import { scripted } from "../../models/scripted.ts";
 * import { runTrial } from "../../trials/trial.ts";
 * import { scoreOf } from "../../trials/summary.ts";
 * import { assertEquals } from "@std/assert";
 *
 * const task = { core: 3, depth: 2, connected: 0, disconnected: 0, seed: 7 };
 * const trial = scoreOf(await runTrial(task, scripted("shrug", () => ({ text: "No idea." }))));
 * const parses = { strict: 3, repaired: 1, unreadable: 0, repairs: [] };
 * const [formats] = measureFormats([{ ...trial, parses }]);
 * assertEquals(formats!.strictRate.mean, 0.75);
 * assertEquals(formats!.usableRate.mean, 1);
 * ```
 */
export function measureFormats(
  trials: readonly (Trial | TrialSummary)[],
): FormatMetrics[] {
  const parsed = trials.map(asSummary).filter(isCounted).filter(isParsed);
  return byVariant(parsed, variantOf).flatMap(({ subject, items }) =>
    [...Map.groupBy(items, ({ model }) => model.api ?? "chat")].map(([api, own]) => ({
      subject,
      simulated: own.some(({ model }) => model.simulated),
      api,
      ...countsOf(own),
    }))
  );
}

function countsOf(
  trials: readonly ParsedScore[],
): Omit<FormatMetrics, "subject" | "simulated" | "api"> {
  const count = (parse: "strict" | "repaired" | "unreadable") =>
    sum(trials, ({ parses }) => parses[parse]);
  const [strict, repaired, unreadable] = [count("strict"), count("repaired"), count("unreadable")];
  const graphs = byGraph(trials);
  const rate = (good: (parses: ParseCounts) => number) =>
    estimateMean(graphs.map((own) => ({
      sum: sum(own, ({ parses }) => good(parses)),
      count: sum(own, ({ parses }) => parses.strict + parses.repaired + parses.unreadable),
    })));
  return {
    trials: trials.length,
    attempts: strict + repaired + unreadable,
    ...{ strict, repaired, unreadable },
    strictRate: rate((parses) => parses.strict),
    usableRate: rate((parses) => parses.strict + parses.repaired),
    repairs: sumRepairs(trials.flatMap(({ parses }) => parses.repairs)),
  };
}
