// How often gates err, computed exactly: a model at the edge of the margin may pass, and one that is
// just good enough may fail, in at most 5% of gates each.
// Runs without counters of lines.

import { assertEquals, assertGreater, assertGreaterOrEqual, assertLessOrEqual } from "@std/assert";
import { type Prng, randomBetween } from "@std/random";
import { type Pair, pairSample, type Unit, unitSample } from "../../lib/gate/evidence.ts";
import type { DecideOptions, Verdict } from "../../lib/gate/decide.ts";
import { passesWrongly } from "../../lib/gate/attempts.ts";
import { decide, decideUpgrade } from "../support/deciding.ts";
import { drawsOf, noiseOf } from "../support/error_rates.ts";
import {
  completePolicy,
  type GatePolicy,
  hypothesesOf,
  type RatePolicy,
  type UpgradePolicy,
} from "../../lib/gate/policy.ts";
import { fork } from "../../lib/base/random.ts";
import {
  Bets,
  type Sample,
  type SequentialRule,
  sequentialRule,
} from "../../lib/gate/sequential.ts";
import { pairedSampleSize, rateSampleSize } from "../../lib/statistics/sample_size.ts";
import { type Ends, endsOf, sequentialEnds, type World } from "../support/exact_gates.ts";
import fc from "../support/fast_check.ts";

type Wish = "pass" | "fail";

/** Cells where their difficulty does not matter. */
const EQUAL = 6;
/** Cells of unequal difficulty: enough of them that one would see much of the easier half before the other. */
const UNEQUAL = 24;

function isEasy(place: number): boolean {
  return place % UNEQUAL < UNEQUAL / 2;
}

/** Graphs whose chances do not depend on their place. */
function alike<T>(kinds: readonly T[], chances: readonly number[]): World<T> {
  return { kinds, cells: EQUAL, chances: () => chances };
}

function unitOf(solved: number, valid = 1, trials = valid): Unit {
  return { solved, valid, trials };
}

const [FAILED, HIDDEN, SOLVED] = [unitOf(0), unitOf(0, 0, 1), unitOf(1)];

type RateWorld = (rate: number) => World<Unit>;

/** Graphs that are run once. */
const once: RateWorld = (rate) => alike([FAILED, SOLVED], [1 - rate, rate]);

/** Cells of unequal difficulty, whose mean is `rate`. */
const unequal: RateWorld = (rate) => {
  const spread = Math.min(rate, 1 - rate) / 2;
  const chances = [rate + spread, rate - spread].map((own) => [1 - own, own]);
  return {
    kinds: [FAILED, SOLVED],
    cells: UNEQUAL,
    chances: (place) => chances[isEasy(place) ? 0 : 1]!,
  };
};

/** How often two trials are solved: never, once or twice. */
function twice(rate: number): readonly number[] {
  return [(1 - rate) ** 2, 2 * rate * (1 - rate), rate ** 2];
}

/** Graphs that are run twice; of every second one both trials are alike. */
const repeated: RateWorld = (rate) => ({
  kinds: [unitOf(0, 2), unitOf(1, 2), unitOf(2, 2)],
  cells: EQUAL,
  chances: (place) => place % 2 === 0 ? [1 - rate, 0, rate] : twice(rate),
});

/** Half of one outcome ends as invalid, as when hard tasks time out. */
const hidden = (rate: number, outcome: Unit): World<Unit> =>
  alike(
    [FAILED, HIDDEN, SOLVED],
    outcome === SOLVED ? [1 - rate, rate / 2, rate / 2] : [(1 - rate) / 2, (1 - rate) / 2, rate],
  );

/** Graphs that are run twice; where one outcome occurs, one trial of it ends as invalid. */
const hiddenRepeated = (rate: number, outcome: Unit): World<Unit> =>
  alike(
    outcome === SOLVED
      ? [unitOf(0, 2), unitOf(0, 1, 2), unitOf(1, 1, 2)]
      : [unitOf(0, 1, 2), unitOf(1, 1, 2), unitOf(2, 2)],
    twice(rate),
  );

function pairOf(candidate: number, baseline: number, trials = 1): Pair {
  return { candidate: unitOf(candidate, trials), baseline: unitOf(baseline, trials) };
}

const [LOST, KEPT, GAINED] = [pairOf(0, 1), pairOf(1, 1), pairOf(1, 0)];

/** The chances that the candidate loses a graph, keeps it and gains it. */
function changes(discordance: number, difference: number): [number, number, number] {
  return [(discordance - difference) / 2, 1 - discordance, (discordance + difference) / 2];
}

