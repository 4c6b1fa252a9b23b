import { assert, assertAlmostEquals, assertEquals, assertLess } from "@std/assert";
import {
  type ComparedPair,
  comparePairs,
  compareShares,
  type Effort,
} from "../../lib/gate/comparison.ts";
import type { Prices } from "../../lib/models/prices.ts";
import { type Variant, variantOf } from "../../lib/gate/variant.ts";
import { signFlip } from "../../lib/statistics/sign_flip.ts";
import { summarize } from "../../lib/trials/summary.ts";
import { type Bounds, holm, tango } from "../../lib/statistics/proportions.ts";
import { OUTCOMES, type Trial } from "../../lib/trials/trial.ts";
import type { TrialSummary } from "../../lib/trials/summary.ts";
import { binomialProbability } from "../../lib/statistics/distributions.ts";
import fc from "../support/fast_check.ts";
import { asJson, crossed, record, records, stageOf, type TrialTraits } from "../support/records.ts";

const SOLVED = { outcome: "solved" } as const;
const FAILED = { outcome: "wrong_answer" } as const;
const INVALID = { outcome: "invalid" } as const;

/** One trial of each graph for each of its traits, counted as repetitions where there are several. */
function graphsOf(strategy: string, graphs: readonly (readonly TrialTraits[])[]): Trial[] {
  return graphs.flatMap((trials, place) =>
    trials.map((traits, at) => record({ strategy, seed: place + 1, repetition: at + 1, ...traits }))
  );
}

/** The only pair of these trials that differs in its strategy. */
function only(trials: readonly TrialSummary[], prices?: Prices): ComparedPair {
  const pairs = comparePairs(trials, { prices }).filter(({ of }) => of === "strategy");
  assertEquals(pairs.length, 1);
  return pairs[0]!;
}

function assertBounds(bounds: Bounds | null, lower: number, upper: number, rounding: number): void {
  assertAlmostEquals(bounds!.lower, lower, rounding);
  assertAlmostEquals(bounds!.upper, upper, rounding);
}

Deno.test("comparePairs() pairs by graph: an example by hand", () => {
  const { graphs, leftOut, success } = only(
    crossed({ both: 20, gained: 10, lost: 2, neither: 8 }),
  );
  assertEquals([graphs, leftOut], [40, 0]);
  const { candidate, baseline, difference, gained, lost, mcNemar } = success!;
  assertEquals([candidate, baseline, gained, lost], [30 / 40, 22 / 40, 10, 2]);
  assertAlmostEquals(difference, 8 / 40, 1e-15);
  // 2 (1 + 12 + 66) / 2^12, and without the 66 / 2^12 of what was seen.
  assertAlmostEquals(mcNemar!.exact, 158 / 4096, 1e-14);
  assertAlmostEquals(mcNemar!.midP, 92 / 4096, 1e-14);
});

Deno.test("comparePairs() has Tango's two-sided 95% interval where graphs were run once", () => {
  // The first two are published: Fagerland, Lydersen and Laake, "Statistical Analysis of Contingency
  // Tables", 2017, chapter 8. The others are SciPy's: the constrained likelihood by search.
  const golden = [
    [1, 7, 21, -0.517, -0.026, 5e-4],
    [6, 16, 161, -0.124, -0.0054, 5e-4],
    [10, 2, 40, 0.034743, 0.366316, 1e-6],
    [0, 0, 12, -0.242494, 0.242494, 1e-6],
    [12, 0, 12, 0.515012, 1, 1e-6],
    [5, 5, 30, -0.215472, 0.215472, 1e-6],
    [3, 0, 10, -0.060793, 0.603222, 1e-6],
  ] as const;
  for (const [gained, lost, graphs, lower, upper, rounding] of golden) {
    const { success } = only(crossed({ gained, lost, neither: graphs - gained - lost }));
    assertBounds(success!.interval, lower, upper, rounding);
  }
});

const HALF = [SOLVED, FAILED];
const ALL = [SOLVED, SOLVED];
const NONE = [FAILED, FAILED];

