/**
 * Call sets: questions, the functions on offer, and the calls that answer them (CallNavi). Nothing is
 * executed: an answer is the list of calls itself.
 * @module
 */

import { isJsonObject, type JsonObject, type JsonValue } from "../../base/json.ts";
import type { ToolSchema } from "../../tools/tool.ts";
import { wordsByName, wordsOfSchema } from "../../tools/schema/plain_types.ts";

/**
 * How hard a question is: `easy` takes one call; `medium` several, whose arguments all stand in the
 * question; `hard` several, some of whose arguments come from earlier calls (CallNavi, section 4.1).
 */
export const DIFFICULTIES = ["easy", "medium", "hard"] as const;

/** How hard a question is. */
export type Difficulty = typeof DIFFICULTIES[number];

/**
 * Stands for an argument that the question does not tell, as it comes from an earlier call or has no one
 * right text (CallNavi, section 5.1).
 */
export const PLACEHOLDER = "$$$";

/** A function on offer. */
export interface ApiFunction {
  /** Its name, as calls in truths and predictions bear it. */
  readonly name: string;
  /** Its document as the file has it, in the order of its keys: this goes into prompts. */
  readonly document: JsonObject;
  /** The same for native tool calling. Providers may demand another name than that of the document. */
  readonly tool: ToolSchema;
}

/** The right calls. */
export interface CallTruth {
  /** The functions to call, in order. */
  readonly API: readonly string[];
  /**
   * The arguments, an object for each call in the same order; none at all is another way of saying that no
   * call has any. {@linkcode PLACEHOLDER} stands for what the question does not tell.
   */
  readonly parameters: readonly JsonValue[];
}

/** A question. */
export interface CallQuestion {
  /** Tells it apart from all others of the set. */
  readonly id: string;
  /** Whose functions are on offer. */
  readonly domain: string;
  /** What is asked, with what stands before it. */
  readonly messages: readonly {
    readonly role: "system" | "user";
    readonly content: string;
  }[];
  /** The right calls. */
  readonly truth: CallTruth;
  /** How hard it is. */
  readonly difficulty: Difficulty;
}

/** Questions, and the functions on offer. */
export interface CallSet {
  /** What it is called. */
  readonly name: string;
  /** The SHA-256 of its functions and questions, in hexadecimal: whatever changes a prompt changes it. */
  readonly hash: string;
  /** The functions on offer, by domain. */
  readonly domains: ReadonlyMap<string, readonly ApiFunction[]>;
  /** The questions, in order. */
  readonly questions: readonly CallQuestion[];
  /** What is odd about its files, each with the file and the record. */
  readonly warnings: readonly string[];
}

/**
 * How hard a question is, by its right calls: one is easy, several are medium, and hard where one of their
 * arguments is, or holds, a placeholder (CallNavi, section 4.1).
 *
 * @example Usage
 * ```ts
 * import { difficultyOf } from "./question_set.ts";
 * import { assertEquals } from "@std/assert";
 *
 * const API = ["findParcel", "trackParcel"];
 * assertEquals(difficultyOf({ API, parameters: [{ name: "Ada" }, { parcel: "$$$" }] }), "hard");
 * assertEquals(difficultyOf({ API, parameters: [{ name: "Ada" }, { parcel: "P7" }] }), "medium");
 * ```
 */
export function difficultyOf({ API, parameters }: CallTruth): Difficulty {
  if (API.length <= 1) return "easy";
  return parameters.some(holdsPlaceholder) ? "hard" : "medium";
}

function holdsPlaceholder(value: JsonValue): boolean {
  if (value === PLACEHOLDER) return true;
  return typeof value === "object" && value !== null && Object.values(value).some(holdsPlaceholder);
}

/**
 * The document of a tool in the layout of CallNavi: a type word for each parameter. It is what prompts show
 * of a tool that was changed, whose own document tells what it was before. The inverse, as far as there is
 * one, of how documents become tools.
 *
 * @see CallNavi, appendix A.
 *
 * @example Usage
 * ```ts
 * import { documentOf } from "./question_set.ts";
 * import { assertEquals } from "@std/assert";
 *
 * const parameters = { type: "object", properties: { accountID: { type: "string" } } };
 * const description = "Tells the balance of an account.";
 * const returns = { type: "object", properties: { balance: { type: "number" } } };
 * assertEquals(documentOf({ name: "getBalance", description, parameters, returns }), {
 *   name: "getBalance",
 *   description,
 *   parameters: { accountID: "string" },
 *   returnParameter: { balance: "number" },
 * });
 * ```
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
