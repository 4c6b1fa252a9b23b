import {
  assert,
  assertEquals,
  assertMatch,
  assertNotMatch,
  assertStringIncludes,
} from "@std/assert";
import { wilson } from "../../../lib/statistics/proportions.ts";
import { makeReport } from "../../../lib/reports/report.ts";
import { callSetTables } from "../../../lib/reports/tables/_question_sets.ts";
import { wordsIn } from "../../../lib/reports/_glossary.ts";
import type { Table } from "../../../lib/reports/_view.ts";
import { tablesOf } from "../../../lib/reports/_views.ts";
import { renderTables } from "../../../lib/reports/terminal.ts";
import type { TrialSummary } from "../../../lib/trials/summary.ts";
import { percent } from "../../../lib/base/numbers.ts";
import { answered, question, scoresOf, unanswered, WORTHS } from "../../support/question_scores.ts";
import { record } from "../../support/records.ts";

function tables(trials: readonly TrialSummary[]): Map<string, Table> {
  const all = callSetTables(makeReport(trials, { suite: "s" }));
  assertEquals(new Set(all.map(({ id }) => id)).size, all.length, "ids must differ");
  for (const { rows, id } of all) {
    assertEquals(new Set(rows.map(({ length }) => length)).size, 1, `${id} has uneven rows`);
  }
  return new Map(all.map((table) => [table.id, table]));
}

/** Of one model: two easy questions, a medium one and a hard one. */
const TRIALS: readonly TrialSummary[] = [
  answered(question("q1"), "exact", { answer: { judged: { score: 1 } } }),
  answered(question("q2"), "structure", {
    answer: { judged: { score: 0.5 }, errors: ["logical_error"] },
  }),
  answered(question("q3", { difficulty: "medium" }), "routing", {
    answer: { judged: { score: 0.25 }, errors: ["logical_error", "hallucination"] },
  }),
  answered(question("q4", { difficulty: "hard" }), "nothing", {
    answer: {
      judged: { score: null, why: "out of range" },
      errors: ["unexpected_formatting"],
    },
  }),
];

const interval = (count: number, of: number) => {
  const { lower, upper } = wilson(count, of);
  return `${percent(lower)} to ${percent(upper)}`;
};

Deno.test("callSetTables() has what answers are worth in the columns of Table 4 (CallNavi 6.4)", () => {
  const all = tables(TRIALS);
  const { title, paper, source, section } = all.get("call-set-1")!;
  assertEquals([title, section], ["Right calls: shop parameters", "call sets"]);
  assertEquals([paper, source], ["CallNavi", "Table 4"]);
  assertEquals([...all.keys()], [
    ...["call-set-1-functions", "call-set-1", "call-set-errors", "call-set-judge"],
  ]);
  assertEquals(all.get("call-set-1-functions")!.rows, [
    [
      ...["model", "trials", "routing: easy", "medium", "hard", "all", "95% interval"],
      ...["syntax", "structure"],
    ],
    ["m", "2+1+1", "100.0%", "100.0%", "0.0%", "75.0%", interval(3, 4), "75.0%", "50.0%"],
  ]);
  assertEquals(all.get("call-set-1")!.rows, [
    ["model", "trials", "exact: easy", "medium", "hard", "all", "95% interval", "macro", "judge"],
    ["m", "2+1+1", "50.0%", "0.0%", "0.0%", "25.0%", interval(1, 4), "16.7%", "0.583"],
  ]);
});

Deno.test("renderTables() tells of a call set as a whole, and of nothing that has no meaning there", () => {
  const told = renderTables(TRIALS.map((trial) => ({
    ...trial,
    model: { requested: "sim:m", served: "sim:m", simulated: true },
  })));
  assertEquals(told.split("\n\n").map((part) => part.split("\n")[0]), [
    "(simulated: a program, no language model)",
    "Effort: tokens read 40, written 8",
    "Right functions: shop parameters (as in CallNavi, Table 4)",
    "Right calls: shop parameters (as in CallNavi, Table 4)",
    "The judge and exact calls: shop parameters (as in CallNavi, section 6.4)",
    "Errors in answers: shop parameters (as in CallNavi, appendix F)",
  ]);
  assertMatch(
    told,
    /^Success by difficulty: sim:m \(simulated\)\nquestions +trials +solved +95% interval +invalid$/m,
  );
});

