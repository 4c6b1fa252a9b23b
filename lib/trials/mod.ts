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
  FRESH,
  type Refusal,
  type SchemaFault,
  SHARED,
  type StoppableTool,
} from "../tools/tool.ts";
export type { Ending, Limited, Limits } from "./agent/session.ts";
export { parseAnswer, type ParseAnswerOptions } from "./executors/answer.ts";
export type { RunFacts } from "./executors/call_log.ts";
export type { ExampleCall, ExampleFunction, SolvedExample } from "./executors/examples.ts";
export { type ProbeId, PROBES, type ProbeSpec } from "./executors/task_kind.ts";
export type { StrategyChoice } from "./run_trial.ts";
export type { StrategyEntry } from "./strategies/entry.ts";
export type { StrategyOptions } from "./strategies/registry.ts";
export type { Transcripts } from "./transcript.ts";
