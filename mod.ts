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

export { type Loop, type LoopOptions, type Review, type Reviewer, runLoop } from "./lib/agent.ts";
export { parseAnswer } from "./lib/answer.ts";
export {
  assertNoFailures,
  assertRight,
  assertSolved,
  assertSuccessRate,
} from "./lib/assertions.ts";
export { type Behaviour, BEHAVIOURS } from "./lib/behaviour.ts";
export type {
  BenchmarkOptions,
  BenchmarkStrategy,
  ModelChoice,
  TaskChoice,
} from "./lib/benchmark.ts";
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
} from "./lib/call_assertions.ts";
export {
  assertAnswer,
  assertBudget,
  assertState,
  type RunBudget,
  type StateOptions,
} from "./lib/run_assertions.ts";
export {
  type CallRecord,
  type RecordedCall,
  recordedCalls,
  type UncutCall,
} from "./lib/call_record.ts";
export {
  CallRecording,
  recordCalls,
  type RecordCallsOptions,
  type RunFacts,
} from "./lib/call_recording.ts";
export { type CallScore, scoreCalls } from "./lib/call_score.ts";
export { type MadeCalls, TRAJECTORY_MODES, type TrajectoryMode } from "./lib/call_matching.ts";
export { type CallExpectation, type ExpectedCall } from "./lib/expected_call.ts";
export {
  CALL_FORMATS,
  CALL_MODES,
  type CallFormat,
  type CallMode,
  type CallScores,
  ERROR_CLASSES,
  type ErrorClass,
  errorClassesOf,
  scorePrediction,
  SCORING_RULES,
  type ScoringOptions,
  type ScoringRule,
} from "./lib/call_scoring.ts";
export {
  type ApiFunction,
  type CallQuestion,
  type CallSet,
  type CallTruth,
  DIFFICULTIES,
  type Difficulty,
} from "./lib/call_set.ts";
export { loadCallSet } from "./lib/call_sets.ts";
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
} from "./lib/call_set_metrics.ts";
export { type Conversation, type ConversationOptions, converse } from "./lib/conversation.ts";
export { type Correlation, pearson } from "./lib/correlation.ts";
export { averageScores, type DifficultyAverages, type DifficultyScore } from "./lib/difficulty.ts";
export { electionStability, levenshteinStability, normalizeOutput } from "./lib/stability.ts";
export { judged, type JudgedOptions, type JudgedRecord } from "./lib/judged.ts";
export {
  Judge,
  judge,
  JUDGE_PROMPT,
  LIKENESS_PROMPT,
  type LikeOptions,
  type LLMJudgeOptions,
  type ScoreOptions,
} from "./lib/llm_judge.ts";
export { RECORDING_MODES, type RecordingMode } from "./lib/recording.ts";
export type { RecordingOptions } from "./lib/recordings.ts";
export { type JudgeScore, type JudgingSummary, summarizeJudging } from "./lib/judge_score.ts";
export { type OwnToolOptions, tool, type ToolInput, type ZodSchema } from "./lib/own_tool.ts";
export { isQuestion, QuestionFixture, type QuestionSpec } from "./lib/question.ts";
export type { UnitWords } from "./lib/unit_words.ts";
export type { TaskSource } from "./lib/plan.ts";
export { type QuestionSource, questionSource } from "./lib/question_source.ts";
export {
  CaseFixture,
  type CaseFixtureOptions,
  type CaseSpec,
  type ToolCase,
  type ToolTestRun,
} from "./lib/tool_case.ts";
export { type SharedOptions, toolTest, type ToolTestOptions } from "./lib/tool_testing.ts";
export {
  type Brittleness,
  type BrittlenessColumn,
  type Flips,
  measureBrittleness,
  type ParameterFailureRate,
  type Share,
  type Transfer,
} from "./lib/brittleness.ts";
export {
  comparePerturbations,
  compareStrategies,
  type Comparison,
  type Effort,
  type PairedSuccess,
} from "./lib/comparison.ts";
export type { Subject } from "./lib/contest.ts";
export { Connections, type ConnectOptions } from "./lib/connect.ts";
export {
  Definition,
  type DefinitionJson,
  type DefinitionParts,
  type JsonType,
  parseDefinition,
  type SymbolicCall,
  type TypedName,
} from "./lib/definition.ts";
export {
  DefinitionError,
  definitionTool,
  runDefinition,
  type RunDefinitionOptions,
} from "./lib/definition_run.ts";
export {
  defineFrom,
  type DefineOptions,
  type Dereferenced,
  type SymbolicStep,
} from "./lib/lifting.ts";
export {
  type Filled,
  type ReadCall,
  Symbols,
  type UnreadCall,
  valueOfResult,
} from "./lib/symbols.ts";
export {
  indirect,
  type Indirection,
  type IndirectOptions,
  restate,
  type RestateOptions,
} from "./lib/wrappers.ts";
export type { EndpointOptions } from "./lib/endpoint.ts";
export { createExecutor, type Executor, type ExecutorOptions } from "./lib/executor.ts";
export {
  type Failure,
  FAILURE_TYPES,
  type FailureCause,
  type FailureType,
  type Origin,
  type WrongArgument,
} from "./lib/failure.ts";
export {
  type DifferenceEvidence,
  type Evidence,
  type Method,
  type Pair,
  type PairedDifference,
  type RateEvidence,
  type Unit,
} from "./lib/evidence.ts";
export {
  type CeilingCheck,
  decide,
  type DecideOptions,
  decideUpgrade,
  type Verdict,
} from "./lib/gate.ts";
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
} from "./lib/graph.ts";
export type { Fixture, Judgement, Presented, Work } from "./lib/fixture.ts";
export { InputError } from "./lib/input.ts";
export type { JsonObject, JsonValue } from "./lib/json.ts";
export type { Carried, Message, Usage } from "./lib/message.ts";
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
} from "./lib/model.ts";
export { openai, type OpenAIOptions } from "./lib/models/openai.ts";
export { type Script, scripted, type ScriptedReply } from "./lib/models/scripted.ts";
export { type Check, type Outcomes, selfCheck, type SelfCheckOptions } from "./lib/selfcheck.ts";
export { type SequentialRule, sequentialRule } from "./lib/sequential.ts";
export { pairedDetectableEffect, pairedSampleSize } from "./lib/paired_sizing.ts";
export {
  rateDetectableEffect,
  rateSampleSize,
  type SizingOptions,
  unpairedDetectableEffect,
  unpairedSampleSize,
} from "./lib/sizing.ts";
export {
  type Ending,
  type Limited,
  type Limits,
  type Question,
  Session,
  type SessionOptions,
} from "./lib/session.ts";
export { clusteredInterval, clusteredStandardError, passAtK, passHatK } from "./lib/repetition.ts";
export {
  type Alternative,
  binomialTest,
  type Bounds,
  clopperPearson,
  mcNemar,
  tango,
  wilson,
} from "./lib/statistics.ts";
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
} from "./lib/models/simulated.ts";
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
} from "./lib/policy.ts";
export { ProbeFixture, type ProbeId, PROBES, type ProbeSpec } from "./lib/probes.ts";
export { openTask, type TaskOpener, type TaskSpec } from "./lib/tasks.ts";
export {
  type Budget,
  costOf,
  type ModelUsage,
  type Price,
  type Prices,
  type Spender,
  trialCost,
} from "./lib/prices.ts";
export { benchmark } from "./lib/register.ts";
export { renderTables } from "./lib/reports/terminal.ts";
export { describeFailure, type StoryOptions, tellStory } from "./lib/story.ts";
export {
  runTools,
  type RunToolsOptions,
  type ToolsPerturbation,
  type ToolsRun,
} from "./lib/run_tools.ts";
export { Toolbox, type ToolboxOptions } from "./lib/toolbox.ts";
export type { Clock } from "./lib/backoff.ts";
export { type Asked, type Attempt, retrying, type RetryPolicy } from "./lib/retry.ts";
export { type Place, type RateLimits, Throttle, type ThrottleOptions } from "./lib/throttle.ts";
export { Throttles } from "./lib/throttles.ts";
export { fillPrompt, PROMPTS } from "./lib/prompts.ts";
export type { CallOutcome, CallPlace, Recorder, RecorderOptions } from "./lib/recorder.ts";
export {
  STRATEGIES,
  type StrategyId,
  type StrategyOptions,
  withStrategy,
} from "./lib/strategies.ts";
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
} from "./lib/suite.ts";
export { type ModelEntry, REASONING_EFFORTS } from "./lib/model_entry.ts";
export type { StrategyEntry } from "./lib/strategy_entry.ts";
export {
  METAMORPHIC_CHECKS,
  type MetamorphicCheck,
  type PerturbationId,
  PERTURBATIONS,
  perturbationsIn,
} from "./lib/perturbations.ts";
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
} from "./lib/perturbation.ts";
export { perturbTools } from "./lib/perturbations/documents.ts";
export {
  type ArgumentsOfCall,
  findParameters,
  type Query,
} from "./lib/perturbations/parameters.ts";
export type { QueryParameter, Span } from "./lib/perturbations/literals.ts";
export type { QueryWriter } from "./lib/perturbations/writing.ts";
export { perturbQuery, type QueryPerturbationOptions } from "./lib/perturbations/queries.ts";
export { parseQuery } from "./lib/query_files.ts";
export { perturbReturn } from "./lib/perturbations/returns.ts";
export { parseToolDocuments } from "./lib/tool_documents.ts";
export {
  type Fallback,
  type ModelWriter,
  modelWriter,
  type ModelWriterOptions,
  type WrittenMethod,
} from "./lib/query_writer.ts";
export type { Stream } from "./lib/random.ts";
export type { Prng } from "@std/random";
export {
  type CaseOptions,
  perturbCase,
  type PerturbedCase,
  type Step,
} from "./lib/perturbed_case.ts";
export { type PerturbedTask, perturbTask } from "./lib/perturbed_task.ts";
export {
  type MadeCall,
  PARAMETER_FAILURE_TYPES,
  type ParameterFailure,
  type ParameterFailureType,
  type ParameterView,
  type Undecided,
  viewCalls,
} from "./lib/parameter_failure.ts";
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
} from "./lib/oracle.ts";
export { type Oracle, oracleOf, type ParameterScore, withViews } from "./lib/parameter_views.ts";
export {
  generateTask,
  GENERATOR_VERSION,
  type Parameter,
  type Task,
  type TaskFunction,
  type TaskJson,
  taskToJson,
  type Variable,
} from "./lib/task.ts";
export { FRESH, SHARED } from "./lib/tool.ts";
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
} from "./lib/tool.ts";
export { type Parse, PARSES } from "./lib/trace.ts";
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
} from "./lib/trace.ts";
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
} from "./lib/trial.ts";
export type { ScoredAnswer, TrialScore } from "./lib/trial_score.ts";
export type { PlannedTrial, TrialKey } from "./lib/trial_id.ts";
export { describeVerdict, type VerdictNames, verdictNumbers } from "./lib/verdict.ts";
export {
  type CallPlan,
  type NestedCall,
  planCalls,
  type PlanCallsOptions,
} from "./lib/call_order.ts";
export {
  type Fault,
  type FaultId,
  faultIn,
  type FaultInjector,
  type FaultKind,
  FAULTS,
  type FaultSetting,
  isFault,
} from "./lib/fault.ts";
export { type FaultOptions, type ToolFault, withFaults } from "./lib/faults.ts";
export { type ResolveOptions, resolveReferences } from "./lib/nested_calls.ts";
export {
  type Recovery,
  RECOVERY_ENDS,
  type RecoveryEnd,
  recoveryOf,
  rightEndOf,
} from "./lib/recovery.ts";
export {
  type FaultRecovery,
  measureRecovery,
  type RecoveryMetrics,
  type RecoveryTally,
} from "./lib/recovery_rates.ts";
export type { ExecuteOptions } from "./lib/tool_course.ts";
export {
  errorInResult,
  TOOL_ERRORS,
  ToolError,
  type ToolErrorCategory,
  type ToolErrorOptions,
  toToolError,
} from "./lib/tool_error.ts";
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
} from "./lib/tool_execution.ts";
export { createToolExecutor, type ToolExecutor } from "./lib/tool_executor.ts";
export type {
  AlternativeTools,
  ArgumentRepair,
  ToolExecutorOptions,
} from "./lib/tool_executor_options.ts";
export {
  type FormatId,
  type FormatParts,
  type FormatReading,
  type TextFormat,
  type WrittenCall,
  type WrittenResult,
} from "./lib/format.ts";
export { formatOf, isTextFormat, TEXT_FORMATS } from "./lib/formats.ts";
export { type FormatMetrics, measureFormats } from "./lib/format_metrics.ts";
export { type ParseCounts, parsesOf, type RepairCount } from "./lib/parses.ts";
export { inTextFormat, type TextFormatOptions } from "./lib/models/text_format.ts";
export {
  type Dimension,
  type DimensionEstimate,
  type DimensionMetrics,
  DIMENSIONS,
  measureDimensions,
} from "./lib/dimensions.ts";
export { dimensionsOf, type TrialDimensions } from "./lib/trial_dimensions.ts";
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
} from "./lib/insertions.ts";
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
} from "./lib/self_supervision.ts";
export {
  type Loss,
  lossFrom,
  type LossWeights,
  type ScoredToken,
  type Scorer,
} from "./lib/scorer.ts";
export { type CompletionsOptions, completionsScorer } from "./lib/models/openai/completions.ts";
export {
  metadataOf,
  type PlannedSettings,
  type PlanOrigin,
  SKIPPED,
  type SkipReason,
  type TrainingExample,
  trainingExample,
  type TrialOrigin,
} from "./lib/training_data.ts";
export {
  TRAINING_FORMATS,
  type TrainingConversation,
  type TrainingFormat,
  type TrainingFormatId,
} from "./lib/training_format.ts";
export { trainingFormat } from "./lib/training_formats.ts";
export { type WireApi } from "./lib/models/openai/wire_format.ts";
export type { JointMean, MeanEstimate } from "./lib/clustered_mean.ts";
