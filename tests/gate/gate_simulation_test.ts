// How often gates err, by simulation of the code as it stands: a model at the edge of the margin may
// pass, and one that is just good enough may fail, in at most 5% of gates each.

import { assertEquals, assertGreater, assertGreaterOrEqual, assertLessOrEqual } from "@std/assert";
import type { Prng } from "@std/random";
import { type Pair, pairSample, type Unit, unitSample } from "../../lib/gate/evidence.ts";
import { decide, decideUpgrade, type Verdict } from "../../lib/gate/decide.ts";
import { decideTrials } from "../../lib/gate/decide_trials.ts";
import { type Plan, planSuite } from "../../lib/runs/plan.ts";
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
  simulateGates,
} from "../../lib/gate/sequential.ts";
import { pairedSampleSize } from "../../lib/statistics/paired_sample_size.ts";
import { rateSampleSize } from "../../lib/statistics/sample_size.ts";
import { Stopping } from "../../lib/runs/early_stopping.ts";
import type { Trial } from "../../lib/trials/trial.ts";
import type { PlannedTrial } from "../../lib/trials/trial_id.ts";
import fc from "../support/fast_check.ts";
import { record } from "../support/records.ts";

const SEED = 20261121;
const GATES = 10_000;
/** Three standard errors of a share of 5% among so many gates. */
const NOISE = 3 * Math.sqrt(0.05 * 0.95 / GATES);

type Wish = "pass" | "fail";

/** Graphs to draw from. */
interface World<T> {
  /** What one graph can show, from the worst to the best. */
  readonly kinds: readonly T[];
  /** Cells of the plan, whose graphs come one after another in each block. */
  readonly cells: number;
  /** Draws the graph at a place of the plan, as an index of `kinds`. */
  draw(place: number): number;
}

/** Cells where their difficulty does not matter. */
const EQUAL = 6;
/** Cells of unequal difficulty: so many that one would see much of the easier half before the other. */
const UNEQUAL = 24;

function isEasy(place: number): boolean {
  return place % UNEQUAL < UNEQUAL / 2;
}

function unitOf(solved: number, valid = 1, trials = valid): Unit {
  return { solved, valid, trials };
}

const [FAILED, HIDDEN, SOLVED] = [unitOf(0), unitOf(0, 0, 1), unitOf(1)];

type RateWorld = (prng: Prng, rate: number) => World<Unit>;

/** Graphs that are run once. */
const once: RateWorld = (prng, rate) => ({
  kinds: [FAILED, SOLVED],
  cells: EQUAL,
  draw: () => prng() < rate ? 1 : 0,
});

/** Cells of unequal difficulty, whose mean is `rate`. */
const unequal: RateWorld = (prng, rate) => {
  const spread = Math.min(rate, 1 - rate) / 2;
  const [easy, hard] = [rate + spread, rate - spread];
  return {
    kinds: [FAILED, SOLVED],
    cells: UNEQUAL,
    draw: (place) => prng() < (isEasy(place) ? easy : hard) ? 1 : 0,
  };
};

/** Graphs that are run so many times; of every second one all trials are alike. */
const repeated = (prng: Prng, rate: number, trials = 2): World<Unit> => ({
  kinds: Array.from({ length: trials + 1 }, (_, solved) => unitOf(solved, trials)),
  cells: EQUAL,
  draw: (place) => {
    const draw = () => prng() < rate ? 1 : 0;
    if (place % 2 === 0) return trials * draw();
    let solved = 0;
    for (let trial = 0; trial < trials; trial++) solved += draw();
    return solved;
  },
});

/** Half of one outcome ends as invalid, as when hard tasks time out. */
const hidden = (prng: Prng, rate: number, outcome: Unit): World<Unit> => ({
  kinds: [FAILED, HIDDEN, SOLVED],
  cells: EQUAL,
  draw: () => {
    const solved = prng() < rate;
    return solved === (outcome === SOLVED) && prng() < 0.5 ? 1 : solved ? 2 : 0;
  },
});

