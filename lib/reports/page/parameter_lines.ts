/**
 * What is wrong with the parameters of a call, in words, as the page of a report shows it.
 * @module
 */

import { printable } from "../../base/json.ts";
import type { ParameterFailure, ParameterView } from "../../calls/parameter_failure.ts";

const ROUTING_ERROR = "routing error: it is none of the right calls, or one of them once more";

/** What the parameters of a call are beside the right call, or beside their schema where there is none. */
export function parameterLines({ oracle, failures, undecided = [] }: ParameterView): string[] {
  const beside = oracle === null ? "its schema" : `right call ${oracle}`;
  const lines = [
    ...failures.map(describeParameter),
    ...undecided.map(({ types, parameter }) =>
      `${parameter || "arguments"}: ${
        types.map(spaced).join(" or ")
      }, which cannot be told without a schema`
    ),
  ];
  return [
    ...(oracle === null ? [ROUTING_ERROR] : []),
    ...lines.map((line) => printable(`beside ${beside}: ${line}`, 2000)),
  ];
}

function describeParameter({ parameter, type, similarity, ...failure }: ParameterFailure): string {
  const { given, expected } = failure;
  const alike = similarity === undefined ? "" : ` (Rouge-L ${similarity.toFixed(2)})`;
  return [
    `${parameter || "arguments"}: ${spaced(type)}`,
    ...(given === undefined ? [] : [`given ${shortened(given)}`]),
    ...(expected === undefined ? [] : [`right would be ${shortened(expected)}`]),
  ].join(", ") + alike;
}

function spaced(type: string): string {
  return type.replaceAll("_", " ");
}

/** Enough of a value to recognise it: two stand in a line. */
function shortened(value: unknown): string {
  const text = jsonText(value);
  return text.length > 500 ? `${text.slice(0, 500)}…` : text;
}

/** A value as JSON; thousands of brackets within each other exceed the stack. */
export function jsonText(value: unknown): string {
  try {
    return JSON.stringify(value);
  } catch {
    return "a value that is nested too deep";
  }
}