Deno.test("comparePairs() has Student's interval over graphs that were repeated", () => {
  // Differences 1/2, 0, 1, -1/2, 1/2, 0, and 1 and -1 that are added: SciPy's t.interval.
  const { success } = only([
    ...graphsOf("restate", [HALF, HALF, ALL, NONE, ALL, ALL]),
    ...graphsOf("plain", [NONE, HALF, NONE, HALF, HALF, ALL]),
  ]);
  const { difference, interval, gained, lost, mcNemar } = success!;
  assertEquals([difference, gained, lost, mcNemar], [0.25, 3, 1, null]);
  assertBounds(interval, -0.40101106, 0.77601106, 1e-8);
});

Deno.test("comparePairs() counts each graph the same, however many valid trials it has", () => {
  // Differences 1/2, 0, 1/3, -1/2, and 1 and -1 that are added: SciPy's t.interval.
  const { success, graphs } = only([
    ...graphsOf("restate", [[SOLVED, INVALID], HALF, [SOLVED, SOLVED, FAILED], HALF]),
    ...graphsOf("plain", [HALF, [FAILED, SOLVED, INVALID], [SOLVED, FAILED, FAILED], ALL]),
  ]);
  assertEquals(graphs, 4);
  assertAlmostEquals(success!.difference, 1 / 12, 1e-15);
  assertBounds(success!.interval, -0.70012447, 0.81123558, 1e-8);
});

Deno.test("comparePairs() claims no certainty where repeated graphs are all alike", () => {
  const cases: [TrialTraits[], TrialTraits[], lower: number, upper: number][] = [
    [ALL, ALL, -0.22646817, 0.22646817],
    [ALL, NONE, 0.54851876, 1],
    [NONE, ALL, -1, -0.54851876],
  ];
  for (const [own, other, lower, upper] of cases) {
    const { success } = only([
      ...graphsOf("restate", new Array(12).fill(own)),
      ...graphsOf("plain", new Array(12).fill(other)),
    ]);
    assertBounds(success!.interval, lower, upper, 1e-8);
    assertEquals(success!.mcNemar, null);
  }
});

Deno.test("comparePairs() of repeated graphs misses the truth about as rarely as it says", () => {
  // Few graphs that differ are where intervals by the spread alone miss most: 13% here.
  const [graphs, chance] = [20, 0.16];
  let missed = 0;
  for (let won = 0; won <= graphs; won++) {
    const { success } = only([
      ...graphsOf(
        "restate",
        Array.from({ length: graphs }, (_, place) => place < won ? ALL : HALF),
      ),
      ...graphsOf("plain", new Array(graphs).fill(HALF)),
    ]);
    const { lower, upper } = success!.interval!;
    if (lower > chance / 2 || upper < chance / 2) {
      missed += binomialProbability(won, graphs, chance);
    }
  }
  assertLess(missed, 0.07);
});

Deno.test("comparePairs() of one repeated graph has no interval", () => {
  const { success } = only([...graphsOf("restate", [ALL]), ...graphsOf("plain", [HALF])]);
  assertEquals([success!.difference, success!.interval], [0.5, null]);
});

Deno.test("comparePairs() leaves out graphs without a valid trial of both, and counts them", () => {
  const trials = [
    ...graphsOf("restate", [[SOLVED], [SOLVED], [INVALID], [INVALID], [], [SOLVED], [SOLVED]]),
    ...graphsOf("plain", [[SOLVED], [FAILED], [SOLVED], [INVALID], [SOLVED], [], [INVALID]]),
  ];
  const { graphs, leftOut, success } = only(trials);
  assertEquals([graphs, leftOut], [2, 5]);
  assertEquals([success!.candidate, success!.baseline, success!.gained], [1, 0.5, 1]);
});

Deno.test("comparePairs() says of each of both whether its model is simulated", () => {
  for (const [own, other] of [[true, false], [false, true], [false, false]] as const) {
    const { simulated, againstSimulated } = only([
      record({ strategy: "restate", simulated: own }),
      record({ simulated: other }),
    ]);
    assertEquals([simulated, againstSimulated], [own, other]);
  }
});