Deno.test("callSetTables() leaves out what no row has, and says what it cannot tell", () => {
  const easy = tables([answered(question("q1"), "exact")]);
  assertEquals([...easy.keys()], ["call-set-1-functions", "call-set-1"]);
  assertEquals(easy.get("call-set-1")!.rows[0], [
    ...["model", "trials", "exact: easy", "all", "95% interval"],
  ]);
  const routing = tables([answered(question("q1", { mode: "routing" }), "routing")]);
  assertEquals([...routing.keys()], ["call-set-1"]);
  const { title, rows, note } = routing.get("call-set-1")!;
  assertEquals(title, "Right functions: shop routing");
  assertEquals(rows[0], ["model", "trials", "routing: easy", "all", "95% interval"]);
  assert(!note!.includes("exact"), note);
  const made = tables([answered(question("q1", { mode: "tools" }), "exact")]).get(
    "call-set-1-functions",
  )!;
  assertEquals([made.paper, made.source], [undefined, undefined]);
  assert(!made.rows[0]!.includes("syntax"), "what was called is no text");
  assertEquals(tables([record()]).size, 0);
  assertEquals(tables([]).size, 0);
});

Deno.test("callSetTables() counts trials that are in no share, or wrong for want of an answer", () => {
  const spoiled: readonly TrialSummary[] = [
    ...TRIALS,
    unanswered(question("q5"), { outcome: "call_limit" }),
    unanswered(question("q6"), { outcome: "invalid" }),
    unanswered(question("q7"), { changed: false }),
    unanswered(question("q8"), { outcome: "wrong_answer" }),
    answered(question("q1"), "exact", { model: "b" }),
  ];
  const { rows, note } = tables(spoiled).get("call-set-1-functions")!;
  assertEquals(rows.map((row) => row.slice(-4)), [
    ["invalid", "unchanged", "limited", "unscored"],
    ["1", "1", "1", "1"],
    ["-", "-", "-", "-"],
  ]);
  assertEquals(rows[1]![1], "3+1+1");
  assertStringIncludes(
    note!,
    "limited: reached a limit without an answer, which is wrong by every score",
  );
  assertStringIncludes(note!, "unscored: without scores, and in no share");
  const usual = tables(TRIALS).get("call-set-1-functions")!.note!;
  assert(!usual.includes("limited") && !usual.includes("unscored"), usual);
});

Deno.test("callSetTables() has what answers were worth before they were repaired, apart", () => {
  const trials = [
    answered(question("q1"), "exact", {
      strategy: "repair",
      answer: { unrepaired: scoresOf("nothing") },
    }),
    answered(question("q2"), "exact", { strategy: "repair", answer: { judged: { score: 1 } } }),
    answered(question("q1"), "exact"),
  ];
  const all = tables(trials);
  const { title, rows: [heads] } = all.get("call-set-1-unrepaired")!;
  assertEquals(title, "Right calls before repair: shop parameters");
  assert(!heads!.includes("judge"), "no judge has seen them");
  const { rows } = all.get("call-set-1-unrepaired-functions")!;
  assertEquals(rows[0]!.at(-1), "repaired");
  assertEquals(rows.length, 2);
  assertEquals([rows[1]![0], rows[1]![2], rows[1]!.at(-1)], ["m + repair", "50.0%", "1"]);
  assertEquals([...tables(trials.slice(1)).keys()], [
    ...["call-set-1-functions", "call-set-1", "call-set-judge"],
  ]);
});

