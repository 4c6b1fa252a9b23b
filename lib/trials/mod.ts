/**
 * One trial: a task, a model, the loop between them, and what it records.
 * @module
 */

export type { Carried } from "../tools/message.ts";
export type { Substituted } from "../tools/references/substitute.ts";
export type { Symbols } from "../tools/references/symbol_table.ts";
export {
  AGENT_DEEDS,
  type AgentDeed,
  type Answered,
  type CallReplacer,
  type Environment,
  type FailedCall,
  FRESH,
  type PreparedCall,
  type RecordedResult,
  type Refusal,
  type Replacement,
  RESULT,
  type ResultWriter,
  ROUTE,
  type Route,
  type SchemaFault,
  SERVED,
  SHARED,
  type StoppableTool,
  TAKE_MEDIA,
  type ToolCallOptions,
  type ToolResult,
} from "../tools/tool.ts";
export type { Ending, Limited, Limits } from "./agent/session.ts";
export { parseAnswer, type ParseAnswerOptions } from "../tasks/graphs/answer.ts";
export type { ExampleCall, ExampleFunction, SolvedExample } from "../tasks/examples.ts";
export type { Executor } from "./executors/executor.ts";
export type { ExecutorOptions } from "./executors/executor_options.ts";
export type { AnswerCheck, Fixture, Presented, Work } from "./executors/fixture.ts";
export type { GeneratedTaskExecutorOptions } from "./executors/generated.ts";
export type { CallOutcome, CallPlace } from "./executors/made_call.ts";
export { type ProbeId, PROBES, type ProbeSpec } from "../tasks/task_kind.ts";
export type { StrategyChoice } from "./run_trial.ts";
export type { StateChange, StateDifference } from "../calls/values/state_difference.ts";
export type { StrategyEntry } from "./strategies/entry.ts";
export type { StrategyOptions } from "./strategies/registry.ts";
export type { Transcripts } from "./transcript.ts";
export type { Conversation, ConversationOptions } from "./users/conversation.ts";
export type { TrialUser } from "./users/user.ts";
