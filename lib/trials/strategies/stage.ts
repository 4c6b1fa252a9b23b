/**
 * Stages: what a strategy asks a model beside the loop, before it begins.
 * @module
 */

import type { Loop, LoopOptions } from "../agent/loop.ts";
import type { Message } from "../../tools/message.ts";
import { fillPrompt, type Prompted, type PROMPTS } from "../../models/prompts.ts";
import type { Ending, Limited } from "../agent/session.ts";
import { describeTool, type ToolSchema } from "../../tools/tool.ts";

/** A conversation of its own: a model is told the question and the functions, and can call none. */
export class Stage {
  readonly #options: LoopOptions;
  readonly #name: string;
  readonly #messages: Message[];

  /** `prompt` opens it; the words in its braces are the question and the functions as a text. */
  constructor(options: LoopOptions, name: string, prompt: string) {
    const { environment: { tools }, messages } = options;
    this.#options = options;
    this.#name = name;
    const words = { question: questionOf(messages), tools: listTools(tools) };
    this.#messages = [
      ...messages.filter(({ role }) => role === "system"),
      { role: "user", content: fillPrompt(prompt, words) },
    ];
  }

  /** What the model replies, or the limit that was reached. */
  async ask(): Promise<{ readonly text: string } | Limited> {
    return await this.#options.session.ask({
      stage: this.#name,
      aside: true,
      messages: this.#messages,
    });
  }

  /** Goes on from what the model has said. */
  goOn(said: string, prompt: string): void {
    this.#messages.push(
      { role: "assistant", content: said, calls: [] },
      { role: "user", content: prompt },
    );
  }

  /** Records what came of it. */
  end(message: string, usable: boolean): void {
    this.#options.session.record({
      kind: "stage",
      stage: this.#name,
      message,
      ...(usable ? {} : { unusable: true }),
    });
  }
}

/** Runs the loop, called `stage`, on what a stage has found; without that the question stands for itself. */
export function carryOut(
  options: LoopOptions,
  next: Loop,
  { stage, found, prompts }: {
    stage: string;
    found: string;
    /** What to do with it: to call, or to answer where nothing can be called. */
    prompts: { readonly call: string; readonly answer: string };
  },
): Promise<Ending> {
  const prompt = options.present === undefined ? prompts.call : prompts.answer;
  const messages: Message[] = found === "" ? [] : [
    { role: "assistant", content: found, calls: [] },
    { role: "user", content: prompt },
  ];
  return next({ ...options, stage, messages: [...options.messages, ...messages] });
}

/** No text of a stage is passed on at greater length. */
const LONGEST_PASSED = 20_000;

/** A text that one stage hands to another. */
export function passedOn(text: string): string {
  return text.slice(0, LONGEST_PASSED).toWellFormed();
}

/** What was said so far, as one text: it fills in the prompts of stages. */
function questionOf(messages: readonly Message[]): string {
  return messages.flatMap(({ role, content }) => role === "system" ? [] : [content]).join("\n\n");
}

/** Functions as a text, for stages that cannot call them. */
function listTools(tools: readonly ToolSchema[]): string {
  return JSON.stringify(
    tools.map((tool) => ({
      name: tool.name,
      description: describeTool(tool),
      parameters: tool.parameters,
    })),
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
