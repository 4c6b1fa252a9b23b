/**
 * Parameter failures of a call, in words, for the page of a report.
 * @module
 */

import { printable } from "../../base/json.ts";
import type { ParameterFailure, ParameterView } from "../../calls/trace.ts";

const ROUTING_ERROR = "routing error: it is not one of the right calls, or repeats one of them";

/** Compares the parameters of a call with the right call, or with their schema where there is none. */
export function parameterLines({ oracle, failures, undecided = [] }: ParameterView): string[] {
  const reference = oracle === null ? "its schema" : `right call ${oracle}`;
  const lines = [
    ...failures.map(describeParameter),
    ...undecided.map(({ types, parameter }) =>
      `${parameter || "arguments"}: ${
        types.map(typeWords).join(" or ")
      }, undecided without a schema`
    ),
  ];
  return [
    ...(oracle === null ? [ROUTING_ERROR] : []),
    ...lines.map((line) => printable(`compared with ${reference}: ${line}`, 2000)),
  ];
}

function describeParameter({ parameter, type, similarity, ...failure }: ParameterFailure): string {
  const { given, expected } = failure;
  const similarityText = similarity === undefined ? "" : ` (Rouge-L ${similarity.toFixed(2)})`;
  return [
    `${parameter || "arguments"}: ${typeWords(type)}`,
    ...(given === undefined ? [] : [`given ${shortText(given)}`]),
    ...(expected === undefined ? [] : [`expected ${shortText(expected)}`]),
  ].join(", ") + similarityText;
}

function typeWords(type: string): string {
  return type.replaceAll("_", " ");
}

/** Returns enough of a value to recognise it: a line has two. */
function shortText(value: unknown): string {
  const text = jsonText(value);
  return text.length > 500 ? `${text.slice(0, 500)}…` : text;
}

/** Returns a value as JSON, or a note where its nesting exceeds the stack. */
export function jsonText(value: unknown): string {
  try {
    return JSON.stringify(value);
  } catch {
    return "a value that is nested too deeply";
  }
}
