/**
 * Failures: the first of four predicates that a call violates (FuncBenchGen, section 4.6), and whether an
 * earlier failure caused it.
 * @module
 */

import { levenshteinDistance } from "@std/text/levenshtein-distance";
import { z } from "zod";
import { isJsonObject, type JsonValue, parseJson } from "../base/json.ts";
import type { Parameter, TaskFunction } from "../tasks/generated/wording.ts";
import type { SchemaFault } from "../tools/tool.ts";

/** Where a wrong value came from. */
export type Origin = "other_variable" | "wrong_return" | "fabricated";

/** One wrong argument. */
export interface WrongArgument {
  /** The parameter. */
  readonly parameter: string;
  /** The variable whose value the parameter expects. */
  readonly variable: string;
  /** The value that was given. */
  readonly given: number;
  /** Whether the value belongs to another known variable, was returned wrongly, or is made up. */
  readonly origin: Origin;
  /** The variable that the value belongs to, if the origin is `other_variable`. */
  readonly originVariable?: string;
  /** The call that returned the value, if the origin is `wrong_return`. */
  readonly originCall?: number;
}

/** The type of a failure, with its details. */
export type FailureCause =
  | { readonly type: "function_not_found"; readonly detail: { readonly nearest: string | null } }
  | { readonly type: "wrong_number_of_inputs"; readonly detail: SchemaFault }
  | {
    readonly type: "value_not_yet_known" | "incorrect_value";
    readonly detail: { readonly arguments: readonly WrongArgument[] };
  };

/** A failure as it is written to journals. */
export type Failure = FailureCause & {
  /** The number of the call in its trial, from 1. */
  readonly call: number;
  /** The number of the step in its trial, from 1. */
  readonly step: number;
  /** The name that was called. */
  readonly function: string;
  /** Whether it is a root failure: `false` if every wrong argument was returned by an earlier failed call. */
  readonly root: boolean;
};

const names = z.array(z.string());

/** Schema of a failure's cause in a file. */
export const FAILURE_CAUSE: z.ZodType<FailureCause> = z.discriminatedUnion("type", [
  z.looseObject({
    type: z.literal("function_not_found"),
    detail: z.looseObject({ nearest: z.string().nullable() }),
  }),
  z.looseObject({
    type: z.literal("wrong_number_of_inputs"),
    detail: z.looseObject({
      missing: names,
      unexpected: names,
      wrongType: names,
      malformed: z.boolean(),
    }),
  }),
  z.looseObject({
    type: z.enum(["value_not_yet_known", "incorrect_value"]),
    detail: z.looseObject({
      arguments: z.array(z.looseObject({
        parameter: z.string(),
        variable: z.string(),
        given: z.number(),
        origin: z.enum(["other_variable", "wrong_return", "fabricated"]),
        originVariable: z.string().exactOptional(),
        originCall: z.int().exactOptional(),
      })),
    }),
  }),
]);

/** Schema of a failure in a file. */
export const FAILURE: z.ZodType<Failure> = z.intersection(
  z.looseObject({
    call: z.int().min(1),
    step: z.int().min(1),
    function: z.string(),
    root: z.boolean(),
  }),
  FAILURE_CAUSE,
);

/** The values known from the task and from the calls of earlier steps. */
export interface Knowledge {
  /** Returns whether a variable has a value: it was given, or its producer returned something. */
  isEstablished(variable: string): boolean;
  /** Returns the known variable that has `value`, if there is one. */
  ownerOf(value: number): string | undefined;
  /** Returns the failed call that returned `value`, if any; those of `variable`'s producer come first. */
  wrongReturn(value: number, variable: string): number | undefined;
}

/** Arguments that conform to the schema. */
export interface Conforming {
  /** The value of each parameter, in the function's order. */
  readonly values: readonly number[];
  /** Parameters whose value was written as text, such as `"731"`, and accepted. */
  readonly coerced: readonly string[];
}

