import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
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
import {
  columnsOf,
  having,
  type MetricRecord,
  recordsOf,
  tablesOf,
  textsOf,
} from "../../support/reports.ts";
import { scored, scoredAll } from "../../support/parameter_scores.ts";
import {
  failureOf,
  manyRecords,
  record,
  records,
  type TrialTraits,
} from "../../support/records.ts";

const UNCHANGED = { changed: false } as const;
const RD = { perturbation: "RD" } as const;

/** The rates of failures of one model under one perturbation, by failure. */
function rates(trials: readonly TrialSummary[], perturbation = "RD"): Record<string, MetricRecord> {
  const all = having(recordsOf("failure-rates", trials), { perturbation });
  return Object.fromEntries(all.map((one) => [one["failure"], one]));
}

/** How a rate of one model differs from that without a perturbation. */
function change(trials: readonly TrialSummary[], failure: string): MetricRecord | undefined {
  return having(recordsOf("failure-rate-changes", trials), { ...RD, failure })[0];
}

/** What else trials of one model under one perturbation came to. */
function effects(trials: readonly TrialSummary[], perturbation = "RD"): MetricRecord {
  return having(recordsOf("perturbations", trials), { perturbation })[0]!;
}

function check(trials: readonly TrialSummary[]): MetricRecord {
  return having(recordsOf("checks", trials), { perturbation: "rename" })[0]!;
}

/** These figures of a record. */
function some(own: MetricRecord | undefined, ...names: readonly string[]) {
  return names.map((name) => own?.[name]);
}

/** The count of a share, and the number of all. */
function countOf(own: MetricRecord | undefined, id = "rate") {
  return some(own, `${id}_count`, `${id}_of`);
}

function boundsOf(own: MetricRecord | undefined, id = "rate") {
  return { lower: own?.[`${id}_lower`], upper: own?.[`${id}_upper`] };
}

/** Perturbed trials with these failures. */
function perturbed(...letters: readonly string[]): TrialSummary[] {
  return scoredAll(letters, RD);
}

Deno.test("metrics of perturbations have each model and strategy that was perturbed, in the order of the paper", () => {
  const trials = [
    record({ model: "a", ...RD }),
    record({ model: "a" }),
    record({ model: "b" }),
    record({ model: "b", strategy: "restate", perturbation: "CF" }),
    record({ model: "sim:c", simulated: true, perturbation: "rename" }),
    record({ model: "__proto__", perturbation: "RE" }),
  ];
  assertEquals(
    recordsOf("perturbations", trials)
      .map((one) => some(one, "model", "strategy", "perturbation", "simulated")),
    [
      ["a", "plain", "none", false],
      ["a", "plain", "RD", false],
      ["b", "restate", "CF", false],
      ["sim:c", "plain", "rename", true],
      ["__proto__", "plain", "RE", false],
    ],
  );
  assertEquals(recordsOf("perturbations", records(["solved", "no_answer"])), []);
  const ids = ["x", "rename+RD", ...PERTURBATION_METHODS.toReversed(), "reorder", "none", "rename"];
  const all = ids.map((perturbation) => record({ perturbation }));
  const idsIn = (id: string) => recordsOf(id, all).map((one) => one["perturbation"]);
  assertEquals(
    idsIn("perturbations"),
    ["none", ...PERTURBATION_METHODS, "x", "rename+RD", "reorder", "rename"],
  );
  assertEquals(idsIn("checks"), ["reorder", "rename"]);
});

Deno.test("failure rates are of trials, however many of their calls failed (Butterfly 5.2)", () => {
  const own = rates(perturbed("R R R", "R D", "", "D"));
  const { lower, upper } = wilson(2, 4);
  assertEquals(own["redundant_information"], {
    ...{ model: "m", strategy: "plain", perturbation: "RD", variant: null, simulated: false },
    ...{ failure: "redundant_information", impossible: false, undecided: 0 },
    ...{ rate: 0.5, rate_lower: lower, rate_upper: upper, rate_count: 2, rate_of: 4 },
  });
  assertEquals(PARAMETER_FAILURE_TYPES.map((type) => own[type]!["rate_count"]), [0, 0, 2, 0, 2]);
  const idle = rates([
    scored("", { ...RD, calls: 0, outcome: "no_answer" }),
    scored("R", { ...RD, seed: 2 }),
  ]);
  assertEquals(idle["redundant_information"]!["rate"], 0.5, "a trial without calls has none");
});

