/**
 * LikeMatcher: matchers that ask a judge what values are like. Judges take time, and matchers are asked
 * at once: so the judge is asked beforehand, about each value that will be compared.
 * @module
 */

import { InputError } from "../../base/errors.ts";
import { canonicalJson, type JsonValue, printable } from "../../base/json.ts";
import type { JudgeScore } from "./score.ts";
import { MATCHER, type Matcher } from "../../calls/expected/oracle.ts";

/** What a judge is asked about values. */
export interface LikeQuestion {
  /** Who is asked: the same question to the same judge need be asked once only. */
  readonly judge: { readonly name: string };
  /** What values should be like, as the judge is shown it. */
  readonly truth: string;
  /** The least score that will do. */
  readonly atLeast: number;
  /** Asks the judge about a value. */
  ask(value: JsonValue, options: { readonly signal?: AbortSignal }): Promise<JudgeScore>;
}

/** Stands for every value that nests too deep to have a text; no JSON text reads so. */
export const TOO_DEEP = "a value that nests too deep";

/** The text by which a value is known. */
export function textOfValue(value: JsonValue): string {
  try {
    return canonicalJson(value);
  } catch {
    return TOO_DEEP;
  }
}

/** A person is shown so much of a name, and of a value. */
const LONGEST_SHOWN = 60;
/** So many scores are shown. */
const MOST_SHOWN = 3;

/** Takes the values of which a judge says that they are like something. */
export class LikeMatcher implements Matcher {
  /** The mark of matchers. */
  readonly [MATCHER] = true as const;
  /** In words, with what the judge gave once it was asked. */
  readonly description: string;
  /** What the judge is asked. */
  readonly question: LikeQuestion;

  readonly #scores: ReadonlyMap<string, JudgeScore> | undefined;

  /** `scores` has what the judge gave, by {@linkcode textOfValue}; left out before it was asked. */
  constructor(question: LikeQuestion, scores?: ReadonlyMap<string, JudgeScore>) {
    const { judge: { name }, truth, atLeast } = question;
    this.question = question;
    this.#scores = scores;
    this.description = `at least ${atLeast} by judge ${printable(name, LONGEST_SHOWN)} like ` +
      quoted(truth) + (scores === undefined ? "" : `; it ${inWords([...scores])}`);
  }

  /** The same once the judge was asked. */
  settled(scores: ReadonlyMap<string, JudgeScore>): LikeMatcher {
    return new LikeMatcher(this.question, scores);
  }

  /**
   * Whether the judge gave a value a score that will do.
   *
   * @throws {InputError} If the judge was not asked about the value, or gave it no score: whether that is
   * like it nobody can tell.
   */
  matches(value: JsonValue): boolean {
    if (this.#scores === undefined) {
      throw new InputError(
        "Cannot match by a judge before it was asked: await judged(run, expected)",
      );
    }
    const known = this.#scores.get(textOfValue(value));
    if (known === undefined) {
      throw new InputError(
        "Cannot match by a judge as it was asked about the values of another run: " +
          "await judged(run, expected) for this one",
      );
    }
    if (known.score === null) {
      throw new InputError(
        `Cannot match by judge ${
          printable(this.question.judge.name, LONGEST_SHOWN)
        } as it gave no ` +
          `score: ${known.why ?? "it does not say why"}`,
      );
    }
    return known.score >= this.question.atLeast;
  }

  /** Records hold matchers in words. */
  toJSON(): string {
    return this.description;
  }
}

function inWords(scores: readonly (readonly [string, JudgeScore])[]): string {
  if (scores.length === 0) return "was asked about nothing";
  const [[, only]] = scores as [readonly [string, JudgeScore]];
  if (scores.length === 1) return `gave ${scoreInWords(only)}`;
  const shown = scores.slice(0, MOST_SHOWN)
    .map(([value, score]) => `${scoreInWords(score)} to ${printable(value, LONGEST_SHOWN)}`);
  const more = scores.length - shown.length;
  return `gave ${shown.join(", ")}${more > 0 ? `, and ${more} more` : ""}`;
}

function scoreInWords({ score, why = "" }: JudgeScore): string {
  return score === null ? `no score (${printable(why)})` : String(score);
}

function quoted(text: string): string {
  return printable(JSON.stringify(text.slice(0, LONGEST_SHOWN * 2)), LONGEST_SHOWN * 2);
}
