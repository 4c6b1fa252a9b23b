import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { type CallSetRow, measureCallSets } from "../../../lib/reports/metrics/_question_sets.ts";
import { CALL_MODES } from "../../../lib/tasks/questions/scoring.ts";
import { cellName, measure, tally } from "../../../lib/reports/metrics/metrics.ts";
import { clusteredInterval } from "../../../lib/statistics/pass_at_k.ts";
import { wilson } from "../../../lib/statistics/proportions.ts";
import { OUTCOMES, type Trial } from "../../../lib/trials/trial.ts";
import type { TrialSummary } from "../../../lib/trials/summary.ts";
import { variantLabel } from "../../../lib/gate/variant.ts";
import { record } from "../../support/records.ts";
import { answered, question, unanswered } from "../../support/question_scores.ts";

function onlyRow(trials: readonly TrialSummary[]): CallSetRow {
  const [metrics, ...others] = measureCallSets(trials);
  assertEquals([others.length, metrics?.rows.length], [0, 1]);
  return metrics!.rows[0]!;
}

const medium = { difficulty: "medium" } as const;
const hard = { difficulty: "hard" } as const;

/** Five trials that count, one of them at a limit, and one each that does not for every reason. */
const TRIALS: readonly TrialSummary[] = [
  answered(question("q1"), "exact"),
  answered(question("q2"), "structure", { answer: { errors: ["logical_error"] } }),
  answered(question("q3"), "nothing", {
    answer: { errors: ["unexpected_formatting", "hallucination"] },
  }),
  answered(question("q4", medium), "exact"),
  unanswered(question("q5", hard), { outcome: "token_limit" }),
  answered(question("q6", hard), "exact", { outcome: "invalid" }),
  answered(question("q7", hard), "exact", { changed: false }),
  unanswered(question("q8", hard), { outcome: "wrong_answer" }),
];

Deno.test("measureCallSets() averages scores by difficulty, and counts what is in no average (CallNavi 6.4)", () => {
  const row = onlyRow(TRIALS);
  const counts = { easy: 3, medium: 1, hard: 1, all: 5 };
  assertEquals(row.scores, {
    routing: {
      easy: 2 / 3,
      medium: 1,
      hard: 0,
      all: 0.6,
      macro: (2 / 3 + 1) / 3,
      counts,
      interval: wilson(3, 5),
    },
    syntax: {
      easy: 2 / 3,
      medium: 1,
      hard: 0,
      all: 0.6,
      macro: (2 / 3 + 1) / 3,
      counts,
      interval: wilson(3, 5),
    },
    structure: {
      ...{ easy: 2 / 3, medium: 1, hard: 0, all: 0.6, macro: (2 / 3 + 1) / 3, counts },
      interval: wilson(3, 5),
    },
    exact: {
      easy: 1 / 3,
      medium: 1,
      hard: 0,
      all: 0.4,
      macro: (1 / 3 + 1) / 3,
      counts,
      interval: wilson(2, 5),
    },
  });
  const { trials, invalid, unchanged, limited, unscored, answers, questions } = row;
  assertEquals({ trials, invalid, unchanged, limited, unscored, answers, questions }, {
    ...{ trials: 8, invalid: 1, unchanged: 1, limited: 1, unscored: 1, answers: 4, questions: 5 },
  });
  assertEquals(row.errors, [
    { type: "hallucination", trials: 1 },
    { type: "unexpected_formatting", trials: 1 },
    { type: "logical_error", trials: 1 },
  ]);
  assertEquals([row.unrepaired, row.judging, row.stability], [null, null, null]);
});

