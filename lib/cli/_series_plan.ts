/**
 * Series plans: what `plan --series` shows about releases that are compared one after the other.
 * @module
 */

import { cannot } from "../base/errors.ts";
import { countText, percent, points } from "../base/numbers.ts";
import { freshSampleSize, mostDiscordance, simulateSeries } from "../gate/series.ts";
import { pairedSampleSize } from "../statistics/paired_sample_size.ts";

/** What is asked of a series. */
interface SeriesRequest {
  /** The number of releases after the first. */
  readonly releases: number;
  readonly rate: number;
  readonly margin: number;
  readonly confidence: number;
  readonly power: number;
  /** The share of graphs that only one of two releases solves. Default: 0.2, or the most that the rate allows. */
  readonly discordance: number | undefined;
  /** The number of graphs of each release. Default: those that it needs. */
  readonly graphs: number | undefined;
}

/** The most releases of a series, which keeps the simulation to seconds. */
const MAX_RELEASES = 100;

const SERIES = 10_000;

/** The width of names in the table. */
const WIDTH = 66;

/** The worse releases of a slide are each below the one before by this share of the margin. */
const STEP = 0.3;

/**
 * Returns the numbers and the lines about a series of releases.
 *
 * @throws {InputError} If there are too many releases.
 * @throws {RangeError} If the gate cannot be planned, or the series not be simulated.
 */
export function seriesPlan(request: SeriesRequest) {
  const { releases, rate, margin, power, confidence } = request;
  if (releases > MAX_RELEASES) {
    throw cannot("plan a series", `it has at most ${MAX_RELEASES} releases`, `it has ${releases}`);
  }
  const { discordance = Math.min(0.2, mostDiscordance(rate)) } = request;
  // One that is as good must pass twice, so that each comparison may err half as often.
  const aims = { confidence, power: (1 + power) / 2 };
  const sizes = {
    // At high rates two releases may not differ on enough graphs to be worse by the margin.
    shared: request.discordance === undefined && discordance <= margin
      ? null
      : request.graphs ?? pairedSampleSize(margin, discordance, aims),
    fresh: request.graphs ?? freshSampleSize(rate, margin, aims),
  };
  const step = Number((STEP * margin).toPrecision(12));
  const kinds = {
    shared: sizes.shared === null ? null : simulated(request, sizes.shared, step, discordance),
    fresh: simulated(request, sizes.fresh, step),
  };
  const row = (name: string, valueOf: (one: Simulated) => string) => {
    const [shared, fresh] = [kinds.shared, kinds.fresh].map((one) =>
      one === null ? "none" : valueOf(one)
    ) as [string, string];
    return `  ${name.padEnd(WIDTH)} ${shared.padStart(9)} ${fresh.padStart(9)}`;
  };
  const sized = request.graphs === undefined
    ? `, by which ${percent(power)} of equal ones are accepted`
    : "";
  const bad = 1 - confidence ** releases;
  const lines = [
    `A series of ${countText(releases, "release")} after the first, which has a success rate of ` +
    `${percent(rate)}. Each must pass against the`,
    `first and against the last accepted one, at a margin of ${points(margin)} with ` +
    `${percent(confidence)} confidence: on the same`,
    `graphs, of which only one of two releases solves ${
      percent(discordance)
    }, or on graphs of its own.`,
    "",
    `  ${"".padEnd(WIDTH)} ${"the same".padStart(9)} ${"its own".padStart(9)}`,
    row(`graphs of each${sized}`, ({ graphs }) => String(graphs)),
    "",
    `Simulated, ${SERIES} series each:`,
    "",
    `  releases that are all worse than the first by ${points(margin)}`,
    row("  accepted, of all decisions", ({ worse }) => percent(worse.decisions)),
    row(`  one or more of ${releases} accepted, of all series`, ({ worse }) => percent(worse.any)),
    `  releases that are as good as the first`,
    row("  accepted, of all decisions", ({ equal }) => percent(equal.decisions)),
    row(`  all ${releases} accepted, of all series`, ({ equal }) => percent(equal.all)),
    `  releases that are each worse than the one before by ${points(step)}, so that the ` +
    `last is ${points(Math.min(rate, releases * step))} below the first`,
    row("  the last accepted, against the one before alone", (one) => percent(one.slide.last.end)),
    row("  the last accepted, against the first as well", (one) => percent(one.slide.anchor.end)),
    row("  all accepted, against the one before alone", (one) => percent(one.slide.last.all)),
    row("  all accepted, against the first as well", (one) => percent(one.slide.anchor.all)),
    "",
    `All releases are compared with the same trials of the first: else one or more of ${releases} that are worse by ` +
    `the margin`,
    `could be accepted in ${percent(bad)} of series.`,
  ];
  return { numbers: { releases, series: SERIES, discordance, step, ...kinds }, sizes, lines };
}

type Simulated = ReturnType<typeof simulated>;

/** Simulates releases that are worse by the margin, as good, and ever worse. */
function simulated(
  { releases, rate, margin, confidence }: SeriesRequest,
  graphs: number,
  step: number,
  discordance?: number,
) {
  const run = (dropOf: (release: number) => number, rule: "last" | "anchor and last") =>
    simulateSeries({
      ...{ rate, margin, confidence, graphs, rule },
      ...(discordance === undefined ? {} : { discordance }),
      drops: Array.from({ length: releases }, (_, place) => Math.min(rate, dropOf(place + 1))),
    }, SERIES);
  const both = "anchor and last";
  const worse = run(() => margin, both);
  const equal = run(() => 0, both);
  const slide = (rule: "last" | "anchor and last") => {
    const { accepted, all } = run((release) => release * step, rule);
    return { end: accepted.at(-1)!, all };
  };
  return {
    graphs,
    worse: { decisions: worse.decisions, any: worse.any },
    equal: { decisions: equal.decisions, all: equal.all },
    slide: { last: slide("last"), anchor: slide(both) },
  };
}