Deno.test("failure rates and effects leave invalid and unchanged trials out, and count them", () => {
  const trials = [
    scored("R", { ...RD, seed: 1 }),
    scored("", { ...RD, seed: 2, outcome: "no_answer" }),
    scored("M", { ...RD, seed: 3, outcome: "invalid" }),
    scored("M", { ...RD, seed: 4, ...UNCHANGED }),
    scored("M", { ...RD, seed: 5, ...UNCHANGED, outcome: "invalid" }),
  ];
  assertEquals(some(effects(trials), "trials", "unchanged", "invalid", "known"), [2, 2, 1, 2]);
  assertEquals(countOf(effects(trials), "task_accuracy"), [1, 2]);
  assertEquals(PARAMETER_FAILURE_TYPES.map((type) => countOf(rates(trials)[type])), [
    ...[[0, 2], [0, 2], [1, 2], [0, 2], [0, 2]],
  ]);
});

Deno.test("failure rates take trials without right calls for unknown, not for faultless", () => {
  const trials = [...perturbed("D"), ...manyRecords(1, 3, RD)];
  assertEquals(
    some(effects(trials), "trials", "known", "routing_errors_of", "task_accuracy_of"),
    [4, 1, 1, 4],
  );
  assertEquals(countOf(rates(trials)["task_deviation"]), [1, 1]);
  assertEquals(rates(manyRecords(1, 2, RD)), {});
});

Deno.test("failure rates leave out of a type the trials for which it cannot be told", () => {
  const undecided = ["specification_mismatch", "task_deviation"] as const;
  const own = rates([
    scored("S", { ...RD, seed: 1 }, { undecided }),
    scored("", { ...RD, seed: 2 }, { undecided }),
    scored("", { ...RD, seed: 3 }),
  ]);
  // One shows it all the same; of another nobody knows.
  const told = (failure: string) => [...countOf(own[failure]), own[failure]!["undecided"]];
  assertEquals(told("specification_mismatch"), [1, 2, 1]);
  assertEquals(told("task_deviation"), [0, 1, 2]);
  assertEquals(told("missing_information"), [0, 3, 0]);
  assertEquals(told("any_failure"), [1, 2, 1]);
});

Deno.test("a trial fails with any of the five failures, and passes else (Butterfly 5.2)", () => {
  const words = ["", "N", "M R", "RSD D", "", "S", "D"];
  assertEquals(rates(perturbed(...words))["any_failure"]!["rate"], 5 / 7);
});

Deno.test("there is no rate of a failure that the tools of no trial allow", () => {
  const impossible = ["redundant_information"] as const;
  const trials = [
    scored("D", { ...RD, impossible }),
    scored("", { ...RD, seed: 2, impossible }),
    scored("D", { impossible }),
  ];
  const none = rates(trials)["redundant_information"];
  assertEquals(some(none, "rate", "rate_lower", "rate_of", "impossible"), [null, null, 0, true]);
  assertEquals(change(trials, "redundant_information"), undefined);
  assertEquals(rates(trials)["task_deviation"]!["rate"], 0.5);
  // The rate is of the trials that allow it, or show it.
  for (
    const other of [
      scored("", { ...RD, seed: 3 }),
      scored("R", { ...RD, seed: 3, impossible }),
    ]
  ) {
    const own = rates([scored("", { ...RD, impossible }), other])["redundant_information"];
    assertEquals(some(own, "rate_of", "impossible"), [1, false]);
    assert(own!["rate"] !== null);
  }
});

Deno.test("failure rates have clustered intervals where tasks were repeated", () => {
  const trials = [["R", "R"], ["R", ""], ["", ""], ["R", ""]].flatMap((words, graph) =>
    words.map((word, at) => scored(word, { ...RD, seed: graph, repetition: at + 1 }))
  );
  assertEquals(
    boundsOf(rates(trials)["redundant_information"]),
    clusteredInterval([[1, 1], [1, 0], [0, 0], [1, 0]]),
  );
});

