/**
 * `score`: scores predicted calls against the right ones, and the stability of repeated outputs.
 * @module
 */

import { z } from "zod";
import {
  ERROR_CLASSES,
  type ErrorClass,
  errorClassesOf,
} from "../tasks/questions/error_classes.ts";
import {
  CALL_FORMATS,
  type QuestionScores,
  scorePrediction,
  SCORING_RULES,
  type ScoringOptions,
} from "../tasks/questions/scoring.ts";
import { type CallQuestion, type CallSet, DIFFICULTIES } from "../tasks/questions/question_set.ts";
import { loadCallSet } from "../tasks/questions/load.ts";
import { averageScores, type DifficultyAverages } from "../reports/metrics/difficulty.ts";
import { parseWith, readText } from "../base/input.ts";
import { cannot, InputError } from "../base/errors.ts";
import { type JsonValue, listText, parseJson, printable, printableJson } from "../base/json.ts";
import { alignedTable, layOut, shareText } from "../reports/tables/table.ts";
import {
  electionStability,
  levenshteinStability,
  normalizeOutput,
} from "../tasks/questions/stability.ts";
import { countText } from "../base/numbers.ts";
import { commandWidth } from "../base/terminal_width.ts";
import { Arguments, userPath } from "./arguments.ts";

export const SCORE_HELP =
  `  score callnavi DATA PREDICTIONS.jsonl   predicted calls against the right ones
  score stability FILE.jsonl              how similar the outputs of repeated runs are
  score traces FILE --with TESTS.ts       recorded conversations, by your own tool tests

callnavi: DATA is a folder in CallNavi's published layout, with APIs/ and Questions/, or a .json or .jsonc file
in toolgate's form. Predictions are lines {"id", "prediction"}, in which an id may occur several times; a
prediction is the text of a model, or any JSON in place of its text.

  --rule R      published: as the authors' code scores (default); strict: as their paper says
  --mode M      parameters: whole calls (default); routing: lists of function names
  --format F    json: calls are written in JSON (default); yaml: in YAML
  --partial     questions may be without a prediction
  --json        prints a line {id, difficulty, syntaxValid, structural, exact, routingExact} for each
                prediction, with null for scores that the mode does not have, and {"summary"} at the end

stability: lines {"id", "outputs": [TEXT]}. Prints a line {id, election, levenshtein} for each, with null for
undefined scores.

  --normalize   quotes, square brackets, spaces, line breaks, backticks, backslashes and case do not count
  --json        has no effect: the output is always JSON

traces: FILE is JSON, JSON lines or a journal: messages of OpenAI, the AI SDK or LangChain, or spans of
OpenTelemetry. No model is asked and no tool is run, but judges in the tests' assertions ask their models.
A trace is of the test that its field "case" names, or of that with its question and system text. TESTS.ts is
run as by deno test, with all permissions and without a check of its types.

  --with TESTS.ts   the file of tool tests
  --out F.jsonl     a journal of the trials, for gate, report and export; F/ is a folder of them
  --report F        a report, by its ending: .html, .md or .txt; may be given several times
  --story S         how much of a failed trial is shown: brief or full

Exit code 0; of traces 0 if all pass, 1 if one or a gate fails, 2 if a trace is of no test, 3 if a test has no
trace or a gate cannot decide.`;

/** Prints scores. */
export function score(arguments_: readonly string[]): number {
  const [kind, ...rest] = arguments_;
  if (kind === "callnavi") return scoreCalls(rest);
  if (kind === "stability") return scoreStability(rest);
  throw new Arguments("score", [], {}).error(
    `the first word must be callnavi, stability or traces: ${
      kind === undefined ? "there is none" : `it is ${kind}`
    }`,
  );
}

const MODES = ["parameters", "routing"] as const;

function scoreCalls(arguments_: readonly string[]): number {
  const options = new Arguments("score", arguments_, {
    values: ["rule", "mode", "format"],
    switches: ["partial", "json"],
  });
  const [data, file, ...others] = options.operands;
  if (data === undefined || file === undefined || others.length > 0) {
    throw options.error(
      `callnavi takes a call set and a file of predictions: ${options.operands.length} paths are given`,
    );
  }
  const scoring = {
    rule: choice(options, "rule", SCORING_RULES),
    mode: choice(options, "mode", MODES),
    format: choice(options, "format", CALL_FORMATS),
  };
  const set = loadCallSet(userPath(data));
  for (const warning of set.warnings) console.error(printable(warning, 2_000));
  const predictions = readPredictions(userPath(file), set);
  if (!options.has("partial")) assertComplete(file, set, predictions);
  const scored = predictions.map((prediction) => scoreOne(prediction, set, scoring));
  const summary = summarizeScores(scored, set, scoring);
  if (options.has("json")) {
    for (const { id, difficulty, scores } of scored) {
      console.log(printableJson({ id, difficulty, ...scores }));
    }
    console.log(printableJson({ summary }));
  } else console.log(render(summary));
  return 0;
}

/** Returns the value of an option with fixed choices; the first one by default. */
function choice<T extends string>(options: Arguments, name: string, choices: readonly T[]): T {
  const text = options.text(name) ?? choices[0];
  const match = choices.find((one) => one === text);
  if (match !== undefined) return match;
  throw options.error(`--${name} must be ${choices.join(" or ")}: it is ${text}`);
}

/** Reads and checks the values of a file of JSON lines; skips blank lines. */
function readLines<T>(path: string, schema: z.ZodType<T>): { value: T; source: string }[] {
  return readText(path).split("\n").flatMap((text, place) => {
    if (text.trim() === "") return [];
    const source = `${path}, line ${place + 1}`;
    const value = parseJson(text);
    if (value === undefined) throw new InputError(`Cannot use ${source}: it is not JSON`);
    return [{ value: parseWith(schema, value, source), source }];
  });
}

