/**
 * Judge matchers: match values by the score of a judge. Judges are asynchronous and matchers are not, so the
 * judge is asked beforehand about each value that will be compared.
 * @module
 */

import { attempt, cannot, InputError } from "../../base/errors.ts";
import { canonicalJson, type JsonValue, listText, printable } from "../../base/json.ts";
import type { JudgeScore } from "./score.ts";
import type { Rubric } from "./rubric.ts";
import { MATCHER } from "../../tools/tool.ts";
import type { Matcher } from "../../tools/expected_call.ts";

/** A question to a judge about values. */
export interface LikeQuestion {
  /** The judge: it is asked the same question only once. */
  readonly judge: { readonly name: string };
  /** The description of right values, as the judge sees it; of a rubric, with all that makes it another question. */
  readonly truth: string;
  /** The criteria that each have a threshold of their own, in place of `atLeast`; omitted without any. */
  readonly rubric?: Rubric;
  /** The least score that passes. */
  readonly atLeast: number;
  /** Asks the judge about a value. */
  ask(value: JsonValue, options: { readonly signal?: AbortSignal }): Promise<JudgeScore>;
}

/** Key of every value that nests too deep to serialize; not a JSON text. */
export const TOO_DEEP = "a value that nests too deep";

/** Returns the text that identifies a value. */
export function valueKey(value: JsonValue): string {
  return attempt(() => canonicalJson(value)) ?? TOO_DEEP;
}

/** Characters of a name, and of a value, in a description, at most. */
const MAX_SHOWN_LENGTH = 60;
/** Scores in a description, at most. */
const MAX_SHOWN = 3;

/** Matches values that a judge finds similar to a description. */
export class LikeMatcher implements Matcher {
  /** Marks matchers. */
  readonly [MATCHER] = true as const;
  /** Describes the question, and the scores once the judge was asked. */
  readonly description: string;
  /** The question to the judge. */
  readonly question: LikeQuestion;

  readonly #scores: ReadonlyMap<string, JudgeScore> | undefined;

  /** `scores` are the judge's, by {@linkcode valueKey}; omitted before it was asked. */
  constructor(question: LikeQuestion, scores?: ReadonlyMap<string, JudgeScore>) {
    const { judge: { name }, truth, atLeast, rubric } = question;
    this.question = question;
    this.#scores = scores;
    const own = `judge ${printable(name, MAX_SHOWN_LENGTH)}`;
    this.description = rubric === undefined
      ? `at least ${atLeast} by ${own} like ${quoted(truth)}` +
        (scores === undefined ? "" : `; it ${describeScores([...scores])}`)
      : `what ${own} finds right in ${
        listText(rubric.criteria.map((one) => printable(one.name, MAX_SHOWN_LENGTH)), 5)
      }`;
  }

  /** Says why a value does not pass a rubric, one line a criterion that it misses. */
  explain(value: JsonValue): readonly string[] {
    const { criteria } = this.#scores?.get(valueKey(value)) ?? {};
    return criteria === undefined ? [] : this.question.rubric?.faults(criteria) ?? [];
  }

  /** Returns the same matcher with the judge's scores. */
  settled(scores: ReadonlyMap<string, JudgeScore>): LikeMatcher {
    return new LikeMatcher(this.question, scores);
  }

  /**
   * Returns whether the judge's score of a value passes.
   *
   * @throws {InputError} If the judge was not asked about the value, or gave it no score, so that the match
   * cannot be decided.
   */
  matches(value: JsonValue): boolean {
    if (this.#scores === undefined) {
      throw new InputError(
        "Cannot match by a judge before it was asked: await askJudges(run, expected)",
      );
    }
    const known = this.#scores.get(valueKey(value));
    if (known === undefined) {
      throw cannot(
        "match by a judge",
        "it was asked about the values of another run",
        "await askJudges(run, expected) for this one",
      );
    }
    if (known.score === null) {
      throw cannot(
        `match by judge ${printable(this.question.judge.name, MAX_SHOWN_LENGTH)}`,
        "it gave no score",
        `${known.why ?? "it does not say why"}`,
      );
    }
    const { rubric, atLeast } = this.question;
    if (rubric === undefined) return known.score >= atLeast;
    return rubric.faults(known.criteria!).length === 0;
  }

  /** Journals keep the description of a matcher. */
  toJSON(): string {
    return this.description;
  }
}

function describeScores(scores: readonly (readonly [string, JudgeScore])[]): string {
  if (scores.length === 0) return "was asked about nothing";
  const [[, only]] = scores as [readonly [string, JudgeScore]];
  if (scores.length === 1) return `gave ${describeScore(only)}`;
  const shown = scores.slice(0, MAX_SHOWN)
    .map(([value, score]) => `${describeScore(score)} to ${printable(value, MAX_SHOWN_LENGTH)}`);
  const more = scores.length - shown.length;
  return `gave ${shown.join(", ")}${more > 0 ? `, and ${more} more` : ""}`;
}

function describeScore({ score, why = "" }: JudgeScore): string {
  return score === null ? `no score (${printable(why)})` : String(score);
}

function quoted(text: string): string {
  return printable(JSON.stringify(text.slice(0, MAX_SHOWN_LENGTH * 2)), MAX_SHOWN_LENGTH * 2);
}
