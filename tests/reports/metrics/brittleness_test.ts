import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import {
  type Brittleness,
  type BrittlenessColumn,
  type Flips,
  measureBrittleness,
  type ParameterFailureRate,
  type Transfer,
} from "../../../lib/reports/metrics/_brittleness.ts";
import {
  PARAMETER_FAILURE_TYPES,
  type ParameterFailureType,
} from "../../../lib/calls/failure_types.ts";
import { PERTURBATION_METHODS } from "../../../lib/perturbations/methods.ts";
import { clusteredInterval } from "../../../lib/statistics/pass_at_k.ts";
import { tango, wilson } from "../../../lib/statistics/proportions.ts";
import { OUTCOMES } from "../../../lib/trials/trial.ts";
import { summarize, type TrialSummary } from "../../../lib/trials/summary.ts";
import { runTrial } from "../../../lib/trials/run_trial.ts";
import fc from "../../support/fast_check.ts";
import { inProcess } from "../../support/in_process.ts";
import { scored, scoredAll } from "../../support/parameter_scores.ts";
import {
  failureOf,
  manyRecords,
  record,
  records,
  type TrialTraits,
} from "../../support/records.ts";

const UNCHANGED = { changed: false } as const;

/** What these trials of one model and strategy come to. */
function only(trials: readonly TrialSummary[]): Brittleness {
  const all = measureBrittleness(trials);
  assertEquals(all.length, 1);
  return all[0]!;
}

function column(trials: readonly TrialSummary[], perturbation = "RD"): BrittlenessColumn {
  return only(trials).columns.find((own) => own.perturbation === perturbation)!;
}

function rateOf(own: BrittlenessColumn, type: ParameterFailureType): ParameterFailureRate {
  return own.failures.find((rate) => rate.type === type)!;
}

function flips(trials: readonly TrialSummary[], perturbation = "rename"): Flips {
  return only(trials).flips.find((own) => own.perturbation === perturbation)!;
}

/** Perturbed trials with these failures; a matrix is of all of them. */
function perturbed(...letters: readonly string[]): TrialSummary[] {
  return scoredAll(letters, { perturbation: "RD" });
}

Deno.test("measureBrittleness() has one entry for each model and strategy that was perturbed", () => {
  const trials = [
    record({ model: "a" }),
    record({ model: "a", perturbation: "RD" }),
    record({ model: "b" }),
    record({ model: "b", strategy: "restate", perturbation: "CF" }),
    record({ model: "sim:c", simulated: true, perturbation: "rename" }),
    record({ model: "__proto__", perturbation: "RE" }),
  ];
  assertEquals(
    measureBrittleness(trials).map(({ subject, simulated, columns }) => [
      ...[subject.model, subject.strategy, subject.perturbation, simulated],
      columns.map(({ perturbation }) => perturbation),
    ]),
    [
      ["a", "plain", "none", false, ["none", "RD"]],
      ["b", "restate", "none", false, ["CF"]],
      ["sim:c", "plain", "none", true, ["rename"]],
      ["__proto__", "plain", "none", false, ["RE"]],
    ],
  );
  assertEquals(measureBrittleness([]), []);
  assertEquals(measureBrittleness(records(["solved", "no_answer"])), []);
});

Deno.test("measureBrittleness() has columns by source, joined ones and checks behind, and flips of checks", () => {
  const ids = [
    "x",
    "RD+CF",
    "rename+RD",
    ...PERTURBATION_METHODS.toReversed(),
    "reorder",
    "none",
    "rename",
  ];
  const { columns, flips: checks } = only(ids.map((perturbation) => record({ perturbation })));
  assertEquals(
    columns.map(({ perturbation }) => perturbation),
    ["none", ...PERTURBATION_METHODS, "x", "RD+CF", "rename+RD", "reorder", "rename"],
  );
  assertEquals(checks.map(({ perturbation }) => perturbation), ["reorder", "rename"]);
});

Deno.test("measureBrittleness() takes a trial without calls for one without failures", () => {
  const idle = column([
    scored("", { perturbation: "RD", calls: 0, outcome: "no_answer" }),
    scored("R", { perturbation: "RD", seed: 2 }),
  ]);
  assertEquals([rateOf(idle, "redundant_information").rate, idle.known], [0.5, 2]);
});

