/**
 * The small call set of the fixtures, and models that answer its questions.
 */

import { loadCallSet } from "../../lib/tasks/questions/load.ts";
import { PLACEHOLDER } from "../../lib/tasks/questions/question_set.ts";
import type { Model, ModelRequest } from "../../lib/models/model.ts";
import { scripted, type ScriptedReply } from "../../lib/models/scripted.ts";
import { questionSource } from "../../lib/runs/question_tasks.ts";
import { planSuite } from "../../lib/runs/plan.ts";
import type { QuestionSet, Suite } from "../../lib/runs/suite.ts";
import { ROOT } from "./child.ts";

/** Where it lies. */
export const CITY_PATH = `${ROOT}/fixtures/call_sets/city`;

/** The set. */
export const CITY = loadCallSet(CITY_PATH);

/** A set whose functions have texts and optional parameters. */
export const TRIPS = loadCallSet(`${ROOT}/fixtures/call_sets/trips.jsonc`);

/** The suite of some of its questions. */
export function citySuite(entry: Partial<QuestionSet> = {}, others: Partial<Suite> = {}): Suite {
  return {
    name: "city",
    seed: 1,
    tasks: [{ set: CITY_PATH, ...entry }],
    models: ["m"],
    ...others,
  };
}

/** The plan of such a suite. */
export function cityPlan(entry?: Partial<QuestionSet>, others?: Partial<Suite>) {
  const suite = citySuite(entry, others);
  return planSuite(suite, { tasks: questionSource(suite.tasks, (path) => path)! });
}

/** The question of a request: its text stands in the first message of the user. */
export function askedIn({ messages }: ModelRequest) {
  const first = messages.find(({ role }) => role === "user")!.content;
  return CITY.questions.find(({ messages: [own] }) => first.includes(own!.content))!;
}

/** A model that writes down what `answer` makes of the true calls. */
export function writing(
  answer: (truth: string, request: ModelRequest) => string | ScriptedReply,
  name = "m",
): Model {
  return scripted(name, (request) => {
    // The published rule takes every apostrophe for a quote.
    const truth = JSON.stringify(askedIn(request).truth).replaceAll("'", "\\u0027");
    const said = answer(truth, request);
    return typeof said === "string" ? { text: said } : said;
  });
}

/** Makes the true calls natively, one a reply, and then says that it is done. */
export function calling(): Model {
  return scripted("m", (request) => {
    const { truth: { API, parameters } } = askedIn(request);
    const made = request.messages.filter(({ role }) => role === "tool").length;
    if (made >= API.length) return { text: "Done." };
    const given = parameters[made] ?? {};
    return { calls: [{ name: API[made]!, arguments: given as Record<string, never> }] };
  });
}

/** What stands for values that are not known. */
export const UNKNOWN = PLACEHOLDER;
