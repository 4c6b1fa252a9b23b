/**
 * Scores of an LLM as judge: how they are read from what it said, and what many of them come to
 * (CallNavi, section 5.2 and appendix B.2).
 * @module
 */

import type { Usage } from "../../tools/message.ts";

/** What a judge made of one value. */
export interface JudgeScore {
  /** From 0, not alike, to 1, the same; `null` where there is none. */
  readonly score: number | null;
  /**
   * Why there is none: the judge's reply cannot be used, or the judge `could not be asked`. Left out
   * where there is one.
   */
  readonly why?: string;
  /** `true` where what was to be judged is such that no judge can be asked: too long, or nested too deep. */
  readonly unfit?: true;
  /** What it said, at most 10,000 characters; empty when it could not be asked. */
  readonly text: string;
  /** The tokens that it took: the judge's, not those of a model under test. */
  readonly usage: Usage;
  /** The name of the model that the server says has answered; empty when it does not say. */
  readonly served: string;
  /** Milliseconds that the successful attempt took. */
  readonly durationMs: number;
}

/** What is read from a reply. */
export type ReadScore = { readonly score: number } | {
  readonly score: null;
  readonly why: string;
};

// Its repetitions cannot overlap: replies may be long.
const SCORE = /\[\[\s*([+-]?(?:\d+(?:\.\d*)?|\.\d+))\s*\]\]/g;

/**
 * The score in a reply: the last decimal number between `[[` and `]]`. It must be from 0 to 1.
 *
 * @example Usage
 * ```ts
 * import { readScore } from "./score.ts";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(readScore("Not [[1.00]], as a parameter differs: [[0.93]]"), { score: 0.93 });
 * assertEquals(readScore("93 %"), { score: null, why: "no score in [[ ]]" });
 * ```
 */
export function readScore(reply: string): ReadScore {
  let last: string | undefined;
  for (const [, number] of reply.matchAll(SCORE)) last = number;
  if (last === undefined) return { score: null, why: "no score in [[ ]]" };
  const score = Number(last);
  // The sum makes -0 a plain 0.
  return score >= 0 && score <= 1 ? { score: score + 0 } : { score: null, why: "out of range" };
}

const NOT_ASKED = "the judge could not be asked";

/** The score that there is not, as the judge could not be asked; `reason` is shown, so it must hold no secret. */
export function notAsked(reason: string, unfit = false): JudgeScore & { readonly score: null } {
  return {
    score: null,
    why: `${NOT_ASKED}: ${reason}`,
    ...(unfit ? { unfit: true } : {}),
    text: "",
    usage: { inputTokens: 0, outputTokens: 0 },
    served: "",
    durationMs: 0,
  };
}

/** What many scores come to. */
export interface JudgingSummary {
  /** How many scores there are. */
  readonly judged: number;
  /** Their arithmetic mean; `null` where there are none. */
  readonly mean: number | null;
  /** How often the judge's reply gave no score. */
  readonly unusable: number;
  /** How often the judge could not be asked, such as for want of a server. */
  readonly unavailable: number;
  /** How often no judge could be asked, as what was to be judged is too long, or nests too deep. */
  readonly unfit: number;
}

/**
 * The mean of the scores that there are, which the paper calls GPT Score (CallNavi, Table 4). Where there is none, none
 * is made up: these are counted apart, by whose fault it is.
 *
 * @example Usage
 * ```ts
 * import { judge } from "./judge.ts";
 * import { scripted } from "../scripted.ts";
 * import { summarizeJudging } from "./score.ts";
 * import { assertEquals } from "@std/assert";
 *
 * const model = scripted("double", [{ text: "[[0.5]]" }, { text: "[[1.0]]" }, { text: "alike" }]);
 * await using double = judge({ model });
 * const scores = [];
 * for (const city of ["Lyon", "Paris", "Rome"]) scores.push(await double.score(city, "Paris"));
 * const summary = { judged: 2, mean: 0.75, unusable: 1, unavailable: 0, unfit: 0 };
 * assertEquals(summarizeJudging(scores), summary);
 * ```
 */
export function summarizeJudging(
  scores: readonly Pick<JudgeScore, "score" | "why" | "unfit">[],
): JudgingSummary {
  const known = scores.flatMap(({ score }) => score ?? []);
  const without = scores.filter(({ score }) => score === null);
  const unfit = without.filter(({ unfit }) => unfit).length;
  const unavailable =
    without.filter(({ why, unfit }) => !unfit && why?.startsWith(NOT_ASKED)).length;
  return {
    judged: known.length,
    mean: known.length === 0 ? null : known.reduce((sum, score) => sum + score, 0) / known.length,
    unusable: without.length - unavailable - unfit,
    unavailable,
    unfit,
  };
}
