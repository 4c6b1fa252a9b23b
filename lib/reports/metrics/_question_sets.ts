/**
 * Question sets: scores of answers, their errors, how stable they are, and the ratings of a judge (CallNavi).
 * @module
 */

import { mean } from "../../base/numbers.ts";
import { MAX_KEPT_LENGTH } from "../../calls/trace.ts";
import { byGraph, isCounted, judgesOf, marked } from "../../gate/variant.ts";
import { summarizeJudging } from "../../models/judge/score.ts";
import { type Correlation, pearson } from "../../statistics/correlation.ts";
import { ERROR_CLASSES } from "../../tasks/questions/error_classes.ts";
import { DIFFICULTIES } from "../../tasks/questions/question_set.ts";
import type { QuestionScores } from "../../tasks/questions/scoring.ts";
import {
  electionStability,
  levenshteinStability,
  normalizeOutput,
} from "../../tasks/questions/stability.ts";
import type { QuestionSpec } from "../../tasks/task_kind.ts";
import { sumUsage } from "../../tools/message.ts";
import type { TrialSummary } from "../../trials/summary.ts";
import type { Outcome } from "../../trials/trial.ts";
import { isWholeQuestion, questionWords } from "../cells.ts";
import { asideColumn, type Column, UNAVAILABLE } from "../columns.ts";
import { type Metric, metric } from "../_metric.ts";
import type { Report } from "../report.ts";
import {
  JUDGES,
  markedAsked,
  subjectColumns,
  subjectsOf,
  type SubjectTrials,
} from "../_subjects.ts";
import { averageScores } from "./difficulty.ts";
import { countOf, shareInterval, tokenColumns } from "./_tally.ts";

/** How the questions of a set are asked. */
const WAY = ["set", "mode", "rule", "input", "output"] as const;
type Way = Required<Pick<QuestionSpec, typeof WAY[number]>>;

/** Outcomes without an answer for which the model is responsible. */
const LIMITS: readonly Outcome[] = [
  "call_limit",
  "step_limit",
  "time_limit",
  "token_limit",
  "filtered",
];

/** A question, and the scores of an answer to it. */
interface Result extends Pick<TrialSummary, "domain" | "scored"> {
  readonly task: QuestionSpec;
  readonly scores: QuestionScores;
}

/** Returns the answers of a subject, and once more with their scores before repair if a model repaired any. */
function answersOf(own: Way & SubjectTrials) {
  const { mode, subject, simulated, trials, counted } = own;
  const text = mode === "routing" ? null : false;
  const wrong = { syntaxValid: text, structural: text, exact: text, routingExact: false };
  const results = counted.flatMap(({ task, domain, outcome, scored }): Result[] => {
    const scores = scored?.scores ?? (LIMITS.includes(outcome) ? wrong : undefined);
    return scores !== undefined && isWholeQuestion(task) ? [{ task, domain, scored, scores }] : [];
  });
  const answers = results.flatMap(({ task, scored }) => scored ? [{ task, ...scored }] : []);
  const stages = trials.flatMap(({ askedStages = [] }) => askedStages);
  const router = trials.flatMap(({ stages = [] }) => stages)
    .find(({ stage }) => stage === "route")?.model ?? { requested: subject.model, simulated };
  const repaired = answers.filter(({ unrepaired }) => unrepaired !== undefined).length;
  const row = {
    ...{ ...own, results, answers, repaired, isBefore: false },
    router: stages.includes("route") ? router : null,
    judges: judgesOf(trials),
    inferred: stages.includes("infer"),
    limited: results.length - answers.length,
    unscored: counted.length - results.length,
  };
  return repaired === 0 ? [row] : [row, {
    ...row,
    isBefore: true,
    results: results.map((one) => ({ ...one, scores: one.scored?.unrepaired ?? one.scores })),
  }];
}
type Asked = ReturnType<typeof answersOf>[number];

/** Returns the columns that tell ways of asking apart, of which tables show those that differ. */
function wayColumns<Row extends Way>(rows: readonly Row[]): Column<Row>[] {
  return WAY.map((id) => ({
    ...{ id, unit: "name", value: (row) => row[id] },
    shown: new Set(rows.map((row) => row[id])).size > 1,
  }));
}

/** The scores, their names in journals and their meaning. */
const SCORES = {
  routing: { key: "routingExact", about: "the right functions, in order" },
  syntax: { key: "syntaxValid", about: "a text that can be parsed" },
  structure: {
    key: "structural",
    about: "the right functions, and arguments with the right names",
  },
  exact: { key: "exact", about: "the right functions and arguments, with the right values" },
} as const;
const AVERAGES = [...DIFFICULTIES, "all", "macro"] as const;