type PairWorld = (discordance: number, difference: number) => World<Pair>;

/** Graphs that either model works on once; with probability `discordance` only one solves it. */
const pairedOnce: PairWorld = (discordance, difference) =>
  alike([LOST, KEPT, GAINED], changes(discordance, difference));

/** Cells of unequal difficulty: in the easier ones the two models are equally good. */
const pairedUnequal: PairWorld = (discordance, difference) => {
  const easy = changes(0.5 * discordance, 0);
  const hard = changes(1.5 * discordance, 2 * difference);
  return {
    kinds: [LOST, KEPT, GAINED],
    cells: UNEQUAL,
    chances: (place) => isEasy(place) ? easy : hard,
  };
};

/** Graphs that either model works on twice, with both pairs of trials alike. */
const pairedTwice: PairWorld = (discordance, difference) =>
  alike(
    [pairOf(0, 2, 2), pairOf(2, 2, 2), pairOf(2, 0, 2)],
    changes(discordance, difference),
  );

/** Graphs that either model works on twice, where only one pair of trials can differ. */
const pairedHalves: PairWorld = (discordance, difference) =>
  alike(
    [pairOf(1, 2, 2), pairOf(2, 2, 2), pairOf(2, 1, 2)],
    changes(2 * discordance, 2 * difference),
  );

/** Where the candidate lost a graph, or gained it, its trial ends as invalid. */
const pairedHidden = (discordance: number, difference: number, change: Pair): World<Pair> => {
  const kinds = [LOST, KEPT, GAINED].map((kind) =>
    kind === change ? { ...kind, candidate: HIDDEN } : kind
  );
  return alike(kinds, changes(discordance, difference));
};

/** Tango's bounds are approximate: at some discordances they err a little more often. */
const TANGO_ERROR = 0.052;

function assertErrors(error: number, what: string, most = 0.05): void {
  assertLessOrEqual(error, most, what);
}

/** How gates of a kind end, for somebody who hopes for one of the two ends. */
type Gate<P, T> = (wish: Wish, world: World<T>, policy: P) => Ends;

/** The three kinds of gates over what `decideOver` decides, of which `sizeOf` gives the size. */
function gatesOf<P extends GatePolicy, T>(
  decideOver: (graphs: readonly T[], policy: P, options: DecideOptions) => Verdict,
  sizeOf: (policy: P) => number,
  sampleOf: (graph: T) => Sample,
): Record<string, Gate<P, T>> {
  return {
    "of fixed size": (_, world, policy) => {
      const most = Math.ceil(sizeOf(policy) / world.cells) * world.cells;
      return endsOf(world, { most }, (graphs) => decideOver(graphs, policy, FIXED).kind);
    },
    "stopped at will": (wish, world, policy) => {
      const most = Math.ceil(1.5 * sizeOf(policy));
      // Anyone who hopes for one end goes on at the other one.
      return endsOf(world, { most, every: 2 * UNEQUAL }, (graphs) => {
        const { kind } = decideOver(graphs, policy, AT_WILL);
        return kind === wish ? kind : "undecided";
      });
    },
    sequential: (_, world, policy) => sequentialEnds(world, policy, sampleOf),
  };
}

const FIXED: DecideOptions = { advise: false };
const AT_WILL: DecideOptions = { stopped: "at will", advise: false };

const rateSizeOf = ({ successRate, margin }: RatePolicy) => rateSampleSize(successRate, margin!);

const RATE_GATES = gatesOf(decide, rateSizeOf, unitSample);

/** True rates, with margins for which gates are small: so far above, or below, the other hypothesis is. */
const ALL_RATES = [
  { rate: 0.1, above: 0.15, below: 0.08 },
  { rate: 0.3, above: 0.15, below: 0.15 },
  { rate: 0.5, above: 0.15, below: 0.15 },
  { rate: 0.7, above: 0.15, below: 0.15 },
  { rate: 0.9, above: 0.1, below: 0.15 },
  { rate: 0.95, above: 0.05, below: 0.1 },
] as const;
const [LOWEST, LOW, MIDDLE, , HIGH] = ALL_RATES;
const RATES = fc.IS_SOAK ? ALL_RATES : [LOWEST, MIDDLE, HIGH];
/** Those of worlds with three kinds of graphs, which take longer. */
const FEWER_RATES = fc.IS_SOAK ? [LOW, HIGH] : [HIGH];