Deno.test("measureBrittleness() has failure rates of trials, however many of their calls failed (Butterfly 5.2)", () => {
  const own = column(perturbed("R R R", "R D", "", "D"));
  assertEquals(own.failures.map(({ type }) => type), [...PARAMETER_FAILURE_TYPES]);
  assertEquals(rateOf(own, "redundant_information"), {
    type: "redundant_information",
    count: 2,
    of: 4,
    rate: 0.5,
    interval: wilson(2, 4),
    undecided: 0,
    difference: null,
  });
  assertEquals(own.failures.map(({ count }) => count), [0, 0, 2, 0, 2]);
});

Deno.test("measureBrittleness() leaves invalid and unchanged trials out, and counts them", () => {
  const rd = { perturbation: "RD" };
  const own = column([
    scored("R", { ...rd, seed: 1 }),
    scored("", { ...rd, seed: 2, outcome: "no_answer" }),
    scored("M", { ...rd, seed: 3, outcome: "invalid" }),
    scored("M", { ...rd, seed: 4, ...UNCHANGED }),
    scored("M", { ...rd, seed: 5, ...UNCHANGED, outcome: "invalid" }),
  ]);
  const { counted, unchanged, invalid, known, solved } = own;
  assertEquals({ counted, unchanged, invalid, known }, {
    counted: 2,
    unchanged: 2,
    invalid: 1,
    known: 2,
  });
  assertEquals([solved.count, solved.of], [1, 2]);
  assertEquals(own.failures.map(({ count, of }) => [count, of]), [
    ...[[0, 2], [0, 2], [1, 2], [0, 2], [0, 2]],
  ]);
});

Deno.test("measureBrittleness() takes trials without right calls for unknown, not for faultless", () => {
  const own = column([...perturbed("D"), ...manyRecords(1, 3, { perturbation: "RD" })]);
  const { counted, known, routing, solved } = own;
  assertEquals([counted, known, routing.of, solved.of], [4, 1, 1, 4]);
  assertEquals([rateOf(own, "task_deviation").of, rateOf(own, "task_deviation").rate], [1, 1]);
  const none = column(manyRecords(1, 2, { perturbation: "RD" }));
  assertEquals(none.failures.map(({ rate, interval }) => [rate, interval]), [
    ...PARAMETER_FAILURE_TYPES.map(() => [null, null]),
  ]);
});

Deno.test("measureBrittleness() leaves out of a type the trials for which it cannot be told", () => {
  const undecided = ["specification_mismatch", "task_deviation"] as const;
  const rd = (seed: number) => ({ perturbation: "RD", seed });
  const own = column([
    scored("S", rd(1), { undecided }),
    scored("", rd(2), { undecided }),
    scored("", rd(3)),
  ]);
  // One shows it all the same; of another nobody knows.
  const { count, of, undecided: aside } = rateOf(own, "specification_mismatch");
  assertEquals([count, of, aside], [1, 2, 1]);
  const deviation = rateOf(own, "task_deviation");
  assertEquals([deviation.count, deviation.of, deviation.undecided], [0, 1, 2]);
  assertEquals([rateOf(own, "missing_information").of], [3]);
});

Deno.test("measureBrittleness() fails a trial with any of the five failures, and passes all others (Butterfly 5.2)", () => {
  const words = ["", "N", "M R", "RSD D", "", "S", "D"];
  const { failed, failures } = column(perturbed(...words));
  const passed = words.filter((letters) => letters === "").length;
  assertEquals(failed.rate, 1 - passed / words.length);
  assert(failed.count < failures.reduce((sum, { count }) => sum + count, 0));
  const undecided = ["task_deviation"] as const;
  const own = column([
    scored("", { perturbation: "RD" }, { undecided }),
    scored("M", { perturbation: "RD", seed: 2 }, { undecided }),
    scored("", { perturbation: "RD", seed: 3 }),
  ]).failed;
  assertEquals([own.count, own.of, own.undecided], [1, 2, 1]);
});

