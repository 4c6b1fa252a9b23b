/**
 * Queries, and the parameters whose values occur in them.
 * @module
 */

import type { JsonObject } from "../../base/json.ts";
import { Claims, type NamedValue, type QueryParameter } from "./literals.ts";

/** A user's query, and where the parameters of the calls occur in it. */
export interface Query {
  /** The text. */
  readonly text: string;
  /** The parameters. */
  readonly parameters: readonly QueryParameter[];
}

/** All values within the arguments of calls, named by path; without recursion, as nesting may be deep. */
export function valuesIn(calls: readonly { readonly arguments: JsonObject }[]): NamedValue[] {
  const values: NamedValue[] = [];
  const waiting: NamedValue[] = calls.map((call) => ({ name: "", value: call.arguments }))
    .reverse();
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { name, value } = next;
    if (typeof value !== "object" || value === null) {
      values.push(next);
      continue;
    }
    const inner = Object.entries(value).map(([key, value]): NamedValue => {
      return { name: name === "" ? key : `${name}.${key}`, value };
    });
    waiting.push(...inner.reverse());
  }
  return values;
}

const startOf = ({ spans }: QueryParameter) => spans[0]?.start ?? Infinity;

/** Sorts parameters by their first places. */
export function byPlace(one: QueryParameter, other: QueryParameter): number {
  return startOf(one) - startOf(other);
}

/**
 * Finds the parameters whose values occur literally in `text`, in the order of their first places. The longest
 * values are searched for first, as separate words; case is ignored if the exact case is not found. A place
 * belongs to one parameter, and a value of several parameters to the first. Nested values are named by path,
 * such as `address.city`.
 */
export function findParameters(
  text: string,
  calls: readonly { readonly arguments: JsonObject }[],
): QueryParameter[] {
  return claimValues(new Claims(text), valuesIn(calls));
}

/** Claims the places where values occur, and returns these as parameters. */
export function claimValues(claims: Claims, values: readonly NamedValue[]): QueryParameter[] {
  return [...claims.claimAll(values)].map(([number, spans]) => ({ ...values[number]!, spans }))
    .sort(byPlace);
}
