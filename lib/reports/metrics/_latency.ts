/**
 * Latency: for how long the tools of trials ran.
 * @module
 */

import { isDuration } from "../../base/numbers.ts";
import { isCounted } from "../../gate/variant.ts";
import { measureEach, type Subject } from "./_subjects.ts";
import { asSummary, type TrialSummary } from "../../trials/summary.ts";

/** For how long one tool ran, in milliseconds. Each figure is one of the calls, by its rank. */
export interface ToolLatency {
  /** The tool. */
  readonly tool: string;
  /** Number of calls for which it ran. */
  readonly calls: number;
  /** The least duration that half of the calls do not exceed. */
  readonly median: number;
  /** The least duration that 95% of the calls do not exceed. */
  readonly p95: number;
  /** The longest duration. */
  readonly longest: number;
}

/** For how long the tools ran that a model called. */
export interface LatencyMetrics extends Subject {
  /** The tools, in the order of their names. */
  readonly tools: readonly ToolLatency[];
}

/**
 * Measures for how long tools ran, for each model whose trials tell it. Functions of generated tasks take no time
 * of their own, so that they have none. Invalid trials do not count.
 */
export function measureLatency(trials: readonly TrialSummary[]): LatencyMetrics[] {
  const timed = trials.map(asSummary).filter((trial) =>
    isCounted(trial) && trial.latencies !== undefined
  );
  return measureEach(timed, (items) => {
    const all = items.flatMap(({ latencies = [] }) => latencies)
      .filter(({ durationMs }) => isDuration(durationMs));
    const tools = [...Map.groupBy(all, ({ tool }) => tool)].map(([tool, own]) => {
      const durations = own.map(({ durationMs }) => durationMs).sort((one, other) => one - other);
      return {
        tool,
        calls: durations.length,
        median: ranked(durations, 0.5),
        p95: ranked(durations, 0.95),
        longest: durations.at(-1)!,
      };
    });
    return [{ tools: tools.sort((one, other) => one.tool < other.tool ? -1 : 1) }];
  });
}

/** Returns the least of sorted values that a share of them does not exceed: the nearest rank. */
export function ranked(sorted: readonly number[], share: number): number {
  return sorted[Math.ceil(share * sorted.length) - 1]!;
}
