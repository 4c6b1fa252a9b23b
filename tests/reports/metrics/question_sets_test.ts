import { assert, assertAlmostEquals, assertEquals, assertStringIncludes } from "@std/assert";
import type { JsonValue } from "../../../lib/base/json.ts";
import { percent } from "../../../lib/base/numbers.ts";
import { noteText, type Table } from "../../../lib/reports/_view.ts";
import { cellName } from "../../../lib/reports/cells.ts";
import { QUESTION_SETS } from "../../../lib/reports/metrics/_question_sets.ts";
import { tally } from "../../../lib/reports/metrics/_tally.ts";
import { averageScores, type DifficultyScore } from "../../../lib/reports/metrics/difficulty.ts";
import { Report } from "../../../lib/reports/report.ts";
import { clusteredInterval } from "../../../lib/statistics/pass_at_k.ts";
import { wilson } from "../../../lib/statistics/proportions.ts";
import { DIFFICULTIES } from "../../../lib/tasks/questions/question_set.ts";
import { CALL_MODES } from "../../../lib/tasks/questions/scoring.ts";
import type { TrialSummary } from "../../../lib/trials/summary.ts";
import { OUTCOMES, type Trial } from "../../../lib/trials/trial.ts";
import { answered, question, scoresOf, unanswered, WORTHS } from "../../support/question_scores.ts";
import { record } from "../../support/records.ts";

function recordsOf(id: string, trials: readonly TrialSummary[]): Record<string, JsonValue>[] {
  const metric = QUESTION_SETS.find((metric) => metric.id === id)!;
  return metric.records(new Report(trials, { suite: "s" }));
}

/** Returns parts of the records of a metric. */
function partsOf(id: string, trials: readonly TrialSummary[], ...fields: readonly string[]) {
  return recordsOf(id, trials).map((own) => fields.map((field) => own[field]));
}

function tables(trials: readonly TrialSummary[]): Map<string, Table> {
  const report = new Report(trials, { suite: "s" });
  const all = QUESTION_SETS.flatMap((metric) => metric.tables(report, "terminal"));
  return new Map(all.map((table) => [table.id, table]));
}

/** Returns the texts of a table, its headings first, or of some of its columns. */
function texts({ heads, rows }: Table, ...columns: readonly number[]): string[][] {
  const names = heads.map(({ text, group }, at) =>
    group !== undefined && group !== heads[at - 1]?.group ? `${group}: ${text}` : text
  );
  return [names, ...rows.map((row) => row.map(({ text }) => text))]
    .map((row) => columns.length === 0 ? row : columns.map((column) => row.at(column)!));
}

const interval = (count: number, of: number) => {
  const { lower, upper } = wilson(count, of);
  return `${percent(lower)} to ${percent(upper)}`;
};

const medium = { difficulty: "medium" } as const;
const hard = { difficulty: "hard" } as const;

/** Of one model: two easy questions, a medium one and a hard one. */
const TRIALS: readonly TrialSummary[] = [
  answered(question("q1"), "exact", { answer: { judged: { score: 1 } } }),
  answered(question("q2"), "structure", {
    answer: { judged: { score: 0.5 }, errors: ["logical_error"] },
  }),
  answered(question("q3", medium), "routing", {
    answer: { judged: { score: 0.25 }, errors: ["logical_error", "hallucination"] },
  }),
  answered(question("q4", hard), "nothing", {
    answer: { judged: { score: null, why: "out of range" }, errors: ["unexpected_formatting"] },
  }),
];

/** A trial at a limit, and one each that does not count for every reason. */
const ASIDE: readonly TrialSummary[] = [
  unanswered(question("q5", hard), { outcome: "token_limit" }),
  answered(question("q6", hard), "exact", { outcome: "invalid" }),
  answered(question("q7", hard), "exact", { changed: false }),
  unanswered(question("q8", hard), { outcome: "wrong_answer" }),
];

