/**
 * BFCL loader: reads the files of the Berkeley Function Calling Leaderboard, version 4, as they are published:
 * `BFCL_v4_CATEGORY.json`, and right answers of the same name in `possible_answer`.
 * @module
 */

import defer * as paths from "node:path";
import { z } from "zod";
import {
  asNumbers,
  fieldOf,
  isFraction,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  printable,
  withNumberBounds,
} from "../../base/json.ts";
import { type JsonLine, parseWith, readJsonLines } from "../../base/input.ts";
import { cannot } from "../../base/errors.ts";
import { filesIn, isFolder } from "../../base/folder.ts";
import { isMissing } from "../../base/output_file.ts";
import { providerNames } from "../../tools/provider_names.ts";
import { mapSchemas } from "../../tools/schema/subschemas.ts";
import { assertIds, NAME, OBJECT, type QuestionDraft, setHash } from "./_load_common.ts";
import { scorePrediction } from "./scoring.ts";
import {
  type ApiFunction,
  type CallSet,
  type CallTruth,
  difficultyOf,
  PLACEHOLDER,
  plainTruth,
} from "./question_set.ts";

/** The categories whose questions are single turns with functions of Python. */
export const BFCL_CATEGORIES = [
  ...["simple_python", "multiple", "parallel", "parallel_multiple", "irrelevance"],
  ...["live_simple", "live_multiple", "live_parallel", "live_parallel_multiple"],
  ...["live_irrelevance", "live_relevance"],
];

/** How BFCL's checker compares calls. */
const COMPARISON = { order: "any", text: "normalized", numbers: "as written" } as const;

const QUESTION = z.object({
  id: NAME,
  question: z.array(
    z.array(z.object({ role: z.enum(["system", "user", "assistant"]), content: z.string() })),
  ).length(1, "must have one turn, as conversations are not read"),
  function: z.array(z.object({ name: NAME, description: z.string(), parameters: OBJECT })),
});

const TRUTH = z.object({ id: NAME, ground_truth: z.array(z.record(z.string(), OBJECT)) });

/** What a line of BFCL's files is. */
export function bfclKind(value: JsonValue | undefined): "question" | "truth" | "other" {
  if (fieldOf(value, "id") === undefined) return "other";
  if (fieldOf(value, "ground_truth") !== undefined) return "truth";
  return fieldOf(value, "question") === undefined ? "other" : "question";
}

/**
 * Reads files, or the questions in folders, as one set, whose domains are the categories, and returns the lines that are
 * neither questions nor right answers. Right answers may stand in `possible_answer` beside a file as well.
 *
 * @throws {InputError} If there is no question, a file is invalid, or of another version or category; the message names
 * file, line and rule.
 */
export function readBfcl(given: readonly string[]) {
  const files = [...new Set(given.flatMap(questionFiles))];
  const kinds = Map.groupBy(files.flatMap(linesOf), ({ value }) => bfclKind(value));
  const { question: lines, truth = [], other = [] } = Object.fromEntries(kinds);
  if (lines === undefined) {
    throw cannot(`use ${given.join(", ")}`, "there must be questions", "no file has any");
  }
  const name = paths.basename(paths.resolve(given[0]!), ".json");
  return { set: bfclSet(name, lines, truth), others: other };
}

/** Returns the files at a path: of a folder those of the categories that are read, as a published one has others too. */
function questionFiles(path: string): string[] {
  if (!isFolder(path)) return [path];
  const names = filesIn(path, ".json").filter((name) => name.startsWith("BFCL_v"));
  const read = BFCL_CATEGORIES.map((category) => `BFCL_v4_${category}.json`)
    .filter((name) => names.includes(name));
  return (read.length > 0 ? read : names).map((name) => paths.join(path, name));
}

/** Returns the lines of a file, and those of the right answers beside it, if there are any. */
function linesOf(path: string): JsonLine[] {
  const beside = paths.join(paths.dirname(path), "possible_answer", paths.basename(path));
  return [path, ...isMissing(beside) ? [] : [beside]].flatMap(readJsonLines);
}

/**
 * Makes a set of lines of questions and of right answers.
 *
 * @throws {InputError} If a line is invalid, a question has no right answer, or two have the same id.
 */
