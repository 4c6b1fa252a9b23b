/**
 * Checks of declared results: whether a mock server can answer every right call, and whether its values fit.
 * @module
 */

import { isJsonObject, type JsonObject, jsonText, type JsonValue } from "../../base/json.ts";
import {
  type CallQuestion,
  holdsPlaceholder,
  holdsValue,
  isSameValue,
  PLACEHOLDER,
} from "./question_set.ts";

/** A declared call, as files have it. */
export interface DeclaredCall {
  /** Its arguments as the truth has them. */
  readonly arguments?: JsonValue | undefined;
  /** Its real values. */
  readonly values?: JsonObject | undefined;
  /** What it returns. */
  readonly result?: JsonValue | undefined;
}

/** What is wrong with the declared results of a question, and where; `undefined` if nothing is. */
export function resultsFault(
  calls: readonly DeclaredCall[],
): { readonly path: readonly (string | number)[]; readonly message: string } | undefined {
  const isDeclared = calls.some(({ values, result }) =>
    values !== undefined || result !== undefined
  );
  if (!isDeclared) return undefined;
  for (const [place, { arguments: given = {}, values = {}, result }] of calls.entries()) {
    if (result === undefined) {
      return {
        path: [place, "result"],
        message: "is needed: where one call has a result or values, all have a result",
      };
    }
    for (const [name, value] of Object.entries(values)) {
      const message = valueFault(isJsonObject(given) ? given : {}, name, value);
      if (message !== undefined) return { path: [place, "values", name], message };
    }
  }
  return undefined;
}

function valueFault(given: JsonObject, name: string, value: JsonValue): string | undefined {
  if (!Object.hasOwn(given, name)) return "must be an argument of the call: it is none";
  const known = given[name]!;
  if (!holdsPlaceholder(known)) {
    return `must stand for "${PLACEHOLDER}": the argument is ${jsonText(known)}`;
  }
  if (holdsPlaceholder(value)) return `must be a real value: it holds "${PLACEHOLDER}"`;
  return isSameValue(value, known, PLACEHOLDER)
    ? undefined
    : `must be the argument with values for "${PLACEHOLDER}": it is another one`;
}

/**
 * Returns the values that no earlier result and no message holds, as `call 2, stopId`: a model must work them
 * out, unless they are misspelt.
 */
export function unseenValues({ messages, truth, results = [] }: CallQuestion): string[] {
  const seen: JsonValue[] = messages.map(({ content }) => content);
  return results.flatMap(({ values = {}, result }, place) => {
    const given = truth.parameters[place];
    const unseen = Object.entries(values).filter(([name, value]) =>
      !filledIn(value, isJsonObject(given) ? given[name] : undefined)
        .every((leaf) => seen.some((one) => holdsValue(one, leaf)))
    );
    seen.push(result);
    return unseen.map(([name]) => `call ${place + 1}, ${name}`);
  });
}

/** Returns what stands in place of placeholders: values that are no lists and no objects. */
function filledIn(value: JsonValue | undefined, known: JsonValue | undefined): JsonValue[] {
  if (value === undefined || known === undefined) return [];
  if (typeof value !== "object" || value === null) return known === PLACEHOLDER ? [value] : [];
  return Object.entries(value).flatMap(([key, inner]) =>
    filledIn(inner, known === PLACEHOLDER ? known : fieldAt(known, key))
  );
}

function fieldAt(value: JsonValue, key: string): JsonValue | undefined {
  return typeof value === "object" && value !== null
    ? Object.entries(value).find(([own]) => own === key)?.[1]
    : undefined;
}
