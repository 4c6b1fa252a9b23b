/**
 * Agreement of a judge with people: accuracy and Cohen's kappa on labelled values.
 * @module
 */

import { z } from "zod";
import { mapConcurrent } from "../../base/concurrent.ts";
import { checkOptions, must, parseWith } from "../../base/input.ts";
import { isWithin, type JsonValue, printable } from "../../base/json.ts";
import { cohenKappa } from "../../statistics/agreement.ts";
import { wilson } from "../../statistics/proportions.ts";
import type { Matcher } from "../../tools/expected_call.ts";
import { InfrastructureError } from "../model.ts";
import { LikeMatcher, type LikeQuestion, valueKey } from "./like_matcher.ts";
import { type JudgeScore, unusableText } from "./score.ts";

/** A value that a person has judged. */
export interface JudgeLabel {
  /** The value, such as an answer. */
  readonly value: JsonValue;
  /** What the judge is asked about it: `judge.like(...)` or `judge.rubric(...)` of the same judge. */
  readonly expected: Matcher;
  /** Whether the person finds that it passes. */
  readonly label: boolean;
}

/** Options of `judge.agreement()`. */
export interface AgreementOptions {
  /** The confidence of the intervals, between 0 and 1. Default: 0.95. */
  readonly confidence?: number;
  /** Aborts the requests. */
  readonly signal?: AbortSignal;
}

/** A number between its bounds. */
export interface Estimate {
  /** The estimate; `null` where it is undefined. */
  readonly value: number | null;
  /** The lower bound; `null` where the estimate is. */
  readonly lower: number | null;
  /** The upper bound; `null` where the estimate is. */
  readonly upper: number | null;
}

/** How far a judge agrees with people. */
export interface JudgeAgreement {
  /** Labels for which the judge gave a usable reply: all numbers are of these. */
  readonly judged: number;
  /** The share on which both agree, with Wilson's interval. */
  readonly accuracy: { readonly [bound in keyof Estimate]: number };
  /**
   * Cohen's kappa, agreement beyond chance, with the interval of `cohenKappa()`; `null` throughout if all labels
   * are alike, as it then says nothing.
   */
  readonly kappa: Estimate;
  /** Why there is no kappa; omitted if there is one. */
  readonly why?: string;
  /** How often who lets a value pass. */
  readonly counts: {
    /** Judge and label. */
    readonly both: number;
    /** The judge alone: a bad value would pass. */
    readonly judgeOnly: number;
    /** The label alone: a good value would fail. */
    readonly labelOnly: number;
    /** Neither. */
    readonly neither: number;
  };
  /** The labels with which the judge does not agree, with its score, in order. */
  readonly disagreements: readonly (JudgeLabel & { readonly score: JudgeScore })[];
  /** The labels for which it gave no usable reply, with the reason, in order. */
  readonly unjudged: readonly (JudgeLabel & { readonly why: string })[];
}

/** At most this many levels of lists and objects are asked about. */
const MAX_LEVELS = 100;
/** At most this many requests run at the same time. */
const CONCURRENCY = 8;

const OPTIONS = z.strictObject({
  confidence: z.number().gt(0).lt(1).optional(),
  signal: z.custom<AbortSignal>().optional(),
});

const labelsOf = (judge: LikeQuestion["judge"]) =>
  z.array(z.looseObject({
    value: must(
      `be a value of at most ${MAX_LEVELS} levels of lists and objects`,
      (value) => value !== undefined && isWithin(value, { levels: MAX_LEVELS }),
    ),
    expected: must(
      "be what like() or rubric() of this judge gave",
      (expected) => expected instanceof LikeMatcher && expected.question.judge === judge,
    ),
    label: z.boolean(),
  })).min(1);

/** Asks a judge about labelled values, and compares. */
export async function agreementOf(
  judge: LikeQuestion["judge"],
  labels: readonly JudgeLabel[],
  options: AgreementOptions,
): Promise<JudgeAgreement> {
  const { confidence = 0.95, signal } = parseWith(OPTIONS, options, "the options of agreement");
  checkOptions(labelsOf(judge), labels, `the labels for judge ${printable(judge.name, 100)}`);
  const scores = await mapConcurrent(
    labels.length,
    (place) => {
      const { value, expected } = labels[place]!;
      return (expected as LikeMatcher).question.ask(value, { signal });
    },
    { most: CONCURRENCY },
  );
  const counts = { both: 0, judgeOnly: 0, labelOnly: 0, neither: 0 };
  const disagreements: (JudgeLabel & { score: JudgeScore })[] = [];
  const unjudged: (JudgeLabel & { why: string })[] = [];
  for (const [place, one] of labels.entries()) {
    const score = scores[place]!;
    if (score.score === null) {
      unjudged.push({ ...one, why: unusableText(score) });
      continue;
    }
    const settled = (one.expected as LikeMatcher).settled(new Map([[valueKey(one.value), score]]));
    const passes = settled.matches(one.value);
    counts[passes ? one.label ? "both" : "judgeOnly" : one.label ? "labelOnly" : "neither"]++;
    if (passes !== one.label) disagreements.push({ ...one, score });
  }
  const judged = labels.length - unjudged.length;
  if (judged === 0) {
    throw new InfrastructureError(
      `Cannot compare judge ${printable(judge.name, 100)} with labels: ${unjudged[0]!.why}`,
    );
  }
  const { both, judgeOnly, labelOnly, neither } = counts;
  const accuracy = wilson(both + neither, judged, confidence);
  const result = {
    judged,
    accuracy: { value: (both + neither) / judged, ...accuracy },
    ...{ counts, disagreements, unjudged },
  };
  const right = both + labelOnly;
  if (right === 0 || right === judged) {
    const why = `all labels are ${right > 0}: kappa needs values that pass and ones that do not`;
    return { ...result, kappa: { value: null, lower: null, upper: null }, why };
  }
  const table = [[both, judgeOnly], [labelOnly, neither]];
  // Undefined only where all labels are alike, and all verdicts of the judge as well.
  const { kappa: value, lower, upper } = cohenKappa(table, confidence)!;
  return { ...result, kappa: { value, lower, upper } };
}
