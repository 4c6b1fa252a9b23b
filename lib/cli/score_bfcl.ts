/**
 * `score bfcl`: scores answers to the questions of the Berkeley Function Calling Leaderboard by its rules.
 * @module
 */

import { z } from "zod";
import { userPath } from "../base/command_line.ts";
import { cannot } from "../base/errors.ts";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  printable,
  printableJson,
  writtenJson,
} from "../base/json.ts";
import { countText } from "../base/numbers.ts";
import { commandWidth } from "../base/terminal_width.ts";
import { tableOf } from "../reports/columns.ts";
import { alignedTable } from "../reports/text_table.ts";
import { BFCL_CATEGORIES, readBfcl } from "../tasks/questions/bfcl.ts";
import type { CallQuestion, CallSet } from "../tasks/questions/question_set.ts";
import { judge, predictionValue } from "../tasks/questions/scoring.ts";
import { readPythonCalls } from "./_python_calls.ts";
import { command } from "./command.ts";
import { type Prediction, predictionsIn } from "./score.ts";

/** Prints the accuracy of answers to questions of BFCL. */
export const scoreBfcl = command({
  usage: "FILES --answers FILE [OPTIONS]",
  takes: ["files of questions", 1, Infinity],
  about:
    `FILES are those of BFCL v4 as they are published, or their folder, and their right answers where these do
not stand in possible_answer/ beside them. Files are recognized by their lines, so right answers may be among
FILES. An answer is a line {"id", "calls": [{"name", "arguments"}]}, or a line {"id", "result"} as BFCL writes them,
with calls in JSON or Python. An id may occur several times.`,
  options: {
    answers: { value: "FILE", several: true, help: "answers of a model; several times" },
    partial: { help: "questions may be without an answer" },
    json: {
      help: 'prints a line {id, category, right, why} for each answer, and {"summary"} at the end',
    },
  },
  needs: ["read"],
  rules: [[(given) => given.answers === undefined, "--answers FILE is needed"]],
  run({ answers: files = [], partial, json }, { operands }) {
    const { set, others } = readBfcl([...operands, ...files].map((one) => userPath(one)));
    if (others.length === 0) {
      throw cannot(`score ${files.join(", ")}`, "there must be answers", "no file has any");
    }
    for (const warning of set.warnings) console.error(printable(warning, 2_000));
    const needed = partial ? undefined : files.join(", ");
    const given = predictionsIn(others, ANSWER, set, predictionOf, needed);
    const scored = given.map((answer) => scoreAnswer(answer, set));
    const summary = summarize(scored);
    if (json) {
      for (const one of [...scored, { summary }]) console.log(printableJson(one));
    } else {
      const answered = new Set(scored.map(({ id }) => id)).size;
      const head = `${countText(scored.length, "answer")} to ${answered} of ` +
        countText(set.questions.length, "question");
      console.log([`BFCL: ${head}`, ...render(summary)].join("\n\n"));
    }
    return 0;
  },
});

const ANSWER = z.object({
  id: z.string(),
  calls: z.array(z.object({ name: z.string(), arguments: z.custom<JsonValue>() })).exactOptional(),
  result: z.custom<JsonValue>().exactOptional(),
}).refine((line) => Object.keys(line).length > 1, "must have calls or a result");

/** Returns what an answer is scored by: its calls in the form of a truth, or `null` if they cannot be read. */
function predictionOf(
  { calls, result }: z.output<typeof ANSWER>,
  { functions = [] }: CallQuestion,
): JsonValue {
  const listed = calls?.map(({ name, arguments: given }) => ({ [name]: given })) ??
    (typeof result === "string" ? readPythonCalls(result) : result);
  const isListed = Array.isArray(listed) &&
    listed.every((one) => isJsonObject(one) && Object.keys(one).length === 1);
  const made = isListed ? listed.flatMap((one) => Object.entries(one as JsonObject)) : [];
  const parameters = made.map(([, own]) => typeof own === "string" ? writtenJson(own) : own);
  if (!isListed || !parameters.every(isJsonObject)) return null;
  // Of native calls BFCL writes the names that providers take.
  const isNative = calls === undefined && listed === result;
  const named = (name: string) =>
    functions.find(({ tool }) => isNative && tool.name === name)?.name;
  return { API: made.map(([name]) => named(name) ?? name), parameters };
}

function scoreAnswer({ question, prediction }: Prediction, { comparison }: CallSet) {
  const { id, domain: category, truth, functions } = question;
  const options = { rule: "strict", mode: "tools", comparison, functions } as const;
  // What cannot be read is no call, as is right where none is relevant.
  const none = truth.API.length === 0 ? { API: [], parameters: [] } : null;
  const value = predictionValue(prediction, options) ?? none;
  const { exact: right, why } = judge(value, truth, options);
  return { id, category, right, ...(right ? {} : { why }) };
}

function summarize(scored: readonly ReturnType<typeof scoreAnswer>[]) {
  const byCategory = Map.groupBy(scored, ({ category }) => category);
  const wrong = scored.flatMap(({ why }) => why?.split(":", 1) ?? []);
  return {
    categories: BFCL_CATEGORIES.filter((name) => byCategory.has(name)).map((name) => {
      const own = byCategory.get(name)!;
      const right = own.filter((one) => one.right).length / own.length;
      return { name, answers: own.length, right };
    }),
    errors: Array.from(Map.groupBy(wrong, (error) => error), ([error, own]) => ({
      ...{ error, answers: own.length },
    })),
  };
}

function render({ categories, errors }: ReturnType<typeof summarize>): string[] {
  const caption = { section: "call sets", title: "" } as const;
  return [
    ...tableOf(categories, [
      { head: "category", unit: "name", value: ({ name }) => name.replaceAll("_", " ") },
      { head: "answers", unit: "count", value: ({ answers }) => answers },
      { head: "right", unit: "share", value: ({ right }) => right },
    ], { ...caption, id: "scores" }),
    ...tableOf(errors, [
      { head: "error", unit: "name", value: ({ error }) => error.replaceAll("_", " ") },
      { head: "answers", unit: "count", value: ({ answers }) => answers },
    ], { ...caption, id: "errors" }),
  ].map((table) => alignedTable(table, commandWidth()));
}
