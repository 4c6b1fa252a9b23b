/**
 * Simulated models: programs in place of models, so that everything runs without a key. They say nothing about
 * any language model.
 * @module
 */

export { parseSimulatedModel } from "./names.ts";
export { SIMULATED_MODELS } from "../models/simulated_name.ts";
export {
  type SimulatedServer,
  type SimulatedServerOptions,
  startSimulatedServer,
} from "./server.ts";
export { type Truths, truthsOf } from "./truth.ts";
export type { KnownQuestion } from "./truth_mistakes.ts";
export type {
  ChatAnswer,
  ChatCall,
  ChatContent,
  ChatMessage,
  ChatRequest,
  ChatTool,
  SimulatedModel,
} from "./wire.ts";
