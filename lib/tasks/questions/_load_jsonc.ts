/**
 * JSONC loader: reads call sets in toolgate's format, one JSON file that may have comments.
 * @module
 */

import { z } from "zod";
import { type CallSet, DIFFICULTIES, difficultyOf, isChoice } from "./question_set.ts";
import { readJsonc, WITH_INPUT } from "../../base/input.ts";
import { didYouMean } from "../../base/nearest_name.ts";
import { defined, isObject, type JsonObject, type JsonValue, printable } from "../../base/json.ts";
import { resultsFault } from "./_check_results.ts";
import {
  assemble,
  documentSchema,
  type DomainDraft,
  type FunctionDraft,
  MESSAGES,
  NAME,
  OBJECT,
  type QuestionDraft,
  RESULT,
} from "./_load_common.ts";

const FUNCTION = documentSchema(
  z.strictObject({
    name: NAME,
    description: z.string(),
    parameters: z.union([
      OBJECT.transform(wordsOrSchema),
      z.array(NAME).transform((names) => ({ names })),
    ]),
    returns: OBJECT.transform(wordsOrSchema).exactOptional(),
  }),
  (fields) => fields,
);

/** A schema has `type: "object"`; type words would need a parameter named `type` to look the same. */
function wordsOrSchema(
  given: JsonObject,
): { readonly words: JsonObject } | { readonly schema: JsonObject } {
  return given["type"] === "object" ? { schema: given } : { words: given };
}

/** Schema of the functions, by domain; domains may have any names. */
const DOMAINS = OBJECT.transform((given, context): ReadonlyMap<string, FunctionDraft[]> => {
  const domains = Object.entries(given).map(([domain, functions]) => {
    const { data, error } = z.array(FUNCTION).min(1).safeParse(functions, WITH_INPUT);
    for (const issue of error?.issues ?? []) {
      const path = [domain, ...issue.path];
      context.issues.push({ ...issue, path } as z.core.$ZodRawIssue);
    }
    return [domain, data ?? []] as const;
  });
  if (domains.length === 0) {
    context.addIssue({ code: "custom", message: "must have a domain: there is none" });
  }
  return new Map(domains);
});

const QUESTION = z.strictObject({
  id: NAME,
  domain: z.string().exactOptional(),
  question: z.union([z.string(), MESSAGES]),
  calls: z.array(
    z.strictObject({
      function: NAME,
      arguments: OBJECT.refine(
        hasWholeChoices,
        'must have choices as {"anyOf": [...]}, with one value or more, and perhaps "optional": true',
      ).exactOptional(),
      values: OBJECT.exactOptional(),
      result: RESULT.exactOptional(),
    }),
  ).superRefine((calls, context) => {
    const fault = resultsFault(calls);
    if (fault === undefined) return;
    context.addIssue({ code: "custom", path: [...fault.path], message: fault.message });
  }),
  difficulty: z.enum(DIFFICULTIES).exactOptional(),
});

/** Whether all that looks like a choice is one. */
function hasWholeChoices(value: JsonValue): boolean {
  return !isObject(value) ||
    (isChoice(value) ? value.anyOf?.length !== 0 : !Object.hasOwn(value, "anyOf")) &&
      Object.values(value).every(hasWholeChoices);
}

const SET = z.strictObject({
  name: NAME,
  order: z.literal("any").exactOptional(),
  text: z.literal("normalized").exactOptional(),
  numbers: z.literal("as written").exactOptional(),
  functions: DOMAINS,
  questions: z.array(QUESTION).min(1),
}).superRefine(({ functions, questions }, context) => {
  const domains = [...functions.keys()];
  const fail = (message: string, ...path: (string | number)[]) =>
    context.addIssue({ code: "custom", path: ["questions", ...path], message });
  for (const [place, { domain, calls }] of questions.entries()) {
    if (domain === undefined && domains.length > 1) {
      fail(`is needed, as there are ${domains.length} domains`, place, "domain");
      continue;
    }
    const own = domain ?? domains[0]!;
    const names = functions.get(own)?.map(({ name }) => name);
    if (names === undefined) {
      const given = JSON.stringify(own);
      fail(`must be one of ${domains.join(", ")}: it is ${given}`, place, "domain");
    }
    for (const [at, { function: name }] of calls.entries()) {
      if (names?.includes(name) ?? true) continue;
      const given = JSON.stringify(printable(name, 100)) + didYouMean(name, names!);
      fail(`must be on offer in ${own}: it is ${given}`, place, "calls", at, "function");
    }
  }
});

/**
 * Loads a call set in toolgate's format:
 *
 * - `name`: Name of the set.
 * - `functions`: A list of functions for each domain, each with `name`, `description`, `parameters` and
 *   optionally `returns`. Parameters are a JSON Schema, whose `type` is `object`; or type words by name, such
 *   as `{"city": "string"}`; or a list of names. Returns are a schema or type words.
 * - `questions`: Each with an `id`; a `domain`, if there are several; a `question`, which is a text or a list
 *   of messages, `{role, content}`; `calls`, the right ones, `{function, arguments}`, in which `"$$$"`
 *   replaces values that are not in the question; and optionally a `difficulty`. Default: from the calls.
 *   Calls may also have a `result`, and `values`, the real ones of arguments with `"$$$"`. An argument, and a key of
 *   one that is an object, may be `{anyOf: [...]}`, `{optional: true}`, or both.
 * - `order`, `text` and `numbers`: How calls are compared, as {@linkcode Comparison} says.
 *
 * @throws {InputError} If the file is invalid; the message names the file, the path in it and the rule.
 */
export function loadJsonc(path: string): CallSet {
  const { name, functions, questions, ...comparison } = readJsonc(path, SET);
  const domains = new Map(
    Array.from(functions, ([domain, own]): [string, DomainDraft] => [
      domain,
      { source: path, functions: own },
    ]),
  );
  const [only] = functions.keys();
  const drafts = questions.map((record, place): QuestionDraft => {
    const { id, domain = only!, question, calls, difficulty } = record;
    const truth = {
      API: calls.map((call) => call.function),
      parameters: calls.map((call) => call.arguments ?? {}),
    };
    const results = calls.map(({ result, values }) => defined({ result: result!, values }));
    const asked = defined({
      ...{ id, domain },
      messages: typeof question === "string"
        ? [{ role: "user" as const, content: question }]
        : question,
      truth,
      results: calls.some(({ result }) => result !== undefined) ? results : undefined,
      difficulty: difficulty ?? difficultyOf(truth),
    });
    return { question: asked, source: path, path: `questions[${place}]` };
  });
  return assemble({
    ...{ name, domains, questions: drafts },
    comparison: Object.keys(comparison).length === 0 ? undefined : comparison,
  });
}