Deno.test("measureCallSets() counts each limit and a filter as wrong, and no other end without an answer", () => {
  const limited = OUTCOMES.filter((outcome) =>
    onlyRow([unanswered(question("q"), { outcome })]).limited === 1
  );
  assertEquals(limited, ["call_limit", "step_limit", "time_limit", "token_limit", "filtered"]);
  for (const mode of CALL_MODES) {
    const { scores } = onlyRow([unanswered(question("q", { mode }), { outcome: "step_limit" })]);
    const all = [scores.routing, scores.syntax, scores.structure, scores.exact].map((one) =>
      one.all
    );
    assertEquals(all, mode === "routing" ? [0, null, null, null] : [0, 0, 0, 0]);
  }
  // An answer counts, whatever ended the trial then.
  const { limited: none, scores } = onlyRow([
    answered(question("q"), "routing", { outcome: "call_limit" }),
  ]);
  assertEquals([none, scores.routing.all, scores.exact.all], [0, 1, 0]);
});

Deno.test("measureCallSets() keeps apart each way of asking, and each subject", () => {
  const ways = [
    {},
    { mode: "tools" },
    { rule: "strict" },
    { input: "yaml" },
    { output: "yaml" },
    { set: "bank" },
  ] as const;
  const trials = ways.flatMap((way) => [
    answered(question("q", way), "exact", { model: "a" }),
    answered(question("q", way), "routing", { model: "a", strategy: "repair" }),
    answered(question("q", way), "nothing", {
      model: "sim:b",
      simulated: true,
      perturbation: "RD",
    }),
  ]);
  const all = measureCallSets(
    trials.toSorted((one, other) => one.strategy < other.strategy ? -1 : 1),
  );
  assertEquals(all.map(({ name }) => name), [
    "shop parameters",
    "shop tools",
    "shop parameters, strict",
    "shop parameters, yaml to json",
    "shop parameters, json to yaml",
    "bank parameters",
  ]);
  assertEquals(all.map(({ set, mode, rule, input, output }) => [set, mode, rule, input, output]), [
    ["shop", "parameters", "published", "json", "json"],
    ["shop", "tools", "published", "json", "json"],
    ["shop", "parameters", "strict", "json", "json"],
    ["shop", "parameters", "published", "yaml", "json"],
    ["shop", "parameters", "published", "json", "yaml"],
    ["bank", "parameters", "published", "json", "json"],
  ]);
  for (const { rows } of all) {
    assertEquals(rows.map(({ subject, simulated }) => variantLabel(subject, simulated)), [
      "a",
      "sim:b + RD (simulated)",
      "a + repair",
    ]);
    assertEquals(rows.map(({ scores }) => scores.routing.all), [1, 0, 1]);
  }
  // What is usual may as well be said.
  const usual = { rule: "published", input: "json", output: "json" } as const;
  assertEquals(onlyRow([TRIALS[0]!, answered(question("q9", usual), "exact")]).trials, 2);
});

Deno.test("measureCallSets() has intervals from questions where these were repeated", () => {
  const worths = [["exact", "exact"], ["exact", "nothing"], ["nothing", "nothing"]] as const;
  const trials = worths.flatMap((own, place) =>
    own.map((worth, at) => answered(question(`q${place}`), worth, { repetition: at + 1 }))
  );
  const { scores, questions } = onlyRow(trials);
  assertEquals(questions, 3);
  assertEquals(scores.exact.interval, clusteredInterval([[1, 1], [1, 0], [0, 0]]));
  assertEquals([scores.exact.all, scores.exact.counts.all], [0.5, 6]);
});

/** Trials that are exact or not, with what a judge says of each. */
function judged(pairs: readonly (readonly [exact: boolean, score: number | null])[], model = "m") {
  return pairs.map(([exact, score], place) =>
    answered(question(`q${place}`), exact ? "exact" : "routing", {
      model,
      answer: { judged: score === null ? { score, why: "no score in [[ ]]" } : { score } },
    })
  );
}