/** Returns the columns of a score, of which tables show some. */
function scoreColumns(
  score: keyof typeof SCORES,
  seen: readonly (typeof AVERAGES[number])[],
  inline?: true,
): Column<Pick<Asked, "results">>[] {
  const { key, about } = SCORES[score];
  const isRight = ({ scores }: Result) => scores[key] === true;
  return AVERAGES.map((average) => ({
    ...{ id: `${score}_${average}`, unit: "share", inline },
    ...(seen.length > 1 ? { group: score, head: average } : { head: score, about }),
    shown: seen.includes(average) && "filled",
    value: ({ results }) => {
      const known = results.filter(({ scores }) => scores[key] !== null);
      const { macro, counts, ...means } = averageScores(
        known.map((one) => ({ difficulty: one.task.difficulty, value: isRight(one) })),
      );
      return average === "macro" ? macro : {
        value: means[average],
        interval: average === "all" ? shareInterval(known, isRight) : undefined,
        of: counts[average],
      };
    },
  }));
}

/** The number of scored trials of each difficulty. */
const TRIALS: Column<Pick<Asked, "results">> = {
  head: "trials",
  unit: "text",
  value: ({ results }) =>
    DIFFICULTIES.map((one) => results.filter(({ task }) => task.difficulty === one).length)
      .join("+"),
  about: "easy + medium + hard",
};

/** The number of different questions. */
const QUESTIONS: Column<Pick<Asked, "results">> = {
  id: "questions",
  unit: "count",
  value: ({ results }) => byGraph(results).length,
};

/** Returns the columns that say whose answers have been scored, and how they came to be. */
function askedColumns(rows: readonly Asked[], report: Report): readonly Column<Asked>[] {
  return [
    ...wayColumns(rows),
    ...subjectColumns(report),
    {
      id: "version",
      head: "answers",
      unit: "name",
      value: ({ isBefore }) => isBefore ? "before repair" : "final",
      shown: rows.some(({ isBefore }) => isBefore),
    },
    {
      id: "picked_by",
      unit: "text",
      value: ({ router }) => router && marked(router.requested, router.simulated),
      text: ({ router, subject }) => router?.requested === subject.model ? "itself" : undefined,
      shown: "filled",
      about: "the model that was asked for the functions first",
    },
    TRIALS,
  ];
}

/** Returns the tables of the paper that have such rows: some are of a strategy, or compare formats. */
function paperTables(rows: readonly Asked[]): string {
  const has = (strategy: string) => rows.some(({ subject }) => subject.strategy === strategy);
  const formats = new Set(rows.map(({ input, output }) => `${input} ${output}`));
  const also = [
    ...(has("route_then_fill") ? [5] : []),
    ...(has("backward") ? [6] : []),
    ...(formats.size > 1 ? [8] : []),
  ];
  const last = also.pop();
  return last === undefined ? "Table 4" : `Tables ${[4, ...also].join(", ")} and ${last}`;
}

/** What the tables of scores have in common: one for each set, mode and rule. */
const SCORED = {
  section: "call sets",
  paper: "CallNavi",
  by: ({ set, mode, rule }: Way) => questionWords({ set, mode, rule }),
  // The paper has no mode `tools`.
  source: (rows: readonly Asked[]) => rows[0]?.mode === "tools" ? undefined : paperTables(rows),
} as const;

/** The right functions, in order. */
const FUNCTIONS = metric<Asked>(({ trials }) =>
  [
    ...Map.groupBy(trials, ({ task }) => isWholeQuestion(task) && questionWords(task)).values(),
  ].flatMap((own) => {
    const { task } = own[0]!;
    if (!isWholeQuestion(task)) return [];
    const { set, mode, rule = "published", input = "json", output = "json" } = task;
    return subjectsOf(own).flatMap((one) => answersOf({ set, mode, rule, input, output, ...one }));
  }), {
  ...SCORED,
  id: "call-set-functions",
  title: "Right functions",
  note: ([row]) =>
    `scored as the ${row?.rule === "strict" ? "paper says" : "authors' code does"}; routing: ` +
    SCORES.routing.about,
  columns: (rows, report) => [
    askedColumns(rows, report),
    scoreColumns("routing", [...DIFFICULTIES, "all"]),
    // Calls that were made are no text to parse.
    scoreColumns("syntax", rows[0]?.mode === "tools" ? [] : ["all"], true),
    scoreColumns("structure", ["all"], true),
    { ...QUESTIONS, shown: false },
    { id: "trials", unit: "count", value: ({ trials }) => trials.length, shown: false },
    { id: "inferred", unit: "text", value: ({ inferred }) => inferred, shown: false },
    asideColumn("repaired"),
    asideColumn("limited", "reached a limit without an answer, which is wrong by every score"),
    asideColumn("unscored", "without scores, and in no share"),
  ],
});

