/**
 * Scores of trials whose parameters were held against the right calls, made by hand.
 */

import type { ParameterFailureType } from "../../lib/calls/failure_types.ts";
import type { ParameterScore } from "../../lib/calls/parameter_views.ts";
import { summarize, type TrialSummary } from "../../lib/trials/summary.ts";
import { record, type TrialTraits } from "./records.ts";

/** The five types, by letters that are easily read in an example. */
export const TYPES_BY_LETTER = {
  N: "hallucination_name",
  M: "missing_information",
  R: "redundant_information",
  S: "specification_mismatch",
  D: "task_deviation",
} as const satisfies Record<string, ParameterFailureType>;

/** Types of calls as words of letters, such as `RD D`: two calls, the first with two types. */
export function callTypes(letters: string): ParameterFailureType[][] {
  return letters.split(" ").filter((word) => word !== "").map((word) =>
    [...word].map((letter) => TYPES_BY_LETTER[letter as keyof typeof TYPES_BY_LETTER])
  );
}

/** A trial with these failures; solved by default. */
export function scored(
  letters: string,
  traits: TrialTraits = {},
  score: Partial<ParameterScore> = {},
): TrialSummary {
  return {
    ...summarize(record(traits)),
    parameters: {
      calls: callTypes(letters),
      routing: 0,
      undecided: [],
      texts: { compared: 0, similar: 0 },
      ...score,
    },
  };
}

/** A trial for each word list, each on a graph of its own. */
export function scoredAll(letters: readonly string[], traits: TrialTraits = {}): TrialSummary[] {
  return letters.map((words, index) => scored(words, { seed: index + 1, ...traits }));
}
