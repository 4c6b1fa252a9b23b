// The drift canary: what days show of a served model, against its reference.
// Runs without counters of lines.

import {
  assert,
  assertAlmostEquals,
  assertEquals,
  assertGreater,
  assertLess,
  assertLessOrEqual,
  assertMatch,
  assertThrows,
} from "@std/assert";
import { InputError } from "../../lib/base/errors.ts";
import { fork } from "../../lib/base/random.ts";
import {
  type CanaryDay,
  canaryLines,
  type CanaryPolicy,
  watchForDrift,
} from "../../lib/gate/canary.ts";
import type { Unit } from "../../lib/gate/evidence.ts";
import { clopperPearson } from "../../lib/statistics/proportions.ts";
import { binomialDraw, drawsOf } from "../support/error_rates.ts";

/** Trials of a graph each: solved, failed, and invalid ones. */
function units(solved: number, failed = 0, invalid = 0): Unit[] {
  return [
    ...new Array<Unit>(solved).fill({ solved: 1, valid: 1, trials: 1 }),
    ...new Array<Unit>(failed).fill({ solved: 0, valid: 1, trials: 1 }),
    ...new Array<Unit>(invalid).fill({ solved: 0, valid: 0, trials: 1 }),
  ];
}

/** Dates from 2026-01-01 on. */
const DATES = Array.from(
  { length: 400 },
  (_, day) => new Date(Date.UTC(2026, 0, 1 + day)).toISOString().slice(0, 10),
);

/** Days from 2026-01-01 on. */
function daysOf(...samples: readonly (readonly Unit[])[]): CanaryDay[] {
  return samples.map((sample, day) => ({ date: DATES[day]!, units: sample }));
}

function repeat<T>(count: number, value: T): T[] {
  return new Array<T>(count).fill(value);
}

const REFERENCE = units(900, 100);
const GOOD = units(45, 5);
const BAD = units(38, 12);

Deno.test("watchForDrift() compares with the lower bound of the reference, less the tolerance", () => {
  const { kind, reference, nullRate, threshold, sum, days } = watchForDrift(
    REFERENCE,
    daysOf(GOOD),
  );
  const { lower } = clopperPearson(900, 1000, 0.95);
  assertEquals(kind, "quiet");
  assertEquals(reference, { solved: 900, valid: 1000, rate: 0.9, lower });
  assertEquals([nullRate, threshold], [lower - 0.01, 7_300]);
  assertEquals(days, [{ date: DATES[0]!, solved: 45, valid: 50, trials: 50, rate: 0.9, sum }]);
  const other = watchForDrift(REFERENCE, [], { tolerance: 0.02, confidence: 0.99, models: 3 });
  assertEquals(other.nullRate, clopperPearson(900, 1000, 0.99).lower - 0.02);
  assertEquals(other.threshold, 21_900);
});

Deno.test("watchForDrift() raises an alarm, and tells when it was raised and since when the rate is lower", () => {
  const days = daysOf(...repeat(14, GOOD), ...repeat(10, BAD));
  const { kind, alarmed, since, reason, sum, threshold, days: watched } = watchForDrift(
    REFERENCE,
    days,
  );
  assertEquals([kind, since, reason], ["alarm", DATES[14], undefined]);
  const first = watched.findIndex((day) => day.sum >= threshold);
  assertEquals(alarmed, DATES[first]);
  assert(first > 14 && first < 24);
  assertGreater(sum, watched[first]!.sum);
  assertEquals(watchForDrift(REFERENCE, days.slice(0, first)).kind, "quiet");
  // Three models watched together take more.
  const family = watchForDrift(REFERENCE, days, { models: 3 });
  assertGreater(family.alarmed!, alarmed!);
});