Deno.test("measureBrittleness() has no rate of a failure that the tools of no trial allow", () => {
  const impossible = ["redundant_information"] as const;
  const none = column([
    scored("D", { perturbation: "RD", impossible }),
    scored("", { perturbation: "RD", seed: 2, impossible }),
  ]);
  assertEquals(rateOf(none, "redundant_information"), {
    ...{ type: "redundant_information", count: 0, of: 2, rate: null, interval: null },
    ...{ undecided: 0, difference: null, impossible: true },
  });
  assertEquals(rateOf(none, "task_deviation").rate, 0.5);
  // One trial that allows it, or shows it, is enough; so is one of which nobody knows.
  for (
    const other of [
      scored("", { perturbation: "RD", seed: 3 }),
      scored("R", { perturbation: "RD", seed: 3, impossible }),
    ]
  ) {
    const some = column([scored("", { perturbation: "RD", impossible }), other]);
    assertEquals(rateOf(some, "redundant_information").of, 2);
    assert(rateOf(some, "redundant_information").rate !== null);
  }
});

/** A trial that did something, on a task of its own. */
function acted(actions: string, traits: TrialTraits = {}): TrialSummary {
  return { ...summarize(record(traits)), actions };
}

Deno.test("measureBrittleness() finds the trials in which only the input was changed (Butterfly, A.2)", () => {
  const [one, two, three] = [1, 2, 3].map((seed) => ({ seed })) as { seed: number }[];
  const cf = { perturbation: "CF" };
  const [own, ...others] = only([
    ...[acted("a", one), acted("a", two), acted("a", { ...three, outcome: "no_answer" })],
    acted("a", { ...cf, ...one, id: "same" }),
    acted("b", { ...cf, ...two, id: "other calls" }),
    acted("a", { ...cf, ...three, outcome: "abstained", id: "both without answers" }),
    // Neither these nor trials without a counterpart are pairs.
    acted("a", { ...cf, ...one, repetition: 2, id: "alone" }),
    acted("a", { ...cf, ...one, repetition: 1, outcome: "invalid", id: "invalid" }),
    { ...acted("a", { ...cf, ...two, id: "unchanged" }), changed: false as const },
    acted("a", { perturbation: "reorder", ...one }),
  ]).ineffective;
  assertEquals(others, [], "checks have their flips");
  const { perturbation, count, of, solved, trials, interval } = own!;
  assertEquals([perturbation, count, of, solved], ["CF", 2, 3, 1]);
  assertEquals(trials, ["same", "both without answers"]);
  assertEquals(interval, wilson(2, 3));
  const ended = [acted("a", one), acted("a", { ...cf, ...one, outcome: "wrong_answer" })];
  assertEquals(only(ended).ineffective[0]!.count, 0, "another end is an effect");
  assertEquals(only([record(), record(cf)]).ineffective, [], "without events nobody knows");
});

Deno.test("measureBrittleness() takes the same calls for the same, however their arguments are ordered", async () => {
  const spec = { core: 4, depth: 2, connected: 1, disconnected: 0, extraEdges: 2, seed: 7 };
  const run = (perturbation: string) => runTrial(spec, inProcess("sim:planner"), { perturbation });
  const trials = await Promise.all(["none", "CO", "RD", "timeout"].map(run));
  assertEquals(
    measureBrittleness(trials)[0]!.ineffective.map(({ perturbation, count }) => [
      ...[perturbation, count],
    ]),
    [["RD", 0], ["CO", 1], ["timeout", 0]],
  );
});

Deno.test("measureBrittleness() has clustered intervals where tasks were repeated", () => {
  const trials = [["R", "R"], ["R", ""], ["", ""], ["R", ""]].flatMap((words, graph) =>
    words.map((word, at) => scored(word, { perturbation: "RD", seed: graph, repetition: at + 1 }))
  );
  assertEquals(
    rateOf(column(trials), "redundant_information").interval,
    clusteredInterval([[1, 1], [1, 0], [0, 0], [1, 0]]),
  );
});

Deno.test("measureBrittleness() tells how similar wrong texts are, and which calls were no right ones (Butterfly 5.2)", () => {
  const rd = (seed: number) => ({ perturbation: "RD", seed });
  const { similarTexts, routing } = column([
    scored("D", rd(1), { texts: { compared: 3, similar: 1 }, routing: 4 }),
    scored("S", rd(2), { texts: { compared: 2, similar: 2 } }),
    scored("", { ...rd(3), ...UNCHANGED }, { texts: { compared: 9, similar: 9 }, routing: 9 }),
  ]);
  assertEquals(similarTexts, { compared: 5, similar: 3 });
  assertEquals([routing.count, routing.of, routing.rate], [1, 2, 0.5]);
});

