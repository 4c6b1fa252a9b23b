/**
 * Call sets: questions, the available functions, and the calls that answer them (CallNavi). Nothing is
 * executed: an answer is the list of calls itself.
 * @module
 */

import { isJsonObject, type JsonObject, type JsonValue } from "../../base/json.ts";
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
  /** The functions to call, in order. */
  readonly API: readonly string[];
  /**
   * The arguments, an object for each call in the same order; an empty list also means that no call has any.
   * {@linkcode PLACEHOLDER} replaces values that are not in the question.
   */
  readonly parameters: readonly JsonValue[];
}

/** A question. */
export interface CallQuestion {
  /** Id, unique in the set. */
  readonly id: string;
  /** The domain whose functions are available. */
  readonly domain: string;
  /** The question, with any messages before it. */
  readonly messages: readonly {
    readonly role: "system" | "user";
    readonly content: string;
  }[];
  /** The right calls. */
  readonly truth: CallTruth;
  /** Its difficulty. */
  readonly difficulty: Difficulty;
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
  /** Warnings about its files, each with the file and the record. */
  readonly warnings: readonly string[];
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