Deno.test("comparePairs() charges a solved task with all that was spent, spoiled tries too", () => {
  const usage = (inputTokens: number, outputTokens: number) => ({
    usage: { inputTokens, outputTokens },
  });
  const trials: TrialSummary[] = [
    ...graphsOf("restate", [
      [{ ...SOLVED, ...usage(100, 10), calls: 4 }],
      [{ ...FAILED, ...usage(300, 30), calls: 8 }],
      [{ ...INVALID, ...usage(50, 5), calls: 1 }],
      [{ ...SOLVED, ...usage(200, 20), calls: 5 }],
    ]),
    ...graphsOf("plain", [
      [{ ...SOLVED, ...usage(80, 8), calls: 3 }],
      [{ ...SOLVED, ...usage(90, 9), calls: 3 }],
      [{ ...SOLVED, ...usage(70, 7), calls: 3 }],
      [{ ...FAILED, ...usage(60, 6), calls: 6 }],
    ]),
  ];
  const spoiled = trials.map((trial, place) =>
    place === 0 ? { ...trial, replaced: { inputTokens: 40, outputTokens: 4 } } : trial
  );
  const { effort } = only(spoiled, { m: { input: 1_000_000, output: 2_000_000 } });
  // 690 read and 69 written for two solved tasks, 300 and 30 for three.
  assertEquals(effort.candidate, { tokens: 759 / 2, calls: 18 / 2, usd: 828 / 2 });
  assertEquals(effort.baseline, { tokens: 330 / 3, calls: 15 / 3, usd: 360 / 3 });
  assertEquals(effort.extra, { tokens: 269.5, calls: 4, usd: 294 });
});

Deno.test("comparePairs() weighs efforts on graphs that both were run on", () => {
  const dear = { usage: { inputTokens: 1e6, outputTokens: 0 } };
  const { effort } = only([
    ...graphsOf("restate", [[SOLVED], [], [{ ...SOLVED, ...dear }]]),
    ...graphsOf("plain", [[SOLVED], [{ ...SOLVED, ...dear }]]),
  ]);
  assertEquals([effort.candidate.tokens, effort.baseline.tokens], [12, 12]);
});

Deno.test("comparePairs() knows no extra effort where one of them solved nothing", () => {
  const { effort } = only(
    [...graphsOf("restate", [[SOLVED]]), ...graphsOf("plain", [[FAILED]])],
    { m: { input: 1, output: 1 } },
  );
  const none: Effort = { tokens: null, calls: null, usd: null };
  assertEquals([effort.baseline, effort.extra], [none, none]);
  assertEquals(effort.candidate.tokens, 12);
});

Deno.test("comparePairs() prices other models that took part by their own names", () => {
  const usage = { inputTokens: 1000, outputTokens: 100 };
  const stages = [stageOf("large", 400)];
  const trials = [record({ strategy: "plan_then_call", usage, stages }), record({ usage })];
  const prices = { m: { input: 1e6, output: 1e6 }, large: { input: 1e7, output: 1e7 } };
  const { effort } = only(trials, prices);
  assertEquals(
    [effort.candidate.tokens, effort.candidate.usd, effort.baseline.usd],
    [1100, 700 + 4000, 1100],
  );
  const { large: _, ...partial } = prices;
  const unknown = only(trials, partial).effort;
  assertEquals(
    [unknown.candidate.usd, unknown.baseline.usd, unknown.extra.usd],
    [null, 1100, null],
  );
  assertEquals(only(trials).effort.baseline.usd, null);
});

/** The names of what a pair compares. */
function named({ of, subject, against, reference }: ComparedPair): string {
  const text = (one: Variant) => Object.values(asJson(one)).join(" ");
  return `${of}: ${text(subject)} against ${text(against)}${reference ? " (reference)" : ""}`;
}

Deno.test("comparePairs() compares each perturbation with none of the same model and strategy", () => {
  const all = comparePairs([
    ...graphsOf("plain", [[SOLVED], [SOLVED], [FAILED], [SOLVED]]),
    ...graphsOf("plain", [[FAILED], [SOLVED], [SOLVED], [FAILED]])
      .map((trial) => ({ ...trial, perturbation: "RD" })),
    ...graphsOf("restate", [[SOLVED], [FAILED]]),
    ...graphsOf("restate", [[SOLVED], [SOLVED]])
      .map((trial) => ({ ...trial, perturbation: "RD" })),
    // There is nothing that this could be compared with.
    record({ strategy: "repair", perturbation: "CF", seed: 9 }),
  ]);
  assertEquals(
    all.filter(({ of }) => of === "perturbation").map(({ subject, graphs, success }) => [
      ...[subject.strategy, subject.perturbation, graphs],
      ...[success!.baseline, success!.candidate, success!.gained, success!.lost],
    ]),
    [
      ["plain", "RD", 4, 0.75, 0.5, 1, 2],
      ["restate", "RD", 2, 0.5, 1, 1, 0],
    ],
  );
  assertEquals(all.filter(({ of }) => of === "strategy").length, 2);
  assertEquals(all.length, 4);
});

