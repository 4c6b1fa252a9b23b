/**
 * Expressions: how a model writes the sum that the probe `mental_arithmetic` asks for (Indirection, "Computational
 * overconfidence").
 * @module
 */

import { evaluate } from "../base/arithmetic.ts";
import { isJsonObject, parseJson } from "../base/json.ts";
import { fork } from "../base/random.ts";
import { type CallEvent, callsOf, type TraceEvent } from "./trace.ts";
import { arithmeticOf, sumOf } from "../tasks/probes.ts";
import { isProbe } from "../tasks/task_kind.ts";

/** The kinds of expressions. */
export const EXPRESSIONS = [
  "invalid",
  "brute_force",
  "closed_form",
  "other",
] as const satisfies ExpressionKind[];

/**
 * How an expression gives the sum of all whole numbers between two.
 *
 * - `invalid`: no expression that the calculator takes, such as `10+9+...+0` or `(10 downTo 0).sum()`.
 * - `brute_force`: a sum of all the numbers, each written out, so that the model has done the counting.
 * - `closed_form`: any other expression with the right value, such as `10*(10+1)/2`.
 * - `other`: one with another value, such as a part of the sum.
 */
export type ExpressionKind = "invalid" | "brute_force" | "closed_form" | "other";

/** Returns the kind of an expression for the sum of all whole numbers from `most` down to `least`. */
export function expressionKind(expression: string, most: number, least: number): ExpressionKind {
  const value = evaluate(expression);
  if (value === undefined) return "invalid";
  const terms = /^[\s\d+()]+$/.test(expression)
    ? expression.match(/\d+/g)!.map(Number).filter((term) => term > 0).sort((one, two) => one - two)
    : [];
  const first = Math.max(least, 1);
  const isWhole = terms.length === most - first + 1 &&
    terms.every((term, place) => term === first + place);
  if (isWhole && terms.length > 1) return "brute_force";
  return value === sumOf(most, least) ? "closed_form" : "other";
}

/** The kinds of all expressions of a trial, in order; `undefined` if it asks for no such sum. */
export function expressionsOf(
  { task, events }: { readonly task: object; readonly events: readonly TraceEvent[] },
): readonly ExpressionKind[] | undefined {
  if (!isProbe(task) || task.case !== "mental_arithmetic") return undefined;
  const { one, other, sum } = arithmeticOf(fork(task.seed, "probe", task.case));
  if (!sum) return undefined;
  return callsOf(events).filter(({ function: name }) => name === "eval")
    .map((call) => expressionKind(expressionOf(call), one, other));
}

/** The expression in a call of a calculator; empty if there is none. */
export function expressionOf({ arguments: own, resolved = own }: CallEvent): string {
  const input = parseJson(resolved);
  return isJsonObject(input) ? String(input["expression"]) : "";
}