Deno.test("watchForDrift() tells how often such days would have shown the planned drop", () => {
  const quiet = (days: number) => watchForDrift(REFERENCE, daysOf(...repeat(days, GOOD)));
  assertEquals(quiet(1).power, 0);
  assertGreater(quiet(120).power!, 0.9);
  const { prng } = fork("days with the drop");
  const dropped = Array.from({ length: 100 }, () =>
    daysOf(...Array.from({ length: 60 }, () => {
      const solved = Array.from({ length: 50 }, prng).filter((draw) => draw < 0.85).length;
      return units(solved, 50 - solved);
    })));
  const found = dropped.filter((days) => watchForDrift(REFERENCE, days).kind === "alarm").length;
  // Both are shares of random draws.
  assertAlmostEquals(quiet(60).power!, found / 100, 0.1);
  assertEquals(watchForDrift(REFERENCE, daysOf(...repeat(20, BAD))).power, undefined);
});

Deno.test("watchForDrift() keeps an alarm whatever comes later, and since when it was", () => {
  const bad = [...repeat(14, GOOD), ...repeat(6, BAD)];
  const { alarmed, since } = watchForDrift(REFERENCE, daysOf(...bad));
  for (
    const later of [repeat(100, GOOD), [units(10, 0, 40)], [[]], [...repeat(100, GOOD), units(0)]]
  ) {
    const verdict = watchForDrift(REFERENCE, daysOf(...bad, ...later));
    assertEquals([verdict.kind, verdict.alarmed, verdict.since], ["alarm", alarmed, since]);
    assertEquals("reason" in verdict, false);
  }
  const recovered = watchForDrift(REFERENCE, daysOf(...bad, ...repeat(200, GOOD)));
  assertLess(recovered.sum, recovered.threshold);
});

Deno.test("watchForDrift() does not use a day of which too few trials were valid at the first go: nothing changes by it", () => {
  const replaced = GOOD.map((unit, place) => place < 3 ? { ...unit, replaced: 1 } : unit);
  const resampled = GOOD.map((unit, place) => place < 3 ? { ...unit, resampled: 1 } : unit);
  const spoiled = [
    [
      units(0, 30, 20),
      "30 of 50 planned trials are valid, fewer than the coverage of 95% requires",
    ],
    [units(0, 0, 50), "none of 50 planned trials is valid"],
    [[], "there are no trials"],
    [
      replaced,
      "47 of 50 planned trials were valid at the first go, fewer than the coverage of 95% requires: " +
      "3 trials run again in place of invalid ones",
    ],
    [
      resampled,
      "47 of 50 planned trials were valid at the first go, fewer than the coverage of 95% requires: " +
      "3 trials with a reply asked for again after a failure of unclear cause",
    ],
  ] as const;
  const plain = watchForDrift(REFERENCE, daysOf(...repeat(3, BAD)));
  for (const [day, unused] of spoiled) {
    // Before, between and after days that are used, so that a bet begun on one would show.
    const verdict = watchForDrift(
      REFERENCE,
      daysOf(day, ...repeat(2, BAD), day, BAD, day),
    );
    assertEquals(verdict.sum, plain.sum);
    assertEquals(verdict.days.map((one) => one.unused === unused), [
      ...[true, false, false, true, false, true],
    ]);
    assertEquals(verdict.days[0]!.sum, 0);
    assertEquals(verdict.kind, "invalid");
    assertEquals(verdict.reason, `the last day, ${DATES[5]}, cannot be used: ${unused}`);
  }
  assertEquals(watchForDrift(REFERENCE, []).reason, "there is no day yet");
  assertEquals(watchForDrift(REFERENCE, daysOf([])).days[0]!.rate, null);
  // Two of 50 are few enough, and another coverage asks for less.
  const two = GOOD.map((unit, place) => place < 2 ? { ...unit, replaced: 1 } : unit);
  assertEquals(watchForDrift(REFERENCE, daysOf(two)).kind, "quiet");
  assertEquals(watchForDrift(REFERENCE, daysOf(replaced), { coverage: 0.9 }).kind, "quiet");
});

