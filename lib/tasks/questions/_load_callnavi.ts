/**
 * CallNavi loader: reads the published layout, a folder with `APIs/DOMAIN.json` and `Questions/DOMAIN.json`.
 * @module
 */

import defer * as fs from "node:fs";
import defer * as paths from "node:path";
import { z } from "zod";
import { type CallQuestion, type CallSet, DIFFICULTIES } from "./question_set.ts";
import { readJsonc } from "../../base/input.ts";
import { cannot, orCannot } from "../../base/errors.ts";
import { isFolder } from "../../base/folder.ts";
import { defined } from "../../base/json.ts";
import { resultsFault } from "./_check_results.ts";
import {
  assemble,
  documentSchema,
  type DomainDraft,
  MESSAGES,
  NAME,
  OBJECT,
  type QuestionDraft,
  RESULT,
} from "./_load_common.ts";

/** The fields of a document that are used; there may be others. */
const FIELDS = z.object({
  name: NAME,
  description: z.string(),
  parameters: z.union([OBJECT, z.array(NAME)]),
});

const DOCUMENT = documentSchema(FIELDS, ({ name, description, parameters }, document) => {
  const returned = document["returnParameter"];
  return {
    ...{ name, description },
    parameters: Array.isArray(parameters) ? { names: parameters } : { words: parameters },
    returns: returned === undefined ? undefined : { words: returned },
  };
});

const APIS = z.object({ api_ports: z.array(DOCUMENT).min(1) });

const TRUTH = z.strictObject({
  API: z.array(NAME).min(1),
  parameters: z.array(OBJECT),
}).superRefine(({ API: { length }, parameters }, context) => {
  if (parameters.length === length || parameters.length === 0) return;
  const state = `there are ${parameters.length}`;
  const message = `must be as many as the names of API, ${length}, or none: ${state}`;
  context.addIssue({ code: "custom", path: ["parameters"], message });
});

const QUESTIONS = z.array(
  z.object({
    id: NAME,
    question: MESSAGES,
    ground_truth: TRUTH,
    difficulty: z.enum(DIFFICULTIES),
  }),
).min(1);

/** Schema of the declared results of a domain's questions, a call after the other. */
const RESULTS = z.array(
  z.strictObject({
    id: NAME,
    calls: z.array(z.strictObject({ values: OBJECT.exactOptional(), result: RESULT })).min(1),
  }),
);

/**
 * Loads a call set in CallNavi's published layout. The two files of a domain have its name. A third one, in
 * `Results`, may declare what the calls return, which the published data do not: a list of `{id, calls}`, with
 * `{result, values}` for each right call of the question.
 *
 * @throws {InputError} If a file is invalid; the message names the file, the path in it and the rule.
 */
export function loadCallNavi(folder: string): CallSet {
  const fileOf = (kind: string, domain: string) => paths.join(folder, kind, `${domain}.json`);
  const [told, asked] = ["APIs", "Questions"].map((kind) => domainsIn(paths.join(folder, kind)));
  const results = paths.join(folder, "Results");
  const declared = isFolder(results) ? domainsIn(results) : [];
  // A file that another one needs is read, too: that it is missing is the error.
  const domains = new Map(
    Array.from(new Set([...told!, ...asked!]), (domain): [string, DomainDraft] => {
      const source = fileOf("APIs", domain);
      return [domain, { source, functions: readJsonc(source, APIS).api_ports }];
    }),
  );
  const questions = [...new Set([...asked!, ...declared])].flatMap((domain) => {
    const drafts = readQuestions(domain, fileOf("Questions", domain));
    return declared.includes(domain) ? withResults(drafts, fileOf("Results", domain)) : drafts;
  });
  if (questions.length === 0) {
    throw cannot(`use ${folder}`, "there must be questions", "there is no .json file in Questions");
  }
  return assemble({ name: paths.basename(paths.resolve(folder)), domains, questions });
}

function readQuestions(domain: string, source: string): QuestionDraft[] {
  return readJsonc(source, QUESTIONS).map((record, place) => {
    const { id, question: messages, ground_truth: truth, difficulty } = record;
    const question: CallQuestion = { id, domain, messages, truth, difficulty };
    return { question, source, path: `[${place}]` };
  });
}

/**
 * Adds the declared results of a file to the questions of its domain.
 *
 * @throws {InputError} If they are not those of the questions' calls.
 */
function withResults(drafts: readonly QuestionDraft[], source: string): QuestionDraft[] {
  const left = new Map(drafts.map(({ question }) => [question.id, question.truth]));
  const schema = RESULTS.superRefine((records, context) => {
    for (const [at, { id, calls }] of records.entries()) {
      const fail = (message: string, ...path: (string | number)[]) =>
        context.addIssue({ code: "custom", path: [at, ...path], message });
      const { API, parameters } = left.get(id) ?? {};
      if (!left.delete(id)) fail(`there is no question ${JSON.stringify(id)}`, "id");
      else if (calls.length !== API!.length) {
        const state = `there are ${calls.length}`;
        fail(`must be as many as the right calls, ${API!.length}: ${state}`, "calls");
      } else {
        const given = calls.map((call, place) => ({ arguments: parameters![place], ...call }));
        const fault = resultsFault(given);
        if (fault !== undefined) fail(fault.message, "calls", ...fault.path);
      }
    }
  });
  const results = new Map(readJsonc(source, schema).map(({ id, calls }) => [id, calls]));
  return drafts.map(({ question, ...draft }) => ({
    ...draft,
    question: defined({ ...question, results: results.get(question.id) }),
  }));
}

/** Returns the names of the JSON files of a folder without the extension, sorted. */
function domainsIn(folder: string): string[] {
  return orCannot(`read ${folder}`, () => fs.readdirSync(folder)).filter((name) =>
    name.endsWith(".json")
  ).sort()
    .map((name) => name.slice(0, -".json".length));
}