Deno.test("measureBrittleness() has task accuracy, what abstained, and calls that were not refused (Butterfly 5.2)", () => {
  const failures = (...types: Parameters<typeof failureOf>[0][]) => types.map(failureOf);
  const trials = [
    record({ calls: 5, failures: failures("function_not_found", "incorrect_value") }),
    record({ calls: 3, failures: failures("wrong_number_of_inputs", "value_not_yet_known") }),
    record({ calls: 0, outcome: "abstained" }),
    record({ calls: 50, outcome: "invalid", failures: failures("function_not_found") }),
  ].map((trial, index): TrialSummary => ({
    ...trial,
    perturbation: "RP_F",
    task: { ...trial.task, seed: index },
  }));
  const { solved, abstained, accepted } = column(trials, "RP_F");
  assertEquals([solved.count, solved.of], [2, 3]);
  assertEquals([abstained.count, abstained.of, abstained.interval], [1, 3, wilson(1, 3)]);
  assertEquals(accepted, { count: 6, of: 8, rate: 0.75 });
  const idle = column([record({ perturbation: "RD", calls: 0 })]).accepted;
  assertEquals(idle, { count: 0, of: 0, rate: null });
});

Deno.test("measureBrittleness() has differences to the same tasks unperturbed, and to no others (Butterfly 6)", () => {
  const trials = [
    ...scoredAll(["", "", "R", "R", "R", "R"]),
    ...scoredAll(["R", "R", "", "R"], { perturbation: "RD" }),
  ];
  const { difference, rate } = rateOf(column(trials), "redundant_information");
  assertEquals(rate, 0.75);
  const { candidate, baseline, gained, lost, interval } = difference!;
  assertEquals([candidate, baseline, gained, lost], [0.75, 0.5, 2, 1]);
  assertEquals(interval, tango(2, 1, 4, 0.975));
  assertEquals(rateOf(column(trials, "none"), "redundant_information").difference, null);
});

Deno.test("measureBrittleness() has differences over decided and known trials only", () => {
  const undecided = ["task_deviation"] as const;
  const trials = [
    scored("", { seed: 1 }, { undecided }),
    scored("", { seed: 2 }),
    record({ seed: 3 }),
    scored("D", { seed: 4, outcome: "invalid" }),
    ...scoredAll(["D", "D", "D", "D"], { perturbation: "RD" }),
  ];
  const of = (type: ParameterFailureType) => rateOf(column(trials), type).difference;
  assertEquals([of("task_deviation")!.gained, of("task_deviation")!.difference], [1, 1]);
  // Tasks 1 and 2: the others have no known and counted trial without the perturbation.
  assertEquals(of("missing_information")!.interval, tango(0, 0, 2, 0.975));
});

const SCORED = fc.record({
  words: fc.array(fc.subarray([..."NMRSD"], { minLength: 1 }).map((types) => types.join("")), {
    maxLength: 5,
  }).map((calls) => calls.join(" ")),
  seed: fc.nat({ max: 4 }),
  repetition: fc.integer({ min: 1, max: 3 }),
  outcome: fc.constantFrom(...OUTCOMES),
  perturbation: fc.constantFrom("none", "RD", "RP_F", "rename"),
  unchanged: fc.boolean(),
});

const TRIALS = fc.uniqueArray(SCORED, {
  maxLength: 25,
  selector: ({ seed, repetition, perturbation }) => `${seed} ${repetition} ${perturbation}`,
}).map((all) =>
  all.map(({ words, unchanged, ...traits }) =>
    scored(words, {
      ...traits,
      ...(unchanged && traits.perturbation !== "none" ? UNCHANGED : {}),
    })
  )
);