/** The right functions, and arguments with the right names and values. */
const CALLS = metric<Asked>(
  (report) => FUNCTIONS.rows(report).filter(({ mode }) => mode !== "routing"),
  {
    ...SCORED,
    id: "call-set-calls",
    title: "Right calls",
    note: `exact: ${SCORES.exact.about}`,
    columns: (rows, report) => [
      askedColumns(rows, report),
      scoreColumns("exact", AVERAGES),
      {
        head: judgeWords("judge", rows),
        unit: "score",
        value: ({ isBefore, answers }) =>
          isBefore ? null : summarizeJudging(answers.flatMap(({ judged = [] }) => judged)).mean,
        shown: "filled",
        about: "the mean score that a judge gives, from 0 to 1",
      },
    ],
  },
);

/** Returns the answers of each subject to the questions that were asked in one way. */
function askedOf(report: Report): Asked[] {
  return FUNCTIONS.rows(report).filter(({ isBefore }) => !isBefore);
}

/** Groups rows by how the questions were asked. */
function byWay<Row extends Way>(rows: readonly Row[]): Row[][] {
  return [...Map.groupBy(rows, (row) => questionWords(row)).values()];
}

/** The scores by domain, where a set has several. */
const DOMAINS = metric<Asked & Pick<TrialSummary, "domain">>(
  (report) =>
    byWay(askedOf(report)).flatMap((rows) => {
      const known = new Set(rows.flatMap(({ results }) => results.map(({ domain }) => domain)));
      known.delete(undefined);
      return known.size < 2 ? [] : [...known, undefined].flatMap((domain) =>
        rows.map((row) => ({
          ...{ ...row, domain },
          results: row.results.filter((one) => one.domain === domain),
        })).filter(({ results }) => results.length > 0)
      );
    }),
  {
    ...SCORED,
    id: "call-set-domains",
    title: "Scores by domain",
    note: "the domains of CallNavi, Table 2",
    source: undefined,
    columns: (rows, report) => [
      wayColumns(rows),
      { id: "domain", unit: "name", value: ({ domain = "not recorded" }) => domain },
      subjectColumns(report),
      QUESTIONS,
      TRIALS,
      scoreColumns("routing", ["all"]),
      scoreColumns("syntax", []),
      scoreColumns("structure", ["all"], true),
      scoreColumns("exact", ["all"]),
    ],
  },
);

/** The errors in answers. */
const ERRORS = metric(askedOf, {
  id: "call-set-errors",
  section: "failures",
  title: "Errors in answers",
  paper: "CallNavi",
  source: "appendix F",
  note: "the share of answers with such an error, of which one may have several",
  shown: (rows) => rows.some(({ answers }) => answers.some(({ errors }) => errors.length > 0)),
  columns: (rows, report) => [
    wayColumns(rows),
    subjectColumns(report),
    { id: "answers", unit: "count", value: ({ answers }) => answers.length },
    ERROR_CLASSES.map((id) => ({
      ...{ id, head: id.replaceAll("_", " "), unit: "share" as const },
      value: ({ answers }: Asked) =>
        countOf(answers.filter(({ errors }) => errors.includes(id)).length, answers.length),
    })),
  ],
});

/** The ratings of a judge, and how they correlate with what is right. */
const JUDGE = metric((report) =>
  askedOf(report).flatMap(({ answers, ...row }) => {
    const judgements = answers.flatMap(({ judged = [] }) => judged);
    const pairs = answers.flatMap(({ judged, scores: { exact, routingExact } }): Pair[] =>
      typeof judged?.score === "number" ? [[judged.score, Number(exact ?? routingExact)]] : []
    );
    return judgements.length === 0 ? [] : [{
      ...row,
      ...summarizeJudging(judgements),
      right: mean(pairs.map(([, right]) => right)),
      correlation: correlationOf(pairs),
      usage: row.judges.length === 0 ? null : sumUsage(row.judges.map(({ usage }) => usage)),
    }];
  }), {
  id: "call-set-judge",
  section: "call sets",
  title: (rows) => `${judgeWords("The judge", rows)} and exact calls`,
  paper: "CallNavi",
  source: "section 6.4",
  note: "correlation: of score and exactness over trials",
  columns: (rows, report) => [
    wayColumns(rows),
    subjectColumns(report),
    { ...JUDGES, shown: "filled" },
    { id: "judge", head: judgeWords("judge", rows), unit: "score", value: (row) => row.mean },
    (["judged", "unusable", "unavailable", "unfit"] as const).map((id) => asideColumn(id)),
    {
      id: "exact",
      unit: "share",
      value: ({ right }) => right,
      about: "of the answers judged; in mode routing the share of those with the right functions",
    },
    CORRELATION,
    tokenColumns<typeof rows[number]>(({ usage }) => usage),
  ],
});