const PREDICTION = z.object({
  id: z.string(),
  prediction: z.custom<JsonValue>((value) => value !== undefined, "is needed"),
});

/** A prediction, and the question it answers. */
interface Prediction {
  readonly question: CallQuestion;
  readonly prediction: JsonValue;
}

/** @throws {InputError} If a line is no prediction, or answers no question of the set. */
function readPredictions(path: string, { questions, name }: CallSet): Prediction[] {
  const byId = new Map(questions.map((question) => [question.id, question]));
  return readLines(path, PREDICTION).map(({ value: { id, prediction }, source }) => {
    const question = byId.get(id);
    if (question !== undefined) return { question, prediction };
    throw new InputError(
      `Cannot use ${source}:\n  at id: must be that of a question of ${printable(name)}: it is ` +
        printable(JSON.stringify(id)),
    );
  });
}

/** At most this many questions without a prediction are named. */
const MAX_NAMED = 5;

/** @throws {InputError} If a question has no prediction. */
function assertComplete(
  path: string,
  { questions }: CallSet,
  predictions: readonly Prediction[],
): void {
  const answered = new Set(predictions.map(({ question }) => question));
  const missing = questions.filter((question) => !answered.has(question)).map(({ id }) => id);
  if (missing.length === 0) return;
  const names = listText(missing.map((id) => printable(id)), MAX_NAMED);
  throw cannot(
    `score ${path}`,
    "every question must have a prediction, unless --partial is given",
    `${missing.length} of ${questions.length} have none: ${names}`,
  );
}

/** A prediction with its scores. */
interface Scored {
  readonly id: string;
  readonly difficulty: CallQuestion["difficulty"];
  readonly scores: QuestionScores;
  readonly errors: readonly ErrorClass[];
}

function scoreOne(
  { question, prediction }: Prediction,
  { domains }: CallSet,
  options: ScoringOptions,
): Scored {
  const { id, difficulty, domain, truth } = question;
  const names = domains.get(domain)!.map(({ name }) => name);
  const scores = scorePrediction(prediction, truth, options);
  return { id, difficulty, scores, errors: errorClassesOf(prediction, truth, names, options) };
}

/** The scores with their headings, in the order of the table. */
const METRICS = {
  syntaxValid: "syntax valid",
  structural: "structural",
  exact: "exact",
  routingExact: "routing exact",
} as const satisfies Record<keyof QuestionScores, string>;

const METRIC_NAMES = Object.keys(METRICS) as (keyof QuestionScores)[];

/** All scores together. */
interface Summary extends Required<ScoringOptions> {
  readonly set: string;
  readonly hash: string;
  readonly questions: number;
  /** Number of questions with a prediction. */
  readonly answered: number;
  readonly predictions: number;
  readonly scores: Readonly<Record<keyof QuestionScores, DifficultyAverages>>;
  /** Number of predictions by error; one may have several. */
  readonly errors: Readonly<Record<ErrorClass, number>>;
  /** Number of predictions with any error. */
  readonly wrong: number;
}

function summarizeScores(
  scored: readonly Scored[],
  { name, hash, questions }: CallSet,
  options: Required<ScoringOptions>,
): Summary {
  const averages = METRIC_NAMES.map((metric) => [
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
    scores: Object.fromEntries(averages),
    errors: Object.fromEntries(counts),
    wrong: scored.filter(({ errors }) => errors.length > 0).length,
  };
}

const ROWS = [...DIFFICULTIES, "all", "macro"] as const;

/** Formats the summary as tables. */
function render(summary: Summary): string {
  const { set, rule, mode, format, questions, answered, predictions, scores, errors, wrong } =
    summary;
  const metrics = METRIC_NAMES.filter((metric) => scores[metric].counts.all > 0);
  const { counts } = scores.routingExact;
  return [
    `${printable(set)}: ${countText(predictions, "prediction")} for ${answered} of ` +
    `${countText(questions, "question")}; rule ${rule}, mode ${mode}, format ${format}`,
    alignedTable(
      layOut(ROWS, [
        { head: "difficulty", cell: (row) => row },
        // The macro average is a mean of averages and has no count.
        { head: "predictions", cell: (row) => row === "macro" ? "" : counts[row] },
        metrics.map((metric) => ({
          head: METRICS[metric],
          cell: (row) => shareText(scores[metric][row]),
        })),
      ]),
      1,
      commandWidth(),
    ),
    alignedTable(
      layOut(ERROR_CLASSES, [
        { head: "error class", cell: (one) => one.replaceAll("_", " ") },
        { head: "predictions", cell: (one) => errors[one] },
        {
          head: "of those wrong",
          cell: (one) => shareText(wrong === 0 ? null : errors[one] / wrong),
        },
      ]),
      1,
      commandWidth(),
    ),
  ].join("\n\n");
}

const OUTPUTS = z.object({ id: z.string(), outputs: z.array(z.string()) });

function scoreStability(arguments_: readonly string[]): number {
  const options = new Arguments("score", arguments_, { switches: ["normalize", "json"] });
  const [file, ...others] = options.operands;
  if (file === undefined || others.length > 0) {
    throw options.error(`stability takes one file: ${options.operands.length} are given`);
  }
  const prepare = options.has("normalize") ? normalizeOutput : (text: string) => text;
  for (const { value: { id, outputs } } of readLines(userPath(file), OUTPUTS)) {
    const texts = outputs.map(prepare);
    const election = electionStability(texts);
    console.log(printableJson({ id, election, levenshtein: levenshteinStability(texts) }));
  }
  return 0;
}