Deno.test("QUESTION_SETS have scores by difficulty, and count what is in no score (CallNavi 6.4)", () => {
  const trials = [...TRIALS, ...ASIDE];
  const scoreOf = (metric: string, score: string) => {
    const averages = ["easy", "medium", "hard", "all", "all_lower", "all_upper", "macro"];
    const counts = ["easy_of", "medium_of", "hard_of", "all_of"].map((of) => `${score}_${of}`);
    assertEquals(partsOf(metric, trials, ...counts), [[2, 1, 2, 5]]);
    return partsOf(metric, trials, ...averages.map((average) => `${score}_${average}`))[0];
  };
  const [one, two, three] = [wilson(1, 5), wilson(2, 5), wilson(3, 5)];
  for (const score of ["routing", "syntax"]) {
    assertEquals(scoreOf("call-set-functions", score), [
      ...[1, 1, 0, 0.6, three.lower, three.upper, 2 / 3],
    ]);
  }
  assertEquals(scoreOf("call-set-functions", "structure"), [
    ...[1, 0, 0, 0.4, two.lower, two.upper, 1 / 3],
  ]);
  assertEquals(scoreOf("call-set-calls", "exact"), [
    ...[0.5, 0, 0, 0.2, one.lower, one.upper, 0.5 / 3],
  ]);
  assertEquals(partsOf("call-set-functions", trials, "questions", "trials"), [[5, 8]]);
  const table = tables(trials).get("call-set-functions-1")!;
  assertEquals(texts(table, 1, -2, -1), [
    ["trials", "limited", "unscored"],
    ["2+1+2", "1", "1"],
  ]);
  assertStringIncludes(
    noteText(table),
    "limited: reached a limit without an answer, which is wrong",
  );
});

Deno.test("QUESTION_SETS count each limit and a filter as wrong, and no other end without an answer", () => {
  const shares = ["routing_all", "syntax_all", "structure_all"];
  const limited = OUTCOMES.filter((outcome) =>
    recordsOf("call-set-functions", [unanswered(question("q"), { outcome })])[0]!["limited"] === 1
  );
  assertEquals(limited, ["call_limit", "step_limit", "time_limit", "token_limit", "filtered"]);
  for (const mode of CALL_MODES) {
    const trials = [unanswered(question("q", { mode }), { outcome: "step_limit" })];
    const isRouting = mode === "routing";
    assertEquals(partsOf("call-set-functions", trials, ...shares), [
      isRouting ? [0, null, null] : [0, 0, 0],
    ]);
    assertEquals(partsOf("call-set-calls", trials, "exact_all"), isRouting ? [] : [[0]]);
  }
  // An answer counts, whatever ended the trial then.
  const late = [answered(question("q"), "routing", { outcome: "call_limit" })];
  assertEquals(partsOf("call-set-functions", late, "limited", ...shares), [[0, 1, 1, 0]]);
});

Deno.test("QUESTION_SETS keep apart each way of asking, and each subject", () => {
  const ways = [
    ["shop", "parameters", "published", "json", "json"],
    ["shop", "tools", "published", "json", "json"],
    ["shop", "parameters", "strict", "json", "json"],
    ["shop", "parameters", "published", "yaml", "json"],
    ["shop", "parameters", "published", "json", "yaml"],
    ["bank", "parameters", "published", "json", "json"],
  ] as const;
  const trials = ways.flatMap(([set, mode, rule, input, output]) => {
    const task = question("q", { set, mode, rule, input, output });
    return [
      answered(task, "exact", { model: "a" }),
      answered(task, "nothing", { model: "sim:b", simulated: true, perturbation: "RD" }),
      answered(task, "routing", { model: "a", strategy: "repair" }),
    ];
  });
  // What is usual need not be said.
  trials.push(answered(question("q2"), "exact", { model: "a" }));
  const fields = ["set", "mode", "rule", "input", "output", "name", "routing_all"];
  assertEquals(
    partsOf("call-set-functions", trials, ...fields),
    ways.flatMap((way) => [
      [...way, "a", 1],
      [...way, "sim:b + RD (simulated)", 0],
      [...way, "a + repair", 1],
    ]),
  );
  const titles = tables(trials).values().map(({ title }) => title);
  assertEquals(titles.filter((title) => title.startsWith("Right calls")).toArray(), [
    ...["Right calls: shop parameters", "Right calls: shop tools"],
    ...["Right calls: shop parameters, strict", "Right calls: bank parameters"],
  ]);
});

