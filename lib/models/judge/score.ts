/**
 * Judge scores: reads the score in a judge's reply, and summarizes many scores (CallNavi, section 5.2 and
 * appendix B.2).
 * @module
 */

import type { Usage } from "../../tools/message.ts";
import type { Permanent } from "../model.ts";
import type { CriterionScore } from "./rubric.ts";
import { mean } from "../../base/numbers.ts";
import { printable } from "../../base/json.ts";
import { redact } from "../../base/redact.ts";

/** The score that a judge gave to one value. */
export interface JudgeScore {
  /** From 0, not similar, to 1, the same; `null` if there is none. */
  readonly score: number | null;
  /**
   * Why there is none: the judge's reply cannot be used, or the judge `could not be asked`. Omitted if there
   * is one.
   */
  readonly why?: string;
  /** The scores by each criterion of a rubric, `score` being their mean; omitted without one, or without a score. */
  readonly criteria?: readonly CriterionScore[];
  /** `true` if no judge can be asked about the value, as it is too long or nests too deep. */
  readonly unfit?: true;
  /** `true` if the judge could not be asked, such as when its server was down. */
  readonly unavailable?: true;
  /** Set if the judge has never answered, and never will until someone changes something: what that is. */
  readonly permanent?: Permanent;
  /** The reply, at most 10,000 characters, a longer one without secrets; empty if the judge could not be asked. */
  readonly text: string;
  /** The tokens of the judge, not those of a model under test. */
  readonly usage: Usage;
  /** The name of the model that answered, according to the server; empty if it does not say. */
  readonly served: string;
  /** Duration of the successful attempt, in milliseconds. */
  readonly durationMs: number;
}

/** The score parsed from a reply. */
export type ParsedScore = { readonly score: number } | {
  readonly score: null;
  readonly why: string;
};

// Its repetitions cannot overlap, so that matching stays linear: replies may be long.
const SCORE = /\[\[\s*([+-]?(?:\d+(?:\.\d*)?|\.\d+))\s*\]\]/g;

/** Reads the score in a reply: the last decimal number between `[[` and `]]`. It must be from 0 to 1. */
export function readScore(reply: string): ParsedScore {
  let last: string | undefined;
  for (const [, number] of reply.matchAll(SCORE)) last = number;
  if (last === undefined) return { score: null, why: "no score in [[ ]]" };
  const score = Number(last);
  // The sum turns -0 into 0.
  return score >= 0 && score <= 1 ? { score: score + 0 } : { score: null, why: "out of range" };
}

/** Creates the result of a judge that could not be asked; `reason` is shown, so it must contain no secret. */
export function notAsked(reason: string, unfit = false): JudgeScore & { readonly score: null } {
  return {
    score: null,
    why: `the judge could not be asked: ${reason}`,
    ...(unfit ? { unfit: true } : { unavailable: true }),
    text: "",
    usage: { inputTokens: 0, outputTokens: 0 },
    served: "",
    durationMs: 0,
  };
}

/** Characters of an unusable reply that are shown, at most. */
const MAX_SHOWN_LENGTH = 300;

/** Says why there is no score, with the text of a reply that cannot be used, without secrets. */
export function unusableText({ why = "it does not say why", text }: JudgeScore): string {
  if (text === "") return why;
  return `${why}; it replied ${printable(JSON.stringify(redact(text)), MAX_SHOWN_LENGTH)}`;
}

/** Summary of many scores. */
export interface JudgingSummary {
  /** Number of scores. */
  readonly judged: number;
  /** Their arithmetic mean; `null` if there are none. */
  readonly mean: number | null;
  /** Number of replies without a usable score. */
  readonly unusable: number;
  /** Number of times the judge could not be asked, such as when its server was down. */
  readonly unavailable: number;
  /** Number of values that no judge can be asked about, as they are too long or nest too deep. */
  readonly unfit: number;
}

/**
 * Summarizes scores by their mean, which the paper calls GPT Score (CallNavi, Table 4). Missing scores are
 * not part of the mean, and are counted by their cause.
 */
export function summarizeJudging(
  scores: readonly Pick<JudgeScore, "score" | "unfit" | "unavailable">[],
): JudgingSummary {
  const known = scores.flatMap(({ score }) => score ?? []);
  const without = scores.filter(({ score }) => score === null);
  const unfit = without.filter(({ unfit }) => unfit).length;
  const unavailable = without.filter(({ unavailable }) => unavailable).length;
  return {
    judged: known.length,
    mean: mean(known),
    unusable: without.length - unavailable - unfit,
    unavailable,
    unfit,
  };
}
