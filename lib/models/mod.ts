/**
 * Who answers: the model interface, OpenAI-compatible servers, text formats, judges, prices.
 * @module
 */

export type { Clock } from "../base/clock.ts";
export { Connections, type ConnectOptions } from "./connect.ts";
export { type ModelEntry, REASONING_EFFORTS, type Sampling } from "./entry.ts";
export { inTextFormat, type TextFormatOptions } from "./formats/adapter.ts";
export type { FormatParts, FormatReading, TextFormat, WrittenResult } from "./formats/format.ts";
export type { FormatId } from "./formats/registry.ts";
export { formatOf, TEXT_FORMATS } from "./formats/registry.ts";
export type { EndpointOptions } from "./http/endpoint.ts";
export {
  type Permit,
  RateLimiter,
  type RateLimiterOptions,
  RateLimiters,
  type RateLimits,
  type Refusal,
  type Wait,
} from "./http/rate_limiter.ts";
export { type Asked, type Asking, type Attempt, retrying, type RetryPolicy } from "./http/retry.ts";
export { judge, JUDGE_PROMPT, LIKENESS_PROMPT, type ScoreOptions } from "./judge/judge.ts";
export type { LikeOptions, LLMJudgeOptions, RubricOptions } from "./judge/options.ts";
export {
  type Criteria,
  type Criterion,
  type CriterionScore,
  RUBRIC_PROMPT,
} from "./judge/rubric.ts";
export type { JudgeScore, JudgingSummary } from "./judge/score.ts";
export {
  type FinishReason,
  type ForwardedRequest,
  InfrastructureError,
  type InfrastructureErrorOptions,
  type ModelServer,
  type Permanent,
  type RequestContext,
  type StageUse,
  TimeLimitError,
} from "./model.ts";
export { type Api, APIS } from "./formats/registry.ts";
export { openai } from "./openai/openai.ts";
export type { WireApi } from "./openai/wire_format.ts";
export {
  type Budget,
  costOf,
  type ModelUsage,
  type Price,
  type Prices,
  type Spender,
  trialCost,
} from "./prices.ts";
export {
  RECORDING_MODES,
  type RecordingMode,
  type RecordingOptions,
} from "./recordings/options.ts";
export { scripted } from "./scripted.ts";
