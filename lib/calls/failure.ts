/**
 * Failures: the first of four predicates that a call violates (FuncBenchGen, section 4.6), and whether an
 * earlier failure caused it.
 * @module
 */

import { levenshteinDistance } from "@std/text/levenshtein-distance";
import { z } from "zod";
import { isJsonObject, type JsonValue, parseJson, printable } from "../base/json.ts";
import type { Parameter, TaskFunction } from "../tasks/generated/wording.ts";
import { FAILURE_TYPES, type FailureDetails, FAILURES, type FailureType } from "./failure_types.ts";

/** The type of a failure, with its details. */
export type FailureCause = {
  readonly [Type in FailureType]: { readonly type: Type; readonly detail: FailureDetails[Type] };
}[FailureType];

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

const [first, ...others] = FAILURE_TYPES.map((type) =>
  z.looseObject({ type: z.literal(type), detail: FAILURES[type].detail })
);

/** Schema of a failure's cause in a file. */
export const FAILURE_CAUSE = z.discriminatedUnion("type", [
  first!,
  ...others,
]) as unknown as z.ZodType<
  FailureCause
>;

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

/**
 * Describes one failure.
 *
 * @example Usage
 * ```ts
 * import { describeFailure } from "@toolgate/toolgate/reports";
 * import { assertEquals } from "@std/assert";
 *
 * const text = describeFailure({
 *   call: 1,
 *   step: 1,
 *   function: "func_qzx",
 *   type: "function_not_found",
 *   detail: { nearest: "func_qxz" },
 *   root: true,
 * });
 * assertEquals(
 *   text,
 *   "call 1 (step 1) func_qzx: function_not_found: there is no such function, the nearest is func_qxz",
 * );
 * ```
 */
export function describeFailure(failure: Failure): string {
  const where = `call ${failure.call} (step ${failure.step}) ${printable(failure.function, 60)}`;
  return `${where}: ${failure.type}: ${describeCause(failure)}`;
}

/** Describes why a call failed. */
export function describeCause(
  { type, detail, step }: FailureCause & { readonly step: number },
): string {
  const { describe }: { describe: (detail: never, step: number) => string } = FAILURES[type];
  return describe(detail as never, step);
}