Deno.test("effects tell how similar wrong texts are, and which calls were no right ones (Butterfly 5.2)", () => {
  const own = effects([
    scored("D", { ...RD, seed: 1 }, { texts: { compared: 3, similar: 1 }, routing: 4 }),
    scored("S", { ...RD, seed: 2 }, { texts: { compared: 2, similar: 2 } }),
    scored("", { ...RD, seed: 3, ...UNCHANGED }, {
      texts: { compared: 9, similar: 9 },
      routing: 9,
    }),
  ]);
  assertEquals(countOf(own, "similar_texts"), [3, 5]);
  assertEquals([...countOf(own, "routing_errors"), own["routing_errors"]], [1, 2, 0.5]);
});

Deno.test("effects have task accuracy, what abstained, and calls that were not refused (Butterfly 5.2)", () => {
  const failures = (...types: Parameters<typeof failureOf>[0][]) => types.map(failureOf);
  const own = effects(
    [
      record({ calls: 5, failures: failures("function_not_found", "incorrect_value") }),
      record({ calls: 3, failures: failures("wrong_number_of_inputs", "value_not_yet_known") }),
      record({ calls: 0, outcome: "abstained" }),
      record({ calls: 50, outcome: "invalid", failures: failures("function_not_found") }),
    ].map((trial, seed): TrialSummary => ({
      ...trial,
      perturbation: "RP_F",
      task: { ...trial.task, seed },
    })),
    "RP_F",
  );
  assertEquals(countOf(own, "task_accuracy"), [2, 3]);
  assertEquals(countOf(own, "abstained"), [1, 3]);
  assertEquals(boundsOf(own, "abstained"), wilson(1, 3));
  assertEquals([own["accepted_calls"], ...countOf(own, "accepted_calls")], [0.75, 6, 8]);
  const idle = effects([record({ ...RD, calls: 0 })]);
  assertEquals([idle["accepted_calls"], ...countOf(idle, "accepted_calls")], [null, 0, 0]);
});

Deno.test("changes of failure rates are to the same tasks unperturbed, and to no others (Butterfly 6)", () => {
  const trials = [...scoredAll(["", "", "R", "R", "R", "R"]), ...perturbed("R", "R", "", "R")];
  const own = change(trials, "redundant_information");
  assertEquals(some(own, "difference", "baseline", "gained", "lost"), [0.25, 0.5, 2, 1]);
  assertEquals(boundsOf(own, "difference"), tango(2, 1, 4, 0.975));
  const id = "failure-rate-changes";
  assertEquals(having(recordsOf(id, trials), { perturbation: "none" }), []);
  assertEquals(tablesOf(id, trials, {}, "terminal"), []);
  const { heads, rows: [row] } = tablesOf(id, trials)[0]!;
  const { text, detail } = row![heads.findIndex(({ text }) => text === "redundant information")]!;
  assertEquals(text, "+25.0");
  assert(/^\(-\d+\.\d to \+\d+\.\d\)$/.test(detail!), detail);
});

Deno.test("changes of failure rates are over decided and known trials only", () => {
  const undecided = ["task_deviation"] as const;
  const trials = [
    scored("", { seed: 1 }, { undecided }),
    scored("", { seed: 2 }),
    record({ seed: 3 }),
    scored("D", { seed: 4, outcome: "invalid" }),
    ...perturbed("D", "D", "D", "D"),
  ];
  assertEquals(some(change(trials, "task_deviation"), "gained", "difference"), [1, 1]);
  // Tasks 1 and 2: the others have no known and counted trial without the perturbation.
  assertEquals(
    boundsOf(change(trials, "missing_information"), "difference"),
    tango(0, 0, 2, 0.975),
  );
});

