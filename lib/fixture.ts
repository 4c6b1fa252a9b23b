/**
 * Fixtures: a task in one trial, with the place where its calls go and the judge of its answer.
 * @module
 */

import type { Behaviour } from "./behaviour.ts";
import type { Environment, ToolChoice } from "./tool.ts";
import type { TraceEvent } from "./trace.ts";

/** What became of a trial, as far as its fixture can tell. */
export interface Judgement {
  /** Whether the answer is right, wrong or missing, and whether it had better be missing. */
  readonly outcome: "solved" | "wrong_answer" | "no_answer" | "abstained" | "call_limit";
  /** Whether the answer is what a call had really returned. */
  readonly grounded: boolean;
}

/** A task in one trial. */
export interface Fixture extends Environment, Disposable {
  /** The user message. */
  readonly prompt: string;
  /** The fewest calls that solve the task. */
  readonly minimumCalls: number;
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
   */
  answer(text: string, rendered?: string): Judgement;
  /** The events, with what each call is beside the right ones; `undefined` where no calls are these. */
  viewed(): readonly TraceEvent[] | undefined;
  /** The behaviours that the trace shows. */
  behaviours(): Behaviour[];
}