Deno.test("callSetTables() compares JSON and YAML as in Table 8, where several were tried (CallNavi E.4)", () => {
  const formats = [{}, { input: "yaml" }, { input: "yaml", output: "yaml" }] as const;
  const trials = formats.flatMap((way, at) => [
    answered(question("q1", way), WORTHS[4 - at]!),
    answered(question("q2", { ...way, difficulty: "hard" }), WORTHS[3 - at]!),
  ]);
  const all = tables(trials);
  const { title, paper, source, rows } = all.get("call-set-formats-1")!;
  assertEquals([title, paper, source], ["JSON and YAML: shop parameters", "CallNavi", "Table 8"]);
  assertEquals(rows, [
    [
      ...["formats", "trials", "syntax", "structure"],
      ...["exact: easy", "hard", "all", "95% interval"],
    ],
    ["json to json: m", "1+0+1", "100.0%", "100.0%", "100.0%", "0.0%", "50.0%", interval(1, 2)],
    ["yaml to json: m", "1+0+1", "100.0%", "50.0%", "0.0%", "0.0%", "0.0%", interval(0, 2)],
    ["yaml to yaml: m", "1+0+1", "100.0%", "0.0%", "0.0%", "0.0%", "0.0%", interval(0, 2)],
  ]);
  assertEquals(
    [1, 2, 3].map((at) => all.get(`call-set-${at}`)!.source),
    ["Table 4", "Table 8", "Table 8"],
  );
  const strict = trials.map((trial) => ({ ...trial, task: { ...trial.task, rule: "strict" } }));
  const rules = tables([...trials, ...strict] as TrialSummary[]);
  assertEquals(rules.get("call-set-formats-2")!.title, "JSON and YAML: shop parameters, strict");
  const routed = tables(
    ["json", "yaml"].map((input) =>
      answered(question("q", { mode: "routing", input: input as "yaml" }), "routing")
    ),
  );
  assertEquals(routed.get("call-set-formats-1")!.rows[0], [
    ...["formats", "trials", "routing: easy", "all", "95% interval"],
  ]);
});

/** Trials with the replies of stages. */
function staged(trials: readonly TrialSummary[], askedStages: readonly string[]): TrialSummary[] {
  return trials.map((trial) => ({ ...trial, askedStages }));
}

