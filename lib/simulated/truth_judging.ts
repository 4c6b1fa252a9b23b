/**
 * The simulated model that knows the truth as a judge of answers (CallNavi, appendix B.2).
 * @module
 */

import { CALL_FORMATS, readPrediction, scorePrediction } from "../tasks/questions/scoring.ts";
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from "../base/json.ts";

/**
 * How like a prediction is to the truth: 1 where it is right by the published rule, 0 where it cannot be
 * read, and else the share of names and arguments that are right, which is below 1.
 *
 * @param truth The truth as JSON, `{API, parameters}`.
 *
 * @example Usage
 * ```ts
 * import { likenessOf } from "./truth_judging.ts";
 * import { assertEquals } from "@std/assert";
 *
 * const truth = '{"API":["getBalance"],"parameters":[{"account":"7"}]}';
 * assertEquals(likenessOf("{'API': ['getBalance'], 'parameters': [{'account': '7'}]}", truth), 1);
 * assertEquals(likenessOf("{'API': ['getBalance'], 'parameters': [{'account': '8'}]}", truth), 0.5);
 * ```
 */
export function likenessOf(prediction: string, truth: string): number {
  const given = readCalls(predicted(prediction));
  const expected = readCalls(parseJson(truth));
  if (given === undefined || expected === undefined) return 0;
  if (scorePrediction(given, expected, { mode: "tools" }).exact) return 1;
  const places = Math.max(given.API.length, expected.API.length);
  let parts = 0;
  let right = 0;
  for (let place = 0; place < places; place++) {
    parts++;
    const isNamed = given.API[place] === expected.API[place];
    if (isNamed) right++;
    const [own, wanted] = [given, expected].map(({ parameters }) => parameters[place]);
    for (const [key, value] of isJsonObject(wanted) ? Object.entries(wanted) : []) {
      parts++;
      if (isNamed && isJsonObject(own) && agrees(own, key, value)) right++;
    }
  }
  return parts === 0 ? 0 : Math.min(right / parts, BELOW_RIGHT);
}

/** The most that is not right comes to; it must not be rounded to 1. */
const BELOW_RIGHT = 0.999;

type Calls = { API: string[]; parameters: JsonValue[] };

/** A prediction in either format. */
function predicted(text: string): JsonValue | undefined {
  for (const format of CALL_FORMATS) {
    const value = readPrediction(text, { format });
    if (isJsonObject(value) || Array.isArray(value)) return value;
  }
}

/** Calls, or names alone. */
function readCalls(value: JsonValue | undefined): Calls | undefined {
  if (Array.isArray(value)) return { API: value.filter(isText), parameters: [] };
  if (!isJsonObject(value)) return undefined;
  const { API, parameters } = value;
  return {
    API: Array.isArray(API) ? API.filter(isText) : [],
    parameters: Array.isArray(parameters) ? parameters : [],
  };
}

function isText(value: JsonValue): value is string {
  return typeof value === "string";
}

/** Whether one argument is right, by the published rule. */
function agrees(given: JsonObject, key: string, expected: JsonValue): boolean {
  if (!Object.hasOwn(given, key)) return false;
  const calls = (value: JsonValue) => ({
    API: [key],
    parameters: [Object.fromEntries([[key, value]])],
  });
  return scorePrediction(calls(given[key]!), calls(expected), { mode: "tools" }).exact === true;
}