export function bfclSet(
  name: string,
  lines: readonly JsonLine[],
  truths: readonly JsonLine[],
): CallSet {
  const right = new Map(
    truths.map(({ value, source }) => [fieldOf(value, "id"), { value, source }]),
  );
  const warnings: string[] = [];
  const drafts = lines.map(({ value, source }): QuestionDraft => {
    const domain = categoryOf(value, source);
    const plain = withNumberBounds(asNumbers(value)) as JsonObject;
    const { id, question: [said], function: documents } = parseWith(QUESTION, plain, source);
    const names = providerNames(documents.map((one) => one.name));
    const functions = documents.map((document, place): ApiFunction => ({
      ...{ name: document.name, document: (plain["function"] as JsonObject[])[place]! },
      tool: {
        ...{ name: names[place]!, description: document.description },
        parameters: schemaOf(document.parameters) as JsonObject,
      },
    }));
    const truth = truthOf(domain, right.get(id), functions);
    if (truth === undefined) {
      const rule = "its right answer must be given, or stand in possible_answer/ beside its file";
      throw cannot(`use ${source}`, rule, "there is none of its id");
    }
    const options = { rule: "strict", mode: "tools", comparison: COMPARISON, functions } as const;
    if (scorePrediction({ ...plainTruth(truth) as object }, truth, options).exact === false) {
      warnings.push(`${source}: ${printable(id)}: BFCL's rules refuse its own truth`);
    }
    const messages = said!.map(({ role, content }) =>
      role === "assistant"
        ? { role: "user" as const, content: `You: ${content}` }
        : { role, content }
    );
    const question = { id, domain, functions, messages, truth, difficulty: difficultyOf(truth) };
    return { question, source, path: "this line" };
  });
  assertIds(drafts);
  const questions = drafts.map(({ question }) => question);
  const domains = new Map(questions.map(({ domain }) => [domain, []]));
  const hash = setHash(domains, questions, COMPARISON);
  return { name, hash, domains, questions, comparison: COMPARISON, bfcl: true, warnings };
}

/** @throws {InputError} If a question is of a category, or of a version, that is not read. */
function categoryOf(value: JsonValue, source: string): string {
  const { id } = parseWith(z.object({ id: NAME }), value, source);
  const category = id.replace(/_\d+(?:-\d+-\d+)?$/, "");
  const version = /BFCL_(v\d+)_[^/]*$/.exec(source)?.[1] ?? "v4";
  if (version === "v4" && BFCL_CATEGORIES.includes(category)) return category;
  throw cannot(
    `use ${source}`,
    /java/.test(category)
      ? "Java and JavaScript are not read, as their arguments are texts of these languages"
      : `it must be of BFCL v4, and of ${BFCL_CATEGORIES.join(", ")}`,
    `it is ${version === "v4" ? "" : `of ${version}, `}${printable(id, 100)}`,
  );
}

/** The types of JSON Schema for those of BFCL; `any` is a text, as in BFCL itself. */
const TYPES: JsonObject = {
  dict: { type: "object" },
  tuple: { type: "array" },
  float: { type: "number", format: "float" },
  any: { type: "string" },
};

function schemaOf(document: JsonValue): JsonValue {
  if (!isJsonObject(document)) return {};
  const parts = Object.entries(document)
    // Some have `required: true` beside the parameter that is.
    .filter(([key, value]) => !["required", "enum"].includes(key) || Array.isArray(value))
    .map(([key, value]) => [key, mapSchemas(key, value, schemaOf)]);
  return { ...Object.fromEntries(parts), ...Object(TYPES[String(document["type"])]) };
}

/** Returns the right calls of a question of a category; `undefined` if it has none. */
function truthOf(
  category: string,
  line: JsonLine | undefined,
  functions: readonly ApiFunction[],
): CallTruth | undefined {
  if (category.endsWith("irrelevance")) return { API: [], parameters: [] };
  if (category.endsWith("relevance")) return { API: [PLACEHOLDER], parameters: [{}] };
  if (line === undefined) return undefined;
  const calls = parseWith(TRUTH, line.value, line.source).ground_truth
    .map((call) => Object.entries(call)[0] ?? ["", {}] as [string, JsonObject]);
  return {
    // A simple question has one function, and BFCL's checker looks at no other name.
    API: calls.map(([name]) => category.includes("simple") ? functions[0]?.name ?? name : name),
    parameters: calls.map(([name, given]) => {
      const { properties } = functions.find((one) => one.name === name)?.tool.parameters ?? {};
      return choices(given, (key) => Object(properties)[key]);
    }),
  };
}

/** Returns arguments, or the entries of an object, whose lists of right values are choices. */
function choices(given: JsonObject, schemaOf: (key: string) => JsonObject | undefined): JsonObject {
  return Object.fromEntries(
    Object.entries(given).map(([key, values]): [string, JsonValue] => {
      const anyOf = [values].flat().map((value) => withChoices(value, schemaOf(key)));
      if (anyOf.includes("")) return [key, { anyOf, optional: true }];
      return [key, anyOf.length === 1 ? anyOf[0]! : { anyOf }];
    }),
  );
}

/** Returns a right value, in which objects have lists of values where the schema has objects. */
function withChoices(value: JsonValue, schema: JsonObject = {}): JsonValue {
  const { type, items } = schema;
  if (isJsonObject(value) && !isFraction(value) && type === "object") {
    return choices(value, () => undefined);
  }
  if (!Array.isArray(value) || Object(items).type !== "object") return value;
  return value.map((item) => withChoices(item, items as JsonObject));
}