/** The policy whose margin `rate` is at the edge of, and the one that it is just good enough for. */
function policiesAt({ rate, above, below }: typeof ALL_RATES[number]): [RatePolicy, RatePolicy] {
  return [
    { successRate: rate + above, margin: above, coverage: 0.01 },
    { successRate: rate, margin: below, coverage: 0.01 },
  ];
}

const RATE_WORLDS: Record<string, RateWorld> = {
  "graphs run once": once,
  "cells of unequal difficulty": unequal,
  "repeated graphs": repeated,
};

for (const [gate, ends] of Object.entries(RATE_GATES)) {
  for (const [way, worldOf] of Object.entries(RATE_WORLDS)) {
    Deno.test(`decide() errs in at most 5% of gates ${gate}: ${way}`, () => {
      for (const point of worldOf === repeated ? FEWER_RATES : RATES) {
        const [edge, floor] = policiesAt(point);
        const world = worldOf(point.rate);
        assertErrors(ends("pass", world, edge).pass, `passes ${point.rate}`);
        assertErrors(ends("fail", world, floor).fail, `fails ${point.rate}`);
      }
    });
  }

  for (const [way, worldOf] of Object.entries({ once: hidden, twice: hiddenRepeated })) {
    Deno.test(`decide() errs in at most 5% of gates ${gate}: one outcome is often invalid, run ${way}`, () => {
      for (const point of FEWER_RATES) {
        const { rate } = point;
        const [edge, floor] = policiesAt(point);
        assertErrors(ends("pass", worldOf(rate, FAILED), edge).pass, `passes ${rate}`);
        assertErrors(ends("fail", worldOf(rate, SOLVED), floor).fail, `fails ${rate}`);
      }
    });
  }

  Deno.test(`decide() passes most models that are just good enough in gates ${gate}`, () => {
    // A gate that never decides errs never.
    for (const [way, worldOf] of Object.entries({ once, repeated })) {
      const { pass } = ends("pass", worldOf(0.8), { successRate: 0.8, margin: 0.15 });
      assertGreater(pass, 0.8, way);
    }
  });
}

Deno.test("decide() over as many graphs as are planned passes what is good enough in 95% of gates", () => {
  for (const successRate of [0.7, 0.9]) {
    const policy = { successRate, margin: 0.05 };
    const endsAt = (rate: number) =>
      endsOf(
        once(rate),
        { most: rateSizeOf(policy) },
        (units) => decide(units, policy, FIXED).kind,
      );
    assertGreaterOrEqual(endsAt(successRate).pass, 0.95, `${successRate}`);
    assertErrors(endsAt(successRate - 0.05).pass, `passes ${successRate} - 0.05 planned`);
  }
});

const pairedSizeOf = ({ margin, discordance }: UpgradePolicy) =>
  pairedSampleSize(margin!, discordance!);

const UPGRADE_GATES = gatesOf(decideUpgrade, pairedSizeOf, pairSample);

/** Shares of graphs that only one of the two solves, with margins for which gates are small. */
const ALL_DISCORDANCES = [[0.4, 0.25], [0.2, 0.15]] as const;
const DISCORDANCES = fc.IS_SOAK ? ALL_DISCORDANCES : ALL_DISCORDANCES.slice(0, 1);

const PAIR_WORLDS: Record<string, PairWorld> = {
  "graphs run once": pairedOnce,
  "cells of unequal difficulty": pairedUnequal,
  "repeated graphs": pairedTwice,
  "repeated graphs with one change": pairedHalves,
};