/** The example: four tasks unperturbed, under RD, and under RP_F. */
const TRIALS: readonly TrialSummary[] = [
  ...scoredAll(["", "", "R", ""]),
  ...scoredAll(["RD", "R", "", ""], { ...RD, outcome: "wrong_answer" })
    .map((trial, index): TrialSummary => index === 3 ? { ...trial, ...UNCHANGED } : trial),
  scored("", { perturbation: "RP_F", outcome: "abstained", calls: 0 }),
  scored("D", {
    perturbation: "RP_F",
    seed: 2,
    outcome: "wrong_answer",
    calls: 4,
    failures: [failureOf("function_not_found")],
  }, { routing: 1, texts: { compared: 4, similar: 1 } }),
];

Deno.test("tables have failure rates and effects as in Table 1, of each model (Butterfly 6)", () => {
  const [table, ...others] = tablesOf("failure-rates", TRIALS, {}, "terminal");
  assertEquals(others, []);
  const { paper, source, title, heat } = table!;
  const rate = (of: number, ...rates: readonly string[]) => rates.map((one) => `${one} of ${of}`);
  assertEquals([paper, source, heat], ["Butterfly", "Table 1", "bad"]);
  assertEquals(title, "Failure rates under perturbations: m");
  assertEquals(textsOf(table!), [
    [
      ...["perturbation", "hallucination name", "missing information", "redundant information"],
      ...["specification mismatch", "task deviation", "any failure", "missed call", "either"],
    ],
    ["none", ...rate(4, "0.0%", "0.0%", "25.0%", "0.0%", "0.0%", "25.0%"), "-", "-"],
    ["RD", ...rate(3, "0.0%", "0.0%", "66.7%", "0.0%", "33.3%", "66.7%"), "-", "-"],
    ["RP_F", ...rate(2, "0.0%", "0.0%", "0.0%", "0.0%", "50.0%", "50.0%"), "-", "-"],
  ]);
  const [rated] = tablesOf("failure-rates", TRIALS);
  assertEquals(rated!.rows[0]![3]!.detail, "(4.6% to 69.9%)");
  assertEquals(textsOf(tablesOf("perturbations", TRIALS, {}, "terminal")[0]!), [
    [
      ...["perturbation", "trials", "task accuracy", "on initially solved", "several failures"],
      ...["similar texts", "abstained", "API-level success", "routing errors"],
      "unchanged",
    ],
    ["none", "4", "100.0% of 4", "-", "0.0% of 1", "-", "-", "100.0%", "0.0% of 4", "0"],
    [
      ...["RD", "3", "0.0% of 3", "0.0% of 3", "50.0% of 2", "-", "-", "100.0%", "0.0% of 3"],
      "1",
    ],
    [
      ...["RP_F", "2", "0.0% of 2", "0.0% of 2", "0.0% of 1", "25.0%", "50.0% of 2", "75.0%"],
      ...["50.0% of 2", "0"],
    ],
  ]);
  const two = [...TRIALS, ...scoredAll(["R"], { ...RD, model: "sim:a", simulated: true })];
  assertEquals(tablesOf("failure-rates", two).map(({ id, title }) => [id, title]), [
    ["failure-rates-1", "Failure rates under perturbations: m"],
    ["failure-rates-2", "Failure rates under perturbations: sim:a (simulated)"],
  ]);
});

Deno.test("effects have no accuracy of tasks without an answer, and no credit for abstaining that nothing asked for", () => {
  const lacking = (perturbation: string, unsolvable: "unlinked" | "misleading") =>
    (["abstained", "wrong_answer"] as const).map((outcome) =>
      record({ perturbation, unsolvable, outcome })
    );
  const trials = [
    ...records(["solved", "no_answer"]),
    ...lacking("RD", "unlinked"),
    ...lacking("SD", "misleading"),
    ...records(["solved", "no_answer"], { perturbation: "WD" }),
    ...lacking("WD", "unlinked"),
    record({ perturbation: "RP_L+CF", outcome: "wrong_answer" }),
    record({ perturbation: "CF", outcome: "wrong_answer" }),
  ];
  const columns = columnsOf(tablesOf("perturbations", trials)[0]!);
  assertEquals(columns["perturbation"], ["none", "RD", "WD", "SD", "CF", "RP_L+CF"]);
  assertEquals(columns["task accuracy"], [
    ...["50.0% of 2", "n/a", "50.0% of 2", "n/a", "0.0% of 1", "0.0% of 1"],
  ]);
  assertEquals(columns["abstained"], ["-", "50.0% of 2", "50.0% of 2", "n/a", "-", "0.0% of 1"]);
  assertEquals(columns["unsolvable"], ["0", "2", "2", "2", "0", "0"]);
});

