/**
 * `score callnavi` and `score stability`: score predicted calls against the right ones, and repeated outputs.
 * @module
 */

import { z } from "zod";
import { userPath } from "../base/command_line.ts";
import {
  ERROR_CLASSES,
  type ErrorClass,
  errorClassesOf,
} from "../tasks/questions/error_classes.ts";
import {
  CALL_FORMATS,
  scorePrediction,
  SCORING_RULES,
  type ScoringOptions,
} from "../tasks/questions/scoring.ts";
import {
  type CallQuestion,
  type CallSet,
  DIFFICULTIES,
  functionsOf,
} from "../tasks/questions/question_set.ts";
import { loadCallSet } from "../tasks/questions/load.ts";
import { averageScores, type DifficultyAverages } from "../reports/metrics/difficulty.ts";
import { type JsonLine, parseWith, readJsonLines } from "../base/input.ts";
import { cannot, InputError } from "../base/errors.ts";
import { type JsonValue, listText, printable, printableJson } from "../base/json.ts";
import { tableOf } from "../reports/columns.ts";
import { alignedTable } from "../reports/text_table.ts";
import {
  electionStability,
  levenshteinStability,
  normalizeOutput,
} from "../tasks/questions/stability.ts";
import { countText } from "../base/numbers.ts";
import { commandWidth } from "../base/terminal_width.ts";
import { command } from "./command.ts";

/** Prints the scores of predicted calls. */
export const scoreCalls = command({
  usage: "DATA PREDICTIONS.jsonl [OPTIONS]",
  takes: ["a call set and a file of predictions", 2, 2],
  about:
    `DATA is a folder in CallNavi's published layout, with APIs/ and Questions/, or a .json or .jsonc file in
toolgate's form. Predictions are lines {"id", "prediction"}, in which an id may occur several times; a
prediction is the text of a model, or any JSON in place of its text.`,
  options: {
    rule: {
      value: "R",
      choices: SCORING_RULES,
      help: "published (default), as the code; strict, as the paper",
    },
    mode: {
      value: "M",
      choices: ["parameters", "routing"],
      help: "parameters (default): whole calls; routing: names",
    },
    format: {
      value: "F",
      choices: CALL_FORMATS,
      help: "how calls are written: json (default) or yaml",
    },
    partial: { help: "questions may be without a prediction" },
    json: {
      help:
        "prints a line {id, difficulty, syntaxValid, structural, exact, routingExact} for each " +
        'prediction, with null for scores that the mode does not have, and {"summary"} at the end',
    },
  },
  needs: ["read"],
  run(
    { rule = "published", mode = "parameters", format = "json", partial, json },
    { operands: [data, file] },
  ) {
    const set = loadCallSet(userPath(data!));
    for (const warning of set.warnings) console.error(printable(warning, 2_000));
    const lines = readJsonLines(userPath(file!));
    const needed = partial ? undefined : file;
    const predictions = predictionsIn(lines, PREDICTION, set, (line) => line.prediction, needed);
    const scoring = { rule, mode, format };
    const scored = predictions.map((prediction) => scoreOne(prediction, set, scoring));
    const summary = summarizeScores(scored, set, scoring);
    if (json) {
      for (const { id, difficulty, scores } of scored) {
        console.log(printableJson({ id, difficulty, ...scores }));
      }
      console.log(printableJson({ summary }));
    } else console.log(render(summary));
    return 0;
  },
});

/** Prints how similar the outputs of repeated runs are. */
export const scoreStability = command({
  usage: "FILE.jsonl [OPTIONS]",
  takes: ["one file", 1, 1],
  about:
    `Its lines are {"id", "outputs": [TEXT]}. It prints a line {id, election, levenshtein} for each, with null
for undefined scores.`,
  options: {
    normalize: {
      help:
        "quotes, square brackets, spaces, line breaks, backticks, backslashes and case do not " +
        "count",
    },
  },
  needs: ["read"],
  run({ normalize }, { operands: [file] }) {
    for (const { value, source } of readJsonLines(userPath(file!))) {
      const { id, outputs } = parseWith(OUTPUTS, value, source);
      const texts = normalize ? outputs.map(normalizeOutput) : outputs;
      const election = electionStability(texts);
      console.log(printableJson({ id, election, levenshtein: levenshteinStability(texts) }));
    }
    return 0;
  },
});

const OUTPUTS = z.object({ id: z.string(), outputs: z.array(z.string()) });

const PREDICTION = z.object({
  id: z.string(),
  prediction: z.custom<JsonValue>((value) => value !== undefined, "is needed"),
});

/** A prediction, and the question it answers. */
export interface Prediction {
  readonly question: CallQuestion;
  readonly prediction: JsonValue;
}

/** At most this many questions without a prediction are named. */
const MAX_NAMED = 5;