/** Graphs that are run twice; where one outcome occurs, one trial of it ends as invalid. */
const hiddenRepeated = (prng: Prng, rate: number, outcome: Unit): World<Unit> => ({
  kinds: [unitOf(0, 2), unitOf(0, 1, 2), unitOf(1, 2), unitOf(1, 1, 2), unitOf(2, 2)],
  cells: EQUAL,
  draw: () => {
    const solved = (prng() < rate ? 1 : 0) + (prng() < rate ? 1 : 0);
    if (outcome === FAILED) return [1, 3, 4][solved]!;
    return [0, 1, 3][solved]!;
  },
});

function pairOf(candidate: number, baseline: number, trials = 1): Pair {
  return { candidate: unitOf(candidate, trials), baseline: unitOf(baseline, trials) };
}

const [LOST, NEITHER, KEPT, GAINED] = [pairOf(0, 1), pairOf(0, 0), pairOf(1, 1), pairOf(1, 0)];

/** Whether the candidate lost a graph, kept it or gained it: 0, 1, 2. */
function drawChange(prng: Prng, discordance: number, difference: number): number {
  const place = prng();
  return place < (discordance + difference) / 2 ? 2 : place < discordance ? 0 : 1;
}

type PairWorld = (prng: Prng, discordance: number, difference: number) => World<Pair>;

/** Graphs that either model works on once; with probability `discordance` only one solves it. */
const pairedOnce: PairWorld = (prng, discordance, difference) => ({
  kinds: [LOST, KEPT, GAINED],
  cells: EQUAL,
  draw: () => drawChange(prng, discordance, difference),
});

/** Cells of unequal difficulty: in the easier ones the two models are equally good. */
const pairedUnequal: PairWorld = (prng, discordance, difference) => ({
  kinds: [LOST, KEPT, GAINED],
  cells: UNEQUAL,
  draw: (place) =>
    isEasy(place)
      ? drawChange(prng, 0.5 * discordance, 0)
      : drawChange(prng, 1.5 * discordance, 2 * difference),
});

/** Graphs that either model works on twice; of every second one both pairs of trials are alike. */
const pairedRepeated: PairWorld = (prng, discordance, difference) => ({
  // Only the difference counts, of which this is twice.
  kinds: [pairOf(0, 2, 2), pairOf(1, 2, 2), pairOf(2, 2, 2), pairOf(2, 1, 2), pairOf(2, 0, 2)],
  cells: EQUAL,
  draw: (place) => {
    const first = drawChange(prng, discordance, difference);
    return first + (place % 2 === 0 ? first : drawChange(prng, discordance, difference));
  },
});

/** Of half of the graphs that the candidate lost, or gained, its trial ends as invalid. */
const pairedHidden = (
  prng: Prng,
  discordance: number,
  difference: number,
  change: Pair,
): World<Pair> => {
  const kinds = [
    LOST,
    { ...LOST, candidate: HIDDEN },
    KEPT,
    { ...GAINED, candidate: HIDDEN },
    GAINED,
  ];
  return {
    kinds,
    cells: EQUAL,
    draw: () => {
      const place = 2 * drawChange(prng, discordance, difference);
      return kinds[place] !== change || prng() < 0.5 ? place : place === 0 ? 1 : 3;
    },
  };
};

/** Whether graphs are as good as others: as many, and no fewer of any kind and the better ones. */
function isAsGood(counts: readonly number[], others: readonly number[]): boolean {
  let more = 0;
  for (let kind = counts.length - 1; kind > 0; kind--) {
    more += counts[kind]! - others[kind]!;
    if (more < 0) return false;
  }
  return true;
}

/**
 * The share of gates that end with `wish` when they are looked at after `every` so many graphs, up to
 * `most`, and stopped as soon as they do. What passes would pass with better graphs, and what fails
 * with worse ones, in any order: so few have to be decided that are not known yet.
 */