/** The same by looking at every two calls of every trial. */
function transferByHand(trials: readonly TrialSummary[], from: string, to: string): Transfer {
  const calls = trials
    .filter(({ outcome, changed }) => outcome !== "invalid" && changed !== false)
    .map(({ parameters }) => parameters!.calls.map((types) => new Set<string>(types)))
    .filter((own) => own.some((types) => types.has(from)));
  const meets = (own: readonly Set<string>[], where: (one: number, other: number) => boolean) =>
    own.some((types, one) =>
      types.has(from) && own.some((others, other) => others.has(to) && where(one, other))
    );
  const isTogether = (one: number, other: number) => one === other && from !== to;
  const isLater = (one: number, other: number) => other > one;
  return {
    from: from as ParameterFailureType,
    to: to as ParameterFailureType,
    of: calls.length,
    together: calls.filter((own) => meets(own, isTogether)).length,
    later: calls.filter((own) => meets(own, isLater)).length,
    either:
      calls.filter((own) =>
        meets(own, (one, other) => isTogether(one, other) || isLater(one, other))
      ).length,
  };
}

Deno.test("measureBrittleness() has the transfer that one finds call by call (Butterfly A.1)", () => {
  fc.assert(fc.property(TRIALS, (trials) => {
    for (const { transfer } of measureBrittleness(trials)) {
      assertEquals(
        transfer,
        PARAMETER_FAILURE_TYPES.flatMap((from) =>
          PARAMETER_FAILURE_TYPES.map((to) => transferByHand(trials, from, to))
        ),
      );
    }
  }));
});

Deno.test("measureBrittleness() counts flips both ways, of pairs alone", () => {
  const rename = { perturbation: "rename" };
  const own = flips([
    ...records(["solved", "solved", "no_answer", "no_answer", "solved", "invalid", "solved"]),
    ...records(["solved", "no_answer", "solved", "no_answer", "invalid", "solved"], rename),
    record({ ...rename, seed: 7, ...UNCHANGED, outcome: "no_answer" }),
    record({ ...rename, seed: 8, outcome: "no_answer" }),
  ]);
  assertEquals(own, {
    perturbation: "rename",
    pairs: 4,
    gained: 1,
    lost: 1,
    flipped: { count: 2, of: 4, rate: 0.5, interval: wilson(2, 4) },
    byChance: null,
  });
});

Deno.test("measureBrittleness() pairs repetitions by their numbers, and clusters them by task", () => {
  const repeated = (outcomes: readonly (readonly ("solved" | "no_answer")[])[], id: string) =>
    outcomes.flatMap((own, graph) =>
      own.map((outcome, at) =>
        record({ seed: graph, repetition: at + 1, outcome, perturbation: id })
      )
    );
  const [yes, no] = ["solved", "no_answer"] as const;
  const own = flips([
    ...repeated([[yes, no, no], [yes, yes, yes], [no, no, yes]], "none"),
    ...repeated([[no, no, yes], [yes, yes, yes], [no, yes, yes]], "rename"),
  ]);
  assertEquals([own.pairs, own.gained, own.lost, own.flipped.count], [9, 2, 1, 3]);
  assertEquals(own.flipped.interval, clusteredInterval([[1, 0, 1], [0, 0, 0], [0, 1, 0]]));
  // Without the check: 2 of 3 pairs of the first task differ, none of the second, 2 of the third.
  assertEquals(own.byChance!.count, 4);
  assertEquals(own.byChance!.of, 9);
  assertAlmostEquals(own.byChance!.rate!, 4 / 9, 1e-12);
});

Deno.test("measureBrittleness() takes chance from the tasks of the check alone", () => {
  const own = flips([
    record({ seed: 1, perturbation: "rename" }),
    ...[1, 2].map((repetition) => record({ seed: 1, repetition })),
    ...(["solved", "no_answer"] as const).map((outcome, at) =>
      record({ seed: 2, repetition: at + 1, outcome })
    ),
  ]);
  assertEquals(own.byChance, { count: 0, of: 1, rate: 0 });
});

Deno.test("measureBrittleness() never pairs models or strategies with each other", () => {
  const all = measureBrittleness([
    record({ model: "a" }),
    record({ model: "b", perturbation: "rename" }),
    record({ model: "a", strategy: "restate", perturbation: "rename" }),
  ]);
  assertEquals(all.map((one) => one.flips.map(({ pairs }) => pairs)), [[0], [0]]);
});