/** How the means of a judge correlate with what is right over models, as in the paper. */
const JUDGED_MODELS = metric((report) =>
  byWay(JUDGE.rows(report)).flatMap((rows) => {
    const pairs = rows.flatMap(({ mean, right }): Pair[] =>
      mean === null || right === null ? [] : [[mean, right]]
    );
    return pairs.length < 3 ? [] : [{
      ...rows[0]!,
      judges: rows.flatMap(({ judges }) => judges),
      compared: pairs.length,
      correlation: correlationOf(pairs),
    }];
  }), {
  id: "call-set-judged-models",
  section: "call sets",
  title: (rows) => `${judgeWords("The judge", rows)} and exact calls, over models`,
  paper: "CallNavi",
  source: "section 6.4",
  note: "correlation: of the means in the table above, over its rows",
  columns: (rows) => [
    { head: "questions of", unit: "name", value: (row) => questionWords(row) },
    wayColumns(rows).map((way) => ({ ...way, shown: false })),
    JUDGES,
    { id: "compared", head: "rows", unit: "count", value: ({ compared }) => compared },
    CORRELATION,
  ],
});

/** The score of a judge, or the mean of several, and whether answers are right. */
type Pair = readonly [judge: number, right: number];

function correlationOf(pairs: readonly Pair[]): Correlation | null {
  return pearson(pairs.map(([judge]) => judge), pairs.map(([, right]) => right));
}

/** Names what the judges of rows have given. */
function judgeWords(name: string, rows: readonly Pick<Asked, "judges">[]): string {
  return markedAsked(name, rows.flatMap(({ judges }) => judges));
}

const CORRELATION: readonly Column<{ readonly correlation: Correlation | null }>[] = [
  {
    id: "correlation",
    unit: "score",
    value: ({ correlation }) => ({ value: correlation?.r ?? null, of: correlation?.n }),
    text: ({ correlation }) => correlation?.r.toFixed(3) ?? UNAVAILABLE,
  },
  {
    id: "p",
    unit: "probability",
    value: ({ correlation }) => correlation?.p,
    text: ({ correlation }) => correlation === null ? UNAVAILABLE : undefined,
    about: "assumes that these are independent, which repetitions of one question are not",
  },
];

/** Returns how stable the outputs to several questions are, as means over these. */
function stabilityOf(outputs: readonly (readonly string[])[]) {
  return {
    election: mean(outputs.map((own) => electionStability(own) ?? 0)),
    Levenshtein: mean(outputs.map((own) => levenshteinStability(own) ?? 0)),
  };
}

/** How similar answers to one question are, where any was repeated. */
const STABILITY = metric((report) =>
  askedOf(report).flatMap((row) => {
    const groups = byGraph(row.trials.filter(({ changed }) => changed !== false));
    if (groups.every(({ length }) => length < 2)) return [];
    // Trials without an answer have no output.
    const outputs = groups.map((group) =>
      group.filter(isCounted).sort((one, other) => one.repetition - other.repetition)
        .flatMap(({ scored }) => scored?.output ?? [])
    );
    const repeated = outputs.filter(({ length }) => length > 1);
    const counts = repeated.map(({ length }) => length).sort((one, other) => one - other);
    const [own, normalized] = [repeated, repeated.map((texts) => texts.map(normalizeOutput))];
    return [{
      ...{ ...row, questions: repeated.length, least: counts[0], most: counts.at(-1) },
      ...{ text: stabilityOf(own), normalized: stabilityOf(normalized) },
      left_out: outputs.length - repeated.length,
      cut: repeated.flat().filter(({ length }) => length >= MAX_KEPT_LENGTH).length,
    }];
  }), {
  id: "call-set-stability",
  section: "call sets",
  title: "Stability of answers",
  paper: "CallNavi",
  source: "Table 7",
  note:
    "means over questions with two answers or more; normalized: without punctuation of formats, in lower case",
  columns: (rows, report) => [
    wayColumns(rows),
    subjectColumns(report),
    { id: "questions", unit: "count", value: ({ questions }) => questions },
    {
      id: "repetitions",
      unit: "count",
      value: ({ most }) => most,
      text: ({ least, most }) => least === most ? undefined : `${least} to ${most}`,
    },
    { id: "fewest", unit: "count", value: ({ least }) => least, shown: false },
    (["text", "normalized"] as const).flatMap((group) =>
      (["election", "Levenshtein"] as const).map((head) => ({
        ...{ id: `${group}_${head.toLowerCase()}`, group, head, unit: "score" as const },
        value: (row: typeof rows[number]) => row[group][head],
      }))
    ),
    asideColumn("left_out", "questions with fewer than two valid answers"),
    asideColumn("cut", "answers of which only the first 10,000 characters are compared"),
  ],
});

/** The metrics of question sets. */
export const QUESTION_SETS: readonly Metric[] = [
  ...[FUNCTIONS, CALLS, DOMAINS, JUDGE, JUDGED_MODELS, STABILITY, ERRORS],
];
