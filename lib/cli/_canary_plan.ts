/**
 * `plan --canary`: in how many nights a sample each night finds a drop.
 */

import { canaryForecast } from "../runs/canary_forecast.ts";
import { grouped, percent, points } from "../base/numbers.ts";
import type { Arguments } from "./arguments.ts";

export const CANARY_HELP =
  `With --canary it shows in how many nights a sample of a served model each night finds a drop of its success
rate (simulated), and how often it raises a false alarm:

  --rate R               the true rate before the drop (here by default 0.9)
  --drop D               the drop to be found (default 0.05)
  --trials N             trials a night (default 50)
  --reference-trials M   trials of the reference (default 1000)
  --tolerance T          how far below what the reference proves is still no drift (default 0.01)
  --models K             models that are watched together (default 1)`;

/** Options that go with `--canary` alone. */
export const CANARY_OPTIONS = ["drop", "trials", "reference-trials", "tolerance", "models"];

/** Trials of a night to compare with. */
const SIZES = [20, 50, 100, 200];
const MAX_NIGHTLY = 100_000;
const MAX_REFERENCE = 10_000_000;

/** Returns the plan as numbers, and as lines. */
export function canaryPlan(options: Arguments): { numbers: object; lines: readonly string[] } {
  const rate = options.number("rate") ?? 0.9;
  if (!(rate > 0 && rate <= 1)) {
    throw options.error(`--rate must be above 0 and at most 1: it is ${rate}`);
  }
  const trials = sizeOf(options, "trials", 50, MAX_NIGHTLY);
  const reference = sizeOf(options, "reference-trials", 1_000, MAX_REFERENCE);
  const tolerance = options.number("tolerance") ?? 0.01;
  const drop = options.number("drop") ?? 0.05;
  const models = options.integer("models", 1) ?? 1;
  const sizes = [trials, ...SIZES.filter((size) => size !== trials)];
  const numbers = canaryForecast({ rate, reference, trials: sizes, drop, tolerance, models });
  const { nullRate, threshold, dropped, singleBet, delays, falseAlarms } = numbers;
  const { unchanged, atNullRate, bound } = falseAlarms;
  const row = (what: string, text: string) => `  ${what.padEnd(35)}  ${text}`;
  return {
    numbers: { drop, tolerance, models, ...numbers },
    lines: [
      `A drop from ${percent(rate)} to ${
        percent(dropped)
      }, found by a sample each night, after a ` +
      `reference of ${grouped(reference)} trials:`,
      row(
        "no drift is down to",
        `${percent(nullRate)}: the reference proves at least ${percent(numbers.reference.lower)}` +
          (tolerance === 0 ? "" : `, less a tolerance of ${points(tolerance)}`),
      ),
      row(
        "threshold of the sum of bets",
        grouped(threshold) + (models === 1 ? "" : `, for ${models} models`),
      ),
      ...delays.toSorted((one, other) => one.trials - other.trials).map((
        { trials, median, most },
      ) =>
        row(
          `${grouped(trials)} trials a night`,
          `half of the drops found ${nights(median, trials)}, 90% ${nights(most, trials)}`,
        )
      ),
      row(
        "false alarms in a year",
        `${percent(unchanged)} at ${percent(rate)}, ${percent(atNullRate)} at ${
          percent(nullRate)
        }, with ${grouped(trials)} trials a night; at most ${percent(bound)}` +
          (models === 1 ? "" : ` of any of ${models} models`),
      ),
      row(
        "if its night and size were known",
        `a single bet would take about ${rounded(singleBet.trials)} trials in the mean` +
          (singleBet.ofKnownRate === null
            ? ""
            : `; about ${rounded(singleBet.ofKnownRate)} if ${percent(rate)} were known exactly`),
      ),
      "References and nights are simulated. Nights count from the drop on, with no bets from before it.",
    ],
  };
}

function sizeOf(options: Arguments, name: string, otherwise: number, most: number): number {
  const size = options.integer(name, 1) ?? otherwise;
  if (size <= most) return size;
  throw options.error(`--${name} must be at most ${most}: ${size} is given`);
}

function nights(count: number | null, trials: number): string {
  return count === null
    ? "after more than five years"
    : `within ${count} nights (${grouped(count * trials)} trials)`;
}

function rounded(count: number): string {
  return grouped(Number(count.toPrecision(2)));
}