Deno.test("watchForDrift() starts no bets in gaps", () => {
  const days = daysOf(...repeat(30, BAD)).filter((_, day) => day % 10 === 0);
  const { sum } = watchForDrift(REFERENCE, days);
  assertEquals(sum, watchForDrift(REFERENCE, daysOf(...repeat(3, BAD))).sum);
});

Deno.test("watchForDrift() counts an invalid trial of a day as solved, and one of the reference as failed", () => {
  const [invalid, solved] = [units(40, 8, 2), units(42, 8)];
  const one = watchForDrift(REFERENCE, daysOf(invalid));
  assertAlmostEquals(one.sum, watchForDrift(REFERENCE, daysOf(solved)).sum, 1e-9);
  assertEquals(one.days[0], {
    ...{ date: DATES[0]!, solved: 40, valid: 48, trials: 50, rate: 40 / 48, sum: one.sum },
  });
  const { nullRate } = watchForDrift(units(900, 80, 20), []);
  assertEquals(nullRate, clopperPearson(900, 1000, 0.95).lower - 0.01);
});

const ERROR = 0.05;

Deno.test("watchForDrift() has a reference that ended at its luckiest proved too much in at most 5% of cases, as the bound of a fixed size does not", () => {
  const { prng } = fork(1, "canary", "lucky references");
  const [references, rate] = [drawsOf(1_000), 0.9];
  const wrong = [true, false].map(() => 0);
  for (let reference = 0; reference < references; reference++) {
    let [solved, trials] = [0, 0];
    // Someone who knew the rate would end it once its bound is too high.
    do {
      solved += binomialDraw(prng(), 20, rate);
      trials += 20;
    } while (trials < 1_000 && clopperPearson(solved, trials, 0.95).lower <= rate);
    for (const [place, stopped] of [true, false].entries()) {
      const { lower } = watchForDrift(units(solved, trials - solved), [], { stopped, drop: 0.5 })
        .reference;
      if (lower > rate) wrong[place]!++;
    }
  }
  assertLessOrEqual(wrong[0]! / references, ERROR);
  assertGreater(wrong[1]! / references, 3 * ERROR);
});

Deno.test("watchForDrift() bets on the mean of a graph with several trials", () => {
  const graphs = (count: number, solved: number): Unit[] =>
    repeat(count, { solved, valid: 4, trials: 4 });
  const mixed = [...graphs(80, 4), ...graphs(20, 2)];
  const { reference, sum } = watchForDrift(mixed, daysOf(graphs(5, 3)));
  assertEquals([reference.solved, reference.valid, reference.rate], [360, 400, 0.9]);
  // Trials of a graph are not independent: the exact bound of 400 trials would be too high.
  assertLess(reference.lower, clopperPearson(360, 400, 0.95).lower);
  assertGreater(reference.lower, 0.8);
  assertGreater(sum, 0);
});

Deno.test("watchForDrift() tells how many trials of a reference the planned drop takes, and refuses one that tells no drop", () => {
  const { reference: few } = watchForDrift(units(90, 10), []);
  const size = few.needed!;
  const sized = (trials: number) => units(Math.round(0.9 * trials), Math.round(0.1 * trials));
  assertEquals(watchForDrift(sized(Math.ceil(1.1 * size)), []).reference.needed, undefined);
  assert(watchForDrift(sized(Math.floor(0.9 * size)), []).reference.needed !== undefined);
  const error = assertThrows(() => watchForDrift(units(9, 1), []), InputError);
  assertEquals(
    error.message,
    "Cannot tell a drop of 5 points from a reference of 90.0% with so few trials: " +
      `it takes at least about ${size} with a tolerance of 1 point`,
  );
  // A rate of 2% cannot drop by 5 points, nor by half of it.
  assertThrows(
    () => watchForDrift(units(20, 980), []),
    InputError,
    "Cannot tell a drop of 5 points from a reference of 2.0%: take a smaller drop",
  );
});

