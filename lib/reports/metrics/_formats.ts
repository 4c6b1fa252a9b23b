/**
 * Format metrics: how often calls that models write can be parsed, strictly or after a repair (Pipeline,
 * "Key Takeaways": the parse reliability of a format).
 * @module
 */

import { estimateMean, type MeanEstimate } from "../../statistics/clustered_mean.ts";
import { byGraph, isCounted } from "../../gate/variant.ts";
import { measureEach, type Subject } from "./_subjects.ts";
import { sum } from "../../base/numbers.ts";
import type { Api } from "../../models/formats/registry.ts";
import { type ParseCounts, type RepairCount, sumRepairs } from "../../calls/work.ts";
import type { Trial } from "../../trials/trial.ts";
import { asSummary, type TrialSummary } from "../../trials/summary.ts";

/** How the replies of one model, strategy and perturbation could be parsed, in one format. */
export interface FormatMetrics extends Subject {
  /** The API or text format of requests and replies. */
  readonly api: Api;
  /** Number of trials with a reply that attempts a call. */
  readonly trials: number;
  /** Number of replies in the agent loop that attempt a call: the rates are shares of these. */
  readonly attempts: number;
  /** Number of replies that are as the format requires. */
  readonly strict: number;
  /** Number of replies that could be parsed after a repair. */
  readonly repaired: number;
  /** Number of replies with a call that could not be parsed. */
  readonly unreadable: number;
  /** The strict share of the attempts, with its 95% interval. */
  readonly strictRate: MeanEstimate;
  /** The strict or repaired share of the attempts, with its 95% interval. */
  readonly usableRate: MeanEstimate;
  /** The kinds of repair with the number of replies that needed them, the most frequent first. */
  readonly repairs: readonly RepairCount[];
}

/** A trial with counts of how its replies could be parsed. */
type ParsedSummary = TrialSummary & { readonly parses: ParseCounts };

function isParsed(trial: TrialSummary): trial is ParsedSummary {
  return trial.parses !== undefined;
}

/**
 * Measures how well replies could be parsed, for each model, strategy, perturbation and format. The unit is
 * the reply; replies of one graph are not independent, and intervals account for that: the rates are ratios of
 * sums over graphs, as graphs have different numbers of replies. Trials that do not count, and those without
 * counts are left out. Models that name no format, as scripted ones, count as `chat`.
 */
export function measureFormats(
  trials: readonly (Trial | TrialSummary)[],
): FormatMetrics[] {
  const parsed = trials.map(asSummary).filter(isCounted).filter(isParsed);
  return measureEach(parsed, (items) =>
    [...Map.groupBy(items, ({ model }) => model.api ?? "chat")]
      .map(([api, own]) => ({ api, ...countsOf(own) })));
}

function countsOf(
  trials: readonly ParsedSummary[],
): Omit<FormatMetrics, keyof Subject | "api"> {
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
