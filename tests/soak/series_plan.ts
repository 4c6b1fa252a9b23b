// Series of releases, simulated: the table of "A series of releases" in docs/gates_proofs.md.

import { assertAlmostEquals, assertEquals } from "@std/assert";
import type { Prng } from "@std/random";
import { fork } from "../../lib/base/random.ts";
import { normalQuantile } from "../../lib/statistics/distributions.ts";
import { pairedGatePower } from "../../lib/statistics/sample_size.ts";
import { tangoStatistic } from "../../lib/statistics/proportions.ts";
import { stratifiedStatistic } from "../../lib/statistics/two_samples.ts";
import { textOf } from "../support/documents.ts";
import { binomialDraw, noiseOf } from "../support/error_rates.ts";

const SERIES = 100_000;
const [RATE, MARGIN, CONFIDENCE] = [0.8, 0.05, 0.95];
const [SAME, OWN] = [1048, 1665];
const Z = normalQuantile(CONFIDENCE);

/** Whether a release passes against earlier ones; `accept` makes it the last accepted one. */
interface Release {
  last(): boolean;
  anchor(): boolean;
  accept(): void;
}

/** Draws the trials of an anchor, and returns what draws those of a release that is so far below it. */
type Begin = (prng: Prng) => (drop: number) => Release;

/** Releases on graphs of their own. */
const own: Begin = (prng) => {
  const anchor = binomialDraw(prng(), OWN, RATE);
  let last = anchor;
  return (drop) => {
    const solved = binomialDraw(prng(), OWN, RATE - drop);
    const passes = (other: number) =>
      stratifiedStatistic([{ one: [solved, OWN], other: [other, OWN] }], -MARGIN) >= Z;
    return {
      last: () => passes(last),
      anchor: () => passes(anchor),
      accept: () => void (last = solved),
    };
  };
};

/**
 * Releases on the same graphs. All solve 60% of them; on the others each has a chance of its own, for the first of a
 * half, so that two releases at 80% differ on 20% of all graphs.
 */
const same: Begin = (prng) => {
  const loose = binomialDraw(prng(), SAME, 0.4);
  const first = binomialDraw(prng(), loose, 0.5);
  // Solved by neither of anchor and last, by the last alone, by the anchor alone, and by both.
  let counts: Counts = [loose - first, 0, 0, first];
  return (drop) => {
    const own = counts.map((count) => binomialDraw(prng(), count, 0.5 - drop / 0.4)) as Counts;
    const lost = counts.map((count, place) => count - own[place]!) as Counts;
    const passes = (gained: number, lost: number) =>
      tangoStatistic(gained, lost, SAME, -MARGIN) >= Z;
    return {
      last: () => passes(own[0] + own[2], lost[1] + lost[3]),
      anchor: () => passes(own[0] + own[1], lost[2] + lost[3]),
      accept() {
        counts = [lost[0] + lost[1], own[0] + own[1], lost[2] + lost[3], own[2] + own[3]];
      },
    };
  };
};

type Counts = [neither: number, last: number, anchor: number, both: number];

/** The shares of series in which each release is accepted, any of them, and all. */
function simulate(begin: Begin, drops: readonly number[], isAnchored = true) {
  const { prng } = fork(1, "series");
  const accepted = drops.map(() => 0);
  let [any, all] = [0, 0];
  for (let one = 0; one < SERIES; one++) {
    const releases = begin(prng);
    let count = 0;
    for (const [place, drop] of drops.entries()) {
      const release = releases(drop);
      if (!release.last() || isAnchored && !release.anchor()) continue;
      release.accept();
      accepted[place]! += 1 / SERIES;
      count++;
    }
    if (count > 0) any += 1 / SERIES;
    if (count === drops.length) all += 1 / SERIES;
  }
  const decisions = accepted.reduce((sum, share) => sum + share) / drops.length;
  return { first: accepted[0]!, end: accepted.at(-1)!, decisions, any, all };
}

Deno.test("series of releases are accepted as often as docs/gates_proofs.md says", () => {
  const text = textOf("docs/gates_proofs.md").split("## A series of releases")[1]!.split(
    "\n## ",
  )[0]!;
  const level = (drop: number, releases = 5) => new Array<number>(releases).fill(drop);
  const slide = [1, 2, 3, 4, 5].map((release) => 0.015 * release);
  const kinds = [same, own].map((kind) => {
    const [worse, equal] = [simulate(kind, level(MARGIN)), simulate(kind, level(0))];
    return {
      "releases the margin below the anchor, accepted": worse.decisions,
      "one or more of 5 such releases accepted (22.6% if independent)": worse.any,
      "one or more of 10 such releases accepted (40.1% if independent)":
        simulate(kind, level(MARGIN, 10)).any,
      "releases as good as the anchor, accepted": equal.decisions,
      "all 5 such releases accepted": equal.all,
      "all 10 such releases accepted": simulate(kind, level(0, 10)).all,
      "the last of the slide accepted, against the one before alone":
        simulate(kind, slide, false).end,
      "the last of the slide accepted, against the anchor as well": simulate(kind, slide).end,
    };
  });
  const told = [...text.matchAll(/^\| (\S.*?) +\| +([\d.]+)%[^|]*\| +([\d.]+)%[^|]*\|$/gm)]
    .filter(([, name]) => name! in kinds[0]!);
  assertEquals(told.map(([, name]) => name), Object.keys(kinds[0]!));
  for (const [, name, ...shares] of told) {
    for (const [place, kind] of kinds.entries()) {
      const share = kind[name as keyof typeof kind];
      // With what rounding adds.
      const error = noiseOf(share, SERIES) + 0.0005;
      assertAlmostEquals(Number(shares[place]) / 100, share, error, `${name}: ${share}`);
    }
  }
});

Deno.test("simulated releases pass against the anchor as often as the exact gate says", () => {
  for (const drop of [0, 0.015, 0.03, MARGIN]) {
    const exact = pairedGatePower(SAME, MARGIN, 0.2, -drop, CONFIDENCE);
    assertAlmostEquals(simulate(same, [drop]).first, exact, noiseOf(exact, SERIES), `${drop}`);
  }
});