function shareOf<T>(
  wish: Wish,
  world: World<T>,
  { most, every = most }: { most: number; every?: number },
  decideOver: (units: T[]) => Verdict,
): number {
  const known = new Map<number, { granted: number[][]; denied: number[][] }>();
  const isGranted = (size: number, counts: number[]) => {
    const { granted, denied } = known.getOrInsertComputed(
      size,
      () => ({ granted: [], denied: [] }),
    );
    const [better, worse] = wish === "pass" ? [denied, granted] : [granted, denied];
    if (better.some((others) => isAsGood(others, counts))) return wish === "fail";
    if (worse.some((others) => isAsGood(counts, others))) return wish === "pass";
    const units = counts.flatMap((count, kind) => new Array<T>(count).fill(world.kinds[kind]!));
    const isWish = decideOver(units).kind === wish;
    (isWish ? granted : denied).push([...counts]);
    return isWish;
  };
  let gates = 0;
  for (let gate = 0; gate < GATES; gate++) {
    const counts = world.kinds.map(() => 0);
    for (let size = 1; size <= most; size++) {
      counts[world.draw(size - 1)]!++;
      if (size % every > 0 || !isGranted(size, counts)) continue;
      gates++;
      break;
    }
  }
  return gates / GATES;
}

/** The share of sequential gates that end with `wish`: of their bets alone, as bounds take long. */
function shareOfBets<T>(
  wish: Wish,
  world: World<T>,
  policy: GatePolicy,
  sampleOf: (unit: T) => Sample,
): number {
  const complete = completePolicy(policy);
  const samples = world.kinds.map(sampleOf);
  const draw = (place: number) => samples[world.draw(place)]!;
  return simulateGates(sequentialRule(complete, world.cells), complete, GATES, draw)[wish];
}

function assertErrors(error: number, what: string): void {
  assertLessOrEqual(error, 0.05 + NOISE, what);
}

/** The share of gates of a kind that end with `wish`, for somebody who hopes for just that. */
type Gate<P, T> = (wish: Wish, world: World<T>, policy: P) => number;

/** As many graphs as whole blocks have, from so many on. */
function inBlocks(graphs: number, { cells }: { readonly cells: number }): number {
  return Math.ceil(graphs / cells) * cells;
}

/** Graphs between two looks at a gate that is stopped at will: whole blocks, and few looks. */
const EVERY = 24;

const rateSizeOf = ({ successRate, margin }: RatePolicy) => rateSampleSize(successRate, margin!);

const RATE_GATES: Record<string, Gate<RatePolicy, Unit>> = {
  "of fixed size": (wish, world, policy) =>
    shareOf(
      wish,
      world,
      { most: inBlocks(rateSizeOf(policy), world) },
      (units) => decide(units, policy, { advise: false }),
    ),
  "stopped at will": (wish, world, policy) =>
    shareOf(
      wish,
      world,
      { most: 1.5 * rateSizeOf(policy), every: EVERY },
      (units) => decide(units, policy, { stopped: "at will", advise: false }),
    ),
  sequential: (wish, world, policy) => shareOfBets(wish, world, policy, unitSample),
};

/** True rates, with margins for which gates are small: so far above, or below, the other hypothesis is. */
const RATES = [
  { rate: 0.1, above: 0.15, below: 0.08 },
  { rate: 0.3, above: 0.15, below: 0.15 },
  { rate: 0.5, above: 0.15, below: 0.15 },
  { rate: 0.7, above: 0.15, below: 0.15 },
  { rate: 0.9, above: 0.1, below: 0.15 },
  { rate: 0.95, above: 0.05, below: 0.1 },
] as const;