Deno.test("QUESTION_SETS have intervals from questions where these were repeated", () => {
  const worths = [["exact", "exact"], ["exact", "nothing"], ["nothing", "nothing"]] as const;
  const trials = worths.flatMap((own, at) =>
    own.map((worth, place) => answered(question(`q${at}`), worth, { repetition: place + 1 }))
  );
  const { lower, upper } = clusteredInterval([[1, 1], [1, 0], [0, 0]])!;
  const fields = ["exact_all", "exact_all_of", "exact_all_lower", "exact_all_upper"];
  assertEquals(partsOf("call-set-calls", trials, ...fields), [[0.5, 6, lower, upper]]);
  assertEquals(partsOf("call-set-functions", trials, "questions"), [[3]]);
});

Deno.test("QUESTION_SETS have what answers are worth in the columns of Table 4 (CallNavi 6.4)", () => {
  const all = tables(TRIALS);
  assertEquals([...all.keys()], [
    ...["call-set-functions-1", "call-set-calls-1", "call-set-judge", "call-set-errors"],
  ]);
  const { title, paper, source, section } = all.get("call-set-calls-1")!;
  assertEquals([title, section], ["Right calls: shop parameters", "call sets"]);
  assertEquals([paper, source], ["CallNavi", "Table 4"]);
  const more = [
    ...["route_then_fill", "backward"].map((strategy) =>
      answered(question("q"), "exact", { strategy })
    ),
    answered(question("q", { output: "yaml" }), "exact"),
  ];
  const sources = [more.slice(0, 1), more.slice(1), more].map((own) =>
    tables(own).get("call-set-functions-1")!.source
  );
  assertEquals(sources, ["Tables 4 and 5", "Tables 4, 6 and 8", "Tables 4, 5, 6 and 8"]);
  assertEquals(texts(all.get("call-set-functions-1")!), [
    [
      ...["model", "trials", "routing: easy", "medium", "hard", "all", "95% interval"],
      ...["syntax", "structure"],
    ],
    ["m", "2+1+1", "100.0%", "100.0%", "0.0%", "75.0%", interval(3, 4), "75.0% of 4", "50.0% of 4"],
  ]);
  assertEquals(texts(all.get("call-set-calls-1")!), [
    ["model", "trials", "exact: easy", "medium", "hard", "all", "95% interval", "macro", "judge"],
    ["m", "2+1+1", "50.0%", "0.0%", "0.0%", "25.0%", interval(1, 4), "16.7%", "0.58"],
  ]);
});

Deno.test("QUESTION_SETS show no column that no row has", () => {
  const tablesOf = (mode: typeof CALL_MODES[number]) => [
    ...tables([answered(question("q1", { mode }), "exact")]).values(),
  ];
  const headsOf = (mode: typeof CALL_MODES[number]) =>
    tablesOf(mode).map((table) => texts(table)[0]!.slice(2).join());
  const [routing, exact] = ["routing: easy,all,95% interval", "exact: easy,all,95% interval"];
  assertEquals(headsOf("parameters"), [`${routing},syntax,structure`, exact]);
  assertEquals(headsOf("routing"), [routing]);
  // What was called is no text.
  assertEquals(headsOf("tools"), [`${routing},structure`, exact]);
  // The paper has no such mode.
  assertEquals(tablesOf("tools").map(({ source }) => source), [undefined, undefined]);
});

Deno.test("QUESTION_SETS leave out other tasks, and what only looks like a question", () => {
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
  const found = new Report(trials, { suite: "s" });
  assertEquals(QUESTION_SETS.flatMap((metric) => metric.records(found)), []);
  assertEquals(tables([]).size, 0);
  for (const trial of found.trials) assert(cellName(trial).length > 5, cellName(trial));
});

Deno.test("QUESTION_SETS have what answers were worth before they were repaired, beside the final ones", () => {
  const repaired = { strategy: "repair", answer: { unrepaired: scoresOf("nothing") } };
  const trials = [
    answered(question("q1"), "exact", repaired),
    answered(question("q2"), "exact", { strategy: "repair", answer: { judged: { score: 1 } } }),
    answered(question("q1"), "exact"),
  ];
  const all = tables(trials);
  assertEquals(texts(all.get("call-set-calls-1")!, 0, 1, 4, 6), [
    ["model", "answers", "all", "judge"],
    ["m + repair", "final", "100.0%", "1.00"],
    // No judge has seen it.
    ["m + repair", "before repair", "50.0%", "-"],
    ["m", "final", "100.0%", "-"],
  ]);
  assertEquals(texts(all.get("call-set-functions-1")!, -1).flat(), ["repaired", "1", "1", "0"]);
  assertEquals(partsOf("call-set-errors", trials, "name"), [["m + repair"], ["m"]]);
  assert(!texts(tables(trials.slice(1)).get("call-set-calls-1")!)[0]!.includes("answers"));
});

