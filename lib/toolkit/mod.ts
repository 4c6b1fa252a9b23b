/**
 * The tools outside of tests: execution with retries and repairs, definitions from traces, training data.
 * @module
 */

export {
  type Definition,
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
} from "./definitions/run.ts";
export { definitionTool, runDefinition, type RunDefinitionOptions } from "./definitions/run.ts";
export { createToolExecutor, type ToolExecutor } from "./execution/executor.ts";
export type {
  AlternativeTools,
  ArgumentRepair,
  ExecuteOptions,
  ToolExecutorOptions,
} from "./execution/options.ts";
export type { Execution, ToolAttempt } from "./execution/options.ts";
export { runTools, type RunToolsOptions, type ToolsRun } from "./run_tools.ts";
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
} from "./toolformer/filter.ts";
export {
  type CandidatePosition,
  candidatePositions,
  type Insertion,
  type ProposedInsertions,
  proposeInsertions,
  type ProposeOptions,
} from "./toolformer/insertions.ts";
export type { ScoredToken, Scorer } from "./toolformer/filter.ts";
export {
  indirect,
  type Indirection,
  type IndirectOptions,
  restate,
  type RestateOptions,
} from "./wrap_tools.ts";
export { TOOL_ERRORS, type ToolErrorCategory } from "../tools/error_category.ts";
export type { ExecutableCall, ToolAnnotations } from "../tools/tool.ts";
export { ToolError, type ToolErrorOptions } from "../tools/tool_error.ts";