Deno.test("comparePairs() has all pairs that differ in one thing, the first or the reference as what is compared with", () => {
  const [none, rd] = [{ perturbation: "none" }, { perturbation: "RD" }];
  const trials = [
    record({ model: "b", ...rd }),
    record({ model: "b", ...none }),
    record({ model: "b", strategy: "restate" }),
    record({ model: "b", strategy: "repair" }),
    record({ model: "a", ...none }),
    record({ model: "a", variant: "long" }),
    record({ model: "a", variant: "short" }),
    // On another task, and under what no model can solve.
    record({ model: "c", seed: 5 }),
    record({ model: "a", perturbation: "RP_F" }),
    record({ model: "a", perturbation: "CF", changed: false }),
  ];
  assertEquals(comparePairs(trials).map(named), [
    "strategy: b restate none against b plain none (reference)",
    "strategy: b repair none against b plain none (reference)",
    "perturbation: b plain RD against b plain none (reference)",
    "model: a plain none against b plain none",
    "strategy: b repair none against b restate none",
    "variant: a plain none long against a plain none",
    "variant: a plain none short against a plain none",
    "variant: a plain none short against a plain none long",
  ]);
  const references = [{ model: "a" }, { strategy: "repair" }, { variant: "short" }];
  assertEquals(comparePairs(trials, { references }).map(named).sort(), [
    "model: b plain none against a plain none (reference)",
    "perturbation: b plain RD against b plain none (reference)",
    "strategy: b plain none against b repair none (reference)",
    "strategy: b restate none against b plain none (reference)",
    "strategy: b restate none against b repair none (reference)",
    "variant: a plain none against a plain none short (reference)",
    "variant: a plain none long against a plain none",
    "variant: a plain none long against a plain none short (reference)",
  ]);
});

Deno.test("comparePairs() finds what strategies with the same trials would show, whatever differs", () => {
  const trials = fc.array(
    fc.record({
      usual: fc.boolean(),
      seed: fc.nat({ max: 5 }),
      repetition: fc.integer({ min: 1, max: 2 }),
      outcome: fc.constantFrom(...OUTCOMES),
      calls: fc.nat({ max: 9 }),
    }),
    { maxLength: 20 },
  );
  fc.assert(fc.property(trials, fc.constantFrom("perturbation", "variant", "model"), (all, of) => {
    const names = { perturbation: ["none", "RD"], variant: ["a", "b"], model: ["a", "b"] }[of]!;
    const asStrategies = comparePairs(
      all.map(({ usual, ...traits }) =>
        record({ ...traits, strategy: usual ? "plain" : "restate" })
      ),
    );
    const pairs = comparePairs(
      all.map(({ usual, ...traits }) => record({ ...traits, [of]: names[usual ? 0 : 1] })),
      { references: [{ [of]: names[0] }] },
    );
    const numbers = ({ subject: _, of: __, against: ___, gained, lost, ...one }: ComparedPair) => ({
      ...{ ...one, gained: gained.length, lost: lost.length },
    });
    assertEquals(pairs.map(numbers), asStrategies.map(numbers));
    for (const { subject, of: field, against, reference, test, gained, lost, success } of pairs) {
      assertEquals([subject[field], against[field], reference], [names[1], names[0], true]);
      assertEquals([gained.length, lost.length], [success?.gained ?? 0, success?.lost ?? 0]);
      assertEquals(test === null, success === null);
      if (test?.name === "mcnemar") assertEquals(test.p, success!.mcNemar!.exact);
      assertEquals(test?.name === "mcnemar", success !== null && success.mcNemar !== null);
    }
  }));
});