Deno.test("QUESTION_SETS compare JSON and YAML as in Table 8, where several were tried (CallNavi E.4)", () => {
  const formats = [{}, { input: "yaml" }, { input: "yaml", output: "yaml" }] as const;
  const trials = formats.flatMap((way, at) => [
    answered(question("q1", way), WORTHS[4 - at]!),
    answered(question("q2", { ...way, difficulty: "hard" }), WORTHS[3 - at]!),
  ]);
  const all = tables(trials);
  assertEquals(texts(all.get("call-set-functions-1")!, 0, 1, 2, 3, -2, -1), [
    ["input", "output", "model", "trials", "syntax", "structure"],
    ["json", "json", "m", "1+0+1", "100.0% of 2", "100.0% of 2"],
    ["yaml", "json", "m", "1+0+1", "100.0% of 2", "50.0% of 2"],
    ["yaml", "yaml", "m", "1+0+1", "100.0% of 2", "0.0% of 2"],
  ]);
  assertEquals(texts(all.get("call-set-calls-1")!, 4, 5, 6, 7), [
    ["exact: easy", "hard", "all", "95% interval"],
    ["100.0%", "0.0%", "50.0%", interval(1, 2)],
    ["0.0%", "0.0%", "0.0%", interval(0, 2)],
    ["0.0%", "0.0%", "0.0%", interval(0, 2)],
  ]);
});

/** Trials that asked in stages of strategies. */
function staged(trials: readonly TrialSummary[], askedStages: readonly string[]): TrialSummary[] {
  return trials.map((trial) => ({ ...trial, askedStages }));
}

Deno.test("QUESTION_SETS have Table 5 where functions were picked first, and who picked them (CallNavi 7.1)", () => {
  const difficult = question("h", hard);
  const trials = [
    answered(question("q1"), "nothing"),
    answered(difficult, "nothing"),
    ...staged([
      answered(question("q1"), "exact", { strategy: "route_then_fill" }),
      answered(difficult, "nothing", { strategy: "route_then_fill" }),
    ], ["route", "fill"]),
    // Its name says nothing of what it is.
    ...staged([answered(question("q1"), "exact", { strategy: "helped" })], ["route", "fill"])
      .map((trial) => ({
        ...trial,
        stages: [{
          stage: "route",
          model: { requested: "g", served: [], simulated: true },
          usage: { inputTokens: 1, outputTokens: 1 },
        }],
      })),
  ];
  assertEquals(texts(tables(trials).get("call-set-calls-1")!), [
    ["model", "picked by", "trials", "exact: easy", "hard", "all", "95% interval"],
    ["m", "-", "1+0+1", "0.0%", "0.0%", "0.0%", interval(0, 2)],
    ["m + route_then_fill", "itself", "1+0+1", "100.0%", "0.0%", "50.0%", interval(1, 2)],
    ["m + helped", "g (simulated)", "1+0+0", "100.0%", "-", "100.0%", interval(1, 1)],
  ]);
  assertEquals(partsOf("call-set-calls", trials, "picked_by"), [[null], ["m"], ["g (simulated)"]]);
});

Deno.test("QUESTION_SETS have Table 6: hard questions, plain and with backward inference (CallNavi 7.2)", () => {
  const of = (mode: "routing" | "parameters", strategy: string, right: number) =>
    ["h1", "h2"].map((id, at) =>
      answered(
        question(id, { ...hard, mode }),
        at >= right ? "nothing" : mode === "routing" ? "routing" : "exact",
        { strategy },
      )
    );
  const trials = [
    ...of("parameters", "plain", 1),
    ...of("routing", "plain", 0),
    ...staged([...of("parameters", "backward", 2), ...of("routing", "backward", 1)], ["infer"]),
  ];
  const all = tables(trials);
  assertEquals(texts(all.get("call-set-functions-2")!, 0, 2), [
    ...[["model", "routing: hard"], ["m", "0.0%"], ["m + backward", "50.0%"]],
  ]);
  assertEquals(texts(all.get("call-set-calls-1")!, 0, 2), [
    ...[["model", "exact: hard"], ["m", "50.0%"], ["m + backward", "100.0%"]],
  ]);
  const inferred = partsOf("call-set-functions", trials, "inferred").flat();
  assertEquals(inferred, [false, true, false, true]);
});

