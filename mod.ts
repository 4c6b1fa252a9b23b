/**
 * toolgate: tests of how well language models call tools.
 *
 * Generated multi-step function-calling tasks that no model has seen become `Deno.test` cases; a
 * recording executor classifies every wrong call; a gate decides with known error rates.
 *
 * @example A benchmark file, to be run by `deno test`
 * ```ts ignore
 * import { benchmark, grid } from "@toolgate/toolgate";
 *
 * benchmark("tool calling", {
 *   model: "sim:planner",
 *   tasks: grid({ core: [3, 5], depth: [1, 2], connected: [0, 5] }),
 *   seed: "fresh",
 *   gate: { successRate: 0.8 },
 * });
 * ```
 * @module
 */

export {
  type Loop,
  type LoopOptions,
  type Review,
  type Reviewer,
  runLoop,
} from "./lib/trials/agent/loop.ts";
export { parseAnswer } from "./lib/trials/executors/answer.ts";
export {
  assertNoFailures,
  assertRight,
  assertSolved,
  assertSuccessRate,
} from "./lib/testing/assertions/trials.ts";
export { type Behaviour, BEHAVIOURS } from "./lib/calls/failure_types.ts";
export type {
  BenchmarkOptions,
  BenchmarkStrategy,
  ModelChoice,
  TaskChoice,
} from "./lib/testing/options.ts";
export {
  assertCallCount,
  assertCalled,
  assertCallOrder,
  assertCallScore,
  assertNoCalls,
  assertNoFailedCalls,
  assertNotCalled,
  assertTrajectory,
  type CallCount,
  type ScoreThresholds,
} from "./lib/testing/assertions/calls.ts";
export {
  assertAnswer,
  assertBudget,
  assertState,
  type RunBudget,
  type StateOptions,
} from "./lib/testing/assertions/runs.ts";
export {
  type CallRecord,
  type RecordedCall,
  recordedCalls,
  type UncutCall,
} from "./lib/calls/record.ts";
export {
  CallLog,
  logCalls,
  type LogCallsOptions,
  type RunFacts,
} from "./lib/trials/executors/call_log.ts";
export { type CallScore, scoreCalls } from "./lib/calls/expected/precision_recall.ts";
export {
  type MadeCalls,
  TRAJECTORY_MODES,
  type TrajectoryMode,
} from "./lib/calls/expected/match_calls.ts";
export { type CallExpectation, type ExpectedCall } from "./lib/calls/expected/expected_call.ts";
export {
  CALL_FORMATS,
  CALL_MODES,
  type CallFormat,
  type CallMode,
  ERROR_CLASSES,
  type ErrorClass,
  errorClassesOf,
  type QuestionScores,
  scorePrediction,
  SCORING_RULES,
  type ScoringOptions,
  type ScoringRule,
} from "./lib/tasks/questions/scoring.ts";
export {
  type ApiFunction,
  type CallQuestion,
  type CallSet,
  type CallTruth,
  DIFFICULTIES,
  type Difficulty,
} from "./lib/tasks/questions/question_set.ts";
export { loadCallSet } from "./lib/tasks/questions/load.ts";
export {
  type CallScoreAverages,
  type CallSetJudging,
  type CallSetMetrics,
  type CallSetRow,
  type CallSetStability,
  type JudgeNames,
  measureCallSets,
  type ScoreAverages,
  type StabilityScores,
} from "./lib/reports/metrics/question_sets.ts";
export {
  type Conversation,
  type ConversationOptions,
  converse,
} from "./lib/trials/agent/conversation.ts";
export { type Correlation, pearson } from "./lib/statistics/correlation.ts";
export {
  averageScores,
  type DifficultyAverages,
  type DifficultyScore,
} from "./lib/reports/metrics/difficulty.ts";
export {
  electionStability,
  levenshteinStability,
  normalizeOutput,
} from "./lib/tasks/questions/stability.ts";
export {
  askJudges,
  type AskJudgesOptions,
  type JudgedRecord,
} from "./lib/testing/assertions/ask_judges.ts";
export {
  Judge,
  judge,
  JUDGE_PROMPT,
  LIKENESS_PROMPT,
  type LikeOptions,
  type LLMJudgeOptions,
  type ScoreOptions,
} from "./lib/models/judge/judge.ts";
export { RECORDING_MODES, type RecordingMode } from "./lib/models/recordings/trial_recording.ts";
export type { RecordingOptions } from "./lib/models/recordings/recordings.ts";
export {
  type JudgeScore,
  type JudgingSummary,
  summarizeJudging,
} from "./lib/models/judge/score.ts";
export {
  type OwnToolOptions,
  tool,
  type ToolInput,
  type ZodSchema,
} from "./lib/tools/define_tool.ts";
export { QuestionExecutor } from "./lib/trials/executors/question.ts";
export { isQuestion, type QuestionSpec } from "./lib/trials/executors/task_kind.ts";
export type { UnitNames } from "./lib/gate/unit_names.ts";
export type { TaskSource } from "./lib/runs/plan.ts";
export { type QuestionSource, questionSource } from "./lib/runs/question_tasks.ts";
export {
  CaseExecutor,
  type CaseExecutorOptions,
  type ToolCase,
  type ToolTestRun,
} from "./lib/trials/executors/case.ts";
export type { CaseSpec } from "./lib/trials/executors/task_kind.ts";
export { type SharedOptions, toolTest, type ToolTestOptions } from "./lib/testing/tool_test.ts";
export {
  type Brittleness,
  type BrittlenessColumn,
  type Flips,
  measureBrittleness,
  type ParameterFailureRate,
  type Share,
  type Transfer,
} from "./lib/reports/metrics/brittleness.ts";
export {
  comparePerturbations,
  compareStrategies,
  type Comparison,
  type Effort,
  type PairedSuccess,
} from "./lib/gate/comparison.ts";
export type { Variant } from "./lib/gate/variant.ts";
export { Connections, type ConnectOptions } from "./lib/models/connect.ts";
export {
  Definition,
  type DefinitionJson,
  type DefinitionParts,
  type JsonType,
  parseDefinition,
  type SymbolicCall,
  type TypedName,
} from "./lib/toolkit/definitions/definition.ts";
export {
  DefinitionError,
  definitionTool,
  runDefinition,
  type RunDefinitionOptions,
} from "./lib/toolkit/definitions/run.ts";
export {
  defineFrom,
  type DefineOptions,
  type Dereferenced,
  type SymbolicStep,
} from "./lib/toolkit/definitions/from_trace.ts";
export {
  type ReadCall,
  type Substituted,
  Symbols,
  type UnreadCall,
  valueOfResult,
} from "./lib/tools/references/symbol_table.ts";
export {
  indirect,
  type Indirection,
  type IndirectOptions,
  restate,
  type RestateOptions,
} from "./lib/toolkit/wrap_tools.ts";
export type { EndpointOptions } from "./lib/models/http/endpoint.ts";
export {
  createExecutor,
  type GeneratedTaskExecutor,
  type GeneratedTaskExecutorOptions,
} from "./lib/trials/executors/generated.ts";
export type { Failure, FailureCause, Origin, WrongArgument } from "./lib/calls/failure.ts";
export { FAILURE_TYPES, type FailureType } from "./lib/calls/failure_types.ts";
export {
  type DifferenceEvidence,
  type Evidence,
  type Method,
  type Pair,
  type PairedDifference,
  type RateEvidence,
  type Unit,
} from "./lib/gate/evidence.ts";
export {
  type CeilingCheck,
  decide,
  type DecideOptions,
  decideUpgrade,
  type Verdict,
} from "./lib/gate/decide.ts";
export {
  type CompleteGraphSpec,
  completeSpec,
  generateGraph,
  type Graph,
  type GraphSpec,
  type Linking,
  LINKINGS,
  type Role,
  type Surface,
  SURFACES,
} from "./lib/tasks/generated/graph.ts";
export type { AnswerCheck, Fixture, Presented, Work } from "./lib/trials/executors/fixture.ts";
export { InputError } from "./lib/base/errors.ts";
export type { JsonObject, JsonValue } from "./lib/base/json.ts";
export type { Carried, Message, Usage } from "./lib/tools/message.ts";
export {
  type Api,
  APIS,
  type FinishReason,
  InfrastructureError,
  type InfrastructureErrorOptions,
  type Model,
  type ModelReply,
  type ModelRequest,
  type RequestContext,
  type StageUse,
  TimeLimitError,
} from "./lib/models/model.ts";
export { openai, type OpenAIOptions } from "./lib/models/openai/openai.ts";
export { type Script, scripted, type ScriptedReply } from "./lib/models/scripted.ts";
export {
  type Check,
  type Outcomes,
  selfCheck,
  type SelfCheckOptions,
} from "./lib/gate/self_check.ts";
export { type SequentialRule, sequentialRule } from "./lib/gate/sequential.ts";
export { pairedDetectableEffect, pairedSampleSize } from "./lib/statistics/paired_sample_size.ts";
export {
  rateDetectableEffect,
  rateSampleSize,
  type SizingOptions,
  unpairedDetectableEffect,
  unpairedSampleSize,
} from "./lib/statistics/sample_size.ts";
export {
  type Ending,
  type Limited,
  type Limits,
  type Question,
  Session,
  type SessionOptions,
} from "./lib/trials/agent/session.ts";
export {
  clusteredInterval,
  clusteredStandardError,
  passAtK,
  passHatK,
} from "./lib/statistics/pass_at_k.ts";
export {
  type Alternative,
  binomialTest,
  type Bounds,
  clopperPearson,
  mcNemar,
  tango,
  wilson,
} from "./lib/statistics/proportions.ts";
export {
  type ChatAnswer,
  type ChatCall,
  type ChatContent,
  type ChatMessage,
  type ChatRequest,
  type ChatTool,
  type KnownQuestion,
  parseSimulatedModel,
  type SimulatedModel,
  type SimulatedServer,
  type SimulatedServerOptions,
  startSimulatedServer,
  type Truths,
  truthsOf,
} from "./lib/simulated/mod.ts";
export {
  type BaselineChoice,
  type Ceilings,
  type CompletePolicy,
  completePolicy,
  type CompleteRatePolicy,
  type CompleteUpgradePolicy,
  type GateOptions,
  type GatePolicy,
  type RatePolicy,
  type Sign,
  SIGNS,
  type UpgradePolicy,
} from "./lib/gate/policy.ts";
export { ProbeExecutor } from "./lib/trials/executors/probes.ts";
export { type ProbeId, PROBES, type ProbeSpec } from "./lib/trials/executors/task_kind.ts";
export { openTask, type TaskOpener } from "./lib/trials/executors/tasks.ts";
export type { TaskSpec } from "./lib/trials/executors/task_kind.ts";
export {
  type Budget,
  costOf,
  type ModelUsage,
  type Price,
  type Prices,
  type Spender,
  trialCost,
} from "./lib/models/prices.ts";
export { benchmark } from "./lib/testing/benchmark.ts";
export { renderTables } from "./lib/reports/terminal.ts";
export { describeFailure, describeTrial, type StoryOptions } from "./lib/reports/story.ts";
export {
  runTools,
  type RunToolsOptions,
  type ToolsPerturbation,
  type ToolsRun,
} from "./lib/toolkit/run_tools.ts";
export { Toolbox, type ToolboxOptions } from "./lib/trials/executors/toolbox.ts";
export type { Clock } from "./lib/base/clock.ts";
export { type Asked, type Attempt, retrying, type RetryPolicy } from "./lib/models/http/retry.ts";
export {
  type Permit,
  RateLimiter,
  type RateLimiterOptions,
  type RateLimits,
} from "./lib/models/http/rate_limiter.ts";
export { RateLimiters } from "./lib/models/http/rate_limiter.ts";
export { fillPrompt, PROMPTS } from "./lib/models/prompts.ts";
export type {
  CallOutcome,
  CallPlace,
  Executor,
  ExecutorOptions,
} from "./lib/trials/executors/executor.ts";
export {
  STRATEGIES,
  type StrategyId,
  type StrategyOptions,
  withStrategy,
} from "./lib/trials/strategies/registry.ts";
export {
  type Cell,
  type Cells,
  type Connection,
  CONNECTIONS,
  type Grid,
  grid,
  type JudgeEntry,
  type ProbeSet,
  type QuestionSet,
  type SeededCell,
  type Suite,
} from "./lib/runs/suite.ts";
export { type ModelEntry, REASONING_EFFORTS } from "./lib/models/entry.ts";
export type { StrategyEntry } from "./lib/trials/strategies/entry.ts";
export {
  METAMORPHIC_CHECKS,
  type MetamorphicCheck,
  type PerturbationId,
  PERTURBATIONS,
  perturbationsIn,
} from "./lib/perturbations/ids.ts";
export {
  type Change,
  type DocumentMethod,
  type MethodOn,
  PERTURBATION_METHODS,
  type PerturbationMethod,
  PERTURBED,
  type Perturbed,
  type QueryMethod,
  type ReturnMethod,
} from "./lib/perturbations/methods.ts";
export { perturbTools } from "./lib/perturbations/documents/perturb.ts";
export {
  type ArgumentsOfCall,
  findParameters,
  type Query,
} from "./lib/perturbations/queries/parameters.ts";
export type { QueryParameter, Span } from "./lib/perturbations/queries/literals.ts";
export type { QueryWriter } from "./lib/perturbations/queries/write.ts";
export {
  perturbQuery,
  type QueryPerturbationOptions,
} from "./lib/perturbations/queries/perturb.ts";
export { parseQuery } from "./lib/perturbations/queries/file.ts";
export { perturbReturn } from "./lib/perturbations/returns.ts";
export { parseToolDocuments } from "./lib/tools/documents.ts";
export {
  type Fallback,
  type ModelWriter,
  modelWriter,
  type ModelWriterOptions,
  type WrittenMethod,
} from "./lib/perturbations/queries/model_writer.ts";
export type { Stream } from "./lib/base/random.ts";
export type { Prng } from "@std/random";
export {
  type CaseOptions,
  perturbCase,
  type PerturbedCase,
  type Step,
} from "./lib/perturbations/perturbed_case.ts";
export { type PerturbedTask, perturbTask } from "./lib/perturbations/perturbed_task.ts";
export {
  type MadeCall,
  type ParameterFailure,
  type ParameterView,
  type Undecided,
  viewCalls,
} from "./lib/calls/parameter_failure.ts";
export { PARAMETER_FAILURE_TYPES, type ParameterFailureType } from "./lib/calls/failure_types.ts";
export {
  absent,
  alignCalls,
  anyOf,
  anything,
  closeTo,
  type Held,
  inAnyOrder,
  MATCHER,
  type Matcher,
  matching,
  matchingText,
  optional,
  type OracleCall,
  type OracleValue,
  type ParsedCall,
} from "./lib/calls/expected/oracle.ts";
export {
  type Oracle,
  oracleOf,
  type ParameterScore,
  withViews,
} from "./lib/calls/parameter_views.ts";
export {
  generateTask,
  GENERATOR_VERSION,
  type Parameter,
  type Task,
  type TaskFunction,
  type TaskJson,
  taskToJson,
  type Variable,
} from "./lib/tasks/generated/task.ts";
export { FRESH, SHARED } from "./lib/tools/tool.ts";
export type {
  Answered,
  Environment,
  OpenAITool,
  PreparedCall,
  Refusal,
  ResultWriter,
  SchemaFault,
  StoppableTool,
  Tool,
  ToolCall,
  ToolChoice,
  ToolResult,
  ToolSchema,
} from "./lib/tools/tool.ts";
export { type Parse, PARSES } from "./lib/calls/trace.ts";
export type {
  AnswerEvent,
  AssertionEvent,
  CallEvent,
  JudgedAnswer,
  OverLimitEvent,
  RepairEvent,
  ReplyEvent,
  ScoredEvent,
  StageEvent,
  StopEvent,
  StrategyWork,
  TraceEvent,
  TurnEvent,
} from "./lib/calls/trace.ts";
export {
  type Agent,
  type AnswerJudge,
  type Judging,
  type Outcome,
  OUTCOMES,
  runTrial,
  type StrategyChoice,
  type Trial,
  type TrialOptions,
} from "./lib/trials/trial.ts";
export type { ScoredAnswer, TrialSummary } from "./lib/trials/summary.ts";
export type { PlannedTrial, TrialKey } from "./lib/trials/trial_id.ts";
export { describeVerdict, type VerdictNames, verdictNumbers } from "./lib/gate/verdict_text.ts";
export {
  type CallPlan,
  type NestedCall,
  planCalls,
  type PlanCallsOptions,
} from "./lib/tools/references/call_order.ts";
export {
  type Fault,
  type FaultId,
  faultIn,
  type FaultInjector,
  type FaultKind,
  FAULTS,
  type FaultSetting,
  isFault,
} from "./lib/tools/fault.ts";
export {
  type FaultOptions,
  type ToolFault,
  withFaults,
} from "./lib/perturbations/inject_faults.ts";
export { type ResolveOptions, resolveReferences } from "./lib/tools/references/resolve.ts";
export {
  type Recovery,
  RECOVERY_ENDS,
  type RecoveryEnd,
  recoveryOf,
  rightEndOf,
} from "./lib/calls/recovery.ts";
export {
  type FaultRecovery,
  measureRecovery,
  type RecoveryMetrics,
  type RecoveryTally,
} from "./lib/reports/metrics/recovery.ts";
export type { ExecuteOptions } from "./lib/toolkit/execution/attempts.ts";
export {
  errorInResult,
  TOOL_ERRORS,
  ToolError,
  type ToolErrorCategory,
  type ToolErrorOptions,
  toToolError,
} from "./lib/toolkit/execution/tool_error.ts";
export type {
  AttemptAction,
  AttemptRecord,
  ExecutableCall,
  Execution,
  ExecutionRecord,
  FailedAttempt,
  FailedExecution,
  SuccessfulAttempt,
  SuccessfulExecution,
  ToolAttempt,
} from "./lib/toolkit/execution/result.ts";
export { createToolExecutor, type ToolExecutor } from "./lib/toolkit/execution/executor.ts";
export type {
  AlternativeTools,
  ArgumentRepair,
  ToolExecutorOptions,
} from "./lib/toolkit/execution/options.ts";
export {
  type FormatId,
  type FormatParts,
  type FormatReading,
  type TextFormat,
  type WrittenCall,
  type WrittenResult,
} from "./lib/models/formats/format.ts";
export { formatOf, isTextFormat, TEXT_FORMATS } from "./lib/models/formats/registry.ts";
export { type FormatMetrics, measureFormats } from "./lib/reports/metrics/formats.ts";
export { type ParseCounts, parsesOf, type RepairCount } from "./lib/calls/parse_counts.ts";
export { inTextFormat, type TextFormatOptions } from "./lib/models/formats/adapter.ts";
export {
  type Dimension,
  type DimensionEstimate,
  type DimensionMetrics,
  DIMENSIONS,
  measureDimensions,
} from "./lib/reports/metrics/dimensions.ts";
export { dimensionsOf, type TrialDimensions } from "./lib/trials/dimension_scores.ts";
export {
  CANDIDATE_RULES,
  type CandidateOptions,
  type CandidatePosition,
  candidatePositions,
  type CandidateRule,
  type Insertion,
  type ProposedInsertions,
  proposeInsertions,
  type ProposeOptions,
} from "./lib/toolkit/toolformer/insertions.ts";
export {
  type DroppedInsertion,
  type DropReason,
  FILTER_CRITERIA,
  type FilterCriterion,
  type FilteredInsertions,
  filterInsertions,
  type FilterOptions,
  type InsertionLosses,
  type KeptInsertion,
  writeInsertion,
} from "./lib/toolkit/toolformer/filter.ts";
export {
  type Loss,
  lossFrom,
  type LossWeights,
  type ScoredToken,
  type Scorer,
} from "./lib/toolkit/toolformer/scorer.ts";
export {
  type CompletionsOptions,
  completionsScorer,
} from "./lib/toolkit/toolformer/completions_scorer.ts";
export {
  metadataOf,
  type PlannedSettings,
  type PlanOrigin,
  SKIPPED,
  type SkipReason,
  type TrainingExample,
  trainingExample,
  type TrialOrigin,
} from "./lib/toolkit/training/examples.ts";
export {
  TRAINING_FORMATS,
  type TrainingConversation,
  type TrainingFormat,
  type TrainingFormatId,
} from "./lib/toolkit/training/format.ts";
export { trainingFormat } from "./lib/toolkit/training/registry.ts";
export { type WireApi } from "./lib/models/openai/wire_format.ts";
export type { JointMean, MeanEstimate } from "./lib/statistics/clustered_mean.ts";