Deno.test("watchForDrift() refuses policies and units that are not usable", () => {
  const policies: readonly CanaryPolicy[] = [
    { tolerance: 0.05 },
    { tolerance: 0.01, drop: 0.01 },
    { tolerance: -0.01 },
    { drop: 0 },
    { confidence: 0.5 },
    { coverage: 0 },
    { models: 0 },
    { models: 1.5 },
    { model: 1 } as CanaryPolicy,
  ];
  for (const policy of policies) {
    assertThrows(
      () => watchForDrift(REFERENCE, [], policy),
      InputError,
      "Cannot use the policy of a drift canary",
    );
  }
  for (
    const unit of [
      { solved: 2, valid: 1, trials: 2 },
      { solved: 1, valid: 2, trials: 1 },
      { solved: 0, valid: 0, trials: 0 },
      { solved: NaN, valid: 1, trials: 1 },
      { solved: 1, valid: 1, trials: 1, replaced: 2 },
    ]
  ) {
    assertThrows(() => watchForDrift([unit], []), InputError, "units of the reference must");
    assertThrows(
      () => watchForDrift(REFERENCE, daysOf([unit])),
      InputError,
      "units of 2026-01-01 must",
    );
  }
  const replaced = new Array(500).fill({ solved: 1, valid: 1, trials: 1, replaced: 1 });
  for (const reference of [[], units(0, 0, 5), replaced]) {
    assertThrows(() => watchForDrift(reference, []), InputError, "the reference must be usable");
  }
});

Deno.test("canaryLines() of an alarm says since when, and the numbers behind it", () => {
  const samples = [...repeat(14, GOOD), ...repeat(5, BAD), units(10, 0, 40)];
  const verdict = watchForDrift(REFERENCE, daysOf(...samples));
  const lines = canaryLines(verdict);
  assertMatch(lines[1]!, /^the sum of bets is [\d,]+, and 7,300 is the threshold/);
  assertEquals(lines.with(1, ""), [
    "ALARM: since 2026-01-15 the true success rate is below 87.3%. That was proved on 2026-01-19; " +
    "when it began is an estimate. " +
    "The alarm stays until another release is accepted.",
    "",
    "reference: solved 900 of 1000 valid trials (90.0%), true rate at least 88.3% with 95.0% " +
    "confidence; a rate down to 87.3%, with a tolerance of 1 point, is no drift",
    "since 2026-01-15: solved 190 of 250 valid trials (76.0%), 5 days used",
    "all days: solved 820 of 950 valid trials (86.3%), 19 days used",
    "not used: 2026-01-20, as 10 of 50 planned trials are valid, fewer than the coverage of 95% requires",
  ]);
});

Deno.test("canaryLines() of other verdicts claim no drop, and tell of a family and of a small reference", () => {
  const policy = { models: 3 };
  const quiet = canaryLines(watchForDrift(units(90, 10), daysOf(GOOD), policy), policy);
  assertEquals(quiet, [
    "QUIET: no drop found; one of 5 points since the first day would have been found in 0% of such runs.",
    "the sum of bets is 0.241, and 21,900 is the threshold: without a drift it is reached by any of 3 " +
    "models in at most 5.0% of years",
    "reference: solved 90 of 100 valid trials (90.0%), true rate at least 83.6% with 95.0% confidence; " +
    "a rate down to 82.6%, with a tolerance of 1 point, is no drift",
    "the reference is too small to find a drop of 5 points, only larger ones: that takes at least about 230 trials",
    "all days: solved 45 of 50 valid trials (90.0%), 1 day used",
  ]);
  const spoiled = daysOf(...repeat(13, units(10, 0, 40)));
  const invalid = canaryLines(watchForDrift(REFERENCE, spoiled));
  assertEquals(
    invalid[0],
    "INVALID: the last day, 2026-01-13, cannot be used: 10 of 50 planned trials are valid, fewer " +
      "than the coverage of 95% requires.",
  );
  assertEquals(invalid[3], "all days: 0 days used");
  // The latest first, and not all of a bad month.
  assertMatch(invalid[4]!, /^not used: 2026-01-13/);
  assertEquals(invalid.slice(14), ["and 3 more days"]);
});