Deno.test("QUESTION_SETS break answers down by domain, those without an answer too (CallNavi 4.1)", () => {
  const within = (domain: string, trial: TrialSummary): TrialSummary => ({ ...trial, domain });
  const trials = [
    within("bank", answered(question("q1"), "exact")),
    within("hotel", answered(question("q2"), "structure")),
    within("bank", answered(question("q3", hard), "routing")),
    within("bank", unanswered(question("q4"), { outcome: "token_limit" })),
  ];
  const table = tables(trials).get("call-set-domains-1")!;
  assertEquals(table.title, "Scores by domain: shop parameters");
  const texted = (count: number, of: number) => [percent(count / of), interval(count, of)];
  assertEquals(texts(table), [
    [
      ...["domain", "model", "questions", "trials", "routing", "95% interval", "structure"],
      ...["exact", "95% interval"],
    ],
    ["bank", "m", "3", "2+0+1", ...texted(2, 3), "33.3% of 3", ...texted(1, 3)],
    ["hotel", "m", "1", "1+0+0", ...texted(1, 1), "100.0% of 1", ...texted(0, 1)],
  ]);
  // Journals of other tools may name none.
  const [{ domain: _, ...unnamed }, ...others] = trials as [TrialSummary, ...TrialSummary[]];
  const domains = partsOf("call-set-domains", [unnamed, ...others], "domain", "exact_easy");
  assertEquals(domains, [["hotel", 0], ["bank", 0], ["not recorded", 1]]);
  assertEquals(recordsOf("call-set-domains", [unnamed, others[1]!]), []);
});

Deno.test("QUESTION_SETS tell of errors, and ways of asking apart where there are several (CallNavi F.4)", () => {
  const routing = answered(question("q1", { mode: "routing" }), "nothing", {
    answer: { errors: ["unexpected_formatting"], judged: { score: 0 } },
  });
  const all = tables([...TRIALS, ...ASIDE, routing]);
  const errors = all.get("call-set-errors")!;
  assertEquals([errors.title, errors.section], ["Errors in answers", "failures"]);
  assertEquals(texts(errors), [
    ["mode", "model", "answers", "hallucination", "unexpected formatting", "logical error"],
    ["parameters", "m", "4", "25.0%", "25.0%", "50.0%"],
    ["routing", "m", "1", "0.0%", "100.0%", "0.0%"],
  ]);
  assertEquals(texts(all.get("call-set-judge")!)[2], [
    ...["routing", "m", "0.00", "1", "0", "0.0%", "not available", "not available"],
  ]);
});

/** Trials of a model that are right or not, with the scores of a judge. */
function judged(
  pairs: readonly (readonly [right: boolean, score: number | null])[],
  model = "m",
  mode: "parameters" | "routing" = "parameters",
) {
  const [right, wrong] = mode === "routing"
    ? ["routing", "nothing"] as const
    : ["exact", "routing"] as const;
  return pairs.map(([isRight, score], at) =>
    answered(question(`q${at}`, { mode }), isRight ? right : wrong, {
      model,
      answer: { judged: score === null ? { score, why: "no score in [[ ]]" } : { score } },
    })
  );
}

