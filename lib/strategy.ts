/**
 * Strategies: ways to let a model work on the same task, which a gate can compare.
 * @module
 */

import type { Loop, LoopOptions } from "./agent.ts";
import type { Message } from "./model.ts";
import type { Prompted, PROMPTS } from "./prompts.ts";
import type { Ending } from "./session.ts";
import type { ToolSchema } from "./tool.ts";

/** The texts of a strategy, by what they are for. */
export type Texts<Id extends Prompted = Prompted> = Readonly<
  Record<keyof typeof PROMPTS[Id] & string, string>
>;

/** What can be set of a strategy; each minds its own. */
export interface StrategySettings<Own = unknown> {
  /** Its texts. */
  readonly prompts: Own;
  /** How often a call goes back that does not conform to its schema (`repair`). */
  readonly attempts: number;
  /** How often it is asked for what is missing (`backward`). */
  readonly rounds: number;
  /** Whether values can be looked at (`indirection`). */
  readonly dereference: boolean;
}

/**
 * A way to work on a task. It changes what goes into the loop, such as messages, tools or the texts that
 * go back, asks beside it for what it needs, and changes what comes out; it is no second loop. `next` is
 * the loop, or the next strategy around it.
 */
export type Strategy<Own = unknown> = (
  options: LoopOptions,
  next: Loop,
  settings: StrategySettings<Own>,
) => Promise<Ending>;

/** The loop as it is. */
export const baseline: Strategy = (options, next) => next(options);

/** No text of a stage is passed on at greater length. */
const LONGEST_PASSED = 20_000;

/** A text that one stage hands to another. */
export function passedOn(text: string): string {
  return text.slice(0, LONGEST_PASSED).toWellFormed();
}

/** What was said so far, as one text: it fills in the prompts of stages. */
export function questionOf(messages: readonly Message[]): string {
  return messages.flatMap(({ role, content }) => role === "system" ? [] : [content]).join("\n\n");
}

/** The messages that set the scene, which hold for every stage. */
export function systemOf(messages: readonly Message[]): Message[] {
  return messages.filter(({ role }) => role === "system");
}

/** Functions as a text, for stages that cannot call them. */
export function listTools(tools: readonly ToolSchema[]): string {
  return JSON.stringify(
    tools.map(({ name, description, parameters }) => ({ name, description, parameters })),
    null,
    1,
  );
}

/** The functions that a text names, in their order. */
export function mentioned(text: string, tools: readonly ToolSchema[]): ToolSchema[] {
  const words = new Set(text.match(/[\w.:-]+/g)?.flatMap((word) => [word, bare(word)]));
  return tools.filter(({ name }) => words.has(name));
}

/** A word without the points that a sentence may put around it. */
function bare(word: string): string {
  return word.replace(/^[.:-]+/, "").replace(/[.:-]+$/, "");
}
