/**
 * Options of judges, and of what they are asked.
 * @module
 */

import { z } from "zod";
import { cannot } from "../../base/errors.ts";
import { parseWith } from "../../base/input.ts";
import { defined, type JsonValue } from "../../base/json.ts";
import { MODEL, type ModelEntry } from "../entry.ts";
import type { RetryPolicy } from "../http/retry.ts";
import { isModel, type Model } from "../model.ts";
import { LEAST_SCORE, MOST_SCORE } from "./rubric.ts";

/** Options of `judge()`. */
export interface LLMJudgeOptions extends Omit<RetryPolicy, "limiter"> {
  /** The model: its name, its entry as in suites, or a model object. */
  readonly model: string | ModelEntry | Model;
  /**
   * The prompt, with `{predicted}` and `{truth}` in it. Default: `JUDGE_PROMPT`,
   * `LIKENESS_PROMPT` for `like`, and `RUBRIC_PROMPT` for `rubric`, whose criteria are the
   * truth.
   */
  readonly prompt?: string;
  /** Server of a model that names none. Default: OpenAI's. */
  readonly baseURL?: string;
}

/** Options of `judge.like()`. */
export interface LikeOptions {
  /** The least score that passes, above 0 and at most 1. Default: 0.8. */
  readonly atLeast?: number;
}

/** Options of `judge.rubric()`. */
export interface RubricOptions {
  /** The least mean of the scores of all criteria, above 1 and at most 5. Default: none. */
  readonly overall?: number;
  /**
   * What the judge must know beside the value, such as the user's question, or the results of calls that an
   * answer must keep to. A prompt of the judge's own must have `{context}` in it.
   */
  readonly context?: JsonValue;
}

const WORDS = ["{predicted}", "{truth}"];

const OPTIONS = z.strictObject({
  model: z.union([z.string().min(1), MODEL]),
  prompt: z.string()
    .refine((text) => WORDS.every((word) => text.includes(word)), {
      error: `must hold ${WORDS.join(" and ")}`,
    })
    .optional(),
  baseURL: z.string().optional(),
  requestTimeout: z.number().optional(),
  retries: z.number().optional(),
  backoff: z.number().optional(),
  requestsPerMinute: z.number().optional(),
  tokensPerMinute: z.number().optional(),
});

/** Schema of {@linkcode RubricOptions}. */
export const RUBRIC_OPTIONS = z.strictObject({
  overall: z.number().gt(LEAST_SCORE).lte(MOST_SCORE).optional(),
  context: z.custom<JsonValue>().optional(),
});

/** Schema of {@linkcode LikeOptions}. */
export const LIKE_OPTIONS = z.strictObject({ atLeast: z.number().gt(0).lte(1).optional() });

/** @throws {InputError} If an option is unknown or unusable. */
export function checkOptions(options: LLMJudgeOptions): void {
  const { model } = Object(options);
  const named = isModel(model) ? { ...options, model: model.name } : options;
  parseWith(OPTIONS, named, "the options of judge");
  if (!isModel(model)) return;
  const lost = Object.keys(defined(options)).find((name) => !["model", "prompt"].includes(name));
  if (lost === undefined) return;
  throw cannot(
    "make a judge",
    `${lost} applies only to models given by name`,
    "the model is an object",
  );
}