for (const [gate, ends] of Object.entries(UPGRADE_GATES)) {
  const most = gate === "of fixed size" ? TANGO_ERROR : 0.05;

  for (const [way, worldOf] of Object.entries(PAIR_WORLDS)) {
    Deno.test(`decideUpgrade() errs in at most 5% of gates ${gate}: ${way}`, () => {
      for (const [discordance, margin] of DISCORDANCES) {
        const policy = { baseline: "itself", margin, discordance };
        const { pass } = ends("pass", worldOf(discordance, -margin), policy);
        assertErrors(pass, `passes at discordance ${discordance}`, most);
        const { fail } = ends("fail", worldOf(discordance, 0), policy);
        assertErrors(fail, `fails at discordance ${discordance}`, most);
      }
    });
  }

  Deno.test(`decideUpgrade() errs in at most 5% of gates ${gate}: another discordance than planned`, () => {
    const pairs = [[0.3, 0.6], [0.6, 0.3]] as const;
    for (const [planned, discordance] of fc.IS_SOAK ? pairs : pairs.slice(0, 1)) {
      const policy = { baseline: "itself", margin: 0.27, discordance: planned };
      const { pass } = ends("pass", pairedOnce(discordance, -0.27), policy);
      assertErrors(pass, `passes at ${discordance} instead of ${planned}`, most);
      const { fail } = ends("fail", pairedOnce(discordance, 0), policy);
      assertErrors(fail, `fails at ${discordance} instead of ${planned}`, most);
    }
  });

  Deno.test(`decideUpgrade() errs in at most 5% of gates ${gate}: one change is always invalid`, () => {
    const policy = { baseline: "itself", margin: 0.25, discordance: 0.4, coverage: 0.01 };
    const { pass } = ends("pass", pairedHidden(0.4, -0.25, LOST), policy);
    assertErrors(pass, "passes", most);
    const { fail } = ends("fail", pairedHidden(0.4, 0, GAINED), policy);
    assertErrors(fail, "fails", most);
  });

  Deno.test(`decideUpgrade() passes most models that are as good in gates ${gate}`, () => {
    for (const [way, worldOf] of Object.entries({ pairedOnce, pairedTwice })) {
      const policy = { baseline: "itself", margin: 0.25, discordance: 0.4 };
      assertGreater(ends("pass", worldOf(0.4, 0), policy).pass, 0.75, way);
    }
  });
}

Deno.test("decideUpgrade() over as many pairs as are planned passes what is as good in 95% of gates", () => {
  const [discordance, margin] = [0.2, 0.15];
  const policy = { baseline: "itself", margin, discordance };
  const endsAt = (difference: number) =>
    endsOf(
      pairedOnce(discordance, difference),
      { most: pairedSizeOf(policy) },
      (pairs) => decideUpgrade(pairs, policy, FIXED).kind,
    );
  assertGreaterOrEqual(endsAt(0).pass, 0.95);
  assertErrors(endsAt(-margin).pass, "passes planned", TANGO_ERROR);
});

/** Draws the graphs of a gate. */
function drawGraphs<T>({ kinds, chances }: World<T>, count: number, prng: Prng): T[] {
  return Array.from({ length: count }, (_, place) => {
    const shares = chances(place);
    let left = prng();
    return kinds.find((_, kind) => (left -= shares[kind]!) < 0) ?? kinds.at(-1)!;
  });
}

Deno.test("decide() and decideUpgrade() decide a sequential gate as its bets do", () => {
  const { prng } = fork(20261121, "bets");
  const compare = <T>(
    policy: GatePolicy,
    world: World<T>,
    sampleOf: (unit: T) => Sample,
    decideOver: (units: T[], rule: SequentialRule) => Verdict,
  ) => {
    const complete = completePolicy(policy);
    const { cells } = world;
    const rule = sequentialRule(complete, cells);
    for (let gate = 0; gate < 8; gate++) {
      const units = drawGraphs(world, rule.largestSize, prng);
      const bets = new Bets(rule, hypothesesOf(complete));
      for (let start = 0; start < units.length; start += cells) {
        bets.look(units.slice(start, start + cells).map(sampleOf));
      }
      const { kind, evidence } = decideOver(units, rule);
      assertEquals([kind, evidence?.graphs], [bets.decision ?? "undecided", bets.units]);
    }
  };
  const policy = { successRate: 0.75, margin: 0.15, coverage: 0.01 };
  const worlds = [
    once(0.7),
    unequal(0.7),
    repeated(0.7),
    hidden(0.7, SOLVED),
    hidden(0.7, FAILED),
  ];
  for (const world of worlds) {
    compare(policy, world, unitSample, (units, rule) => decide(units, policy, { rule }));
  }
  const upgrade = { baseline: "itself", margin: 0.2, discordance: 0.4, coverage: 0.01 };
  const pairWorlds = [
    pairedOnce(0.4, -0.1),
    pairedTwice(0.4, -0.1),
    pairedHidden(0.4, -0.1, LOST),
  ];
  for (const world of pairWorlds) {
    compare(upgrade, world, pairSample, (pairs, rule) => decideUpgrade(pairs, upgrade, { rule }));
  }
});

