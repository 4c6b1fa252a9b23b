/**
 * Series of releases: simulates how often a gate accepts releases that are compared one after the other, on the same
 * graphs or each on graphs of its own.
 * @module
 */

import type { Prng } from "@std/random";
import { fork } from "../base/random.ts";
import { sum } from "../base/numbers.ts";
import {
  binomialDraw,
  binomialProbability,
  binomialUpperTail,
  bisectWhole,
  normalQuantile,
} from "../statistics/distributions.ts";
import { tangoStatistic } from "../statistics/proportions.ts";
import { type SizingOptions, unpairedSampleSize } from "../statistics/sample_size.ts";
import { stratifiedStatistic } from "../statistics/two_samples.ts";

/** What is simulated. */
export interface SeriesDesign {
  /** The success rate of the first release, the anchor: between 0 and 1. */
  readonly rate: number;
  /** How far below the anchor each later release is, in order: from 0 to `rate`, none less than the one before. */
  readonly drops: readonly number[];
  /** The margin of each comparison. */
  readonly margin: number;
  /** The confidence of each one-sided bound, between 0 and 1. */
  readonly confidence: number;
  /** The number of graphs that each release runs. */
  readonly graphs: number;
  /**
   * Of releases on the same graphs: the share of these that only one of two releases at `rate` solves, at most
   * `2 rate (1 - rate)`. Omitted where each release runs on graphs of its own.
   */
  readonly discordance?: number;
  /** What must pass: the comparison with the last accepted release alone, or that with the anchor as well. */
  readonly rule: "last" | "anchor and last";
}

/** Shares of simulated series. */
export interface SeriesShares {
  /** The share of series in which each release is accepted, in order. */
  readonly accepted: readonly number[];
  /** The share of decisions that accept. */
  readonly decisions: number;
  /** The share of series in which at least one release is accepted. */
  readonly any: number;
  /** The share of series in which all releases are accepted. */
  readonly all: number;
}

/**
 * Simulates series of releases, which are compared with the last accepted one, and mostly with the anchor as well: on
 * the same graphs by Tango's bound, else by Miettinen and Nurminen's of one stratum. The anchor is accepted.
 *
 * @param series The number of series.
 * @param seed The seed of all of them.
 * @throws {RangeError} If a number is not in its range.
 */
export function simulateSeries(design: SeriesDesign, series = 10_000, seed = 1): SeriesShares {
  assertDesign(design);
  const { discordance, drops, rule } = design;
  const { prng } = fork(seed, "series");
  const begin = discordance === undefined
    ? freshReleases(design, prng)
    : sharedReleases(design, discordance, prng);
  const accepted = drops.map(() => 0);
  let [any, all] = [0, 0];
  for (let one = 0; one < series; one++) {
    const releases = begin();
    let count = 0;
    for (const [place, drop] of drops.entries()) {
      const { passes, accept } = releases(drop);
      if (!passes("last") || rule !== "last" && !passes("anchor")) continue;
      accept();
      accepted[place]!++;
      count++;
    }
    if (count > 0) any++;
    if (count === drops.length) all++;
  }
  return {
    accepted: accepted.map((count) => count / series),
    decisions: sum(accepted, Number) / drops.length / series,
    any: any / series,
    all: all / series,
  };
}

/** A release whose trials were drawn. */
interface Release {
  /** Whether it passes against one of two earlier ones. */
  passes(against: "anchor" | "last"): boolean;
  /** Makes it the last accepted one. */
  accept(): void;
}

/** Draws the trials of the anchor of a series, and returns what draws those of later releases. */
type Begin = () => (drop: number) => Release;

/** The fewest solved graphs that pass against a number of them on other graphs; one more than all if none do. */
function leastPassing(
  solved: number,
  { graphs, margin, confidence }: Pick<SeriesDesign, "graphs" | "margin" | "confidence">,
  z = normalQuantile(confidence),
): number {
  const passes = (own: number) =>
    stratifiedStatistic([{ one: [own, graphs], other: [solved, graphs] }], -margin) >= z;
  return bisectWhole(0, graphs, passes);
}

/**
 * Returns a number of graphs of each of two releases, on graphs of their own, with which one that is as good as the
 * other passes against it with probability `power`, and with one fewer does not: exactly, by Miettinen and Nurminen's
 * bound. The power goes up and down with the number in a sawtooth: a few graphs more may be too few again.
 *
 * @throws {RangeError} As {@linkcode unpairedSampleSize}, near which the search is.
 */
export function freshSampleSize(
  rate: number,
  margin: number,
  options: Required<SizingOptions>,
): number {
  const { power, confidence } = options;
  const z = normalQuantile(confidence);
  const isEnough = (graphs: number) => {
    let sum = 0;
    // Counts that are further away are too rare to matter.
    const reach = Math.ceil(8 * Math.sqrt(graphs * rate * (1 - rate))) + 8;
    const middle = Math.round(graphs * rate);
    const most = Math.min(graphs, middle + reach);
    for (let solved = Math.max(0, middle - reach); solved <= most; solved++) {
      const least = leastPassing(solved, { graphs, margin, confidence }, z);
      sum += binomialProbability(solved, graphs, rate) * binomialUpperTail(least, graphs, rate);
    }
    return sum >= power - 1e-12;
  };
  const near = unpairedSampleSize(rate, margin, options);
  let most = 2 * near;
  while (!isEnough(most)) most *= 2;
  return bisectWhole(Math.ceil(near / 2), most, isEnough);
}