/** Characters of a name, at most: a longer one is not a misspelling, and is cut in details. */
const MAX_NAME_LENGTH = 100;
/** Unexpected arguments listed, at most. */
const MAX_NAMES = 100;

/** Returns the failure of predicate 1: no function has this name. It names the nearest existing name. */
export function functionNotFound(name: string, existing: Iterable<string>): FailureCause {
  let nearest: string | null = null;
  let least = Infinity;
  if (name.length <= MAX_NAME_LENGTH) {
    for (const candidate of existing) {
      const distance = levenshteinDistance(name, candidate);
      if (distance < least) [nearest, least] = [candidate, distance];
    }
  }
  return { type: "function_not_found", detail: { nearest } };
}

/**
 * Checks predicate 2: the arguments are a JSON object with exactly the parameters, each a whole number.
 * A whole number written as text is accepted if it converts without loss.
 */
export function checkSchema(
  { parameters }: TaskFunction,
  written: string,
): Conforming | Extract<FailureCause, { readonly type: "wrong_number_of_inputs" }> {
  const given = parseJson(written);
  const type = "wrong_number_of_inputs";
  const missing: string[] = [];
  const wrongType: string[] = [];
  if (!isJsonObject(given)) {
    return { type, detail: { missing, unexpected: [], wrongType, malformed: true } };
  }
  const unexpected = Object.keys(given)
    .filter((key) => !parameters.some(({ name }) => name === key))
    .slice(0, MAX_NAMES)
    .map((key) => key.slice(0, MAX_NAME_LENGTH));
  const values: number[] = [];
  const coerced: string[] = [];
  for (const { name } of parameters) {
    const value = Object.hasOwn(given, name) ? given[name] : undefined;
    const number = value === undefined ? undefined : toInteger(value);
    if (value === undefined) missing.push(name);
    else if (number === undefined) wrongType.push(name);
    else if (typeof value === "string") coerced.push(name);
    values.push(number ?? NaN);
  }
  if (missing.length + unexpected.length + wrongType.length > 0) {
    return { type, detail: { missing, unexpected, wrongType, malformed: false } };
  }
  return { values, coerced };
}

function toInteger(value: JsonValue): number | undefined {
  const number = typeof value === "string" && /^(0|-?[1-9][0-9]{0,15})$/.test(value)
    ? Number(value)
    : value;
  return typeof number === "number" && Number.isSafeInteger(number) ? number : undefined;
}

/**
 * Checks predicates 3 and 4: every value is available, and every value is the right one. A call whose
 * values are all right does not fail, even if one of them could not be known yet.
 */
export function checkValues(
  { parameters }: TaskFunction,
  values: readonly number[],
  truth: ReadonlyMap<string, number>,
  known: Knowledge,
): FailureCause | undefined {
  const wrong = parameters.flatMap((parameter, index) => {
    const given = values[index]!;
    return given === truth.get(parameter.variable) ? [] : [wrongArgument(parameter, given, known)];
  });
  if (wrong.length === 0) return undefined;
  const unavailable = parameters.some(({ variable }) => !known.isEstablished(variable));
  return {
    type: unavailable ? "value_not_yet_known" : "incorrect_value",
    detail: { arguments: wrong },
  };
}

function wrongArgument({ name, variable }: Parameter, given: number, known: Knowledge) {
  const wrong = { parameter: name, variable, given };
  const originCall = known.wrongReturn(given, variable);
  if (originCall !== undefined) return { ...wrong, origin: "wrong_return" as const, originCall };
  const originVariable = known.ownerOf(given);
  return originVariable === undefined
    ? { ...wrong, origin: "fabricated" as const }
    : { ...wrong, origin: "other_variable" as const, originVariable };
}

/** Returns whether a failure is a root failure, not one caused by an earlier failed call's return. */
export function isRoot({ detail }: FailureCause): boolean {
  return !("arguments" in detail &&
    detail.arguments.every(({ origin }) => origin === "wrong_return"));
}
