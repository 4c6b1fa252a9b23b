/**
 * Fixtures: a task in one trial, with the place where its calls go and the judge of its answer.
 * @module
 */

import type { Behaviour } from "../../calls/failure_types.ts";
import type { Message, Usage } from "../../tools/message.ts";
import type { JsonValue } from "../../base/json.ts";
import type { Environment, ToolChoice, ToolSchema } from "../../tools/tool.ts";
import type { JudgedAnswer, TraceEvent } from "../../calls/trace.ts";

/** What became of a trial, as far as its fixture can tell. */
export interface AnswerCheck {
  /** Whether the answer is right, wrong or missing, and whether it had better be missing. */
  readonly outcome: "solved" | "wrong_answer" | "no_answer" | "abstained" | "call_limit";
  /** Whether the answer is what a call had really returned. */
  readonly grounded: boolean;
}

/** What was done until the answer, as far as a fixture may look at it. */
export interface Work {
  /** All that was said; empty where an agent of one's own did it. */
  readonly messages: readonly Message[];
  /** Tokens read and written, of all models. */
  readonly usage: Usage;
  /** Milliseconds that it took, tools included, without waiting, retries and failed attempts. */
  readonly durationMs: number;
  /** The answer before a model had repaired it; left out where none did. */
  readonly unrepaired?: string;
  /** Asks a model how alike a prediction and the truth are; left out where none is to be asked. */
  readonly judge?: (predicted: JsonValue, truth: JsonValue) => Promise<JudgedAnswer>;
}

/** How tools and a conversation are put to a model that is to answer in a text. */
export interface Presented {
  /** The conversation, with whatever the tools are told by. */
  readonly messages: readonly Message[];
  /** The tools that it may call. */
  readonly tools: readonly ToolSchema[];
}

/** A task in one trial. */
export interface Fixture extends Environment, Disposable {
  /** The user message. */
  readonly prompt: string;
  /** What stands before it; left out where nothing does. */
  readonly system?: string | undefined;
  /** What the user says after each answer, in the same environment; left out where that is nothing. */
  readonly turns?: readonly string[];
  /** The fewest calls that solve the task; `null` where nobody knows. */
  readonly minimumCalls: number | null;
  /** The tools that it needs, each once, where the roles of its calls do not tell; left out else. */
  readonly needed?: readonly string[] | undefined;
  /** How its tools are put to the model; left out where they can be called. */
  readonly present?: (messages: readonly Message[], tools: readonly ToolSchema[]) => Presented;
  /** Why an answer cannot be read; left out of tasks whose answers may be any text. */
  readonly unreadable?: (answer: string) => string | undefined;
  /** Whether the perturbation found something to change; `true` without one. */
  readonly changed: boolean;
  /** What the task makes of the freedom to call; `undefined` where it leaves that to the model. */
  readonly toolChoice: ToolChoice | undefined;
  /** Everything that has happened, in order. */
  readonly events: readonly TraceEvent[];
  /** How many calls were made within the limit, refused ones included. */
  readonly calls: number;
  /** Whether the trial was answered or disposed of. */
  readonly ended: boolean;
  /** Adds an event that is not the fixture's own to the trace. */
  record(event: TraceEvent): void;
  /**
   * Takes the final answer, reads its value and judges it. Where names stand for values, `text` has the
   * values, and `rendered` is what people are to read.
   *
   * @throws {InputError} If what judges it, the user's own, is broken.
   */
  answer(
    text: string,
    rendered: string | undefined,
    work: Work,
  ): AnswerCheck | Promise<AnswerCheck>;
  /** The events, with what each call is beside the right ones; `undefined` where no calls are these. */
  viewed(): readonly TraceEvent[] | undefined;
  /** The behaviours that the trace shows. */
  behaviours(): Behaviour[];
}