Deno.test("callSetTables() has Table 5 where functions were picked first, and who picked them (CallNavi 7.1)", () => {
  const hard = question("h", { difficulty: "hard" });
  const all = [
    answered(question("q1"), "nothing"),
    answered(hard, "nothing"),
    ...staged([
      answered(question("q1"), "exact", { strategy: "route_then_fill" }),
      answered(hard, "nothing", { strategy: "route_then_fill" }),
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
  const found = tables(all);
  assertEquals(found.get("call-set-1")!.source, "Table 4");
  const { paper, source, rows } = found.get("call-set-1-routed")!;
  assertEquals([paper, source], ["CallNavi", "Table 5"]);
  assertEquals(rows, [
    [
      ...["model", "picked by", "trials", "exact: easy", "hard", "all", "95% interval"],
      "plain",
    ],
    [
      ...["m + route_then_fill", "itself", "1+0+1", "100.0%", "0.0%", "50.0%", interval(1, 2)],
      "0.0%",
    ],
    ["m + helped", "g", "1+0+0", "100.0%", "-", "100.0%", interval(1, 1), "0.0%"],
  ]);
  assertEquals(tables(TRIALS).get("call-set-1-routed"), undefined);
});

Deno.test("callSetTables() has Table 6: hard questions, plain and with backward inference (CallNavi 7.2)", () => {
  const hard = (id: string, mode: "routing" | "parameters") =>
    question(id, { difficulty: "hard", mode });
  const all = [
    answered(question("e"), "nothing"),
    answered(hard("h1", "parameters"), "exact"),
    answered(hard("h2", "parameters"), "nothing"),
    answered(hard("h1", "routing"), "nothing"),
    answered(hard("h2", "routing"), "nothing"),
    ...staged([
      answered(question("e"), "nothing", { strategy: "backward" }),
      answered(hard("h1", "parameters"), "exact", { strategy: "backward" }),
      answered(hard("h2", "parameters"), "exact", { strategy: "backward" }),
      answered(hard("h1", "routing"), "routing", { strategy: "backward" }),
      answered(hard("h2", "routing"), "nothing", { strategy: "backward" }),
    ], ["infer"]),
  ];
  const { paper, source, rows } = tables(all).get("call-set-inferred")!;
  assertEquals([paper, source], ["CallNavi", "Table 6"]);
  assertEquals(rows, [
    [
      ...["model", "hard trials", "routing: original", "backward"],
      ...["exact: original", "backward"],
    ],
    ["m + backward", "2+2", "0.0%", "50.0%", "50.0%", "100.0%"],
  ]);
});

Deno.test("callSetTables() breaks answers down by domain, those without an answer too (CallNavi 4.1)", () => {
  const within = (domain: string, trial: TrialSummary): TrialSummary => ({ ...trial, domain });
  const all = [
    within("bank", answered(question("q1"), "exact")),
    within("hotel", answered(question("q2"), "structure")),
    within("bank", answered(question("q3", { difficulty: "hard" }), "routing")),
    within("bank", unanswered(question("q4"), { outcome: "token_limit" })),
  ];
  const { rows, names } = tables(all).get("call-set-1-domains")!;
  assertEquals(names, 2, "models are aligned as names");
  assertEquals(rows, [
    ["domain", "model", "questions", "trials", "routing", "structure", "exact", "95% interval"],
    ["bank", "m", "3", "2+0+1", "66.7%", "33.3%", "33.3%", interval(1, 3)],
    ["hotel", "m", "1", "1+0+0", "100.0%", "100.0%", "0.0%", interval(0, 1)],
  ]);
  // Journals of other tools may name none.
  const [first, ...others] = all;
  const { domain: _, ...unnamed } = first!;
  const old = tables([unnamed, ...others]).get("call-set-1-domains")!;
  assertEquals(old.rows.map(([domain]) => domain), ["domain", "hotel", "bank", "not recorded"]);
  assertEquals(tables([within("bank", unnamed)]).get("call-set-1-domains"), undefined);
});

Deno.test("callSetTables() tells ways of asking apart where there are several", () => {
  const routing = answered(question("q1", { mode: "routing" }), "nothing", {
    answer: { errors: ["unexpected_formatting"], judged: { score: 0 } },
  });
  const all = tables([...TRIALS, routing]);
  const errors = all.get("call-set-errors")!;
  assertEquals(errors.title, "Errors in answers");
  assertEquals(errors.section, "failures");
  assertEquals(errors.rows.map((row) => row.slice(0, 3)), [
    ["model", "questions of", "answers"],
    ["m", "shop parameters", "4"],
    ["m", "shop routing", "1"],
  ]);
  assertEquals(all.get("call-set-judge")!.rows[2], [
    ...["m", "shop routing", "0.000", "1", "0", "0", "0.0%", "not available", "not available"],
  ]);
  assertStringIncludes(all.get("call-set-judge")!.note!, "or, in mode routing, have the right");
  assertNotMatch(tables(TRIALS).get("call-set-judge")!.note!, /routing/);
  assertStringIncludes(all.get("call-set-2")!.note!, "judge: the mean score that a judge gives");
});

Deno.test("callSetTables() correlates over models where there are three (CallNavi 6.4)", () => {
  const of = (model: string, exact: boolean, score: number) =>
    answered(question("q1"), exact ? "exact" : "routing", { model, answer: { judged: { score } } });
  const trials = [of("a", true, 1), of("b", false, 0.5), of("c", false, 0)];
  const { rows, note } = tables(trials).get("call-set-judge")!;
  assertEquals(rows.slice(1).map((row) => [row[0], ...row.slice(-3)]), [
    ["a", "100.0%", "not available", "not available"],
    ["b", "0.0%", "not available", "not available"],
    ["c", "0.0%", "not available", "not available"],
    ["over the 3 rows above", "-", "0.866", "0.3333"],
  ]);
  assert(!note!.includes("independent"), note);
  const aside = [1, 2].map((repetition) =>
    answered(question("q1"), "exact", { model: "d", repetition })
  );
  const beside = tables([...trials, ...aside]).get("call-set-judge")!;
  assert(!beside.note!.includes("independent"), "what was not judged is not told of");
  assertEquals(beside.rows.length, 5);
  assertEquals(tables(trials.slice(1)).get("call-set-judge")!.rows.length, 3);
  const again = trials.map((trial): TrialSummary => ({ ...trial, repetition: 2 }));
  assertStringIncludes(
    tables([...trials, ...again]).get("call-set-judge")!.note!,
    "p assumes independent trials, which repetitions of one question are not",
  );
});

/** An answer that a judge gave a score, and who that was. */
function judgedBy(
  id: string,
  model: { readonly requested: string; readonly served: string[]; readonly simulated?: boolean },
  traits: Parameters<typeof answered>[2] = {},
): TrialSummary {
  return answered(question(id), "exact", {
    judging: {
      model: { simulated: false, ...model },
      usage: { inputTokens: 900, outputTokens: 7 },
    },
    ...traits,
    answer: { judged: { score: 1 }, ...traits.answer },
  });
}

Deno.test("callSetTables() names the judge, and what it read and wrote", () => {
  const mini = { requested: "sim:mini", served: ["sim:mini"], simulated: true };
  const trials = [
    judgedBy("q1", { requested: "big", served: ["big"] }),
    judgedBy("q2", mini),
    judgedBy("q1", mini, { model: "b" }),
    answered(question("q1"), "exact", { model: "c", answer: { judged: { score: 1 } } }),
    // It was paid for all the same.
    judgedBy("q3", mini, { outcome: "invalid" }),
  ];
  const { rows, note } = tables(trials).get("call-set-judge")!;
  assertEquals(rows, [
    [
      ...["model", "judged by", "judge", "judged", "unusable", "unavailable", "exact"],
      ...["correlation", "p", "tokens: read", "written"],
    ],
    [
      ...["m", "big, sim:mini (simulated)", "1.000", "2", "0", "0", "100.0%"],
      ...["not available", "not available", "2,700", "21"],
    ],
    [
      ...["b", "sim:mini (simulated)", "1.000", "1", "0", "0", "100.0%"],
      ...["not available", "not available", "900", "7"],
    ],
    [
      ...["c", "-", "1.000", "1", "0", "0", "100.0%"],
      ...["not available", "not available", "-", "-"],
    ],
    [
      ...["over the 3 rows above", "-", "-", "-", "-", "-", "-"],
      ...["not available", "not available", "-", "-"],
    ],
  ]);
  assertNotMatch(note!, /several models|unfit/);
});

Deno.test("callSetTables() says where a judge was served as several models, in one row or in two", () => {
  const as = (name: string) => ({ requested: "big", served: [name] });
  const cells = (trials: readonly TrialSummary[]) => {
    const { rows, note } = tables(trials).get("call-set-judge")!;
    const isTold = note!.includes("a judge was served as several models");
    return [...rows.slice(1).map((row) => row[1]), isTold];
  };
  const [one, other] = [judgedBy("q1", as("big-1")), judgedBy("q2", as("big-2"))];
  assertEquals(cells([one, other]), ["big as big-1 and as big-2", true]);
  assertEquals(cells([one, judgedBy("q2", as("big-2"), { model: "b" })]), [
    ...["big as big-1", "big as big-2", true],
  ]);
  assertEquals(cells([one, judgedBy("q2", as("big-1"))]), ["big", false]);
  // A judge that says no name once is no other one.
  assertEquals(cells([one, judgedBy("q2", { requested: "big", served: [] })]), ["big", false]);
});

Deno.test("callSetTables() counts answers apart that no judge could be asked about", () => {
  const judged = {
    score: null,
    why: "the judge could not be asked: too long",
    unfit: true,
  } as const;
  const trials = [...TRIALS, answered(question("q5"), "nothing", { answer: { judged } })];
  const { rows } = tables(trials).get("call-set-judge")!;
  assertEquals(rows.map((row) => row.slice(2, 7)), [
    ["judged", "unusable", "unavailable", "unfit", "exact"],
    ["3", "1", "0", "1", "33.3%"],
  ]);
  const [[, meaning]] = wordsIn(["judge"]) as [readonly [string, string]];
  assertStringIncludes(meaning, "unfit: answers that are too long or nested too deeply for it");
});

Deno.test("callSetTables() has the stability of answers as in Table 7 (CallNavi 6.4.1)", () => {
  const outputs = ["Yes", "yes", "no", "no"];
  const trials = outputs.map((output, at) =>
    answered(question(at < 2 ? "q1" : "q2"), "exact", {
      repetition: 1 + at % 2,
      answer: { output },
    })
  );
  const { paper, source, rows, note } = tables(trials).get("call-set-stability")!;
  assertEquals([paper, source], ["CallNavi", "Table 7"]);
  assertEquals(rows, [
    [
      ...["model", "questions", "repetitions", "text: election", "Levenshtein"],
      ...["normalized: election", "Levenshtein"],
    ],
    ["m", "2", "2", "0.500", "0.833", "1.000", "1.000"],
  ]);
  assert(!note!.includes("left out") && !note!.includes("cut:"), note);
  const more = [
    ...trials,
    answered(question("q2"), "exact", { repetition: 3, answer: { output: "n".repeat(10_000) } }),
    answered(question("q3"), "exact"),
  ];
  const longer = tables(more).get("call-set-stability")!;
  assertEquals(longer.rows.map((row) => [row[2], ...row.slice(-2)]), [
    ["repetitions", "left out", "cut"],
    ["2 to 3", "1", "1"],
  ]);
  assertStringIncludes(longer.note!, "cut: answers of which only the first 10,000 characters");
});

Deno.test("tables of perturbed questions leave out failures of calls, of which there are none", () => {
  const written = ["none", "RD"].flatMap((perturbation) =>
    TRIALS.map((trial): TrialSummary => ({ ...trial, perturbation }))
  );
  const ids = tablesOf(makeReport(written, { suite: "s" })).map(({ id }) => id);
  assert(ids.includes("comparisons") && !ids.includes("failure-rates-1"), ids.join());
  const made = written.map((trial): TrialSummary => ({ ...trial, calls: 1 }));
  assert(tablesOf(makeReport(made, { suite: "s" })).some(({ id }) => id === "failure-rates-1"));
});

Deno.test("renderTables() says that calls fit the functions, not that none was wrong or had an error, where nobody knows", () => {
  const made = question("q1", { mode: "tools" });
  const told = renderTables([answered(made, "routing", { calls: 1 })]);
  assertStringIncludes(told, "all calls fit the functions on offer");
  const many = Array.from(
    { length: 7 },
    (_, at) => answered(made, "routing", { calls: 1, model: `m${at}` }),
  );
  assertStringIncludes(renderTables(many), "all calls fit the functions on offer");
  const written = many.map((trial, at) => ({
    ...TRIALS[0]!,
    model: { ...trial.model },
    id: `${at}`,
  }));
  assertNotMatch(renderTables(written), /no call/);
  const own = record({ task: { case: "refund", seed: 1 }, minimumCalls: null });
  assertStringIncludes(renderTables([own]), "all calls fit the functions on offer");
  assertNotMatch(renderTables([own]), /fewest/);
  const failed = { ...own, id: "f", solved: false, outcome: "wrong_answer" as const };
  const endless = { ...own, id: "e", solved: false, outcome: "call_limit" as const };
  for (
    const [trials, what] of [[[], ""], [[failed], "; what failed are assertions"], [
      [failed, endless],
      "; what failed are trials or assertions",
    ]] as const
  ) {
    const lines = renderTables([own, ...trials]).split("\n");
    assertEquals(lines.filter((line) => line.startsWith("all calls fit")), [
      `all calls fit the functions on offer${what}`,
    ]);
  }
});