Deno.test("decide() and decideUpgrade() never decide worse where one graph is better", () => {
  // endsOf() relies on it where it does not ask.
  const verdicts = ["fail", "undecided", "pass"];
  const compare = <T>(kinds: readonly T[], decideOver: (units: T[]) => Verdict) =>
    fc.assert(
      fc.property(
        fc.array(fc.nat({ max: kinds.length - 1 }), { minLength: 20, maxLength: 120 }),
        fc.nat(),
        (graphs, place) => {
          const index = place % graphs.length;
          const better = graphs.with(index, Math.min(graphs[index]! + 1, kinds.length - 1));
          const [before, after] = [graphs, better].map((drawn) =>
            verdicts.indexOf(decideOver(drawn.map((kind) => kinds[kind]!)).kind)
          );
          assertGreaterOrEqual(after!, before!);
        },
      ),
      { numRuns: 60 },
    );
  for (const stopped of [{}, { stopped: "at will" }]) {
    const options = { ...stopped, advise: false };
    const policy = { successRate: 0.5, margin: 0.1, coverage: 0.01 };
    for (const { kinds } of [once(0), repeated(0), hidden(0, FAILED)]) {
      compare(kinds, (units) => decide(units, policy, options));
    }
    const upgrade = { baseline: "old", margin: 0.1, coverage: 0.01 };
    const halves = [...pairedTwice(0, 0).kinds, ...pairedHalves(0, 0).kinds.slice(0, 2)];
    for (const kinds of [halves.toSorted(byDifference), pairedHidden(0, 0, LOST).kinds]) {
      compare(kinds, (pairs) => decideUpgrade(pairs, upgrade, options));
    }
  }
});

function byDifference(one: Pair, other: Pair): number {
  return pairSample(one).worst - pairSample(other).worst;
}

// The rest shows that these errors are seen where a gate does what it must not.

Deno.test("passesWrongly() bounds how often one of several runs passes a model at the edge", () => {
  const rate = completePolicy({ successRate: 0.85, margin: 0.1 });
  const upgrade = completePolicy({ baseline: "old", margin: 0.1 });
  const [most, series, size] = [5, drawsOf(4_000), 60];
  const passed = { rate: new Array(most + 1).fill(0), upgrade: new Array(most + 1).fill(0) };
  const { prng } = fork(1, "repeated gates");
  const draw = (chance: number) =>
    Array.from({ length: size }, () => randomBetween(0, 1, { prng }) < chance);
  for (let one = 0; one < series; one++) {
    // All candidates of a series are compared with the same draws of the baseline.
    const baseline = draw(0.85);
    const kinds = { rate: false, upgrade: false };
    for (let run = 1; run <= most; run++) {
      const candidate = draw(0.75).map((isSolved) => unitOf(Number(isSolved)));
      const pairs = candidate.map((unit, at) => ({
        candidate: unit,
        baseline: unitOf(Number(baseline[at])),
      }));
      kinds.rate ||= decide(candidate, rate).kind === "pass";
      kinds.upgrade ||= decideUpgrade(pairs, upgrade).kind === "pass";
      passed.rate[run] += Number(kinds.rate);
      passed.upgrade[run] += Number(kinds.upgrade);
    }
  }
  for (const [name, policy] of [["rate", rate], ["upgrade", upgrade]] as const) {
    for (let runs = 1; runs <= most; runs++) {
      const bound = passesWrongly(policy, runs);
      assertLessOrEqual(passed[name][runs] / series, bound + noiseOf(bound, series));
    }
    // Without the bound on several runs one would state the error of one.
    assertGreater(passed[name][most] / series, 0.05 + noiseOf(0.05, series));
  }
});

Deno.test("decide() would err in far more than 5% of gates if fixed bounds were stopped at will", () => {
  const policy = { successRate: 0.7, margin: 0.15 };
  const looks = { most: Math.ceil(1.5 * rateSizeOf(policy)), every: UNEQUAL / 2 };
  const naive = endsOf(once(0.55), looks, (units) => {
    const { kind } = decide(units, policy, FIXED);
    return kind === "pass" ? kind : "undecided";
  });
  assertGreater(naive.pass, 3 * 0.05);
});

Deno.test("decide() would pass almost any model in sequential gates if easy cells came first", () => {
  const policy = { successRate: 0.7, margin: 0.15 };
  const { largestSize } = sequentialRule(completePolicy(policy), 1);
  const [easy, hard] = [[0.2, 0.8], [0.7, 0.3]];
  const chances = (place: number) => place < largestSize / 2 ? easy! : hard!;
  const world = { kinds: [FAILED, SOLVED], cells: 1, chances };
  assertGreater(sequentialEnds(world, policy, unitSample).pass, 0.9);
});
