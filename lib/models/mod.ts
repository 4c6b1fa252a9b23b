/**
 * Who answers: the model interface, OpenAI-compatible servers, text formats, judges, prices.
 * @module
 */

export type { Clock } from "../base/clock.ts";
export { MEDIA, type MediaPart, type Medium, type WithMedia } from "../tools/media.ts";
export { PROVIDER_NAMES, type ProviderName } from "./providers.ts";
export { type ModelEntry, REASONING_EFFORTS, type Sampling } from "./entry.ts";
export { type Api, APIS } from "./formats/registry.ts";
export type { EndpointOptions } from "./http/endpoint.ts";
export {
  type Permit,
  type RateLimiter,
  type RateLimiterOptions,
  type RateLimits,
  type Refusal,
  type Wait,
} from "./http/rate_limiter.ts";
export type { RetryPolicy } from "./http/retry.ts";
export type { AgreementOptions, Estimate, JudgeAgreement, JudgeLabel } from "./judge/agreement.ts";
export type { ScoreOptions } from "./judge/judge.ts";
export type { LikeOptions, LLMJudgeOptions, RubricOptions } from "./judge/options.ts";
export type { Criteria, Criterion, CriterionScore } from "./judge/rubric.ts";
export type { JudgeScore } from "./judge/score.ts";
export type {
  FinishReason,
  ForwardedRequest,
  InfrastructureErrorOptions,
  ModelServer,
  Permanent,
  RequestContext,
  StageUse,
} from "./model.ts";
export type { WireApi } from "./openai/wire_format.ts";
export type { Budget, Price, Prices } from "./prices.ts";
export {
  RECORDING_MODES,
  type RecordingMode,
  type RecordingOptions,
} from "./recordings/options.ts";
export type { Usage } from "../tools/message.ts";
export type { ToolChoice } from "../tools/tool.ts";