Deno.test("comparePairs() lists the tasks gained and lost with the ids of all trials, the largest change first", () => {
  const [pair] = comparePairs([
    ...graphsOf("plain", [ALL, HALF, ALL, [FAILED, INVALID], HALF]),
    ...graphsOf("restate", [HALF, ALL, NONE, [SOLVED], HALF]),
  ]);
  const id = (strategy: string, seed: number, repetition: number) =>
    record({ strategy, seed, repetition }).id;
  const both = (seed: number, strategy: string) => [1, 2].map((one) => id(strategy, seed, one));
  const task = (seed: number) => record({ seed }).task;
  assertEquals(pair!.lost, [
    {
      task: task(3),
      candidate: { solved: 0, valid: 2 },
      baseline: { solved: 2, valid: 2 },
      trials: [both(3, "restate"), both(3, "plain")],
    },
    {
      task: task(1),
      candidate: { solved: 1, valid: 2 },
      baseline: { solved: 2, valid: 2 },
      trials: [both(1, "restate"), both(1, "plain")],
    },
  ]);
  assertEquals(pair!.gained.map(({ task, candidate, baseline }) => [task, candidate, baseline]), [
    [task(4), { solved: 1, valid: 1 }, { solved: 0, valid: 1 }],
    [task(2), { solved: 2, valid: 2 }, { solved: 1, valid: 2 }],
  ]);
  assertEquals(pair!.gained[0]!.trials, [[id("restate", 4, 1)], both(4, "plain")]);
  // Trials of a case are graphs of their own, and change together.
  const own = ["old", "new"].flatMap((model) =>
    ["refund", "thanks"].flatMap((name) =>
      [1, 2, 3].map((seed) =>
        record({
          ...{ model, task: { case: name, seed } },
          outcome: model === "new" && name === "refund" && seed > 1 ? "no_answer" : "solved",
        })
      )
    )
  );
  const [{ lost, gained, success, graphs }] = comparePairs(own) as [ComparedPair];
  assertEquals([lost.length, gained.length, success!.lost, graphs], [1, 0, 2, 6]);
  const { task: refund, candidate, baseline, trials } = lost[0]!;
  assertEquals([refund, candidate, baseline], [
    { case: "refund", seed: 1 },
    { solved: 1, valid: 3 },
    { solved: 3, valid: 3 },
  ]);
  assertEquals(trials.map((ids) => ids.length), [3, 3]);
});

Deno.test("comparePairs() tests repeated graphs by signs, and adjusts by Holm over all pairs", () => {
  const trials = ["a", "b", "c"].flatMap((model, place) =>
    Array.from({ length: 12 }, (_, graph) =>
      [1, 2].map((repetition) =>
        record({
          ...{ model, seed: graph + 1, repetition },
          outcome: (graph + repetition * place) % 5 < 4 - place ? "solved" : "no_answer",
        })
      )).flat()
  );
  const pairs = comparePairs([
    ...trials,
    ...crossed({ gained: 9 }, { model: "d", seed: undefined! })
      .map((trial, place) => ({ ...trial, task: { ...trial.task, seed: 50 + place % 9 } })),
  ]);
  assertEquals(pairs.map(({ test }) => test!.name), [
    "mcnemar",
    "sign-flip",
    "sign-flip",
    "sign-flip",
  ]);
  for (const { subject, against, test } of pairs.slice(1)) {
    const tally = (model: string, seed: number) => {
      const own = trials.filter((one) =>
        one.model.requested === model && (one.task as { seed: number }).seed === seed
      );
      return [own.filter(({ solved }) => solved).length, own.length] as const;
    };
    const graphs = Array.from(
      { length: 12 },
      (_, graph) => [tally(subject.model, graph + 1), tally(against.model, graph + 1)] as const,
    );
    assertEquals(test!.p, signFlip(graphs, Math.random).p);
  }
  const adjusted = holm(pairs.map(({ test }) => test!.p));
  assertEquals(pairs.map(({ test }) => test!.adjusted), adjusted);
  assertEquals(pairs[0]!.test!.adjusted, 4 * 2 ** -8, "the least of four");
});