/**
 * Returns the predictions of lines, which `predictionOf` makes of what they say.
 *
 * @param path Their file, for messages where each question must have a prediction; omitted where none must.
 *
 * @throws {InputError} If a line is no prediction, or answers no question of the set, or a question has none.
 */
export function predictionsIn<Answer extends { readonly id: string }>(
  lines: readonly JsonLine[],
  schema: z.ZodType<Answer>,
  { questions, name }: CallSet,
  predictionOf: (answer: Answer, question: CallQuestion) => JsonValue,
  path?: string,
): Prediction[] {
  const byId = new Map(questions.map((question) => [question.id, question]));
  const missing = new Set(byId.keys());
  const predictions = lines.map(({ value, source }): Prediction => {
    const answer = parseWith(schema, value, source);
    const question = byId.get(answer.id);
    if (question === undefined) {
      throw new InputError(
        `Cannot use ${source}:\n  at id: must be that of a question of ${printable(name)}: it is ` +
          printable(JSON.stringify(answer.id)),
      );
    }
    missing.delete(answer.id);
    return { question, prediction: predictionOf(answer, question) };
  });
  if (path === undefined || missing.size === 0) return predictions;
  const names = listText(Array.from(missing, (id) => printable(id)), MAX_NAMED);
  throw cannot(
    `score ${path}`,
    "every question must have a prediction, unless --partial is given",
    `${missing.size} of ${questions.length} have none: ${names}`,
  );
}

/** How predictions are written and scored. */
type Written = Required<Pick<ScoringOptions, "rule" | "mode" | "format">>;

/** Scores a prediction. */
function scoreOne(
  { question, prediction }: Prediction,
  set: CallSet,
  asked: Written,
) {
  const { id, difficulty, truth } = question;
  const functions = functionsOf(set, question);
  const options = { ...asked, comparison: set.comparison, functions };
  const scores = scorePrediction(prediction, truth, options);
  const names = functions.map(({ name }) => name);
  return { id, difficulty, scores, errors: errorClassesOf(prediction, truth, names, options) };
}

/** The scores, in the order of the table. */
const METRICS = ["syntaxValid", "structural", "exact", "routingExact"] as const;

/** Sums scores up: their averages, and the number of predictions with each error, and with any. */
function summarizeScores(
  scored: readonly ReturnType<typeof scoreOne>[],
  { name, hash, questions }: CallSet,
  options: Written,
) {
  const averages = METRICS.map((metric) => [
    metric,
    averageScores(scored.map(({ difficulty, scores }) => ({ difficulty, value: scores[metric] }))),
  ]);
  const counts = ERROR_CLASSES.map((one) => [
    one,
    scored.filter(({ errors }) => errors.includes(one)).length,
  ]);
  return {
    set: name,
    hash,
    ...options,
    questions: questions.length,
    answered: new Set(scored.map(({ id }) => id)).size,
    predictions: scored.length,
    scores: Object.fromEntries(averages) as Record<typeof METRICS[number], DifficultyAverages>,
    errors: Object.fromEntries(counts) as Record<ErrorClass, number>,
    wrong: scored.filter(({ errors }) => errors.length > 0).length,
  };
}

const ROWS = [...DIFFICULTIES, "all", "macro"] as const;

/** Formats the summary as tables. */
function render(summary: ReturnType<typeof summarizeScores>): string {
  const { set, rule, mode, format, questions, answered, predictions, scores, errors, wrong } =
    summary;
  const { counts } = scores.routingExact;
  const caption = { section: "call sets", title: "" } as const;
  const tables = [
    ...tableOf(ROWS, [
      { head: "difficulty", unit: "name", value: (row) => row },
      {
        ...{ head: "predictions", unit: "count" },
        value: (row) => row === "macro" ? null : counts[row],
        // The macro average is a mean of averages and has no count.
        text: (row) => row === "macro" ? "" : undefined,
      },
      METRICS.filter((metric) => scores[metric].counts.all > 0).map((metric) => ({
        head: metric.replace(/[A-Z]/, (letter) => ` ${letter.toLowerCase()}`),
        unit: "share",
        value: (row) => scores[metric][row],
      })),
    ], { ...caption, id: "scores" }),
    ...tableOf(ERROR_CLASSES, [
      { head: "error class", unit: "name", value: (one) => one.replaceAll("_", " ") },
      { head: "predictions", unit: "count", value: (one) => errors[one] },
      {
        ...{ head: "of those wrong", unit: "share" },
        value: (one) => wrong === 0 ? null : errors[one] / wrong,
      },
    ], { ...caption, id: "errors" }),
  ];
  return [
    `${printable(set)}: ${countText(predictions, "prediction")} for ${answered} of ` +
    `${countText(questions, "question")}; rule ${rule}, mode ${mode}, format ${format}`,
    ...tables.map((table) => alignedTable(table, commandWidth())),
  ].join("\n\n");
}
