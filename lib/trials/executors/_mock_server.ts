/**
 * Mock servers: answer the calls to a question of a call set by the results that the set declares.
 * @module
 */

import type { JsonValue } from "../../base/json.ts";
import { type CallQuestion, resolvedTruth } from "../../tasks/questions/question_set.ts";
import { scorePrediction, type ScoringRule } from "../../tasks/questions/scoring.ts";

/** Answers the calls to a question with the results that its set declares. */
export class MockServer {
  readonly #question: CallQuestion;
  readonly #rule: ScoringRule;
  /** How often each right call was answered. */
  readonly #answered: number[];

  constructor(question: CallQuestion, rule: ScoringRule) {
    this.#question = question;
    this.#rule = rule;
    this.#answered = question.truth.API.map(() => 0);
  }

  /** The declared result of a call; an error if it is none of the right ones. Of equal ones each has its own. */
  answer(name: string, input: unknown): string {
    const { API, parameters } = resolvedTruth(this.#question);
    const own = { API: [name], parameters: [input as JsonValue] };
    const places = API.flatMap((one, place) => {
      const right = { API: [one], parameters: [parameters[place] ?? {}] };
      const { exact } = scorePrediction(own, right, { mode: "tools", rule: this.#rule });
      return exact ? [place] : [];
    }).sort((one, other) => this.#answered[one]! - this.#answered[other]!);
    const [place] = places;
    if (place === undefined) return NO_RESULT;
    this.#answered[place]!++;
    const { result } = this.#question.results![place]!;
    return typeof result === "string" ? result : JSON.stringify(result);
  }
}

/** The answer to a call of which nothing is declared. */
const NO_RESULT = JSON.stringify({ error: "There is nothing for these arguments" });