Deno.test("measureCallSets() correlates the judge's scores with exact answers, over trials", () => {
  const trials = [
    ...judged([[true, 1], [true, 0.5], [false, 0], [false, 0.5], [true, null]]),
    answered(question("q9"), "exact", {
      answer: { judged: { score: null, why: "HTTP 500", unavailable: true } },
    }),
    answered(question("q10"), "exact"),
  ];
  const { correlation, ...summary } = onlyRow(trials).judging!;
  assertEquals(summary, {
    ...{ judged: 4, mean: 0.5, unusable: 1, unavailable: 1, unfit: 0, right: 0.5 },
    ...{ judges: [], usage: { inputTokens: 0, outputTokens: 0 } },
  });
  // Student's distribution with two degrees of freedom has a closed form.
  assertEquals(correlation!.n, 4);
  assertAlmostEquals(correlation!.r, Math.SQRT1_2, 1e-12);
  assertAlmostEquals(correlation!.p, 1 - Math.SQRT2 / 2, 1e-12);
});

Deno.test("measureCallSets() holds the judge's scores against the functions in mode routing", () => {
  const routed = (
    worths: readonly ("routing" | "nothing")[],
    scores: readonly number[],
    model = "m",
  ) =>
    scores.map((score, at) =>
      answered(question(`q${at}`, { mode: "routing" }), worths[at]!, {
        model,
        answer: { judged: { score } },
      })
    );
  const { right, correlation } = onlyRow(
    routed(["routing", "routing", "nothing", "nothing"], [1, 0.5, 0, 0.5]),
  ).judging!;
  assertEquals([right, correlation!.n], [0.5, 4]);
  assertAlmostEquals(correlation!.r, Math.SQRT1_2, 1e-12);
  const [metrics] = measureCallSets([
    ...routed(["routing", "routing"], [1, 0.9], "a"),
    ...routed(["routing", "nothing"], [0.6, 0.4], "b"),
    ...routed(["nothing", "nothing"], [0, 0.1], "c"),
  ]);
  assertAlmostEquals(metrics!.correlation!.r, 1, 1e-12);
});

Deno.test("measureCallSets() sets beside the judge's mean what is right of the answers with a score", () => {
  const model = (name: string, exact: number, of: number, score: number) => [
    ...judged(
      Array.from({ length: of }, (_, at) => [at < exact, score] as const),
      name,
    ),
    // Neither has a score: an answer that the judge left without one, and a trial without an answer.
    answered(question("q8"), "exact", {
      model: name,
      answer: { judged: { score: null, why: "?" } },
    }),
    unanswered(question("q9"), { model: name, outcome: "token_limit" }),
  ];
  const [metrics] = measureCallSets([
    ...model("a", 2, 2, 1),
    ...model("b", 1, 2, 0.5),
    ...model("c", 0, 2, 0),
  ]);
  assertEquals(metrics!.rows.map(({ judging }) => judging!.right), [1, 0.5, 0]);
  assertEquals(metrics!.rows.map(({ scores }) => scores.exact.all), [0.75, 0.5, 0.25]);
  assertAlmostEquals(metrics!.correlation!.r, 1, 1e-12);
  // The limits differ: over all trials the shares would be no line.
  const limited = [1, 2, 3].map((place) =>
    unanswered(question(`q1${place}`), { model: "a", outcome: "step_limit" })
  );
  const more = measureCallSets([
    ...model("a", 2, 2, 1),
    ...limited,
    ...model("b", 1, 2, 0.5),
    ...model("c", 0, 2, 0),
  ]);
  assertAlmostEquals(more[0]!.correlation!.r, 1, 1e-12);
  const without = onlyRow(judged([[true, null]])).judging!;
  assertEquals([without.mean, without.right], [null, null]);
});

