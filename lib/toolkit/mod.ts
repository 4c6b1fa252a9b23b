/**
 * The tools outside of tests: execution with retries and repairs, definitions from traces, training data.
 * @module
 */

export {
  Definition,
  type DefinitionJson,
  type DefinitionParts,
  type JsonType,
  parseDefinition,
  type SymbolicCall,
  type SymbolicMessage,
  type TypedName,
} from "./definitions/definition.ts";
export {
  defineFrom,
  type DefineOptions,
  type Dereferenced,
  type Said,
  type SymbolicStep,
} from "./definitions/from_trace.ts";
export {
  definitionPrompt,
  getDefinitionPrompt,
  type McpPrompt,
  type McpPromptResult,
} from "./definitions/prompt.ts";
export {
  DefinitionError,
  definitionTool,
  runDefinition,
  type RunDefinitionOptions,
} from "./definitions/run.ts";
export { createToolExecutor, type ToolExecutor } from "./execution/executor.ts";
export type { ExecutableCall } from "../tools/tool.ts";
export type {
  AlternativeTools,
  ArgumentRepair,
  ExecuteOptions,
  ToolExecutorOptions,
} from "./execution/options.ts";
export type {
  Execution,
  ExecutionRecord,
  FailedExecution,
  SuccessfulExecution,
  ToolAttempt,
} from "./execution/result.ts";
export { TOOL_ERRORS, type ToolErrorCategory } from "../tools/error_category.ts";
export {
  errorInResult,
  ToolError,
  type ToolErrorOptions,
  toToolError,
} from "../tools/tool_error.ts";
export {
  runTools,
  type RunToolsOptions,
  type ToolsPerturbation,
  type ToolsRun,
} from "./run_tools.ts";
export { type CompletionsOptions, completionsScorer } from "./toolformer/completions_scorer.ts";
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
} from "./toolformer/filter.ts";
export {
  type CandidateOptions,
  type CandidatePosition,
  candidatePositions,
  type CandidateRule,
  type Insertion,
  type ProposedInsertions,
  proposeInsertions,
  type ProposeOptions,
} from "./toolformer/insertions.ts";
export {
  type Loss,
  lossFrom,
  type LossWeights,
  type ScoredToken,
  type Scorer,
} from "./toolformer/scorer.ts";
export {
  metadataOf,
  type PlannedSettings,
  type PlanOrigin,
  SKIPPED,
  type SkipReason,
  type TrainingExample,
  trainingExample,
  type TrialOrigin,
} from "./training/examples.ts";
export {
  TRAINING_FORMATS,
  type TrainingConversation,
  type TrainingFormat,
  type TrainingFormatId,
} from "./training/format.ts";
export { trainingFormat } from "./training/registry.ts";
export {
  indirect,
  type Indirection,
  type IndirectOptions,
  restate,
  type RestateOptions,
} from "./wrap_tools.ts";