Deno.test("QUESTION_SETS correlate a judge's scores with right answers, over trials", () => {
  const pairs = [[true, 1], [true, 0.5], [false, 0], [false, 0.5]] as const;
  const missing = { score: null, why: "?" } as const;
  const trials = [
    ...judged([...pairs, [true, null]]),
    answered(question("q8"), "exact", { answer: { judged: { ...missing, unavailable: true } } }),
    answered(question("q9"), "exact", { answer: { judged: { ...missing, unfit: true } } }),
    answered(question("q10"), "exact"),
  ];
  const fields = ["judge", "judged", "unusable", "unavailable", "unfit", "exact"];
  assertEquals(partsOf("call-set-judge", trials, ...fields), [[0.5, 4, 1, 1, 1, 0.5]]);
  for (const own of [trials, judged(pairs, "m", "routing")]) {
    // Student's distribution with two degrees of freedom has a closed form.
    const [{ correlation, correlation_of, p }] = recordsOf("call-set-judge", own) as [
      Record<string, number>,
    ];
    assertEquals(correlation_of, 4);
    assertAlmostEquals(correlation!, Math.SQRT1_2, 1e-12);
    assertAlmostEquals(p!, 1 - Math.SQRT2 / 2, 1e-12);
  }
  assertEquals(partsOf("call-set-judge", judged([[true, null]]), "judge", "exact"), [[null, null]]);
});

Deno.test("QUESTION_SETS correlate over models where there are three, of the answers with a score (CallNavi 6.4)", () => {
  const trials = [["a", 2, 1], ["b", 1, 0.5], ["c", 0, 0]].flatMap(([name, exact, score]) => {
    const model = String(name);
    return [
      ...judged([0, 1].map((at) => [at < Number(exact), Number(score)] as const), model),
      // None has a score: neither does a model without any count.
      answered(question("q8"), "exact", { model, answer: { judged: { score: null, why: "?" } } }),
      unanswered(question("q9"), { model, outcome: "token_limit" }),
    ];
  });
  const beside = judged([[true, null]], "d");
  assertEquals(partsOf("call-set-judge", trials, "judge", "exact"), [[1, 1], [0.5, 0.5], [0, 0]]);
  const table = tables([...trials, ...beside]).get("call-set-judged-models")!;
  assertEquals([table.paper, table.source], ["CallNavi", "section 6.4"]);
  assertEquals(texts(table), [
    ["questions of", "rows", "correlation", "p"],
    ["shop parameters", "3", "1.000", "below 0.0001"],
  ]);
  const constant = ["a", "b", "c"].flatMap((model) => judged([[true, 1]], model));
  assertEquals(texts(tables(constant).get("call-set-judged-models")!)[1], [
    ...["shop parameters", "3", "not available", "not available"],
  ]);
  assertEquals(recordsOf("call-set-judged-models", constant.slice(1)), []);
});

Deno.test("QUESTION_SETS name the judge with the models that served it, and what it read and wrote", () => {
  const judgedBy = (
    model: { readonly requested: string; readonly served: string[]; readonly simulated?: boolean },
    traits: Parameters<typeof answered>[2] = {},
    estimated?: true,
  ) =>
    answered(question("q1"), "exact", {
      judging: {
        model: { simulated: false, ...model },
        usage: { inputTokens: 900, outputTokens: 7, estimated },
      },
      ...traits,
      answer: { judged: { score: 1 } },
    });
  const mini = { requested: "sim:mini", served: ["sim:mini"], simulated: true };
  const trials = [
    judgedBy({ requested: "big", served: ["big-1"] }),
    judgedBy({ requested: "big", served: ["big-2"] }),
    judgedBy(mini),
    // It was paid for all the same.
    judgedBy(mini, { outcome: "invalid" }),
    judgedBy({ requested: "big", served: [] }, { model: "b" }, true),
    answered(question("q1"), "exact", { model: "c", answer: { judged: { score: 1 } } }),
  ];
  assertEquals(texts(tables(trials).get("call-set-judge")!, 1, -2, -1), [
    ["judged by", "tokens read", "written"],
    ["big as big-1, big as big-2, sim:mini (simulated)", "3,600", "28"],
    ["big", "~900", "~7"],
    ["-", "-", "-"],
  ]);
  const headOf = (own: readonly TrialSummary[]) =>
    texts(tables(own).get("call-set-calls-1")!, -1)[0];
  assertEquals([trials, trials.slice(0, 2), trials.slice(2, 4)].map(headOf), [
    ["judge (in part simulated)"],
    ["judge"],
    ["judge (simulated)"],
  ]);
});

