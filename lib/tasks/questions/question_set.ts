/**
 * Call sets: questions, the available functions, and the calls that answer them (CallNavi). Nothing is
 * executed: an answer is the list of calls itself, and calls that are made return what the set declares.
 * @module
 */

import {
  canonicalJson,
  defined,
  integerOf,
  isFraction,
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../../base/json.ts";
import type { ToolSchema } from "../../tools/tool.ts";
import { wordsByName, wordsOfSchema } from "../../tools/schema/plain_types.ts";

/**
 * The difficulties of questions: `easy` takes one call; `medium` several, whose arguments are all in the
 * question; `hard` several, some of whose arguments come from earlier calls (CallNavi, section 4.1).
 */
export const DIFFICULTIES = ["easy", "medium", "hard"] as const;

/** The difficulty of a question. */
export type Difficulty = typeof DIFFICULTIES[number];

/**
 * Placeholder for an argument that is not in the question, as it comes from an earlier call or has no single
 * right text (CallNavi, section 5.1).
 */
export const PLACEHOLDER = "$$$";

/** An available function. */
export interface ApiFunction {
  /** Its name in truths and predictions. */
  readonly name: string;
  /** Its document as in the file, with the same order of keys, for prompts. */
  readonly document: JsonObject;
  /** The function for native tool calling. Providers may require another name than the document's. */
  readonly tool: ToolSchema;
}

/** The right calls. */
export interface CallTruth {
  /** The functions to call, in order; {@linkcode PLACEHOLDER} alone means one call or more, of any function. */
  readonly API: readonly string[];
  /**
   * The arguments, an object for each call in the same order; an empty list also means that no call has any.
   * {@linkcode PLACEHOLDER} replaces values that are not in the question. `{anyOf: [...]}` stands for one of several
   * values, and with `optional: true` an argument may be left out; so may keys of objects that are arguments.
   */
  readonly parameters: readonly JsonValue[];
}

/** What a mock server knows of a right call. */
export interface CallResult {
  /** What the function returns: a text as it is, any other value as JSON. */
  readonly result: JsonValue;
  /**
   * The real values of arguments that are or hold {@linkcode PLACEHOLDER}, by name. Of those that are left out,
   * as texts that have no single right form, any value is right.
   */
  readonly values?: JsonObject;
}

/** A question. */
export interface CallQuestion {
  /** Id, unique in the set. */
  readonly id: string;
  /** The domain whose functions are available. */
  readonly domain: string;
  /** Functions of its own that are available in their place; omitted if it has none. */
  readonly functions?: readonly ApiFunction[];
  /** The question, with any messages before it. */
  readonly messages: readonly {
    readonly role: "system" | "user";
    readonly content: string;
  }[];
  /** The right calls. */
  readonly truth: CallTruth;
  /**
   * What a mock server returns for each of the right calls, if it is declared: made calls then have real values
   * in place of placeholders. Omitted if it is not.
   */
  readonly results?: readonly CallResult[];
  /** Its difficulty. */
  readonly difficulty: Difficulty;
}

/** How calls are compared, where it is not as a rule says; all that is left out is by the rule. */
export interface Comparison {
  /** `any`: each right call, in order, takes the first call left that fits. */
  readonly order?: "any";
  /**
   * `normalized`: texts, also within lists and one level within objects, are compared in lower case, without
   * spaces and `,./-_*^`, and with one kind of quote.
   */
  readonly text?: "normalized";
  /**
   * `as written`: a value must have the type of its schema, or else that of the first right value. A number
   * written with a point or an exponent is no integer.
   */
  readonly numbers?: "as written";
}

/** Questions, and the available functions. */
export interface CallSet {
  /** Its name. */
  readonly name: string;
  /** SHA-256 of its functions and questions, in hexadecimal: any change to a prompt changes it. */
  readonly hash: string;
  /** The available functions, by domain. */
  readonly domains: ReadonlyMap<string, readonly ApiFunction[]>;
  /** The questions, in order. */
  readonly questions: readonly CallQuestion[];
  /** How its calls are compared, where it is not as the rule says. */
  readonly comparison?: Comparison;
  /**
   * Set for BFCL's own files: the rule is `strict` where a suite names none, questions are asked with nothing added,
   * and of made calls those of the first reply count that has any.
   */
  readonly bfcl?: true;
  /** Warnings about its files, each with the file and the record. */
  readonly warnings: readonly string[];
}

/** Returns the functions that are available for a question. */
export function functionsOf(
  { domains }: Pick<CallSet, "domains">,
  { functions, domain }: CallQuestion,
): readonly ApiFunction[] {
  return functions ?? domains.get(domain) ?? [];
}

/** What is right for an argument: one of several values, or any, and whether it may be left out. */
export type Choice = { readonly anyOf?: JsonValue[]; readonly optional?: true };

/** Returns what a truth allows for an argument. */
export function choiceOf(truth: JsonValue): Choice {
  return isChoice(truth) ? truth : { anyOf: [truth] };
}

/** Whether the truth of an argument is a choice. */
export function isChoice(truth: unknown): truth is Choice {
  if (!isJsonObject(truth) || isFraction(truth)) return false;
  const { anyOf = [null], optional = true, ...others } = truth;
  return optional === true && Array.isArray(anyOf) &&
    Object.keys(others).length === 0 && Object.keys(truth).length > 0;
}

/** Returns calls that are right: of each choice the first value, and no argument that any value is right for. */
export function plainTruth({ API, parameters }: CallTruth): CallTruth {
  return { API, parameters: parameters.map((one) => variantsOf(one)[0]!) };
}

/** Returns right values without choices: each choice is taken in one of them at least, the first ones in the first. */
export function variantsOf(value: JsonValue): JsonValue[] {
  if (Array.isArray(value)) return [value.map((item) => variantsOf(item)[0]!)];
  if (!isJsonObject(value) || isFraction(value)) return [value];
  const choices = Object.entries(value).map(([key, truth]) => {
    const { anyOf = [], optional } = choiceOf(truth);
    // BFCL lists an empty text for what may be left out.
    const values = anyOf.filter((one) => one !== "" || !optional).flatMap(variantsOf);
    return { key, values: optional ? [...values, undefined] : values };
  });
  const count = Math.max(1, ...choices.map(({ values }) => values.length));
  return Array.from({ length: count }, (_, place) =>
    defined(
      Object.fromEntries(
        choices.map(({ key, values }) => [key, values[Math.min(place, values.length - 1)]]),
      ),
    ) as JsonObject);
}

/**
 * Returns the difficulty of a question from its right calls: one is easy, several are medium, or hard if one
 * of their arguments is or contains a placeholder (CallNavi, section 4.1).
 */
export function difficultyOf({ API, parameters }: CallTruth): Difficulty {
  if (API.length <= 1) return "easy";
  return parameters.some(holdsPlaceholder) ? "hard" : "medium";
}

/** Whether a value has a placeholder for the result of another call, however deep. */
export function holdsPlaceholder(value: JsonValue): boolean {
  if (value === PLACEHOLDER) return true;
  return typeof value === "object" && value !== null && Object.values(value).some(holdsPlaceholder);
}

/** Returns the right calls with real values in place of placeholders, as far as these are declared. */
export function resolvedTruth(
  { truth, results }: Pick<CallQuestion, "truth" | "results">,
): CallTruth {
  if (results === undefined) return truth;
  return {
    ...truth,
    parameters: truth.parameters.map((given, place) => {
      const values = results[place]?.values;
      return values === undefined || !isJsonObject(given) ? given : { ...given, ...values };
    }),
  };
}

/** Returns whether two values are the same; an expected `anything` is the same as any value. */
export function isSameValue(given: JsonValue, expected: JsonValue, anything?: string): boolean {
  if (anything !== undefined && expected === anything) return true;
  if (Array.isArray(expected)) {
    return Array.isArray(given) && given.length === expected.length &&
      expected.every((value, place) => isSameValue(given[place]!, value, anything));
  }
  if (!isJsonObject(expected)) {
    return given === (typeof expected === "bigint" ? integerOf(expected) : expected);
  }
  return isJsonObject(given) && Object.keys(given).length === Object.keys(expected).length &&
    Object.entries(expected).every(([key, value]) =>
      Object.hasOwn(given, key) && isSameValue(given[key]!, value, anything)
    );
}

/** Whether a value is or holds another one, however deep; a text holds every text in it. */
export function holdsValue(value: JsonValue, wanted: JsonValue): boolean {
  if (canonicalJson(value) === canonicalJson(wanted)) return true;
  if (typeof value === "string") return typeof wanted === "string" && value.includes(wanted);
  return typeof value === "object" && value !== null &&
    Object.values(value).some((inner) => holdsValue(inner, wanted));
}

/**
 * Returns the document of a tool in the layout of CallNavi: a type word for each parameter. Prompts show it
 * for a perturbed tool, whose original document no longer applies. It inverts, as far as possible, the
 * conversion of documents to tools.
 *
 * @see CallNavi, appendix A.
 */
export function documentOf({ name, description, parameters, returns }: ToolSchema): JsonObject {
  const { properties } = parameters;
  return {
    name,
    description,
    parameters: isJsonObject(properties) ? wordsByName(properties) : {},
    ...(returns === undefined ? {} : { returnParameter: wordsOfSchema(returns) }),
  };
}