/** Each release has graphs of its own: nothing but its number of solved ones matters. */
function freshReleases(design: SeriesDesign, prng: Prng): Begin {
  const { rate, graphs } = design;
  const least = new Map<number, number>();
  const leastFor = (solved: number) =>
    least.getOrInsertComputed(solved, () => leastPassing(solved, design));
  return () => {
    const anchor = binomialDraw(prng(), graphs, rate);
    let last = anchor;
    return (drop) => {
      const own = binomialDraw(prng(), graphs, rate - drop);
      return {
        passes: (against) => own >= leastFor(against === "last" ? last : anchor),
        accept: () => void (last = own),
      };
    };
  };
}

/**
 * All releases run on the same graphs. A graph is of one of two kinds: on a loose one each release has a chance of its
 * own, independent of all others; on a firm one all releases at the same rate end alike. The share of loose graphs is
 * such that two releases at `rate` have the stated discordance. Their chance is as close to 1/2 as the rate allows,
 * where a worse release differs from the anchor no more often. It loses loose graphs first, and firm ones only if no
 * loose one is left; then one that is worse still loses these as well. So it is enough to count graphs: loose ones by
 * who of anchor and last accepted solved them, firm ones by release.
 */
function sharedReleases(
  { rate, margin, confidence, graphs }: SeriesDesign,
  discordance: number,
  prng: Prng,
): Begin {
  const z = normalQuantile(confidence);
  const passing = (gained: number, lost: number) =>
    tangoStatistic(gained, lost, graphs, -margin) >= z;
  const chance = rate < 0.5
    ? Math.min(0.5, 1 - discordance / (2 * rate))
    : Math.max(0.5, discordance / (2 * (1 - rate)));
  const looseShare = Math.min(1, discordance / (2 * chance * (1 - chance)));
  const firmShare = 1 - looseShare;
  const chanceOf = (drop: number) => Math.max(0, chance - drop / looseShare);
  /** The share of firm graphs that a release solves. */
  const firmOf = (drop: number) =>
    firmShare === 0
      ? 0
      : Math.min(1, Math.max(0, (rate - drop - looseShare * chanceOf(drop)) / firmShare));
  return () => {
    const loose = binomialDraw(prng(), graphs, looseShare);
    const solved = binomialDraw(prng(), loose, chance);
    const firm = binomialDraw(prng(), graphs - loose, firmOf(0));
    // Loose graphs: solved by neither of anchor and last, by the last alone, by the anchor alone, and by both.
    let counts: Counts = [loose - solved, 0, 0, solved];
    let [lastFirm, firmNow, share] = [firm, firm, firmOf(0)];
    return (drop) => {
      const own = counts.map((count) => binomialDraw(prng(), count, chanceOf(drop))) as Counts;
      if (firmOf(drop) < share) {
        firmNow = binomialDraw(prng(), firmNow, firmOf(drop) / share);
        share = firmOf(drop);
      }
      const ownFirm = firmNow;
      const lost = counts.map((count, place) => count - own[place]!) as Counts;
      return {
        passes: (against) =>
          against === "anchor"
            ? passing(own[0] + own[1], lost[2] + lost[3] + firm - ownFirm)
            : passing(own[0] + own[2], lost[1] + lost[3] + lastFirm - ownFirm),
        accept() {
          counts = [lost[0] + lost[1], own[0] + own[1], lost[2] + lost[3], own[2] + own[3]];
          lastFirm = ownFirm;
        },
      };
    };
  };
}

type Counts = [neither: number, last: number, anchor: number, both: number];

function assertDesign({ rate, drops, graphs, discordance }: SeriesDesign): void {
  const problem = !(rate > 0 && rate < 1)
    ? `rate must be between 0 and 1: it is ${rate}`
    : !(Number.isSafeInteger(graphs) && graphs >= 1)
    ? `graphs must be a whole number from 1 on: it is ${graphs}`
    : drops.length === 0
    ? "there must be a release after the first: there is none"
    : !drops.every((drop, place) => drop >= (drops[place - 1] ?? 0) && drop <= rate)
    ? `drops must not fall, and be from 0 to the rate of ${rate}: they are ${drops.join(", ")}`
    : discordance !== undefined && !(discordance > 0 && discordance <= mostDiscordance(rate))
    ? `discordance must be above 0 and at most ${mostDiscordance(rate)} if all releases are at ` +
      `${rate}: it is ${discordance}`
    : undefined;
  if (problem !== undefined) throw new RangeError(`Cannot simulate a series as ${problem}`);
}

/** The largest share of graphs that only one of two solves, whichever two of many releases at the same rate. */
export function mostDiscordance(rate: number): number {
  return Number((2 * rate * (1 - rate)).toPrecision(12));
}