Deno.test("tables have n/a for what no trial can show", () => {
  const impossible = ["redundant_information"] as const;
  const missed = { needed: 3, missed: 0 };
  const trials = [
    { ...scored("D", { impossible }), missed },
    { ...scored("D", { ...RD, impossible }), missed },
    {
      ...scored("", { perturbation: "RP_F", impossible }),
      missed: { needed: 0, missed: 0 },
    },
  ];
  const columns = columnsOf(tablesOf("failure-rates", trials)[0]);
  assertEquals(columns["redundant information"], ["n/a", "n/a", "n/a"]);
  assertEquals(columns["missed call"], ["0.0% of 1", "0.0% of 1", "n/a"]);
  const idle = { ...scored("", { ...RD, seed: 2 }), missed: { needed: 0, missed: 0 } };
  const own = rates([...trials, idle]);
  assertEquals(countOf(own["missed_call"]), [0, 1], "one needs no call");
  assertEquals(countOf(own["either"]), [1, 2]);
  const transfer = columnsOf(tablesOf("transfer", trials)[0]!);
  assertEquals(new Set(transfer["redundant information"]), new Set(["n/a"]));
});

Deno.test("rates over initially solved tasks are of trials whose twin without a perturbation was solved (Butterfly 4)", () => {
  const unsolved = { outcome: "wrong_answer" } as const;
  const trials = [
    ...["", "", "D"].map((words, at) => scored(words, { seed: at, ...(at === 1 ? unsolved : {}) })),
    scored("", { seed: 2, repetition: 2, ...unsolved }),
    scored("D RM", { seed: 0, ...RD }),
    scored("D", { seed: 1, ...RD, ...unsolved }),
    scored("", { seed: 2, ...RD, ...unsolved }),
    // Neither has a solved twin: another repetition, model or strategy is none.
    scored("N", { seed: 2, repetition: 2, ...RD }),
    ...[{ model: "other" }, { strategy: "repair" }].map((of) => scored("N", { ...RD, ...of })),
  ];
  const own = recordsOf("failure-rates-of-solved", trials);
  assertEquals(
    new Set(own.map((one) => `${one["model"]} ${one["perturbation"]}`)),
    new Set(["m RD"]),
  );
  const failing = own.filter(({ rate_count: count }) => Number(count) > 0);
  assertEquals(
    failing.map((one) => [one["failure"], ...countOf(one)]),
    ["missing_information", "redundant_information", "task_deviation", "any_failure"]
      .map((failure) => [failure, 1, 2]),
  );
  assertEquals(countOf(effects(trials), "accuracy_of_solved"), [1, 2]);
  assertEquals(countOf(effects(trials), "task_accuracy"), [2, 4]);
});