/** The policy whose margin `rate` is at the edge of, and the one that it is just good enough for. */
function policiesAt({ rate, above, below }: typeof RATES[number]): [RatePolicy, RatePolicy] {
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

for (const [gate, share] of Object.entries(RATE_GATES)) {
  for (const [way, worldOf] of Object.entries(RATE_WORLDS)) {
    Deno.test(`decide() errs in at most 5% of gates ${gate}: ${way}`, () => {
      for (const point of RATES) {
        const { rate } = point;
        const { prng } = fork(SEED, gate, way, rate);
        const [edge, floor] = policiesAt(point);
        assertErrors(share("pass", worldOf(prng, rate), edge), `passes ${rate}`);
        assertErrors(share("fail", worldOf(prng, rate), floor), `fails ${rate}`);
      }
    });
  }

  for (const [way, worldOf] of Object.entries({ once: hidden, twice: hiddenRepeated })) {
    Deno.test(`decide() errs in at most 5% of gates ${gate}: one outcome is often invalid, run ${way}`, () => {
      for (const point of [RATES[1], RATES[3], RATES[4]]) {
        const { rate } = point;
        const { prng } = fork(SEED, gate, "invalid", way, rate);
        const [edge, floor] = policiesAt(point);
        assertErrors(share("pass", worldOf(prng, rate, FAILED), edge), `passes ${rate}`);
        assertErrors(share("fail", worldOf(prng, rate, SOLVED), floor), `fails ${rate}`);
      }
    });
  }

  Deno.test(`decide() passes most models that are just good enough in gates ${gate}`, () => {
    // A gate that never decides errs never.
    for (const [way, worldOf] of Object.entries(RATE_WORLDS)) {
      const { prng } = fork(SEED, gate, way, "power");
      const passed = share("pass", worldOf(prng, 0.8), { successRate: 0.8, margin: 0.15 });
      assertGreater(passed, 0.8, way);
    }
  });
}

Deno.test("decide() over as many graphs as are planned passes what is good enough in 95% of gates", () => {
  for (const successRate of [0.7, 0.9]) {
    const { prng } = fork(SEED, "planned", successRate);
    const policy = { successRate, margin: 0.05 };
    const size = { most: rateSizeOf(policy) };
    const decideOver = (units: Unit[]) => decide(units, policy, { advise: false });
    const passed = shareOf("pass", once(prng, successRate), size, decideOver);
    assertGreaterOrEqual(passed, 0.95 - NOISE, `${successRate}`);
    const edge = shareOf("pass", once(prng, successRate - 0.05), size, decideOver);
    assertErrors(edge, `passes ${successRate} - 0.05 planned`);
  }
});

const pairedSizeOf = ({ margin, discordance }: UpgradePolicy) =>
  pairedSampleSize(margin!, discordance!);

const UPGRADE_GATES: Record<string, Gate<UpgradePolicy, Pair>> = {
  "of fixed size": (wish, world, policy) =>
    shareOf(
      wish,
      world,
      { most: inBlocks(pairedSizeOf(policy), world) },
      (pairs) => decideUpgrade(pairs, policy, { advise: false }),
    ),
  "stopped at will": (wish, world, policy) =>
    shareOf(
      wish,
      world,
      { most: 1.5 * pairedSizeOf(policy), every: EVERY },
      (pairs) => decideUpgrade(pairs, policy, { stopped: "at will", advise: false }),
    ),
  sequential: (wish, world, policy) => shareOfBets(wish, world, policy, pairSample),
};

/** Shares of graphs that only one of the two solves, with margins for which gates are small. */
const DISCORDANCES = [[0.1, 0.07], [0.2, 0.15], [0.3, 0.2], [0.4, 0.2]] as const;

const PAIR_WORLDS: Record<string, PairWorld> = {
  "graphs run once": pairedOnce,
  "cells of unequal difficulty": pairedUnequal,
  "repeated graphs": pairedRepeated,
};

for (const [gate, share] of Object.entries(UPGRADE_GATES)) {
  for (const [way, worldOf] of Object.entries(PAIR_WORLDS)) {
    Deno.test(`decideUpgrade() errs in at most 5% of gates ${gate}: ${way}`, () => {
      for (const [discordance, margin] of DISCORDANCES) {
        const { prng } = fork(SEED, "upgrade", gate, way, discordance);
        const policy = { baseline: "itself", margin, discordance };
        const passed = share("pass", worldOf(prng, discordance, -margin), policy);
        assertErrors(passed, `passes at discordance ${discordance}`);
        const failed = share("fail", worldOf(prng, discordance, 0), policy);
        assertErrors(failed, `fails at discordance ${discordance}`);
      }
    });
  }

  Deno.test(`decideUpgrade() errs in at most 5% of gates ${gate}: another discordance than planned`, () => {
    for (const [planned, discordance] of [[0.2, 0.3], [0.2, 0.4], [0.4, 0.2]] as const) {
      const { prng } = fork(SEED, "upgrade", gate, planned, discordance);
      const policy = { baseline: "itself", margin: 0.15, discordance: planned };
      const passed = share("pass", pairedOnce(prng, discordance, -0.15), policy);
      assertErrors(passed, `passes at ${discordance} instead of ${planned}`);
      const failed = share("fail", pairedOnce(prng, discordance, 0), policy);
      assertErrors(failed, `fails at ${discordance} instead of ${planned}`);
    }
  });

  Deno.test(`decideUpgrade() errs in at most 5% of gates ${gate}: one change is often invalid`, () => {
    const { prng } = fork(SEED, "upgrade", gate, "invalid");
    const policy = { baseline: "itself", margin: 0.2, discordance: 0.4, coverage: 0.01 };
    const passed = share("pass", pairedHidden(prng, 0.4, -0.2, LOST), policy);
    assertErrors(passed, "passes");
    const failed = share("fail", pairedHidden(prng, 0.4, 0, GAINED), policy);
    assertErrors(failed, "fails");
  });

  Deno.test(`decideUpgrade() passes most models that are as good in gates ${gate}`, () => {
    for (const [way, worldOf] of Object.entries(PAIR_WORLDS)) {
      const { prng } = fork(SEED, "upgrade", gate, way, "power");
      const policy = { baseline: "itself", margin: 0.2, discordance: 0.4 };
      const passed = share("pass", worldOf(prng, 0.4, 0), policy);
      assertGreater(passed, 0.8, way);
    }
  });
}

Deno.test("decideUpgrade() over as many pairs as are planned passes what is as good in 95% of gates", () => {
  for (const discordance of [0.1, 0.2]) {
    const { prng } = fork(SEED, "upgrade", "planned", discordance);
    const policy = { baseline: "itself", margin: 0.05, discordance };
    const size = { most: pairedSizeOf(policy) };
    const decideOver = (pairs: Pair[]) => decideUpgrade(pairs, policy, { advise: false });
    const passed = shareOf("pass", pairedOnce(prng, discordance, 0), size, decideOver);
    assertGreaterOrEqual(passed, 0.95 - NOISE, `${discordance}`);
    const edge = shareOf("pass", pairedOnce(prng, discordance, -0.05), size, decideOver);
    assertErrors(edge, `passes ${discordance} planned`);
  }
});

Deno.test("decide() and decideUpgrade() decide a sequential gate as its bets do", () => {
  const gates = 100;
  const { prng } = fork(SEED, "bets");
  const compare = <T>(
    policy: GatePolicy,
    world: World<T>,
    sampleOf: (unit: T) => Sample,
    decideOver: (units: T[], rule: SequentialRule) => Verdict,
  ) => {
    const complete = completePolicy(policy);
    const { cells } = world;
    const rule = sequentialRule(complete, cells);
    for (let gate = 0; gate < gates; gate++) {
      const units = Array.from(
        { length: rule.largestSize },
        (_, place) => world.kinds[world.draw(place)]!,
      );
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
    once(prng, 0.7),
    unequal(prng, 0.7),
    repeated(prng, 0.7),
    hidden(prng, 0.7, SOLVED),
    hidden(prng, 0.7, FAILED),
  ];
  for (const world of worlds) {
    compare(policy, world, unitSample, (units, rule) => decide(units, policy, { rule }));
  }
  const upgrade = { baseline: "itself", margin: 0.2, discordance: 0.4, coverage: 0.01 };
  const pairWorlds = [
    pairedOnce(prng, 0.4, -0.1),
    pairedRepeated(prng, 0.4, -0.1),
    pairedHidden(prng, 0.4, -0.1, LOST),
  ];
  for (const world of pairWorlds) {
    compare(upgrade, world, pairSample, (pairs, rule) => decideUpgrade(pairs, upgrade, { rule }));
  }
});

Deno.test("decide() and decideUpgrade() never decide worse where one graph is better", () => {
  // On this the simulations rely when they skip what is known.
  const kinds = ["fail", "undecided", "pass"];
  const compare = <T>(world: World<T>, decideOver: (units: T[]) => Verdict) =>
    fc.assert(
      fc.property(
        fc.array(fc.nat({ max: world.kinds.length - 1 }), { minLength: 20, maxLength: 120 }),
        fc.nat(),
        (graphs, place) => {
          const index = place % graphs.length;
          const better = graphs.with(index, Math.min(graphs[index]! + 1, world.kinds.length - 1));
          const [before, after] = [graphs, better].map((drawn) =>
            kinds.indexOf(decideOver(drawn.map((kind) => world.kinds[kind]!)).kind)
          );
          assertGreaterOrEqual(after!, before!);
        },
      ),
      { numRuns: 60 },
    );
  const { prng } = fork(SEED, "better");
  for (const stopped of [{}, { stopped: "at will" }]) {
    const options = { ...stopped, advise: false };
    const policy = { successRate: 0.5, margin: 0.1, coverage: 0.01 };
    for (const world of [once(prng, 0), repeated(prng, 0), hidden(prng, 0, FAILED)]) {
      compare(world, (units) => decide(units, policy, options));
    }
    const upgrade = { baseline: "old", margin: 0.1, coverage: 0.01 };
    for (const world of [pairedRepeated(prng, 0, 0), pairedHidden(prng, 0, 0, LOST)]) {
      compare(world, (pairs) => decideUpgrade(pairs, upgrade, options));
    }
  }
});

// What follows shows that these simulations notice when a gate does what it must not.

Deno.test("decide() would err in far more than 5% of gates if repetitions counted as graphs", () => {
  const { prng } = fork(SEED, "independent");
  const policy = { successRate: 0.7, margin: 0.15 };
  const size = { most: rateSizeOf(policy) };
  const world = repeated(prng, 0.55, 5);
  const decideOver = (units: Unit[]) => decide(units, policy, { advise: false });
  assertErrors(shareOf("pass", world, size, decideOver), "repetitions, by graph");
  const naive = shareOf("pass", world, size, (units) => {
    const solved = units.reduce((sum, unit) => sum + unit.solved, 0);
    const trials = 5 * units.length;
    return decideOver(
      Array.from({ length: trials }, (_, trial) => trial < solved ? SOLVED : FAILED),
    );
  });
  assertGreater(naive, 3 * 0.05);
});

Deno.test("decide() would err in far more than 5% of gates if fixed bounds were stopped at will", () => {
  const { prng } = fork(SEED, "peeking");
  const policy = { successRate: 0.7, margin: 0.15 };
  const size = { most: 1.5 * rateSizeOf(policy), every: EVERY / 2 };
  const naive = shareOf(
    "pass",
    once(prng, 0.55),
    size,
    (units) => decide(units, policy, { advise: false }),
  );
  assertGreater(naive, 3 * 0.05);
});

Deno.test("decide() would pass almost any model in sequential gates if easy cells came first", () => {
  const { prng } = fork(SEED, "easy first");
  const complete = completePolicy({ successRate: 0.7, margin: 0.15 });
  const rule = sequentialRule(complete, 1);
  const [easy, hard] = [0.8, 0.3];
  let passed = 0;
  for (let gate = 0; gate < GATES; gate++) {
    const bets = new Bets(rule, hypothesesOf(complete));
    for (let place = 0; place < rule.largestSize; place++) {
      const solved = prng() < (place < rule.largestSize / 2 ? easy : hard);
      bets.look([unitSample(solved ? SOLVED : FAILED)]);
    }
    if (bets.decision === "pass") passed++;
  }
  assertGreater(passed / GATES, 0.9);
});

/** What follows the trials of a run, and tells which of them need not be begun. */
interface Watch {
  record(trial: Trial): void;
  skipReason(planned: PlannedTrial): { readonly reason: string } | undefined;
}

/** How a trial will end, and how long it will take. */
interface Fate {
  readonly trial: Trial;
  readonly duration: number;
}

/**
 * Carries out a plan with 32 workers: trials start in plan order and end when their time is over.
 * Tells those that ended, and why others were not begun.
 */
function carryOut(
  planned: readonly PlannedTrial[],
  fateOf: (place: number) => Fate,
  watch: Watch,
) {
  const running: { trial: Trial; end: number }[] = [];
  const ended: Trial[] = [];
  const reasons = new Set<string>();
  let [next, now] = [0, 0];
  for (;;) {
    for (; running.length < 32 && next < planned.length; next++) {
      const skipReason = watch.skipReason(planned[next]!);
      if (skipReason === undefined) {
        const { trial, duration } = fateOf(next);
        running.push({ trial, end: now + duration });
      } else reasons.add(skipReason.reason);
    }
    if (running.length === 0) return { ended, reasons };
    let first = 0;
    for (let place = 1; place < running.length; place++) {
      if (running[place]!.end < running[first]!.end) first = place;
    }
    const [{ trial, end }] = running.splice(first, 1) as [typeof running[number]];
    now = end;
    ended.push(trial);
    watch.record(trial);
  }
}

/** A gate as one would first write it: it looks at every trial that ends, in whatever order. */
class Naive implements Watch {
  readonly bets: Bets;

  constructor({ rule, gate }: Plan) {
    this.bets = new Bets(rule!, hypothesesOf(gate!));
  }

  record({ solved }: Trial): void {
    this.bets.look([unitSample(solved ? SOLVED : FAILED)]);
  }

  skipReason(): { readonly reason: string } | undefined {
    const { decision } = this.bets;
    return decision === undefined ? undefined : { reason: decision };
  }
}

/** How the trials of a plan can end here, and what they then are to the gate. */
const UNITS = { wrong_answer: FAILED, invalid: HIDDEN, solved: SOLVED };

type Records = Readonly<Record<keyof typeof UNITS, Trial>>;

function planOf(gate: GatePolicy, models: readonly string[]): Plan {
  const tasks = [{ core: [2, 3, 4], depth: 1 }];
  return planSuite({ name: "s", seed: 1, tasks, models, gate: { ...gate, sequential: true } });
}

function recordsOf(plan: Plan): Records[] {
  const of = (planned: PlannedTrial, outcome: keyof typeof UNITS) =>
    record({ ...planned, outcome });
  return plan.trials.map((planned) => ({
    wrong_answer: of(planned, "wrong_answer"),
    invalid: of(planned, "invalid"),
    solved: of(planned, "solved"),
  }));
}

/** As many gates as Stopping is tried on, which takes long: its bets are those of the others too. */
const FOLLOWED = 200;

/** Holds what a run with {@linkcode Stopping} shows against the verdict in plan order. */
class Followed {
  readonly #plan: Plan;
  /** Runs in which trials were left out. */
  shortened = 0;

  constructor(plan: Plan) {
    this.#plan = plan;
  }

  check(fateOf: (place: number) => Fate, inOrder: Verdict): void {
    const { trials, gate, rule } = this.#plan;
    const { ended, reasons } = carryOut(trials, fateOf, new Stopping(this.#plan));
    if (reasons.size > 0) {
      this.shortened++;
      const { model } = trials[0]!;
      const told = `the gate of ${model} had decided after ${inOrder.evidence?.graphs} graphs`;
      assertEquals([...reasons], [told]);
    }
    const [judged] = decideTrials(ended, trials, gate!, { rule });
    assertEquals(judged!.verdict, inOrder);
  }
}

Deno.test("Stopping decides in plan order with 32 workers, however long failures take", () => {
  const gate = { successRate: 0.8, margin: 0.1, coverage: 0.01 };
  const plan = planOf(gate, ["m"]);
  const records = recordsOf(plan);
  for (const [rate, wish] of [[0.7, "pass"], [0.8, "fail"]] as const) {
    const { prng } = fork(SEED, "workers", wish);
    const followed = new Followed(plan);
    const drawFate = ({ wrong_answer, invalid, solved }: Records): Fate => {
      const isSolved = prng() < rate;
      // Slow failures help a false pass, slow successes a false fail.
      const duration = (isSolved === (wish === "fail") ? 10 : 1) * (0.5 + prng());
      return { trial: isSolved ? solved : prng() < 0.2 ? invalid : wrong_answer, duration };
    };
    let [erred, naivelyErred] = [0, 0];
    for (let round = 0; round < GATES; round++) {
      const fates: Fate[] = [];
      const fateOf = (place: number) => fates[place] ??= drawFate(records[place]!);
      const unitAt = (place: number) => UNITS[fateOf(place).trial.outcome as keyof typeof UNITS];
      const bets = new Bets(plan.rule!, hypothesesOf(plan.gate!));
      const { blockSize, largestSize } = plan.rule!;
      while (bets.decision === undefined && bets.units < largestSize) {
        const places = Array.from({ length: blockSize }, (_, place) => bets.units + place);
        bets.look(places.map((place) => unitSample(unitAt(place))));
      }
      if (bets.decision === wish) erred++;
      const naive = new Naive(plan);
      carryOut(plan.trials, fateOf, naive);
      if (naive.bets.decision === wish) naivelyErred++;
      if (round < FOLLOWED) {
        const units = records.map((_, place) => unitAt(place));
        followed.check(fateOf, decide(units, gate, { rule: plan.rule! }));
      }
    }
    assertErrors(erred / GATES, wish);
    assertGreater(naivelyErred / GATES, 3 * 0.05);
    assertGreater(followed.shortened / FOLLOWED, 0.2);
  }
});

Deno.test("Stopping decides in plan order with 32 workers between two models", () => {
  const gate = { baseline: "old", margin: 0.15, discordance: 0.2 };
  const plan = planOf(gate, ["new", "old"]);
  const records = recordsOf(plan);
  const { prng } = fork(SEED, "workers", "upgrade");
  const followed = new Followed(plan);
  for (let round = 0; round < FOLLOWED; round++) {
    const pairs = Array.from({ length: records.length / 2 }, () => {
      const change = drawChange(prng, 0.2, -0.15 * (round % 2));
      return change === 1 && prng() < 0.3 ? NEITHER : [LOST, KEPT, GAINED][change]!;
    });
    const fates = pairs.flatMap(({ candidate, baseline }, place) =>
      [candidate, baseline].map(({ solved }, model): Fate => ({
        trial: records[2 * place + model]![solved === 0 ? "wrong_answer" : "solved"],
        duration: (solved === 0 ? 10 : 1) * (0.5 + prng()),
      }))
    );
    followed.check((place) => fates[place]!, decideUpgrade(pairs, gate, { rule: plan.rule! }));
  }
  assertGreater(followed.shortened / FOLLOWED, 0.2);
});
