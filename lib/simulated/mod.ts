/**
 * Simulated models: programs that see only what a model sees, the body of an OpenAI chat
 * completions request, and answer in OpenAI's format. They show that the tool works, with no key
 * and no network, and say nothing about any language model.
 *
 * | file | what |
 * | --- | --- |
 * | `simulated/wire.ts` | OpenAI's format, as far as it is used |
 * | `simulated/functions.ts` | what can be read from the functions on offer |
 * | `simulated/reading.ts` | what can be read from a conversation |
 * | `simulated/linking.ts` | backward chaining over what functions take and produce |
 * | `simulated/planning.ts` | what to call or to say, which all simulated models share |
 * | `simulated/stages.ts` | what can be read from a request for a plan or a list of functions |
 * | `simulated/questions.ts` | what is made of questions that are no generated tasks |
 * | `simulated/planner.ts` | the model that makes no mistakes |
 * | `simulated/mistakes.ts` | the kinds of mistakes, and what each makes of a call |
 * | `simulated/reactions.ts` | what is made of tools that fail |
 * | `simulated/noisy.ts` | the model that errs at stated rates |
 * | `simulated/truth_mistakes.ts` | the mistakes of the model that knows the truth, and what each makes of calls |
 * | `simulated/truth_writing.ts` | how it writes calls down |
 * | `simulated/truth_reading.ts` | what can be read from a request that asks a question of a call set |
 * | `simulated/truth.ts` | the model that answers questions of call sets from their truth |
 * | `simulated/breaking.ts` | how the form of calls is broken |
 * | `simulated/text_formats.ts` | what can be read from a request in a text format |
 * | `simulated/speaking.ts` | how every model understands these formats, and breaks them |
 * | `simulated/names.ts` | names and options |
 * | `simulated/responses_wire.ts` | OpenAI's responses, as far as they are used |
 * | `simulated/responses_rules.ts` | what OpenAI refuses of requests for them |
 * | `simulated/responses.ts` | from them to chat completions, and back |
 * | `simulated/server.ts` | the HTTP server, which speaks both |
 * @module
 */

export { parseSimulatedModel, SIMULATED_MODELS } from "./names.ts";
export type { MistakeRates } from "./mistakes.ts";
export {
  drawReaction,
  type Reaction,
  type ReactionDraws,
  type ReactionRates,
} from "./reactions.ts";
export { type Break, type BreakDraws, type BreakRates, drawBreak } from "./breaking.ts";
export { type Truths, truthsOf } from "./truth.ts";
export {
  type AnswerMistake,
  drawMistakes,
  type KnownQuestion,
  type MistakeDraws,
  possibleMistakes,
  type TruthRates,
} from "./truth_mistakes.ts";
export {
  type SimulatedServer,
  type SimulatedServerOptions,
  startSimulatedServer,
} from "./server.ts";
export type {
  ChatAnswer,
  ChatCall,
  ChatContent,
  ChatMessage,
  ChatRequest,
  ChatTool,
  SimulatedModel,
} from "./wire.ts";
