/**
 * The trace: everything that happened in one trial, in order. Failures, metrics and reports are
 * projections of it.
 * @module
 */

import { z } from "zod";
import { type Failure, FAILURE_CAUSE, type FailureCause } from "./failure.ts";
import { type Role, ROLES } from "./graph.ts";

/** Nothing that a model writes is kept longer than this in a trace. */
export const LONGEST_KEPT = 10_000;

/** A reply of the model. */
export interface ReplyEvent {
  /** What kind of event it is. */
  readonly kind: "reply";
  /** The number of the request that it answers, from 1. */
  readonly request: number;
  /** What the model said. */
  readonly text: string;
  /** How many calls it made. */
  readonly calls: number;
  /** Tokens read. */
  readonly inputTokens: number;
  /** Tokens written. */
  readonly outputTokens: number;
  /** Milliseconds that the successful attempt took. */
  readonly durationMs: number;
  /** What had to be repaired in the reply, in words; left out when nothing had. */
  readonly repairs?: readonly string[];
}

/** A call and its answer. */
export interface CallEvent {
  /** What kind of event it is. */
  readonly kind: "call";
  /** The number of the call in its trial, from 1. */
  readonly call: number;
  /** The number of the step in its trial, from 1. */
  readonly step: number;
  /** The name that was called. */
  readonly function: string;
  /** What the function is to the task; left out when there is no such function. */
  readonly role?: Role;
  /** The arguments as they were written. */
  readonly arguments: string;
  /** The text that went back. */
  readonly result: string;
  /** The variable and value that were returned; left out when the call was refused. */
  readonly returned?: { readonly variable: string; readonly value: number };
  /** What is wrong with the call; left out when nothing is. */
  readonly failure?: FailureCause & { readonly root: boolean };
  /** `true` when the arguments were right though one of them could not be known yet. */
  readonly guessed?: true;
  /** Parameters whose whole number was written as text, and accepted. */
  readonly coerced?: readonly string[];
}

/** The first call past the limit: it is neither checked nor answered, and does not count. */
export interface OverLimitEvent {
  /** What kind of event it is. */
  readonly kind: "over_limit";
  /** The name that was called. */
  readonly function: string;
  /** How many calls were allowed. */
  readonly limit: number;
}

/** The final answer. */
export interface AnswerEvent {
  /** What kind of event it is. */
  readonly kind: "answer";
  /** The text. */
  readonly text: string;
  /** The value found in it; `null` when there is none. */
  readonly value: number | null;
}

/** Why a trial ended without an answer of its own. */
export interface StopEvent {
  /** What kind of event it is. */
  readonly kind: "stop";
  /** What ended it. */
  readonly reason: "call_limit" | "step_limit" | "time_limit" | "token_limit" | "invalid";
  /** In words. */
  readonly message: string;
}

/** One event of a trial. */
export type TraceEvent = ReplyEvent | CallEvent | OverLimitEvent | AnswerEvent | StopEvent;

/** What an event must hold where it is read from a file. */
export const EVENT: z.ZodType<TraceEvent> = z.discriminatedUnion("kind", [
  z.looseObject({
    kind: z.literal("reply"),
    request: z.int(),
    text: z.string(),
    calls: z.int(),
    inputTokens: z.number(),
    outputTokens: z.number(),
    durationMs: z.number(),
    repairs: z.array(z.string()).exactOptional(),
  }),
  z.looseObject({
    kind: z.literal("call"),
    call: z.int(),
    step: z.int(),
    function: z.string(),
    arguments: z.string(),
    result: z.string(),
    role: z.enum(ROLES).exactOptional(),
    returned: z.looseObject({ variable: z.string(), value: z.number() }).exactOptional(),
    failure: z.intersection(FAILURE_CAUSE, z.looseObject({ root: z.boolean() })).exactOptional(),
    guessed: z.literal(true).exactOptional(),
    coerced: z.array(z.string()).exactOptional(),
  }),
  z.looseObject({ kind: z.literal("over_limit"), function: z.string(), limit: z.int() }),
  z.looseObject({ kind: z.literal("answer"), text: z.string(), value: z.number().nullable() }),
  z.looseObject({ kind: z.literal("stop"), reason: z.string(), message: z.string() }),
]) as unknown as z.ZodType<TraceEvent>;

/** The calls of a trace, in order. */
export function callsOf(events: readonly TraceEvent[]): CallEvent[] {
  return events.filter((event) => event.kind === "call");
}

/**
 * The failures of a trace, in order, as journals keep them.
 *
 * @example Usage
 * ```ts
 * import { failuresOf } from "./trace.ts";
 * import { assertEquals } from "@std/assert";
 *
 * const failures = failuresOf([{
 *   kind: "call",
 *   call: 1,
 *   step: 1,
 *   function: "func_qzx",
 *   arguments: "{}",
 *   result: '{"error":"There is no function func_qzx"}',
 *   failure: { type: "function_not_found", detail: { nearest: "func_qxz" }, root: true },
 * }]);
 * assertEquals(failures[0]?.type, "function_not_found");
 * ```
 */
export function failuresOf(events: readonly TraceEvent[]): Failure[] {
  return callsOf(events).flatMap(({ failure, call, step, function: name }) =>
    failure === undefined ? [] : [{ call, step, function: name, ...failure }]
  );
}