Deno.test("comparePairs() compares with accepted results, of which it knows the outcomes alone", () => {
  const old = records(["solved", "solved", "no_answer", "solved"], { model: "old" });
  const trials = records(["solved", "no_answer", "solved", "invalid"], { model: "new" });
  const [subject, baseline] = [trials, old].map(([trial]) => variantOf(trial!));
  const accepted = old.map((
    { model, strategy, perturbation, task, repetition, outcome, solved },
  ) => ({ model, strategy, perturbation, task, repetition, outcome, solved, failures: [] }));
  const options = { name: "b.json", decisions: [{ subject: subject!, baseline: baseline! }] };
  const [pair, ...others] = comparePairs(trials, {
    accepted: [{ ...options, trials: accepted }],
  });
  assertEquals(others, []);
  assertEquals(
    named(pair!),
    "model: new plain none against old plain none b.json (reference)",
  );
  assertEquals([pair!.graphs, pair!.leftOut, pair!.success!.lost], [3, 1, 1]);
  assertEquals(pair!.lost[0]!.trials, [[trials[1]!.id], []]);
  const nothing = { tokens: null, calls: null, usd: null };
  assertEquals([pair!.effort.baseline, pair!.effort.extra], [nothing, nothing]);
  // Where everything is as it was, the file is what differs; ids of a journal are not those of the report.
  const [same] = comparePairs(trials, {
    accepted: [{
      ...options,
      trials: trials.slice(1),
      decisions: [{ subject: subject!, baseline: subject! }],
    }],
  });
  assertEquals(
    named(same!),
    "variant: new plain none against new plain none b.json (reference)",
  );
  assertEquals([same!.gained, same!.lost], [[], []]);
});

Deno.test("comparePairs() lists the ids of many variants, and not those of more pairs than anyone looks at", () => {
  const trials = Array.from({ length: 25 }, (_, place) => place === 0 ? "none" : `CF:${place}`)
    .flatMap((perturbation, place) =>
      Array.from(
        { length: 100 },
        (_, seed) =>
          record({ perturbation, seed, outcome: (seed * place) % 7 < 5 ? "solved" : "no_answer" }),
      )
    ).map(summarize);
  assertEquals(comparePairs(trials).length, 300);
  // Ids of all of a crowd would fill a file.
  const more = comparePairs([
    ...trials.slice(0, 3 * 100),
    ...trials.slice(0, 8 * 100).map((one) => ({ ...one, model: { ...one.model, requested: "n" } })),
  ]);
  assert(more.every(({ lost }) => lost.every(({ trials: [own] }) => own.length > 0)));
  const crowd = comparePairs(
    Array.from(
      { length: 26 },
      (_, place) =>
        record({ model: `m${place}`, outcome: place % 2 === 0 ? "solved" : "no_answer" }),
    ),
  );
  const listed = crowd.filter(({ gained, lost }) =>
    [...gained, ...lost].some(({ trials }) => trials.flat().length > 0)
  );
  assertEquals([crowd.length, crowd.slice(300).some((one) => listed.includes(one))], [325, false]);
});

Deno.test("comparisons leave out what was not changed: of perturbations, and of strategies under them", () => {
  const rd = { perturbation: "RD" } as const;
  const unchanged = { ...rd, changed: false } as const;
  const trials = [
    ...[1, 2].map((seed) => record({ seed })),
    record({ seed: 1, ...rd, outcome: "no_answer", calls: 5 }),
    record({ seed: 2, ...unchanged, calls: 90 }),
    ...[1, 2].map((seed) => record({ seed, strategy: "restate", ...rd })),
    record({ seed: 3, strategy: "restate", ...unchanged }),
  ];
  const perturbation = comparePairs(trials).find(({ of }) => of === "perturbation");
  assertEquals([perturbation!.graphs, perturbation!.leftOut], [1, 1]);
  assertEquals([perturbation!.success!.lost, perturbation!.effort.baseline.calls], [1, 3]);
  const strategy = only(trials);
  assertEquals([strategy.subject.perturbation, strategy.graphs, strategy.leftOut], ["RD", 1, 1]);
  assertEquals(comparePairs([record(), record(unchanged)]), []);
});

Deno.test("compareShares() compares whatever trials show, graph by graph", () => {
  const own = [1, 2, 3, 4].map((seed) => record({ seed, calls: seed }));
  const others = [2, 3, 4, 5].map((seed) => record({ seed, calls: 3 }));
  const many = ({ calls }: TrialSummary) => calls > 2;
  // Of graphs 2 to 4: the first shows it among the others alone.
  const { candidate, baseline, gained, lost, interval } = compareShares(own, others, many)!;
  assertAlmostEquals(candidate, 2 / 3, 1e-12);
  assertEquals([baseline, gained, lost], [1, 0, 1]);
  assertEquals(interval, tango(0, 1, 3, 0.975));
  assertEquals(compareShares(own, [], many), null);
});