Deno.test("measureCallSets() has the stability of repeated questions, as they are and normalized (CallNavi 5.3, 6.4.1)", () => {
  const outputs = (id: string, texts: readonly string[]) =>
    texts.map((output, at) =>
      answered(question(id), "exact", { repetition: at + 1, answer: { output } })
    );
  const trials = [
    // All differ; the later ones are two thirds like the first.
    ...outputs("q1", ["A b", "a b", "Ab"]).reverse(),
    ...outputs("q2", ["x", "x"]),
    ...outputs("q3", ["y"]),
    unanswered(question("q3"), { repetition: 2, outcome: "invalid" }),
    ...outputs("q4", ["z"]),
    unanswered(question("q4"), { repetition: 2, outcome: "token_limit" }),
  ];
  const { text, normalized, ...counts } = onlyRow(trials).stability!;
  assertEquals(counts, { questions: 2, leftOut: 2, repetitions: { least: 2, most: 3 }, cut: 0 });
  assertEquals(text!.election, (0 + 1) / 2);
  assertAlmostEquals(text!.levenshtein, (2 / 3 + 1) / 2, 1e-12);
  assertEquals(normalized, { election: 1, levenshtein: 1 });
});

Deno.test("measureCallSets() has no stability to tell where no repeated question has two outputs", () => {
  const spoiled = { outcome: "invalid", repetition: 2 } as const;
  const { stability } = onlyRow([
    answered(question("q"), "exact"),
    unanswered(question("q"), spoiled),
  ]);
  assertEquals(stability, {
    ...{ questions: 0, leftOut: 1, repetitions: null, cut: 0, text: null, normalized: null },
  });
  const cut = [1, 2].map((repetition) =>
    answered(question("q"), "exact", {
      repetition,
      answer: { output: "x".repeat(repetition * 5_000) },
    })
  );
  assertEquals(onlyRow(cut).stability!.cut, 1);
});

Deno.test("measureCallSets() leaves out other tasks, and what only looks like a question", () => {
  const others = [
    { core: 3, depth: 2, connected: 0, disconnected: 0, seed: 1 },
    { case: "oracle", seed: 1 },
    { case: "refunds", seed: 1 },
    { set: "x", question: "y" },
    { set: { toString: 1 }, question: null },
    { ...question("q"), set: { toString: 1 } },
    { ...question("q"), question: 7 },
    { ...question("q"), difficulty: "impossible" },
    { ...question("q"), mode: "guess" },
    { ...question("q"), rule: ["strict"] },
    { ...question("q"), input: "xml" },
  ] as unknown as Trial["task"][];
  const trials = others.map((task, index) => record({ task, id: String(index) }));
  assertEquals(measureCallSets(trials), []);
  for (const trial of trials) assert(cellName(trial).length > 5, cellName(trial));
  assertEquals(measureCallSets([]), []);
});

Deno.test("cellName() names how a question is asked", () => {
  const name = (traits: Parameters<typeof question>[1]) =>
    cellName({ task: question("q", traits) });
  assertEquals(name({}), "shop parameters, easy");
  assertEquals(name({ rule: "published", input: "json", output: "json" }), "shop parameters, easy");
  assertEquals(name({ ...hard, input: "yaml" }), "shop parameters, hard, yaml to json");
  assertEquals(
    name({ ...medium, mode: "routing", output: "yaml", rule: "strict" }),
    "shop routing, medium, json to yaml, strict",
  );
  assertEquals(name({ mode: "tools", rule: "strict" }), "shop tools, easy, strict");
});

Deno.test("tally() knows no calls where none could be made", () => {
  const written = [answered(question("q1"), "exact"), answered(question("q2"), "nothing")];
  const { rate, valid, ...calls } = tally(written);
  assertEquals([rate, valid], [0.5, 2]);
  assertEquals([calls.callsSolved, calls.callsFailed, calls.minimumCalls], [null, null, null]);
  const made = answered(question("q3", { mode: "tools" }), "exact", { calls: 2 });
  const both = tally([...written, made]);
  assertEquals([both.callsSolved, both.callsFailed, both.minimumCalls, both.rate], [
    2,
    null,
    1,
    2 / 3,
  ]);
  assertEquals(measure(written)[0]!.cells.map(({ name }) => name), ["shop parameters, easy"]);
});