Deno.test("QUESTION_SETS have the stability of repeated answers as in Table 7, as they are and normalized (CallNavi 5.3, 6.4.1)", () => {
  const outputs = (id: string, texts: readonly string[]) =>
    texts.map((output, at) =>
      answered(question(id), "exact", { repetition: at + 1, answer: { output } })
    );
  const trials = [
    // All differ; the later ones are two thirds like the first.
    ...outputs("q1", ["A b", "a b", "Ab"]).reverse(),
    ...outputs("q2", ["x", "x"]),
    ...outputs("q3", ["y"]),
    answered(question("q3"), "exact", { repetition: 2, outcome: "invalid" }),
    ...outputs("q4", ["z"]),
    unanswered(question("q4"), { repetition: 2, outcome: "token_limit" }),
    answered(question("q5"), "exact", { changed: false }),
  ];
  const table = tables(trials).get("call-set-stability")!;
  assertEquals([table.paper, table.source], ["CallNavi", "Table 7"]);
  assertEquals(texts(table), [
    [
      ...["model", "questions", "repetitions", "text: election", "Levenshtein"],
      ...["normalized: election", "Levenshtein", "left out"],
    ],
    ["m", "2", "2 to 3", "0.50", "0.83", "1.00", "1.00", "2"],
  ]);
  const [{ fewest, repetitions, text_levenshtein }] = recordsOf("call-set-stability", trials) as [
    Record<string, number>,
  ];
  assertEquals([fewest, repetitions], [2, 3]);
  assertAlmostEquals(text_levenshtein!, (2 / 3 + 1) / 2, 1e-12);
  const cut = outputs("q", ["x".repeat(5_000), "x".repeat(10_000)]);
  assertEquals(partsOf("call-set-stability", cut, "fewest", "repetitions", "cut"), [[2, 2, 1]]);
});

Deno.test("QUESTION_SETS have no stability to tell where no repeated question has two outputs", () => {
  const trials = [
    answered(question("q"), "exact"),
    unanswered(question("q"), { outcome: "invalid", repetition: 2 }),
  ];
  const fields = [
    "questions",
    "left_out",
    "repetitions",
    "text_election",
    "normalized_levenshtein",
  ];
  assertEquals(partsOf("call-set-stability", trials, ...fields), [[0, 1, null, null, null]]);
  assertEquals(recordsOf("call-set-stability", trials.slice(1)), []);
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
});

Deno.test("tally() knows no calls where none could be made", () => {
  const written = [answered(question("q1"), "exact"), answered(question("q2"), "nothing")];
  const made = answered(question("q3", { mode: "tools" }), "exact", { calls: 2 });
  const callsOf = (trials: readonly TrialSummary[]) => {
    const { success: { value }, callsSolved, callsFailed, fewestSolved } = tally(trials);
    return [value, callsSolved, callsFailed, fewestSolved];
  };
  assertEquals(callsOf(written), [0.5, null, null, null]);
  assertEquals(callsOf([...written, made]), [2 / 3, 2, null, 1]);
});

/** Scores of one difficulty. */
function of(difficulty: DifficultyScore["difficulty"], ...values: DifficultyScore["value"][]) {
  return values.map((value) => ({ difficulty, value }));
}

Deno.test("averageScores() averages by difficulty, over all, and over difficulties (CallNavi 6.4)", () => {
  const scores = [
    ...of("hard", false, 0.5),
    ...of("easy", true, true, false, 1),
    ...of("medium", true, null),
  ];
  assertEquals(averageScores(scores), {
    ...{ easy: 0.75, medium: 1, hard: 0.25, all: 4.5 / 7, macro: 2 / 3 },
    counts: { easy: 4, medium: 1, hard: 2, all: 7 },
  });
  const two = averageScores([...of("easy", true), ...of("hard", false), ...of("medium", null)]);
  assertEquals([two.easy, two.medium, two.hard, two.all, two.macro], [1, null, 0, 0.5, null]);
  assertEquals(averageScores([]).all, null);
});

Deno.test("averageScores() of the paper's first row gives its averages (CallNavi 6.4)", () => {
  // GPT4o of Table 4: "All Avg." counts questions, "Macro Avg." difficulties.
  const rates = { easy: [456, 0.802], medium: [188, 0.638], hard: [85, 0.388] } as const;
  const scores = DIFFICULTIES.flatMap((difficulty) =>
    of(difficulty, ...new Array<number>(rates[difficulty][0]).fill(rates[difficulty][1]))
  );
  const { all, macro } = averageScores(scores);
  assertEquals([all!.toFixed(3), macro!.toFixed(3)], ["0.711", "0.609"]);
});
