/**
 * Fresh tasks over your own tools: questions that no model has seen, with answers that are known.
 * @module
 */

export {
  type ChainWords,
  type Gap,
  type IdType,
  type LinkRule,
  type RecordPlace,
  type Suggestion,
  type Take,
  type TakeRole,
  type ToolGraph,
  toolGraph,
  type ToolGraphOptions,
  type ToolNode,
} from "./graph.ts";
export {
  type Chain,
  chains,
  type ChainsOptions,
  type ChainStep,
  type ChainTask,
  type RecordId,
  sample,
} from "./chains.ts";
export { isRight } from "./answer.ts";
export { type ShownRecord, World, type WorldOptions, type WorldResult } from "./world.ts";
