/**
 * Difficulty averages: mean scores of easy, medium and hard questions (CallNavi, Table 4).
 * @module
 */

import { DIFFICULTIES, type Difficulty } from "../../tasks/questions/question_set.ts";
import { mean } from "../../base/numbers.ts";

/** A score of a question. */
export interface DifficultyScore {
  /** How hard the question is. */
  readonly difficulty: Difficulty;
  /** The score, `true` for 1 and `false` for 0; `null` where there is none. */
  readonly value: boolean | number | null;
}

/** Averages; `null` where there is no score. */
export interface DifficultyAverages extends Readonly<Record<Difficulty, number | null>> {
  /** Mean over all scores of any difficulty ("All Avg."). */
  readonly all: number | null;
  /** Mean of the averages of the three difficulties; `null` unless all have scores ("Macro Avg."). */
  readonly macro: number | null;
  /** Number of scores in each average. */
  readonly counts: Readonly<Record<Difficulty | "all", number>>;
}

/**
 * Averages scores by difficulty. Scores that are `null` do not count.
 *
 * @see CallNavi, section 6.4.
 */
export function averageScores(scores: readonly DifficultyScore[]): DifficultyAverages {
  const of = (...difficulties: readonly Difficulty[]) =>
    scores.flatMap(({ difficulty, value }) =>
      value === null || !difficulties.includes(difficulty) ? [] : [Number(value)]
    );
  const [easy, medium, hard, all] = [of("easy"), of("medium"), of("hard"), of(...DIFFICULTIES)];
  const means = { easy: mean(easy), medium: mean(medium), hard: mean(hard) };
  const three = Object.values(means).filter((one) => one !== null);
  return {
    ...means,
    all: mean(all),
    macro: three.length === DIFFICULTIES.length ? mean(three) : null,
    counts: { easy: easy.length, medium: medium.length, hard: hard.length, all: all.length },
  };
}