Deno.test("of the trials with a failure some show several of the five, in one call or in more (Butterfly A.1)", () => {
  const own = effects(perturbed("", "D", "D D", "D M", "RS"));
  assertEquals(countOf(own, "several_failures"), [2, 4]);
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

const ANY_TRIALS = fc.uniqueArray(SCORED, {
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
function transferByHand(trials: readonly TrialSummary[], from: string, to: string) {
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
  return [
    ...[from, to, calls.length],
    calls.filter((own) => meets(own, isTogether)).length,
    calls.filter((own) => meets(own, isLater)).length,
    calls.filter((own) => meets(own, (one, other) => isTogether(one, other) || isLater(one, other)))
      .length,
  ];
}

Deno.test("transfer is what one finds call by call (Butterfly A.1)", () => {
  fc.assert(fc.property(ANY_TRIALS, (trials) => {
    const own = recordsOf("transfer", trials)
      .map((one) => some(one, "given", "then", "trials", "together", "later", "either_count"));
    const isPerturbed = trials.some(({ perturbation }) => perturbation !== "none");
    const pairs = PARAMETER_FAILURE_TYPES.flatMap((from) =>
      PARAMETER_FAILURE_TYPES.map((to): [ParameterFailureType, ParameterFailureType] => [from, to])
    );
    assertEquals(own, isPerturbed ? pairs.map((pair) => transferByHand(trials, ...pair)) : []);
  }));
});

Deno.test("the table of transfer counts which failure goes with which, as in Fig. 4 (Butterfly A.1)", () => {
  const [table, ...others] = tablesOf("transfer", TRIALS);
  assertEquals(others, []);
  assertEquals([table!.paper, table!.source, table!.heat], ["Butterfly", "Fig. 4", "bad"]);
  const [heads, none, , redundant] = textsOf(table!);
  assertEquals(heads!.slice(0, 2), ["given", "hallucination name"]);
  assertEquals(none, ["hallucination name", "-", "-", "-", "-", "-"]);
  assertEquals(redundant, [
    ...["redundant information", "0 of 3", "0 of 3", "0 of 3", "0 of 3", "1 of 3"],
  ]);
  assertAlmostEquals(table!.rows[2]![5]!.value!, 1 / 3, 1e-12);
  assertEquals(tablesOf("transfer", scoredAll(["", ""], RD)), []);
});

/** A trial that did something, on a task of its own. */
function acted(actions: string, traits: TrialTraits = {}): TrialSummary {
  return { ...summarize(record(traits)), actions };
}

Deno.test("ineffective are trials in which only the input was changed (Butterfly, A.2)", () => {
  const [one, two, three] = [1, 2, 3].map((seed) => ({ seed })) as { seed: number }[];
  const cf = { perturbation: "CF" };
  const trials = [
    ...[acted("a", one), acted("a", two), acted("a", { ...three, outcome: "no_answer" })],
    acted("a", { ...cf, ...one, id: "same" }),
    acted("b", { ...cf, ...two, id: "other calls" }),
    acted("a", { ...cf, ...three, outcome: "abstained", id: "both without answers" }),
    // Neither these nor trials without a counterpart are pairs.
    acted("a", { ...cf, ...one, repetition: 2, id: "alone" }),
    acted("a", { ...cf, ...one, repetition: 1, outcome: "invalid", id: "invalid" }),
    acted("a", { ...cf, ...two, id: "unchanged", ...UNCHANGED }),
    acted("a", { perturbation: "reorder", ...one }),
  ];
  const [own, ...others] = recordsOf("ineffective", trials);
  assertEquals(others, [], "checks have their flips");
  assertEquals(some(own, "perturbation", "pairs", "solved"), ["CF", 3, 1]);
  assertEquals(countOf(own, "no_effect"), [2, 3]);
  assertEquals(boundsOf(own, "no_effect"), wilson(2, 3));
  assertEquals(own!["trials"], ["same", "both without answers"]);
  const ended = [acted("a", one), acted("a", { ...cf, ...one, outcome: "wrong_answer" })];
  assertEquals(
    countOf(recordsOf("ineffective", ended)[0], "no_effect"),
    [0, 1],
    "another end is an effect",
  );
  assertEquals(tablesOf("ineffective", ended), []);
  assertEquals(recordsOf("ineffective", [record(), record(cf)]), [], "without events nobody knows");
});

Deno.test("ineffective trials have the same calls, however their arguments are ordered", async () => {
  const spec = { core: 4, depth: 2, connected: 1, disconnected: 0, extraEdges: 2, seed: 7 };
  const run = (perturbation: string) => runTrial(spec, inProcess("sim:planner"), { perturbation });
  const trials = await Promise.all(["none", "CO", "RD", "timeout"].map(run));
  assertEquals(
    recordsOf("ineffective", trials.map(summarize))
      .map((one) => some(one, "perturbation", "no_effect_count")),
    [["RD", 0], ["CO", 1], ["timeout", 0]],
  );
});

Deno.test("checks count flips both ways, of pairs alone", () => {
  const rename = { perturbation: "rename" };
  const own = check([
    ...records(["solved", "solved", "no_answer", "no_answer", "solved", "invalid", "solved"]),
    ...records(["solved", "no_answer", "solved", "no_answer", "invalid", "solved"], rename),
    record({ ...rename, seed: 7, ...UNCHANGED, outcome: "no_answer" }),
    record({ ...rename, seed: 8, outcome: "no_answer" }),
  ]);
  assertEquals(some(own, "pairs", "gained", "lost", "by_chance"), [4, 1, 1, null]);
  assertEquals(countOf(own, "flipped"), [2, 4]);
  assertEquals(boundsOf(own, "flipped"), wilson(2, 4));
});

Deno.test("checks pair repetitions by their numbers, and cluster them by task", () => {
  const repeated = (outcomes: readonly (readonly ("solved" | "no_answer")[])[], id: string) =>
    outcomes.flatMap((own, graph) =>
      own.map((outcome, at) =>
        record({ seed: graph, repetition: at + 1, outcome, perturbation: id })
      )
    );
  const [yes, no] = ["solved", "no_answer"] as const;
  const own = check([
    ...repeated([[yes, no, no], [yes, yes, yes], [no, no, yes]], "none"),
    ...repeated([[no, no, yes], [yes, yes, yes], [no, yes, yes]], "rename"),
  ]);
  assertEquals(some(own, "pairs", "gained", "lost", "flipped_count"), [9, 2, 1, 3]);
  assertEquals(boundsOf(own, "flipped"), clusteredInterval([[1, 0, 1], [0, 0, 0], [0, 1, 0]]));
  // Without the check: 2 of 3 pairs of the first task differ, none of the second, 2 of the third.
  assertEquals([...countOf(own, "by_chance"), own["by_chance"]], [4, 9, 4 / 9]);
});

Deno.test("checks take chance from their own tasks, and pair no models or strategies with each other", () => {
  const own = check([
    record({ seed: 1, perturbation: "rename" }),
    ...[1, 2].map((repetition) => record({ seed: 1, repetition })),
    ...(["solved", "no_answer"] as const).map((outcome, at) =>
      record({ seed: 2, repetition: at + 1, outcome })
    ),
  ]);
  assertEquals(countOf(own, "by_chance"), [0, 1]);
  const apart = recordsOf("checks", [
    record({ model: "a" }),
    record({ model: "b", perturbation: "rename" }),
    record({ model: "a", strategy: "restate", perturbation: "rename" }),
  ]);
  assertEquals(apart.map(({ pairs }) => pairs), [0, 0]);
});

Deno.test("the table of checks calls simulated models so", () => {
  const plain = { model: "sim:a", simulated: true };
  const [table] = tablesOf("checks", [
    ...records(["solved", "solved", "no_answer"], { ...plain, perturbation: "rename" }),
    ...records(["solved", "no_answer", "no_answer"], plain),
  ]);
  assertEquals(textsOf(table!), [
    ["check", "pairs", "flipped", "95% interval", "gained", "lost", "by chance"],
    ["sim:a + rename (simulated)", "3", "33.3%", "6.1% to 79.2%", "1", "0", "-"],
  ]);
});

Deno.test("missed calls are of the trials that need calls", () => {
  const missing = (needed: number, missed: number, traits: TrialTraits = {}): TrialSummary => ({
    ...summarize(record(traits)),
    missed: { needed, missed },
  });
  const trials = [
    missing(4, 0, { seed: 1 }),
    missing(4, 2, { seed: 2 }),
    missing(0, 0, { seed: 3 }),
    missing(4, 4, { seed: 4, outcome: "invalid" }),
    record({ seed: 5 }),
    record({ model: "unknown" }),
  ];
  assertEquals(textsOf(tablesOf("missed-calls", trials)[0]), [
    ["model", "trials needing calls", "with a missed call", "95% interval", "of needed calls"],
    ["m", "2", "50.0%", "9.5% to 90.5%", "25.0%"],
  ]);
  assertEquals(countOf(recordsOf("missed-calls", trials)[0], "calls"), [2, 8]);
});
